/* bf16.h: the upper half of a binary32, rounded to nearest, ties to even. */
#ifndef DIGITS_BF16_H
#define DIGITS_BF16_H

#include <stdint.h>
#include <string.h>

static inline float bf16_widen(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint16_t bf16_round(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    uint32_t quiet_nan = (bits >> 16) | 0x40U; /* rounding could carry a NaN into an infinity */
    return (uint16_t)((bits & 0x7fffffffU) > 0x7f800000U ? quiet_nan : rounded);
}

#endif
