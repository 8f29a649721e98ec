/* Loads into memory that client and daemon share: who gets a ring, what comes in it, and what a
 * client that uses it wrongly is told. */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal/limits.h"
#include "record/digest.h"
#include "site.h"
#include "support/case.h"
#include "support/hand.h"
#include "support/hold.h"

/* Chunks of the large tensor: more than the library's ring has slots. */
enum { CHUNKS = 11, SLOTS = 2, WAIT_MS = 20000 }; /* slots: of rings by hand */
#define HUGE_PAGE ((uint64_t)2 << 20)
#define SLOT ((uint64_t)LIMIT_CHUNK_BYTES)
#define LARGE_BYTES (CHUNKS * SLOT - 1000)

static void fill_job(struct site *s)
{
    static const uint64_t large[] = { LARGE_BYTES };
    job_fill(&s->job, 1);
    (void)BOX_ADD(&s->job.model, "large", 70, CAIRN_HAS_ID, CAIRN_U8, 1, large, 9);
}

/* Mappings of rings that a process has. */
static unsigned rings_of(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    return tmp_lines_with(path, (const char *const[]){ "cairn-ring", NULL });
}

static void one_saved(struct site *s)
{
    site_up(s);
    fill_job(s);
    site_save(s, 1, NULL);
}

/* Into a job with other bytes; the record stays. */
static struct cairn_record *restored(struct site *s, struct job *other)
{
    struct cairn_record *r = NULL;
    job_like(other, &s->job);
    cr_assert_eq(cairn_load(s->c, "latest", 0, &r), 0, "%s", cairn_error(s->c));
    cr_assert_eq(cairn_restore(s->c, r, &other->t), 0, "%s", cairn_error(s->c));
    cr_assert_null(job_differs(&s->job, other), "%s", job_differs(&s->job, other));
    return r;
}

CASE(ring, is_kept_for_the_next_load, .timeout = 60)
{
    struct site s;
    one_saved(&s);
    for (int round = 0; round < 3; round++) {
        site_check(&s, "latest");
        cr_assert_eq(rings_of(s.d.proc.pid), 1);
        cr_assert_eq(rings_of(getpid()), 1);
    }
    s.c = cairn_close(s.c);
    cr_assert_eq(rings_of(getpid()), 0);
    site_down(&s);
}

CASE(ring, is_not_needed_where_none_is_lent, .timeout = 60)
{
    struct site s;
    struct job other;
    site_up(&s);
    cr_assert_eq(daemon_stop(&s.d), 0);
    s.d.args[0] = "--arena-bytes=0";
    daemon_start(&s.d, NULL);
    fill_job(&s);
    site_save(&s, 1, NULL);
    struct cairn_record *r = restored(&s, &other);
    cr_assert_eq(rings_of(s.d.proc.pid), 0);
    cr_assert_eq(rings_of(getpid()), 0);
    (void)cairn_record_free(r);
    job_fini(&other);
    site_down(&s);
}

/* The next read finds no connection, and no ring: both are made anew. */
CASE(ring, a_daemon_that_dies_is_no_end_of_a_restore, .timeout = 60)
{
    struct site s;
    struct job other;
    one_saved(&s);
    struct cairn_record *r = restored(&s, &other);
    job_fini(&other);
    daemon_kill(&s.d);
    daemon_start(&s.d, NULL);
    job_like(&other, &s.job);
    cr_assert_eq(cairn_restore(s.c, r, &other.t), 0, "%s", cairn_error(s.c));
    cr_assert_null(job_differs(&s.job, &other), "%s", job_differs(&s.job, &other));
    cr_assert_eq(rings_of(s.d.proc.pid), 1);
    (void)cairn_record_free(r);
    job_fini(&other);
    site_down(&s);
}

/* The large entry, a small one of a chunk that others share, the large one again. */
static int get_in_any_order(void *self, const struct cairn_reader *model)
{
    const struct box *box = self;
    const struct tensor *large = box->tensors[box->count - 1];
    const struct tensor *order[] = { large, box->tensors[0], large };
    uint8_t *data = malloc(large->bytes);
    cr_assert_not_null(data);
    for (size_t i = 0; i < 3; i++) {
        const struct tensor *t = order[i];
        memset(data, 0, t->bytes);
        cr_assert_eq(cairn_get(model, &t->entry, data), 0, "%s", cairn_error(box->job->c));
        cr_assert_eq(memcmp(data, t->data, t->bytes), 0, "%s", t->path);
    }
    free(data);
    return 0;
}

CASE(ring, entries_in_any_order, .timeout = 60)
{
    struct site s;
    struct cairn_record *r = NULL;
    one_saved(&s);
    struct cairn_trainer t = s.job.t;
    t.model.get = get_in_any_order;
    cr_assert_eq(cairn_load(s.c, "latest", 0, &r), 0, "%s", cairn_error(s.c));
    cr_assert_eq(cairn_restore(s.c, r, &t), 0, "%s", cairn_error(s.c));
    cr_assert_eq(rings_of(s.d.proc.pid), 1);
    (void)cairn_record_free(r);
    site_down(&s);
}

/* One byte in the middle of the only segment, which the large tensor fills. */
static void segment_spoil(const struct site *s)
{
    char pattern[sizeof s->d.data + 32];
    glob_t found;
    uint8_t byte = 0;
    (void)snprintf(pattern, sizeof pattern, "%s/runs/*/demo/segments/*.seg", s->d.data);
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "%s", pattern);
    cr_assert_eq(found.gl_pathc, 1);
    int fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
    globfree(&found);
    cr_assert_geq(fd, 0);
    off_t at = CHUNKS / 2 * (off_t)SLOT + 12345;
    cr_assert_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 4;
    cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
    (void)close(fd);
}

static void spoiled_down(struct site *s, struct cairn_record *r, struct job *other)
{
    (void)cairn_record_free(r);
    job_fini(other);
    s->c = cairn_close(s->c);
    job_fini(&s->job);
    cr_assert_eq(daemon_stop(&s->d), 0);
    daemon_fini(&s->d);
    tmp_remove(s->dir);
}

CASE(ring, rot_is_found_in_what_comes_by_it, .timeout = 60)
{
    struct site s;
    struct cairn_record *r = NULL;
    struct job other;
    one_saved(&s);
    segment_spoil(&s);
    job_like(&other, &s.job);
    cr_assert_eq(cairn_load(s.c, "latest", 0, &r), 0, "%s", cairn_error(s.c));
    cr_assert_eq(cairn_restore(s.c, r, &other.t), -CAIRN_ECORRUPT);
    cr_assert_not_null(strstr(cairn_error(s.c), "model 'large'"), "%s", cairn_error(s.c));
    cr_assert_eq(rings_of(s.d.proc.pid), 1);
    spoiled_down(&s, r, &other);
}

/* All components were looked at, and none has read. */
CASE(ring, rot_is_found_before_anything_is_written_if_asked, .timeout = 60)
{
    struct site s;
    struct cairn_record *r = NULL;
    struct job other;
    one_saved(&s);
    job_like(&other, &s.job);
    other.t.verify_first = true;
    cr_assert_eq(cairn_load(s.c, "latest", 0, &r), 0, "%s", cairn_error(s.c));
    cr_assert_eq(cairn_restore(s.c, r, &other.t), 0, "%s", cairn_error(s.c));
    cr_assert_null(job_differs(&s.job, &other), "%s", job_differs(&s.job, &other));
    segment_spoil(&s);
    other.log[0] = 0;
    cr_assert_eq(cairn_restore(s.c, r, &other.t), -CAIRN_ECORRUPT);
    cr_assert_not_null(strstr(cairn_error(s.c), "model 'large'"), "%s", cairn_error(s.c));
    cr_assert_not_null(strstr(cairn_error(s.c), "nothing was restored"), "%s", cairn_error(s.c));
    cr_assert_str_eq(other.log, "Fg Fm Fo Fs Fu");
    spoiled_down(&s, r, &other);
}

/* ---- a client that speaks by hand ---- */

static void hand_ask(struct hand *h, enum wire_type type, union wire_msg msg)
{
    cr_assert(peer_send(&h->p, type, 1, &msg, (struct slice){ 0 }));
}

/* Connected, with the newest boundary pinned. */
static void hand_pin(struct hand *h, const struct site *s)
{
    union wire_msg msg = {
        .describe = { .run = slice_str("demo"), .selector = slice_str("latest"), .pin = true }
    };
    hand_up(h, s->d.socket, "demo");
    hand_ask(h, WIRE_DESCRIBE, msg);
    peer_expect(&h->p, WIRE_DESCRIBED, 1, &msg);
    h->boundary = msg.described.boundary;
    cr_assert_geq(h->boundary.chunk_count, CHUNKS);
}

/* And a ring that can be loaded into. */
static void hand_ring(struct hand *h, const struct site *s)
{
    hand_pin(h, s);
    hand_open_as(h, SLOTS * SLOT, true);
    memset(h->base, 1, SLOTS * SLOT);
    hand_arena(h, WIRE_ARENA_MAPPED);
}

/* What was filled before comes still; then the connection ends. */
static void hand_ends_broken(struct hand *h)
{
    struct frame f;
    union wire_msg msg;
    do {
        cr_assert(peer_recv(&h->p, WAIT_MS, &f, &msg));
    } while (f.type == WIRE_FILLED);
    cr_assert_eq(f.type, WIRE_ERROR);
    cr_assert_eq(msg.error.code, CAIRN_EPROTO);
    cr_assert(peer_closed(&h->p, WAIT_MS));
}

static void hand_load(struct hand *h, uint32_t credits)
{
    hand_ask(h,
             WIRE_LOAD,
             (union wire_msg){ .load = { .first_chunk = 0,
                                         .chunk_count = CHUNKS,
                                         .credits = credits,
                                         .arena = h->arena } });
}

CASE(ring, what_cannot_be_loaded_into_is_refused, .timeout = 60)
{
    struct site s;
    struct hand h;
    one_saved(&s);
    hand_pin(&h, &s);
    h.arena = 77;
    hand_load(&h, SLOTS);
    peer_expect_error(&h.p, 1, CAIRN_EINVAL, "arena 77: none of this connection's");
    hand_open_as(&h, SLOTS * SLOT, true);
    memset(h.base, 1, SLOTS * SLOT - HUGE_PAGE); /* a page that has a byte may be all there */
    hand_load(&h, SLOTS);
    peer_expect_error(&h.p, 1, CAIRN_EINVAL, "ARENA_MAPPED has not come yet");
    hand_arena(&h, WIRE_ARENA_MAPPED);
    hand_load(&h, SLOTS);
    peer_expect_error(&h.p, 1, CAIRN_EINVAL, "has a hole at 14680064");
    hand_load(&h, SLOTS + 1);
    peer_expect_error(&h.p, 1, CAIRN_EINVAL, "are not in the arena");
    hand_unmap(&h);
    hand_open_as(&h, SLOTS * SLOT, false);
    hand_arena(&h, WIRE_ARENA_MAPPED);
    hand_load(&h, SLOTS);
    peer_expect_error(&h.p, 1, CAIRN_EINVAL, "it is for saves, not a ring");
    hand_down(&h);
    site_down(&s);
}

CASE(ring, nothing_is_saved_from_one, .timeout = 60)
{
    struct site s;
    struct hand h;
    one_saved(&s);
    hand_pin(&h, &s);
    hand_open_as(&h, SLOTS * SLOT, true);
    hand_arena(&h, WIRE_ARENA_MAPPED);
    h.boundary = (struct boundary){ .save_id = { 9 },
                                    .exact = true,
                                    .world = 1,
                                    .local_parts = 1,
                                    .entry_count = h.boundary.entry_count,
                                    .payload_bytes = h.boundary.payload_bytes,
                                    .stored_bytes = h.boundary.stored_bytes,
                                    .chunk_count = h.boundary.chunk_count };
    hand_send_begin(&h);
    hand_refused(&h, CAIRN_EINVAL, "it is a ring, for loads only");
    hand_down(&h);
    site_down(&s);
}

/* The chunk that FILLED speaks of next is in its slot, whole. */
static void hand_filled(struct hand *h, uint32_t chunk, const struct chunk *chunks)
{
    union wire_msg msg;
    peer_expect(&h->p, WIRE_FILLED, 1, &msg);
    cr_assert_eq(msg.filled.chunk, chunk);
    struct digest digest = digest_bytes(h->base + chunk % SLOTS * SLOT, chunks[chunk].bytes);
    cr_assert(digest_equal(&digest, &chunks[chunk].digest), "chunk %u", chunk);
}

/* A slot that was not released is not filled again. */
CASE(ring, slots_are_used_in_turn_as_they_are_released, .timeout = 60)
{
    struct site s;
    struct hand h;
    struct chunk chunks[CHUNKS + 1];
    union wire_msg msg = { .chunk_list = { .first = 0 } };
    one_saved(&s);
    hand_pin(&h, &s);
    hand_ask(&h, WIRE_CHUNK_LIST, msg);
    peer_expect(&h.p, WIRE_CHUNKS, 1, &msg);
    memcpy(chunks, msg.chunks.chunks, CHUNKS * sizeof chunks[0]);
    hand_open_as(&h, SLOTS * SLOT, true);
    memset(h.base, 1, SLOTS * SLOT);
    hand_arena(&h, WIRE_ARENA_MAPPED);
    hand_load(&h, SLOTS);
    hand_filled(&h, 0, chunks);
    hand_filled(&h, 1, chunks);
    for (uint32_t chunk = SLOTS; chunk < CHUNKS; chunk++) {
        peer_ping(&h.p); /* and no FILLED before its answer */
        memset(h.base + chunk % SLOTS * SLOT, 1, SLOT);
        hand_ask(&h, WIRE_RELEASE, (union wire_msg){ .release = { 1 } });
        hand_filled(&h, chunk, chunks);
    }
    peer_expect(&h.p, WIRE_LOADED, 1, &msg);
    cr_assert_eq(msg.loaded.chunk_count, CHUNKS);
    hand_down(&h);
    site_down(&s);
}

CASE(ring, more_credits_than_slots_are_a_broken_protocol, .timeout = 60)
{
    struct site s;
    struct hand h;
    one_saved(&s);
    hand_ring(&h, &s);
    hand_load(&h, SLOTS);
    hand_ask(&h, WIRE_RELEASE, (union wire_msg){ .release = { SLOTS + 1 } });
    hand_ends_broken(&h);
    hand_down(&h);
    site_down(&s);
}

CASE(ring, a_load_under_way_is_not_closed, .timeout = 60)
{
    struct site s;
    struct hand h;
    one_saved(&s);
    hand_ring(&h, &s);
    hand_load(&h, SLOTS);
    hand_ask(&h, WIRE_CLOSE, (union wire_msg){ .loaded = { 0 } });
    hand_ends_broken(&h);
    hand_down(&h);
    site_down(&s);
}

#ifdef CAIRN_FAILPOINTS
/* The daemon stands in a read of a chunk, dies there, and starts again. */
struct murder {
    struct site *s;
    struct hold hold;
    bool held;
    sem_t over;
};

/* The new daemon ends with the thread that has started it: so that waits. */
static void *murder_daemon(void *arg)
{
    struct murder *m = arg;
    m->held = hold_wait(&m->hold, WAIT_MS);
    daemon_kill(&m->s->d);
    daemon_start(&m->s->d, NULL);
    while (sem_wait(&m->over) < 0) {
    }
    return NULL;
}

CASE(ring, a_daemon_that_dies_in_a_read_is_no_end_of_a_restore, .timeout = 60)
{
    struct site s;
    struct murder m = { .s = &s };
    struct job other;
    char armed[320];
    pthread_t murderer;
    one_saved(&s);
    cr_assert_eq(daemon_stop(&s.d), 0);
    hold_init(&m.hold, s.dir, "read");
    (void)snprintf(armed, sizeof armed, "CAIRN_FAILPOINT=load_read:hold=%s:7", m.hold.path);
    daemon_start(&s.d, (const char *const[]){ armed, NULL });
    cr_assert_eq(sem_init(&m.over, 0, 0), 0);
    cr_assert_eq(pthread_create(&murderer, NULL, murder_daemon, &m), 0);
    struct cairn_record *r = restored(&s, &other);
    cr_assert(m.held, "the daemon was never in its seventh read");
    (void)cairn_record_free(r);
    job_fini(&other);
    hold_fini(&m.hold);
    site_down(&s);
    cr_assert_eq(sem_post(&m.over), 0);
    cr_assert_eq(pthread_join(murderer, NULL), 0);
    (void)sem_destroy(&m.over);
}

/* One read stands, and nothing is filled yet: there is nothing to release. */
CASE(ring, a_slot_that_is_not_filled_cannot_be_released, .timeout = 60)
{
    struct site s;
    struct hand h;
    struct hold hold;
    char armed[320];
    one_saved(&s);
    cr_assert_eq(daemon_stop(&s.d), 0);
    hold_init(&hold, s.dir, "read");
    (void)snprintf(armed, sizeof armed, "CAIRN_FAILPOINT=load_read:hold=%s:1", hold.path);
    daemon_start(&s.d, (const char *const[]){ armed, NULL });
    hand_ring(&h, &s);
    hand_load(&h, SLOTS);
    cr_assert(hold_wait(&hold, WAIT_MS));
    hand_ask(&h, WIRE_RELEASE, (union wire_msg){ .release = { 1 } });
    peer_expect_error(&h.p, 1, CAIRN_EPROTO, "RELEASE makes more than 2 credits");
    hold_release(&hold);
    cr_assert(peer_closed(&h.p, WAIT_MS));
    hand_down(&h);
    hold_fini(&hold);
    site_down(&s);
}
#endif
