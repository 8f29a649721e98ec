/* hash_body.h: XXH3 for one set of instructions. A file that is compiled for that set says
 * HASH_SET (the name of its row) and HASH_USABLE (what to ask the processor), and includes this.
 * There is no guard: each of them gets its own copy of all of it. */
#define XXH_INLINE_ALL
#include <assert.h>
#include <string.h>
#include <xxhash.h>

#include "record/hash.h"

static_assert(sizeof(XXH3_state_t) <= sizeof(struct hasher), "a hasher holds the state");
static_assert(alignof(struct hasher) >= alignof(XXH3_state_t), "and holds it aligned");
static_assert(sizeof(XXH128_canonical_t) == sizeof(struct digest), "a digest is canonical");

static bool body_usable(void)
{
    return HASH_USABLE;
}

static struct digest body_digest(XXH128_hash_t hash)
{
    XXH128_canonical_t canonical;
    struct digest ret;
    XXH128_canonicalFromHash(&canonical, hash);
    memcpy(ret.byte, canonical.digest, sizeof ret.byte);
    return ret;
}

static void body_add(void *state, const void *data, size_t bytes)
{
    (void)XXH3_128bits_update(state, data, bytes);
}

static struct digest body_whole(const void *data, size_t bytes)
{
    return body_digest(XXH3_128bits(data, bytes));
}

const struct hash_set HASH_SET = {
    .name = HASH_NAME,
    .usable = body_usable,
    .add = body_add,
    .whole = body_whole,
};
