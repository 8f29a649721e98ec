/* sampler.h: which training row comes next: every row once an epoch, in an order drawn anew.
 *
 * The order of an epoch follows from its key alone, so a checkpoint holds three numbers and the
 * restored sampler makes the order again. */
#ifndef DIGITS_SAMPLER_H
#define DIGITS_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "rng.h"

struct sampler {
    uint64_t epoch;
    uint64_t epoch_key; /* the order of this epoch */
    uint64_t position;  /* rows of this epoch already given out */
    uint64_t row_count;
    uint32_t *order; /* derived from epoch_key */
};

/* Returns -1 when memory is out. The first epoch begins: one draw from `rng`. */
int sampler_init(struct sampler *s, uint64_t row_count, struct rng *rng);
void sampler_fini(struct sampler *s);

/* The next row; begins the next epoch, with one draw from `rng`, when the last one is used up. */
size_t sampler_next(struct sampler *s, struct rng *rng);

/* Make the order of epoch_key: after a restore has written epoch, epoch_key and position. */
void sampler_reorder(struct sampler *s);

#endif
