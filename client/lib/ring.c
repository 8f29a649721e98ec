/* ring.c: memory that the daemon lends for loads. */
#include "lib/ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include "lib/call.h"
#include "lib/pages.h"
#include "lib/source.h"
#include "record/hash.h"

/* Two are read into, one waits, one is copied from: more are not faster (measured: 3 to 8), and are
 * memory of the trainer. A load of less than a round is over before they are warm. */
#define RING_SLOTS 4u
#define RING_BYTES (RING_SLOTS * (uint64_t)LIMIT_CHUNK_BYTES)
#define RING_LEAST_CHUNKS RING_SLOTS

static void ring_unmap(struct ring *r)
{
    if (r->base != NULL && r->owner == getpid()) {
        (void)munmap(r->base, r->bytes);
    }
    r->base = NULL;
    r->hasher = hasher_free(r->hasher);
}

struct digest ring_take(struct ring *r, uint64_t slot, void *dst, uint32_t bytes)
{
    struct source_memory from = source_of(r->base + slot * LIMIT_CHUNK_BYTES);
    const struct source_look look = { .a = r->hasher };
    hasher_start(r->hasher);
    source_take_all(&look, dst, &from.source, bytes);
    return hasher_end(r->hasher);
}

void ring_dropped(struct ring *r)
{
    ring_unmap(r);
    r->arena = 0;
}

/* The descriptor that came with the answer, mapped: every page is to be there, and ours to pay for,
 * before the daemon is asked to write to it. */
static bool ring_map(struct cairn *c, const struct wire_arena *a)
{
    struct ring *r = &c->ring;
    uint8_t *base = c->in_fd < 0 || a->bytes < RING_BYTES ? NULL : pages_reserve(a->bytes);
    if (base == NULL) {
        return false;
    }
    r->base = base;
    r->bytes = a->bytes;
    r->slots = RING_SLOTS;
    r->owner = getpid();
    r->hasher = hasher_new();
    int flags = MAP_SHARED | MAP_FIXED;
    if (r->hasher == NULL ||
        mmap(base, a->bytes, PROT_READ | PROT_WRITE, flags, c->in_fd, 0) == MAP_FAILED) {
        return false;
    }
    pages_advise(base, a->bytes);
    return pages_touch(base, a->bytes);
}

static int ring_ask(struct cairn *c)
{
    union wire_msg answer;
    union wire_msg msg = { .arena_open = { .bytes = RING_BYTES, .ring = true } };
    int rc = cl_ask_once(c, WIRE_ARENA_OPEN, &msg, WIRE_ARENA, &answer);
    if (rc < 0) {
        return rc;
    }
    c->ring.arena = answer.arena.arena;
    bool mapped = ring_map(c, &answer.arena);
    cl_close_fd(&c->in_fd);
    return mapped ? cl_arena_say(c, WIRE_ARENA_MAPPED, c->ring.arena)
                  : err_set(&c->err, -CAIRN_ENOMEM, "no memory for a ring");
}

int ring_open(struct cairn *c, uint32_t chunk_count)
{
    if (c->ring.base != NULL || c->ring.refused == c->connection ||
        chunk_count < RING_LEAST_CHUNKS) {
        return 0;
    }
    struct err before = c->err;
    int rc = ring_ask(c);
    if (rc == 0 || c->fd < 0) {
        return rc;
    }
    uint32_t arena = c->ring.arena;
    ring_dropped(&c->ring);
    if (rc != -CAIRN_EBUSY) { /* which may be otherwise next time */
        c->ring.refused = c->connection;
    }
    rc = arena == 0 ? 0 : cl_arena_say(c, WIRE_ARENA_CLOSE, arena);
    if (c->fd < 0) {
        return rc;
    }
    c->err = before;
    return 0;
}
