/* convert_wide.c: the floats of 16 bits and more. A number that is to be narrowed is taken apart
 * into its exponent and a significand of 31 bits, in which the lowest bit stands for all that fell
 * off below it ("jammed"): enough to round once and rightly, and nothing is wider than 32 bits,
 * because the vectors of many processors cannot compare wider lanes. */
#include <cairn/record.h>
#include <stdbool.h>

#include "lib/convert_int.h"

#define WIDE_F32_INF 0x7f800000u
#define WIDE_F32_ONE 0x00800000u /* the bit that a significand of F32 leaves out */
#define WIDE_SIG_ONE 0x40000000u /* the same in a significand of 31 bits */

/* A number taken apart, its sign aside; `exponent` is already as the target counts. */
struct wide {
    uint32_t sig;
    int32_t exponent;
    bool special; /* an infinity or a NaN */
};

struct wide_bits {
    uint32_t bits;
    uint32_t lost; /* 1: not what it was */
};

/* By 0..31. A bit fell off when the lowest one did, which only takes shifts to the right: some
 * compilers build a left shift of many lanes, each by its own count, with floats. */
static inline uint32_t wide_shift_jam(uint32_t v, uint32_t by)
{
    uint32_t lowest = v & (0 - v);
    bool fell = v != 0 && lowest >> by == 0;
    return v >> by | (fell ? 1u : 0u);
}

/* Put together with `mantissa` bits below an exponent of at most `top`; `most` (15 or 31) is how
 * far a significand can be shifted before nothing but the jammed bit can matter. */
static inline struct wide_bits
wide_round(struct wide from, uint32_t mantissa, int32_t top, int32_t most)
{
    uint32_t drop = 30 - mantissa;
    uint32_t inf = (uint32_t)top << mantissa;
    int32_t below = 1 - from.exponent;
    below = below < 0 ? 0 : below;
    below = below > most ? most : below;
    int32_t exponent = from.exponent < 1 ? 1 : from.exponent;
    exponent = exponent > top ? top : exponent;

    uint32_t sig = wide_shift_jam(from.sig, (uint32_t)below);
    uint32_t even = (sig >> drop) & 1;
    uint32_t fell = sig & ((1u << drop) - 1);
    uint32_t rounded = (sig + (1u << (drop - 1)) - 1 + even) >> drop;
    /* The significand's own top bit counts as one of the exponent; a carry is right as well. */
    uint32_t number = rounded + ((uint32_t)(exponent - 1) << mantissa);
    uint32_t over = number >= inf ? 1 : 0; /* as much as 2^31 */
    number = over != 0 ? inf : number;

    uint32_t payload = (sig >> drop) & ((1u << mantissa) - 1);
    uint32_t quiet = (payload == 0 && fell != 0) ? 1u << (mantissa - 1) : 0;
    return (struct wide_bits){
        .bits = from.special ? inf | payload | quiet : number,
        .lost = (fell != 0 || (over != 0 && !from.special)) ? 1 : 0,
    };
}

static inline struct wide wide_of_f64(uint64_t v, int32_t rebias)
{
    uint32_t high = (uint32_t)(v >> 32);
    uint32_t low = (uint32_t)v;
    uint32_t field = (high >> 20) & 0x7ff;
    uint32_t jam = (low & 0x3fffff) != 0 ? 1 : 0;
    uint32_t one = field != 0 ? WIDE_SIG_ONE : 0;
    return (struct wide){ .sig = one | (high & 0xfffff) << 10 | low >> 22 | jam,
                          .exponent = (int32_t)field - rebias,
                          .special = field == 0x7ff };
}

CONVERT_LOOP wide_f64_f32(const void *src, void *dst, size_t elements)
{
    uint32_t lost = 0;
    for (size_t i = 0; i < elements; i++) {
        uint64_t v = convert_load64(src, i);
        struct wide_bits r = wide_round(wide_of_f64(v, 1023 - 127), 23, 255, 31);
        convert_store32(dst, i, (uint32_t)(v >> 32 & 0x80000000u) | r.bits);
        lost += r.lost;
    }
    return lost;
}

CONVERT_LOOP wide_f64_f16(const void *src, void *dst, size_t elements)
{
    uint32_t lost = 0;
    for (size_t i = 0; i < elements; i++) {
        uint64_t v = convert_load64(src, i);
        struct wide_bits r = wide_round(wide_of_f64(v, 1023 - 15), 10, 31, 15);
        convert_store16(dst, i, (uint16_t)((uint32_t)(v >> 48 & 0x8000) | r.bits));
        lost += r.lost;
    }
    return lost;
}

CONVERT_LOOP wide_f64_bf16(const void *src, void *dst, size_t elements)
{
    uint32_t lost = 0;
    for (size_t i = 0; i < elements; i++) {
        uint64_t v = convert_load64(src, i);
        struct wide_bits r = wide_round(wide_of_f64(v, 1023 - 127), 7, 255, 15);
        convert_store16(dst, i, (uint16_t)((uint32_t)(v >> 48 & 0x8000) | r.bits));
        lost += r.lost;
    }
    return lost;
}

CONVERT_LOOP wide_f32_f16(const void *src, void *dst, size_t elements)
{
    uint32_t lost = 0;
    for (size_t i = 0; i < elements; i++) {
        uint32_t v = convert_load32(src, i);
        uint32_t field = (v >> 23) & 0xff;
        uint32_t one = field != 0 ? WIDE_SIG_ONE : 0;
        struct wide from = { .sig = one | (v & 0x7fffff) << 7,
                             .exponent = (int32_t)field - (127 - 15),
                             .special = field == 0xff };
        struct wide_bits r = wide_round(from, 10, 31, 15);
        convert_store16(dst, i, (uint16_t)((v >> 16 & 0x8000) | r.bits));
        lost += r.lost;
    }
    return lost;
}

/* The upper half of an F32, rounded: the exponents are the same, so nothing need be taken apart. */
CONVERT_LOOP wide_f32_bf16(const void *src, void *dst, size_t elements)
{
    uint32_t lost = 0;
    for (size_t i = 0; i < elements; i++) {
        uint32_t v = convert_load32(src, i);
        uint32_t half = v >> 16;
        uint32_t number = (v + 0x7fff + (half & 1)) >> 16;
        uint32_t nan = (half & 0x7f) == 0 ? half | 0x40 : half;
        bool is_nan = (int32_t)(v & 0x7fffffff) > (int32_t)WIDE_F32_INF;
        convert_store16(dst, i, (uint16_t)(is_nan ? nan : number));
        lost += (v & 0xffff) != 0 ? 1 : 0;
    }
    return lost;
}

CONVERT_LOOP wide_bf16_f32(const void *src, void *dst, size_t elements)
{
    for (size_t i = 0; i < elements; i++) {
        convert_store32(dst, i, (uint32_t)convert_load16(src, i) << 16);
    }
    return 0;
}

/* A significand whose top bit was moved up to where F32 leaves it out, and by how much. */
struct wide_top {
    uint32_t sig;
    uint32_t by;
};

static inline struct wide_top wide_step(struct wide_top t, uint32_t by)
{
    uint32_t low = (int32_t)t.sig < (int32_t)(WIDE_F32_ONE >> (by - 1)) ? UINT32_MAX : 0;
    uint32_t more = ((t.sig << by) - t.sig) & low; /* not a shift by 0 or `by`: see above */
    return (struct wide_top){ t.sig + more, t.by + (by & low) };
}

CONVERT_LOOP wide_f16_f32(const void *src, void *dst, size_t elements)
{
    for (size_t i = 0; i < elements; i++) {
        uint32_t v = convert_load16(src, i);
        uint32_t a = (v & 0x7fff) << 13;
        uint32_t rebias = a >= 0x1fu << 23 ? (255u - 31u) << 23 : (127u - 15u) << 23;
        struct wide_top t = wide_step((struct wide_top){ a, 0 }, 8);
        t = wide_step(wide_step(wide_step(t, 4), 2), 1);
        uint32_t small = t.sig + ((127u - 15u - t.by) << 23);
        uint32_t number = (int32_t)a < (int32_t)WIDE_F32_ONE ? small : a + rebias;
        convert_store32(dst, i, (v & 0x8000) << 16 | (a == 0 ? 0 : number));
    }
    return 0;
}

CONVERT_LOOP wide_f32_f64(const void *src, void *dst, size_t elements)
{
    for (size_t i = 0; i < elements; i++) {
        uint32_t v = convert_load32(src, i);
        uint32_t a = v & 0x7fffffff;
        uint32_t field = a >> 23;
        uint32_t one = field != 0 ? WIDE_F32_ONE : 0;
        struct wide_top t = wide_step((struct wide_top){ (a & 0x7fffff) | one, 0 }, 16);
        t = wide_step(wide_step(wide_step(wide_step(t, 8), 4), 2), 1);
        uint32_t exponent = field != 0 ? field : 1 - t.by; /* may wrap, and wraps back */
        exponent += field == 0xff ? 2047u - 255u : 1023u - 127u;
        /* As in wide_round, the significand's top bit counts as one of the exponent. */
        uint32_t high = a == 0 ? 0 : (t.sig >> 3) + ((exponent - 1) << 20);
        uint64_t low = t.sig << 29;
        convert_store64(dst, i, (uint64_t)((v & 0x80000000u) | high) << 32 | low);
    }
    return 0;
}

static uint32_t wide_copy32(const void *src, void *dst, size_t elements)
{
    memcpy(dst, src, elements * sizeof(uint32_t));
    return 0;
}

static uint32_t wide_copy64(const void *src, void *dst, size_t elements)
{
    memcpy(dst, src, elements * sizeof(uint64_t));
    return 0;
}

CONVERT_TWICE(wide_f64_f32)
CONVERT_TWICE(wide_f64_f16)
CONVERT_TWICE(wide_f64_bf16)
CONVERT_TWICE(wide_f32_f16)
CONVERT_TWICE(wide_f32_bf16)
CONVERT_TWICE(wide_bf16_f32)
CONVERT_TWICE(wide_f16_f32)
CONVERT_TWICE(wide_f32_f64)

#define WIDE_TABLE(KIND)                                                                           \
    {                                                                                              \
        { CAIRN_F64, NULL, wide_f32_f64_##KIND, wide_copy64 },                                     \
            { CAIRN_F32, wide_copy32, wide_copy32, wide_f64_f32_##KIND },                          \
            { CAIRN_FLEX32, wide_copy32, wide_copy32, wide_f64_f32_##KIND },                       \
            { CAIRN_F16, wide_f16_f32_##KIND, wide_f32_f16_##KIND, wide_f64_f16_##KIND },          \
            { CAIRN_BF16, wide_bf16_f32_##KIND, wide_f32_bf16_##KIND, wide_f64_bf16_##KIND },      \
            { 0, NULL, NULL, NULL },                                                               \
    }

const struct convert_float convert_wide_plain[] = WIDE_TABLE(plain);
const struct convert_float convert_wide_fast[] = WIDE_TABLE(fast);

const struct convert_float *convert_wide(void)
{
#if defined __x86_64__
    return __builtin_cpu_supports("avx2") ? convert_wide_fast : convert_wide_plain;
#else
    return convert_wide_plain;
#endif
}
