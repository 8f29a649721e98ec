/* describe.h: the job as cairn sees it: five components and the window.
 *
 * Tensors are listed with their places in memory and counters by name; the same lists serve capture
 * and restore, so the two cannot drift apart. This is what a trainer writes to be saved. */
#ifndef DIGITS_DESCRIBE_H
#define DIGITS_DESCRIBE_H

#include <cairn/training.h>

#include "job.h"

enum { TENSORS_MAX = 4 * MLP_PARAMS };

/* A component's tensors: what each is, and where it lies. */
struct tensors {
    size_t count;
    struct cairn_entry entry[TENSORS_MAX];
    void *at[TENSORS_MAX];
};

struct description {
    struct job *job;
    struct tensors model, optimizer, gradients;
    /* Fingerprints: cairn refuses to restore what was recorded under another one, and names both.
     * What a component's numbers mean nothing without, and is not saved itself, belongs in them. */
    char model_type[64];  /* the width */
    char state_type[256]; /* window, rows, learning rate, schedule, data */
    struct cairn_trainer trainer;
};

/* Fill *d from an initialised job. Holds pointers into the job, which never move, and into *d: made
 * once, used for every capture and restore. */
void describe(struct description *d, struct job *job);

#endif
