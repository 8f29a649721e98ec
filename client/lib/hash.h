/* hash.h: XXH3-128 over bytes that come in pieces, and the copy that hashes on its way. */
#ifndef LIB_HASH_H
#define LIB_HASH_H

#include "record/record.h"

/* Half a typical L2: larger blocks leave the cache before they are hashed. */
#define HASH_BLOCK_BYTES (256u << 10)

struct hasher;

struct hasher *hasher_new(void); /* NULL: no memory */
struct hasher *hasher_free(struct hasher *h);
void hasher_start(struct hasher *h);
void hasher_add(struct hasher *h, const void *data, size_t bytes);
struct digest hasher_end(const struct hasher *h);

/* Where the bytes of a tensor come from, piece by piece. All pieces but the last are multiples of
 * 64 bytes. */
struct source {
    void (*take)(struct source *s, void *dst, size_t bytes); /* the next ones, to dst */
};

/* Memory, as it is. */
struct source_memory {
    struct source source;
    const uint8_t *at;
};
struct source_memory source_of(const void *data);

/* Take bytes, and add each to the hashers (either may be NULL) while it is still in the cache. */
void hasher_take(struct hasher *a, struct hasher *b, void *dst, struct source *from, size_t bytes);

#endif
