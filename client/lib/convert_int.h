/* convert_int.h: the inner loops of convert.c, each for one pair of types, without a branch, so
 * that compilers make vectors of them. */
#ifndef LIB_CONVERT_INT_H
#define LIB_CONVERT_INT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Converts `elements` (at most CONVERT_BLOCK) and returns how many of them did not survive: changed
 * floats, integers out of range. */
typedef uint32_t convert_fn(const void *src, void *dst, size_t elements);

/* In F32 two of these stay in a first-level cache, and a sum of lanes cannot overflow. */
#define CONVERT_BLOCK 1024u

/* Narrowing shifts each lane by a count of its own, which the vectors that every x86-64 has cannot.
 * Such loops are compiled a second time, for processors with AVX2: LOOP, which is always inlined,
 * becomes LOOP_plain and LOOP_fast. */
#if defined __x86_64__
#define CONVERT_AVX2 __attribute__((target("avx2")))
#else
#define CONVERT_AVX2
#endif

#define CONVERT_LOOP static inline __attribute__((always_inline)) uint32_t

#define CONVERT_TWICE(LOOP)                                                                        \
    static uint32_t LOOP##_plain(const void *src, void *dst, size_t elements)                      \
    {                                                                                              \
        return LOOP(src, dst, elements);                                                           \
    }                                                                                              \
    CONVERT_AVX2 static uint32_t LOOP##_fast(const void *src, void *dst, size_t elements)          \
    {                                                                                              \
        return LOOP(src, dst, elements);                                                           \
    }

/* What one type takes part in; all but F64 meet in F32. NULL: no such conversion is offered. */
struct convert_float {
    uint32_t dtype;
    convert_fn *to_f32;
    convert_fn *from_f32;
    convert_fn *from_f64;
};

/* Tables end with dtype 0. */
extern const struct convert_float convert_wide_plain[]; /* 16 bits and more */
extern const struct convert_float convert_wide_fast[];  /* the same for AVX2 */
extern const struct convert_float convert_narrow[];     /* 8 bits and less: sources only */

/* The table of 16 bits and more that suits this processor. */
const struct convert_float *convert_wide(void);

/* NULL: not offered. */
convert_fn *convert_integer(uint32_t from, uint32_t to);

static inline uint16_t convert_load16(const void *src, size_t i)
{
    uint16_t v = 0;
    memcpy(&v, (const uint8_t *)src + i * sizeof v, sizeof v);
    return v;
}

static inline uint32_t convert_load32(const void *src, size_t i)
{
    uint32_t v = 0;
    memcpy(&v, (const uint8_t *)src + i * sizeof v, sizeof v);
    return v;
}

static inline uint64_t convert_load64(const void *src, size_t i)
{
    uint64_t v = 0;
    memcpy(&v, (const uint8_t *)src + i * sizeof v, sizeof v);
    return v;
}

static inline void convert_store16(void *dst, size_t i, uint16_t v)
{
    memcpy((uint8_t *)dst + i * sizeof v, &v, sizeof v);
}

static inline void convert_store32(void *dst, size_t i, uint32_t v)
{
    memcpy((uint8_t *)dst + i * sizeof v, &v, sizeof v);
}

static inline void convert_store64(void *dst, size_t i, uint64_t v)
{
    memcpy((uint8_t *)dst + i * sizeof v, &v, sizeof v);
}

#endif
