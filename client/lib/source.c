/* source.c: the copy that hashes on its way. */
#include "lib/source.h"

#include <string.h>

#include "internal/container.h"

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

void source_take_all(
    struct hasher *a, struct hasher *b, void *dst, struct source *from, size_t bytes)
{
    uint8_t *to = dst;
    while (bytes > 0) {
        size_t block = bytes < SOURCE_BLOCK_BYTES ? bytes : SOURCE_BLOCK_BYTES;
        from->take(from, to, block);
        if (a != NULL) {
            hasher_add(a, to, block);
        }
        if (b != NULL) {
            hasher_add(b, to, block);
        }
        to += block;
        bytes -= block;
    }
}
