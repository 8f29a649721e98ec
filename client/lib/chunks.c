/* chunks.c: verified chunks in private memory. */
#include "lib/chunks.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "lib/pages.h"

void chunk_forget(struct chunk_bufs *c)
{
    for (uint32_t i = 0; i < LIMIT_WINDOW_CHUNKS; i++) {
        free(c->bufs[i].data);
    }
    *c = (struct chunk_bufs){ 0 };
}

struct chunk_buf *chunk_find(struct chunk_bufs *c, uint32_t chunk)
{
    for (uint32_t i = 0; i < LIMIT_WINDOW_CHUNKS; i++) {
        if (c->bufs[i].valid && c->bufs[i].chunk == chunk) {
            c->bufs[i].used_at = ++c->clock;
            return &c->bufs[i];
        }
    }
    return NULL;
}

static bool chunk_better(const struct chunk_buf *a, const struct chunk_buf *b)
{
    bool a_free = !a->valid || a->consumed;
    bool b_free = !b->valid || b->consumed;
    if (a_free != b_free) {
        return a_free;
    }
    return a->used_at < b->used_at;
}

static bool chunk_allocate(struct chunk_buf *buf)
{
    buf->data = aligned_alloc(PAGES_HUGE_BYTES, LIMIT_CHUNK_BYTES);
    if (buf->data != NULL) {
        (void)madvise(buf->data, LIMIT_CHUNK_BYTES, MADV_HUGEPAGE); /* cheaper to touch first */
    }
    return buf->data != NULL;
}

struct chunk_buf *chunk_take(struct chunk_bufs *c)
{
    struct chunk_buf *best = NULL;
    struct chunk_buf *unborn = NULL;
    for (uint32_t i = 0; i < LIMIT_WINDOW_CHUNKS; i++) {
        struct chunk_buf *buf = &c->bufs[i];
        if (buf->data == NULL) {
            unborn = unborn == NULL ? buf : unborn;
        } else if (best == NULL || chunk_better(buf, best)) {
            best = buf;
        }
    }
    bool best_free = best != NULL && (!best->valid || best->consumed);
    if (!best_free && unborn != NULL && chunk_allocate(unborn)) {
        best = unborn;
    }
    if (best != NULL) {
        best->valid = false;
        best->consumed = false;
    }
    return best;
}

void chunk_put(struct chunk_bufs *c, struct chunk_buf *buf, uint32_t chunk, bool valid)
{
    buf->chunk = chunk;
    buf->valid = valid;
    buf->used_at = ++c->clock;
}
