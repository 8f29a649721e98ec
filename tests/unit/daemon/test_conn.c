/* What comes in: frames, payload, deadlines, misuse. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conn_fixture.h"
#include "internal/limits.h"
#include "support/case.h"

static struct fixture fx;

static struct frame data_frame(uint32_t request, uint64_t payload_bytes)
{
    return (struct frame){ .type = WIRE_DATA, .request = request, .payload_bytes = payload_bytes };
}

static uint8_t *pattern(size_t bytes)
{
    uint8_t *data = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (uint8_t)(i * 2654435761u >> 13);
    }
    return data;
}

CASE(conn, a_frame_in_single_bytes)
{
    fx_init(&fx);
    fx_start(&fx);
    int fd = fx_connect(&fx);
    const struct frame f = { .type = WIRE_HELLO, .request = 77, .message_bytes = 5 };
    uint8_t bytes[FRAME_PREFIX_BYTES + 5];
    frame_encode(&f, bytes);
    static const uint8_t text[5] = { 'h', 'e', 'l', 'l', 'o' };
    memcpy(bytes + FRAME_PREFIX_BYTES, text, sizeof text);
    for (size_t i = 0; i < sizeof bytes; i++) {
        cr_assert_eq(fx.sessions[0].frames, 0);
        fx_send(&fx, fd, bytes + i, 1);
        (void)uv_run(&fx.loop, UV_RUN_NOWAIT);
    }
    fx_until_frames(&fx, &fx.sessions[0], 1);
    cr_assert_eq(fx.sessions[0].last.type, WIRE_HELLO);
    cr_assert_eq(fx.sessions[0].last.request, 77);
    cr_assert_eq(fx.sessions[0].sum, ((((('h' * 31u) + 'e') * 31 + 'l') * 31 + 'l') * 31) + 'o');
    cr_assert_eq(fx.sessions[0].peer.uid, getuid());
    cr_assert_eq(fx.sessions[0].peer.pid, getpid());
    (void)close(fd);
    fx_end(&fx);
}

static uint32_t next_request;
static void in_order(struct fx_session *s, const struct frame *f)
{
    (void)s;
    cr_assert_eq(f->request, next_request);
    next_request++;
}

CASE(conn, many_frames_in_one_write_keep_their_order)
{
    enum { FRAMES = 1000 };
    static uint8_t bytes[FRAMES * FRAME_PREFIX_BYTES];
    next_request = 0;
    fx_init(&fx);
    fx.on_frame = in_order;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    for (uint32_t i = 0; i < FRAMES; i++) {
        const struct frame f = { .type = WIRE_PING, .request = i };
        frame_encode(&f, bytes + (size_t)i * FRAME_PREFIX_BYTES);
    }
    fx_send(&fx, fd, bytes, sizeof bytes);
    fx_until_frames(&fx, &fx.sessions[0], FRAMES);
    (void)close(fd);
    fx_end(&fx);
}

CASE(conn, payload_lands_in_a_buffer)
{
    uint8_t *data = pattern(LIMIT_CHUNK_BYTES);
    fx_init(&fx);
    fx_start(&fx);
    int fd = fx_connect(&fx);
    const uint64_t sizes[] = { LIMIT_CHUNK_BYTES, 1, 4097 };
    for (uint32_t i = 0; i < 3; i++) {
        const struct frame f = data_frame(i, sizes[i]);
        fx_send_frame(&fx, fd, &f, "", data);
        fx_until_frames(&fx, &fx.sessions[0], i + 1);
        cr_assert_eq(fx.sessions[0].buf->bytes, sizes[i]);
        cr_assert_eq(memcmp(fx.sessions[0].buf->data, data, sizes[i]), 0);
    }
    (void)close(fd);
    fx_end(&fx);
    free(data);
}

CASE(conn, payload_that_nobody_wants_is_thrown_away)
{
    uint8_t *data = pattern(LIMIT_CHUNK_BYTES);
    fx_init(&fx);
    fx.answer = CONN_PAYLOAD_DISCARD;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    const struct frame f = data_frame(1, LIMIT_CHUNK_BYTES);
    fx_send_frame(&fx, fd, &f, "", data);
    fx_ping(&fx, fd, 2);
    fx_until_frames(&fx, &fx.sessions[0], 2);
    cr_assert_null(fx.sessions[0].buf);
    cr_assert_eq(fx.sessions[0].last.request, 2);
    (void)close(fd);
    fx_end(&fx);
    free(data);
}

/* Four connections hold the pool's four buffers; the fifth waits, its client blocks, and the clock
 * of its frame stands still meanwhile. */
CASE(conn, payload_waits_for_a_buffer_and_its_clock_stands_still)
{
    enum { HOLDERS = 2 };
    uint8_t *data = pattern(LIMIT_CHUNK_BYTES);
    int fds[HOLDERS + 1];
    struct buf_user other = { .uid = 12345 };
    fx_init(&fx);
    fx.limits.frame_ms = 1500;
    fx.limits.min_rate_bytes = 1 << 30;
    fx_start(&fx);
    struct buf *held[2] = { buf_take(fx.pool, &other), buf_take(fx.pool, &other) };
    const struct frame f = data_frame(1, LIMIT_CHUNK_BYTES);
    for (unsigned i = 0; i <= HOLDERS; i++) {
        fds[i] = fx_connect(&fx);
    }
    for (unsigned i = 0; i < HOLDERS; i++) {
        fx_send_frame(&fx, fds[i], &f, "", data);
        fx_until_frames(&fx, &fx.sessions[i], 1);
    }
    struct fx_session *waiting = &fx.sessions[HOLDERS];
    uint8_t prefix[FRAME_PREFIX_BYTES];
    frame_encode(&f, prefix);
    fx_send(&fx, fds[HOLDERS], prefix, sizeof prefix);
    size_t sent = fx_send_some(fds[HOLDERS], data, LIMIT_CHUNK_BYTES);
    cr_assert_lt(sent, LIMIT_CHUNK_BYTES);
    fx_for_ms(&fx, 2000);
    cr_assert_eq(waiting->payloads, 1);
    cr_assert_eq(waiting->frames, 0);
    cr_assert_eq(waiting->closes, 0, "%s", waiting->reason);
    cr_assert_lt(
        fx_send_some(fds[HOLDERS], data + sent, LIMIT_CHUNK_BYTES - sent), 4096, "it is blocked");
    buf_give(fx.sessions[0].buf);
    fx.sessions[0].buf = NULL;
    cr_assert_eq(waiting->payloads, 2);
    fx_send(&fx, fds[HOLDERS], data + sent, LIMIT_CHUNK_BYTES - sent);
    fx_until_frames(&fx, waiting, 1);
    cr_assert_eq(memcmp(waiting->buf->data, data, LIMIT_CHUNK_BYTES), 0);
    buf_give(held[0]);
    buf_give(held[1]);
    for (unsigned i = 0; i <= HOLDERS; i++) {
        (void)close(fds[i]);
    }
    fx_end(&fx);
    free(data);
}

/* ---- pausing ---- */

static void pause_it(struct fx_session *s, const struct frame *f)
{
    (void)f;
    conn_pause(s->conn);
}

CASE(conn, pauses_are_counted)
{
    fx_init(&fx);
    fx.on_frame = pause_it;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    struct fx_session *s = &fx.sessions[0];
    fx_ping(&fx, fd, 1);
    fx_ping(&fx, fd, 2);
    fx_until_frames(&fx, s, 1);
    conn_pause(s->conn);
    conn_resume(s->conn);
    fx_for_ms(&fx, 50);
    cr_assert_eq(s->frames, 1);
    fx.on_frame = NULL;
    conn_resume(s->conn);
    fx_until_frames(&fx, s, 2);
    (void)close(fd);
    fx_end(&fx);
}

CASE(conn, a_paused_one_notices_that_its_peer_left)
{
    fx_init(&fx);
    fx.on_frame = pause_it;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    fx_ping(&fx, fd, 1);
    fx_ping(&fx, fd, 2);
    fx_until_frames(&fx, &fx.sessions[0], 1);
    (void)close(fd);
    fx_until_closed(&fx, &fx.sessions[0]);
    cr_assert_eq(fx.sessions[0].frames, 1);
    cr_assert_str_eq(fx.sessions[0].reason, "hung up between frames");
    fx_end(&fx);
}

/* ---- misuse ---- */

static void refused_prefix(const uint8_t *prefix, int code, const char *text)
{
    fx_init(&fx);
    fx_start(&fx);
    int fd = fx_connect(&fx);
    fx_send(&fx, fd, prefix, FRAME_PREFIX_BYTES);
    fx_expect_error(&fx, fd, code, text, true);
    fx_expect_closed(&fx, fd);
    fx_until_closed(&fx, &fx.sessions[0]);
    cr_assert_eq(fx.sessions[0].frames, 0);
    cr_assert_not_null(strstr(fx.sessions[0].reason, text), "%s", fx.sessions[0].reason);
    (void)close(fd);
    fx_end(&fx);
}

CASE(conn, garbage)
{
    refused_prefix((const uint8_t *)"GET / HTTP/1.1\r\nHost: x\r\n", CAIRN_EPROTO, "magic");
}

CASE(conn, a_message_over_its_types_limit)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    const struct frame f = { .type = WIRE_PING, .message_bytes = UINT32_MAX };
    frame_encode(&f, prefix);
    refused_prefix(prefix, CAIRN_EPROTO, "PING");
}

CASE(conn, payload_where_none_belongs)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    const struct frame f = { .type = WIRE_PING, .payload_bytes = 1 };
    frame_encode(&f, prefix);
    refused_prefix(prefix, CAIRN_EPROTO, "PING");
}

CASE(conn, more_payload_than_a_chunk)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    const struct frame f = data_frame(1, LIMIT_CHUNK_BYTES + 1);
    frame_encode(&f, prefix);
    refused_prefix(prefix, CAIRN_EPROTO, "DATA");
}

/* Sends `count` descriptors with one byte; the pipe's reader tells when nobody has its writer. */
static void send_rights(int fd, const int *rights, size_t count)
{
    char byte = 'C';
    struct iovec iov = { &byte, 1 };
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(64 * sizeof(int))];
    struct msghdr msg = { .msg_iov = &iov,
                          .msg_iovlen = 1,
                          .msg_control = control,
                          .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
    struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(h), rights, count * sizeof(int));
    cr_assert_eq(sendmsg(fd, &msg, 0), 1);
}

static void refused_rights(size_t count)
{
    int ends[2];
    int rights[64];
    char byte = 0;
    cr_assert_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    for (size_t i = 0; i < count; i++) {
        rights[i] = ends[1];
    }
    fx_init(&fx);
    fx_start(&fx);
    int fd = fx_connect(&fx);
    send_rights(fd, rights, count);
    (void)close(ends[1]);
    fx_expect_error(&fx, fd, CAIRN_EPROTO, "descriptors", true);
    fx_expect_closed(&fx, fd);
    cr_assert_eq(read(ends[0], &byte, 1), 0, "every copy of the writer is closed");
    (void)close(ends[0]);
    (void)close(fd);
    fx_end(&fx);
}

CASE(conn, a_descriptor_is_closed_at_once)
{
    refused_rights(1);
}

CASE(conn, more_descriptors_than_we_look_at_are_closed_too)
{
    refused_rights(60);
}

static void fail_it(struct fx_session *s)
{
    struct err err = { 0 };
    (void)err_set(&err, -CAIRN_EBUSY, "not now");
    conn_fail(s->conn, 5, &err);
    conn_close(s->conn, "second thoughts");
}

static void close_it(struct fx_session *s)
{
    conn_close(s->conn, "enough");
}

/* One DATA in one write: nothing is left to send when the daemon closes in the middle. */
static void send_at_once(int fd, const uint8_t *data, size_t bytes)
{
    uint8_t frame[FRAME_PREFIX_BYTES + 1000];
    const struct frame f = data_frame(1, bytes);
    frame_encode(&f, frame);
    memcpy(frame + FRAME_PREFIX_BYTES, data, bytes);
    cr_assert_eq(fx_send_some(fd, frame, FRAME_PREFIX_BYTES + bytes), FRAME_PREFIX_BYTES + bytes);
}

CASE(conn, closing_from_inside_of_payload)
{
    uint8_t *data = pattern(100);
    fx_init(&fx);
    fx.on_payload = close_it; /* and then a buffer is taken: it must come back */
    fx_start(&fx);
    int fd = fx_connect(&fx);
    send_at_once(fd, data, 100);
    fx_until_closed(&fx, &fx.sessions[0]);
    cr_assert_eq(fx.sessions[0].frames, 0);
    cr_assert_str_eq(fx.sessions[0].reason, "enough");
    fx_expect_closed(&fx, fd);
    (void)close(fd);
    fx_end(&fx);
    free(data);
}

CASE(conn, failing_from_inside_of_payload_keeps_the_first_reason)
{
    uint8_t *data = pattern(100);
    fx_init(&fx);
    fx.on_payload = fail_it;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    send_at_once(fd, data, 100);
    fx_until_closed(&fx, &fx.sessions[0]);
    cr_assert_str_eq(fx.sessions[0].reason, "not now");
    (void)close(fd);
    fx_end(&fx);
    free(data);
}

/* ---- ends ---- */

static void ends_after(const void *bytes, size_t count, const char *reason)
{
    fx_init(&fx);
    fx_start(&fx);
    int fd = fx_connect(&fx);
    fx_send(&fx, fd, bytes, count);
    (void)close(fd);
    fx_until_closed(&fx, &fx.sessions[0]);
    cr_assert_str_eq(fx.sessions[0].reason, reason);
    fx_end(&fx);
}

CASE(conn, the_end_says_how_far_a_frame_was)
{
    uint8_t bytes[FRAME_PREFIX_BYTES + 100] = { 0 };
    const struct frame data = data_frame(9, 1000);
    const struct frame hello = { .type = WIRE_HELLO, .request = 3, .message_bytes = 50 };
    frame_encode(&data, bytes);
    ends_after("", 0, "closed by the peer between frames");
    ends_after(bytes, 10, "closed by the peer at byte 10 of a prefix");
    ends_after(bytes,
               FRAME_PREFIX_BYTES + 100,
               "closed by the peer in DATA, request 9, at byte 100 of 1000 of its payload");
    frame_encode(&hello, bytes);
    ends_after(bytes,
               FRAME_PREFIX_BYTES + 7,
               "closed by the peer in HELLO, request 3, at byte 7 of 50 of its message");
}

/* A trainer that forked workers is killed: they hold its socket open, its pidfd tells all the same.
 */
CASE(conn, the_peers_process_ends_while_its_child_holds_the_socket)
{
    int hold[2];
    int ready[2];
    char byte = 0;
    char expected[64];
    fx_init(&fx);
    fx_start(&fx);
    cr_assert_eq(pipe2(hold, O_CLOEXEC), 0);
    cr_assert_eq(pipe2(ready, O_CLOEXEC), 0);
    pid_t trainer = fork();
    if (trainer == 0) {
        (void)close(hold[1]);
        int fd = sock_connect(fx.dir.path);
        if (fd >= 0 && fork() == 0) {
            (void)write(ready[1], "r", 1);
            (void)read(hold[0], &byte, 1); /* until the test closes its end */
            _exit(0);
        }
        (void)read(hold[0], &byte, 1);
        _exit(0);
    }
    struct fx_session *s = &fx.sessions[0];
    while (fx.opened == 0) { /* a hang is CTest's to end */
        (void)uv_run(&fx.loop, UV_RUN_ONCE);
    }
    cr_assert_eq(s->peer.pid, trainer);
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    cr_assert_eq(kill(trainer, SIGKILL), 0);
    fx_until_closed(&fx, s);
    (void)snprintf(expected, sizeof expected, "process %d ended between frames", (int)trainer);
    cr_assert_str_eq(s->reason, expected);
    (void)waitpid(trainer, NULL, 0);
    (void)close(hold[0]);
    (void)close(hold[1]);
    (void)close(ready[0]);
    (void)close(ready[1]);
    fx_end(&fx);
}

/* ---- deadlines ---- */

CASE(conn, no_hello)
{
    fx_init(&fx);
    fx.limits.hello_ms = 50;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    fx_expect_error(&fx, fd, CAIRN_ETIMEDOUT, "no HELLO within 50 ms", true);
    fx_expect_closed(&fx, fd);
    (void)close(fd);
    fx_end(&fx);
}

static void greet(struct fx_session *s, const struct frame *f)
{
    (void)f;
    conn_greeted(s->conn);
}

CASE(conn, a_greeted_one_may_idle)
{
    fx_init(&fx);
    fx.limits.hello_ms = 100;
    fx.limits.frame_ms = 100;
    fx.on_frame = greet;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    fx_ping(&fx, fd, 1);
    fx_until_frames(&fx, &fx.sessions[0], 1);
    fx_for_ms(&fx, 400);
    cr_assert_eq(fx.sessions[0].closes, 0, "%s", fx.sessions[0].reason);
    (void)close(fd);
    fx_end(&fx);
}

CASE(conn, a_frame_that_stops)
{
    fx_init(&fx);
    fx.limits.frame_ms = 50;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    fx_send(&fx, fd, "CRN1", 4);
    fx_expect_error(&fx, fd, CAIRN_ETIMEDOUT, "too slow, at byte 4 of a prefix", true);
    fx_expect_closed(&fx, fd);
    (void)close(fd);
    fx_end(&fx);
}

CASE(conn, a_long_frame_has_longer_but_not_for_ever)
{
    uint8_t *data = pattern(1 << 20);
    fx_init(&fx);
    fx.limits.frame_ms = 500;
    fx.limits.min_rate_bytes = 1 << 20; /* of 1 MiB: a second more */
    fx_start(&fx);
    int fd = fx_connect(&fx);
    const struct frame f = data_frame(1, 1 << 20);
    uint8_t prefix[FRAME_PREFIX_BYTES];
    frame_encode(&f, prefix);
    fx_send(&fx, fd, prefix, sizeof prefix);
    fx_for_ms(&fx, 700);
    fx_send(&fx, fd, data, 1 << 20);
    fx_until_frames(&fx, &fx.sessions[0], 1);
    fx_send(&fx, fd, prefix, sizeof prefix);
    uint64_t before = uv_now(&fx.loop);
    fx_expect_error(&fx, fd, CAIRN_ETIMEDOUT, "in DATA, request 1, at byte 0 of 1048576", true);
    cr_assert_geq(uv_now(&fx.loop) - before, 1400);
    (void)close(fd);
    fx_end(&fx);
    free(data);
}
