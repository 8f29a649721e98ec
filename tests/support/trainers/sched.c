#include "support/trainers/sched.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define SCHED_PI 3.14159265358979323846

/* Rates that keep the small trainers lively. The step is that of the upstream test: 0.05, every two
 * updates, times 0.8. */
const struct sched_plan sched_plans[] = {
    { "constant", 1, { { SCHED_CONSTANT, 0.05, 0, 0 } } },
    { "linear", 1, { { SCHED_LINEAR, 0.05, 0.01, 16 } } },
    { "cosine", 1, { { SCHED_COSINE, 0.05, 0.002, 16 } } },
    { "exponential", 1, { { SCHED_EXPONENTIAL, 0.05, 0.9, 0 } } },
    { "noam", 1, { { SCHED_NOAM, 0.2, 8, 6 } } },
    { "step", 1, { { SCHED_STEP, 0.05, 0.8, 2 } } },
    { "composed",
      6,
      { { SCHED_PRODUCT, 0, 0, 2 },
        { SCHED_COSINE, 0.5, 0.1, 16 },
        { SCHED_AVERAGE, 0, 0, 3 },
        { SCHED_STEP, 0.1, 0.8, 2 },
        { SCHED_EXPONENTIAL, 0.1, 0.9, 0 },
        { SCHED_LINEAR, 0.1, 0.02, 16 } } },
    { 0 }
};

const struct sched_plan *sched_plan_find(const char *name)
{
    const struct sched_plan *p = sched_plans;
    while (p->name != NULL && strcmp(p->name, name) != 0) {
        p++;
    }
    return p->name == NULL ? NULL : p;
}

/* ---- the kinds ------------------------------------------------------------------------------- */

static double linear_next(const struct sched_node *n, union sched_value *v)
{
    double step = (n->to - n->rate) / (double)n->count;
    v->u64 -= v->u64 > 0 ? 1 : 0;
    return n->to - step * (double)v->u64;
}

static double cosine_next(const struct sched_node *n, union sched_value *v)
{
    v->u64++; /* the first wraps to 0 */
    double turn = SCHED_PI * (double)v->u64 / (double)n->count;
    return n->to + 0.5 * (n->rate - n->to) * (1.0 + cos(turn));
}

static double exponential_next(const struct sched_node *n, union sched_value *v)
{
    v->f64 *= n->to;
    return v->f64;
}

/* `to` is the model's size, `count` the warm-up. */
static double noam_next(const struct sched_node *n, union sched_value *v)
{
    double warm = (double)n->count;
    v->f64 += 1.0;
    return n->rate / sqrt(n->to) * fmin(1.0 / sqrt(v->f64), v->f64 / (warm * sqrt(warm)));
}

static double step_next(const struct sched_node *n, union sched_value *v)
{
    double rate = n->rate;
    v->i64++;
    for (uint64_t stair = (uint64_t)v->i64 / n->count; stair > 0; stair--) {
        rate *= n->to;
    }
    return rate;
}

static double constant_next(const struct sched_node *n, union sched_value *v)
{
    (void)v;
    return n->rate;
}

static const struct {
    const char *name, *path; /* path NULL: it keeps nothing */
    uint32_t kind;           /* of its scalar */
    double (*next)(const struct sched_node *n, union sched_value *v); /* NULL: it has children */
} sched_kinds[] = {
    [SCHED_CONSTANT] = { "constant", NULL, 0, constant_next },
    [SCHED_LINEAR] = { "linear", "remaining_iters", CAIRN_SCALAR_U64, linear_next },
    [SCHED_COSINE] = { "cosine", "current_iter", CAIRN_SCALAR_U64, cosine_next },
    [SCHED_EXPONENTIAL] = { "exponential", "previous_lr", CAIRN_SCALAR_F64, exponential_next },
    [SCHED_NOAM] = { "noam", "step", CAIRN_SCALAR_F64, noam_next },
    [SCHED_STEP] = { "step", "iter_idx", CAIRN_SCALAR_I64, step_next },
    [SCHED_PRODUCT] = { "product", NULL, 0, NULL },
    [SCHED_AVERAGE] = { "average", NULL, 0, NULL },
};

static union sched_value sched_fresh(const struct sched_node *n)
{
    union sched_value v = { .u64 = 0 };
    if (n->kind == SCHED_LINEAR) {
        v.u64 = n->count + 1;
    } else if (n->kind == SCHED_COSINE) {
        v.u64 = UINT64_MAX;
    } else if (n->kind == SCHED_EXPONENTIAL) {
        v.f64 = n->rate / n->to;
    } else if (n->kind == SCHED_STEP) {
        v.i64 = -1;
    }
    return v;
}

/* ---- the tree -------------------------------------------------------------------------------- */

void sched_init(struct sched *s, const struct sched_plan *plan)
{
    *s = (struct sched){ .plan = plan };
    for (size_t i = 0; i < plan->count; i++) {
        const struct sched_node *n = &plan->nodes[i];
        size_t used = strlen(s->type);
        bool leaf = sched_kinds[n->kind].next != NULL;
        (void)snprintf(s->type + used,
                       sizeof s->type - used,
                       leaf ? "%s%s" : "%s%s/%llu",
                       i == 0 ? "" : " ",
                       sched_kinds[n->kind].name,
                       (unsigned long long)n->count);
        s->at[i] = sched_fresh(n);
    }
}

/* The first `count` on the stack, the top one first, become one. */
static double sched_compose(enum sched_kind kind, const double *top, uint64_t count)
{
    double all = *top;
    for (uint64_t i = 1; i < count; i++) {
        all = kind == SCHED_PRODUCT ? all * top[-(ptrdiff_t)i] : all + top[-(ptrdiff_t)i];
    }
    return kind == SCHED_PRODUCT ? all : all / (double)count;
}

/* Prefix order from behind: what a composed node needs is on top of the stack. */
double sched_next(struct sched *s)
{
    double stack[SCHED_NODES] = { 0 };
    size_t used = 0;
    for (size_t i = s->plan->count; i-- > 0;) {
        const struct sched_node *n = &s->plan->nodes[i];
        double (*next)(const struct sched_node *, union sched_value *) = sched_kinds[n->kind].next;
        if (next != NULL) {
            stack[used++] = next(n, &s->at[i]);
        } else {
            assert(n->count > 0 && n->count <= used);
            double all = sched_compose(n->kind, &stack[used - 1], n->count);
            used -= n->count;
            stack[used++] = all;
        }
    }
    assert(used == 1);
    return stack[0];
}

/* Of every open composed node: which child comes next, and how many there are. */
struct sched_walk {
    size_t depth;
    uint64_t child[SCHED_NODES], count[SCHED_NODES];
};

/* "1/0/", the path of the next node. */
static void sched_path(const struct sched_walk *walk, char *ret, size_t ret_bytes)
{
    size_t used = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < walk->depth; i++) {
        int more =
            snprintf(ret + used, ret_bytes - used, "%llu/", (unsigned long long)walk->child[i]);
        used += (size_t)more;
    }
}

/* Behind a node: the next child of whoever has one left. */
static void sched_walk_on(struct sched_walk *walk)
{
    while (walk->depth > 0 && ++walk->child[walk->depth - 1] == walk->count[walk->depth - 1]) {
        walk->depth--;
    }
}

void sched_leaves(struct sched *s, struct leaves *to)
{
    struct sched_walk walk = { 0 };
    for (size_t i = 0; i < s->plan->count; i++) {
        const struct sched_node *n = &s->plan->nodes[i];
        char path[LEAF_PATH_BYTES];
        if (sched_kinds[n->kind].next == NULL) {
            walk.child[walk.depth] = 0;
            walk.count[walk.depth++] = n->count;
            continue;
        }
        if (sched_kinds[n->kind].path != NULL) {
            sched_path(&walk, path, sizeof path);
            (void)strncat(path, sched_kinds[n->kind].path, sizeof path - strlen(path) - 1);
            leaves_add(to,
                       CAIRN_SCHEDULER,
                       &(struct cairn_entry){ .path = path, .kind = sched_kinds[n->kind].kind },
                       &s->at[i],
                       NULL);
        }
        sched_walk_on(&walk);
    }
}
