#include "support/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

bool wait_input(int fd, int timeout_ms)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    uint64_t deadline = now_ns() + (uint64_t)timeout_ms * 1000000U;
    for (;;) {
        int rc = poll(&wait, 1, timeout_ms);
        if (rc >= 0 || errno != EINTR) {
            return rc > 0;
        }
        uint64_t now = now_ns();
        timeout_ms = now >= deadline ? 0 : (int)((deadline - now) / 1000000U);
    }
}

/* In the child: only async-signal-safe calls, and never back into the test. */
static void
proc_exec(const struct proc_spec *spec, char **env, pid_t parent, int log_fd, int out_fd)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        _exit(126);
    }
    if (dup2(out_fd < 0 ? log_fd : out_fd, STDOUT_FILENO) < 0 || dup2(log_fd, STDERR_FILENO) < 0) {
        _exit(126);
    }
    (void)execve(spec->argv[0], (char *const *)(uintptr_t)spec->argv, env);
    _exit(127);
}

/* The test's environment with the spec's in front: the first of a name counts. */
static char **proc_env(const char *const *more)
{
    size_t count = 1;
    for (char **e = environ; *e != NULL; e++) {
        count++;
    }
    for (const char *const *m = more; m != NULL && *m != NULL; m++) {
        count++;
    }
    char **env = calloc(count, sizeof *env);
    cr_assert_not_null(env);
    size_t at = 0;
    for (const char *const *m = more; m != NULL && *m != NULL; m++) {
        env[at++] = (char *)(uintptr_t)*m;
    }
    for (char **e = environ; *e != NULL; e++) {
        if (strncmp(*e, "BXFI_", 5) != 0) { /* Criterion's word to its worker */
            env[at++] = *e;
        }
    }
    return env;
}

void proc_start(struct proc *ret, const struct proc_spec *spec)
{
    int out[2] = { -1, -1 };
    const char *log = spec->log_path == NULL ? "/dev/null" : spec->log_path;
    int log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    cr_assert_geq(log_fd, 0, "%s: %s", log, strerror(errno));
    if (spec->pipe_out) {
        cr_assert_eq(pipe2(out, O_CLOEXEC), 0);
    }
    char **env = proc_env(spec->env);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        proc_exec(spec, env, parent, log_fd, out[1]);
    }
    cr_assert_gt(pid, 0, "fork: %s", strerror(errno));
    free((void *)env);
    (void)close(log_fd);
    if (spec->pipe_out) {
        (void)close(out[1]);
    }
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    cr_assert_geq(pidfd, 0);
    (void)fcntl(pidfd, F_SETFD, FD_CLOEXEC);
    *ret = (struct proc){ .pid = pid, .pidfd = pidfd, .out_fd = out[0] };
}

static void proc_close(struct proc *p)
{
    (void)close(p->pidfd);
    if (p->out_fd >= 0) {
        (void)close(p->out_fd);
    }
    p->pid = 0;
    p->pidfd = p->out_fd = -1;
}

bool proc_wait(struct proc *p, int timeout_ms)
{
    if (p->pid == 0) {
        return true;
    }
    if (!wait_input(p->pidfd, timeout_ms)) {
        return false;
    }
    cr_assert_eq(waitpid(p->pid, &p->status, 0), p->pid);
    proc_close(p);
    return true;
}

void proc_signal(const struct proc *p, int signo)
{
    if (p->pid != 0) {
        (void)kill(p->pid, signo);
    }
}

void proc_kill(struct proc *p)
{
    proc_signal(p, SIGKILL);
    cr_assert(proc_wait(p, 60000), "process %d does not die", (int)p->pid);
}

int proc_exit(const struct proc *p)
{
    return WIFSIGNALED(p->status) ? 128 + WTERMSIG(p->status) : WEXITSTATUS(p->status);
}

bool proc_line(struct proc *p, int timeout_ms, char *ret, size_t ret_bytes)
{
    size_t used = 0;
    char c = 0;
    uint64_t deadline = now_ns() + (uint64_t)timeout_ms * 1000000U;
    while (p->out_fd >= 0) {
        uint64_t now = now_ns();
        int left_ms = now >= deadline ? 0 : (int)((deadline - now) / 1000000U);
        if (!wait_input(p->out_fd, left_ms) || read(p->out_fd, &c, 1) != 1) {
            break;
        }
        if (c == '\n') {
            ret[used] = '\0';
            return true;
        }
        if (used + 1 < ret_bytes) {
            ret[used++] = c;
        }
    }
    return false;
}

bool proc_last_line(struct proc *p, int timeout_ms, char *ret, size_t ret_bytes)
{
    bool any = false;
    uint64_t deadline = now_ns() + (uint64_t)timeout_ms * 1000000U;
    for (;;) {
        uint64_t now = now_ns();
        int left_ms = now >= deadline ? 0 : (int)((deadline - now) / 1000000U);
        if (!proc_line(p, left_ms, ret, ret_bytes)) {
            return any && now_ns() < deadline;
        }
        any = true;
    }
}

int proc_say(const struct proc_spec *spec,
             int timeout_ms,
             const char *const *texts,
             unsigned *ret_counts)
{
    char line[4096];
    struct proc p;
    for (size_t i = 0; texts[i] != NULL; i++) {
        ret_counts[i] = 0;
    }
    proc_start(&p, spec);
    while (proc_line(&p, timeout_ms, line, sizeof line)) {
        (void)printf("%s\n", line);
        for (size_t i = 0; texts[i] != NULL; i++) {
            ret_counts[i] += strstr(line, texts[i]) != NULL;
        }
    }
    cr_assert(proc_wait(&p, timeout_ms), "%s does not end", spec->argv[0]);
    if (p.out_fd >= 0) {
        (void)close(p.out_fd);
    }
    return proc_exit(&p);
}
