/* source.c: the copy that hashes and counts on its way. */
#include "lib/source.h"

#include <string.h>

#include "internal/container.h"
#include "record/finite.h"

static void source_memory_take(struct source *s, void *dst, size_t bytes)
{
    struct source_memory *m = CONTAINER_OF(s, struct source_memory, source);
    memcpy(dst, m->at, bytes);
    m->at += bytes;
}

struct source_memory source_of(const void *data)
{
    return (struct source_memory){ .source = { source_memory_take }, .at = data };
}

const uint8_t *source_data(struct source *s)
{
    return s->take == source_memory_take ? CONTAINER_OF(s, struct source_memory, source)->at : NULL;
}

/* A block holds whole elements: its length is a multiple of 64, or it is the last of its tensor or
 * of its chunk, whose length is a multiple of 64 in its turn. */
static void source_look(const struct source_look *look, const void *data, size_t bytes)
{
    if (look->a != NULL) {
        hasher_add(look->a, data, bytes);
    }
    if (look->b != NULL) {
        hasher_add(look->b, data, bytes);
    }
    if (look->dtype != 0) {
        finite_add(look->dtype, data, bytes, look->count);
    }
}

void source_take_all(const struct source_look *look, void *dst, struct source *from, size_t bytes)
{
    uint8_t *to = dst;
    while (bytes > 0) {
        size_t block = bytes < SOURCE_BLOCK_BYTES ? bytes : SOURCE_BLOCK_BYTES;
        from->take(from, to, block);
        source_look(look, to, block);
        to += block;
        bytes -= block;
    }
}

void source_look_all(const struct source_look *look, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    while (bytes > 0) {
        size_t block = bytes < SOURCE_BLOCK_BYTES ? bytes : SOURCE_BLOCK_BYTES;
        source_look(look, at, block);
        at += block;
        bytes -= block;
    }
}
