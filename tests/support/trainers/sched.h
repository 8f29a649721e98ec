/* sched.h: learning-rate schedulers, each with the one number that training frameworks keep of it,
 * in the form in which they keep it; composed ones nest. Rates, periods and factors are
 * configuration: they are not in the record. */
#ifndef TRAINERS_SCHED_H
#define TRAINERS_SCHED_H

#include <stddef.h>
#include <stdint.h>

#include "support/trainers/leaf.h"

enum { SCHED_NODES = 6, SCHED_TYPE_BYTES = 96 };

enum sched_kind {
    SCHED_CONSTANT,
    SCHED_LINEAR,
    SCHED_COSINE,
    SCHED_EXPONENTIAL,
    SCHED_NOAM,
    SCHED_STEP,
    SCHED_PRODUCT,
    SCHED_AVERAGE
};

struct sched_node {
    enum sched_kind kind;
    double rate, to; /* first rate; last one, or factor */
    uint64_t count;  /* iterations, updates a stair, warm-up; of a composed one: children */
};

/* A tree in prefix order: a composed node, then its children. */
struct sched_plan {
    const char *name;
    size_t count;
    struct sched_node nodes[SCHED_NODES];
};
extern const struct sched_plan sched_plans[];               /* ends with a NULL name */
const struct sched_plan *sched_plan_find(const char *name); /* NULL: none */

union sched_value {
    uint64_t u64;
    int64_t i64;
    double f64;
};

struct sched {
    const struct sched_plan *plan;
    union sched_value at[SCHED_NODES];
    char type[SCHED_TYPE_BYTES]; /* fingerprint: which kinds, and how they nest */
};

void sched_init(struct sched *s, const struct sched_plan *plan);
/* Advance by one update and return its learning rate. */
double sched_next(struct sched *s);
/* One leaf for each number, below the path of its node: "1/0/iter_idx". */
void sched_leaves(struct sched *s, struct leaves *to);

#endif
