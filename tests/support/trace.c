#include "support/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "support/proc.h"

enum { TRACE_PIPE_BYTES = 1 << 20 };

void trace_init(struct trace *t, const char *dir)
{
    t->used = 0;
    (void)snprintf(t->path, sizeof t->path, "%s/trace", dir);
    cr_assert_eq(mkfifo(t->path, 0600), 0, "%s: %s", t->path, strerror(errno));
    /* For both, so that it has no end while nobody writes. */
    t->fd = open(t->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    cr_assert_geq(t->fd, 0);
    (void)fcntl(t->fd, F_SETPIPE_SZ, TRACE_PIPE_BYTES);
}

/* Cut a string of at most ret_bytes - 1 off *text, up to `end`. */
static void trace_word(char **text, char end, char *ret, size_t ret_bytes)
{
    char *stop = strchr(*text, end);
    cr_assert_not_null(stop, "a trace line of another form: '%s'", *text);
    size_t bytes = (size_t)(stop - *text);
    bytes = bytes < ret_bytes ? bytes : ret_bytes - 1;
    memcpy(ret, *text, bytes);
    ret[bytes] = '\0';
    *text = stop + 1;
}

static bool trace_take(struct trace *t, struct trace_line *ret)
{
    char *end = memchr(t->text, '\n', t->used);
    if (end == NULL) {
        return false;
    }
    size_t bytes = (size_t)(end + 1 - t->text);
    char line[256];
    cr_assert_lt(bytes, sizeof line);
    memcpy(line, t->text, bytes);
    line[bytes] = '\0';
    t->used -= bytes;
    memmove(t->text, end + 1, t->used);

    char *at = line;
    char pid[16];
    trace_word(&at, ' ', pid, sizeof pid);
    ret->pid = (pid_t)strtol(pid, NULL, 10);
    trace_word(&at, ' ', ret->program, sizeof ret->program);
    trace_word(&at, '\n', ret->name, sizeof ret->name);
    ret->ns = now_ns();
    return true;
}

bool trace_next(struct trace *t, uint64_t timeout_ns, struct trace_line *ret)
{
    uint64_t deadline = now_ns() + timeout_ns;
    while (!trace_take(t, ret)) {
        ssize_t got = read(t->fd, t->text + t->used, sizeof t->text - t->used);
        if (got > 0) {
            t->used += (size_t)got;
            continue;
        }
        uint64_t now = now_ns();
        if (now >= deadline) {
            return false;
        }
        struct timespec left = { .tv_sec = (time_t)((deadline - now) / 1000000000U),
                                 .tv_nsec = (long)((deadline - now) % 1000000000U) };
        struct pollfd wait = { .fd = t->fd, .events = POLLIN };
        (void)ppoll(&wait, 1, &left, NULL);
    }
    return true;
}

void trace_fini(struct trace *t)
{
    (void)close(t->fd);
    (void)unlink(t->path);
}
