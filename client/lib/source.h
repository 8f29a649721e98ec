/* source.h: where the bytes of a tensor come from, and the copy that hashes them on its way. */
#ifndef LIB_SOURCE_H
#define LIB_SOURCE_H

#include "record/hash.h"

/* Source and copy of a block stay in the first-level cache, or nearly: measured with 512-bit
 * vectors, 16 and 32 KiB are 1.14 times a memcpy, 256 KiB 1.2 times, 8 KiB 1.3 times. */
#define SOURCE_BLOCK_BYTES (32u << 10)

/* Bytes that come piece by piece. All pieces but the last are multiples of 64 bytes. */
struct source {
    void (*take)(struct source *s, void *dst, size_t bytes); /* the next ones, to dst */
};

/* Memory, as it is. */
struct source_memory {
    struct source source;
    const uint8_t *at;
};
struct source_memory source_of(const void *data);
/* Where its next bytes lie; NULL: it is not memory. */
const uint8_t *source_data(struct source *s);

/* Take bytes, and add each to the hashers (either may be NULL) while it is still in the cache. */
void source_take_all(
    struct hasher *a, struct hasher *b, void *dst, struct source *from, size_t bytes);

#endif
