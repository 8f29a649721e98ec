/* A parameter under several paths is stored once, and comes back under each (E18). */
#include <stdio.h>
#include <string.h>

#include "ground.h"

enum { BOTH = CAIRN_HAS_ID | CAIRN_TRAINABLE };

static uint64_t stored(struct fake *f)
{
    const struct fake_boundary *b = f->boundaries[f->count - 1];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < b->chunk_count; i++) {
        bytes += b->chunk_bytes[i];
    }
    return bytes;
}

/* Two tied ones with others between them, of every way to lie in a record. */
CASE(tied, E18_are_stored_once_and_restored_tied)
{
    static const uint64_t sizes[] = { 100, 100000, (4u << 20), (17u << 20) + 5 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint64_t other[] = { 70000 };
        struct ground g;
        ground_up(&g);
        (void)BOX_ADD(&g.job.model, "embedding", 5, BOTH, CAIRN_U8, 1, &sizes[i], 1);
        (void)BOX_ADD(&g.job.model, "block", 6, BOTH, CAIRN_U8, 1, other, 2);
        (void)BOX_ADD(&g.job.model, "a head", 5, BOTH, CAIRN_U8, 1, &sizes[i], 1);
        (void)BOX_ADD(&g.job.model, "frozen", 5, CAIRN_HAS_ID, CAIRN_U8, 1, other, 3);
        cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "%s", cairn_error(g.c));
        cr_assert_lt(stored(&g.fake), sizes[i] + UINT64_C(210000), "%zu", i);
        cr_assert_geq(stored(&g.fake), sizes[i] + UINT64_C(140000));
        ground_check_newest(&g);
        ground_down(&g);
    }
}

CASE(tied, E18_of_a_small_model_each_has_its_value)
{
    static const uint64_t four[] = { 4 };
    struct ground g;
    ground_up(&g);
    (void)BOX_ADD(&g.job.model, "a", 5, BOTH, CAIRN_U8, 1, four, 1);
    (void)BOX_ADD(&g.job.model, "b", 5, BOTH, CAIRN_U8, 1, four, 1);
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "%s", cairn_error(g.c));
    ground_check_newest(&g);
    ground_down(&g);
}

/* Found among many, whatever their ids; and each tie refused when one byte differs. */
CASE(tied, E18_are_found_among_many_and_compared_to_the_last_byte)
{
    static const uint64_t sizes[] = { 300 };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    for (uint64_t i = 0; i < 2000; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "%llu", (unsigned long long)i);
        uint64_t id = i % 1000 * 0x100000000u + (i % 2 == 0 ? 0 : UINT64_MAX / 2);
        (void)BOX_ADD(&g.job.model, path, id, BOTH, CAIRN_U8, 1, sizes, i % 1000);
    }
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "%s", cairn_error(g.c));
    cr_assert_lt(stored(&g.fake), UINT64_C(330000));
    ground_check_newest(&g);
    g.job.model.tensors[1777]->data[299] ^= 0x80;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    cr_assert_not_null(
        strstr(cairn_error(g.c), "'777' and '1777' are one parameter"), "%s", cairn_error(g.c));
    cr_assert_null(r);
    ground_down(&g);
}

CASE(tied, E18_with_chunks_of_their_own_are_compared_to_the_last_byte)
{
    static const uint64_t bytes = (9u << 20) + 1;
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    (void)BOX_ADD(&g.job.model, "a", 5, BOTH, CAIRN_U8, 1, &bytes, 1);
    (void)BOX_ADD(&g.job.model, "b", 5, BOTH, CAIRN_U8, 1, &bytes, 1);
    g.job.model.tensors[1]->data[bytes - 1] ^= 1;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    cr_assert_not_null(strstr(cairn_error(g.c), "values"), "%s", cairn_error(g.c));
    ground_down(&g);
}

/* A slot has a place of its own: it is only known later what will be in it. */
CASE(tied, E18_by_slot_each_has_a_place_and_they_are_compared)
{
    static const uint64_t bytes = 100000;
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    (void)BOX_ADD(&g.job.model, "a", 5, BOTH, CAIRN_U8, 1, &bytes, 1);
    struct tensor *b = BOX_ADD(&g.job.model, "b", 5, BOTH, CAIRN_U8, 1, &bytes, 1);
    b->by_slot = true;
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "%s", cairn_error(g.c));
    ground_check_newest(&g);
    b->data[5] ^= 1;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    cr_assert_not_null(strstr(cairn_error(g.c), "values"), "%s", cairn_error(g.c));
    ground_down(&g);
}

CASE(tied, E18_stay_one_in_another_precision)
{
    static const uint64_t count = 3u << 20;
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_boundary b;
    const struct cairn_reader *model = NULL;
    struct cairn_save_args args = { .step = 1, .precision = CAIRN_FULL };
    ground_up(&g);
    (void)BOX_ADD(&g.job.model, "a", 5, BOTH, CAIRN_I8, 1, &count, 1);
    (void)BOX_ADD(&g.job.model, "b", 5, BOTH, CAIRN_I8, 1, &count, 1);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
    cr_assert_eq(cairn_save(g.c, &r, &args, &b), 0, "%s", cairn_error(g.c));
    cr_assert_eq(b.payload_bytes, 8 * count + UINT64_C(40), "each counts");
    cr_assert_eq(stored(&g.fake), 4 * count, "one is stored");
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &model), 0);
    int32_t *wide = calloc(2 * count, sizeof *wide);
    for (size_t i = 0; i < 2; i++) {
        struct cairn_entry want = g.job.model.tensors[i]->entry;
        want.dtype = CAIRN_I32;
        cr_assert_eq(cairn_get(model, &want, wide + i * count), 0, "%s", cairn_error(g.c));
    }
    cr_assert(same_bits(wide, wide + count, 4 * count));
    cr_assert_eq(wide[count - 1], (int8_t)g.job.model.tensors[0]->data[count - 1]);
    free(wide);
    (void)cairn_record_free(r);
    ground_down(&g);
}
