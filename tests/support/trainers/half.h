/* half.h: the two 16-bit floats, for finite numbers: rounded to nearest, ties to even. Arithmetic
 * alone, so that nothing of cairn's own conversions is used to judge cairn. */
#ifndef TRAINERS_HALF_H
#define TRAINERS_HALF_H

#include <cairn/record.h>
#include <math.h>
#include <stdint.h>

struct half_format {
    int mantissa_bits, lowest_exponent; /* of a normal number */
};

static inline struct half_format half_format(uint32_t dtype)
{
    return dtype == CAIRN_F16 ? (struct half_format){ 10, -14 } : (struct half_format){ 7, -126 };
}

/* Below the lowest exponent the mantissa has no hidden bit; the same sum encodes both, and a carry
 * out of the mantissa is the next exponent. */
static inline uint16_t half_narrow(uint32_t dtype, float v)
{
    struct half_format f = half_format(dtype);
    int exponent = f.lowest_exponent;
    if (fabsf(v) >= ldexpf(1.0F, f.lowest_exponent)) {
        (void)frexpf(v, &exponent);
        exponent--;
    }
    float units = nearbyintf(ldexpf(fabsf(v), f.mantissa_bits - exponent));
    unsigned code = ((unsigned)(exponent - f.lowest_exponent) << f.mantissa_bits) + (unsigned)units;
    return (uint16_t)(code | (signbit(v) ? 0x8000U : 0));
}

static inline float half_widen(uint32_t dtype, uint16_t code)
{
    struct half_format f = half_format(dtype);
    int exponent = (code & 0x7fff) >> f.mantissa_bits;
    int units = (code & ((1 << f.mantissa_bits) - 1)) | (exponent > 0 ? 1 << f.mantissa_bits : 0);
    int from = exponent > 0 ? exponent - 1 : 0;
    float v = ldexpf((float)units, from + f.lowest_exponent - f.mantissa_bits);
    return (code & 0x8000) != 0 ? -v : v;
}

#endif
