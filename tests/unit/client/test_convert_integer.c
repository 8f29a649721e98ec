/* Integers in another type, the counts, which pairs there are, and which type a precision wants. */
#include <cairn/record.h>
#include <stdlib.h>
#include <string.h>

#include "convert_ref.h"
#include "lib/convert.h"
#include "record/dtype.h"
#include "support/case.h"

#define COUNT_OF(ARRAY) (sizeof(ARRAY) / sizeof(ARRAY)[0])

static const uint32_t integer_sources[] = { CAIRN_I64, CAIRN_I32, CAIRN_I16, CAIRN_I8,
                                            CAIRN_U64, CAIRN_U32, CAIRN_U16, CAIRN_U8 };
static const uint32_t integer_targets[] = { CAIRN_I16, CAIRN_I32, CAIRN_I64 };

/* The number a pattern stands for: a sign and a size hold those of all types. */
struct integer {
    bool negative;
    uint64_t size;
};

static struct integer integer_number(uint32_t dtype, uint64_t bits)
{
    const struct dtype *d = dtype_find(dtype);
    bool negative = d->category == DTYPE_INT && (bits >> (d->bits - 1) & 1) != 0;
    uint64_t ones = UINT64_MAX >> (64 - d->bits);
    return (struct integer){ negative, negative ? (ones - bits) + 1 : bits };
}

static bool integer_fits(uint32_t dtype, struct integer number)
{
    uint64_t beyond = UINT64_C(1) << (dtype_find(dtype)->bits - 1);
    return number.negative ? number.size <= beyond : number.size < beyond;
}

static void integer_tensor(uint32_t from, const void *src, uint32_t to, size_t elements)
{
    uint8_t *dst = malloc(elements * 8);
    struct convert_count is = { 0 };
    struct convert_count want = { .done = elements };
    cr_assert_not_null(dst);
    memset(dst, 0xa5, elements * 8);
    convert_values(from, src, to, dst, elements, &is);
    for (size_t i = 0; i < elements; i++) {
        struct integer number = integer_number(from, ref_get(from, src, i));
        bool fits = integer_fits(to, number);
        if (!fits) {
            want.first_out_of_range = want.out_of_range == 0 ? i : want.first_out_of_range;
            want.out_of_range++;
        }
        struct integer result = integer_number(to, ref_get(to, dst, i));
        number = fits ? number : (struct integer){ 0 };
        if (result.negative != number.negative || result.size != number.size) {
            cr_assert_fail("%s to %s at %zu", dtype_name(from), dtype_name(to), i);
        }
    }
    cr_assert_eq(memcmp(&is, &want, sizeof is), 0, "%s to %s", dtype_name(from), dtype_name(to));
    free(dst);
}

/* All patterns of 16 bits; wider ones are what is near a power of two, both signs. */
static uint8_t *integer_values(uint32_t dtype, size_t *ret_elements)
{
    uint32_t bits = dtype_find(dtype)->bits;
    *ret_elements = 65536;
    uint8_t *tensor = calloc(*ret_elements, 8);
    cr_assert_not_null(tensor);
    for (size_t i = 0; i < *ret_elements; i++) {
        uint64_t near = (UINT64_C(1) << i / 16 % 64) + i % 16 - 8;
        ref_put(dtype, tensor, i, bits <= 16 ? i : i / 1024 % 2 == 0 ? near : 0 - near);
    }
    return tensor;
}

CASE(convert, integers_of_all_widths_to_every_target)
{
    for (size_t s = 0; s < COUNT_OF(integer_sources); s++) {
        size_t elements = 0;
        uint8_t *tensor = integer_values(integer_sources[s], &elements);
        for (size_t t = 0; t < COUNT_OF(integer_targets); t++) {
            integer_tensor(integer_sources[s], tensor, integer_targets[t], elements);
        }
        free(tensor);
    }
}

CASE(convert, E7_integers_are_never_wrapped)
{
    static const uint64_t values[] = { 7, (UINT64_C(1) << 53) + 1, INT64_MAX, UINT64_MAX };
    int64_t wide[4] = { 0 };
    int32_t narrow[4] = { 0 };
    struct convert_count count = { 0 };
    convert_values(CAIRN_U64, values, CAIRN_I64, wide, 4, &count);
    cr_assert_eq(wide[1], 9007199254740993);
    cr_assert_eq(wide[2], INT64_MAX);
    cr_assert_eq(wide[3], 0);
    cr_assert_eq(count.out_of_range, 1);
    cr_assert_eq(count.first_out_of_range, 3);
    cr_assert_eq(count.changed, 0);

    count = (struct convert_count){ 0 };
    convert_values(CAIRN_I64, values, CAIRN_I32, narrow, 4, &count); /* the last one is -1 */
    cr_assert_eq(narrow[0], 7);
    cr_assert_eq(narrow[1], 0);
    cr_assert_eq(narrow[3], -1);
    cr_assert_eq(count.out_of_range, 2);
    cr_assert_eq(count.first_out_of_range, 1);
}

/* The first loss may be in any block, at any place, and is counted from the tensor's beginning. */
CASE(convert, first_loss_counts_from_the_first_block)
{
    enum { ELEMENTS = 4000, BLOCK = 1600 };
    float *src = calloc(ELEMENTS, sizeof *src);
    uint16_t *dst = calloc(ELEMENTS, sizeof *dst);
    cr_assert(src != NULL && dst != NULL);
    for (size_t lost = 0; lost < ELEMENTS; lost += 37) {
        struct convert_count count = { 0 };
        src[lost] = 0.1f;
        src[ELEMENTS - 1] = 0.1f;
        for (size_t at = 0; at < ELEMENTS; at += BLOCK) {
            size_t n = ELEMENTS - at < BLOCK ? ELEMENTS - at : BLOCK;
            convert_values(CAIRN_F32, src + at, CAIRN_F16, dst + at, n, &count);
        }
        cr_assert_eq(count.done, ELEMENTS);
        cr_assert_eq(count.changed, 2);
        cr_assert_eq(count.first_changed, lost);
        src[lost] = 0;
    }
    free(dst);
    free(src);
}

CASE(convert, nothing_need_be_aligned)
{
    uint8_t src[8 * 40 + 1];
    uint8_t aligned[8 * 40];
    uint8_t straight[8 * 40];
    uint8_t shifted[8 * 40 + 1];
    for (size_t i = 0; i < sizeof aligned; i++) {
        aligned[i] = (uint8_t)(i * 151 + i / 7);
    }
    memcpy(src + 1, aligned, sizeof aligned);
    for (size_t f = 0; ref_floats[f] != 0; f++) {
        for (size_t t = 0; ref_targets[t] != 0; t++) {
            size_t bytes = (size_t)dtype_find(ref_targets[t])->bits / 8 * 40;
            struct convert_count a = { 0 };
            struct convert_count b = { 0 };
            convert_values(ref_floats[f], aligned, ref_targets[t], straight, 40, &a);
            convert_values(ref_floats[f], src + 1, ref_targets[t], shifted + 1, 40, &b);
            cr_assert_eq(memcmp(straight, shifted + 1, bytes), 0);
            cr_assert_eq(memcmp(&a, &b, sizeof a), 0);
        }
    }
}

CASE(convert, an_empty_tensor_changes_nothing)
{
    uint64_t dst = 42;
    struct convert_count count = { .done = 3, .changed = 1, .first_changed = 2 };
    convert_values(CAIRN_F32, &dst, CAIRN_F16, &dst, 0, &count);
    cr_assert_eq(dst, 42);
    cr_assert(count.done == 3 && count.changed == 1 && count.first_changed == 2);
}

static bool integer_is_in(uint32_t dtype, const uint32_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == dtype) {
            return true;
        }
    }
    return false;
}

CASE(convert, known_pairs_are_those_that_are_promised)
{
    for (uint32_t from = 0; from < 80; from++) {
        for (uint32_t to = 0; to < 80; to++) {
            bool floats = integer_is_in(from, ref_floats, COUNT_OF(ref_floats) - 1) &&
                          integer_is_in(to, ref_targets, COUNT_OF(ref_targets) - 1);
            bool integers = integer_is_in(from, integer_sources, COUNT_OF(integer_sources)) &&
                            integer_is_in(to, integer_targets, COUNT_OF(integer_targets));
            cr_assert_eq(convert_known(from, to), floats || integers, "%u to %u", from, to);
        }
    }
}

/* R05: what a precision stores, type by type; and it can always be had. */
CASE(convert, R05_precision_decides_the_value_type)
{
    static const uint32_t floating[] = { 0, CAIRN_F32, CAIRN_F16, CAIRN_F64 };
    static const uint32_t integer[] = { 0, CAIRN_I32, CAIRN_I16, CAIRN_I64 };
    for (size_t i = 0; dtype_at(i) != NULL; i++) {
        uint32_t code = dtype_at(i)->code;
        bool is_float = integer_is_in(code, ref_floats, COUNT_OF(ref_floats) - 1);
        bool is_integer = integer_is_in(code, integer_sources, COUNT_OF(integer_sources));
        cr_assert_eq(precision_dtype(PRECISION_NATIVE, code), code);
        for (uint32_t p = PRECISION_FULL; p <= PRECISION_DOUBLE; p++) {
            uint32_t want = is_float ? floating[p] : is_integer ? integer[p] : code;
            cr_assert_eq(precision_dtype((enum precision)p, code), want, "%u", code);
            cr_assert_eq(convert_known(code, want), is_float || is_integer);
        }
    }
    cr_assert_eq(precision_dtype(PRECISION_FULL, 15), 15);
    cr_assert_eq(precision_dtype((enum precision)4, CAIRN_F64), CAIRN_F64);
}
