/* A client that speaks by hand saves from an arena, and does what it should not: what it is told,
 * and that nobody but itself pays for it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena_site.h"
#include "support/case.h"

enum { WAIT_MS = 20000, PAGE = 4096 };

static struct daemon d;

static void up(void)
{
    daemon_begin(&d, "hostile", NULL, NULL);
}

/* ---- holes ---- */

/* A save is refused for the hole at this place, and nobody has filled it; filled, it is taken. */
static void hole_is_refused(struct hand *h, uint64_t at, uint8_t id)
{
    char words[64];
    (void)snprintf(words, sizeof words, "has a hole at %llu:", (unsigned long long)at);
    uint64_t before = hand_memory(h);
    hand_announce(h);
    hand_seal(h);
    hand_refused(h, CAIRN_EINVAL, words);
    peer_ping(&h->p);
    cr_assert_eq(hand_memory(h), before, "the daemon has made memory");
    hand_fill(h, id, id);
    hand_announce(h);
    hand_seal(h);
    (void)hand_committed(h);
}

static void punch(const struct hand *h, uint64_t at, uint64_t bytes)
{
    int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    cr_assert_eq(fallocate(h->fd, mode, (off_t)at, (off_t)bytes), 0, "%s", strerror(errno));
}

/* What is in no memory reads as zeros, and a record of zeros is what its client announces. */
CASE(arena_hostile, a_chunk_in_a_hole_is_refused_and_costs_no_memory, .timeout = 60)
{
    struct hand h;
    up();
    hand_up(&h, d.socket, "run");
    hand_open(&h);
    memset(h.base, 0, h.bytes);
    hand_sum(&h, 1);
    punch(&h, 0, h.bytes);
    cr_assert_eq(hand_memory(&h), 0);
    hand_arena(&h, WIRE_ARENA_MAPPED);
    hole_is_refused(&h, 0, 1);
    hand_down(&h);

    hand_up(&h, d.socket, "run"); /* one page in its middle */
    hand_open(&h);
    memset(h.base, 0, h.bytes);
    h.base[HAND_PLACE_BYTES] = 1; /* not the same as the first: that would not be looked at */
    hand_sum(&h, 2);
    punch(&h, HAND_PLACE_BYTES + 5 * PAGE, PAGE);
    hand_arena(&h, WIRE_ARENA_MAPPED);
    hole_is_refused(&h, HAND_PLACE_BYTES + 5 * PAGE, 2);
    hand_down(&h);
    daemon_end(&d);
}

/* Pages that were asked for, and never written to: they are the client's, and a hole still. */
CASE(arena_hostile, pages_that_nobody_has_written_to_are_a_hole, .timeout = 60)
{
    struct hand h;
    up();
    hand_up(&h, d.socket, "run");
    hand_open(&h);
    hand_fill(&h, 0, 1);
    punch(&h, h.offsets[2], PAGE);
    hand_arena(&h, WIRE_ARENA_MAPPED);
    cr_assert_eq(fallocate(h.fd, 0, (off_t)h.offsets[2], PAGE), 0);
    hole_is_refused(&h, h.offsets[2], 1);
    hand_down(&h);
    daemon_end(&d);
}

/* ---- places ---- */

static void offset_is_refused(struct hand *h, uint64_t offset)
{
    uint64_t honest = h->offsets[1];
    h->offsets[1] = offset;
    hand_begin(h);
    hand_chunks(h, 0, HAND_CHUNKS);
    hand_refused(h, CAIRN_EPROTO, "chunk 1 at");
    h->offsets[1] = honest;
}

CASE(arena_hostile, a_chunk_is_on_a_page_inside_of_the_arena, .timeout = 60)
{
    struct hand h;
    up();
    hand_mapped(&h, &d);
    hand_fill(&h, 3, 1);
    const uint64_t wrong[] = {
        1,
        PAGE - 64,
        HAND_PLACE_BYTES + PAGE / 2,
        h.bytes - HAND_BYTES, /* its last byte is the arena's last, and it is on no page */
        h.bytes - HAND_PLACE_BYTES + PAGE,
        h.bytes,
        h.bytes + PAGE,
        UINT64_C(1) << 63,
        UINT64_MAX - PAGE + 1, /* its end wraps around to the arena's beginning */
        UINT64_MAX,
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        offset_is_refused(&h, wrong[i]);
    }
    h.offsets[1] = h.bytes - HAND_PLACE_BYTES; /* the last place that there is */
    hand_fill(&h, 3, 1);
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 1);
    loads(&d, "latest", 3);
    hand_down(&h);
    daemon_end(&d);
}

/* Offsets are no secret and no promise: what counts is that each chunk has its digest. */
CASE(arena_hostile, chunks_may_share_their_bytes, .timeout = 60)
{
    const uint8_t *wanted[HAND_CHUNKS];
    struct hand h;
    up();
    hand_mapped(&h, &d);
    h.offsets[1] = 0;    /* the same place */
    h.offsets[2] = PAGE; /* most of it, and what is padding there is not padding here */
    memset(h.base, 9, HAND_BYTES);
    memset(h.base + HAND_BYTES, 0, HAND_PLACE_BYTES);
    hand_sum(&h, 1);
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 1);
    for (unsigned i = 0; i < HAND_CHUNKS; i++) {
        wanted[i] = h.base + h.offsets[i];
    }
    loads_as(&d, "latest", wanted);
    h.offsets[1] = HAND_PLACE_BYTES; /* what is padding of the third is not 0 then */
    memset(h.base + HAND_PLACE_BYTES, 9, HAND_BYTES);
    hand_sum(&h, 2);
    hand_announce(&h);
    hand_seal(&h);
    hand_refused(&h, CAIRN_ECORRUPT, "does not match its digest");
    hand_down(&h);
    daemon_end(&d);
}

CASE(arena_hostile, payload_comes_one_way_only, .timeout = 60)
{
    static const uint8_t payload[HAND_BYTES];
    struct hand h;
    up();
    hand_mapped(&h, &d);
    hand_fill(&h, 3, 1);
    uint32_t arena = h.arena;
    union wire_msg msg = { .chunks = { .chunks = h.chunks, .count = HAND_CHUNKS } };
    hand_begin(&h);
    cr_assert(peer_send(&h.p, WIRE_CHUNKS, h.request, &msg, (struct slice){ 0 }));
    hand_refused(&h, CAIRN_EPROTO, "CHUNKS without offsets in a save from an arena");
    h.arena = 0;
    hand_begin(&h);
    hand_chunks(&h, 0, HAND_CHUNKS);
    hand_refused(&h, CAIRN_EPROTO, "CHUNKS with offsets in a save without an arena");
    h.arena = arena;
    hand_announce(&h);
    msg.data = (struct wire_data){ 0 };
    cr_assert(peer_send(&h.p, WIRE_DATA, h.request, &msg, slice_of(payload, HAND_BYTES)));
    hand_refused(&h, CAIRN_EPROTO, "DATA in a save from an arena");
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 1);
    hand_down(&h);
    daemon_end(&d);
}

/* ---- whose it is, and when ---- */

static void connection_ends(struct hand *h, const char *words)
{
    peer_expect_error(&h->p, 3, CAIRN_EPROTO, words);
    cr_assert(peer_closed(&h->p, WAIT_MS));
    hand_down(h);
}

CASE(arena_hostile, nobody_has_the_arena_of_another_connection, .timeout = 60)
{
    struct hand h;
    struct hand other;
    up();
    hand_mapped(&h, &d);
    hand_fill(&h, 3, 1);
    hand_up(&other, d.socket, "run");
    other.boundary = h.boundary;
    other.arena = h.arena;
    hand_send_begin(&other);
    hand_refused(&other, CAIRN_EINVAL, "none of this connection's");
    hand_send_arena(&other, WIRE_ARENA_CLOSE, h.arena);
    connection_ends(&other, "ARENA_CLOSE of no arena of this connection");
    hand_up(&other, d.socket, "run");
    hand_send_arena(&other, WIRE_ARENA_MAPPED, h.arena);
    connection_ends(&other, "ARENA_MAPPED of no arena that waits for it");
    hand_announce(&h); /* it has noticed nothing */
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 1);
    hand_down(&h);
    daemon_end(&d);
}

CASE(arena_hostile, nothing_is_saved_before_it_is_mapped, .timeout = 60)
{
    struct hand h;
    up();
    hand_up(&h, d.socket, "run");
    hand_open(&h);
    hand_fill(&h, 3, 1);
    hand_send_begin(&h);
    hand_refused(&h, CAIRN_EINVAL, "ARENA_MAPPED has not come yet");
    hand_arena(&h, WIRE_ARENA_MAPPED);
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 1);
    hand_send_arena(&h, WIRE_ARENA_MAPPED, h.arena);
    connection_ends(&h, "ARENA_MAPPED of no arena that waits for it");
    daemon_end(&d);
}

/* Who seals it first takes the daemon's own seals away: it is believed in nothing then. */
CASE(arena_hostile, an_arena_that_its_client_has_sealed_is_never_read, .timeout = 60)
{
    struct hand h;
    up();
    hand_up(&h, d.socket, "run");
    hand_open(&h);
    hand_fill(&h, 3, 1);
    cr_assert_eq(fcntl(h.fd, F_ADD_SEALS, F_SEAL_SEAL), 0);
    hand_send_arena(&h, WIRE_ARENA_MAPPED, h.arena);
    peer_expect_error(&h.p, 3, CAIRN_EACCES, "arena: seal it");
    punch(&h, 0, PAGE); /* it can, and it is nothing to anybody */
    hand_send_begin(&h);
    hand_refused(&h, CAIRN_EINVAL, "ARENA_MAPPED has not come yet");
    hand_arena(&h, WIRE_ARENA_CLOSE);
    cr_assert_eq(arenas(&d), 0);
    hand_down(&h);
    daemon_end(&d);
}

/* ---- its descriptor ---- */

/* Calls that must fail with EPERM. */
#define DENIED(call)                                                                               \
    do {                                                                                           \
        errno = 0;                                                                                 \
        cr_assert_eq((call), -1, "%s", #call);                                                     \
        cr_assert_eq(errno, EPERM, "%s: %s", #call, strerror(errno));                              \
    } while (0)

static void cannot_be_resized(const struct hand *h, int fd)
{
    DENIED(ftruncate(fd, 0));
    DENIED(ftruncate(fd, (off_t)h->bytes - PAGE));
    DENIED(ftruncate(fd, (off_t)h->bytes + PAGE));
    DENIED(fallocate(fd, 0, (off_t)h->bytes, PAGE));
}

static void cannot_be_written_by(const struct hand *h, int fd)
{
    cannot_be_resized(h, fd);
    DENIED(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE));
    DENIED((intptr_t)mmap(NULL, h->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    DENIED((int)pwrite(fd, "x", 1, 0));
    DENIED(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
}

CASE(arena_hostile, its_descriptor_is_good_for_nothing_once_it_is_mapped, .timeout = 60)
{
    struct hand h;
    char path[64];
    up();
    hand_up(&h, d.socket, "run");
    hand_open(&h);
    hand_fill(&h, 3, 1);
    cannot_be_resized(&h, h.fd); /* from the first moment on */
    hand_arena(&h, WIRE_ARENA_MAPPED);
    cannot_be_written_by(&h, h.fd);
    DENIED(madvise(h.base, PAGE, MADV_REMOVE));
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", h.fd);
    DENIED(open(path, O_RDWR | O_TRUNC | O_CLOEXEC));
    int again = open(path, O_RDWR | O_CLOEXEC); /* another open file of the same memory */
    cr_assert_geq(again, 0);
    cannot_be_written_by(&h, again);
    uint8_t *reads = mmap(NULL, h.bytes, PROT_READ, MAP_SHARED, again, 0);
    cr_assert_neq(reads, MAP_FAILED);
    errno = 0;
    cr_assert_eq(mprotect(reads, PAGE, PROT_READ | PROT_WRITE), -1);
    cr_assert_eq(errno, EACCES);
    (void)munmap(reads, h.bytes);
    (void)close(again);
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 1);
    loads(&d, "latest", 3);
    hand_down(&h);
    daemon_end(&d);
}

/* ---- how much ---- */

static void open_is_refused(struct hand *h, uint64_t bytes, uint32_t code, const char *words)
{
    union wire_msg msg = { .arena_open = { .bytes = bytes } };
    cr_assert(peer_send(&h->p, WIRE_ARENA_OPEN, 3, &msg, (struct slice){ 0 }));
    peer_expect_error(&h->p, 3, code, words);
}

CASE(arena_hostile, sizes_that_no_arena_has_are_refused, .timeout = 60)
{
    struct hand h;
    up();
    hand_up(&h, d.socket, "run");
    open_is_refused(&h, UINT64_MAX, CAIRN_ELIMIT, "one user may have");
    open_is_refused(&h, UINT64_C(1) << 63, CAIRN_ELIMIT, "one user may have");
    cr_assert_eq(arenas(&d), 0);
    open_is_refused(&h, 0, CAIRN_EPROTO, "bytes: 0");
    cr_assert(peer_closed(&h.p, WAIT_MS));
    hand_down(&h);
    daemon_end(&d);
}
