/* lbfgs.h: limited-memory BFGS. It sees all parameters as one vector, so what it keeps belongs to
 * no parameter: two histories of variable length, a direction, the last gradient and three scalars,
 * none of which is there before the first step. */
#ifndef TRAINERS_LBFGS_H
#define TRAINERS_LBFGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/trainers/leaf.h"

enum { LBFGS_ELEMENTS = 16, LBFGS_HISTORY = 3 };

struct lbfgs_vector {
    bool there;
    float at[LBFGS_ELEMENTS];
};

struct lbfgs {
    uint64_t count; /* elements of all parameters together */
    struct lbfgs_vector s[LBFGS_HISTORY], y[LBFGS_HISTORY], d, prev_flat_grad;
    bool begun; /* the scalars are there */
    double t, prev_loss;
    uint64_t g_iter;
};

/* w and g have l->count elements; the step is halved where the loss has grown. */
void lbfgs_step(struct lbfgs *l, double lr, double loss, const float *g, float *w);
void lbfgs_leaves(struct lbfgs *l, struct leaves *to);

#endif
