#include "convert_ref.h"

#include <cairn/record.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/convert.h"
#include "record/dtype.h"
#include "support/case.h"

const uint32_t ref_floats[15] = {
    CAIRN_F64,       CAIRN_F32,     CAIRN_FLEX32,      CAIRN_F16,         CAIRN_BF16,
    CAIRN_F8_E4M3FN, CAIRN_F8_E5M2, CAIRN_F8_E4M3FNUZ, CAIRN_F8_E5M2FNUZ, CAIRN_F8_E8M0FNU,
    CAIRN_F8_UE4M3,  CAIRN_F6_E2M3, CAIRN_F6_E3M2,     CAIRN_F4_E2M1,
};
const uint32_t ref_targets[6] = { CAIRN_F64, CAIRN_F32, CAIRN_FLEX32, CAIRN_F16, CAIRN_BF16 };

enum ref_special { REF_IEEE, REF_FN, REF_FNUZ, REF_FINITE };

/* Written down from the table of the record's types, not from the code under test. */
struct ref_format {
    int exponent;
    int mantissa;
    int bias;
    enum ref_special special;
};

static const struct ref_format ref_formats[] = {
    [CAIRN_F64] = { 11, 52, 1023, REF_IEEE },     [CAIRN_F32] = { 8, 23, 127, REF_IEEE },
    [CAIRN_FLEX32] = { 8, 23, 127, REF_IEEE },    [CAIRN_F16] = { 5, 10, 15, REF_IEEE },
    [CAIRN_BF16] = { 8, 7, 127, REF_IEEE },       [CAIRN_F8_E4M3FN] = { 4, 3, 7, REF_FN },
    [CAIRN_F8_E5M2] = { 5, 2, 15, REF_IEEE },     [CAIRN_F8_E4M3FNUZ] = { 4, 3, 8, REF_FNUZ },
    [CAIRN_F8_E5M2FNUZ] = { 5, 2, 16, REF_FNUZ }, [CAIRN_F8_E8M0FNU] = { 8, 0, 127, REF_FN },
    [CAIRN_F8_UE4M3] = { 4, 3, 7, REF_FN },       [CAIRN_F6_E2M3] = { 2, 3, 1, REF_FINITE },
    [CAIRN_F6_E3M2] = { 3, 2, 3, REF_FINITE },    [CAIRN_F4_E2M1] = { 2, 1, 1, REF_FINITE },
};

static const uint64_t ref_quiet = UINT64_C(1) << 51;

static struct ref_value ref_e8m0(uint64_t bits)
{
    if (bits == 0xff) {
        return (struct ref_value){ .class = REF_NAN, .payload = ref_quiet };
    }
    return (struct ref_value){ .size = ldexp(1.0, (int)bits - 127) };
}

struct ref_value ref_decode(uint32_t dtype, uint64_t bits)
{
    const struct ref_format f = ref_formats[dtype];
    if (dtype == CAIRN_F8_E8M0FNU) {
        return ref_e8m0(bits);
    }
    if (f.special == REF_FNUZ && bits == 0x80) {
        return (struct ref_value){ .class = REF_NAN, .payload = ref_quiet };
    }
    struct ref_value ret = { .negative = bits >> (f.exponent + f.mantissa) != 0 };
    uint64_t field = bits >> f.mantissa & ((UINT64_C(1) << f.exponent) - 1);
    uint64_t low = bits & ((UINT64_C(1) << f.mantissa) - 1);
    bool top = field == (UINT64_C(1) << f.exponent) - 1;
    bool ones = low == (UINT64_C(1) << f.mantissa) - 1;
    if (top && ((f.special == REF_IEEE && low != 0) || (f.special == REF_FN && ones))) {
        ret.class = REF_NAN;
        ret.payload = low << (52 - f.mantissa);
    } else if (top && f.special == REF_IEEE) {
        ret.class = REF_INFINITE;
    } else if (field == 0) {
        ret.size = ldexp((double)low, 1 - f.bias - f.mantissa);
    } else {
        ret.size =
            ldexp((double)(low | UINT64_C(1) << f.mantissa), (int)field - f.bias - f.mantissa);
    }
    return ret;
}

/* The value of the pattern, an infinity counting as the number that would come there. */
static double ref_place(uint32_t dtype, uint64_t pattern)
{
    struct ref_value v = ref_decode(dtype, pattern);
    const struct ref_format f = ref_formats[dtype];
    return v.class == REF_INFINITE ? ldexp(1.0, 1 << (f.exponent - 1)) : v.size;
}

/* Nearest, and when as near as a neighbour, even. `size` is not negative, nor is the pattern. */
static bool ref_nearest(uint32_t dtype, double size, uint64_t pattern)
{
    double here = ref_place(dtype, pattern);
    if (dtype == CAIRN_F64 || size == here) {
        return size == here;
    }
    bool even = (pattern & 1) == 0;
    struct ref_value v = ref_decode(dtype, pattern);
    if (size < here) { /* halves and sums of values of the narrower types are exact in a double */
        double border = (ref_place(dtype, pattern - 1) + here) / 2;
        return size > border || (size == border && even);
    }
    if (v.class == REF_INFINITE) {
        return true;
    }
    double border = (ref_place(dtype, pattern + 1) + here) / 2;
    return size < border || (size == border && even);
}

bool ref_right(uint32_t from, uint64_t bits, uint32_t to, uint64_t result)
{
    struct ref_value was = ref_decode(from, bits);
    struct ref_value is = ref_decode(to, result);
    int mantissa = ref_formats[to].mantissa;
    if (was.negative != is.negative) {
        return false;
    }
    if (was.class == REF_NAN) {
        uint64_t kept = was.payload >> (52 - mantissa) << (52 - mantissa);
        return is.class == REF_NAN && is.payload == (kept == 0 ? ref_quiet : kept);
    }
    if (was.class == REF_INFINITE || is.class == REF_NAN) {
        return was.class == is.class;
    }
    uint64_t sign = UINT64_C(1) << (dtype_find(to)->bits - 1);
    return ref_nearest(to, was.size, result & ~sign);
}

bool ref_changed(uint32_t from, uint64_t bits, uint32_t to, uint64_t result)
{
    struct ref_value was = ref_decode(from, bits);
    struct ref_value is = ref_decode(to, result);
    return was.class != is.class || was.negative != is.negative || was.size != is.size ||
           was.payload != is.payload;
}

uint64_t ref_get(uint32_t dtype, const void *tensor, size_t i)
{
    const uint8_t *bytes = tensor;
    uint32_t width = dtype_find(dtype)->bits;
    uint64_t ret = 0;
    if (width >= 8) {
        memcpy(&ret, bytes + i * (width / 8), width / 8);
        return ret;
    }
    for (uint32_t b = 0; b < width; b++) {
        size_t at = i * width + b;
        ret |= (uint64_t)(bytes[at / 8] >> at % 8 & 1) << b;
    }
    return ret;
}

void ref_put(uint32_t dtype, void *tensor, size_t i, uint64_t bits)
{
    uint8_t *bytes = tensor;
    uint32_t width = dtype_find(dtype)->bits;
    if (width >= 8) {
        memcpy(bytes + i * (width / 8), &bits, width / 8);
        return;
    }
    for (uint32_t b = 0; b < width; b++) {
        size_t at = i * width + b;
        bytes[at / 8] = (uint8_t)((bytes[at / 8] & ~(1u << at % 8)) | (bits >> b & 1) << at % 8);
    }
}

/* Pieces of 8, 16, 24, ... elements, so that they also end in every place of the inner blocks. */
static void ref_pieces(uint32_t from, const uint8_t *src, uint32_t to, void *dst, size_t elements)
{
    const uint8_t *whole = dst;
    uint32_t width = dtype_find(to)->bits / 8;
    uint8_t *again = calloc(elements, width);
    struct convert_count once = { 0 };
    struct convert_count sum = { 0 };
    cr_assert_not_null(again);
    convert_values(from, src, to, dst, elements, &once);
    for (size_t at = 0, piece = 8; at < elements; piece = piece < 1536 ? piece + 8 : 8) {
        size_t n = elements - at < piece ? elements - at : piece;
        convert_values(
            from, src + at / 8 * dtype_find(from)->bits, to, again + at * width, n, &sum);
        at += n;
    }
    cr_assert_eq(memcmp(whole, again, elements * width), 0, "%u to %u", from, to);
    cr_assert_eq(memcmp(&once, &sum, sizeof sum), 0, "%u to %u", from, to);
    free(again);
}

void ref_tensor(uint32_t from, const void *src, uint32_t to, size_t elements)
{
    uint8_t *dst = calloc(elements, dtype_find(to)->bits / 8);
    struct convert_count is = { 0 };
    struct convert_count want = { .done = elements };
    cr_assert_not_null(dst);
    convert_values(from, src, to, dst, elements, &is);
    for (size_t i = 0; i < elements; i++) {
        uint64_t bits = ref_get(from, src, i);
        uint64_t result = ref_get(to, dst, i);
        if (!ref_right(from, bits, to, result)) {
            cr_assert_fail("%s %llx to %s: %llx",
                           dtype_name(from),
                           (unsigned long long)bits,
                           dtype_name(to),
                           (unsigned long long)result);
        }
        if (ref_changed(from, bits, to, result)) {
            want.first_changed = want.changed == 0 ? i : want.first_changed;
            want.changed++;
        }
    }
    cr_assert_eq(is.done, want.done);
    cr_assert_eq(is.changed, want.changed, "%s to %s", dtype_name(from), dtype_name(to));
    cr_assert_eq(is.first_changed, want.first_changed);
    cr_assert_eq(is.out_of_range, 0);
    ref_pieces(from, src, to, dst, elements);
    free(dst);
}
