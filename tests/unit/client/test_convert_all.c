/* Every F32 there is, to F16 and to BF16. The patterns go up, and so do the results: a result is
 * right as long as the number is not beyond the middle between it and the next. */
#include <cairn/record.h>
#include <stdlib.h>
#include <string.h>

#include "convert_ref.h"
#include "lib/convert.h"
#include "support/case.h"

enum { ALL_BLOCK = 1 << 16 };

struct all {
    uint32_t to;
    double border[32769]; /* between a pattern and the next; the last two are not reached */
    uint32_t special;     /* the infinity; above are NaN */
    uint32_t at;          /* the pattern that is right now */
    uint64_t changed;
};

static void all_borders(struct all *a)
{
    for (uint32_t i = 0; i < a->special; i++) {
        double here = ref_decode(a->to, i).size;
        struct ref_value next = ref_decode(a->to, i + 1);
        double step = here - (i == 0 ? 0 : ref_decode(a->to, i - 1).size);
        a->border[i] = (here + (next.class == REF_INFINITE ? here + step : next.size)) / 2;
    }
}

/* Moves on to the pattern that is right for a number not smaller than the last. */
static uint32_t all_nearest(struct all *a, double size)
{
    while (a->at < a->special &&
           (size > a->border[a->at] || (size == a->border[a->at] && a->at % 2 != 0))) {
        a->at++;
    }
    return a->at;
}

static bool all_number(struct all *a, uint32_t bits, uint32_t result)
{
    float size = 0;
    memcpy(&size, &bits, sizeof size);
    bool infinite = bits == 0x7f800000 && result == a->special;
    a->changed += infinite || ref_decode(a->to, result).size == (double)size ? 0 : 1;
    return result == all_nearest(a, (double)size);
}

static bool all_nan(struct all *a, uint32_t bits, uint32_t result)
{
    a->changed += ref_changed(CAIRN_F32, bits, a->to, result) ? 1 : 0;
    return ref_right(CAIRN_F32, bits, a->to, result);
}

static void all_block(struct all *a, const uint32_t *src, const uint16_t *dst)
{
    for (uint32_t i = 0; i < ALL_BLOCK; i++) {
        uint32_t bits = src[i] & 0x7fffffff;
        uint32_t result = dst[i] & 0x7fffu;
        bool right = bits <= 0x7f800000 ? all_number(a, bits, result) : all_nan(a, bits, result);
        if (!right || dst[i] >> 15 != src[i] >> 31) {
            cr_assert_fail("%x to %x", src[i], dst[i]);
        }
    }
}

static void all_values(uint32_t to, uint32_t special)
{
    struct all *a = calloc(1, sizeof *a);
    uint32_t *src = calloc(ALL_BLOCK, sizeof *src);
    uint16_t *dst = calloc(ALL_BLOCK, sizeof *dst);
    struct convert_count count = { 0 };
    cr_assert(a != NULL && src != NULL && dst != NULL);
    a->to = to;
    a->special = special;
    all_borders(a);
    for (uint64_t first = 0; first <= UINT32_MAX; first += ALL_BLOCK) {
        for (uint32_t i = 0; i < ALL_BLOCK; i++) {
            src[i] = (uint32_t)first + i;
        }
        a->at = first == UINT64_C(1) << 31 ? 0 : a->at; /* the negative ones begin again */
        convert_values(CAIRN_F32, src, to, dst, ALL_BLOCK, &count);
        all_block(a, src, dst);
        cr_assert_eq(count.changed, a->changed);
    }
    cr_assert_eq(count.done, UINT64_C(1) << 32);
    free(dst);
    free(src);
    free(a);
}

CASE(convert_all, every_f32_to_f16, .timeout = 3600)
{
    all_values(CAIRN_F16, 0x7c00);
}

CASE(convert_all, every_f32_to_bf16, .timeout = 3600)
{
    all_values(CAIRN_BF16, 0x7f80);
}
