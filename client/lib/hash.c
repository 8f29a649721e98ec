/* hash.c: XXH3-128 in pieces. The one place of the library that sees xxHash. */
#define XXH_INLINE_ALL
#include "lib/hash.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#include "internal/container.h"

static_assert(sizeof(XXH128_canonical_t) == sizeof(struct digest),
              "a digest is the canonical form");

static XXH3_state_t *hash_state(struct hasher *h)
{
    return (XXH3_state_t *)(void *)h;
}

static const XXH3_state_t *hash_const_state(const struct hasher *h)
{
    return (const XXH3_state_t *)(const void *)h;
}

struct hasher *hasher_new(void)
{
    return (struct hasher *)(void *)XXH3_createState();
}

struct hasher *hasher_free(struct hasher *h)
{
    (void)XXH3_freeState(hash_state(h));
    return NULL;
}

void hasher_start(struct hasher *h)
{
    (void)XXH3_128bits_reset(hash_state(h));
}

void hasher_add(struct hasher *h, const void *data, size_t bytes)
{
    (void)XXH3_128bits_update(hash_state(h), data, bytes);
}

struct digest hasher_end(const struct hasher *h)
{
    struct digest ret;
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(hash_const_state(h)));
    memcpy(&ret, &canonical, sizeof ret);
    return ret;
}

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

void hasher_take(struct hasher *a, struct hasher *b, void *dst, struct source *from, size_t bytes)
{
    uint8_t *to = dst;
    while (bytes > 0) {
        size_t block = bytes < HASH_BLOCK_BYTES ? bytes : HASH_BLOCK_BYTES;
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
