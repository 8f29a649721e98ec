/* optim.h: AdamW with amsgrad and decoupled weight decay, on FP32 masters. */
#ifndef DIGITS_OPTIM_H
#define DIGITS_OPTIM_H

#include "param.h"

/* What one step needs to know beside the parameter. */
struct adamw {
    double lr;
    float loss_scale;   /* pending gradients hold this many times ... */
    float total_weight; /* ... the sum over this weight of examples */
    float weight_decay;
};

/* Turn the pending gradient into the window's mean, step, round the new weights to BF16 where the
 * parameter is BF16, and leave the pending gradient zero. */
void adamw_step(struct param *p, const struct adamw *a);

#endif
