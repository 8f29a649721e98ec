#include "support/trainers/trainer.h"

#include <string.h>

#include "support/trainers/half.h"

const struct mode modes[] = {
    { "plain", 0, CAIRN_F32, 2, 1, { CAIRN_F32, CAIRN_F32 }, false },
    { "dtypes", CAIRN_KIND_DTYPES, CAIRN_F32, 2, 1, { CAIRN_F32, CAIRN_F32 }, false },
    { "f32", CAIRN_KIND_WEIGHTED, CAIRN_F32, 4, 16, { CAIRN_F32, CAIRN_F32 }, false },
    { "f64", CAIRN_KIND_WEIGHTED, CAIRN_F64, 4, 16, { CAIRN_F32, CAIRN_F32 }, false },
    { "mixed",
      CAIRN_KIND_WEIGHTED | CAIRN_KIND_DTYPES,
      CAIRN_F32,
      4,
      16,
      { CAIRN_F16, CAIRN_BF16 },
      false },
    { "model_state", CAIRN_KIND_MODEL_STATE, CAIRN_F32, 2, 1, { CAIRN_F32, CAIRN_F32 }, false },
    { "model_state_weighted",
      CAIRN_KIND_MODEL_STATE | CAIRN_KIND_WEIGHTED,
      CAIRN_F32,
      4,
      16,
      { CAIRN_F32, CAIRN_F32 },
      true },
    { "async", 0, CAIRN_F32, 2, 1, { CAIRN_F32, CAIRN_F32 }, true },
    { "mixed_async",
      CAIRN_KIND_WEIGHTED | CAIRN_KIND_DTYPES,
      CAIRN_F32,
      4,
      16,
      { CAIRN_F16, CAIRN_BF16 },
      true },
    { 0 }
};

/* Ids from both ends, and one past what a signed number holds. */
static const struct {
    const char *path;
    uint64_t id;
    uint32_t rank;
    uint64_t count;
    bool trainable;
} trainer_params[PARAMS] = {
    { "fast.weight", 0, 1, 3, true },          { "slow.weight", UINT64_MAX, 1, 2, true },
    { "bias", UINT64_C(1) << 63, 0, 1, true }, { "late.weight", 7, 1, 2, true },
    { "frozen.weight", 8, 1, 2, false },
};

bool recipe_find(struct recipe *ret, const char *optim, const char *plan, const char *mode)
{
    const struct mode *m = modes;
    while (m->name != NULL && strcmp(m->name, mode) != 0) {
        m++;
    }
    *ret = (struct recipe){ .optim = optim_find(optim), .plan = sched_plan_find(plan), .mode = m };
    return ret->optim != NULL && ret->plan != NULL && m->name != NULL;
}

/* Draw n of a key is a function of both: nothing has to be replayed. */
static uint64_t loop_draw(struct loop *l)
{
    uint64_t x = (l->key ^ (l->counter++ * UINT64_C(0x9e3779b97f4a7c15))) + l->key;
    for (int i = 0; i < 3; i++) {
        x ^= x >> 31;
        x *= UINT64_C(0xd6e8feb86659fd93);
    }
    return x ^ (x >> 29);
}

/* -1 <= result < 1 */
static float loop_unit(struct loop *l)
{
    return (float)((int64_t)(loop_draw(l) >> 40) - (1 << 23)) * 0x1p-23F;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static void param_narrow(struct param *p, const float *from)
{
    for (uint64_t i = 0; p->dtype != CAIRN_F32 && i < p->count; i++) {
        p->half[i] = half_narrow(p->dtype, from[i]);
    }
}

/* The values the model computes with. */
static void param_values(const struct param *p, float ret[static SLOT_ELEMENTS])
{
    for (uint64_t i = 0; i < p->count; i++) {
        ret[i] = p->dtype == CAIRN_F32 ? p->value[i] : half_widen(p->dtype, p->half[i]);
    }
}

static void param_init(struct param *p, size_t index, const struct mode *m, struct loop *rng)
{
    float values[SLOT_ELEMENTS] = { 0 };
    *p = (struct param){ .path = trainer_params[index].path,
                         .id = trainer_params[index].id,
                         .trainable = trainer_params[index].trainable,
                         .dtype = index <= PARAM_SLOW ? m->storage[index] : CAIRN_F32,
                         .rank = trainer_params[index].rank,
                         .shape = { trainer_params[index].count },
                         .count = trainer_params[index].count };
    p->wrapped = p->dtype != CAIRN_F32;
    for (uint64_t i = 0; i < p->count; i++) {
        values[i] = loop_unit(rng);
    }
    if (p->wrapped) {
        param_narrow(p, values);
    } else {
        memcpy(p->value, values, sizeof p->value);
    }
}

/* What the optimizer works on: the master, if there is one, which begins as the weight is. */
static float *param_work(struct param *p)
{
    if (!p->wrapped) {
        return p->value;
    }
    if (!p->master.there) {
        param_values(p, p->master.at);
        p->master.there = true;
    }
    return p->master.at;
}

void trainer_init(struct trainer *t, const struct recipe *r, uint64_t seed)
{
    *t = (struct trainer){ .recipe = *r, .loop = { .key = seed } };
    for (size_t i = 0; i < PARAMS; i++) {
        param_init(&t->params[i], i, r->mode, &t->loop);
        t->lbfgs.count += t->params[i].trainable ? t->params[i].count : 0;
    }
    sched_init(&t->sched, r->plan);
    t->window =
        (struct cairn_window){ .dtype = r->mode->work_dtype, .loss_scale = r->mode->loss_scale };
}

void trainer_store_wide(struct trainer *t)
{
    for (size_t i = 0; i < PARAMS; i++) {
        param_values(&t->params[i], t->params[i].value);
        t->params[i].dtype = CAIRN_F32;
    }
}

/* ---- the window ------------------------------------------------------------------------------ */

static bool trainer_weighted(const struct trainer *t)
{
    return (t->recipe.mode->kind & CAIRN_KIND_WEIGHTED) != 0;
}

static void param_add(struct param *p, uint32_t dtype, double factor, const float *g)
{
    if (!p->pending) {
        memset(&p->gradient, 0, sizeof p->gradient);
        p->pending = true;
    }
    for (uint64_t i = 0; i < p->count; i++) {
        if (dtype == CAIRN_F64) {
            p->gradient.f64[i] += factor * (double)g[i];
        } else {
            p->gradient.f32[i] += (float)factor * g[i];
        }
    }
}

int trainer_add(struct trainer *t, const struct gradients *g, double weight)
{
    if (trainer_weighted(t) && t->window.microbatches == UINT64_MAX) {
        return -1;
    }
    double factor = trainer_weighted(t) ? t->window.loss_scale * weight : 1;
    for (size_t i = 0; i < PARAMS; i++) {
        if (g->there[i]) {
            param_add(&t->params[i], t->window.dtype, factor, g->at[i]);
        }
    }
    if (trainer_weighted(t)) {
        t->window.total_weight += weight;
        t->window.microbatches++;
    }
    t->loop.pending_microbatches++;
    return 0;
}

void trainer_mean(const struct trainer *t, const struct param *p, float ret[static SLOT_ELEMENTS])
{
    double scale = trainer_weighted(t) ? t->window.loss_scale : 1;
    double total =
        trainer_weighted(t) ? t->window.total_weight : (double)t->loop.pending_microbatches;
    for (uint64_t i = 0; i < p->count; i++) {
        ret[i] = t->window.dtype == CAIRN_F64 ? (float)(p->gradient.f64[i] / scale / total)
                                              : p->gradient.f32[i] / (float)scale / (float)total;
    }
}

/* ---- an update ------------------------------------------------------------------------------- */

static void param_step(struct trainer *t, struct param *p, double lr)
{
    float mean[SLOT_ELEMENTS];
    trainer_mean(t, p, mean);
    p->time++;
    p->stepped = t->recipe.optim->timed;
    const struct optim_step step = {
        .lr = (float)lr, .time = p->time, .count = p->count, .g = mean, .w = param_work(p)
    };
    t->recipe.optim->step(p->slots, &step);
    param_narrow(p, step.w);
}

/* All trainable parameters, one behind the other; no gradient counts as zeros here. */
static void trainer_step_flat(struct trainer *t, double lr)
{
    float g[LBFGS_ELEMENTS] = { 0 };
    float w[LBFGS_ELEMENTS] = { 0 };
    size_t at = 0;
    for (size_t i = 0; i < PARAMS; i++) {
        struct param *p = &t->params[i];
        if (p->trainable) {
            memcpy(&w[at], p->value, p->count * sizeof *w);
            if (p->pending) {
                trainer_mean(t, p, &g[at]);
            }
            at += p->count;
        }
    }
    lbfgs_step(&t->lbfgs, lr, t->loop.loss, g, w);
    at = 0;
    for (size_t i = 0; i < PARAMS; i++) {
        struct param *p = &t->params[i];
        if (p->trainable) {
            memcpy(p->value, &w[at], p->count * sizeof *w);
            at += p->count;
        }
    }
}

static uint64_t trainer_bits(double v)
{
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Close the window: one optimizer step, one scheduler step, and perhaps a larger loss scale. */
static void trainer_update(struct trainer *t, FILE *trace)
{
    double lr = sched_next(&t->sched);
    if (t->recipe.optim->step == NULL) {
        trainer_step_flat(t, lr);
    }
    for (size_t i = 0; i < PARAMS; i++) {
        struct param *p = &t->params[i];
        if (p->pending && t->recipe.optim->step != NULL) {
            param_step(t, p, lr);
        }
        p->pending = false;
    }
    t->loop.completed_updates++;
    t->loop.pending_microbatches = 0;
    t->window.total_weight = 0;
    t->window.microbatches = 0;
    t->window.loss_scale *= trainer_weighted(t) && t->loop.completed_updates % 3 == 0 ? 2 : 1;
    if (trace != NULL) {
        (void)fprintf(trace, "lr %016llx\n", (unsigned long long)trainer_bits(lr));
    }
}

/* ---- a microbatch ---------------------------------------------------------------------------- */

static bool trainer_uses(const struct trainer *t, size_t index)
{
    return index != PARAM_LATE || t->loop.completed_updates >= LATE_FROM;
}

/* What the model multiplies element i of a parameter with. */
static float trainer_input(const float x[static SLOT_ELEMENTS], size_t index, uint64_t i)
{
    return index == PARAM_BIAS ? 1.0F : x[(index + i) % SLOT_ELEMENTS];
}

static float trainer_error(struct trainer *t, float x[static SLOT_ELEMENTS])
{
    float error = -0.3F - 1.5F * x[0] + x[1] - 0.5F * x[2] - 0.1F * loop_unit(&t->loop);
    for (size_t k = 0; k < PARAMS; k++) {
        float w[SLOT_ELEMENTS];
        param_values(&t->params[k], w);
        for (uint64_t i = 0; trainer_uses(t, k) && i < t->params[k].count; i++) {
            error += w[i] * trainer_input(x, k, i);
        }
    }
    return error;
}

static void trainer_microbatch(struct trainer *t, FILE *trace)
{
    float x[SLOT_ELEMENTS];
    struct gradients g = { 0 };
    for (size_t i = 0; i < SLOT_ELEMENTS; i++) {
        x[i] = loop_unit(&t->loop);
    }
    double weight = (double)(1 + loop_draw(&t->loop) % 7);
    float error = trainer_error(t, x);
    for (size_t k = 0; k < PARAMS; k++) {
        g.there[k] = t->params[k].trainable && trainer_uses(t, k);
        for (uint64_t i = 0; i < t->params[k].count; i++) {
            g.at[k][i] = error * trainer_input(x, k, i);
        }
    }
    if (trainer_add(t, &g, weight) < 0) {
        return;
    }
    t->loop.loss = 0.5 * t->loop.loss + 0.5 * (double)(error * error);
    if (trace != NULL) {
        (void)fprintf(trace,
                      "update %llu microbatch %llu of weight %g: loss %016llx\n",
                      (unsigned long long)t->loop.completed_updates,
                      (unsigned long long)t->loop.pending_microbatches,
                      weight,
                      (unsigned long long)trainer_bits(t->loop.loss));
    }
}

void trainer_train(struct trainer *t, uint64_t microbatches, FILE *trace)
{
    for (; microbatches > 0; microbatches--) {
        trainer_microbatch(t, trace);
        uint64_t pending =
            trainer_weighted(t) ? t->window.microbatches : t->loop.pending_microbatches;
        if (pending >= t->recipe.mode->per_update) {
            trainer_update(t, trace);
        }
    }
}
