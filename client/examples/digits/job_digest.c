#include <stdio.h>

#include "job.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static void digest_add(XXH3_state_t *state, const void *bytes, size_t count)
{
    (void)XXH3_128bits_update(state, bytes, count);
}

static void digest_param(XXH3_state_t *state, const struct param *p)
{
    const float *tensors[] = { p->f32, p->gradient, p->moment_1, p->moment_2, p->max_moment_2 };
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        digest_add(state, tensors[i], p->count * sizeof(float));
    }
    if (p->bf16 != NULL) {
        digest_add(state, p->bf16, p->count * sizeof *p->bf16);
    }
    digest_add(state, &p->time, sizeof p->time);
}

/* Field by field: structs have padding. */
static void digest_numbers(XXH3_state_t *state, const struct job *j)
{
    const uint64_t integers[] = { j->window.dtype,
                                  j->window.microbatches,
                                  j->rng.key,
                                  j->rng.counter,
                                  j->sampler.epoch,
                                  j->sampler.epoch_key,
                                  j->sampler.position,
                                  (uint64_t)j->sched.kind,
                                  j->sched.current_iter,
                                  (uint64_t)j->sched.iter_idx,
                                  j->updates,
                                  j->microbatches };
    const double reals[] = { j->window.loss_scale, j->window.total_weight, j->loss };
    digest_add(state, integers, sizeof integers);
    digest_add(state, reals, sizeof reals);
}

void job_digest(const struct job *j, char ret_hex[static 33])
{
    XXH3_state_t state;
    (void)XXH3_128bits_reset(&state);
    for (size_t i = 0; i < MLP_PARAMS; i++) {
        digest_param(&state, &j->net.params[i]);
    }
    digest_numbers(&state, j);
    XXH128_hash_t digest = XXH3_128bits_digest(&state);
    (void)snprintf(ret_hex,
                   33,
                   "%016llx%016llx",
                   (unsigned long long)digest.high64,
                   (unsigned long long)digest.low64);
}
