/* ckd.h: arithmetic that says when it overflows. Each returns true on overflow. */
#ifndef INTERNAL_CKD_H
#define INTERNAL_CKD_H

#include <stdbool.h>
#include <stdint.h>

static inline bool ckd_add_u64(uint64_t a, uint64_t b, uint64_t *ret)
{
    return __builtin_add_overflow(a, b, ret);
}

static inline bool ckd_mul_u64(uint64_t a, uint64_t b, uint64_t *ret)
{
    return __builtin_mul_overflow(a, b, ret);
}

/* Round up to a power of two; the caller knows that value + unit does not overflow. */
static inline uint64_t round_up_u64(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) & ~(unit - 1);
}

#endif
