/* Reading a tensor: what a look at its bytes, and at more than dtype and shape, refuses. */
#include <string.h>

#include "ground.h"

static const struct cairn_reader *model_of(struct cairn_record *r)
{
    const struct cairn_reader *reader = NULL;
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &reader), 0);
    return reader;
}

/* ---- bools ---- */

/* A loaded record with two tensors in chunks, of bytes that are 0 and 1, and not bools yet. */
static struct cairn_record *loaded_bytes(struct ground *g, uint64_t bytes)
{
    ground_up(g);
    ground_fill_chunks(g, 2, bytes);
    for (size_t i = 0; i < 2; i++) {
        struct tensor *t = g->job.model.tensors[i];
        memset(t->data, 1, t->bytes);
        t->data[0] = 0;
    }
    g->job.model.tensors[1]->data[bytes - 3] = 2;
    return ground_loaded(g, 0);
}

/* As if another client had said so when it wrote them. */
static void recorded_as_bools(struct ground *g, struct cairn_record *r)
{
    for (size_t i = 0; i < 2; i++) {
        struct tensor *t = g->job.model.tensors[i];
        ground_entry(r, COMPONENT_MODEL, t->path, t->entry.id)->dtype = CAIRN_BOOL;
        t->entry.dtype = CAIRN_BOOL;
    }
}

static void bools_are_refused(uint64_t bytes, const char *words)
{
    struct ground g;
    struct cairn_record *r = loaded_bytes(&g, bytes);
    struct tensor *const *t = g.job.model.tensors;
    cr_assert_eq(cairn_get(model_of(r), &t[1]->entry, t[1]->data), 0, "as U8 any byte is legal");
    recorded_as_bools(&g, r);
    cr_assert_eq(cairn_get(model_of(r), &t[0]->entry, t[0]->data), 0, "%s", cairn_error(g.c));
    cr_assert_eq(cairn_get(model_of(r), &t[1]->entry, NULL), 0, "only a look");
    cr_assert_eq(cairn_get(model_of(r), &t[1]->entry, t[1]->data), -CAIRN_ECORRUPT);
    cr_assert_not_null(strstr(cairn_error(g.c), words), "%s", cairn_error(g.c));
    cr_assert_not_null(strstr(cairn_error(g.c), "model 'layer.001'"), "%s", cairn_error(g.c));
    cr_assert_eq(cairn_restore(g.c, r, &g.job.t), -CAIRN_ECORRUPT, "%s", cairn_error(g.c));
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(get, F12_E11_a_bool_in_a_chunk_that_is_neither_0_nor_1_is_corrupt)
{
    bools_are_refused(100000, "element 99997 of a bool tensor is 2");
}

CASE(get, F12_E11_a_bool_in_the_last_of_several_chunks_too)
{
    bools_are_refused(9000001, "element 8999998 of a bool tensor is 2");
}

/* ---- schemes ---- */

static const uint64_t shape[] = { 4, 64 };
static const struct cairn_quant blocks = { .value = CAIRN_Q8S,
                                           .store = CAIRN_QUANT_PACKED_U32,
                                           .mode = CAIRN_QUANT_SYMMETRIC,
                                           .block_dtype = CAIRN_F16,
                                           .block_rank = 2,
                                           .block = { 2, 32 } };

#define SCHEMES ((size_t)8)

/* Of the same bytes each, but for the last one. */
static void other_schemes(struct cairn_quant q[SCHEMES])
{
    for (size_t i = 0; i < SCHEMES; i++) {
        q[i] = blocks;
    }
    q[0].value = CAIRN_Q8F;
    q[1].store = CAIRN_QUANT_NATIVE;
    q[2].packed_dim = 1;
    q[3].mode = CAIRN_QUANT_LOOKUP;
    q[4].block_dtype = CAIRN_BF16;
    q[5].block[0] = 4;
    q[5].block[1] = 16;
    q[6].block_rank = 1;
    q[6].block[0] = 64;
    q[6].block[1] = 0;
    q[7].block[1] = 16;
}

static struct cairn_record *loaded_quant(struct ground *g)
{
    ground_up(g);
    (void)box_add_quant(&g->job.model, "q", &blocks, 2, shape);
    return ground_loaded(g, 0);
}

CASE(get, D5_N5_of_another_scheme_is_refused_and_both_are_told)
{
    struct ground g;
    struct cairn_quant q[SCHEMES];
    uint8_t dst[4 * 64 + 8];
    uint8_t before[sizeof dst];
    struct cairn_record *r = loaded_quant(&g);
    struct cairn_entry want = g.job.model.tensors[0]->entry;
    other_schemes(q);
    memset(dst, 7, sizeof dst);
    memcpy(before, dst, sizeof dst);
    for (size_t i = 0; i < SCHEMES; i++) {
        char text[CAIRN_QUANT_TEXT_BYTES];
        want.quant = &q[i];
        want.bytes = 0;
        cr_assert_eq(cairn_quant_text(&q[i], text, sizeof text), 0);
        cr_assert_eq(cairn_get(model_of(r), &want, NULL), -CAIRN_EMISMATCH, "%zu", i);
        cr_assert_eq(cairn_get(model_of(r), &want, dst), -CAIRN_EMISMATCH, "%zu", i);
        cr_assert(same_bits(dst, before, sizeof dst), "%zu: it was read", i);
        cr_assert_not_null(strstr(cairn_error(g.c), text), "%s", cairn_error(g.c));
        cr_assert_not_null(
            strstr(cairn_error(g.c), "model 'q': recorded QFLOAT"), "%s", cairn_error(g.c));
    }
    want.quant = &blocks;
    cr_assert_eq(cairn_get(model_of(r), &want, dst), 0, "%s", cairn_error(g.c));
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(get, D5_one_scheme_may_be_written_in_two_ways)
{
    struct ground g;
    struct cairn_quant same = blocks;
    struct cairn_record *r = loaded_quant(&g);
    struct cairn_entry want = g.job.model.tensors[0]->entry;
    same.block_rank = 3;
    memcpy(same.block, (const uint8_t[]){ 1, 2, 32 }, 3);
    want.quant = &same;
    cr_assert_eq(cairn_get(model_of(r), &want, NULL), 0, "%s", cairn_error(g.c));
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* A trainer that does not look beforehand finds out when it reads. */
CASE(get, D5_R34_a_restore_without_fit_refuses_another_scheme)
{
    struct ground g;
    struct cairn_quant q[SCHEMES];
    struct cairn_record *r = loaded_quant(&g);
    other_schemes(q);
    for (size_t i = 0; i < SCHEMES * 2; i++) {
        struct job other;
        job_like(&other, &g.job);
        other.model.tensors[0]->entry.quant = &q[i / 2];
        other.model.tensors[0]->entry.bytes = 0;
        if (i % 2 == 0) {
            other.t.model.fit = NULL;
        }
        cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_EMISMATCH, "%zu", i);
        cr_assert_not_null(strstr(cairn_error(g.c), "'q'"), "%s", cairn_error(g.c));
        job_fini(&other);
    }
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(get, D5_opaque_elements_have_their_width)
{
    struct ground g;
    ground_up(&g);
    struct cairn_entry e = {
        .path = "o", .dtype = CAIRN_OPAQUE, .rank = 2, .shape = shape, .element_bits = 8
    };
    (void)box_add_raw(&g.job.model, &e, sizeof(uint8_t[4][64]));
    struct cairn_record *r = ground_loaded(&g, 0);
    e.bytes = sizeof(uint8_t[4][64]);
    cr_assert_eq(cairn_get(model_of(r), &e, NULL), 0, "%s", cairn_error(g.c));
    e.element_bits = 0;
    cr_assert_eq(cairn_get(model_of(r), &e, NULL), -CAIRN_EMISMATCH);
    e.element_bits = 7;
    e.bytes = 0;
    cr_assert_eq(cairn_get(model_of(r), &e, NULL), -CAIRN_EMISMATCH);
    (void)cairn_record_free(r);
    ground_down(&g);
}
