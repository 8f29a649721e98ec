#include "optim.h"

#include <math.h>

#include "bf16.h"
#include "sched.h"

/* A block of every tensor fits the first-level cache: the passes below share one trip to memory. */
enum { ADAMW_BLOCK = 1024 };

#define ADAMW_BETA_1 0.9F
#define ADAMW_BETA_2 0.999F
#define ADAMW_EPSILON 1e-8F

/* Bias corrections of this step, and the window's two divisors. */
struct adamw_block {
    float loss_scale, total_weight, correction_1, correction_2;
    size_t count;
};

/* The mean is taken by two divisions, in this order: an exact continuation depends on it. */
static void adamw_mean(const struct adamw_block *k, float *restrict g)
{
    for (size_t i = 0; i < k->count; i++) {
        g[i] = g[i] / k->loss_scale / k->total_weight;
    }
}

/* Moments move on; the gradient is replaced by the direction of the step. */
static void adamw_moments(const struct adamw_block *k,
                          float *restrict g,
                          float *restrict m,
                          float *restrict v,
                          float *restrict v_max)
{
    for (size_t i = 0; i < k->count; i++) {
        m[i] = ADAMW_BETA_1 * m[i] + (1.0F - ADAMW_BETA_1) * g[i];
        v[i] = ADAMW_BETA_2 * v[i] + (1.0F - ADAMW_BETA_2) * (g[i] * g[i]);
        v_max[i] = v[i] > v_max[i] ? v[i] : v_max[i];
        g[i] = (m[i] / k->correction_1) / (sqrtf(v_max[i] / k->correction_2) + ADAMW_EPSILON);
    }
}

static void adamw_move(size_t n, float lr, float decay, float *restrict w, float *restrict g)
{
    for (size_t i = 0; i < n; i++) {
        w[i] = w[i] - decay * w[i] - lr * g[i];
        g[i] = 0;
    }
}

static void adamw_round(size_t n, const float *restrict from, uint16_t *restrict to)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = bf16_round(from[i]);
    }
}

void adamw_step(struct param *p, const struct adamw *a)
{
    p->time++;
    struct adamw_block k = { .loss_scale = a->loss_scale,
                             .total_weight = a->total_weight,
                             .correction_1 =
                                 (float)(1.0 - sched_power((double)ADAMW_BETA_1, p->time)),
                             .correction_2 =
                                 (float)(1.0 - sched_power((double)ADAMW_BETA_2, p->time)) };
    float lr = (float)a->lr;
    float decay = p->bf16 != NULL ? lr * a->weight_decay : 0; /* biases do not decay */
    for (size_t at = 0; at < p->count; at += ADAMW_BLOCK) {
        k.count = p->count - at < ADAMW_BLOCK ? p->count - at : ADAMW_BLOCK;
        float *g = &p->gradient[at];
        adamw_mean(&k, g);
        adamw_moments(&k, g, &p->moment_1[at], &p->moment_2[at], &p->max_moment_2[at]);
        adamw_move(k.count, lr, decay, &p->f32[at], g);
        if (p->bf16 != NULL) {
            adamw_round(k.count, &p->f32[at], &p->bf16[at]);
        }
    }
}
