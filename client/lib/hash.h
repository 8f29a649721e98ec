/* hash.h: XXH3-128 over bytes that come in pieces, and the copy that hashes on its way. */
#ifndef LIB_HASH_H
#define LIB_HASH_H

#include "record/record.h"

struct hasher;

struct hasher *hasher_new(void); /* NULL: no memory */
struct hasher *hasher_free(struct hasher *h);
void hasher_start(struct hasher *h);
void hasher_add(struct hasher *h, const void *data, size_t bytes);
struct digest hasher_end(const struct hasher *h);

/* Copy, and add every byte to the hashers (either may be NULL) while it is still in the cache. */
void hasher_copy(struct hasher *a, struct hasher *b, void *dst, const void *src, size_t bytes);

#endif
