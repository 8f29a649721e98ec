/* conn_set.c: accepting, limits, and the set of connections.
 *
 * Who is over a limit is accepted, told so in an ERROR frame, and closed: a client that is left in
 * the backlog could only guess. When descriptors run out, the reserve is given up for the same. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "net/conn_int.h"
#include "net/peer.h"

enum { CONN_ACCEPTS_PER_TURN = 16, CONN_RETRY_MS = 100 };

/* ---- admission ---- */

static uint32_t conn_set_count_uid(const struct conn_set *set, uint32_t uid)
{
    uint32_t count = 0;
    for (const struct conn *c = set->conns; c != NULL; c = c->next) {
        count += c->peer.uid == uid;
    }
    return count;
}

static int conn_set_admit(const struct conn_set *set, const struct peer *peer, struct err *err)
{
    const struct conn_limits *limits = &set->limits;
    if (peer->uid == PEER_OVERFLOW_UID) {
        return err_set(
            err,
            -CAIRN_EACCES,
            "your uid reads as %u here: the trainer (or cairnd, PrivateUsers=) runs in a user "
            "namespace that does not map it; map it to a real uid",
            PEER_OVERFLOW_UID);
    }
    if (set->count >= limits->connections) {
        return err_set(err,
                       -CAIRN_ELIMIT,
                       "all %" PRIu32 " connections are in use (--max-connections)",
                       limits->connections);
    }
    if (conn_set_count_uid(set, peer->uid) >= limits->connections_per_uid) {
        return err_set(err,
                       -CAIRN_ELIMIT,
                       "uid %" PRIu32 " has %" PRIu32
                       " connections already (--max-connections-per-uid)",
                       peer->uid,
                       limits->connections_per_uid);
    }
    return 0;
}

/* A fresh socket has room for one frame: no queue, no wait. */
static void conn_set_refuse(int fd, const struct peer *peer, const struct err *err)
{
    struct wire_buf frame = { 0 };
    if (conn_error_encode(0, err, true, &frame) == 0) {
        (void)send(fd, frame.data, frame.bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        wire_buf_free(&frame);
    }
    (void)close(fd);
    log_warn("connection refused",
             "uid=%" PRIu32 " pid=%" PRId32 " error=%s why=\"%s\"",
             peer->uid,
             peer->pid,
             cairn_error_name(err->code),
             err->msg);
}

static void conn_set_welcome(struct conn_set *set, int fd)
{
    struct peer peer = { 0 };
    struct err err = { 0 };
    int bytes = CONN_SEND_BUFFER_BYTES;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (peer_read(fd, &peer, &err) < 0 || conn_set_admit(set, &peer, &err) < 0 ||
        conn_new(set, fd, &peer, &err) < 0) {
        conn_set_refuse(fd, &peer, &err);
    }
}

/* ---- accepting ---- */

static void conn_set_acceptable(uv_poll_t *poll, int status, int events);

static void conn_set_reserve(struct conn_set *set)
{
    if (set->reserve_fd < 0) {
        set->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
}

static void conn_set_retry(uv_timer_t *timer)
{
    struct conn_set *set = timer->data;
    conn_set_reserve(set);
    (void)uv_poll_start(&set->poll, UV_READABLE, conn_set_acceptable);
}

/* Out of descriptors: whoever is next in the backlog is told with the reserved one. */
static void conn_set_out_of_fds(struct conn_set *set)
{
    struct err err = { 0 };
    struct peer peer = { 0 };
    (void)err_set(&err, -CAIRN_ELIMIT, "the daemon has no descriptor left (LimitNOFILE=)");
    if (set->reserve_fd < 0) {
        return;
    }
    (void)close(set->reserve_fd);
    set->reserve_fd = -1;
    int fd = accept4(set->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        (void)peer_read(fd, &peer, NULL);
        conn_set_refuse(fd, &peer, &err);
    }
    conn_set_reserve(set);
}

/* The backlog stays readable: without a break the loop would spin. */
static void conn_set_accept_failed(struct conn_set *set, int errnum)
{
    log_warn("accept failed", "error=\"%s\"", uv_strerror(uv_translate_sys_error(errnum)));
    if (errnum == EMFILE || errnum == ENFILE) {
        conn_set_out_of_fds(set);
    }
    (void)uv_poll_stop(&set->poll);
    (void)uv_timer_start(&set->retry, conn_set_retry, CONN_RETRY_MS, 0);
}

static void conn_set_acceptable(uv_poll_t *poll, int status, int events)
{
    struct conn_set *set = poll->data;
    (void)status;
    (void)events;
    for (unsigned i = 0; i < CONN_ACCEPTS_PER_TURN; i++) {
        int fd = accept4(set->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            conn_set_welcome(set, fd);
            continue;
        }
        if (errno == ECONNABORTED || errno == EINTR) {
            continue;
        }
        if (errno != EAGAIN) {
            conn_set_accept_failed(set, errno);
        }
        return;
    }
}

int conn_set_new(uv_loop_t *loop,
                 const struct conn_set_options *options,
                 struct conn_set **ret,
                 struct err *err)
{
    struct conn_set *set = calloc(1, sizeof *set);
    if (set == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory for the set of connections");
    }
    set->loop = loop;
    set->limits = options->limits;
    set->handler = options->handler;
    set->ctx = options->ctx;
    set->listen_fd = options->listen_fd;
    set->reserve_fd = -1;
    int rc = uv_poll_init(loop, &set->poll, set->listen_fd);
    if (rc < 0) {
        free(set);
        return err_set(err, -CAIRN_EIO, "watch the listening socket: %s", uv_strerror(rc));
    }
    (void)uv_timer_init(loop, &set->retry);
    set->poll.data = set;
    set->retry.data = set;
    set->handles = 2;
    conn_set_reserve(set);
    (void)uv_poll_start(&set->poll, UV_READABLE, conn_set_acceptable);
    *ret = set;
    return 0;
}

/* ---- the end ---- */

static void conn_set_check_empty(struct conn_set *set)
{
    if (set->empty != NULL && set->handles == 0 && set->conns == NULL) {
        void (*empty)(void *ctx) = set->empty;
        set->empty = NULL;
        empty(set->empty_ctx);
    }
}

void conn_set_left(struct conn *c)
{
    struct conn_set *set = c->set;
    *c->prev = c->next;
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    set->count--;
    conn_set_check_empty(set);
}

static void conn_set_handle_closed(uv_handle_t *handle)
{
    struct conn_set *set = handle->data;
    set->handles--;
    conn_set_check_empty(set);
}

void conn_set_stop_accept(struct conn_set *set)
{
    if (!set->stopped) {
        set->stopped = true;
        uv_close((uv_handle_t *)&set->poll, conn_set_handle_closed);
        uv_close((uv_handle_t *)&set->retry, conn_set_handle_closed);
    }
}

void conn_set_close_all(struct conn_set *set, const char *reason)
{
    struct err err = { 0 };
    (void)err_set(&err, -CAIRN_ECANCELED, "%s", reason);
    for (struct conn *c = set->conns; c != NULL; c = c->next) {
        conn_fail(c, 0, &err);
    }
}

void conn_set_close(struct conn_set *set, void (*empty)(void *ctx), void *ctx)
{
    set->empty = empty;
    set->empty_ctx = ctx;
    conn_set_check_empty(set);
}

struct conn_set *conn_set_free(struct conn_set *set)
{
    if (set != NULL) {
        if (set->reserve_fd >= 0) {
            (void)close(set->reserve_fd);
        }
        free(set);
    }
    return NULL;
}

uint32_t conn_set_count(const struct conn_set *set)
{
    return set->count;
}
