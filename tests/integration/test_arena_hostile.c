/* A client that speaks by hand saves from an arena, and does what it should not: what it is told,
 * and that nobody but itself pays for it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cairn/admin.h"
#include "cairn/training.h"

#include "support/case.h"
#include "support/daemon.h"
#include "support/hand.h"
#include "support/hold.h"

enum { WAIT_MS = 20000, PAGE = 4096 };

static struct daemon d;
/* Places at which the daemon stands while they are armed; they are not yet. */
static struct hold at_write; /* every chunk's */
static struct hold at_fifth; /* the write of that chunk: the second one's of a second save */
static struct hold at_seal; /* the thread that digests, before it has digested anything of a save */

static void up(void)
{
    daemon_begin(&d, "hostile", NULL, NULL);
}

static void up_held(void)
{
    char dir[TMP_PATH_BYTES];
    char spec[1024];
    const char *env[] = { spec, NULL };
    tmp_make("hostile", dir);
    daemon_init(&d, dir);
    memcpy(d.dir, dir, sizeof d.dir);
    hold_init(&at_write, d.socket_dir, "write");
    hold_init(&at_fifth, d.socket_dir, "fifth");
    hold_init(&at_seal, d.socket_dir, "seal");
    (void)snprintf(spec,
                   sizeof spec,
                   "CAIRN_FAILPOINT=segment_write:hold=%s,segment_write:hold=%s:5,sealing:hold=%s",
                   at_write.path,
                   at_fifth.path,
                   at_seal.path);
    hold_release(&at_write);
    hold_release(&at_fifth);
    hold_release(&at_seal);
    daemon_start(&d, env);
}

static void holds_fini(void)
{
    hold_fini(&at_write);
    hold_fini(&at_fifth);
    hold_fini(&at_seal);
}

static void down_held(void)
{
    holds_fini();
    daemon_end(&d);
}

static void hand_mapped(struct hand *h)
{
    hand_up(h, d.socket, "run");
    hand_open(h);
    hand_arena(h, WIRE_ARENA_MAPPED);
}

/* Mappings of arenas that the daemon has. */
static unsigned arenas(void)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)d.proc.pid);
    return tmp_lines_with(path, (const char *const[]){ "cairn-arena", NULL });
}

/* ---- what is there afterwards ---- */

static const uint8_t *wanted[HAND_CHUNKS]; /* the bytes of each tensor */

static int get_wanted(void *self, const struct cairn_reader *model)
{
    static const char *const paths[HAND_CHUNKS] = { "t0", "t1", "t2" };
    static const uint64_t shape[] = { HAND_BYTES };
    for (unsigned i = 0; i < HAND_CHUNKS; i++) {
        const struct cairn_entry e = {
            .path = paths[i], .dtype = CAIRN_U8, .rank = 1, .shape = shape
        };
        int rc = cairn_get(model, &e, self);
        if (rc < 0) {
            return rc;
        }
        cr_assert_eq(memcmp(self, wanted[i], HAND_BYTES), 0, "%s", paths[i]);
    }
    return 0;
}

/* Load and restore that boundary. */
static void loads_wanted(const char *selector)
{
    struct cairn *c = NULL;
    struct cairn_record *r = NULL;
    struct cairn_trainer t = { .model = { .self = malloc(HAND_BYTES), .get = get_wanted } };
    cr_assert_not_null(t.model.self);
    cr_assert_eq(cairn_open(d.socket, "run", &c), 0);
    cr_assert_eq(cairn_load(c, selector, WAIT_MS, &r), 0, "%s", cairn_error(c));
    cr_assert_eq(cairn_restore(c, r, &t), 0, "%s", cairn_error(c));
    (void)cairn_record_free(r);
    (void)cairn_close(c);
    free(t.model.self);
}

/* It holds what hand_fill makes of that seed. */
static void loads(const char *selector, uint8_t seed)
{
    static uint8_t bytes[HAND_CHUNKS][HAND_BYTES];
    for (unsigned i = 0; i < HAND_CHUNKS; i++) {
        memset(bytes[i], seed + (int)i, HAND_BYTES);
        wanted[i] = bytes[i];
    }
    loads_wanted(selector);
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
CASE(hostile, a_chunk_in_a_hole_is_refused_and_costs_no_memory, .timeout = 60)
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
    hand_sum(&h, 2);
    punch(&h, HAND_PLACE_BYTES + 5 * PAGE, PAGE);
    hand_arena(&h, WIRE_ARENA_MAPPED);
    hole_is_refused(&h, HAND_PLACE_BYTES + 5 * PAGE, 2);
    hand_down(&h);
    daemon_end(&d);
}

/* Pages that were asked for, and never written to: they are the client's, and a hole still. */
CASE(hostile, pages_that_nobody_has_written_to_are_a_hole, .timeout = 60)
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

CASE(hostile, a_chunk_is_on_a_page_inside_of_the_arena, .timeout = 60)
{
    struct hand h;
    up();
    hand_mapped(&h);
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
    loads("latest", 3);
    hand_down(&h);
    daemon_end(&d);
}

/* Offsets are no secret and no promise: what counts is that each chunk has its digest. */
CASE(hostile, chunks_may_share_their_bytes, .timeout = 60)
{
    struct hand h;
    up();
    hand_mapped(&h);
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
    loads_wanted("latest");
    h.offsets[1] = HAND_PLACE_BYTES; /* what is padding of the third is not 0 then */
    memset(h.base + HAND_PLACE_BYTES, 9, HAND_BYTES);
    hand_sum(&h, 2);
    hand_announce(&h);
    hand_seal(&h);
    hand_refused(&h, CAIRN_ECORRUPT, "does not match its digest");
    hand_down(&h);
    daemon_end(&d);
}

CASE(hostile, payload_comes_one_way_only, .timeout = 60)
{
    static const uint8_t payload[HAND_BYTES];
    struct hand h;
    up();
    hand_mapped(&h);
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

CASE(hostile, nobody_has_the_arena_of_another_connection, .timeout = 60)
{
    struct hand h;
    struct hand other;
    up();
    hand_mapped(&h);
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

CASE(hostile, nothing_is_saved_before_it_is_mapped, .timeout = 60)
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
CASE(hostile, an_arena_that_its_client_has_sealed_is_never_read, .timeout = 60)
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
    cr_assert_eq(arenas(), 0);
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

CASE(hostile, its_descriptor_is_good_for_nothing_once_it_is_mapped, .timeout = 60)
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
    loads("latest", 3);
    hand_down(&h);
    daemon_end(&d);
}

/* ---- given back ---- */

CASE(hostile, given_back_it_serves_the_save_that_has_begun, .timeout = 60)
{
    struct hand h;
    up();
    hand_mapped(&h);
    hand_fill(&h, 3, 1);
    hand_begin(&h);
    hand_chunks(&h, 0, 2);
    hand_arena(&h, WIRE_ARENA_CLOSE);
    cr_assert_eq(arenas(), 1, "the save still has it");
    hand_chunks(&h, 2, 1);
    hand_entries(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 1);
    peer_ping(&h.p);
    cr_assert_eq(arenas(), 0);
    hand_sum(&h, 2);
    hand_send_begin(&h);
    hand_refused(&h, CAIRN_EINVAL, "none of this connection's");
    loads("latest", 3);
    hand_down(&h);
    daemon_end(&d);
}

CASE(hostile, given_back_it_goes_with_the_save_that_was_aborted, .timeout = 60)
{
    struct hand h;
    union wire_msg msg = { 0 };
    up();
    hand_mapped(&h);
    hand_fill(&h, 3, 1);
    hand_announce(&h);
    hand_arena(&h, WIRE_ARENA_CLOSE);
    cr_assert(peer_send(&h.p, WIRE_ABORT, h.request, &msg, (struct slice){ 0 }));
    peer_expect(&h.p, WIRE_DONE, h.request, &msg);
    hand_down(&h);
    daemon_end(&d);
}

/* Not one byte of it has been read yet, and its client has neither arena nor descriptor any more.
 */
CASE(hostile, given_back_it_is_read_until_what_was_sealed_is_committed, .timeout = 60)
{
    struct hand h;
    up_held();
    hand_mapped(&h);
    hand_fill(&h, 3, 1);
    hand_announce(&h);
    hold_arm(&at_write);
    hand_seal(&h);
    cr_assert(hold_wait(&at_write, WAIT_MS));
    hand_arena(&h, WIRE_ARENA_CLOSE);
    (void)munmap(h.base, h.bytes);
    (void)close(h.fd);
    h.base = NULL;
    h.fd = -1;
    hold_release(&at_write);
    cr_assert_eq(hand_committed(&h), 1);
    peer_ping(&h.p);
    cr_assert_eq(arenas(), 0);
    loads("latest", 3);
    hand_down(&h);
    down_held();
}

/* ---- bytes that change while they are saved ---- */

/* The save stands before the first write of a chunk: nothing of it is on the disk. */
static void stand_at_write(struct hand *h)
{
    hand_announce(h);
    hold_arm(&at_write);
    hand_seal(h);
    cr_assert(hold_wait(&at_write, WAIT_MS));
}

CASE(hostile, bytes_that_change_for_good_are_not_committed, .timeout = 60)
{
    struct hand h;
    up_held();
    hand_mapped(&h);
    hand_fill(&h, 3, 1);
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 1);
    for (unsigned chunk = 0; chunk < HAND_CHUNKS; chunk++) {
        hand_fill(&h, 6, 2);
        stand_at_write(&h);
        h.base[h.offsets[chunk] + HAND_BYTES / 2] ^= 1;
        hold_release(&at_write);
        hand_refused(&h, CAIRN_ECORRUPT, "it was changed in the arena after its capture");
        loads("latest", 3);
    }
    hand_fill(&h, 6, 2); /* honest again, under the same save id */
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 2);
    loads("seq:1", 3);
    loads("latest", 6);
    hand_down(&h);
    down_held();
}

/* Nothing is wrong but in the model of boundary 2. */
static int found_in_model(void *arg, const struct cairn_finding *f)
{
    cr_assert_eq(f->seq, 2, "%s", f->text);
    cr_assert_eq(f->component, CAIRN_MODEL, "%s", f->text);
    (*(unsigned *)arg)++;
    return 0;
}

/* What is on the disk is not what was digested: nobody can see it before it is read. */
static void is_corrupt(const char *selector)
{
    struct cairn *c = NULL;
    struct cairn_record *r = NULL;
    struct cairn_verified verified = { 0 };
    unsigned findings = 0;
    struct cairn_trainer t = { .model = { .self = malloc(HAND_BYTES), .get = get_wanted } };
    cr_assert_not_null(t.model.self);
    cr_assert_eq(cairn_open(d.socket, "run", &c), 0);
    cr_assert_eq(cairn_load(c, selector, WAIT_MS, &r), 0, "%s", cairn_error(c));
    cr_assert_eq(cairn_restore(c, r, &t), -CAIRN_ECORRUPT);
    cr_assert_not_null(strstr(cairn_error(c), "model 't0'"), "%s", cairn_error(c));
    (void)cairn_record_free(r);
    cr_assert_eq(cairn_verify(c, NULL, found_in_model, &findings, &verified), -CAIRN_ECORRUPT);
    cr_assert_eq(findings, 2, "the chunk, and what is in it");
    (void)cairn_close(c);
    free(t.model.self);
}

CASE(hostile, bytes_that_change_and_change_back_spoil_that_boundary_only, .timeout = 60)
{
    struct hand h;
    up_held();
    hand_mapped(&h);
    hand_fill(&h, 3, 1);
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 1);

    hand_fill(&h, 6, 2);
    hand_announce(&h);
    h.base[HAND_BYTES / 2] ^= 1;
    hold_arm(&at_fifth);
    hold_arm(&at_seal);
    hand_seal(&h);
    cr_assert(hold_wait(&at_seal, WAIT_MS));
    cr_assert(hold_wait(&at_fifth, WAIT_MS)); /* the first chunk is written, and not digested */
    h.base[HAND_BYTES / 2] ^= 1;
    hold_release(&at_fifth);
    hold_release(&at_seal);
    cr_assert_eq(hand_committed(&h), 2);

    hand_sum(&h, 3); /* the same bytes, honestly */
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 3);
    is_corrupt("seq:2");
    loads("seq:1", 3);
    loads("latest", 6);
    hand_down(&h);
    holds_fini();
    cr_assert_eq(daemon_stop(&d), 0);
    cr_assert_neq(daemon_fsck(&d, false), 0);
    daemon_fini(&d);
    tmp_remove(d.dir);
}
