/* sched.h: the learning rate of the next update.
 *
 * Both schedulers keep one number, in the form that training frameworks keep it: cosine counts in
 * an unsigned word that starts one below zero, step in a signed one that starts at -1. */
#ifndef DIGITS_SCHED_H
#define DIGITS_SCHED_H

#include <stdint.h>

enum sched_kind { SCHED_COSINE, SCHED_STEP };

struct sched {
    enum sched_kind kind;
    double initial_lr;
    uint64_t period;       /* cosine: updates until it starts again; step: updates a stair */
    uint64_t current_iter; /* cosine; fresh: UINT64_MAX */
    int64_t iter_idx;      /* step; fresh: -1 */
};

void sched_init(struct sched *s, enum sched_kind kind, double initial_lr, uint64_t period);

/* Advance by one update and return its learning rate. */
double sched_next(struct sched *s);

/* base to the n-th by squaring: the same bits with every C library. */
double sched_power(double base, uint64_t n);

#endif
