#include <stdlib.h>

#include "internal/ckd.h"
#include "record/layout.h"
#include "support/case.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)

struct place {
    uint32_t first, offset;
    uint64_t region;
};

static struct place layout_put(struct layout *l, uint64_t bytes, bool trainable)
{
    struct place p = { 0 };
    struct err err = { 0 };
    int rc = layout_place(l, bytes, trainable, &p.first, &p.offset, &p.region, &err);
    cr_assert_eq(rc, 0, "%s", err.msg);
    return p;
}

static struct chunk layout_chunk(struct layout *l, uint32_t index)
{
    return layout_chunk_at(l, index)->chunk;
}

CASE(layout, packs_small_ones)
{
    struct layout *l = layout_new();
    bool is_inline = true;
    layout_begin(l, COMPONENT_MODEL);
    struct place a = layout_put(l, 100000, true);
    struct place b = layout_put(l, 1, true);
    struct place c = layout_put(l, 64, true);
    struct place d = layout_put(l, 4 * MIB - 1, true);
    layout_end(l, &is_inline);
    cr_assert_not(is_inline);
    cr_assert(a.first == 0 && a.offset == 0 && a.region == 0);
    cr_assert(b.first == 0 && b.offset == 100032 && b.region == 100032); /* next multiple of 64 */
    cr_assert(c.first == 0 && c.offset == 100096);
    cr_assert(d.first == 0 && d.offset == 100160);
    cr_assert_eq(layout_chunk_count(l), 1);
    struct chunk chunk = layout_chunk(l, 0);
    cr_assert_eq(chunk.component, COMPONENT_MODEL);
    cr_assert_eq(chunk.flags, CHUNK_PACKED | CHUNK_TRAINABLE);
    cr_assert_eq(chunk.bytes, 100160 + 4 * MIB - 1); /* to the last byte, no padding */
    cr_assert_eq(layout_stored_bytes(l), round_up_u64(chunk.bytes, 4096));
    (void)layout_free(l);
}

CASE(layout, own_chunks)
{
    struct layout *l = layout_new();
    bool is_inline = true;
    layout_begin(l, COMPONENT_OPTIMIZER);
    struct place a = layout_put(l, 4 * MIB, false);     /* exactly the limit: its own */
    struct place b = layout_put(l, 8 * MIB, false);     /* exactly one */
    struct place c = layout_put(l, 8 * MIB + 1, false); /* two */
    struct place d = layout_put(l, 20 * MIB + 5, true);
    layout_end(l, &is_inline);
    cr_assert_not(is_inline);
    cr_assert_eq(layout_chunk_count(l), 1 + 1 + 2 + 3);
    cr_assert(a.first == 0 && b.first == 1 && c.first == 2 && d.first == 4);
    cr_assert(a.offset == 0 && b.offset == 0 && c.offset == 0 && d.offset == 0);
    cr_assert_eq(layout_chunk(l, 2).bytes, 8 * MIB);
    cr_assert_eq(layout_chunk(l, 3).bytes, 1);
    cr_assert_eq(layout_chunk(l, 6).bytes, 4 * MIB + 5);
    cr_assert_eq(layout_chunk(l, 0).flags, 0);
    cr_assert_eq(layout_chunk(l, 6).flags, CHUNK_TRAINABLE);
    /* A tensor is contiguous in the region, and the next one starts on a page. */
    cr_assert_eq(b.region, 4 * MIB);
    cr_assert_eq(c.region, 12 * MIB);
    cr_assert_eq(layout_chunk_at(l, 3)->region_offset, 20 * MIB);
    cr_assert_eq(d.region, 20 * MIB + 4 * KIB);
    cr_assert_eq(layout_region_bytes(l), 40 * MIB + 8 * KIB);
    cr_assert_eq(layout_stored_bytes(l), layout_region_bytes(l));
    (void)layout_free(l);
}

CASE(layout, trainable_and_frozen_share_nothing)
{
    struct layout *l = layout_new();
    bool is_inline = true;
    layout_begin(l, COMPONENT_MODEL);
    struct place a = layout_put(l, 100 * KIB, true);
    struct place b = layout_put(l, 200 * KIB, false);
    struct place c = layout_put(l, 100 * KIB, true);
    struct place d = layout_put(l, 200 * KIB, false);
    layout_end(l, &is_inline);
    cr_assert(a.first == 0 && b.first == 1 && c.first == 0 && d.first == 1);
    cr_assert(c.offset == 100 * KIB && d.offset == 200 * KIB);
    cr_assert_eq(layout_chunk(l, 0).flags, CHUNK_PACKED | CHUNK_TRAINABLE);
    cr_assert_eq(layout_chunk(l, 1).flags, CHUNK_PACKED);
    cr_assert_eq(b.region, 8 * MIB); /* the open chunk before it has its whole room */
    cr_assert_eq(layout_stored_bytes(l), 600 * KIB);
    (void)layout_free(l);
}

CASE(layout, components_share_nothing)
{
    struct layout *l = layout_new();
    bool is_inline = true;
    layout_begin(l, COMPONENT_GRADIENTS);
    struct place a = layout_put(l, 100 * KIB, false);
    layout_end(l, &is_inline);
    layout_begin(l, COMPONENT_MODEL);
    struct place b = layout_put(l, 100 * KIB, false);
    layout_end(l, &is_inline);
    cr_assert(a.first == 0 && b.first == 1);
    cr_assert_eq(layout_chunk(l, 1).component, COMPONENT_MODEL);
    cr_assert_eq(b.region, 100 * KIB); /* what the closed chunk did not use was given back */
    (void)layout_free(l);
}

CASE(layout, a_full_chunk_is_closed)
{
    struct layout *l = layout_new();
    bool is_inline = true;
    layout_begin(l, COMPONENT_MODEL);
    struct place a = layout_put(l, 4 * MIB - 64, false);
    struct place b = layout_put(l, 4 * MIB - 64, false);
    struct place fits = layout_put(l, 128, false); /* to the last byte */
    struct place next = layout_put(l, 1, false);
    layout_end(l, &is_inline);
    cr_assert(a.first == 0 && b.first == 0 && fits.first == 0 && next.first == 1);
    cr_assert_eq(layout_chunk(l, 0).bytes, 8 * MIB);
    cr_assert_eq(layout_chunk(l, 1).bytes, 1);
    cr_assert_eq(next.region, 8 * MIB);
    (void)layout_free(l);
}

CASE(layout, small_components_are_inline)
{
    struct layout *l = layout_new();
    bool is_inline = false;
    layout_begin(l, COMPONENT_STATE);
    layout_end(l, &is_inline);
    cr_assert(is_inline); /* an empty one too */
    layout_begin(l, COMPONENT_MODEL);
    (void)layout_put(l, 100 * KIB, true);
    layout_end(l, &is_inline);
    cr_assert_not(is_inline);
    layout_begin(l, COMPONENT_OPTIMIZER);
    for (int i = 0; i < 64; i++) {
        struct place p = layout_put(l, KIB, i % 2 == 0);
        cr_assert_geq(p.region, 100 * KIB);
    }
    layout_end(l, &is_inline);
    cr_assert(is_inline); /* the sum is exactly 64 KiB */
    cr_assert_eq(layout_chunk_count(l), 1);
    cr_assert_eq(layout_stored_bytes(l), 100 * KIB);
    layout_begin(l, COMPONENT_SCHEDULER);
    (void)layout_put(l, 64 * KIB, true);
    (void)layout_put(l, 1, true);
    layout_end(l, &is_inline);
    cr_assert_not(is_inline); /* one byte more */
    cr_assert_eq(layout_chunk_count(l), 2);
    (void)layout_free(l);
}

CASE(layout, reset_starts_again)
{
    struct layout *l = layout_new();
    bool is_inline = true;
    for (int round = 0; round < 2; round++) {
        layout_begin(l, COMPONENT_MODEL);
        struct place p = layout_put(l, 900 * KIB, true);
        layout_end(l, &is_inline);
        cr_assert(p.first == 0 && p.region == 0);
        cr_assert_eq(layout_chunk_count(l), 1);
        layout_reset(l);
        cr_assert_eq(layout_chunk_count(l), 0);
        cr_assert_eq(layout_region_bytes(l), 0);
    }
    (void)layout_free(l);
    cr_assert_null(layout_free(NULL));
}

CASE(layout, limit_of_chunks)
{
    struct layout *l = layout_new();
    struct place p;
    struct err err = { 0 };
    layout_begin(l, COMPONENT_MODEL);
    (void)layout_put(l, (LIMIT_CHUNKS - 1) * (8 * MIB), true);
    (void)layout_put(l, 1, true);
    int rc = layout_place(l, 8 * MIB, true, &p.first, &p.offset, &p.region, &err);
    cr_assert_eq(rc, -CAIRN_ELIMIT);
    cr_assert_not_null(strstr(err.msg, "chunks"));
    rc = layout_place(l, UINT64_MAX, true, &p.first, &p.offset, &p.region, &err);
    cr_assert_eq(rc, -CAIRN_ELIMIT);
    (void)layout_put(l, 1, true); /* what still fits, fits */
    cr_assert_eq(layout_chunk_count(l), LIMIT_CHUNKS);
    (void)layout_free(l);
}

/* Whatever is put, in whatever order: chunks are disjoint, start on pages, hold what they say, and
 * the region is as large as what lies in it. */
CASE(layout, random_sequences_keep_the_rules)
{
    unsigned seed = 20240611;
    for (unsigned round = 0; round < 50; round++, seed++) {
        struct layout *l = layout_new();
        unsigned state = seed;
        uint64_t least = 0;
        for (int c = COMPONENT_MODEL; c < COMPONENT_NR; c++) {
            bool is_inline = true;
            layout_begin(l, (enum component)c);
            for (int n = rand_r(&state) % 20; n > 0; n--) {
                uint64_t bytes =
                    1 + ((uint64_t)rand_r(&state) >> (rand_r(&state) % 28)) % (20 * MIB);
                struct place p = layout_put(l, bytes, rand_r(&state) % 2 == 0);
                const struct layout_chunk *at = layout_chunk_at(l, p.first);
                cr_assert_eq(p.region, at->region_offset + p.offset, "seed %u", seed);
                cr_assert_eq(p.offset % 64, 0, "seed %u", seed);
                cr_assert_leq(p.region + bytes, layout_region_bytes(l), "seed %u", seed);
            }
            layout_end(l, &is_inline);
        }
        uint64_t end = 0;
        for (uint32_t i = 0; i < layout_chunk_count(l); i++) {
            const struct layout_chunk *at = layout_chunk_at(l, i);
            cr_assert_eq(at->region_offset % 4096, 0, "seed %u", seed);
            cr_assert_geq(at->region_offset, end, "seed %u chunk %u", seed, i);
            cr_assert(at->chunk.bytes >= 1 && at->chunk.bytes <= 8 * MIB, "seed %u", seed);
            end = at->region_offset + round_up_u64(at->chunk.bytes, 4096);
            least += round_up_u64(at->chunk.bytes, 4096);
        }
        cr_assert_leq(end, layout_region_bytes(l), "seed %u", seed);
        cr_assert_eq(least, layout_stored_bytes(l), "seed %u", seed);
        (void)layout_free(l);
    }
}
