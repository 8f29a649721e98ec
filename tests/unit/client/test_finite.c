/* NaN and infinities: every pattern of the narrow types and each class of the wide ones, as the C
 * library sees their values once they are converted. */
#include <cairn/dtype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/convert.h"
#include "record/dtype.h"
#include "record/finite.h"
#include "support/case.h"

#define BLOCK ((size_t)32 << 10)

static struct nonfinite count_in(uint32_t dtype, const void *data, size_t bytes)
{
    struct nonfinite n = { 0 };
    finite_add(dtype, data, bytes, &n);
    return n;
}

static void is(struct nonfinite found, uint64_t nan, uint64_t inf, const char *what)
{
    cr_assert(found.nan == nan && found.inf == inf,
              "%s: %llu NaN and %llu Inf, expected %llu and %llu",
              what,
              (unsigned long long)found.nan,
              (unsigned long long)found.inf,
              (unsigned long long)nan,
              (unsigned long long)inf);
}

/* What an element is, by its value as F32. */
static struct nonfinite class_of(uint32_t dtype, const void *at)
{
    float value = 0;
    struct convert_count count = { 0 };
    convert_values(dtype, at, CAIRN_F32, &value, 1, &count);
    return (struct nonfinite){ isnan(value) != 0, isinf(value) != 0 };
}

/* Alone, and all of them together. */
static void every_pattern(uint32_t dtype, size_t unit)
{
    size_t count = (size_t)1 << 8 * unit;
    uint8_t *all = malloc(count * unit);
    struct nonfinite sum = { 0 };
    cr_assert_not_null(all);
    for (size_t v = 0; v < count; v++) {
        uint16_t pattern = (uint16_t)v;
        memcpy(all + v * unit, &pattern, unit);
        struct nonfinite want = class_of(dtype, all + v * unit);
        is(count_in(dtype, all + v * unit, unit), want.nan, want.inf, dtype_name(dtype));
        nonfinite_sum(&sum, &want);
    }
    is(count_in(dtype, all, count * unit), sum.nan, sum.inf, dtype_name(dtype));
    free(all);
}

CASE(finite, V4_each_pattern_of_8_and_16_bits_is_what_its_value_is)
{
    static const uint32_t bytes[] = { CAIRN_F8_E4M3FN,   CAIRN_F8_E5M2,    CAIRN_F8_E4M3FNUZ,
                                      CAIRN_F8_E5M2FNUZ, CAIRN_F8_E8M0FNU, CAIRN_F8_UE4M3 };
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        every_pattern(bytes[i], 1);
    }
    every_pattern(CAIRN_F16, 2);
    every_pattern(CAIRN_BF16, 2);
}

/* Zero, the smallest and the largest of each class, and one between. */
CASE(finite, each_class_of_32_and_64_bits)
{
    static const uint32_t f32[] = { 0,          1,          0x007fffff, 0x00800000,
                                    0x3f800000, 0x7f7fffff, 0x7f800000, 0x7f800001,
                                    0x7fbfffff, 0x7fc00000, 0x7fffffff };
    static const uint64_t f64[] = { 0,
                                    1,
                                    UINT64_C(0x000fffffffffffff),
                                    UINT64_C(0x0010000000000000),
                                    UINT64_C(0x3ff0000000000000),
                                    UINT64_C(0x7fe00000ffffffff),
                                    UINT64_C(0x7fefffffffffffff),
                                    UINT64_C(0x7ff0000000000000),
                                    UINT64_C(0x7ff0000000000001),
                                    UINT64_C(0x7ff00000ffffffff),
                                    UINT64_C(0x7ff8000000000000),
                                    INT64_MAX };
    for (size_t i = 0; i < 2 * sizeof f32 / sizeof f32[0]; i++) {
        uint32_t v = f32[i / 2] | (uint32_t)(i % 2) << 31;
        float value = 0;
        memcpy(&value, &v, sizeof value);
        is(count_in(CAIRN_F32, &v, sizeof v), isnan(value) != 0, isinf(value) != 0, "F32");
        is(count_in(CAIRN_FLEX32, &v, sizeof v), isnan(value) != 0, isinf(value) != 0, "FLEX32");
    }
    for (size_t i = 0; i < 2 * sizeof f64 / sizeof f64[0]; i++) {
        uint64_t v = f64[i / 2] | (uint64_t)(i % 2) << 63;
        double value = 0;
        memcpy(&value, &v, sizeof value);
        is(count_in(CAIRN_F64, &v, sizeof v), isnan(value) != 0, isinf(value) != 0, "F64");
    }
}

/* One element, whatever both of its numbers are; NaN before infinity. */
CASE(finite, a_complex_number_counts_once)
{
    static const uint16_t c32[] = {
        0x3c00, 0x3c00, 0x7e00, 0x3c00, 0x3c00, 0xfe01, 0x7c00, 0x0000,
        0x0001, 0xfc00, 0x7c00, 0xfc00, 0x7c00, 0x7d01, 0x7e00, 0x7e00
    };
    uint32_t c64[16];
    uint64_t c128[16];
    struct convert_count unused = { 0 };
    convert_values(CAIRN_F16, c32, CAIRN_F32, c64, 16, &unused);
    convert_values(CAIRN_F16, c32, CAIRN_F64, c128, 16, &unused);
    is(count_in(CAIRN_C32, c32, sizeof c32), 4, 3, "C32");
    is(count_in(CAIRN_C64, c64, sizeof c64), 4, 3, "C64");
    is(count_in(CAIRN_C128, c128, sizeof c128), 4, 3, "C128");
}

CASE(finite, what_has_none_is_not_looked_at)
{
    uint8_t ones[192];
    size_t looked = 0;
    memset(ones, 0xff, sizeof ones);
    for (size_t i = 0; dtype_at(i) != NULL; i++) {
        const struct dtype *d = dtype_at(i);
        bool has = (d->category == DTYPE_FLOAT || d->category == DTYPE_COMPLEX) && d->bits >= 8;
        bool fnuz = d->code == CAIRN_F8_E4M3FNUZ || d->code == CAIRN_F8_E5M2FNUZ;
        is(count_in(d->code, ones, sizeof ones),
           has && !fnuz ? sizeof ones * 8 / d->bits : 0,
           0,
           d->name);
        cr_assert_eq(finite_form_of(d->code) != NULL, has, "%s", d->name);
        looked += has;
    }
    cr_assert_eq(looked, 14);
    is(count_in(0, ones, sizeof ones), 0, 0, "no dtype");
    is(count_in(CAIRN_F32, NULL, 0), 0, 0, "no bytes");
}

/* ---- blocks ---- */

static const uint32_t ieee[] = { CAIRN_F64, CAIRN_F32, CAIRN_F16, CAIRN_BF16, CAIRN_F8_E5M2 };

/* One infinity, first or last of a block or of all, at an address that no vector likes. */
CASE(finite, is_found_at_the_edge_of_a_block)
{
    static const size_t lengths[] = { 64, BLOCK - 64, BLOCK, BLOCK + 64, 3 * BLOCK + 4096 };
    uint8_t *data = calloc(1, 4 * BLOCK + 1);
    cr_assert_not_null(data);
    for (size_t d = 0; d < sizeof ieee / sizeof ieee[0]; d++) {
        const struct finite_form *f = finite_form_of(ieee[d]);
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            const size_t places[] = { 0, BLOCK - f->unit_bytes, BLOCK, lengths[i] - f->unit_bytes };
            for (size_t p = 0; p < 4; p++) {
                uint8_t *at = data + 1 + places[p];
                bool inside = places[p] < lengths[i];
                memcpy(at, &f->inf, f->unit_bytes);
                is(count_in(ieee[d], data + 1, lengths[i]), 0, inside, dtype_name(ieee[d]));
                memset(at, 0, f->unit_bytes);
            }
        }
    }
    free(data);
}

/* Blocks in which all are NaN, more than 16 bits can count, and one behind them that has none. */
CASE(finite, counts_are_exact_when_there_are_many)
{
    size_t bytes = 5 * BLOCK;
    uint8_t *data = malloc(bytes);
    cr_assert_not_null(data);
    memset(data, 0xff, bytes);
    memset(data + 4 * BLOCK, 0x11, BLOCK);
    struct nonfinite n = { .nan = 1, .inf = 2 };
    finite_add(CAIRN_F8_E5M2, data, bytes, &n);
    is(n, 1 + 4 * BLOCK, 2, "added to what was counted before");
    free(data);
}

/* Each set of instructions says what the plain loops say, of any bytes and any number of them. */
CASE(finite, is_the_same_with_all_vectors)
{
    static uint8_t data[4096 + 16];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof data; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (x >> 24) < 128 ? 0x7f : (uint8_t)(x >> 16);
    }
    for (size_t d = 0; dtype_at(d) != NULL; d++) {
        const struct finite_form *f = finite_form_of(dtype_at(d)->code);
        for (size_t s = 0; f != NULL && f->without_sign != 0 && s < finite_set_count; s++) {
            for (size_t n = 0; finite_sets[s]->usable() && n < 200; n++) {
                struct nonfinite want = { 0 };
                struct nonfinite found = { 0 };
                const uint8_t *at = data + n % 13;
                finite_sets[0]->count(f, at, n, &want);
                finite_sets[s]->count(f, at, n, &found);
                is(found, want.nan, want.inf, finite_sets[s]->name);
                cr_assert_eq(finite_sets[s]->any(f, at, n * f->parts),
                             nonfinite_any(&want),
                             "%s: %zu",
                             finite_sets[s]->name,
                             n);
            }
        }
    }
}

/* ---- what they mean ---- */

CASE(finite, no_more_than_there_are_elements_of_a_type_that_has_them)
{
    const struct nonfinite none = { 0 };
    const struct nonfinite both = { 2, 3 };
    const struct nonfinite nan = { .nan = 5 };
    cr_assert(nonfinite_possible(CAIRN_I8, 0, &none));
    cr_assert(nonfinite_possible(CAIRN_F32, 5, &both));
    cr_assert_not(nonfinite_possible(CAIRN_F32, 4, &both));
    cr_assert_not(nonfinite_possible(CAIRN_F32, 4, &nan));
    cr_assert_not(nonfinite_possible(CAIRN_I32, 5, &both));
    cr_assert_not(nonfinite_possible(CAIRN_F4_E2M1, 5, &both));
    cr_assert_not(nonfinite_possible(CAIRN_F8_E4M3FN, 5, &both), "it has no infinity");
    cr_assert(nonfinite_possible(CAIRN_F8_E4M3FN, 5, &nan));
    const struct nonfinite most = { UINT64_MAX, UINT64_MAX };
    cr_assert_not(nonfinite_possible(CAIRN_F32, UINT64_MAX, &most), "the sum may overflow");
}

CASE(finite, V1_V2_V3_only_what_is_trained_spoils_a_boundary)
{
    struct entry e = { .nonfinite = { .nan = 1 } };
    for (uint32_t component = COMPONENT_NONE; component < COMPONENT_NR; component++) {
        e.flags = ENTRY_HAS_ID;
        cr_assert_eq(finite_spoils((enum component)component, &e),
                     component == COMPONENT_OPTIMIZER);
        e.flags = ENTRY_TRAINABLE;
        cr_assert_eq(finite_spoils((enum component)component, &e),
                     component == COMPONENT_OPTIMIZER || component == COMPONENT_MODEL);
    }
    e.nonfinite = (struct nonfinite){ .inf = 1 };
    cr_assert(finite_spoils(COMPONENT_MODEL, &e));
    e.nonfinite = (struct nonfinite){ 0 };
    cr_assert_not(finite_spoils(COMPONENT_MODEL, &e));
}
