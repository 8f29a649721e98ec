/* convert.h: the values of a tensor in another element type. Bits are moved and rounded as
 * integers: no floating-point instruction runs, so neither the rounding mode nor a processor that
 * flushes subnormals to zero (FTZ, DAZ) has a say. Values are little-endian and dense; elements of
 * less than a byte stand one after another, the first in the low bits.
 *
 * Floats are rounded to nearest, ties to even; what is too large becomes an infinity; signs stay,
 * those of zeros and NaN too. A NaN keeps the top bits of its payload, the one that says quiet or
 * signalling included; only one of which nothing would remain is made quiet. A NaN of a type that
 * has no payload (F8_E4M3FNUZ, F8_E5M2FNUZ, F8_E8M0FNU) becomes a positive quiet one, that of
 * F8_E4M3FN and F8_UE4M3 keeps its sign and its payload of ones.
 *
 * An element is *changed* when its new value, taken back to the old type, would not have the bits
 * it came from: a rounded number, a number that became an infinity, a NaN whose payload was cut. No
 * two encodings of any of these types stand for one value (a zero has its sign, a NaN its payload),
 * so equal value and equal bits are the same question. */
#ifndef LIB_CONVERT_H
#define LIB_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

/* Sums over the consecutive blocks of one tensor; all zero before the first. */
struct convert_count {
    uint64_t done;               /* elements so far: the indices below count from the first block */
    uint64_t changed;            /* floats only */
    uint64_t first_changed;      /* with changed > 0 */
    uint64_t out_of_range;       /* integers only; they are written as 0 and are not `changed` */
    uint64_t first_out_of_range; /* with out_of_range > 0 */
};

/* Every float type to F16, BF16, F32, FLEX32 and F64; every integer type to I16, I32 and I64. */
bool convert_known(uint32_t from, uint32_t to);

/* Convert a block of a tensor; the types are known (see above), src and dst need no alignment and
 * do not overlap. All blocks but the last of a tensor hold a multiple of 8 elements, so that each
 * begins at a byte. Threads: any, on different blocks with a count each. */
void convert_values(uint32_t from,
                    const void *src,
                    uint32_t to,
                    void *dst,
                    uint64_t elements,
                    struct convert_count *io);

#endif
