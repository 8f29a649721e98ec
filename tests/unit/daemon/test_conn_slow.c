/* Peers that read slowly, or not at all: who keeps the least rate lives, and what waits for a peer
 * is bounded, in bytes of memory. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn_fixture.h"
#include "internal/limits.h"
#include "net/conn_int.h"
#include "support/case.h"

static struct fixture fx;

static void echo(struct fx_session *s, const struct frame *f)
{
    const union wire_msg none = { .data = { 0 } };
    conn_send(s->conn, WIRE_DONE, f->request, &none);
}

/* Some 30 KB. */
static void long_answer(struct fx_session *s, const struct frame *f)
{
    static const struct chunk chunks[1000];
    const union wire_msg msg = { .chunks = { .chunks = chunks, .count = 1000 } };
    conn_send(s->conn, WIRE_CHUNKS, f->request, &msg);
}

/* ---- deadlines ---- */

/* Reads at a rate, by the clock; what it does not get now it gets later. */
struct slow {
    int fd;
    uint64_t bytes_per_s, want;
    struct fx_session *s;
    uint64_t from_ns, got;
};

static bool slow_is_through(void *arg)
{
    static uint8_t sink[1 << 20];
    struct slow *r = arg;
    uint64_t due = (uv_hrtime() - r->from_ns) / 1000 * r->bytes_per_s / 1000000;
    uint64_t bytes = due > r->got ? due - r->got : 0;
    ssize_t got = recv(r->fd, sink, bytes < sizeof sink ? bytes : sizeof sink, MSG_DONTWAIT);
    r->got += got > 0 ? (uint64_t)got : 0;
    return r->got >= r->want || r->s->closes > 0;
}

/* Only turns the loop, so that the reader is asked. */
static void slow_tick(uv_timer_t *timer)
{
    (void)timer;
}

static uint64_t slow_read(struct slow *r)
{
    uv_timer_t tick;
    (void)uv_timer_init(&fx.loop, &tick);
    (void)uv_timer_start(&tick, slow_tick, 5, 5);
    r->from_ns = uv_hrtime();
    fx_until(&fx, slow_is_through, r);
    uv_close((uv_handle_t *)&tick, NULL);
    (void)uv_run(&fx.loop, UV_RUN_NOWAIT);
    return (uv_hrtime() - r->from_ns) / 1000000;
}

/* Queue so many frames of 8 MiB. */
static void send_chunks(struct fx_session *s, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct buf *buf = buf_take(fx.pool, &s->user);
        buf->bytes = LIMIT_CHUNK_BYTES;
        conn_send_data(s->conn, 1, i, buf, NULL, NULL);
    }
}

static void ask(int fd, uint32_t count)
{
    static uint8_t prefixes[1000 * FRAME_PREFIX_BYTES];
    for (uint32_t i = 0; i < count; i++) {
        const struct frame f = { .type = WIRE_PING, .request = i };
        frame_encode(&f, prefixes + (size_t)i * FRAME_PREFIX_BYTES);
    }
    fx_send(&fx, fd, prefixes, count * (size_t)FRAME_PREFIX_BYTES); /* the socket takes them all */
}

/* 16 MiB at twice the least rate: twice as long as the patience. */
CASE(conn_slow, a_slow_reader_that_keeps_the_rate_lives, .timeout = 60)
{
    fx_init(&fx);
    fx.limits.output_ms = 1000;
    fx.limits.min_rate_bytes = 2 << 20;
    fx_start(&fx);
    struct slow r = { fx_connect(&fx), 4 << 20, 2 * (uint64_t)LIMIT_CHUNK_BYTES, &fx.sessions[0] };
    send_chunks(r.s, 2);
    uint64_t ms = slow_read(&r);
    cr_assert_eq(r.s->closes, 0, "%s", r.s->reason);
    cr_assert_gt(ms, 3500, "slow indeed: %llu ms", (unsigned long long)ms);
    (void)close(r.fd);
    fx_end(&fx);
}

/* It takes 30 KB after 30 KB, but that shows only when the socket has room, each time later than
 * output_ms. */
CASE(conn_slow, nor_is_it_let_go_for_what_the_socket_holds, .timeout = 60)
{
    fx_init(&fx);
    fx.on_frame = long_answer;
    fx.limits.output_ms = 150;
    fx.limits.min_rate_bytes = 4 << 20;
    fx_start(&fx);
    struct slow r = { fx_connect(&fx), 5 << 20, 16 << 20, &fx.sessions[0] };
    ask(r.fd, 1000);
    uint64_t ms = slow_read(&r);
    cr_assert_eq(r.s->closes, 0, "%s", r.s->reason);
    cr_assert_gt(ms, 3000, "slow indeed: %llu ms", (unsigned long long)ms);
    (void)close(r.fd);
    fx_end(&fx);
}

/* Progress all the time, several times within output_ms: but far below the least rate. */
static void let_go(struct slow *r, uint64_t queued_ns)
{
    (void)slow_read(r);
    uint64_t ms = (uv_hrtime() - queued_ns) / 1000000;
    cr_assert_eq(r->s->closes, 1, "it lives on after %llu ms", (unsigned long long)ms);
    cr_assert_not_null(strstr(r->s->reason, "too slowly"), "%s", r->s->reason);
    cr_assert(ms >= fx.limits.output_ms && ms < 2 * fx.limits.output_ms + 1000,
              "%llu ms",
              (unsigned long long)ms);
    cr_assert_eq(buf_pool_used_bytes(fx.pool), 0);
    (void)close(r->fd);
    fx_end(&fx);
}

CASE(conn_slow, a_reader_below_the_rate_is_let_go, .timeout = 60)
{
    fx_init(&fx);
    fx.limits.output_ms = 600;
    fx.limits.min_rate_bytes = 256 << 20;
    fx_start(&fx);
    struct slow r = { fx_connect(&fx), 8 << 20, 2 * (uint64_t)LIMIT_CHUNK_BYTES, &fx.sessions[0] };
    uv_update_time(&fx.loop);
    uint64_t queued_ns = uv_hrtime();
    send_chunks(r.s, 2);
    let_go(&r, queued_ns);
}

/* A deadline for each frame alone would let it live: each is taken in time. */
CASE(conn_slow, taking_one_small_frame_after_the_other_wins_no_time, .timeout = 60)
{
    struct err err = { 0 };
    (void)err_set(&err, -CAIRN_EIO, "%0200d", 0);
    fx_init(&fx);
    fx.limits.output_ms = 1500;
    fx.limits.min_rate_bytes = 256 << 20;
    fx_start(&fx);
    struct slow r = { fx_connect(&fx), 2 << 20, 8 << 20, &fx.sessions[0] };
    uv_update_time(&fx.loop);
    uint64_t queued_ns = uv_hrtime();
    for (unsigned i = 0; i < 40000; i++) {
        conn_refuse(r.s->conn, i, &err);
    }
    let_go(&r, queued_ns);
}

/* ---- what waits costs memory ---- */

static size_t memory_of(const struct conn *c)
{
    size_t bytes = 0;
    for (const struct conn_out *out = c->out; out != NULL; out = out->next) {
        bytes += sizeof *out + out->head.cap_bytes;
    }
    return bytes;
}

/* An answer has 24 bytes, and needs ten times as many. */
CASE(conn_slow, a_flood_of_small_questions_makes_no_memory)
{
    enum { FRAMES = 400000 };
    static uint8_t prefixes[FRAMES * FRAME_PREFIX_BYTES];
    fx_init(&fx);
    fx.on_frame = echo;
    fx_start(&fx);
    int fd = fx_connect(&fx);
    struct fx_session *s = &fx.sessions[0];
    for (uint32_t i = 0; i < FRAMES; i++) {
        const struct frame f = { .type = WIRE_PING, .request = i };
        frame_encode(&f, prefixes + (size_t)i * FRAME_PREFIX_BYTES);
    }
    size_t sent = 0;
    size_t most = 0;
    for (unsigned idle = 0; idle < 50 && sent < sizeof prefixes; idle++) {
        size_t some = fx_send_some(fd, prefixes + sent, sizeof prefixes - sent);
        idle = some > 0 ? 0 : idle;
        sent += some;
        fx_for_ms(&fx, 1);
        most = memory_of(s->conn) > most ? memory_of(s->conn) : most;
    }
    cr_assert_lt(sent, sizeof prefixes, "it was read to the end");
    cr_assert_gt(most, CONN_OUT_HIGH_BYTES / 2, "the flood came");
    cr_assert_lt(most, CONN_OUT_HIGH_BYTES + 4096, "%zu bytes wait for a peer", most);
    (void)close(fd);
    fx_end(&fx);
}

/* ---- who has much to say waits for room ---- */

static unsigned rooms;
static void note_room(void *arg)
{
    (void)arg;
    rooms++;
}

static void fill(struct fx_session *s)
{
    const struct frame f = { .request = 1 };
    while (!conn_is_full(s->conn)) {
        long_answer(s, &f);
    }
}

CASE(conn_slow, there_is_room_when_the_peer_has_read)
{
    static uint8_t message[65536];
    rooms = 0;
    fx_init(&fx);
    fx_start(&fx);
    int fd = fx_connect(&fx);
    struct conn *c = fx.sessions[0].conn;
    cr_assert_not(conn_wait_room(c, note_room, NULL), "there is");
    while (!conn_is_full(c)) { /* until neither the socket nor the queue takes more */
        fill(&fx.sessions[0]);
        fx_for_ms(&fx, 20);
    }
    cr_assert(conn_wait_room(c, note_room, NULL));
    fx_for_ms(&fx, 20);
    cr_assert_eq(rooms, 0);
    while (rooms == 0) {
        (void)fx_recv(&fx, fd, message, sizeof message);
    }
    cr_assert_not(conn_is_full(c));
    (void)close(fd);
    fx_end(&fx);
    cr_assert_eq(rooms, 1, "once");
}

CASE(conn_slow, who_waits_for_room_hears_of_the_end)
{
    rooms = 0;
    fx_init(&fx);
    fx_start(&fx);
    int fd = fx_connect(&fx);
    fill(&fx.sessions[0]);
    cr_assert(conn_wait_room(fx.sessions[0].conn, note_room, NULL));
    conn_close(fx.sessions[0].conn, "enough");
    cr_assert_eq(rooms, 0, "not from inside");
    fx_until_closed(&fx, &fx.sessions[0]);
    cr_assert_eq(rooms, 1);
    (void)close(fd);
    fx_end(&fx);
}
