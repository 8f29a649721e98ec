/* What only some tensors have: a quantization scheme, the width of an opaque element, a storage
 * dtype, counts of NaN and Inf. */
#include <cairn/record.h>

#include "record/digest.h"
#include "record/quant.h"
#include "record/rules.h"
#include "sample.h"
#include "support/case.h"

static void tensor_refused(const struct entry *e, const char *words)
{
    struct err err = { 0 };
    cr_assert_eq(rules_entry(COMPONENT_MODEL, e, &err), -CAIRN_EINVAL, "%s: %s", words, err.msg);
    cr_assert_not_null(strstr(err.msg, words), "expected \"%s\" in \"%s\"", words, err.msg);
    cr_assert_str_eq(err.path, "w");
}

static void tensor_accepted(const struct entry *e)
{
    struct err err = { 0 };
    cr_assert_eq(rules_entry(COMPONENT_MODEL, e, &err), 0, "%s", err.msg);
}

static void tensor_length(struct entry *e, size_t bytes)
{
    static const uint8_t data[256] = { 1, 0xff, 0x80 };
    e->bytes = bytes;
    e->value = slice_of(data, bytes);
    sample_redigest(e);
}

/* [3, 3] of four bits in words: 12 bytes; a block of two is 2 scales a line: 12; and one: 4. */
static const struct quant tensor_quant = { .scheme = { .value = CAIRN_Q4S,
                                                       .store = CAIRN_QUANT_PACKED_U32,
                                                       .mode = CAIRN_QUANT_SYMMETRIC,
                                                       .global_dtype = CAIRN_F32,
                                                       .block_dtype = CAIRN_F16,
                                                       .block_rank = 1,
                                                       .block = { 2 } },
                                           .bytes = { 12, 12, 4 } };

static struct entry tensor_quantized(const struct quant *q)
{
    static const uint64_t shape[] = { 3, 3 };
    struct entry e = sample_tensor("w");
    e.dtype = CAIRN_QFLOAT;
    e.shape = shape;
    e.quant = q;
    tensor_length(&e, 28);
    return e;
}

CASE(rules_tensor, E10_quantized_regions_are_exact)
{
    struct quant q = tensor_quant;
    struct entry e = tensor_quantized(&q);
    tensor_accepted(&e);
    for (size_t bytes = 26; bytes < 31; bytes++) { /* 8 + 12 + 4 and the like are refused, too */
        tensor_length(&e, bytes);
        if (bytes != 28) {
            tensor_refused(&e, "expected 28");
        }
    }
    e = tensor_quantized(&q);
    q.bytes = (struct cairn_quant_bytes){ 8, 16, 4 }; /* the sum alone says nothing */
    tensor_refused(&e, "values have 8 bytes, expected 12");
    q.bytes = (struct cairn_quant_bytes){ 12, 16, 0 };
    tensor_refused(&e, "block scales have 16 bytes, expected 12");
    q.bytes = (struct cairn_quant_bytes){ 12, 12, 8 };
    tensor_refused(&e, "tensor scales have 8 bytes, expected 4");
}

CASE(rules_tensor, E10_quantized_means_with_a_scheme)
{
    struct quant q = tensor_quant;
    struct entry e = tensor_quantized(NULL);
    tensor_refused(&e, "without its quantization scheme");
    e = sample_tensor("w");
    e.quant = &q;
    tensor_refused(&e, "it is F32");
    e = tensor_quantized(&q);
    q.scheme.store = CAIRN_QUANT_NATIVE;
    tensor_refused(&e, "must be packed");
    static const uint64_t huge[] = { UINT64_C(1) << 62, 3 };
    q = tensor_quant;
    e.shape = huge;
    tensor_refused(&e, "quantized, overflow");
}

/* In chunks, too: the rule does not need the bytes. */
CASE(rules_tensor, E10_quantized_in_chunks)
{
    struct quant q = tensor_quant;
    struct entry e = tensor_quantized(&q);
    e.value = slice_of(NULL, 0);
    e.first_chunk = 3;
    tensor_accepted(&e);
    e.bytes = 24;
    tensor_refused(&e, "expected 28");
}

CASE(rules_tensor, opaque_elements)
{
    static const uint64_t shape[] = { 3, 3 };
    static const uint64_t huge[] = { UINT64_C(1) << 63 };
    struct entry e = sample_tensor("w");
    e.dtype = CAIRN_OPAQUE;
    e.shape = shape;
    tensor_length(&e, 77);
    tensor_accepted(&e); /* nobody said how wide an element is */
    e.element_bits = 3;
    tensor_refused(&e, "expected 4"); /* 27 bits */
    tensor_length(&e, 4);
    tensor_accepted(&e);
    e.element_bits = 128;
    tensor_length(&e, 144);
    tensor_accepted(&e);
    e.rank = 1;
    e.shape = huge;
    tensor_refused(&e, "128 bits overflow");
    e = sample_tensor("w");
    e.element_bits = 32; /* true, and yet not its business */
    tensor_refused(&e, "F32 has its own");
}

CASE(rules_tensor, scalars_have_none_of_it)
{
    static const uint64_t seven = 7;
    struct entry e = sample_scalar("w", &seven);
    e.storage_dtype = CAIRN_F32;
    tensor_refused(&e, "only tensors");
    e = sample_scalar("w", &seven);
    e.element_bits = 8;
    tensor_refused(&e, "only tensors");
    e = sample_scalar("w", &seven);
    e.quant = &tensor_quant;
    tensor_refused(&e, "only tensors");
    e = sample_scalar("w", &seven);
    e.nonfinite.nan = 1;
    tensor_refused(&e, "only tensors");
    e = sample_tensor("w");
    e.storage_dtype = 15;
    tensor_refused(&e, "unknown storage dtype 15");
}

/* An F32 [2, 3] has six elements. */
CASE(rules_tensor, no_more_nan_and_inf_than_elements)
{
    struct entry e = sample_tensor("w");
    e.nonfinite = (struct nonfinite){ 4, 2 };
    tensor_accepted(&e);
    e.nonfinite.inf = 3;
    tensor_refused(&e, "4 NaN and 3 Inf cannot be among 6 elements of F32");
    e.nonfinite = (struct nonfinite){ UINT64_MAX, 2 };
    tensor_refused(&e, "cannot be among 6 elements");
    e.nonfinite = (struct nonfinite){ .inf = 1 };
    e.dtype = CAIRN_I32;
    tensor_refused(&e, "elements of I32");
    e = tensor_quantized(&tensor_quant);
    e.nonfinite.nan = 1;
    tensor_refused(&e, "elements of QFLOAT");
}

/* ---- R05, R36: a dtype follows from the precision and from what the trainer had ---- */

static int
tensor_precision_at(const char *path, enum precision precision, uint32_t dtype, uint32_t storage)
{
    struct entry e = sample_tensor(path);
    struct err err = { 0 };
    e.dtype = dtype;
    e.storage_dtype = storage;
    int rc = rules_precision(COMPONENT_MODEL, &e, precision, &err);
    if (rc < 0) {
        cr_assert_str_eq(err.path, path);
        cr_assert_not_null(strstr(err.msg, precision_name((uint32_t)precision)), "%s", err.msg);
    }
    return rc;
}

static int tensor_precision(enum precision precision, uint32_t dtype, uint32_t storage)
{
    return tensor_precision_at("w", precision, dtype, storage);
}

CASE(rules_tensor, N5_R05_no_precision_converts_what_quantized_values_mean)
{
    static const char *const siblings[] = {
        "w@codebook", "w@scale", "w@zero_point", "a.b@x@scale"
    };
    static const char *const others[] = { "@scale", "w@scales", "w.scale", "w@scale.w", "w" };
    for (size_t i = 0; i < sizeof siblings / sizeof siblings[0]; i++) {
        const char *at = siblings[i];
        cr_assert_eq(tensor_precision_at(at, PRECISION_HALF, CAIRN_F32, 0), 0, "%s", at);
        cr_assert_eq(tensor_precision_at(at, PRECISION_FULL, CAIRN_I64, 0), 0, "%s", at);
        cr_assert_eq(tensor_precision_at(at, PRECISION_NATIVE, CAIRN_F64, 0), 0, "%s", at);
        cr_assert_eq(tensor_precision_at(at, PRECISION_HALF, CAIRN_F16, CAIRN_F32), -CAIRN_EINVAL);
        cr_assert_eq(tensor_precision_at(at, PRECISION_FULL, CAIRN_F32, CAIRN_F32), -CAIRN_EINVAL);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const char *at = others[i];
        cr_assert_eq(tensor_precision_at(at, PRECISION_HALF, CAIRN_F32, 0), -CAIRN_EINVAL);
        cr_assert_eq(tensor_precision_at(at, PRECISION_HALF, CAIRN_F16, CAIRN_F32), 0, "%s", at);
    }
}

CASE(rules_tensor, R05_precision_decides_the_dtype)
{
    static const struct {
        enum precision precision;
        uint32_t dtype, storage;
        bool legal;
    } rows[] = {
        { PRECISION_NATIVE, CAIRN_BF16, 0, true },
        { PRECISION_NATIVE, CAIRN_F32, CAIRN_BF16, false }, /* nothing was converted */
        { PRECISION_NATIVE, CAIRN_F32, CAIRN_F32, false },
        { PRECISION_FULL, CAIRN_F32, CAIRN_BF16, true },
        { PRECISION_FULL, CAIRN_F32, CAIRN_F64, true },
        { PRECISION_FULL, CAIRN_F32, CAIRN_FLEX32, true },
        { PRECISION_FULL, CAIRN_F32, 0, true },          /* it was one */
        { PRECISION_FULL, CAIRN_F32, CAIRN_F32, false }, /* which is said by leaving it out */
        { PRECISION_FULL, CAIRN_BF16, 0, false },        /* it should have been converted */
        { PRECISION_FULL, CAIRN_F16, CAIRN_BF16, false },
        { PRECISION_FULL, CAIRN_I32, CAIRN_U8, true },
        { PRECISION_FULL, CAIRN_F32, CAIRN_I32, false }, /* another kind of number */
        { PRECISION_HALF, CAIRN_F16, CAIRN_F32, true },
        { PRECISION_HALF, CAIRN_I16, CAIRN_I64, true },
        { PRECISION_HALF, CAIRN_BF16, 0, false },
        { PRECISION_DOUBLE, CAIRN_F64, CAIRN_F8_E5M2, true },
        { PRECISION_DOUBLE, CAIRN_I64, CAIRN_U32, true },
        { PRECISION_HALF, CAIRN_BOOL, 0, true }, /* what no precision touches */
        { PRECISION_HALF, CAIRN_C64, 0, true },
        { PRECISION_HALF, CAIRN_QFLOAT, 0, true },
        { PRECISION_HALF, CAIRN_QINT8, 0, true },
        { PRECISION_HALF, CAIRN_OPAQUE, 0, true },
        { PRECISION_HALF, CAIRN_F16, CAIRN_QFLOAT, false },
        { PRECISION_HALF, CAIRN_I16, CAIRN_BOOL, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(tensor_precision(rows[i].precision, rows[i].dtype, rows[i].storage),
                     rows[i].legal ? 0 : -CAIRN_EINVAL,
                     "row %zu",
                     i);
    }
    static const uint64_t seven = 7;
    struct entry scalar = sample_scalar("s", &seven); /* a u64 stays one */
    cr_assert_eq(rules_precision(COMPONENT_STATE, &scalar, PRECISION_HALF, NULL), 0);
}
