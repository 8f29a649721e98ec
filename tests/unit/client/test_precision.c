/* Saving in another precision: what is converted, what is not, what is refused. */
#include <string.h>

#include "ground.h"

static const uint64_t four[] = { 4 };

static int save_in(struct ground *g,
                   struct cairn_record **r,
                   uint32_t precision,
                   bool lossy,
                   struct cairn_boundary *ret)
{
    struct cairn_save_args args = { .step = 1, .precision = precision, .lossy_ok = lossy };
    return cairn_save(g->c, r, &args, ret);
}

static void put_bits(struct tensor *t, const void *bits)
{
    memcpy(t->data, bits, t->bytes);
}

static struct tensor *add(struct box *b, const char *path, uint32_t dtype, const void *bits)
{
    struct tensor *t = BOX_ADD(b, path, 0, 0, dtype, 1, four, 1);
    put_bits(t, bits);
    return t;
}

/* What a component of the newest boundary holds under a path, as raw bytes of this type. */
static void
read_as(struct ground *g, enum cairn_component_id id, const char *path, uint32_t dtype, void *dst)
{
    struct cairn_record *r = NULL;
    const struct cairn_reader *reader = NULL;
    struct cairn_entry want = { .path = path, .dtype = dtype, .rank = 1, .shape = four };
    cr_assert_eq(cairn_load(g->c, "latest", 0, &r), 0, "%s", cairn_error(g->c));
    cr_assert_eq(cairn_record_component(r, id, &reader), 0);
    cr_assert_eq(cairn_get(reader, &want, dst), 0, "%s", cairn_error(g->c));
    (void)cairn_record_free(r);
}

CASE(precision, R05_is_one_for_all_components_and_told_in_the_boundary)
{
    static const uint16_t bf16[] = { 0x3f80, 0xc000, 0x8000, 0x7f80 };
    static const uint32_t f32[] = { 0x3f800000, 0xc0000000, 0x80000000, 0x7f800000 };
    static const int8_t i8[] = { -128, 0, 1, 127 };
    static const int32_t i32[] = { -128, 0, 1, 127 };
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_boundary b;
    uint32_t got[4];
    ground_up(&g);
    struct box *boxes[] = {
        &g.job.model, &g.job.optimizer, &g.job.scheduler, &g.job.gradients, &g.job.state
    };
    g.job.t.foreign_gradients_ok = true;
    for (size_t i = 0; i < 5; i++) {
        (void)add(boxes[i], "float", CAIRN_BF16, bf16);
        (void)add(boxes[i], "int", CAIRN_I8, i8);
    }
    cr_assert_eq(ground_capture(&g, 0, &r), 0, "%s", cairn_error(g.c));
    cr_assert_eq(save_in(&g, &r, CAIRN_FULL, false, &b), 0, "%s", cairn_error(g.c));
    cr_assert(b.precision == CAIRN_FULL && b.exact);
    for (enum cairn_component_id id = CAIRN_MODEL; id <= CAIRN_STATE; id++) {
        read_as(&g, id, "float", CAIRN_F32, got);
        cr_assert(same_bits(got, f32, sizeof f32), "component %d", (int)id);
        read_as(&g, id, "int", CAIRN_I32, got);
        cr_assert(same_bits(got, i32, sizeof i32), "component %d", (int)id);
    }
    ground_down(&g);
}

CASE(precision, R05_leaves_bool_complex_quantized_opaque_and_scalars_alone)
{
    static const uint8_t bools[] = { 0, 1, 1, 0 };
    struct ground g;
    struct job other;
    struct cairn_record *r = NULL;
    ground_up(&g);
    (void)add(&g.job.model, "bool", CAIRN_BOOL, bools);
    (void)BOX_ADD(&g.job.model, "complex", 0, 0, CAIRN_C64, 1, four, 2);
    box_add_opaque(&g.job.model, "opaque", CAIRN_OPAQUE, 33);
    g.job.model.counter = UINT64_MAX;
    cr_assert_eq(ground_capture(&g, 0, &r), 0, "%s", cairn_error(g.c));
    cr_assert_eq(save_in(&g, &r, CAIRN_HALF, false, NULL), 0, "%s", cairn_error(g.c));
    job_like(&other, &g.job);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
    cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_null(job_differs(&g.job, &other));
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* Values that no narrower type has: converted they would be refused, or quietly others. In the
 * optimizer they are one behind the other by id, and far from the tensor that they belong to. */
CASE(precision, N5_R05_leaves_codebooks_scales_and_zero_points_alone)
{
    static const uint32_t f32[] = { 0x3f800001, 0x7f7fffff, 0x80000001, 0x3eaaaaab };
    static const int64_t i64[] = { INT64_MIN, -1, INT64_MAX, 3000000000 };
    static const uint32_t precisions[] = { CAIRN_FULL, CAIRN_HALF, CAIRN_DOUBLE };
    struct ground g;
    ground_up(&g);
    struct box *boxes[] = { &g.job.model, &g.job.optimizer, &g.job.state };
    for (size_t i = 0; i < 3; i++) {
        box_add_opaque(boxes[i], "w", CAIRN_QFLOAT, 40);
        (void)add(boxes[i], "w@codebook", CAIRN_F32, f32);
        (void)add(boxes[i], "w@scale", CAIRN_F32, f32);
        (void)add(boxes[i], "w@zero_point", CAIRN_I64, i64);
    }
    for (size_t i = 0; i < 3; i++) {
        struct cairn_record *r = NULL;
        struct cairn_boundary b;
        cr_assert_eq(ground_capture(&g, 0, &r), 0, "%s", cairn_error(g.c));
        cr_assert_eq(save_in(&g, &r, precisions[i], false, &b), 0, "%s", cairn_error(g.c));
        cr_assert(b.precision == precisions[i] && b.exact);
        ground_check_newest(&g);
    }
    ground_down(&g);
}

CASE(precision, F5_E6_E7_a_value_that_would_change_is_refused_with_path_count_and_first)
{
    static const uint32_t f32[] = { 0x3f800000, 0x3f800001, 0x501502f9, 0x00000000 };
    static const uint16_t f16[] = { 0x3c00, 0x3c00, 0x7c00, 0x0000 };
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_boundary b;
    uint16_t got[4];
    ground_up(&g);
    (void)add(&g.job.model, "layer.w", CAIRN_F32, f32);
    cr_assert_eq(ground_capture(&g, 0, &r), 0, "%s", cairn_error(g.c));
    cr_assert_eq(save_in(&g, &r, CAIRN_HALF, false, NULL), -CAIRN_EPRECISION);
    cr_assert_not_null(strstr(cairn_error(g.c),
                              "model: 'layer.w': 2 of 4 values would change from F32 to F16, the "
                              "first at 1"),
                       "%s",
                       cairn_error(g.c));
    cr_assert_eq(fake_seen(&g.fake, WIRE_BEGIN), 0, "nothing was sent");
    cr_assert_not_null(r, "and the record is kept");
    cr_assert_eq(save_in(&g, &r, CAIRN_HALF, true, &b), 0, "%s", cairn_error(g.c));
    cr_assert(b.precision == CAIRN_HALF && !b.exact);
    read_as(&g, CAIRN_MODEL, "layer.w", CAIRN_F16, got);
    cr_assert(same_bits(got, f16, sizeof f16));
    ground_down(&g);
}

CASE(precision, F6_E7_an_integer_out_of_range_is_refused_also_when_lossy)
{
    static const uint64_t u64[] = { 0, 1, UINT64_MAX, INT64_MAX };
    static const uint64_t i64[] = { 0, 1, (1ull << 53) + 1, INT64_MAX };
    struct ground g;
    struct cairn_record *r = NULL;
    uint64_t got[4];
    ground_up(&g);
    struct tensor *t = add(&g.job.state, "rng", CAIRN_U64, u64);
    cr_assert_eq(ground_capture(&g, 0, &r), 0);
    cr_assert_eq(save_in(&g, &r, CAIRN_DOUBLE, true, NULL), -CAIRN_ERANGE);
    cr_assert_not_null(strstr(cairn_error(g.c),
                              "'rng': 1 of 4 integers do not fit I64, the first "
                              "at 2"),
                       "%s",
                       cairn_error(g.c));
    cr_assert_eq(save_in(&g, &r, CAIRN_NATIVE, false, NULL), 0, "%s", cairn_error(g.c));
    put_bits(t, i64);
    cr_assert_eq(ground_capture(&g, 0, &r), 0);
    cr_assert_eq(save_in(&g, &r, CAIRN_DOUBLE, false, NULL), 0, "%s", cairn_error(g.c));
    read_as(&g, CAIRN_STATE, "rng", CAIRN_I64, got);
    cr_assert(same_bits(got, i64, sizeof i64), "never by way of a double");
    ground_down(&g);
}

/* A BF16 weight and an F32 bias under FULL come back as what they were (R36). */
static int get_full(void *self, const struct cairn_reader *r)
{
    struct box *b = self;
    struct cairn_entry want = b->tensors[0]->entry;
    uint32_t wide[4];
    want.dtype = CAIRN_F32;
    int rc = cairn_get(r, &want, wide);
    for (size_t i = 0; rc == 0 && i < 4; i++) {
        ((uint16_t *)(void *)b->tensors[0]->data)[i] = (uint16_t)(wide[i] >> 16);
    }
    return rc < 0 ? rc : cairn_get(r, &b->tensors[1]->entry, b->tensors[1]->data);
}

CASE(precision, D8_R36_storage_dtypes_come_back_whatever_the_precision)
{
    const uint32_t both = CAIRN_HAS_ID | CAIRN_TRAINABLE;
    static const uint16_t bf16[] = { 0x3f80, 0xc000, 0x8000, 0x0001 };
    struct ground g;
    struct job other;
    struct cairn_record *r = NULL;
    ground_up(&g);
    put_bits(BOX_ADD(&g.job.model, "weight", 1, both, CAIRN_BF16, 1, four, 1), bf16);
    (void)BOX_ADD(&g.job.model, "bias", 2, both, CAIRN_F32, 1, four, 2);
    g.job.params[0] = (struct cairn_param){ 1, true, CAIRN_BF16, 1, four };
    g.job.params[1] = (struct cairn_param){ 2, true, CAIRN_F32, 1, four };
    g.job.param_count = 2;
    cr_assert_eq(ground_capture(&g, CAIRN_KIND_DTYPES, &r), 0, "%s", cairn_error(g.c));
    cr_assert_eq(save_in(&g, &r, CAIRN_FULL, false, NULL), 0, "%s", cairn_error(g.c));
    job_like(&other, &g.job);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
    cr_assert_eq(cairn_restore_with_dtypes(g.c, r, &other.t), -CAIRN_EMISMATCH);
    cr_assert_not_null(strstr(cairn_error(g.c), "recorded F32"), "nothing casts silently");
    other.params[0].dtype = CAIRN_F32; /* a model in the value dtype, to be taken back */
    other.t.model.fit = NULL;
    other.t.model.get = get_full;
    other.log[0] = '\0';
    cr_assert_eq(cairn_restore_with_dtypes(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_eq(other.params[0].dtype, CAIRN_BF16);
    cr_assert_eq(other.params[1].dtype, CAIRN_F32);
    cr_assert_not_null(strstr(other.log, "R1"));
    cr_assert_null(job_differs(&g.job, &other));
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* Large enough for chunks of their own, for shared ones, and for odd ends. */
CASE(precision, converts_across_chunks_in_put_order)
{
    static const uint64_t large[] = { (9u << 20) + 3 };
    static const uint64_t small[] = { 1001 };
    struct ground g;
    struct cairn_record *r = NULL;
    const struct cairn_reader *model = NULL;
    ground_up(&g);
    struct tensor *tensors[] = {
        BOX_ADD(&g.job.model, "z", 0, 0, CAIRN_I8, 1, large, 1),
        BOX_ADD(&g.job.model, "a", 0, 0, CAIRN_I8, 1, small, 2),
        BOX_ADD(&g.job.model, "m", 0, 0, CAIRN_I8, 1, large, 3),
    };
    cr_assert_eq(ground_capture(&g, 0, &r), 0);
    cr_assert_eq(save_in(&g, &r, CAIRN_FULL, false, NULL), 0, "%s", cairn_error(g.c));
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &model), 0);
    for (size_t i = 0; i < 3; i++) {
        struct cairn_entry want = tensors[i]->entry;
        int32_t *wide = calloc(want.shape[0], sizeof *wide);
        want.dtype = CAIRN_I32;
        cr_assert_eq(cairn_get(model, &want, wide), 0, "%s", cairn_error(g.c));
        for (uint64_t k = 0; k < want.shape[0]; k++) {
            if (wide[k] != (int8_t)tensors[i]->data[k]) {
                cr_assert_fail("%s[%llu]", want.path, (unsigned long long)k);
            }
        }
        free(wide);
    }
    cr_assert_eq(
        g.fake.asked_chunks, g.fake.boundaries[0]->chunk_count, "each once: they lie in put order");
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* The acknowledgement is lost: the same save id, the same bytes, one boundary (E27). */
CASE(precision, E27_a_converted_save_is_settled_not_repeated)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_pending *p = NULL;
    struct cairn_boundary b;
    struct cairn_save_args args = { .step = 1, .precision = CAIRN_DOUBLE };
    ground_up(&g);
    (void)BOX_ADD(&g.job.model, "w", 0, 0, CAIRN_I32, 1, four, 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_CLOSE_AFTER, 0 };
    cr_assert_eq(ground_capture(&g, 0, &r), 0);
    cr_assert_eq(cairn_save_start(g.c, &r, &args, &p), 0, "%s", cairn_error(g.c));
    cr_assert_null(r);
    cr_assert_eq(cairn_save_wait(&p, 20000, &b, NULL), 0, "%s", cairn_error(g.c));
    cr_assert(b.precision == CAIRN_DOUBLE && b.exact);
    cr_assert_eq(g.fake.count, 1);
    ground_down(&g);
}

/* What is handed back after a refusal is the record as it was captured. */
CASE(precision, a_refused_save_hands_the_native_record_back)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_boundary b;
    ground_up(&g);
    (void)BOX_ADD(&g.job.model, "w", 0, 0, CAIRN_I32, 1, four, 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_REFUSE, CAIRN_ENOSPC };
    cr_assert_eq(ground_capture(&g, 0, &r), 0);
    cr_assert_eq(save_in(&g, &r, CAIRN_DOUBLE, false, NULL), -CAIRN_ENOSPC);
    cr_assert_not_null(r);
    cr_assert_eq(save_in(&g, &r, CAIRN_NATIVE, false, &b), 0, "%s", cairn_error(g.c));
    cr_assert_eq(b.precision, CAIRN_NATIVE);
    ground_check_newest(&g);
    ground_down(&g);
}
