/* hash.c: XXH3 with what the compiler takes for granted, and the choice of more. */
#define HASH_SET hash_plain
#define HASH_NAME "plain"
#define HASH_USABLE true
#include <stdlib.h>

#include "record/hash_body.h"

extern const struct hash_set hash_plain;
#ifdef HASH_HAS_WIDE
extern const struct hash_set hash_avx2;
extern const struct hash_set hash_avx512;
#endif

const struct hash_set *const hash_sets[] = {
    &hash_plain,
#ifdef HASH_HAS_WIDE
    &hash_avx2,
    &hash_avx512,
#endif
};
const size_t hash_set_count = sizeof hash_sets / sizeof hash_sets[0];

/* Asked each time: that is a look at a word or two, and no thread has to set anything up before. */
static const struct hash_set *hash_widest(void)
{
    const struct hash_set *widest = &hash_plain;
    for (size_t i = 1; i < sizeof hash_sets / sizeof hash_sets[0]; i++) {
        widest = hash_sets[i]->usable() ? hash_sets[i] : widest;
    }
    return widest;
}

static XXH3_state_t *hash_state(struct hasher *h)
{
    return (XXH3_state_t *)(void *)h->state;
}

static const XXH3_state_t *hash_const_state(const struct hasher *h)
{
    return (const XXH3_state_t *)(const void *)h->state;
}

struct hasher *hasher_new(void)
{
    return aligned_alloc(alignof(struct hasher), sizeof(struct hasher));
}

struct hasher *hasher_free(struct hasher *h)
{
    free(h);
    return NULL;
}

void hasher_start(struct hasher *h)
{
    XXH3_INITSTATE(hash_state(h));
    (void)XXH3_128bits_reset(hash_state(h));
}

void hasher_add(struct hasher *h, const void *data, size_t bytes)
{
    if (bytes > 0) {
        hash_widest()->add(h->state, data, bytes);
    }
}

/* What is left to the end fits the buffer of the state: no width to choose. */
struct digest hasher_end(const struct hasher *h)
{
    return body_digest(XXH3_128bits_digest(hash_const_state(h)));
}

uint64_t hasher_end_64(const struct hasher *h)
{
    return XXH3_64bits_digest(hash_const_state(h));
}

struct digest digest_bytes(const void *data, size_t bytes)
{
    return hash_widest()->whole(bytes == 0 ? "" : data, bytes);
}
