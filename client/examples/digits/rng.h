/* rng.h: a counter-based random number generator.
 *
 * Draw n of a key is a pure function of (key, n): the whole state is two numbers, which travel in
 * the caller's part of a checkpoint, and nothing has to be replayed after a restore. Not for
 * secrets. */
#ifndef DIGITS_RNG_H
#define DIGITS_RNG_H

#include <stdint.h>

struct rng {
    uint64_t key;
    uint64_t counter; /* of the next draw */
};

void rng_init(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
/* 0 <= result < n; n > 0. */
uint64_t rng_below(struct rng *r, uint64_t n);
/* -1 <= result < 1, a multiple of 2^-23: exact in binary32. */
float rng_signed_unit(struct rng *r);

#endif
