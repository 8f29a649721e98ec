/* exec.c: a small supervisor. One loop, three sources of events: signals (a signalfd, SIGCHLD among
 * them), what the daemon tells on its notify socket, and one deadline.
 *
 *   STARTING --ready--> SERVING --daemon ends--> STARTING   (the command is started at the first
 * ready) STARTING --daemon ends--> RESTING --pause over--> STARTING   (only when it had served
 * before) STARTING, SERVING --command ends--> STOPPING --daemon ends--> ENDED too many restarts -->
 * ENDED; the command may go on without a daemon
 */
#include "exec.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "output.h"
#include "private.h"
#include "signals.h"

#define EXEC_READY_MS 60000
#define EXEC_STOP_MS 12000 /* the daemon promises 10 s */
#define EXEC_REST_MS 250
#define EXEC_RESTARTS 20       /* at most so many ... */
#define EXEC_RESTARTS_MS 60000 /* ... in this time */
#define EXEC_NEVER UINT64_MAX

enum exec_state { EXEC_STARTING, EXEC_SERVING, EXEC_RESTING, EXEC_STOPPING, EXEC_ENDED };

struct exec {
    struct private_daemon daemon;
    enum exec_state state;
    uint64_t deadline_ms;
    char **command;
    pid_t command_pid; /* 0: not started, or over */
    bool command_over; /* or will not be started */
    int code;
    int signal_fd;
    sigset_t old_mask;
    uint64_t restart_ms[EXEC_RESTARTS]; /* ring: when the last ones were */
    unsigned restart_count;
    bool quiet;
};

static uint64_t exec_now_ms(void)
{
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static void exec_move(struct exec *e, enum exec_state state, uint64_t wait_ms)
{
    e->state = state;
    if (state == EXEC_STOPPING || state == EXEC_ENDED) {
        private_forget(&e->daemon); /* nobody joins any more */
    }
    e->deadline_ms = wait_ms == EXEC_NEVER ? EXEC_NEVER : exec_now_ms() + wait_ms;
}

/* "exit code 3", "signal 9" */
static const char *exec_how(struct out_buf *b, int status)
{
    bool killed = WIFSIGNALED(status);
    (void)snprintf(b->text,
                   sizeof b->text,
                   killed ? "signal %d" : "exit code %d",
                   killed ? WTERMSIG(status) : WEXITSTATUS(status));
    return b->text;
}

/* ---- the daemon ---- */

static void exec_start(struct exec *e)
{
    if (private_spawn(&e->daemon, &e->old_mask) < 0) {
        (void)fprintf(
            stderr, "%s: cannot start cairnd: %s\n", e->daemon.who, strerrordesc_np(errno));
        exec_move(e, EXEC_ENDED, EXEC_NEVER);
        return;
    }
    exec_move(e, EXEC_STARTING, EXEC_READY_MS);
}

/* One more restart, unless there were too many of late. */
static bool exec_may_restart(struct exec *e)
{
    uint64_t now = exec_now_ms();
    uint64_t *slot = &e->restart_ms[e->restart_count % EXEC_RESTARTS];
    if (e->restart_count >= EXEC_RESTARTS && now - *slot < EXEC_RESTARTS_MS) {
        return false;
    }
    *slot = now;
    e->restart_count++;
    return true;
}

static void exec_restart(struct exec *e, int status)
{
    struct out_buf b;
    bool served = e->state == EXEC_SERVING;
    if (!exec_may_restart(e)) {
        (void)fprintf(stderr,
                      "%s: cairnd ended (%s), after %d restarts in a minute: given up, the "
                      "command goes on without it; the end of %s:\n",
                      e->daemon.who,
                      exec_how(&b, status),
                      EXEC_RESTARTS,
                      e->daemon.log);
        private_log_tail(&e->daemon);
        exec_move(e, EXEC_ENDED, EXEC_NEVER);
        return;
    }
    (void)fprintf(
        stderr, "%s: cairnd ended (%s), starting it again\n", e->daemon.who, exec_how(&b, status));
    if (served) {
        exec_start(e);
    } else {
        exec_move(e, EXEC_RESTING, EXEC_REST_MS);
    }
}

static void exec_stop(struct exec *e)
{
    if (e->state == EXEC_STARTING || e->state == EXEC_SERVING) {
        (void)kill(e->daemon.pid, SIGTERM);
        exec_move(e, EXEC_STOPPING, EXEC_STOP_MS);
    } else if (e->state == EXEC_RESTING) {
        exec_move(e, EXEC_ENDED, EXEC_NEVER);
    }
}

static void exec_daemon_ended(struct exec *e, int status)
{
    struct out_buf b;
    e->daemon.pid = 0;
    if (e->state == EXEC_STOPPING) {
        if (status != 0) {
            (void)fprintf(stderr,
                          "%s: cairnd did not stop orderly (%s), see %s\n",
                          e->daemon.who,
                          exec_how(&b, status),
                          e->daemon.log);
        }
        exec_move(e, EXEC_ENDED, EXEC_NEVER);
    } else if (e->command_pid == 0) {
        (void)fprintf(stderr,
                      "%s: cairnd ended (%s) before it was ready; its log ends:\n",
                      e->daemon.who,
                      exec_how(&b, status));
        private_log_tail(&e->daemon);
        e->command_over = true;
        exec_move(e, EXEC_ENDED, EXEC_NEVER);
    } else {
        exec_restart(e, status);
    }
}

/* ---- the command ---- */

static void exec_command_start(struct exec *e)
{
    posix_spawnattr_t attributes;
    int rc = posix_spawnattr_init(&attributes);
    if (rc == 0) {
        (void)posix_spawnattr_setsigmask(&attributes, &e->old_mask);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        rc = posix_spawnp(&e->command_pid, e->command[0], NULL, &attributes, e->command, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    if (rc != 0) {
        (void)fprintf(stderr, "%s: cannot run '", e->daemon.who);
        out_text(stderr, e->command[0]);
        (void)fprintf(stderr, "': %s\n", strerrordesc_np(rc));
        e->command_pid = 0;
        e->command_over = true;
        e->code = rc == ENOENT ? OUT_EXEC_MISSING : OUT_EXEC_DENIED;
        exec_stop(e);
    }
}

static void exec_command_ended(struct exec *e, int status)
{
    e->command_pid = 0;
    e->command_over = true;
    e->code = WIFSIGNALED(status) ? OUT_EXEC_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
    exec_stop(e);
}

/* ---- events ---- */

static void exec_reap(struct exec *e)
{
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == e->command_pid) {
            exec_command_ended(e, status);
        } else if (pid == e->daemon.pid) {
            exec_daemon_ended(e, status);
        }
    }
}

static void exec_signal(struct exec *e, const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;
    if (number == SIGCHLD) {
        exec_reap(e);
    } else if (e->command_pid > 0) {
        if (!signals_has_command(info)) {
            (void)kill(e->command_pid, number);
        }
    } else if (!e->command_over && signals_ends_start(info)) {
        e->command_over = true;
        e->code = OUT_EXEC_SIGNAL + number;
        exec_stop(e);
    }
}

static void exec_deadline(struct exec *e)
{
    if (e->state == EXEC_RESTING) {
        exec_start(e);
        return;
    }
    /* STARTING or STOPPING: its end is the next event. */
    (void)fprintf(stderr,
                  "%s: cairnd %s within %d s, killing it; see %s\n",
                  e->daemon.who,
                  e->state == EXEC_STARTING ? "was not ready" : "did not stop",
                  (e->state == EXEC_STARTING ? EXEC_READY_MS : EXEC_STOP_MS) / 1000,
                  e->daemon.log);
    (void)kill(e->daemon.pid, SIGKILL);
    e->deadline_ms = EXEC_NEVER;
}

static void exec_ready(struct exec *e)
{
    if (!private_ready(&e->daemon) || e->state != EXEC_STARTING) {
        return;
    }
    exec_move(e, EXEC_SERVING, EXEC_NEVER);
    if (e->command_pid == 0) {
        private_record(&e->daemon);
        exec_command_start(e);
    } else if (!e->quiet) {
        (void)fprintf(stderr, "%s: cairnd serves again\n", e->daemon.who);
    }
}

static int exec_wait_ms(const struct exec *e)
{
    if (e->deadline_ms == EXEC_NEVER) {
        return -1;
    }
    uint64_t now = exec_now_ms();
    return now >= e->deadline_ms ? 0 : (int)(e->deadline_ms - now);
}

static void exec_turn(struct exec *e)
{
    struct pollfd fds[] = { { .fd = e->daemon.notify_fd, .events = POLLIN },
                            { .fd = e->signal_fd, .events = POLLIN } };
    int ready = poll(fds, 2, exec_wait_ms(e));
    if (ready == 0) {
        exec_deadline(e);
        return;
    }
    if (fds[0].revents != 0) {
        exec_ready(e);
    }
    struct signalfd_siginfo info;
    if (fds[1].revents != 0 && read(e->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        exec_signal(e, &info);
    }
}

/* ---- the whole ---- */

static int exec_block_signals(struct exec *e)
{
    e->signal_fd = signals_open(&e->old_mask);
    return e->signal_fd < 0 ? -1 : 0;
}

/* Until the daemon has ended and no command is left, or ever will be. */
static void exec_loop(struct exec *e)
{
    while (e->state != EXEC_ENDED || e->command_pid > 0) {
        exec_turn(e);
    }
}

/* The daemon that serves the directory already is somebody else's: it is neither watched nor
 * stopped here. */
static void exec_joined(struct exec *e, const char *data, const char *socket, uint64_t pid)
{
    if (!e->quiet) {
        (void)fprintf(stderr, "%s: joins the daemon that serves '", e->daemon.who);
        out_text(stderr, data);
        (void)fprintf(stderr, "' (process %" PRIu64 ")\n", pid);
    }
    exec_move(e, EXEC_ENDED, EXEC_NEVER);
    if (setenv("CAIRN_SOCKET", socket, 1) == 0 && exec_block_signals(e) == 0) {
        exec_command_start(e);
        exec_loop(e);
    }
}

static void exec_alone(struct exec *e, const char *data)
{
    if (private_init(&e->daemon, data) == 0 && setenv("CAIRN_SOCKET", e->daemon.socket, 1) == 0 &&
        exec_block_signals(e) == 0) {
        exec_start(e);
        exec_loop(e);
    }
}

int exec_run(const char *who, const char *data, char **command, bool quiet)
{
    struct exec e = { .daemon = PRIVATE_NONE,
                      .command = command,
                      .quiet = quiet,
                      .code = OUT_EXEC_SELF,
                      .signal_fd = -1 };
    char socket[ATTACH_SOCKET_BYTES];
    uint64_t pid = 0;
    e.daemon.who = who;
    if (attach_find(data, socket, &pid)) {
        exec_joined(&e, data, socket, pid);
    } else {
        exec_alone(&e, data);
    }
    if (e.signal_fd >= 0) {
        (void)close(e.signal_fd);
    }
    private_fini(&e.daemon);
    return e.code;
}
