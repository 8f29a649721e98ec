#include "support/trainers/lbfgs.h"

#include <assert.h>
#include <math.h>

static float lbfgs_dot(size_t count, const float *a, const float *b)
{
    float sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* to += factor * from */
static void lbfgs_add(size_t count, float *to, float factor, const float *from)
{
    for (size_t i = 0; i < count; i++) {
        to[i] += factor * from[i];
    }
}

static size_t lbfgs_held(const struct lbfgs *l)
{
    size_t held = 0;
    while (held < LBFGS_HISTORY && l->s[held].there) {
        held++;
    }
    return held;
}

/* What the last step did, and what that did to the gradient; the oldest pair goes. */
static void lbfgs_remember(struct lbfgs *l, const float *g)
{
    struct lbfgs_vector s = { .there = true };
    struct lbfgs_vector y = { .there = true };
    lbfgs_add(l->count, s.at, (float)l->t, l->d.at);
    lbfgs_add(l->count, y.at, 1.0F, g);
    lbfgs_add(l->count, y.at, -1.0F, l->prev_flat_grad.at);
    if (!(lbfgs_dot(l->count, s.at, y.at) > 1e-10F)) {
        return; /* no curvature to learn from */
    }
    size_t held = lbfgs_held(l);
    if (held == LBFGS_HISTORY) {
        held--;
        for (size_t i = 0; i < held; i++) {
            l->s[i] = l->s[i + 1];
            l->y[i] = l->y[i + 1];
        }
    }
    l->s[held] = s;
    l->y[held] = y;
}

/* d = -H g, by the two loops over the history. */
static void lbfgs_direction(struct lbfgs *l, const float *g)
{
    float alpha[LBFGS_HISTORY] = { 0 };
    size_t n = l->count;
    size_t held = lbfgs_held(l);
    l->d = (struct lbfgs_vector){ .there = true };
    lbfgs_add(n, l->d.at, -1.0F, g);
    for (size_t i = held; i-- > 0;) {
        alpha[i] = lbfgs_dot(n, l->s[i].at, l->d.at) / lbfgs_dot(n, l->s[i].at, l->y[i].at);
        lbfgs_add(n, l->d.at, -alpha[i], l->y[i].at);
    }
    if (held > 0) {
        const float *s = l->s[held - 1].at;
        const float *y = l->y[held - 1].at;
        float scale = lbfgs_dot(n, s, y) / lbfgs_dot(n, y, y);
        for (size_t i = 0; i < n; i++) {
            l->d.at[i] *= scale;
        }
    }
    for (size_t i = 0; i < held; i++) {
        float beta = lbfgs_dot(n, l->y[i].at, l->d.at) / lbfgs_dot(n, l->s[i].at, l->y[i].at);
        lbfgs_add(n, l->d.at, alpha[i] - beta, l->s[i].at);
    }
}

void lbfgs_step(struct lbfgs *l, double lr, double loss, const float *g, float *w)
{
    assert(l->count <= LBFGS_ELEMENTS);
    if (l->begun) {
        lbfgs_remember(l, g);
    }
    lbfgs_direction(l, g);
    l->g_iter++;
    l->t = l->g_iter == 1 ? fmin(1.0, 1.0 / (double)lbfgs_dot(l->count, g, g)) * lr : lr;
    l->t *= l->begun && loss > l->prev_loss ? 0.5 : 1.0;
    lbfgs_add(l->count, w, (float)l->t, l->d.at);
    l->prev_flat_grad = (struct lbfgs_vector){ .there = true };
    lbfgs_add(l->count, l->prev_flat_grad.at, 1.0F, g);
    l->prev_loss = loss;
    l->begun = true;
}

static void lbfgs_leaf(struct lbfgs *l, struct leaves *to, const char *path, struct lbfgs_vector *v)
{
    const struct cairn_entry e = {
        .path = path, .dtype = CAIRN_F32, .rank = 1, .shape = &l->count, .kind = CAIRN_TENSOR
    };
    leaves_add(to, CAIRN_OPTIMIZER, &e, v->at, &v->there);
}

static void
lbfgs_scalar(struct lbfgs *l, struct leaves *to, const char *path, uint32_t kind, void *at)
{
    leaves_add(
        to, CAIRN_OPTIMIZER, &(struct cairn_entry){ .path = path, .kind = kind }, at, &l->begun);
}

void lbfgs_leaves(struct lbfgs *l, struct leaves *to)
{
    char path[LEAF_PATH_BYTES];
    for (size_t i = 0; i < LBFGS_HISTORY; i++) {
        (void)snprintf(path, sizeof path, "history_s/%zu", i);
        lbfgs_leaf(l, to, path, &l->s[i]);
        (void)snprintf(path, sizeof path, "history_y/%zu", i);
        lbfgs_leaf(l, to, path, &l->y[i]);
    }
    lbfgs_leaf(l, to, "d", &l->d);
    lbfgs_leaf(l, to, "prev_flat_grad", &l->prev_flat_grad);
    lbfgs_scalar(l, to, "t", CAIRN_SCALAR_F64, &l->t);
    lbfgs_scalar(l, to, "prev_loss", CAIRN_SCALAR_F64, &l->prev_loss);
    lbfgs_scalar(l, to, "g_iter", CAIRN_SCALAR_U64, &l->g_iter);
}
