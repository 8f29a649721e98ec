/* Memory that is lent for reading, in the hands of a client that wants more. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/digest.h"
#include "resident_site.h"
#include "support/case.h"

enum { WAIT_MS = 20000, ASK = 1, MOST_ARENAS = 6 };

static struct daemon d;

/* A record stays, and somebody has it to read. */
static void reader_up(struct hand *h)
{
    daemon_begin(&d, "resident_hostile", NULL, NULL);
    trainer_leaves(&d, "run", 20, 1);
    cr_assert(reader_pins(h, &d, "run"));
    reader_asks(h);
}

static void reader_down(struct hand *h)
{
    hand_down(h);
    wait_stay(&d, 1);
    loads_from_memory(&d, "run", 20);
    daemon_end(&d);
}

static void ask(struct hand *h, enum wire_type type, union wire_msg msg)
{
    cr_assert(peer_send(&h->p, type, ASK, &msg, (struct slice){ 0 }));
}

static void refused(struct hand *h, uint32_t code, const char *words)
{
    peer_expect_error(&h->p, ASK, code, words);
}

CASE(resident_hostile, it_can_be_read_and_nothing_else, .timeout = 60)
{
    struct hand h;
    const uint8_t byte = 1;
    reader_up(&h);
    cr_assert_eq(h.base[h.offsets[1]], 21);
    cr_assert_eq(mmap(NULL, h.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, h.fd, 0), MAP_FAILED);
    cr_assert_eq(errno, EPERM);
    cr_assert_eq(mprotect(h.base, h.bytes, PROT_READ | PROT_WRITE), -1);
    cr_assert_eq(errno, EACCES);
    cr_assert_eq(pwrite(h.fd, &byte, 1, 0), -1);
    cr_assert_eq(errno, EPERM);
    cr_assert_eq(ftruncate(h.fd, 0), -1);
    cr_assert_eq(errno, EPERM);
    cr_assert_eq(fallocate(h.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
    cr_assert_eq(errno, EPERM);
    reader_down(&h);
}

CASE(resident_hostile, where_the_chunks_lie_is_said_on_request, .timeout = 60)
{
    struct hand h;
    union wire_msg msg = { .chunk_list = { .first = 1 } };
    reader_up(&h);
    ask(&h, WIRE_CHUNK_LIST, msg);
    peer_expect(&h.p, WIRE_CHUNKS, ASK, &msg);
    cr_assert(msg.chunks.count == HAND_CHUNKS - 1 && msg.chunks.offsets == NULL);
    msg = (union wire_msg){ .chunk_list = { .first = 1, .arena = h.arena } };
    ask(&h, WIRE_CHUNK_LIST, msg);
    peer_expect(&h.p, WIRE_CHUNKS, ASK, &msg);
    cr_assert_eq(msg.chunks.count, HAND_CHUNKS - 1);
    cr_assert_eq(memcmp(msg.chunks.offsets, &h.offsets[1], 2 * sizeof h.offsets[0]), 0);
    reader_down(&h);
}

CASE(resident_hostile, another_arena_has_no_places, .timeout = 60)
{
    struct hand h;
    union wire_msg msg;
    reader_up(&h);
    uint32_t resident = h.arena;
    ask(&h, WIRE_CHUNK_LIST, (union wire_msg){ .chunk_list = { .arena = 77 } });
    refused(&h, CAIRN_EINVAL, "arena 77: it is not the one that RESIDENT has lent");
    hand_unmap(&h);
    hand_open(&h);
    hand_arena(&h, WIRE_ARENA_MAPPED);
    ask(&h, WIRE_CHUNK_LIST, (union wire_msg){ .chunk_list = { .arena = h.arena } });
    refused(&h, CAIRN_EINVAL, "it is not the one that RESIDENT has lent");
    hand_arena(&h, WIRE_ARENA_CLOSE);
    /* The right one, and another boundary. */
    struct hand other;
    trainer_saves(&other, &d, "other", 30);
    msg = (union wire_msg){
        .describe = { .run = slice_str("other"), .selector = slice_str("latest"), .pin = true }
    };
    ask(&h, WIRE_DESCRIBE, msg);
    peer_expect(&h.p, WIRE_DESCRIBED, ASK, &msg);
    cr_assert_not(msg.described.resident);
    ask(&h, WIRE_CHUNK_LIST, (union wire_msg){ .chunk_list = { .arena = resident } });
    refused(&h, CAIRN_EINVAL, "it is not the one that RESIDENT has lent");
    hand_arena(&other, WIRE_ARENA_CLOSE);
    hand_down(&other);
    reader_down(&h);
}

CASE(resident_hostile, it_is_no_arena_for_saves_and_no_ring, .timeout = 60)
{
    struct hand h;
    struct frame f;
    union wire_msg msg;
    reader_up(&h);
    ask(&h, WIRE_LOAD, (union wire_msg){ .load = { 0, HAND_CHUNKS, 4, h.arena } });
    refused(&h, CAIRN_EINVAL, "it is lent for reading only");
    hand_sum(&h, 30);
    hand_send_begin(&h);
    hand_refused(&h, CAIRN_EINVAL, "it is lent for reading only");
    hand_send_arena(&h, WIRE_ARENA_MAPPED, h.arena);
    cr_assert(peer_recv(&h.p, WAIT_MS, &f, &msg));
    cr_assert(f.type == WIRE_ERROR && msg.error.code == CAIRN_EPROTO && msg.error.closing);
    cr_assert(peer_closed(&h.p, WAIT_MS));
    reader_down(&h);
}

CASE(resident_hostile, only_what_is_pinned_and_stays_is_lent, .timeout = 60)
{
    struct hand h;
    struct hand other;
    daemon_begin(&d, "resident_hostile", NULL, NULL);
    trainer_leaves(&d, "run", 20, 1);
    hand_up(&h, d.socket, "run");
    ask(&h, WIRE_RESIDENT, (union wire_msg){ 0 });
    refused(&h, CAIRN_EINVAL, "RESIDENT without a pinned boundary");
    union wire_msg msg = {
        .describe = { .run = slice_str("run"), .selector = slice_str("latest"), .pin = false }
    };
    ask(&h, WIRE_DESCRIBE, msg);
    peer_expect(&h.p, WIRE_DESCRIBED, ASK, &msg);
    cr_assert_not(msg.described.resident, "nothing is pinned");
    hand_down(&h);
    cr_assert(reader_pins(&h, &d, "run"));
    trainer_saves(&other, &d, "run", 30); /* now it is not the last any more */
    ask(&h, WIRE_RESIDENT, (union wire_msg){ 0 });
    refused(&h, CAIRN_ENOENT, "is not in memory");
    hand_down(&h);
    hand_down(&other);
    daemon_end(&d);
}

CASE(resident_hostile, an_older_boundary_is_not_lent_the_last_ones_memory, .timeout = 60)
{
    struct hand h;
    daemon_begin(&d, "resident_hostile", NULL, NULL);
    trainer_leaves(&d, "run", 20, 1);
    trainer_leaves(&d, "run", 30, 1);
    union wire_msg msg = {
        .describe = { .run = slice_str("run"), .selector = slice_str("latest~1"), .pin = true }
    };
    hand_up(&h, d.socket, "run");
    ask(&h, WIRE_DESCRIBE, msg);
    peer_expect(&h.p, WIRE_DESCRIBED, ASK, &msg);
    cr_assert_not(msg.described.resident);
    ask(&h, WIRE_RESIDENT, (union wire_msg){ 0 });
    refused(&h, CAIRN_ENOENT, "is not in memory");
    hand_down(&h);
    daemon_end(&d);
}

CASE(resident_hostile, there_are_only_so_many, .timeout = 60)
{
    struct hand h;
    reader_up(&h);
    for (unsigned i = 1; i < MOST_ARENAS; i++) {
        hand_unmap(&h);
        reader_asks(&h);
    }
    ask(&h, WIRE_RESIDENT, (union wire_msg){ 0 });
    refused(&h, CAIRN_ELIMIT, "arenas for one connection are enough");
    cr_assert_eq(status_of(&d).arena_count, 1, "lent so often, it is one");
    hand_arena(&h, WIRE_ARENA_CLOSE);
    hand_unmap(&h);
    reader_asks(&h);
    reader_down(&h);
}

/* ---- more chunks than a library would pack ---- */

enum { MANY_MOST = 4 + 64, MANY_BYTES = 2000 }; /* of an arena of 4 MiB */

struct many {
    uint32_t count;
    struct chunk chunks[MANY_MOST + 1];
    uint64_t offsets[MANY_MOST + 1]; /* all of them 0: they may share their bytes */
    struct entry entries[MANY_MOST + 1];
    char paths[MANY_MOST + 1][8];
    uint64_t shape[1];
};

static void many_fill(struct many *m, const struct hand *h, uint32_t count)
{
    *m = (struct many){ .count = count, .shape = { MANY_BYTES } };
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(m->paths[i], sizeof m->paths[i], "t%03u", i);
        m->chunks[i] = (struct chunk){ .component = COMPONENT_MODEL,
                                       .flags = CHUNK_PACKED,
                                       .bytes = MANY_BYTES,
                                       .digest = digest_bytes(h->base, MANY_BYTES) };
        m->entries[i] = (struct entry){ .path = slice_str(m->paths[i]),
                                        .kind = ENTRY_TENSOR,
                                        .dtype = CAIRN_U8,
                                        .rank = 1,
                                        .shape = m->shape,
                                        .bytes = MANY_BYTES,
                                        .first_chunk = i,
                                        .digest = m->chunks[i].digest };
    }
}

/* What SEAL and BEGIN say of it. */
static void many_sum(const struct many *m, struct hand *h, uint8_t id)
{
    struct component_info *model = &h->infos[0];
    struct component_digest *digest = component_digest_new(COMPONENT_MODEL, (struct slice){ 0 });
    for (uint32_t i = 0; i < m->count; i++) {
        component_digest_entry(digest, &m->entries[i]);
    }
    hand_sum(h, id);
    model->entry_count = m->count;
    model->chunk_count = m->count;
    model->bytes = (uint64_t)m->count * MANY_BYTES;
    model->digest = component_digest_end(digest);
    (void)component_digest_free(digest);
    h->boundary.entry_count = m->count;
    h->boundary.chunk_count = m->count;
    h->boundary.payload_bytes = model->bytes;
    h->boundary.stored_bytes = (uint64_t)m->count * 4096;
    h->boundary.root = digest_root(&h->boundary, h->infos, 5);
}

static void many_saved(uint32_t count, uint8_t id)
{
    struct hand h;
    struct many m;
    hand_up(&h, d.socket, "many");
    hand_open(&h);
    hand_arena(&h, WIRE_ARENA_MAPPED);
    memset(h.base, 0, h.bytes);
    memset(h.base, id, MANY_BYTES);
    many_fill(&m, &h, count);
    many_sum(&m, &h, id);
    hand_begin(&h);
    const union wire_msg chunks = {
        .chunks = { .chunks = m.chunks, .count = count, .offsets = m.offsets }
    };
    const union wire_msg entries = {
        .entries = { .component = COMPONENT_MODEL, .entries = m.entries, .count = count }
    };
    cr_assert(peer_send(&h.p, WIRE_CHUNKS, h.request, &chunks, (struct slice){ 0 }));
    cr_assert(peer_send(&h.p, WIRE_ENTRIES, h.request, &entries, (struct slice){ 0 }));
    hand_seal(&h);
    cr_assert_gt(hand_committed(&h), 0);
    hand_down(&h);
}

/* Where each of them lies is in the daemon's own memory. */
CASE(resident_hostile, more_chunks_than_anybody_packs_do_not_stay, .timeout = 60)
{
    daemon_begin(&d, "resident_hostile", NULL, NULL);
    many_saved(MANY_MOST, 1);
    wait_stay(&d, 1);
    many_saved(MANY_MOST + 1, 2);
    wait_stay(&d, 0);
    daemon_end(&d);
}
