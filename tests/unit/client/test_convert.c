/* Floats in another type: the literal cases of the record's edge table, then every value of every
 * narrow type and many of the wide ones against convert_ref.h. */
#include <cairn/record.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#if defined __x86_64__
#include <xmmintrin.h>
#endif

#include "convert_ref.h"
#include "lib/convert.h"
#include "lib/convert_int.h"
#include "record/dtype.h"
#include "support/case.h"

#define COUNT_OF(ARRAY) (sizeof(ARRAY) / sizeof(ARRAY)[0])

static uint64_t convert_one(uint32_t from, uint64_t bits, uint32_t to, bool *ret_changed)
{
    uint64_t src = 0;
    uint64_t dst = 0;
    struct convert_count count = { 0 };
    ref_put(from, &src, 0, bits);
    convert_values(from, &src, to, &dst, 1, &count);
    cr_assert_eq(count.done, 1);
    *ret_changed = count.changed == 1;
    return ref_get(to, &dst, 0);
}

struct known {
    uint32_t from;
    uint64_t bits;
    uint32_t to;
    uint64_t result;
    bool changed;
};

static void known_hold(const struct known *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool changed = false;
        uint64_t result = convert_one(list[i].from, list[i].bits, list[i].to, &changed);
        cr_assert_eq(result,
                     list[i].result,
                     "%zu: %llx, not %llx",
                     i,
                     (unsigned long long)result,
                     (unsigned long long)list[i].result);
        cr_assert_eq(changed, list[i].changed, "%zu", i);
    }
}

static uint64_t f32_bits(float v)
{
    uint32_t bits = 0;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static uint64_t f64_bits(double v)
{
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

CASE(convert, E4_f32_to_f16_nearest_even)
{
    const struct known list[] = {
        { CAIRN_F32, f32_bits(65504.0f), CAIRN_F16, 0x7bff, false },
        { CAIRN_F32, f32_bits(65519.99f), CAIRN_F16, 0x7bff, true },
        { CAIRN_F32, f32_bits(65520.0f), CAIRN_F16, 0x7c00, true },
        { CAIRN_F32, f32_bits(0x1p-24f), CAIRN_F16, 0x0001, false },
        { CAIRN_F32, f32_bits(0x1p-25f), CAIRN_F16, 0x0000, true },
        { CAIRN_F32, f32_bits(0x1.000002p-25f), CAIRN_F16, 0x0001, true },
        { CAIRN_F32, f32_bits(1 + 0x1p-11f), CAIRN_F16, 0x3c00, true },
        { CAIRN_F32, f32_bits(1 + 0x3p-11f), CAIRN_F16, 0x3c02, true },
        { CAIRN_F32, f32_bits(0.1f), CAIRN_F16, 0x2e66, true },
        { CAIRN_F32, f32_bits(0x1.ffcp-15f), CAIRN_F16, 0x0400, true }, /* carries out of them */
        { CAIRN_F32, f32_bits(-65520.0f), CAIRN_F16, 0xfc00, true },
        { CAIRN_F64, f64_bits(65519.999), CAIRN_F16, 0x7bff, true },
        /* By way of F32 these would be ties, and round wrongly. */
        { CAIRN_F64, f64_bits(1 + 0x1p-11 + 0x1p-40), CAIRN_F16, 0x3c01, true },
        { CAIRN_F64, f64_bits(1 + 0x3p-11 - 0x1p-40), CAIRN_F16, 0x3c01, true },
        { CAIRN_F64, f64_bits(1 + 0x1p-8 + 0x1p-40), CAIRN_BF16, 0x3f81, true },
    };
    known_hold(list, COUNT_OF(list));
}

CASE(convert, E5_f32_to_bf16_nearest_even)
{
    static const struct known list[] = {
        { CAIRN_F32, 0x3f808000, CAIRN_BF16, 0x3f80, true },
        { CAIRN_F32, 0x3f818000, CAIRN_BF16, 0x3f82, true },
        { CAIRN_F32, 0x7f7f7fff, CAIRN_BF16, 0x7f7f, true },
        { CAIRN_F32, 0x7f7f8000, CAIRN_BF16, 0x7f80, true },
        { CAIRN_F32, 0x7f7fffff, CAIRN_BF16, 0x7f80, true },
        { CAIRN_F32, 0x00008000, CAIRN_BF16, 0x0000, true },
        { CAIRN_F32, 0x00008001, CAIRN_BF16, 0x0001, true },
        { CAIRN_F32, 0x7f800001, CAIRN_BF16, 0x7fc0, true },
        { CAIRN_F32, 0x3f810000, CAIRN_BF16, 0x3f81, false },
    };
    known_hold(list, COUNT_OF(list));
}

CASE(convert, E1_nan_stays_nan_and_infinities_infinite)
{
    static const struct known list[] = {
        { CAIRN_F32, 0x7f800001, CAIRN_F64, 0x7ff0000020000000, false }, /* still signalling */
        { CAIRN_F32, 0x7f800001, CAIRN_F16, 0x7e00, true },
        { CAIRN_F32, 0xff802000, CAIRN_F16, 0xfc01, false },
        { CAIRN_F32, 0xffc00000, CAIRN_F16, 0xfe00, false },
        { CAIRN_F32, 0x7fc00001, CAIRN_F16, 0x7e00, true },
        { CAIRN_F32, 0x7fbfffff, CAIRN_F16, 0x7dff, true }, /* does not round up to quiet */
        { CAIRN_F32, 0x7fffffff, CAIRN_BF16, 0x7fff, true },
        { CAIRN_F16, 0x7d01, CAIRN_F32, 0x7fa02000, false },
        { CAIRN_F16, 0xfd01, CAIRN_F64, 0xfff4040000000000, false },
        { CAIRN_F64, 0x7ff0000000000001, CAIRN_F32, 0x7fc00000, true },
        { CAIRN_F64, 0xfff0000000000001, CAIRN_F16, 0xfe00, true },
        { CAIRN_F64, 0x7ff4000000000000, CAIRN_BF16, 0x7fa0, false },
        { CAIRN_F8_E5M2, 0xfd, CAIRN_F32, 0xffa00000, false },
        { CAIRN_F8_E4M3FN, 0xff, CAIRN_F16, 0xff80, false },
        { CAIRN_F8_E4M3FNUZ, 0x80, CAIRN_F32, 0x7fc00000, false },
        { CAIRN_F8_E5M2FNUZ, 0x80, CAIRN_F64, 0x7ff8000000000000, false },
        { CAIRN_F8_E8M0FNU, 0xff, CAIRN_BF16, 0x7fc0, false },
        { CAIRN_F32, 0xff800000, CAIRN_F16, 0xfc00, false },
        { CAIRN_F32, 0x7f800000, CAIRN_F64, 0x7ff0000000000000, false },
        { CAIRN_F64, 0xfff0000000000000, CAIRN_BF16, 0xff80, false },
        { CAIRN_F64, 0x7ff0000000000000, CAIRN_F32, 0x7f800000, false },
        { CAIRN_F16, 0xfc00, CAIRN_BF16, 0xff80, false },
        { CAIRN_F8_E5M2, 0x7c, CAIRN_F16, 0x7c00, false },
    };
    known_hold(list, COUNT_OF(list));
}

CASE(convert, E2_negative_zero_keeps_its_sign)
{
    static const uint32_t signless[] = { CAIRN_F8_E4M3FNUZ, CAIRN_F8_E5M2FNUZ, CAIRN_F8_E8M0FNU };
    for (size_t f = 0; ref_floats[f] != 0; f++) {
        bool has = true;
        for (size_t i = 0; i < COUNT_OF(signless); i++) {
            has = has && ref_floats[f] != signless[i];
        }
        for (size_t t = 0; has && ref_targets[t] != 0; t++) {
            uint64_t source = UINT64_C(1) << (dtype_find(ref_floats[f])->bits - 1);
            uint64_t target = UINT64_C(1) << (dtype_find(ref_targets[t])->bits - 1);
            bool changed = false;
            cr_assert_eq(convert_one(ref_floats[f], source, ref_targets[t], &changed), target);
            cr_assert_not(changed);
        }
    }
}

CASE(convert, E6_large_bf16_becomes_an_infinite_f16)
{
    static const struct known list[] = {
        { CAIRN_BF16, 0x60ad, CAIRN_F16, 0x7c00, true }, /* 1e20 */
        { CAIRN_BF16, 0x3f80, CAIRN_F16, 0x3c00, false },
        { CAIRN_BF16, 0x3380, CAIRN_F16, 0x0001, false },
        { CAIRN_BF16, 0x3300, CAIRN_F16, 0x0000, true },
        { CAIRN_F16, 0x3c01, CAIRN_BF16, 0x3f80, true },
    };
    known_hold(list, COUNT_OF(list));
}

CASE(convert, E7_all_bits_of_an_f64_do_not_fit_an_f32)
{
    const struct known list[] = {
        { CAIRN_F64, f64_bits(9007199254740991.0), CAIRN_F32, 0x5a000000, true },
        { CAIRN_F64, f64_bits(9007199254740991.0), CAIRN_F64, f64_bits(9007199254740991.0), false },
        { CAIRN_F64, f64_bits(0x1p-149), CAIRN_F32, 0x00000001, false },
        { CAIRN_F64, f64_bits(0x1p-150), CAIRN_F32, 0x00000000, true },
        { CAIRN_F64, f64_bits(0x1.0000000000001p-150), CAIRN_F32, 0x00000001, true },
        { CAIRN_F64, f64_bits(0x1.fffffefffffffp127), CAIRN_F32, 0x7f7fffff, true },
        { CAIRN_F64, f64_bits(0x1.ffffffp127), CAIRN_F32, 0x7f800000, true },
        { CAIRN_F64, 1, CAIRN_F32, 0, true },
        { CAIRN_F64, 0x7fefffffffffffff, CAIRN_F32, 0x7f800000, true },
        { CAIRN_F64, 0x7fefffffffffffff, CAIRN_F16, 0x7c00, true },
    };
    known_hold(list, COUNT_OF(list));
}

/* The largest and the smallest of each narrow type, as the record's table of types has them. */
CASE(convert, narrow_types_have_the_values_of_the_table)
{
    const struct known list[] = {
        { CAIRN_F8_E4M3FN, 0x7e, CAIRN_F32, f32_bits(448), false },
        { CAIRN_F8_E4M3FN, 0x08, CAIRN_F32, f32_bits(0x1p-6f), false },
        { CAIRN_F8_E4M3FN, 0x81, CAIRN_F32, f32_bits(-0x1p-9f), false },
        { CAIRN_F8_UE4M3, 0x7e, CAIRN_F32, f32_bits(448), false },
        { CAIRN_F8_UE4M3, 0x01, CAIRN_F32, f32_bits(0x1p-9f), false },
        { CAIRN_F8_E5M2, 0x7b, CAIRN_F32, f32_bits(57344), false },
        { CAIRN_F8_E5M2, 0x01, CAIRN_F32, f32_bits(0x1p-16f), false },
        { CAIRN_F8_E4M3FNUZ, 0xff, CAIRN_F32, f32_bits(-240), false },
        { CAIRN_F8_E4M3FNUZ, 0x01, CAIRN_F32, f32_bits(0x1p-10f), false },
        { CAIRN_F8_E5M2FNUZ, 0x7f, CAIRN_F32, f32_bits(57344), false },
        { CAIRN_F8_E5M2FNUZ, 0x01, CAIRN_F32, f32_bits(0x1p-17f), false },
        { CAIRN_F8_E8M0FNU, 0x00, CAIRN_F32, f32_bits(0x1p-127f), false },
        { CAIRN_F8_E8M0FNU, 0x7f, CAIRN_F32, f32_bits(1), false },
        { CAIRN_F8_E8M0FNU, 0xfe, CAIRN_F32, f32_bits(0x1p127f), false },
        { CAIRN_F8_E8M0FNU, 0xfe, CAIRN_F16, 0x7c00, true },
        { CAIRN_F6_E2M3, 0x1f, CAIRN_F32, f32_bits(7.5f), false },
        { CAIRN_F6_E2M3, 0x21, CAIRN_F32, f32_bits(-0.125f), false },
        { CAIRN_F6_E3M2, 0x1f, CAIRN_F32, f32_bits(28), false },
        { CAIRN_F6_E3M2, 0x21, CAIRN_F32, f32_bits(-0.0625f), false },
    };
    static const float fours[] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };
    known_hold(list, COUNT_OF(list));
    for (uint32_t i = 0; i < COUNT_OF(fours); i++) {
        const struct known both[] = {
            { CAIRN_F4_E2M1, i, CAIRN_F32, f32_bits(fours[i]), false },
            { CAIRN_F4_E2M1, i | 8, CAIRN_F32, f32_bits(-fours[i]), false },
        };
        known_hold(both, 2);
    }
}

/* F6: 1, 2, 3, 4 are the bytes 81 30 10. */
CASE(convert, narrow_elements_stand_first_in_the_low_bits)
{
    static const uint8_t six[] = { 0x81, 0x30, 0x10 };
    static const uint8_t four[] = { 0x21, 0x43 };
    float values[4];
    struct convert_count count = { 0 };
    convert_values(CAIRN_F6_E2M3, six, CAIRN_F32, values, 4, &count);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(f32_bits(values[i]), f32_bits(0.125f * (float)(i + 1)));
    }
    convert_values(CAIRN_F4_E2M1, four, CAIRN_F32, values, 3, &count);
    cr_assert_eq(f32_bits(values[0]), f32_bits(0.5f));
    cr_assert_eq(f32_bits(values[1]), f32_bits(1));
    cr_assert_eq(f32_bits(values[2]), f32_bits(1.5f));
    cr_assert_eq(f32_bits(values[3]), f32_bits(0.5f), "one too many is written");
    cr_assert_eq(count.done, 7);
}

/* Every pattern of a type of at most 16 bits, packed; narrow ones so often that there are several
 * inner blocks, no two of which are alike. */
static uint8_t *every_value(uint32_t dtype, size_t *ret_elements)
{
    uint32_t bits = dtype_find(dtype)->bits;
    *ret_elements = bits == 16 ? 65536 : 5003;
    uint8_t *tensor = calloc(*ret_elements, 2);
    cr_assert_not_null(tensor);
    for (size_t i = 0; i < *ret_elements; i++) {
        ref_put(dtype, tensor, i, (i + (i >> bits)) & ((1u << bits) - 1));
    }
    return tensor;
}

CASE(convert, every_value_of_16_bits_and_less_to_every_target)
{
    for (size_t f = 0; ref_floats[f] != 0; f++) {
        size_t elements = 0;
        if (dtype_find(ref_floats[f])->bits > 16) {
            continue;
        }
        uint8_t *tensor = every_value(ref_floats[f], &elements);
        for (size_t t = 0; ref_targets[t] != 0; t++) {
            ref_tensor(ref_floats[f], tensor, ref_targets[t], elements);
        }
        free(tensor);
    }
}

CASE(convert, every_value_of_16_bits_comes_back)
{
    static const uint32_t ways[][2] = { { CAIRN_F16, CAIRN_F32 },
                                        { CAIRN_F16, CAIRN_F64 },
                                        { CAIRN_BF16, CAIRN_FLEX32 },
                                        { CAIRN_BF16, CAIRN_F64 } };
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        size_t elements = 0;
        uint8_t *tensor = every_value(ways[i][0], &elements);
        uint8_t *wide = calloc(elements, 8);
        uint8_t *back = calloc(elements, 2);
        struct convert_count count = { 0 };
        cr_assert(wide != NULL && back != NULL);
        convert_values(ways[i][0], tensor, ways[i][1], wide, elements, &count);
        convert_values(ways[i][1], wide, ways[i][0], back, elements, &count);
        cr_assert_eq(count.changed, 0);
        cr_assert_eq(memcmp(tensor, back, elements * 2), 0);
        free(back);
        free(wide);
        free(tensor);
    }
}

/* Primes: the steps go through all exponents and both signs, and fall on other mantissas each time.
 */
static uint32_t *some_f32(uint32_t step, size_t *ret_elements)
{
    *ret_elements = UINT32_MAX / step;
    uint32_t *tensor = calloc(*ret_elements, sizeof *tensor);
    cr_assert_not_null(tensor);
    for (size_t i = 0; i < *ret_elements; i++) {
        tensor[i] = (uint32_t)i * step + (uint32_t)i % 3;
    }
    return tensor;
}

CASE(convert, f32_in_steps_to_16_bits)
{
    size_t elements = 0;
    uint32_t *tensor = some_f32(4099, &elements);
    ref_tensor(CAIRN_F32, tensor, CAIRN_F16, elements);
    ref_tensor(CAIRN_FLEX32, tensor, CAIRN_BF16, elements);
    free(tensor);
}

/* The steps above seldom meet a tie; here are all of them, with what is next to each. */
CASE(convert, f32_ties_to_16_bits)
{
    static const uint32_t lows[] = { 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001 };
    size_t elements = (size_t)65536 * COUNT_OF(lows);
    uint32_t *tensor = calloc(elements, sizeof *tensor);
    cr_assert_not_null(tensor);
    for (size_t i = 0; i < elements; i++) {
        tensor[i] = (uint32_t)(i / COUNT_OF(lows)) << 16 | lows[i % COUNT_OF(lows)];
    }
    ref_tensor(CAIRN_F32, tensor, CAIRN_F16, elements);
    ref_tensor(CAIRN_F32, tensor, CAIRN_BF16, elements);
    free(tensor);
}

CASE(convert, f32_in_steps_to_32_and_64_bits)
{
    size_t elements = 0;
    uint32_t *tensor = some_f32(16411, &elements);
    ref_tensor(CAIRN_F32, tensor, CAIRN_F64, elements);
    ref_tensor(CAIRN_F32, tensor, CAIRN_F32, elements);
    ref_tensor(CAIRN_FLEX32, tensor, CAIRN_F64, elements);
    ref_tensor(CAIRN_F32, tensor, CAIRN_FLEX32, elements);
    free(tensor);
}

static uint64_t some_next(uint64_t *io_state)
{
    *io_state ^= *io_state << 13;
    *io_state ^= *io_state >> 7;
    *io_state ^= *io_state << 17;
    return *io_state;
}

/* Of a target with `kept` bits: the middle between two values, a hair beside it, or neither. */
static uint64_t some_mantissa(uint64_t random, unsigned which)
{
    static const unsigned kept[] = { 7, 10, 23 };
    const uint64_t all = (UINT64_C(1) << 52) - 1;
    uint64_t half = UINT64_C(1) << (51 - kept[which % 3]);
    uint64_t middle = ((random & all) & ~(2 * half - 1)) | half;
    switch (which / 3 % 5) {
    case 0:
        return middle;
    case 1:
        return middle - 1;
    case 2:
        return middle + 1;
    case 3:
        return all & ~(random & 3);
    default:
        return random & all;
    }
}

CASE(convert, f64_of_all_exponents)
{
    const size_t each = 60;
    size_t elements = 4096 * each;
    uint64_t *tensor = calloc(elements, sizeof *tensor);
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    cr_assert_not_null(tensor);
    cr_log_info("seed %llx", (unsigned long long)state);
    for (size_t i = 0; i < elements; i++) {
        tensor[i] = (uint64_t)(i / each) << 52 | some_mantissa(some_next(&state), (unsigned)i);
    }
    for (size_t t = 0; ref_targets[t] != 0; t++) {
        ref_tensor(CAIRN_F64, tensor, ref_targets[t], elements);
    }
    free(tensor);
}

/* What of the processor's state could matter: each rounding mode, with subnormals and without. */
static void convert_under(int mode, bool flush, uint32_t from, uint32_t to, void *dst)
{
    size_t elements = 0;
    uint32_t *tensor = some_f32(131071, &elements); /* as bytes they do for any type */
    struct convert_count count = { 0 };
    cr_assert_eq(fesetround(mode), 0);
#if defined __x86_64__
    unsigned before = _mm_getcsr();
    _mm_setcsr(flush ? before | 0x8040 : before); /* FTZ, DAZ */
#endif
    convert_values(from, tensor, to, dst, elements / 2, &count);
#if defined __x86_64__
    _mm_setcsr(before);
#else
    (void)flush;
#endif
    cr_assert_eq(fesetround(FE_TONEAREST), 0);
    memcpy((uint8_t *)dst + elements / 2 * (dtype_find(to)->bits / 8), &count, sizeof count);
    free(tensor);
}

CASE(convert, E3_no_rounding_mode_and_no_flushing_matters)
{
    static const int modes[] = { FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO };
    const size_t bytes = (size_t)UINT32_MAX / 131071 * 4 + sizeof(struct convert_count);
    uint8_t *plain = calloc(1, bytes);
    uint8_t *other = calloc(1, bytes);
    cr_assert(plain != NULL && other != NULL);
    for (size_t f = 0; ref_floats[f] != 0; f++) {
        for (size_t t = 0; ref_targets[t] != 0; t++) {
            convert_under(FE_TONEAREST, false, ref_floats[f], ref_targets[t], plain);
            for (size_t m = 0; m < 8; m++) {
                convert_under(modes[m / 2], m % 2 != 0, ref_floats[f], ref_targets[t], other);
                cr_assert_eq(memcmp(plain, other, bytes), 0);
            }
        }
    }
    free(other);
    free(plain);
}

/* One loop of each of the two tables, on tensors of every length, so that their tails are seen. */
static void convert_twins(convert_fn *plain, convert_fn *fast, const void *src)
{
    uint64_t a[CONVERT_BLOCK] = { 0 };
    uint64_t b[CONVERT_BLOCK] = { 0 };
    if (plain == NULL || fast == NULL) {
        cr_assert_eq(plain, fast);
        return;
    }
    for (size_t n = 0; n <= CONVERT_BLOCK; n = n < 70 ? n + 1 : n * 2) {
        cr_assert_eq(plain(src, a, n), fast(src, b, n));
        cr_assert_eq(memcmp(a, b, sizeof a), 0);
    }
    cr_assert_eq(plain(src, a, CONVERT_BLOCK), fast(src, b, CONVERT_BLOCK));
    cr_assert_eq(memcmp(a, b, sizeof a), 0);
}

CASE(convert, loops_for_newer_processors_agree_with_the_plain_ones)
{
    uint64_t src[CONVERT_BLOCK];
    uint64_t state = 88172645463325252;
    if (convert_wide() == convert_wide_plain) {
        return; /* this processor has only those */
    }
    for (size_t round = 0; round < 200; round++) {
        for (size_t i = 0; i < CONVERT_BLOCK; i++) { /* many near the targets' ranges */
            uint64_t random = some_next(&state);
            float small = (float)(random >> 32) * (i % 2 == 0 ? 0x1p-20f : 0x1p-50f);
            src[i] = random % 4 == 0 ? random : f64_bits((double)random * 0x1p-80);
            src[i] = random % 4 == 1 ? f32_bits(small) << 32 | f32_bits(-small / 3) : src[i];
        }
        for (size_t i = 0; convert_wide_plain[i].dtype != 0; i++) {
            cr_assert_eq(convert_wide_plain[i].dtype, convert_wide_fast[i].dtype);
            convert_twins(convert_wide_plain[i].to_f32, convert_wide_fast[i].to_f32, src);
            convert_twins(convert_wide_plain[i].from_f32, convert_wide_fast[i].from_f32, src);
            convert_twins(convert_wide_plain[i].from_f64, convert_wide_fast[i].from_f64, src);
        }
    }
}
