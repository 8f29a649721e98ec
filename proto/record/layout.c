#include "record/layout.h"

#include <assert.h>
#include <stdlib.h>

#include "internal/ckd.h"

#define LAYOUT_NONE UINT32_MAX

struct layout {
    struct layout_chunk *chunks;
    uint32_t count;
    uint32_t room;
    enum component component; /* COMPONENT_NONE between two components */
    uint32_t first;           /* first chunk of the component */
    uint32_t open[2];         /* shared chunk with room left: of frozen, of trainable entries */
    uint64_t placed_bytes;    /* of the component's tensors */
    uint64_t cursor;          /* where the next chunk starts in the region */
    uint64_t high;            /* high-water mark of the region */
};

struct layout *layout_new(void)
{
    struct layout *l = calloc(1, sizeof *l);
    if (l != NULL) {
        layout_reset(l);
    }
    return l;
}

struct layout *layout_free(struct layout *l)
{
    if (l != NULL) {
        free(l->chunks);
        free(l);
    }
    return NULL;
}

void layout_reset(struct layout *l)
{
    *l = (struct layout){ .chunks = l->chunks,
                          .room = l->room,
                          .open = { LAYOUT_NONE, LAYOUT_NONE } };
}

void layout_begin(struct layout *l, enum component component)
{
    assert(l->component == COMPONENT_NONE && component != COMPONENT_NONE);
    l->component = component;
    l->first = l->count;
    l->placed_bytes = 0;
}

/* Make room for `more` chunks in the table. */
static int layout_grow(struct layout *l, uint64_t more, struct err *err)
{
    if (more > LIMIT_CHUNKS - l->count) {
        return err_set(err, -CAIRN_ELIMIT, "the record needs more than %u chunks", LIMIT_CHUNKS);
    }
    if (l->count + more <= l->room) {
        return 0;
    }
    size_t room = l->room == 0 ? 64 : (size_t)l->room * 2;
    room = room < l->count + more ? (size_t)(l->count + more) : room;
    struct layout_chunk *chunks = realloc(l->chunks, room * sizeof *chunks);
    if (chunks == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory for a table of %zu chunks", room);
    }
    l->chunks = chunks;
    l->room = (uint32_t)room;
    return 0;
}

/* Append a chunk at the cursor, which moves past `reserved` bytes. The table has room. */
static void layout_append(struct layout *l, uint32_t flags, uint32_t bytes, uint64_t reserved)
{
    l->chunks[l->count++] = (struct layout_chunk){
        .chunk = { .component = l->component, .flags = flags, .bytes = bytes },
        .region_offset = l->cursor,
    };
    l->cursor += round_up_u64(reserved, LIMIT_PAGE_BYTES);
    l->high = l->cursor > l->high ? l->cursor : l->high;
}

/* No more entries for a shared chunk. If it is the last thing in the region, what it did not use of
 * its 8 MiB is given back. */
static void layout_close(struct layout *l, bool trainable)
{
    uint32_t index = l->open[trainable];
    if (index == LAYOUT_NONE) {
        return;
    }
    const struct layout_chunk *c = &l->chunks[index];
    if (l->cursor == c->region_offset + LIMIT_CHUNK_BYTES) {
        l->cursor = c->region_offset + round_up_u64(c->chunk.bytes, LIMIT_PAGE_BYTES);
    }
    l->open[trainable] = LAYOUT_NONE;
}

static int layout_own(
    struct layout *l, uint64_t bytes, bool trainable, uint64_t *ret_region_offset, struct err *err)
{
    uint64_t count = bytes / LIMIT_CHUNK_BYTES + (bytes % LIMIT_CHUNK_BYTES != 0);
    int rc = layout_grow(l, count, err);
    if (rc < 0) {
        return rc;
    }
    *ret_region_offset = l->cursor;
    while (bytes > 0) {
        uint32_t part = bytes > LIMIT_CHUNK_BYTES ? LIMIT_CHUNK_BYTES : (uint32_t)bytes;
        layout_append(l, trainable ? CHUNK_TRAINABLE : 0, part, part);
        bytes -= part;
    }
    return 0;
}

/* Find or open the shared chunk that takes `bytes` more, and where in it they go. */
static int
layout_room(struct layout *l, uint32_t bytes, bool trainable, uint32_t *ret_offset, struct err *err)
{
    uint32_t index = l->open[trainable];
    if (index != LAYOUT_NONE) {
        uint64_t offset = round_up_u64(l->chunks[index].chunk.bytes, LIMIT_PACK_ALIGN_BYTES);
        if (offset + bytes <= LIMIT_CHUNK_BYTES) {
            *ret_offset = (uint32_t)offset;
            return 0;
        }
        layout_close(l, trainable);
    }
    int rc = layout_grow(l, 1, err);
    if (rc < 0) {
        return rc;
    }
    l->open[trainable] = l->count;
    layout_append(l, CHUNK_PACKED | (trainable ? CHUNK_TRAINABLE : 0u), 0, LIMIT_CHUNK_BYTES);
    *ret_offset = 0;
    return 0;
}

struct layout_placed {
    uint32_t first;
    uint32_t offset;
    uint64_t region_offset;
};

static int layout_shared(
    struct layout *l, uint32_t bytes, bool trainable, struct layout_placed *ret, struct err *err)
{
    int rc = layout_room(l, bytes, trainable, &ret->offset, err);
    if (rc < 0) {
        return rc;
    }
    ret->first = l->open[trainable];
    struct layout_chunk *c = &l->chunks[ret->first];
    c->chunk.bytes = ret->offset + bytes;
    ret->region_offset = c->region_offset + ret->offset;
    return 0;
}

/* NOLINTNEXTLINE(readability-function-size): the three places are one answer */
int layout_place(struct layout *l,
                 uint64_t bytes,
                 bool trainable,
                 uint32_t *ret_first_chunk,
                 uint32_t *ret_offset_bytes,
                 uint64_t *ret_region_offset,
                 struct err *err)
{
    assert(l->component != COMPONENT_NONE && bytes > 0);
    struct layout_placed at = { .first = l->count };
    int rc = bytes >= LIMIT_OWN_CHUNK_BYTES
                 ? layout_own(l, bytes, trainable, &at.region_offset, err)
                 : layout_shared(l, (uint32_t)bytes, trainable, &at, err);
    if (rc < 0) {
        return rc;
    }
    l->placed_bytes += bytes;
    *ret_first_chunk = at.first;
    *ret_offset_bytes = at.offset;
    *ret_region_offset = at.region_offset;
    return 0;
}

void layout_end(struct layout *l, bool *ret_inline)
{
    assert(l->component != COMPONENT_NONE);
    /* The one opened last lies behind the other: close it first, so that both give back. */
    bool last = l->open[1] != LAYOUT_NONE && (l->open[0] == LAYOUT_NONE || l->open[1] > l->open[0]);
    layout_close(l, last);
    layout_close(l, !last);
    *ret_inline = l->placed_bytes <= LIMIT_INLINE_COMPONENT_BYTES;
    if (*ret_inline) {
        l->count = l->first;
    }
    l->component = COMPONENT_NONE;
}

uint32_t layout_chunk_count(const struct layout *l)
{
    return l->count;
}

struct layout_chunk *layout_chunk_at(struct layout *l, uint32_t index)
{
    assert(index < l->room); /* a chunk that layout_end took back may still be looked at */
    return &l->chunks[index];
}

uint64_t layout_region_bytes(const struct layout *l)
{
    return l->high;
}

uint64_t layout_stored_bytes(const struct layout *l)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        bytes += round_up_u64(l->chunks[i].chunk.bytes, LIMIT_PAGE_BYTES);
    }
    return bytes;
}
