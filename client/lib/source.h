/* source.h: where the bytes of a tensor come from, and the copy that hashes them, and counts NaN
 * and Inf, on its way. */
#ifndef LIB_SOURCE_H
#define LIB_SOURCE_H

#include "record/hash.h"

/* Source and copy of a block stay in the first-level cache, or nearly: measured with 512-bit
 * vectors and F32, copy and hash of 16 and 32 KiB are 1.07 to 1.14 times a memcpy, 256 KiB 1.2
 * times, 8 KiB 1.3 times; with the look for NaN and Inf, which comes last, 16 KiB are 1.20 times,
 * 32 KiB 1.24 times. */
#define SOURCE_BLOCK_BYTES (16u << 10)

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

/* What looks at bytes while they are in the cache. */
struct source_look {
    struct hasher *a, *b; /* either may be NULL */
    uint32_t dtype;       /* of the tensor that they are of; 0: none, or nothing is counted */
    struct nonfinite *count;
};

/* Take bytes, and look at each block of them right behind the copy. */
void source_take_all(const struct source_look *look, void *dst, struct source *from, size_t bytes);
/* Look at bytes that are where they belong already. */
void source_look_all(const struct source_look *look, const void *data, size_t bytes);

#endif
