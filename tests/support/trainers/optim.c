#include "support/trainers/optim.h"

#include <math.h>
#include <string.h>

#define OPTIM_EPSILON 1e-8F

/* The tensor in a slot, all zero when it was not there. */
static float *slot_open(struct slot *s)
{
    if (!s->there) {
        *s = (struct slot){ .there = true };
    }
    return s->at;
}

/* The first velocity is the gradient itself, undamped: zeros in its place would be another one. */
static void sgd_step(struct slot slots[static OPTIM_ROLES], const struct optim_step *s)
{
    const float momentum = 0.9F;
    const float dampening = 0.1F;
    bool first = !slots[0].there;
    float *velocity = slot_open(&slots[0]);
    for (size_t i = 0; i < s->count; i++) {
        velocity[i] = first ? s->g[i] : momentum * velocity[i] + (1.0F - dampening) * s->g[i];
        s->w[i] -= s->lr * velocity[i];
    }
}

static float adam_correction(float beta, uint64_t time)
{
    return (float)(1.0 - pow((double)beta, (double)time));
}

/* amsgrad: the denominator only grows. Decay is decoupled, as AdamW has it. */
static void
adam_any(struct slot slots[static OPTIM_ROLES], const struct optim_step *s, float weight_decay)
{
    const float beta_1 = 0.9F;
    const float beta_2 = 0.9F; /* short, so that the greatest is not always the latest */
    float *m = slot_open(&slots[0]);
    float *v = slot_open(&slots[1]);
    float *v_max = slot_open(&slots[2]);
    float correction_1 = adam_correction(beta_1, s->time);
    float correction_2 = adam_correction(beta_2, s->time);
    for (size_t i = 0; i < s->count; i++) {
        m[i] = beta_1 * m[i] + (1.0F - beta_1) * s->g[i];
        v[i] = beta_2 * v[i] + (1.0F - beta_2) * (s->g[i] * s->g[i]);
        v_max[i] = v[i] > v_max[i] ? v[i] : v_max[i];
        float step = (m[i] / correction_1) / (sqrtf(v_max[i] / correction_2) + OPTIM_EPSILON);
        s->w[i] -= s->lr * (weight_decay * s->w[i] + step);
    }
}

static void adam_step(struct slot slots[static OPTIM_ROLES], const struct optim_step *s)
{
    adam_any(slots, s, 0);
}

static void adamw_step(struct slot slots[static OPTIM_ROLES], const struct optim_step *s)
{
    adam_any(slots, s, 0.01F);
}

/* Centered: the variance of the gradient, not its square. */
static void rmsprop_step(struct slot slots[static OPTIM_ROLES], const struct optim_step *s)
{
    const float alpha = 0.9F;
    const float momentum = 0.5F;
    float *square_avg = slot_open(&slots[0]);
    float *avg = slot_open(&slots[1]);
    float *grad_avg = slot_open(&slots[2]);
    float *buffer = slot_open(&slots[3]);
    for (size_t i = 0; i < s->count; i++) {
        square_avg[i] = alpha * square_avg[i] + (1.0F - alpha) * (s->g[i] * s->g[i]);
        grad_avg[i] = alpha * grad_avg[i] + (1.0F - alpha) * s->g[i];
        avg[i] = square_avg[i] - grad_avg[i] * grad_avg[i];
        buffer[i] = momentum * buffer[i] + s->g[i] / (sqrtf(avg[i]) + 1e-3F);
        s->w[i] -= s->lr * buffer[i];
    }
}

static void adagrad_step(struct slot slots[static OPTIM_ROLES], const struct optim_step *s)
{
    const float lr_decay = 0.1F;
    float *sum = slot_open(&slots[0]);
    float lr = s->lr / (1.0F + (float)(s->time - 1) * lr_decay);
    for (size_t i = 0; i < s->count; i++) {
        sum[i] += s->g[i] * s->g[i];
        s->w[i] -= lr * s->g[i] / (sqrtf(sum[i]) + OPTIM_EPSILON);
    }
}

const struct optim optims[] = {
    { "sgd", { "momentum.velocity" }, false, sgd_step },
    { "adam", { "moment_1", "moment_2", "max_moment_2" }, true, adam_step },
    { "adamw", { "moment_1", "moment_2", "max_moment_2" }, true, adamw_step },
    { "rmsprop", { "square_avg", "avg", "grad_avg", "momentum" }, false, rmsprop_step },
    { "adagrad", { "sum" }, true, adagrad_step },
    { "lbfgs", { NULL }, false, NULL },
    { 0 }
};

const struct optim *optim_find(const char *name)
{
    const struct optim *o = optims;
    while (o->name != NULL && strcmp(o->name, name) != 0) {
        o++;
    }
    return o->name == NULL ? NULL : o;
}
