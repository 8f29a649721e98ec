/* hash.h: XXH3 of bytes, whole or in pieces. The one place of library and daemon that sees
 * xxHash, and where the widest vectors that this processor has are chosen: at 128 bits the hash is
 * half as fast as memory, from 256 on it is faster. The value is the same in all of them. */
#ifndef RECORD_HASH_H
#define RECORD_HASH_H

#include <stdalign.h>
#include <stdbool.h>

#include "record/record.h"

/* A hash that is under way; no memory of its own. */
struct hasher {
    alignas(64) uint8_t state[640];
};

struct hasher *hasher_new(void); /* one on the heap, aligned; NULL: no memory */
struct hasher *hasher_free(struct hasher *h);
void hasher_start(struct hasher *h);
void hasher_add(struct hasher *h, const void *data, size_t bytes); /* NULL if bytes is 0 */
/* XXH3-128 of all that was added. */
struct digest hasher_end(const struct hasher *h);
/* XXH3-64 of the same. */
uint64_t hasher_end_64(const struct hasher *h);

/* XXH3-128 of one piece. */
struct digest digest_bytes(const void *data, size_t bytes);

/* For tests: each set of instructions that this build knows, from the narrowest on. */
struct hash_set {
    const char *name;
    bool (*usable)(void); /* on this processor */
    void (*add)(void *state, const void *data, size_t bytes);
    struct digest (*whole)(const void *data, size_t bytes);
};
extern const struct hash_set *const hash_sets[];
extern const size_t hash_set_count;

#endif
