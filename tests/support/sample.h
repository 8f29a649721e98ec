/* sample.h: a training state whose every byte is computed from a seed, so that what comes back can
 * be compared without a second copy. Model and optimizer hold a number of tensors of one size each;
 * the scheduler holds the seed; there are no pending gradients. */
#ifndef SUPPORT_SAMPLE_H
#define SUPPORT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cairn/training.h"

struct sample_tensors {
    size_t count;
    uint64_t tensor_bytes; /* of each; a multiple of 8 */
    uint8_t *at;           /* one behind the other */
};

struct sample {
    struct sample_tensors model, optimizer;
    uint8_t *memory;
    uint64_t memory_bytes;
    uint64_t seed; /* of what is in memory */
    struct cairn_trainer trainer;
};

void sample_init(struct sample *s, struct sample_tensors model, struct sample_tensors optimizer);
void sample_fini(struct sample *s);
void sample_fill(struct sample *s, uint64_t seed);
void sample_clear(struct sample *s);
/* Is it, to the byte, what sample_fill makes of the seed? Says on standard error where it is not.
 */
bool sample_is(const struct sample *s, uint64_t seed);

/* Capture and save under step = seed; restore the boundary that a selector names. 0 or -CAIRN_E*.
 */
int sample_save(struct sample *s, struct cairn *c, struct cairn_boundary *ret);
int sample_load(struct sample *s, struct cairn *c, const char *selector);

#endif
