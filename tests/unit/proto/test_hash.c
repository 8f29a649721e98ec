/* The hash is the same with whatever vectors, and in whatever pieces. */
#include <stdlib.h>
#include <string.h>

#include "record/digest.h"
#include "record/hash.h"
#include "support/case.h"

#define DATA_BYTES 70001u

/* Lengths around the steps of XXH3: 16, 128, 240, a block of 1024, its buffer of 256. */
static const size_t lengths[] = { 0,    1,    3,     4,     8,     9,     16,
                                  17,   128,  129,   240,   241,   255,   256,
                                  257,  512,  1023,  1024,  1025,  2048,  2049,
                                  4096, 4097, 32768, 65535, 65536, 70000, DATA_BYTES };

static uint8_t *data_new(void)
{
    uint8_t *data = malloc(DATA_BYTES);
    cr_assert_not_null(data);
    uint32_t x = 1;
    for (size_t i = 0; i < DATA_BYTES; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (uint8_t)(x >> 24);
    }
    return data;
}

static struct digest hash_pieces(const struct hash_set *set, const uint8_t *at, size_t bytes)
{
    struct hasher *h = hasher_new();
    cr_assert_not_null(h);
    hasher_start(h);
    for (size_t piece = 1; bytes > 0; piece = piece * 3 + 1) {
        size_t now = piece < bytes ? piece : bytes;
        set->add(h->state, at, now);
        at += now;
        bytes -= now;
    }
    struct digest ret = hasher_end(h);
    (void)hasher_free(h);
    return ret;
}

/* As the base says, at each length and at an address that no vector likes. */
static void hash_check(const struct hash_set *set, const uint8_t *data)
{
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        size_t bytes = lengths[i];
        size_t from = DATA_BYTES - bytes;
        struct digest want = hash_sets[0]->whole(data + from, bytes);
        struct digest whole = set->whole(data + from, bytes);
        struct digest pieces = hash_pieces(set, data + from, bytes);
        cr_assert(digest_equal(&want, &whole), "%s: %zu bytes", set->name, bytes);
        cr_assert(digest_equal(&want, &pieces), "%s: %zu bytes in pieces", set->name, bytes);
    }
}

CASE(hash, is_the_same_with_all_vectors)
{
    uint8_t *data = data_new();
    cr_assert(hash_sets[0]->usable());
    for (size_t i = 0; i < hash_set_count; i++) {
        if (hash_sets[i]->usable()) {
            hash_check(hash_sets[i], data);
        }
    }
    free(data);
}

/* A state is begun with one set and ended with another: no set keeps anything beside it. */
CASE(hash, state_is_common)
{
    uint8_t *data = data_new();
    struct hasher h;
    hasher_start(&h);
    for (size_t i = 0, set = 0; i < DATA_BYTES; i += 997, set = (set + 1) % hash_set_count) {
        size_t bytes = DATA_BYTES - i < 997 ? DATA_BYTES - i : 997;
        hash_sets[hash_sets[set]->usable() ? set : 0]->add(h.state, data + i, bytes);
    }
    struct digest mixed = hasher_end(&h);
    struct digest whole = digest_bytes(data, DATA_BYTES);
    cr_assert(digest_equal(&mixed, &whole));
    free(data);
}
