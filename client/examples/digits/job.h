/* job.h: the training job: everything that changes while it trains, and how it changes.
 *
 * Nothing here talks to cairn; the window is cairn's plain struct because that is what the weighted
 * calls read and write. The state that a checkpoint has to hold is marked below. */
#ifndef DIGITS_JOB_H
#define DIGITS_JOB_H

#include <cairn/training.h>

#include "data.h"
#include "mlp.h"
#include "rng.h"
#include "sampler.h"
#include "sched.h"

struct job_config {
    size_t width;
    uint64_t microbatches_per_update;
    uint64_t rows_max; /* a microbatch has 1..rows_max rows */
    uint64_t seed;
    enum sched_kind scheduler;
};

struct job {
    struct job_config config;
    const struct data *data;
    double lr; /* of the last update, for people */

    struct mlp net;             /* state: values, masters, moments, times, pending gradients */
    struct sched sched;         /* state: position */
    struct cairn_window window; /* state */
    struct rng rng;             /* state */
    struct sampler sampler;     /* state: epoch, its key, position */
    uint64_t updates;           /* state */
    uint64_t microbatches;      /* state: all there ever were */
    double loss;                /* state: running mean */
};

/* A fresh job. Returns -1 when memory is out; job_fini is right in either case. */
int job_init(struct job *j, const struct job_config *config, const struct data *data);
void job_fini(struct job *j);

/* Train one microbatch; the last one of a window also makes the update. */
void job_microbatch(struct job *j);

/* What a bad step does: a NaN in a weight, which is everywhere some steps later. */
void job_spoil(struct job *j);

/* Share of the held-out rows that the network names rightly. */
double job_accuracy(struct job *j);

/* Bytes of all parameters with what the optimizer keeps beside them. */
size_t job_state_bytes(const struct job *j);

/* Digest of the whole state, as 32 hex digits: equal exactly when the states are equal. */
void job_digest(const struct job *j, char ret_hex[static 33]);

#endif
