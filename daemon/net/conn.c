/* conn.c: states, deadlines, pausing and the end of a connection. */
#include "net/conn.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "net/conn_int.h"
#include "net/peer.h"

enum { CONN_DRAIN_MS = 1000 };

#define CONN_END (SM_BIT(CONN_DRAIN) | SM_BIT(CONN_CLOSING))

static const char *const conn_names[CONN_NR] = {
    [CONN_HEAD] = "head",       [CONN_MESSAGE] = "message", [CONN_ASK] = "ask",
    [CONN_PAYLOAD] = "payload", [CONN_DISCARD] = "discard", [CONN_DRAIN] = "drain",
    [CONN_CLOSING] = "closing",
};
static const uint32_t conn_next[CONN_NR] = {
    [CONN_HEAD] = SM_BIT(CONN_MESSAGE) | CONN_END,
    [CONN_MESSAGE] = SM_BIT(CONN_HEAD) | SM_BIT(CONN_ASK) | CONN_END,
    [CONN_ASK] = SM_BIT(CONN_PAYLOAD) | SM_BIT(CONN_DISCARD) | CONN_END,
    [CONN_PAYLOAD] = SM_BIT(CONN_HEAD) | SM_BIT(CONN_DISCARD) | CONN_END,
    [CONN_DISCARD] = SM_BIT(CONN_HEAD) | CONN_END,
    [CONN_DRAIN] = SM_BIT(CONN_CLOSING),
    [CONN_CLOSING] = 0,
};
static const struct sm_type conn_machine = { "conn", conn_names, conn_next, CONN_NR };

bool conn_is_over(const struct conn *c)
{
    return c->sm.state == CONN_DRAIN || c->sm.state == CONN_CLOSING;
}

bool conn_peer_in_group(const struct conn *conn, uint32_t gid)
{
    return peer_in_group(conn->fd, &conn->peer, gid);
}

uint64_t conn_id(const struct conn *conn)
{
    return conn->id;
}

/* ---- the end ---- */

static void conn_free(struct conn *c)
{
    if (c->session != NULL) {
        c->set->handler->closed(c->session, c->reason);
    }
    conn_end_wait(c);
    conn_out_free_all(c);
    buf_give(c->buf);
    free(c->message);
    conn_set_left(c);
    free(c);
}

static void conn_handle_closed(uv_handle_t *handle)
{
    struct conn *c = handle->data;
    if (--c->holds == 0) {
        conn_free(c);
    }
}

static void conn_log_end(const struct conn *c)
{
    char why[600];
    uint64_t age_ms = uv_now(c->set->loop) - c->opened_ms;
    (void)log_quote(why, sizeof why, c->reason, strlen(c->reason));
    if (c->quiet) {
        log_debug("connection closed",
                  "conn=%" PRIu64 " uid=%" PRIu32 " age_ms=%" PRIu64 " why=%s",
                  c->id,
                  c->peer.uid,
                  age_ms,
                  why);
    } else {
        log_info("connection closed",
                 "conn=%" PRIu64 " uid=%" PRIu32 " pid=%" PRId32 " age_ms=%" PRIu64 " why=%s",
                 c->id,
                 c->peer.uid,
                 c->peer.pid,
                 age_ms,
                 why);
    }
}

static void conn_shut(struct conn *c)
{
    sm_move(&c->sm, CONN_CLOSING);
    conn_log_end(c);
    uv_close((uv_handle_t *)&c->timer, conn_handle_closed);
    uv_close((uv_handle_t *)&c->poll, conn_handle_closed);
    (void)close(c->fd);
    if (c->pidfd >= 0) {
        uv_close((uv_handle_t *)&c->pid_poll, conn_handle_closed);
        (void)close(c->pidfd);
    }
}

void conn_end(struct conn *c, bool quiet, const char *fmt, ...)
{
    if (c->sm.state == CONN_CLOSING) {
        return;
    }
    if (c->reason[0] == '\0') { /* the first reason is the true one */
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(c->reason, sizeof c->reason, fmt, args);
        va_end(args);
        c->quiet = quiet;
    }
    conn_shut(c);
}

/* ---- deadlines ---- */

static uint64_t conn_earliest(const struct conn *c)
{
    uint64_t earliest = UINT64_MAX;
    const uint64_t all[] = { c->hello_at, c->frame_at, c->output_at, c->drain_at };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i] != 0 && all[i] < earliest) {
            earliest = all[i];
        }
    }
    return earliest;
}

static bool conn_due(uint64_t at, uint64_t now)
{
    return at != 0 && at <= now;
}

static void conn_expire(struct conn *c, uint64_t now)
{
    const struct conn_limits *limits = &c->set->limits;
    struct err err = { 0 };
    char where[128];
    (void)conn_where(c, where, sizeof where);
    if (conn_due(c->drain_at, now)) {
        conn_shut(c); /* the reason is known since conn_fail */
    } else if (conn_due(c->output_at, now)) {
        conn_end(c,
                 false,
                 "took its answers too slowly: a frame has its bytes at %" PRIu64
                 " bytes/s, and all of them %" PRIu64 " ms more",
                 limits->min_rate_bytes,
                 conn_patience_ms(limits));
    } else if (conn_due(c->hello_at, now)) {
        (void)err_set(&err, -CAIRN_ETIMEDOUT, "no HELLO within %" PRIu64 " ms", limits->hello_ms);
        conn_fail(c, 0, &err);
    } else if (conn_due(c->frame_at, now)) {
        (void)err_set(&err,
                      -CAIRN_ETIMEDOUT,
                      "frame too slow, %s: a frame has %" PRIu64 " ms and its bytes at %" PRIu64
                      " bytes/s",
                      where,
                      limits->frame_ms,
                      limits->min_rate_bytes);
        conn_fail(c, c->frame.request, &err);
    }
}

static void conn_timer_fired(uv_timer_t *timer)
{
    struct conn *c = timer->data;
    c->timer_at = 0;
    conn_expire(c, uv_now(c->set->loop));
    conn_set_timer(c);
}

/* The timer may be early, never late: deadlines mostly move away, and that costs nothing here. */
void conn_set_timer(struct conn *c)
{
    uint64_t earliest = conn_earliest(c);
    uint64_t now = uv_now(c->set->loop);
    if (c->sm.state == CONN_CLOSING || earliest == UINT64_MAX ||
        (c->timer_at != 0 && c->timer_at <= earliest)) {
        return;
    }
    c->timer_at = earliest;
    (void)uv_timer_start(&c->timer, conn_timer_fired, earliest > now ? earliest - now : 0, 0);
}

/* The frame's clock stands still while it is us who do not read. */
static void conn_clock(struct conn *c, bool reading)
{
    uint64_t now = uv_now(c->set->loop);
    if (!reading && c->frame_at != 0) {
        c->frame_left_ms = c->frame_at > now ? c->frame_at - now : 1;
        c->frame_at = 0;
    } else if (reading && c->frame_left_ms != 0) {
        c->frame_at = now + c->frame_left_ms;
        c->frame_left_ms = 0;
        conn_set_timer(c);
    }
}

/* ---- what the loop watches ---- */

static void conn_hung_up(struct conn *c)
{
    char where[128];
    bool between = c->sm.state == CONN_HEAD && c->got == 0;
    conn_end(c, between && c->out == NULL, "hung up %s", conn_where(c, where, sizeof where));
}

static void conn_ready(uv_poll_t *poll, int status, int events)
{
    struct conn *c = poll->data;
    if (status < 0) {
        /* The socket is in error: reset by a peer that left answers unread. */
        conn_hung_up(c);
        return;
    }
    if ((events & UV_WRITABLE) != 0) {
        conn_flush(c);
    }
    if ((events & UV_READABLE) != 0) {
        conn_read(c);
    }
    if ((events & UV_DISCONNECT) != 0 && c->sm.state != CONN_CLOSING) {
        conn_hung_up(c);
    }
    conn_watch(c);
}

void conn_watch(struct conn *c)
{
    if (c->sm.state == CONN_CLOSING) {
        return;
    }
    bool reading = !conn_is_over(c) && c->pauses == 0 && !conn_is_full(c);
    int events = (reading ? UV_READABLE : UV_DISCONNECT) | (c->out == NULL ? 0 : UV_WRITABLE);
    if (reading != c->reading) {
        c->reading = reading;
        conn_clock(c, reading);
    }
    if (events != c->events) {
        c->events = events;
        int rc = uv_poll_start(&c->poll, events, conn_ready);
        if (rc < 0) {
            conn_end(c, false, "cannot be watched: %s", uv_strerror(rc));
        }
    }
}

void conn_pause(struct conn *conn)
{
    conn->pauses++;
    conn_watch(conn);
}

void conn_resume(struct conn *conn)
{
    assert(conn->pauses > 0);
    conn->pauses--;
    if (conn->pauses == 0 && conn->sm.state == CONN_ASK) {
        conn_ask(conn);
    }
    conn_watch(conn);
}

void conn_greeted(struct conn *conn)
{
    conn->hello_at = 0;
}

/* ---- the beginning ---- */

static void conn_peer_ended(uv_poll_t *poll, int status, int events)
{
    struct conn *c = poll->data;
    char where[128];
    (void)status;
    (void)events;
    bool between = c->sm.state == CONN_HEAD && c->got == 0;
    conn_end(c,
             between && c->out == NULL,
             "process %" PRId32 " ended %s",
             c->peer.pid,
             conn_where(c, where, sizeof where));
}

/* Forked children of the peer may hold its socket open for ever: its process tells. Without a pidfd
 * (no such call, another pid namespace, out of descriptors) the socket has to do. */
static void conn_watch_peer(struct conn *c)
{
    c->pidfd = peer_pidfd(&c->peer);
    if (c->pidfd < 0) {
        return;
    }
    if (uv_poll_init(c->set->loop, &c->pid_poll, c->pidfd) < 0) {
        (void)close(c->pidfd);
        c->pidfd = -1;
        return;
    }
    c->holds++;
    c->pid_poll.data = c;
    (void)uv_poll_start(&c->pid_poll, UV_READABLE, conn_peer_ended);
}

static void conn_link(struct conn *c)
{
    struct conn_set *set = c->set;
    c->next = set->conns;
    c->prev = &set->conns;
    if (c->next != NULL) {
        c->next->prev = &c->next;
    }
    set->conns = c;
    set->count++;
}

int conn_new(struct conn_set *set, int fd, const struct peer *peer, struct err *err)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory for a connection");
    }
    c->set = set;
    c->fd = fd;
    c->peer = *peer;
    c->id = ++set->last_id;
    c->opened_ms = uv_now(set->loop);
    c->out_end = &c->out;
    sm_init(&c->sm, &conn_machine, CONN_HEAD, c->id);
    int rc = uv_poll_init(set->loop, &c->poll, fd);
    if (rc < 0) {
        free(c);
        return err_set(err, -CAIRN_EIO, "watch a connection: %s", uv_strerror(rc));
    }
    (void)uv_timer_init(set->loop, &c->timer);
    c->holds = 2;
    c->poll.data = c;
    c->timer.data = c;
    conn_link(c);
    conn_watch_peer(c);
    c->session = set->handler->opened(set->ctx, c, &c->peer);
    if (c->session == NULL) {
        struct err refused = { 0 };
        (void)err_set(&refused, -CAIRN_ENOMEM, "no memory for a session");
        conn_fail(c, 0, &refused);
        return 0;
    }
    c->hello_at = c->opened_ms + set->limits.hello_ms;
    conn_set_timer(c);
    conn_watch(c);
    log_debug("connection opened",
              "conn=%" PRIu64 " uid=%" PRIu32 " pid=%" PRId32,
              c->id,
              peer->uid,
              peer->pid);
    return 0;
}

/* ---- asked from above ---- */

void conn_close(struct conn *conn, const char *reason)
{
    conn_end(conn, false, "%s", reason);
}

void conn_fail(struct conn *conn, uint32_t request, const struct err *err)
{
    struct wire_buf head = { 0 };
    if (conn_is_over(conn)) {
        return;
    }
    (void)snprintf(conn->reason, sizeof conn->reason, "%s", err->msg);
    if (conn_error_encode(request, err, true, &head) < 0) {
        conn_end(conn, false, "%s", err->msg);
        return;
    }
    conn_queue(conn, &(struct conn_out){ .head = head, .fd = -1 });
    if (conn_is_over(conn)) {
        return; /* no memory even for that */
    }
    sm_move(&conn->sm, CONN_DRAIN);
    conn->hello_at = 0;
    conn->frame_at = 0;
    conn->frame_left_ms = 0;
    conn->drain_at = uv_now(conn->set->loop) + CONN_DRAIN_MS;
    conn_set_timer(conn);
    conn_watch(conn);
}
