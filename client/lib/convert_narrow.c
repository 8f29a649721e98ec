/* convert_narrow.c: the floats of 8 bits and less, as sources. Each becomes an F32, which holds
 * every value of theirs. */
#include <cairn/record.h>
#include <stdbool.h>

#include "lib/convert_int.h"

#define NARROW_F32_QUIET 0x7fc00000u

/* What tells one from another; `nan` is the smallest pattern without its sign that is special. */
struct narrow {
    uint32_t exponent; /* bits */
    uint32_t mantissa; /* bits */
    uint32_t bias;
    uint32_t nan;
};

#define NARROW_NONE 0x100u

static inline uint32_t narrow_f32(uint32_t v, struct narrow is)
{
    uint32_t a = v & ((1u << (is.exponent + is.mantissa)) - 1);
    uint32_t sign = v >> (is.exponent + is.mantissa) << 31;
    uint32_t sig = a << (23 - is.mantissa);
    uint32_t rebias = (127 - is.bias) << 23;
    /* A subnormal has at most three bits: two steps move its top bit where F32 leaves it out. */
    bool twice = sig < 1u << 22;
    uint32_t once = twice ? sig << 2 : sig;
    uint32_t small = once + rebias - (twice ? 2u << 23 : 0);
    small = once < 1u << 23 ? small + once - (1u << 23) : small;
    uint32_t normal = sig + rebias;
    uint32_t number = a < 1u << is.mantissa ? small : normal;
    uint32_t special = 0x7f800000u | (sig & 0x7fffff);
    number = a >= is.nan ? special : number;
    return sign | (a == 0 ? 0 : number);
}

/* The types that have one NaN, in the place of the negative zero. */
static inline uint32_t narrow_fnuz(uint32_t v, struct narrow is)
{
    return v == 0x80 ? NARROW_F32_QUIET : narrow_f32(v, is);
}

static inline uint32_t narrow_e8m0(uint32_t v)
{
    uint32_t number = v == 0 ? 0x00400000u : v << 23;
    return v == 0xff ? NARROW_F32_QUIET : number;
}

/* Six bits each: four elements are three bytes. */
static inline uint32_t narrow_six(const uint8_t *src, size_t i)
{
    size_t bit = i * 6;
    uint32_t v = (uint32_t)src[bit / 8] >> bit % 8;
    if (bit % 8 > 2) {
        v |= (uint32_t)src[bit / 8 + 1] << (8 - bit % 8);
    }
    return v & 0x3f;
}

static inline uint32_t narrow_four(const uint8_t *src, size_t i)
{
    return (uint32_t)src[i / 2] >> i % 2 * 4 & 0xf;
}

/* One loop per type: CODE says what becomes of the element `i` of `from`. */
#define NARROW_LOOP(NAME, CODE)                                                                    \
    static uint32_t narrow_##NAME(const void *src, void *dst, size_t elements)                     \
    {                                                                                              \
        const uint8_t *from = src;                                                                 \
        for (size_t i = 0; i < elements; i++) {                                                    \
            convert_store32(dst, i, CODE);                                                         \
        }                                                                                          \
        return 0;                                                                                  \
    }

NARROW_LOOP(f8_e4m3fn, narrow_f32(from[i], (struct narrow){ 4, 3, 7, 0x7f }))
NARROW_LOOP(f8_e5m2, narrow_f32(from[i], (struct narrow){ 5, 2, 15, 0x7c }))
NARROW_LOOP(f8_e4m3fnuz, narrow_fnuz(from[i], (struct narrow){ 4, 3, 8, NARROW_NONE }))
NARROW_LOOP(f8_e5m2fnuz, narrow_fnuz(from[i], (struct narrow){ 5, 2, 16, NARROW_NONE }))
NARROW_LOOP(f8_e8m0fnu, narrow_e8m0(from[i]))
NARROW_LOOP(f6_e2m3, narrow_f32(narrow_six(from, i), (struct narrow){ 2, 3, 1, NARROW_NONE }))
NARROW_LOOP(f6_e3m2, narrow_f32(narrow_six(from, i), (struct narrow){ 3, 2, 3, NARROW_NONE }))
NARROW_LOOP(f4_e2m1, narrow_f32(narrow_four(from, i), (struct narrow){ 2, 1, 1, NARROW_NONE }))

const struct convert_float convert_narrow[] = {
    { CAIRN_F8_E4M3FN, narrow_f8_e4m3fn, NULL, NULL },
    { CAIRN_F8_E5M2, narrow_f8_e5m2, NULL, NULL },
    { CAIRN_F8_E4M3FNUZ, narrow_f8_e4m3fnuz, NULL, NULL },
    { CAIRN_F8_E5M2FNUZ, narrow_f8_e5m2fnuz, NULL, NULL },
    { CAIRN_F8_E8M0FNU, narrow_f8_e8m0fnu, NULL, NULL },
    /* As E4M3FN; a sign, which no scale has, is kept rather than dropped. */
    { CAIRN_F8_UE4M3, narrow_f8_e4m3fn, NULL, NULL },
    { CAIRN_F6_E2M3, narrow_f6_e2m3, NULL, NULL },
    { CAIRN_F6_E3M2, narrow_f6_e3m2, NULL, NULL },
    { CAIRN_F4_E2M1, narrow_f4_e2m1, NULL, NULL },
    { 0, NULL, NULL, NULL },
};
