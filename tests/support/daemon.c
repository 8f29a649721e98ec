#include "support/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <criterion/criterion.h>

enum { DAEMON_READY_MS = 30000, DAEMON_STOP_MS = 15000, DAEMON_FSCK_MS = 300000, DAEMON_ENV = 16 };

static const char *program(const char *variable, const char *built)
{
    const char *given = getenv(variable);
    return given == NULL ? built : given;
}

const char *program_cairnd(void)
{
    return program("CAIRND", CAIRN_TEST_CAIRND);
}

const char *program_digits(void)
{
    return program("DIGITS", CAIRN_TEST_DIGITS);
}

void daemon_init(struct daemon *d, const char *dir)
{
    *d = (struct daemon){ .proc = { .pidfd = -1, .out_fd = -1 } };
    (void)snprintf(d->data, sizeof d->data, "%s/data", dir);
    (void)snprintf(d->log, sizeof d->log, "%s/cairnd.log", dir);
    tmp_make_short(d->socket_dir);
    (void)snprintf(d->socket, sizeof d->socket, "%s/s", d->socket_dir);
    (void)snprintf(d->notify, sizeof d->notify, "%s/n", d->socket_dir);

    struct sockaddr_un name = { .sun_family = AF_UNIX };
    (void)snprintf(name.sun_path, sizeof name.sun_path, "%.100s", d->notify);
    d->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    cr_assert_geq(d->notify_fd, 0);
    cr_assert_eq(bind(d->notify_fd, (const struct sockaddr *)&name, sizeof name), 0);
    (void)mkdir(d->data, 0700);
}

/* Take all that was notified; was READY among it? */
static bool daemon_is_ready(struct daemon *d)
{
    char text[4096];
    bool ready = false;
    ssize_t got = 0;
    while ((got = recv(d->notify_fd, text, sizeof text - 1, 0)) > 0) {
        text[got] = '\0';
        ready = ready || strstr(text, "READY=1") != NULL;
    }
    return ready;
}

/* READY, or its death; both are events. */
static bool daemon_wait_ready(struct daemon *d)
{
    uint64_t deadline = now_ns() + (uint64_t)DAEMON_READY_MS * 1000000U;
    while (now_ns() < deadline) {
        if (wait_input(d->notify_fd, 100) && daemon_is_ready(d)) {
            return true;
        }
        if (proc_wait(&d->proc, 0)) {
            return false;
        }
    }
    return false;
}

void daemon_start(struct daemon *d, const char *const *env)
{
    char notify[sizeof d->notify + 16];
    const char *all[DAEMON_ENV] = { notify };
    (void)snprintf(notify, sizeof notify, "NOTIFY_SOCKET=%s", d->notify);
    for (size_t i = 0; env != NULL && env[i] != NULL; i++) {
        cr_assert_lt(i + 2, DAEMON_ENV);
        all[i + 1] = env[i];
    }
    (void)daemon_is_ready(d); /* what an earlier one has left */
    const char *argv[7 + sizeof d->args / sizeof d->args[0]] = {
        program_cairnd(), "--socket", d->socket, "--data", d->data
    };
    size_t count = 5;
    for (size_t i = 0; d->args[i] != NULL; i++) {
        argv[count++] = d->args[i];
    }
    argv[count] = getenv("CAIRN_TEST_DAEMON_ARG"); /* of every daemon: integration/CMakeLists.txt */
    proc_start(&d->proc, &(struct proc_spec){ .argv = argv, .env = all, .log_path = d->log });
    if (!daemon_wait_ready(d)) {
        int status = d->proc.status;
        daemon_show_log(d);
        cr_assert_fail("cairnd is not ready (status %#x)", (unsigned)status);
    }
}

void daemon_kill(struct daemon *d)
{
    proc_kill(&d->proc);
}

int daemon_stop(struct daemon *d)
{
    proc_signal(&d->proc, SIGTERM);
    if (!proc_wait(&d->proc, DAEMON_STOP_MS)) {
        proc_kill(&d->proc);
        return -1;
    }
    return proc_exit(&d->proc);
}

void daemon_fini(struct daemon *d)
{
    proc_kill(&d->proc);
    (void)close(d->notify_fd);
    tmp_remove(d->socket_dir);
}

void daemon_begin(struct daemon *d,
                  const char *name,
                  const char *const *options,
                  const char *const *env)
{
    char dir[TMP_PATH_BYTES];
    tmp_make(name, dir);
    daemon_init(d, dir);
    memcpy(d->dir, dir, sizeof d->dir);
    for (size_t i = 0; options != NULL && options[i] != NULL; i++) {
        cr_assert_lt(i + 1, sizeof d->args / sizeof d->args[0]);
        d->args[i] = options[i];
    }
    daemon_start(d, env);
}

void daemon_end(struct daemon *d)
{
    cr_assert_eq(daemon_stop(d), 0);
    cr_assert_eq(daemon_fsck(d, false), 0);
    daemon_fini(d);
    tmp_remove(d->dir);
}

static bool daemon_line_ends(const char *line, const char *end)
{
    size_t line_bytes = strlen(line);
    size_t end_bytes = strlen(end);
    return line_bytes >= end_bytes && strcmp(line + line_bytes - end_bytes, end) == 0;
}

/* Its last line is the sum. */
int daemon_fsck(const struct daemon *d, bool killed)
{
    struct proc p;
    char line[1024];
    unsigned leftovers = 0;
    const char *argv[] = { program_cairnd(), "--fsck", d->data, NULL };
    const struct proc_spec spec = { .argv = argv, .log_path = d->log, .pipe_out = true };
    proc_start(&p, &spec);
    while (proc_line(&p, DAEMON_FSCK_MS, line, sizeof line)) {
        if (daemon_line_ends(line, ", goes when the run is opened")) {
            leftovers++;
        } else if (!daemon_line_ends(line, " findings")) {
            (void)fprintf(stderr, "fsck: %s\n", line);
        }
    }
    if (!proc_wait(&p, DAEMON_FSCK_MS)) {
        proc_kill(&p);
    }
    /* Only a kill may leave something half done behind. */
    return leftovers > 0 && !killed ? 1 : proc_exit(&p);
}

void daemon_show_log(const struct daemon *d)
{
    char text[8192];
    int fd = open(d->log, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    off_t end = lseek(fd, 0, SEEK_END);
    off_t from = end > (off_t)sizeof text ? end - (off_t)sizeof text : 0;
    ssize_t got = pread(fd, text, sizeof text, from);
    if (got > 0) {
        (void)fprintf(stderr, "---- %s\n%.*s----\n", d->log, (int)got, text);
    }
    (void)close(fd);
}
