#include "support/hand.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cairn/record.h"

#include "record/digest.h"

enum { HAND_ARENA_BYTES = 4 << 20, HAND_ASK = 3 };

static void hand_die(const char *what)
{
    perror(what);
    abort();
}

static void hand_send(struct hand *h, enum wire_type type, uint32_t request, union wire_msg msg)
{
    if (!peer_send(&h->p, type, request, &msg, (struct slice){ 0 })) {
        hand_die("hand: the daemon has closed");
    }
}

void hand_up(struct hand *h, const char *socket_path, const char *run)
{
    *h = (struct hand){ .run = run, .request = 100, .fd = -1 };
    for (uint32_t i = 0; i < HAND_CHUNKS; i++) {
        h->offsets[i] = (uint64_t)i * HAND_PLACE_BYTES;
    }
    peer_connect(&h->p, socket_path);
    peer_hello(&h->p);
}

void hand_down(struct hand *h)
{
    hand_unmap(h);
    peer_close(&h->p);
}

/* ---- the arena ---- */

void hand_unmap(struct hand *h)
{
    if (h->base != NULL) {
        (void)munmap(h->base, h->bytes);
    }
    if (h->fd >= 0) {
        (void)close(h->fd);
    }
    h->base = NULL;
    h->fd = -1;
}

void hand_open(struct hand *h)
{
    hand_open_as(h, HAND_ARENA_BYTES, false);
}

void hand_open_as(struct hand *h, uint64_t bytes, bool ring)
{
    union wire_msg msg = { .arena_open = { .bytes = bytes, .ring = ring } };
    hand_send(h, WIRE_ARENA_OPEN, HAND_ASK, msg);
    peer_expect(&h->p, WIRE_ARENA, HAND_ASK, &msg);
    h->arena = msg.arena.arena;
    h->bytes = msg.arena.bytes;
    h->fd = h->p.in_fd;
    h->p.in_fd = -1;
    void *base = mmap(NULL, h->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, h->fd, 0);
    if (base == MAP_FAILED) {
        hand_die("hand: map the arena");
    }
    h->base = base;
}

void hand_send_arena(struct hand *h, enum wire_type type, uint32_t arena)
{
    hand_send(h, type, HAND_ASK, (union wire_msg){ .arena_ref = { .arena = arena } });
}

void hand_arena(struct hand *h, enum wire_type type)
{
    union wire_msg msg;
    hand_send_arena(h, type, h->arena);
    peer_expect(&h->p, WIRE_DONE, HAND_ASK, &msg);
}

uint64_t hand_memory(const struct hand *h)
{
    struct stat st;
    if (fstat(h->fd, &st) < 0) {
        hand_die("hand: fstat");
    }
    return (uint64_t)st.st_blocks * 512;
}

/* ---- the record ---- */

static struct entry hand_entry(struct hand *h, uint32_t i)
{
    static const char *const paths[HAND_CHUNKS] = { "t0", "t1", "t2" };
    h->shape[0] = HAND_BYTES;
    return (struct entry){ .path = slice_str(paths[i]),
                           .kind = ENTRY_TENSOR,
                           .dtype = CAIRN_U8,
                           .rank = 1,
                           .shape = h->shape,
                           .bytes = HAND_BYTES,
                           .first_chunk = i,
                           .digest = h->chunks[i].digest };
}

static void hand_component(struct hand *h, enum component component)
{
    struct component_info *info = &h->infos[component - 1];
    struct component_digest *digest = component_digest_new(component, (struct slice){ 0 });
    *info = (struct component_info){ .component = component };
    for (uint32_t i = 0; component == COMPONENT_MODEL && i < HAND_CHUNKS; i++) {
        component_digest_entry(digest, &h->entries[i]);
        info->entry_count++;
        info->chunk_count++;
        info->bytes += HAND_BYTES;
        info->page_count = 1;
    }
    info->digest = component_digest_end(digest);
    (void)component_digest_free(digest);
}

void hand_sum(struct hand *h, uint8_t id)
{
    for (uint32_t i = 0; i < HAND_CHUNKS; i++) {
        h->chunks[i] =
            (struct chunk){ .component = COMPONENT_MODEL,
                            .flags = CHUNK_PACKED,
                            .bytes = HAND_BYTES,
                            .digest = digest_bytes(h->base + h->offsets[i], HAND_BYTES) };
        h->entries[i] = hand_entry(h, i);
    }
    for (enum component c = COMPONENT_MODEL; c <= COMPONENT_STATE; c++) {
        hand_component(h, c);
    }
    h->boundary = (struct boundary){ .step = id,
                                     .save_id = { id },
                                     .exact = true,
                                     .world = 1,
                                     .local_parts = 1,
                                     .entry_count = HAND_CHUNKS,
                                     .payload_bytes = (uint64_t)HAND_CHUNKS * HAND_BYTES,
                                     .stored_bytes = (uint64_t)HAND_CHUNKS * HAND_PLACE_BYTES,
                                     .chunk_count = HAND_CHUNKS };
    h->boundary.root = digest_root(&h->boundary, h->infos, 5);
}

void hand_fill(struct hand *h, uint8_t seed, uint8_t id)
{
    for (uint32_t i = 0; i < HAND_CHUNKS; i++) {
        memset(h->base + h->offsets[i], seed + (int)i, HAND_BYTES);
        memset(h->base + h->offsets[i] + HAND_BYTES, 0, HAND_PLACE_BYTES - HAND_BYTES);
    }
    hand_sum(h, id);
}

/* ---- a save ---- */

void hand_send_begin(struct hand *h)
{
    hand_send(
        h,
        WIRE_BEGIN,
        ++h->request,
        (union wire_msg){
            .begin = { .run = slice_str(h->run), .boundary = h->boundary, .arena = h->arena } });
}

void hand_begin(struct hand *h)
{
    union wire_msg msg;
    hand_send_begin(h);
    peer_expect(&h->p, WIRE_BEGUN, h->request, &msg);
    if (msg.begun.state != SAVE_RECEIVING) {
        (void)fprintf(stderr, "hand: BEGUN with %s\n", save_state_name(msg.begun.state));
        abort();
    }
}

void hand_chunks(struct hand *h, uint32_t first, uint32_t count)
{
    hand_send(h,
              WIRE_CHUNKS,
              h->request,
              (union wire_msg){ .chunks = { .first = first,
                                            .chunks = &h->chunks[first],
                                            .count = count,
                                            .offsets = &h->offsets[first] } });
}

void hand_entries(struct hand *h)
{
    hand_send(h,
              WIRE_ENTRIES,
              h->request,
              (union wire_msg){ .entries = { .component = COMPONENT_MODEL,
                                             .entries = h->entries,
                                             .count = HAND_CHUNKS } });
}

void hand_announce(struct hand *h)
{
    hand_begin(h);
    hand_chunks(h, 0, HAND_CHUNKS);
    hand_entries(h);
}

void hand_seal(struct hand *h)
{
    hand_send(
        h, WIRE_SEAL, h->request, (union wire_msg){ .seal = { h->infos, 5, h->boundary.root } });
}

uint64_t hand_committed(struct hand *h)
{
    union wire_msg msg;
    peer_expect(&h->p, WIRE_COMMITTED, h->request, &msg);
    return msg.committed.boundary.seq;
}

void hand_refused(struct hand *h, uint32_t code, const char *words)
{
    peer_expect_error(&h->p, h->request, code, words);
}
