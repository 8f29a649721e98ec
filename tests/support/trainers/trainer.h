/* trainer.h: a training small enough to be compared whole: a linear model of a few numbers that
 * learns from noisy samples of a random generator, in windows of several microbatches.
 *
 * A recipe is configuration; everything else in struct trainer is state, and plain: assigning it
 * copies it. The same recipe and seed give the same bits. Talks to cairn in describe.c only. */
#ifndef TRAINERS_TRAINER_H
#define TRAINERS_TRAINER_H

#include <cairn/training.h>

#include "support/trainers/lbfgs.h"
#include "support/trainers/leaf.h"
#include "support/trainers/optim.h"
#include "support/trainers/sched.h"

enum { PARAMS = 5, PARAM_FAST = 0, PARAM_SLOW = 1, PARAM_BIAS = 2, PARAM_LATE = 3 };
/* The late parameter has no gradient before this update: until then it was never stepped. */
enum { LATE_FROM = 5 };

/* How gradients are gathered and which calls of cairn fit. */
struct mode {
    const char *name;
    uint32_t kind;       /* enum cairn_kind bits of its records */
    uint32_t work_dtype; /* of pending gradients */
    uint64_t per_update; /* microbatches */
    double loss_scale;   /* of the first window; later ones have more */
    uint32_t storage[2]; /* of the fast and the slow weight; 16 bits have an FP32 master */
    bool async;          /* captures */
};
extern const struct mode modes[]; /* ends with a NULL name */

struct recipe {
    const struct optim *optim;
    const struct sched_plan *plan;
    const struct mode *mode;
};
/* By their names; false: no such name. */
bool recipe_find(struct recipe *ret, const char *optim, const char *plan, const char *mode);

struct param {
    const char *path;
    uint64_t id;
    bool trainable;
    uint32_t dtype; /* storage: F32 in value, F16 and BF16 in half */
    uint32_t rank;
    uint64_t shape[1];
    uint64_t count;
    float value[SLOT_ELEMENTS];
    uint16_t half[SLOT_ELEMENTS];
    bool wrapped; /* the optimizer works on an FP32 master, which its first step makes */
    struct slot master, slots[OPTIM_ROLES];
    bool stepped; /* its time is recorded */
    uint64_t time;
    bool pending; /* it has a gradient in the open window */
    union {
        float f32[SLOT_ELEMENTS];
        double f64[SLOT_ELEMENTS];
    } gradient; /* as the work dtype has it: sum of loss scale x weight x gradient */
};

/* The caller's own: where it is in its data and in its counting. */
struct loop {
    uint64_t key, counter; /* random generator */
    uint64_t completed_updates, pending_microbatches;
    double loss; /* running mean */
};

struct trainer {
    struct recipe recipe;
    struct param params[PARAMS];
    struct lbfgs lbfgs;
    struct sched sched;
    struct cairn_window window; /* weighted modes */
    struct loop loop;
};

void trainer_init(struct trainer *t, const struct recipe *r, uint64_t seed);
/* The same values, stored as F32: what a target looks like before storage dtypes are restored. */
void trainer_store_wide(struct trainer *t);

/* Train; each microbatch and each update is a line in `trace`, with the bits of its loss and of its
 * learning rate. NULL: no trace. */
void trainer_train(struct trainer *t, uint64_t microbatches, FILE *trace);

struct gradients {
    bool there[PARAMS];
    float at[PARAMS][SLOT_ELEMENTS];
};
/* Add a microbatch's gradients to the open window. -1: the window has 2^64 - 1 microbatches, and
 * nothing has changed. */
int trainer_add(struct trainer *t, const struct gradients *g, double weight);
/* The mean that the update would take: two divisions, in this order. */
void trainer_mean(const struct trainer *t, const struct param *p, float ret[static SLOT_ELEMENTS]);

/* All of its state. Points into *t. */
void trainer_leaves(struct trainer *t, struct leaves *ret);

/* Capture and save, load and restore, with the calls of the recipe's kind. 0 or -CAIRN_E*. */
int trainer_save(struct trainer *t, struct cairn *c, struct cairn_boundary *ret);
int trainer_load(struct trainer *t, struct cairn *c, const char *selector);

#endif
