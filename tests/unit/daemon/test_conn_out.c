/* What goes out, and who is let in. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conn_fixture.h"
#include "internal/limits.h"
#include "support/case.h"

static struct fixture fx;

/* ---- output ---- */

static void echo(struct fx_session *s, const struct frame *f)
{
    const union wire_msg none = { .data = { 0 } };
    conn_send(s->conn, WIRE_DONE, f->request, &none);
}

CASE(conn_out, answers_come_in_order)
{
    enum { FRAMES = 500 };
    uint8_t message[256];
    fx_init(&fx);
    fx.on_frame = echo;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    for (uint32_t i = 0; i < FRAMES; i++) {
        fx_ping(&fx, fd, i);
    }
    for (uint32_t i = 0; i < FRAMES; i++) {
        struct frame f = fx_recv(&fx, fd, message, sizeof message);
        cr_assert_eq(f.type, WIRE_DONE);
        cr_assert_eq(f.request, i);
    }
    (void)close(fd);
    fx_end(&fx);
}

static unsigned sent_count;
static void note_sent(void *arg)
{
    (void)arg;
    sent_count++;
}

/* Two chunks and small frames between them: all through one queue, whole and in order. */
CASE(conn_out, payload_goes_out_and_its_buffer_comes_back)
{
    uint8_t *got = malloc(LIMIT_CHUNK_BYTES + 256);
    sent_count = 0;
    fx_init(&fx);
    fx_start(&fx);
    int fd = fx_connect(&fx);
    struct fx_session *s = &fx.sessions[0];
    const struct frame asked = { .request = 50 };
    for (uint32_t i = 0; i < 2; i++) {
        struct buf *buf = buf_take(fx.pool, &s->user);
        memset(buf->data, (int)i + 1, LIMIT_CHUNK_BYTES);
        buf->bytes = LIMIT_CHUNK_BYTES - i;
        conn_send_data(s->conn, 40 + i, i, buf, note_sent, NULL);
        echo(s, &asked);
    }
    cr_assert_eq(sent_count, 0, "never from inside");
    for (uint32_t i = 0; i < 2; i++) {
        struct frame f = fx_recv(&fx, fd, got, LIMIT_CHUNK_BYTES + 256);
        cr_assert_eq(f.type, WIRE_DATA);
        cr_assert_eq(f.request, 40 + i);
        cr_assert_eq(f.payload_bytes, LIMIT_CHUNK_BYTES - i);
        for (size_t at = 0; at < f.payload_bytes; at++) {
            if (got[f.message_bytes + at] != i + 1) {
                cr_assert_fail("byte %zu of chunk %u", at, i);
            }
        }
        f = fx_recv(&fx, fd, got, 256);
        cr_assert_eq(f.type, WIRE_DONE);
    }
    cr_assert_eq(sent_count, 2);
    cr_assert_eq(buf_pool_used_bytes(fx.pool), 0);
    (void)close(fd);
    fx_end(&fx);
    free(got);
}

CASE(conn_out, a_peer_that_takes_no_answer)
{
    sent_count = 0;
    fx_init(&fx);
    fx.limits.output_ms = 100;
    fx.limits.min_rate_bytes = 256 << 20;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    struct fx_session *s = &fx.sessions[0];
    struct buf *buf = buf_take(fx.pool, &s->user);
    buf->bytes = LIMIT_CHUNK_BYTES;
    conn_send_data(s->conn, 1, 0, buf, note_sent, NULL);
    fx_until_closed(&fx, s);
    cr_assert_str_eq(s->reason,
                     "took its answers too slowly: a frame has its bytes at 268435456 bytes/s, and "
                     "all of them 107 ms more");
    cr_assert_eq(buf_pool_used_bytes(fx.pool), 0, "the buffer came back");
    cr_assert_eq(sent_count, 0, "but it was not sent");
    (void)close(fd);
    fx_end(&fx);
}

CASE(conn_out, a_peer_that_leaves_with_answers_under_way)
{
    fx_init(&fx);
    fx_start(&fx);
    int fd = fx_connect(&fx);
    struct fx_session *s = &fx.sessions[0];
    struct buf *buf = buf_take(fx.pool, &s->user);
    buf->bytes = LIMIT_CHUNK_BYTES;
    conn_send_data(s->conn, 1, 0, buf, NULL, NULL);
    fx_for_ms(&fx, 20);
    (void)close(fd);
    fx_until_closed(&fx, s);
    cr_assert_eq(buf_pool_used_bytes(fx.pool), 0);
    fx_end(&fx);
}

/* Some 30 KB of answer to each question; the peer asks 1000 times before it reads anything. */
static void long_answer(struct fx_session *s, const struct frame *f)
{
    static const struct chunk chunks[1000];
    const union wire_msg msg = { .chunks = { .chunks = chunks, .count = 1000 } };
    conn_send(s->conn, WIRE_CHUNKS, f->request, &msg);
}

CASE(conn_out, who_does_not_read_is_not_read_either)
{
    enum { FRAMES = 1000 };
    static uint8_t message[65536];
    uint8_t prefixes[FRAMES * FRAME_PREFIX_BYTES];
    fx_init(&fx);
    fx.on_frame = long_answer;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    struct fx_session *s = &fx.sessions[0];
    for (uint32_t i = 0; i < FRAMES; i++) {
        const struct frame f = { .type = WIRE_PING, .request = i };
        frame_encode(&f, prefixes + (size_t)i * FRAME_PREFIX_BYTES);
    }
    fx_send(&fx, fd, prefixes, sizeof prefixes);
    fx_for_ms(&fx, 100);
    cr_assert_eq(s->closes, 0, "%s", s->reason);
    cr_assert_lt(s->frames, 150, "%u: 1 MiB and what the socket holds, then it waits", s->frames);
    for (uint32_t i = 0; i < FRAMES; i++) {
        struct frame f = fx_recv(&fx, fd, message, sizeof message);
        cr_assert_eq(f.request, i);
        cr_assert_gt(f.message_bytes, 20000, "%u", f.message_bytes);
    }
    cr_assert_eq(s->frames, FRAMES);
    (void)close(fd);
    fx_end(&fx);
}

CASE(conn_out, a_refusal_keeps_the_connection)
{
    struct err err = { 0 };
    uint8_t message[256];
    fx_init(&fx);
    fx.on_frame = echo;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    (void)err_set(&err, -CAIRN_ENOENT, "no run 'x'");
    (void)err_at(&err, 2, "a/b", 3);
    conn_refuse(fx.sessions[0].conn, 4, &err);
    fx_expect_error(&fx, fd, CAIRN_ENOENT, "no run 'x'", false);
    fx_ping(&fx, fd, 5);
    cr_assert_eq(fx_recv(&fx, fd, message, sizeof message).request, 5);
    (void)close(fd);
    fx_end(&fx);
}

static void fail(struct fx_session *s)
{
    struct err err = { 0 };
    (void)err_set(&err, -CAIRN_EPROTO, "out of order");
    conn_fail(s->conn, 9, &err);
}

CASE(conn_out, a_failure_comes_after_what_was_queued)
{
    uint8_t message[256];
    const struct frame asked = { .request = 8 };
    fx_init(&fx);
    fx_start(&fx);
    int fd = fx_connect(&fx);
    echo(&fx.sessions[0], &asked);
    fail(&fx.sessions[0]);
    echo(&fx.sessions[0], &asked); /* too late: dropped */
    cr_assert_eq(fx_recv(&fx, fd, message, sizeof message).request, 8);
    fx_expect_error(&fx, fd, CAIRN_EPROTO, "out of order", true);
    fx_expect_closed(&fx, fd);
    cr_assert_str_eq(fx.sessions[0].reason, "out of order");
    (void)close(fd);
    fx_end(&fx);
}

CASE(conn_out, a_failure_does_not_wait_for_a_peer_that_does_not_read)
{
    fx_init(&fx);
    fx_start(&fx);
    int fd = fx_connect(&fx);
    struct fx_session *s = &fx.sessions[0];
    struct buf *buf = buf_take(fx.pool, &s->user);
    buf->bytes = LIMIT_CHUNK_BYTES;
    conn_send_data(s->conn, 1, 0, buf, NULL, NULL);
    uint64_t before = uv_now(&fx.loop);
    fail(s);
    fx_until_closed(&fx, s);
    cr_assert_leq(uv_now(&fx.loop) - before, 5000);
    cr_assert_str_eq(s->reason, "out of order");
    (void)close(fd);
    fx_end(&fx);
}

/* ---- who is let in ---- */

CASE(conn_set, ids_and_count)
{
    fx_init(&fx);
    fx_start(&fx);
    int first = fx_connect(&fx);
    int second = fx_connect(&fx);
    cr_assert_eq(conn_id(fx.sessions[0].conn), 1);
    cr_assert_eq(conn_id(fx.sessions[1].conn), 2);
    cr_assert_eq(conn_set_count(fx.set), 2);
    (void)close(first);
    fx_until_closed(&fx, &fx.sessions[0]);
    cr_assert_eq(conn_set_count(fx.set), 1);
    (void)close(second);
    fx_end(&fx);
}

static void over_a_limit(const char *text)
{
    fx_start(&fx);
    int first = fx_connect(&fx);
    int second = fx_connect(&fx);
    int third = fx_connect_only(&fx);
    fx_expect_error(&fx, third, CAIRN_ELIMIT, text, true);
    fx_expect_closed(&fx, third);
    cr_assert_eq(fx.opened, 2);
    (void)close(first);
    fx_until_closed(&fx, &fx.sessions[0]);
    int fourth = fx_connect(&fx);
    cr_assert_eq(fx.opened, 3);
    (void)close(second);
    (void)close(third);
    (void)close(fourth);
    fx_end(&fx);
}

CASE(conn_set, over_the_limit_of_all)
{
    fx_init(&fx);
    fx.limits.connections = 2;
    over_a_limit("all 2 connections are in use");
}

CASE(conn_set, over_the_limit_of_a_uid)
{
    fx_init(&fx);
    fx.limits.connections_per_uid = 2;
    over_a_limit("has 2 connections already");
}

/* A child connects as the overflow uid; its exit code says what it was told. */
CASE(conn_set, the_overflow_uid_is_refused_with_a_hint)
{
    if (geteuid() != 0) {
        cr_log_info("needs root: only root can become uid 65534");
        return;
    }
    fx_init(&fx);
    fx_start(&fx);
    cr_assert_eq(chmod(fx.dir.dir, 0755), 0);
    cr_assert_eq(chmod(fx.dir.path, 0666), 0);
    pid_t child = fork();
    if (child == 0) {
        char text[4096] = { 0 };
        int fd = setuid(65534) == 0 ? sock_connect(fx.dir.path) : -1;
        ssize_t got = fd < 0 ? -1 : recv(fd, text, sizeof text, 0);
        _exit(got > 0 && memmem(text, (size_t)got, "user namespace", 14) != NULL ? 42 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        (void)uv_run(&fx.loop, UV_RUN_NOWAIT);
    }
    cr_assert(WIFEXITED(status));
    cr_assert_eq(WEXITSTATUS(status), 42);
    cr_assert_eq(fx.opened, 0);
    fx_end(&fx);
}

CASE(conn_set, no_memory_for_a_session)
{
    fx_init(&fx);
    fx.refuse_session = true;
    fx_start(&fx);
    int fd = fx_connect_only(&fx);
    fx_expect_error(&fx, fd, CAIRN_ENOMEM, "memory", true);
    fx_expect_closed(&fx, fd);
    (void)close(fd);
    fx_end(&fx);
}

/* With every descriptor taken the next one is told so, and later ones are served again. */
CASE(conn_set, out_of_descriptors)
{
    struct rlimit before;
    fx_init(&fx);
    fx_start(&fx);
    int told = fx_connect_only(&fx);
    int free_fd = fcntl(told, F_DUPFD_CLOEXEC, 0);
    (void)close(free_fd);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = { (rlim_t)free_fd, before.rlim_max };
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    fx_expect_error(&fx, told, CAIRN_ELIMIT, "descriptor", true);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    int served = fx_connect(&fx);
    (void)close(told);
    (void)close(served);
    fx_end(&fx);
}

CASE(conn_set, closing_all_tells_everybody)
{
    fx_init(&fx);
    fx_start(&fx);
    int first = fx_connect(&fx);
    int second = fx_connect(&fx);
    conn_set_stop_accept(fx.set);
    conn_set_close_all(fx.set, "the daemon is stopping");
    fx_expect_error(&fx, first, CAIRN_ECANCELED, "the daemon is stopping", true);
    fx_expect_error(&fx, second, CAIRN_ECANCELED, "the daemon is stopping", true);
    fx_expect_closed(&fx, first);
    (void)close(first);
    (void)close(second);
    fx_end(&fx);
}
