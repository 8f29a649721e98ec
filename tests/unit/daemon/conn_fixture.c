#include "conn_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal/limits.h"
#include "loop.h"
#include "support/case.h"

/* ---- the handler ---- */

static void fx_resume(struct buf_user *user)
{
    struct fx_session *s = (struct fx_session *)((char *)user - offsetof(struct fx_session, user));
    if (s->conn != NULL) {
        conn_resume(s->conn);
    }
}

static void *fx_opened(void *ctx, struct conn *conn, const struct peer *peer)
{
    struct fixture *fx = ctx;
    if (fx->refuse_session) {
        return NULL;
    }
    cr_assert_lt(fx->opened, FX_SESSIONS);
    struct fx_session *s = &fx->sessions[fx->opened++];
    *s = (struct fx_session){ .fx = fx, .conn = conn, .peer = *peer };
    s->user = (struct buf_user){ .uid = peer->uid, .resume = fx_resume };
    return s;
}

static enum conn_payload
fx_payload(void *session, const struct frame *f, struct slice message, struct buf **ret_buf)
{
    struct fx_session *s = session;
    cr_assert_eq(message.bytes, f->message_bytes);
    s->payloads++;
    if (s->fx->on_payload != NULL) {
        s->fx->on_payload(s);
    }
    if (s->fx->answer != CONN_PAYLOAD_TAKE) {
        return s->fx->answer;
    }
    *ret_buf = buf_take(s->fx->pool, &s->user);
    return *ret_buf == NULL ? CONN_PAYLOAD_WAIT : CONN_PAYLOAD_TAKE;
}

static void fx_frame(void *session, const struct frame *f, struct slice message, struct buf *buf)
{
    struct fx_session *s = session;
    const uint8_t *bytes = message.data;
    s->frames++;
    s->last = *f;
    s->sum = 0;
    cr_assert_eq(message.bytes, f->message_bytes);
    for (size_t i = 0; i < message.bytes; i++) {
        s->sum = s->sum * 31 + bytes[i];
    }
    buf_give(s->buf);
    s->buf = buf;
    if (s->fx->on_frame != NULL) {
        s->fx->on_frame(s, f);
    }
}

static void fx_closed(void *session, const char *reason)
{
    struct fx_session *s = session;
    s->conn = NULL;
    s->closes++;
    cr_assert_eq(s->closes, 1);
    (void)snprintf(s->reason, sizeof s->reason, "%s", reason);
    buf_user_gone(s->fx->pool, &s->user);
}

static const struct conn_handler fx_handler = { fx_opened, fx_payload, fx_frame, fx_closed };

/* ---- start and end ---- */

void fx_init(struct fixture *fx)
{
    *fx = (struct fixture){ .answer = CONN_PAYLOAD_TAKE };
    fx->limits = (struct conn_limits){ .hello_ms = 60000,
                                       .frame_ms = 60000,
                                       .output_ms = 60000,
                                       .min_rate_bytes = 1 << 20,
                                       .connections = 100,
                                       .connections_per_uid = 100 };
}

void fx_start(struct fixture *fx)
{
    struct err err = { 0 };
    cr_assert_eq(uv_loop_init(&fx->loop), 0);
    sock_dir_make(&fx->dir);
    fx->listen_fd = sock_listen(fx->dir.path);
    fx->pool = buf_pool_new(4 * (uint64_t)LIMIT_CHUNK_BYTES, BUF_SHARE_WRITE);
    const struct conn_set_options options = {
        .listen_fd = fx->listen_fd, .limits = fx->limits, .handler = &fx_handler, .ctx = fx
    };
    cr_assert_eq(conn_set_new(&fx->loop, &options, &fx->set, &err), 0, "%s", err.msg);
}

static void fx_is_empty(void *ctx)
{
    struct fixture *fx = ctx;
    cr_assert_not(fx->empty, "once");
    fx->empty = true;
}

void fx_end(struct fixture *fx)
{
    conn_set_stop_accept(fx->set);
    conn_set_close_all(fx->set, "the test ends");
    conn_set_close(fx->set, fx_is_empty, fx);
    fx_until(fx, loop_flag, &fx->empty);
    cr_assert_eq(conn_set_count(fx->set), 0);
    fx->set = conn_set_free(fx->set);
    for (unsigned i = 0; i < fx->opened; i++) {
        cr_assert_eq(fx->sessions[i].closes, 1, "session %u", i);
        buf_give(fx->sessions[i].buf);
    }
    cr_assert_eq(buf_pool_used_bytes(fx->pool), 0);
    fx->pool = buf_pool_free(fx->pool);
    (void)close(fx->listen_fd);
    sock_dir_remove(&fx->dir);
    cr_assert(loop_end(&fx->loop));
}

/* ---- waiting ---- */

void fx_until(struct fixture *fx, bool (*done)(void *arg), void *arg)
{
    cr_assert(loop_until(&fx->loop, done, arg), "in time");
}

static void fx_timer_fired(uv_timer_t *timer)
{
    bool *fired = timer->data;
    *fired = true;
}

void fx_for_ms(struct fixture *fx, uint64_t ms)
{
    uv_timer_t timer;
    bool fired = false;
    (void)uv_timer_init(&fx->loop, &timer);
    timer.data = &fired;
    /* Again and again: a turn that fires it first would wait for something else to happen. */
    (void)uv_timer_start(&timer, fx_timer_fired, ms, ms);
    fx_until(fx, loop_flag, &fired);
    uv_close((uv_handle_t *)&timer, NULL);
    (void)uv_run(&fx->loop, UV_RUN_NOWAIT);
}

struct fx_frames_wait {
    struct fx_session *s;
    unsigned frames;
};
static bool fx_frames_came(void *arg)
{
    const struct fx_frames_wait *wait = arg;
    return wait->s->frames >= wait->frames;
}

void fx_until_frames(struct fixture *fx, struct fx_session *s, unsigned frames)
{
    struct fx_frames_wait wait = { s, frames };
    fx_until(fx, fx_frames_came, &wait);
    cr_assert_eq(s->frames, frames);
}

static bool fx_is_closed(void *arg)
{
    const struct fx_session *s = arg;
    return s->closes > 0;
}

void fx_until_closed(struct fixture *fx, struct fx_session *s)
{
    fx_until(fx, fx_is_closed, s);
}

/* ---- clients ---- */

int fx_connect_only(struct fixture *fx)
{
    int fd = sock_connect(fx->dir.path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

struct fx_opened_wait {
    struct fixture *fx;
    unsigned opened;
};
static bool fx_is_opened(void *arg)
{
    const struct fx_opened_wait *wait = arg;
    return wait->fx->opened >= wait->opened;
}

int fx_connect(struct fixture *fx)
{
    struct fx_opened_wait wait = { fx, fx->opened + 1 };
    int fd = fx_connect_only(fx);
    fx_until(fx, fx_is_opened, &wait);
    return fd;
}

size_t fx_send_some(int fd, const void *data, size_t bytes)
{
    ssize_t sent = send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    cr_assert(sent >= 0 || errno == EAGAIN, "send: %d", errno);
    return sent < 0 ? 0 : (size_t)sent;
}

struct fx_send_wait {
    int fd;
    const uint8_t *data;
    size_t bytes, at;
};
static bool fx_is_sent(void *arg)
{
    struct fx_send_wait *wait = arg;
    wait->at += fx_send_some(wait->fd, wait->data + wait->at, wait->bytes - wait->at);
    return wait->at == wait->bytes;
}

void fx_send(struct fixture *fx, int fd, const void *data, size_t bytes)
{
    struct fx_send_wait wait = { fd, data, bytes, 0 };
    fx_until(fx, fx_is_sent, &wait);
}

void fx_send_frame(
    struct fixture *fx, int fd, const struct frame *f, const void *message, const void *payload)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    frame_encode(f, prefix);
    fx_send(fx, fd, prefix, sizeof prefix);
    fx_send(fx, fd, message, f->message_bytes);
    fx_send(fx, fd, payload, f->payload_bytes);
}

void fx_ping(struct fixture *fx, int fd, uint32_t request)
{
    const struct frame f = { .type = WIRE_PING, .request = request };
    fx_send_frame(fx, fd, &f, "", "");
}

struct fx_recv_wait {
    int fd;
    uint8_t *data;
    size_t bytes, at;
    bool closed;
};
static bool fx_is_received(void *arg)
{
    struct fx_recv_wait *wait = arg;
    if (wait->at == wait->bytes) {
        return true;
    }
    ssize_t got = recv(wait->fd, wait->data + wait->at, wait->bytes - wait->at, MSG_DONTWAIT);
    wait->closed = got == 0 || (got < 0 && errno != EAGAIN);
    wait->at += got > 0 ? (size_t)got : 0;
    return wait->closed || wait->at == wait->bytes;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written through wait.data */
struct frame fx_recv(struct fixture *fx, int fd, uint8_t *message, size_t message_bytes)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    struct frame f = { 0 };
    struct err err = { 0 };
    struct fx_recv_wait wait = { .fd = fd, .data = prefix, .bytes = sizeof prefix };
    fx_until(fx, fx_is_received, &wait);
    cr_assert_eq(wait.at, sizeof prefix, "closed after %zu bytes", wait.at);
    cr_assert_eq(frame_decode(prefix, &f, &err), 0, "%s", err.msg);
    cr_assert_leq(f.message_bytes + f.payload_bytes, message_bytes);
    wait = (struct fx_recv_wait){ .fd = fd,
                                  .data = message,
                                  .bytes = f.message_bytes + f.payload_bytes };
    fx_until(fx, fx_is_received, &wait);
    cr_assert_eq(wait.at, wait.bytes);
    return f;
}

void fx_expect_error(struct fixture *fx, int fd, int code, const char *text, bool closing)
{
    uint8_t message[4096];
    union wire_msg msg;
    struct bump bump;
    struct err err = { 0 };
    struct frame f = fx_recv(fx, fd, message, sizeof message);
    cr_assert_eq(f.type, WIRE_ERROR);
    bump_init(&bump, wire_bump_cap(f.message_bytes));
    cr_assert_eq(wire_decode(f.type, slice_of(message, f.message_bytes), &bump, &msg, &err),
                 0,
                 "%s",
                 err.msg);
    cr_assert_eq(msg.error.code,
                 (uint32_t)code,
                 "got %u: %.*s",
                 msg.error.code,
                 (int)msg.error.text.bytes,
                 (const char *)msg.error.text.data);
    cr_assert_eq(msg.error.closing, closing);
    cr_assert_not_null(memmem(msg.error.text.data, msg.error.text.bytes, text, strlen(text)),
                       "%.*s",
                       (int)msg.error.text.bytes,
                       (const char *)msg.error.text.data);
    bump_fini(&bump);
}

void fx_expect_closed(struct fixture *fx, int fd)
{
    uint8_t byte = 0;
    struct fx_recv_wait wait = { .fd = fd, .data = &byte, .bytes = 1 };
    fx_until(fx, fx_is_received, &wait);
    cr_assert(wait.closed, "something came instead of the end");
}
