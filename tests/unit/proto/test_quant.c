/* Quantization schemes: which there are, and how long their regions are. The lengths are counted by
 * hand here, from the definition: values packed line by line, scales per block, one per tensor. */
#include <string.h>

#include "record/quant.h"
#include "support/case.h"

#define Q4_WORDS .value = CAIRN_Q4S, .store = CAIRN_QUANT_PACKED_U32, .mode = CAIRN_QUANT_SYMMETRIC
#define Q8_BYTES .value = CAIRN_Q8S, .store = CAIRN_QUANT_NATIVE, .mode = CAIRN_QUANT_SYMMETRIC

CASE(quant, widths)
{
    static const uint32_t bits[] = { 0, 8, 8, 4, 4, 2, 2, 8, 8, 4, 0 };
    for (uint32_t value = 0; value < sizeof bits / sizeof bits[0]; value++) {
        cr_assert_eq(quant_bits(value), bits[value], "value %u", value);
    }
    cr_assert_eq(quant_bits(UINT32_MAX), 0);
}

/* E10: the byte lengths of quantized tensors. */
static const struct {
    struct cairn_quant scheme;
    uint32_t rank;
    uint64_t shape[4];
    uint64_t values, block_scales, global_scale;
} quant_lengths[] = {
    /* The default of Burn: 4 values in a word. */
    { { .value = CAIRN_Q8F,
        .store = CAIRN_QUANT_PACKED_U32,
        .mode = CAIRN_QUANT_SYMMETRIC,
        .global_dtype = CAIRN_F32 },
      2,
      { 3, 5 },
      UINT64_C(3) * 2 * 4,
      0,
      4 },
    /* Three lines of one word each: 12 bytes, where 9 nibbles in a row would be 8. */
    { { Q4_WORDS, .global_dtype = CAIRN_F32 }, 2, { 3, 3 }, 12, 0, 4 },
    { { Q4_WORDS, .global_dtype = CAIRN_F32 }, 2, { 3, 8 }, 12, 0, 4 },
    { { Q4_WORDS, .global_dtype = CAIRN_F32 }, 2, { 3, 9 }, 24, 0, 4 },
    /* Packed along the second dimension from the innermost: ceil(9 / 8) = 2 words x 4. */
    { { Q4_WORDS, .packed_dim = 1, .global_dtype = CAIRN_F16 }, 2, { 9, 4 }, 32, 0, 2 },
    { { Q4_WORDS, .packed_dim = 2, .global_dtype = CAIRN_F16 }, 3, { 9, 2, 3 }, 48, 0, 2 },
    /* 16 values of 2 bits in a word. */
    { { .value = CAIRN_Q2F,
        .store = CAIRN_QUANT_PACKED_U32,
        .mode = CAIRN_QUANT_LOOKUP,
        .global_dtype = CAIRN_BF16 },
      2,
      { 2, 17 },
      16,
      0,
      2 },
    /* One by one, of either kind. */
    { { Q8_BYTES, .global_dtype = CAIRN_F32 }, 2, { 3, 3 }, 9, 0, 4 },
    { { Q8_BYTES, .global_dtype = CAIRN_F32 }, 0, { 0 }, 1, 0, 4 },
    { { .value = CAIRN_QE4M3,
        .store = CAIRN_QUANT_NATIVE,
        .mode = CAIRN_QUANT_SYMMETRIC,
        .global_dtype = CAIRN_F8_UE4M3 },
      1,
      { 7 },
      7,
      0,
      1 },
    /* Two in a byte, each line for itself. */
    { { .value = CAIRN_QE2M1,
        .store = CAIRN_QUANT_PACKED_NATIVE,
        .mode = CAIRN_QUANT_SYMMETRIC,
        .global_dtype = CAIRN_F32 },
      2,
      { 3, 3 },
      6,
      0,
      4 },
    /* Blocks of 32 along a line of 70: three scales for each of 2 lines. */
    { { Q8_BYTES, .block_dtype = CAIRN_F16, .block_rank = 1, .block = { 32 } },
      2,
      { 2, 70 },
      140,
      12,
      0 },
    /* Two levels: E2M1, a UE8M0 scale for 4 x 2, an F32 one above. */
    { { .value = CAIRN_QE2M1,
        .store = CAIRN_QUANT_PACKED_NATIVE,
        .mode = CAIRN_QUANT_SYMMETRIC,
        .global_dtype = CAIRN_F32,
        .block_dtype = CAIRN_F8_E8M0FNU,
        .block_rank = 2,
        .block = { 4, 2 } },
      3,
      { 2, 5, 5 },
      UINT64_C(2) * 5 * 3,
      UINT64_C(2) * 2 * 3,
      4 },
    /* Nothing in it: no values, no blocks, and still the tensor's scale. */
    { { Q4_WORDS, .global_dtype = CAIRN_F32 }, 1, { 0 }, 0, 0, 4 },
    { { Q4_WORDS, .block_dtype = CAIRN_F32, .block_rank = 1, .block = { 255 } },
      3,
      { 3, 0, 2 },
      0,
      0,
      0 },
    { { Q8_BYTES, .block_dtype = CAIRN_F32, .block_rank = 1, .block = { 1 } }, 1, { 6 }, 6, 24, 0 },
};

CASE(quant, E10_lengths_of_regions)
{
    for (size_t i = 0; i < sizeof quant_lengths / sizeof quant_lengths[0]; i++) {
        struct cairn_quant_bytes bytes;
        struct err err = { 0 };
        const struct cairn_quant *q = &quant_lengths[i].scheme;
        uint32_t rank = quant_lengths[i].rank;
        cr_assert_eq(quant_check(q, rank, &err), 0, "row %zu: %s", i, err.msg);
        cr_assert(quant_bytes(q, rank, quant_lengths[i].shape, &bytes), "row %zu", i);
        cr_assert_eq(bytes.values, quant_lengths[i].values, "row %zu", i);
        cr_assert_eq(bytes.block_scales, quant_lengths[i].block_scales, "row %zu", i);
        cr_assert_eq(bytes.global_scale, quant_lengths[i].global_scale, "row %zu", i);
        cr_assert_eq(quant_total(&bytes), bytes.values + bytes.block_scales + bytes.global_scale);
    }
}

CASE(quant, E9_lengths_that_overflow)
{
    static const uint64_t most[] = { UINT64_MAX };
    static const uint64_t lines[] = { UINT64_C(1) << 62, 3 };
    static const uint64_t hidden[] = { 0, UINT64_C(1) << 32, UINT64_C(1) << 32 };
    struct cairn_quant_bytes bytes;
    struct cairn_quant q = { Q8_BYTES, .global_dtype = CAIRN_F32 };
    cr_assert_not(quant_bytes(&q, 1, most, &bytes)); /* the values fit, the scale no more */
    q.global_dtype = 0;
    q.block_dtype = CAIRN_F32;
    q.block_rank = 1;
    q.block[0] = 2;
    cr_assert_not(quant_bytes(&q, 1, most, &bytes));
    q = (struct cairn_quant){ Q4_WORDS, .global_dtype = CAIRN_F32 };
    cr_assert_not(quant_bytes(&q, 2, lines, &bytes)); /* a word for each line */
    cr_assert_not(quant_bytes(&q, 3, hidden, &bytes));
    cr_assert(quant_bytes(&q, 1, most, &bytes)); /* 2^61 words */
    cr_assert_eq(bytes.values, UINT64_C(1) << 63);
}

static void quant_refused(struct cairn_quant q, uint32_t rank, const char *words)
{
    struct err err = { 0 };
    cr_assert_eq(quant_check(&q, rank, &err), -CAIRN_EINVAL, "%s", words);
    cr_assert_not_null(strstr(err.msg, words), "expected \"%s\" in \"%s\"", words, err.msg);
}

CASE(quant, values_and_stores_that_do_not_exist)
{
    struct cairn_quant q = { Q4_WORDS, .global_dtype = CAIRN_F32 };
    cr_assert_eq(quant_check(&q, 1, NULL), 0);
    q.value = 0;
    quant_refused(q, 1, "value: 0");
    q.value = CAIRN_QE2M1 + 1;
    quant_refused(q, 1, "value: 10");
    q.value = CAIRN_Q4S;
    q.mode = 0;
    quant_refused(q, 1, "mode: 0");
    q.mode = CAIRN_QUANT_LOOKUP + 1;
    quant_refused(q, 1, "mode: 3");
    q.mode = CAIRN_QUANT_LOOKUP;
    q.store = 0;
    quant_refused(q, 1, "store: 0");
    q.store = CAIRN_QUANT_PACKED_U32 + 1;
    quant_refused(q, 1, "store: 4");
    q.store = CAIRN_QUANT_PACKED_U32;
    quant_refused(q, 0, "there are 0"); /* nothing to pack along */
    q.packed_dim = 2;
    quant_refused(q, 2, "dimension 2 from the innermost");
}

/* Sub-byte values lie in words or, E2M1 alone, in bytes. */
CASE(quant, which_value_in_which_store)
{
    for (uint32_t value = CAIRN_Q8F; value <= CAIRN_QE2M1; value++) {
        struct cairn_quant q = { .value = value,
                                 .store = CAIRN_QUANT_PACKED_U32,
                                 .mode = CAIRN_QUANT_SYMMETRIC,
                                 .global_dtype = CAIRN_F32 };
        bool whole = quant_bits(value) == 8;
        cr_assert_eq(quant_check(&q, 2, NULL), 0, "value %u", value);
        q.store = CAIRN_QUANT_NATIVE;
        cr_assert_eq(quant_check(&q, 2, NULL), whole ? 0 : -CAIRN_EINVAL, "value %u", value);
        q.packed_dim = 1;
        cr_assert_eq(quant_check(&q, 2, NULL), -CAIRN_EINVAL, "value %u", value);
        q.store = CAIRN_QUANT_PACKED_NATIVE;
        cr_assert_eq(
            quant_check(&q, 2, NULL), value == CAIRN_QE2M1 ? 0 : -CAIRN_EINVAL, "value %u", value);
    }
}

CASE(quant, scales)
{
    static const uint32_t scales[] = {
        CAIRN_F32, CAIRN_F16, CAIRN_BF16, CAIRN_F8_E8M0FNU, CAIRN_F8_UE4M3
    };
    const struct cairn_quant none = { Q8_BYTES };
    quant_refused(none, 1, "without a scale");
    for (uint32_t dtype = 1; dtype < 80; dtype++) {
        bool may = false;
        for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
            may = may || scales[i] == dtype;
        }
        struct cairn_quant q = { Q8_BYTES, .global_dtype = dtype };
        cr_assert_eq(quant_check(&q, 1, NULL), may ? 0 : -CAIRN_EINVAL, "dtype %u", dtype);
        q = (struct cairn_quant){
            Q8_BYTES, .block_dtype = dtype, .block_rank = 1, .block = { 32 }
        };
        cr_assert_eq(quant_check(&q, 1, NULL), may ? 0 : -CAIRN_EINVAL, "dtype %u", dtype);
        q.global_dtype = CAIRN_F32; /* two levels */
        cr_assert_eq(quant_check(&q, 1, NULL), may ? 0 : -CAIRN_EINVAL, "dtype %u", dtype);
        q.global_dtype = CAIRN_F16;
        cr_assert_eq(quant_check(&q, 1, NULL), -CAIRN_EINVAL, "dtype %u", dtype);
    }
}

CASE(quant, blocks)
{
    const struct cairn_quant good = {
        Q8_BYTES, .block_dtype = CAIRN_F32, .block_rank = 2, .block = { 2, 255 }
    };
    cr_assert_eq(quant_check(&good, 2, NULL), 0);
    quant_refused(good, 1, "more than the tensor's 1");
    struct cairn_quant q = good;
    q.block_rank = 6;
    quant_refused(q, 8, "at most 5");
    q = good;
    q.block[1] = 0;
    quant_refused(q, 2, "extent 1");
    q = good;
    q.block[4] = 7;
    quant_refused(q, 2, "extent 4");
    q = good;
    q.block[0] = 1;
    quant_refused(q, 2, "outermost extent");
    q = good;
    q.block_dtype = 0;
    q.global_dtype = CAIRN_F32;
    quant_refused(q, 2, "blocks have scales");
    q = good;
    q.block_rank = 0;
    quant_refused(q, 2, "blocks have scales");
}

CASE(quant, canonical_form)
{
    struct cairn_quant q = {
        Q8_BYTES, .block_dtype = CAIRN_F32, .block_rank = 3, .block = { 1, 1, 32, 9, 9 }
    };
    struct cairn_quant c = quant_canonical(&q);
    cr_assert_eq(c.block_rank, 1);
    cr_assert_eq(memcmp(c.block, "\x20\0\0\0\0", 5), 0);
    cr_assert_eq(quant_check(&c, 1, NULL), 0);
    q = (struct cairn_quant){
        Q8_BYTES, .block_dtype = CAIRN_F32, .block_rank = 2, .block = { 1, 1 }
    };
    c = quant_canonical(&q);
    cr_assert(c.block_rank == 1 && c.block[0] == 1 && c.block[1] == 0);
    struct cairn_quant again = quant_canonical(&c);
    cr_assert(quant_equal(&c, &again));
    q.block_rank = 77; /* no legal scheme becomes of it, and nothing else happens */
    c = quant_canonical(&q);
    quant_refused(c, 2, "77 dimensions");
}

CASE(quant, equal_only_when_all_is)
{
    const struct cairn_quant base = {
        Q4_WORDS, .block_dtype = CAIRN_F32, .block_rank = 2, .block = { 2, 4 }
    };
    struct cairn_quant q[9];
    for (size_t i = 0; i < 9; i++) {
        q[i] = base;
    }
    cr_assert(quant_equal(&base, &q[0]));
    q[0].value = CAIRN_Q4F;
    q[1].store = CAIRN_QUANT_NATIVE;
    q[2].packed_dim = 1;
    q[3].mode = CAIRN_QUANT_LOOKUP;
    q[4].global_dtype = CAIRN_F32;
    q[5].block_dtype = CAIRN_F16;
    q[6].block_rank = 1;
    q[7].block[0] = 4;
    q[8].block[1] = 2;
    for (size_t i = 0; i < 9; i++) {
        cr_assert_not(quant_equal(&base, &q[i]), "change %zu", i);
    }
}

CASE(quant, as_text)
{
    char text[CAIRN_QUANT_TEXT_BYTES];
    struct cairn_quant q = {
        Q4_WORDS,        .packed_dim = 1,   .global_dtype = CAIRN_F32, .block_dtype = CAIRN_F16,
        .block_rank = 2, .block = { 2, 32 }
    };
    quant_text(&q, text);
    cr_assert_str_eq(text, "Q4S in words along 1, blocks [2, 32] with F16 scales, F32 scale");
    q = (struct cairn_quant){ .value = CAIRN_QE2M1,
                              .store = CAIRN_QUANT_PACKED_NATIVE,
                              .mode = CAIRN_QUANT_LOOKUP,
                              .global_dtype = CAIRN_BF16 };
    quant_text(&q, text);
    cr_assert_str_eq(text, "E2M1 in bytes along 0, codebook, BF16 scale");
    memset(&q, 0xff, sizeof q); /* what no rule has seen yet */
    quant_text(&q, text);
    cr_assert_eq(text[0], '?');
}
