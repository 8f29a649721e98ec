/* test_continue_cases.c: the continuations that have numbers of their own: the three upstream ones
 * (Adam with a step scheduler, mixed storage, F32 sums of what 16 bits would lose), a boundary
 * before the first update, lists of every length, counters at their ends, and a scheduler of
 * another shape. The daemon is killed between a save and its restore. */
#include <stdlib.h>
#include <string.h>

#include "support/case.h"
#include "support/daemon.h"
#include "support/trainers/half.h"
#include "support/trainers/trainer.h"

struct scene {
    char dir[TMP_PATH_BYTES];
    struct daemon d;
    struct cairn *c;
    struct trainer t, other; /* the one that is saved; another one, that it is restored into */
};

static void scene_init(struct scene *s, const char *optim, const char *plan, const char *mode)
{
    struct recipe recipe;
    *s = (struct scene){ .c = NULL };
    tmp_make("cases", s->dir);
    daemon_init(&s->d, s->dir);
    daemon_start(&s->d, NULL);
    cr_assert_eq(cairn_open(s->d.socket, "case", &s->c), 0, "%s", cairn_error(s->c));
    cr_assert(recipe_find(&recipe, optim, plan, mode));
    trainer_init(&s->t, &recipe, 1);
    trainer_init(&s->other, &recipe, 2);
}

static void scene_fini(struct scene *s)
{
    s->c = cairn_close(s->c);
    cr_assert_eq(daemon_stop(&s->d), 0);
    cr_assert_eq(daemon_fsck(&s->d, true), 0);
    daemon_fini(&s->d);
    tmp_remove(s->dir);
}

static void scene_save(struct scene *s)
{
    struct cairn_boundary saved;
    cr_assert_eq(trainer_save(&s->t, s->c, &saved), 0, "%s", cairn_error(s->c));
    daemon_kill(&s->d);
    daemon_start(&s->d, NULL);
}

static void scene_restore(struct scene *s)
{
    cr_assert_eq(trainer_load(&s->other, s->c, "latest"), 0, "%s", cairn_error(s->c));
}

/* Train, if microbatches > 0; what that writes, then the whole state. */
static char *scene_text(struct trainer *t, uint64_t microbatches)
{
    char *text = NULL;
    size_t text_bytes = 0;
    struct leaves s;
    FILE *to = open_memstream(&text, &text_bytes);
    cr_assert_not_null(to);
    trainer_train(t, microbatches, to);
    trainer_leaves(t, &s);
    leaves_print(&s, to);
    (void)fclose(to);
    return text;
}

/* Both train on; all they write is the same. Returns it. */
static char *scene_same(struct scene *s, uint64_t microbatches)
{
    char *one = scene_text(&s->t, microbatches);
    char *other = scene_text(&s->other, microbatches);
    cr_assert_str_eq(one, other, "%llu microbatches on", (unsigned long long)microbatches);
    free(other);
    return one;
}

/* ---- upstream -------------------------------------------------------------------------------- */

CASE(upstream, R30_adam_amsgrad_with_a_step_scheduler, .timeout = 60)
{
    struct scene s;
    scene_init(&s, "adam", "step", "plain");
    trainer_train(&s.t, 7, NULL); /* three updates of two, and one */
    scene_save(&s);
    scene_restore(&s);
    cr_assert_eq(s.other.loop.completed_updates, 3);
    cr_assert_eq(s.other.loop.pending_microbatches, 1);
    free(scene_same(&s, 0));

    /* 0.05, every two updates times 0.8: the fourth update is the second of its stair. */
    static const double lr[] = { 0.05 * 0.8,
                                 0.05 * 0.8 * 0.8,
                                 0.05 * 0.8 * 0.8,
                                 0.05 * 0.8 * 0.8 * 0.8,
                                 0.05 * 0.8 * 0.8 * 0.8 };
    char *text = scene_same(&s, 9);
    const char *at = text;
    for (size_t i = 0; i < 5; i++) {
        char expected[32];
        uint64_t bits = 0;
        memcpy(&bits, &lr[i], sizeof bits);
        (void)snprintf(expected, sizeof expected, "\nlr %016llx\n", (unsigned long long)bits);
        at = strstr(at, "\nlr ");
        cr_assert_not_null(at);
        cr_assert_eq(strncmp(at, expected, strlen(expected)), 0, "update %zu: %.20s", i, at + 1);
        at++;
    }
    cr_assert_eq(s.other.loop.completed_updates, 8);
    free(text);
    scene_fini(&s);
}

/* Into a model that stores F32: its weights are F16 and BF16 again, the masters and the pending
 * gradients F32, and what was trainable is. */
CASE(upstream, R35_R36_mixed_storage_with_an_f32_master, .timeout = 60)
{
    struct scene s;
    scene_init(&s, "adamw", "step", "mixed");
    trainer_train(&s.t, 14, NULL); /* three updates of four, and two */
    scene_save(&s);
    trainer_store_wide(&s.other);
    scene_restore(&s);
    cr_assert_eq(s.other.params[PARAM_FAST].dtype, CAIRN_F16);
    cr_assert_eq(s.other.params[PARAM_SLOW].dtype, CAIRN_BF16);
    cr_assert_eq(s.other.params[PARAM_BIAS].dtype, CAIRN_F32);
    cr_assert_eq(s.other.window.dtype, CAIRN_F32);
    cr_assert(s.other.params[PARAM_FAST].trainable && s.other.params[PARAM_FAST].pending);
    /* The master has digits that its weight has not: it is state of its own. */
    const struct param *p = &s.other.params[PARAM_FAST];
    cr_assert(p->master.there && half_widen(p->dtype, p->half[0]) != p->master.at[0]);
    free(scene_same(&s, 0));
    free(scene_same(&s, 12));
    scene_fini(&s);
}

static void scene_add(struct trainer *t, float gradient)
{
    struct gradients g = { .there = { [PARAM_FAST] = true, [PARAM_SLOW] = true },
                           .at = { [PARAM_FAST] = { gradient }, [PARAM_SLOW] = { gradient } } };
    cr_assert_eq(trainer_add(t, &g, 1), 0);
}

static float half_sum(uint32_t dtype)
{
    float sum = 1024;
    for (int i = 0; i < 8; i++) {
        sum = half_widen(dtype, half_narrow(dtype, sum + 0.125F));
    }
    return sum;
}

/* 1024 and eight times 0.125 are 1025 in F32 and 1024 in either kind of 16 bits. */
CASE(upstream, R32_E21_f32_sums_what_16_bits_would_lose, .timeout = 60)
{
    struct scene s;
    float mean[SLOT_ELEMENTS];
    scene_init(&s, "adamw", "constant", "mixed");
    s.t.window.loss_scale = 1;
    scene_add(&s.t, 1024);
    for (int i = 0; i < 4; i++) {
        scene_add(&s.t, 0.125F);
    }
    scene_save(&s);
    scene_restore(&s);
    free(scene_same(&s, 0));
    for (int i = 0; i < 4; i++) {
        scene_add(&s.t, 0.125F);
        scene_add(&s.other, 0.125F);
    }
    cr_assert_eq(s.other.window.microbatches, 9);
    for (size_t k = PARAM_FAST; k <= PARAM_SLOW; k++) {
        const struct param *p = &s.other.params[k];
        cr_assert(p->gradient.f32[0] == 1025, "%a", (double)p->gradient.f32[0]);
        cr_assert(half_sum(p->dtype) == 1024, "%a", (double)half_sum(p->dtype));
        trainer_mean(&s.other, p, mean);
        cr_assert(mean[0] == 1025.0F / 9.0F, "%a", (double)mean[0]);
    }
    free(scene_same(&s, 9)); /* the next microbatch closes this window */
    scene_fini(&s);
}

/* What these tests convert with, at the ends of both formats and halfway between two numbers. */
CASE(upstream, E4_E5_narrowing_is_to_nearest_even, .timeout = 60)
{
    static const struct {
        uint32_t dtype;
        float from;
        uint16_t to;
    } pins[] = { { CAIRN_F16, 65504.0F, 0x7bff },     { CAIRN_F16, 65519.99F, 0x7bff },
                 { CAIRN_F16, 0x1p-24F, 0x0001 },     { CAIRN_F16, 0x1p-25F, 0x0000 },
                 { CAIRN_F16, 1 + 0x1p-11F, 0x3c00 }, { CAIRN_F16, 1 + 0x3p-11F, 0x3c02 },
                 { CAIRN_F16, -0.0F, 0x8000 },        { CAIRN_BF16, 1 + 0x1p-8F, 0x3f80 },
                 { CAIRN_BF16, 1 + 0x3p-8F, 0x3f82 }, { CAIRN_BF16, 0x1p-134F, 0x0000 },
                 { CAIRN_BF16, -0x1p-133F, 0x8001 } };
    for (size_t i = 0; i < sizeof pins / sizeof pins[0]; i++) {
        uint16_t to = half_narrow(pins[i].dtype, pins[i].from);
        cr_assert_eq(to, pins[i].to, "%a: %04x", (double)pins[i].from, to);
        cr_assert_eq(half_narrow(pins[i].dtype, half_widen(pins[i].dtype, to)), to);
    }
}

/* ---- ends ------------------------------------------------------------------------------------ */

static const struct leaf *scene_leaf(const struct leaves *l, const char *path)
{
    size_t i = 0;
    while (i < l->count && strcmp(l->at[i].path, path) != 0) {
        i++;
    }
    cr_assert_lt(i, l->count, "no leaf %s", path);
    return &l->at[i];
}

/* Before the first update nothing of the optimizer is there, and it is not there as zeros either;
 * a cosine stands one below zero and a step at -1. */
CASE(ends, E23_a_boundary_before_the_first_update, .timeout = 60)
{
    static const char *const absent[] = { "moment_1", "moment_2", "max_moment_2", "time" };
    struct scene s;
    struct leaves l;
    scene_init(&s, "adam", "composed", "f32");
    trainer_train(&s.t, 3, NULL);
    trainer_train(&s.other, 21, NULL); /* has all of it, and must lose it */
    scene_save(&s);
    scene_restore(&s);
    trainer_leaves(&s.other, &l);
    cr_assert_eq(*(const uint64_t *)scene_leaf(&l, "0/current_iter")->at, UINT64_MAX);
    cr_assert_eq(*(const int64_t *)scene_leaf(&l, "1/0/iter_idx")->at, -1);
    cr_assert(*(const double *)scene_leaf(&l, "1/1/previous_lr")->at == 0.1 / 0.9);
    cr_assert_eq(*(const uint64_t *)scene_leaf(&l, "1/2/remaining_iters")->at, 17);
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        cr_assert(!*scene_leaf(&l, absent[i])->there, "%s", absent[i]);
    }
    free(scene_same(&s, 0));
    free(scene_same(&s, 30));
    scene_fini(&s);
}

static size_t scene_pairs(const struct trainer *t)
{
    size_t pairs = 0;
    while (pairs < LBFGS_HISTORY && t->lbfgs.s[pairs].there) {
        cr_assert(t->lbfgs.y[pairs].there);
        pairs++;
    }
    return pairs;
}

/* A boundary behind each update, then from the last to the first into one target: its lists must
 * grow shorter, and at the first there is nothing at all. */
CASE(ends, R30_lists_of_every_length, .timeout = 60)
{
    enum { ENDS_UPDATES = 6 };
    struct scene s;
    struct trainer at[ENDS_UPDATES];
    bool met[LBFGS_HISTORY + 1] = { false };
    scene_init(&s, "lbfgs", "exponential", "plain");
    trainer_train(&s.t, 1, NULL);
    for (size_t i = 0; i < ENDS_UPDATES; i++) {
        struct cairn_boundary saved;
        at[i] = s.t;
        cr_assert_eq(trainer_save(&s.t, s.c, &saved), 0, "%s", cairn_error(s.c));
        cr_assert_eq(saved.seq, i + 1);
        trainer_train(&s.t, 2, NULL);
    }
    daemon_kill(&s.d);
    daemon_start(&s.d, NULL);
    for (size_t i = ENDS_UPDATES; i-- > 0;) {
        char selector[16];
        (void)snprintf(selector, sizeof selector, "seq:%zu", i + 1);
        cr_assert_eq(trainer_load(&s.other, s.c, selector), 0, "%s", cairn_error(s.c));
        met[scene_pairs(&s.other)] = true;
        cr_assert_eq(s.other.lbfgs.begun, i > 0);
        s.t = at[i];
        free(scene_same(&s, 0));
    }
    for (size_t i = 0; i <= LBFGS_HISTORY; i++) {
        cr_assert(met[i], "no list of %zu", i);
    }
    free(scene_same(&s, 31));
    scene_fini(&s);
}

CASE(ends, E23_counters_at_their_ends, .timeout = 60)
{
    struct scene s;
    scene_init(&s, "adam", "step", "f32");
    trainer_train(&s.t, 6, NULL);
    s.t.params[PARAM_FAST].time = UINT64_MAX;
    s.t.params[PARAM_SLOW].time = UINT64_MAX - 1;
    s.t.window.microbatches = UINT64_MAX;
    s.t.sched.at[0].i64 = INT32_MAX;
    s.t.loop.counter = UINT64_MAX;
    scene_save(&s);
    scene_restore(&s);
    free(scene_same(&s, 0));
    cr_assert_eq(s.other.params[PARAM_FAST].time, UINT64_MAX);
    cr_assert_eq(s.other.window.microbatches, UINT64_MAX);
    cr_assert_eq(s.other.sched.at[0].i64, INT32_MAX);

    /* The window is full: the next microbatch is refused, and the one before is still there. */
    const struct gradients g = { .there = { true }, .at = { { 1 } } };
    cr_assert_eq(trainer_add(&s.other, &g, 1), -1);
    free(scene_same(&s, 0));
    scene_fini(&s);
}

static void scene_refuses(struct scene *s, const struct sched_plan *plan)
{
    struct recipe recipe = s->t.recipe;
    recipe.plan = plan;
    trainer_init(&s->other, &recipe, 2);
    char *before = scene_text(&s->other, 0);
    cr_assert_eq(trainer_load(&s->other, s->c, "latest"), -CAIRN_EMISMATCH, "%s", plan->name);
    char *after = scene_text(&s->other, 0);
    cr_assert_str_eq(before, after, "%s", plan->name);
    free(before);
    free(after);
}

/* A composed scheduler was once recorded as one of other kinds: another rate, then a crash. Here
 * the kinds and how they nest are the component's type, and nothing is read under another one, be
 * the numbers the same. */
CASE(schedulers, R06_of_other_kinds_are_refused_before_anything_is_read, .timeout = 60)
{
    struct scene s;
    scene_init(&s, "sgd", "composed", "f32");
    trainer_train(&s.t, 7, NULL);
    scene_save(&s);
    for (const struct sched_plan *plan = sched_plans; plan->name != NULL; plan++) {
        if (plan != s.t.recipe.plan) {
            scene_refuses(&s, plan);
        }
    }
    struct sched_plan same_numbers = *s.t.recipe.plan;
    same_numbers.name = "average, not product";
    same_numbers.nodes[0].kind = SCHED_AVERAGE;
    scene_refuses(&s, &same_numbers);
    scene_fini(&s);
}

/* A piece that this trainer has no place for is refused too: to leave it behind in silence would be
 * to go on otherwise. */
CASE(schedulers, R42_a_piece_that_nobody_knows_is_refused, .timeout = 60)
{
    struct scene s;
    scene_init(&s, "sgd", "constant", "plain");
    struct optim more = *s.t.recipe.optim;
    more.roles[1] = "momentum.error";
    s.t.recipe.optim = &more;
    trainer_train(&s.t, 7, NULL);
    s.t.params[PARAM_FAST].slots[1] = (struct slot){ .there = true, .at = { 1, 2, 3 } };
    scene_save(&s);
    char *before = scene_text(&s.other, 0);
    cr_assert_eq(trainer_load(&s.other, s.c, "latest"), -CAIRN_EMISMATCH);
    char *after = scene_text(&s.other, 0);
    cr_assert_str_eq(before, after);
    free(before);
    free(after);
    scene_fini(&s);
}
