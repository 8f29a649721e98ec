#include "signals.h"

#include <stddef.h>
#include <unistd.h>

int signals_open(sigset_t *ret_old)
{
    /* Ours: faults of our own, job control, and what does nothing by default. All others are the
     * command's: batch systems announce the end of a job with signals of every kind. */
    static const int ours[] = { SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGABRT, SIGTRAP, SIGSYS,
                                SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGURG,  SIGWINCH };
    sigset_t mask;
    (void)sigfillset(&mask);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        (void)sigdelset(&mask, ours[i]);
    }
    (void)signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would reap behind our back */
    (void)sigprocmask(SIG_BLOCK, &mask, ret_old);
    return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool signals_own_pipe(const struct signalfd_siginfo *info)
{
    return info->ssi_signo == SIGPIPE &&
           (info->ssi_pid == 0 || info->ssi_pid == (uint32_t)getpid());
}

bool signals_has_command(const struct signalfd_siginfo *info)
{
    bool key = info->ssi_signo == SIGINT || info->ssi_signo == SIGQUIT;
    return signals_own_pipe(info) || (key && info->ssi_code == SI_KERNEL);
}

bool signals_ends_start(const struct signalfd_siginfo *info)
{
    struct sigaction action = { 0 };
    bool ignored = sigaction((int)info->ssi_signo, NULL, &action) == 0 &&
                   (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
    return !ignored && !signals_own_pipe(info);
}
