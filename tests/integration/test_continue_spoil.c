/* test_continue_spoil.c: the continuation tests can fail. Each piece of the state in turn is left
 * as a freshly made trainer has it, as if it had not been restored, and the training that goes on
 * from there must be another one: in its losses or learning rates, not only in the piece itself. */
#include <stdlib.h>
#include <string.h>

#include "support/case.h"
#include "support/daemon.h"
#include "support/trainers/trainer.h"

enum { SPOIL_BEFORE = 13, SPOIL_AFTER = 40 }; /* microbatches; the first ends in mid-window */

/* What goes on from here: the whole state, then losses and learning rates, then the state again. */
struct future {
    char *start, *trace, *end;
};

static char *future_text(struct trainer *t, bool train)
{
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *to = open_memstream(&text, &text_bytes);
    struct leaves s;
    cr_assert_not_null(to);
    if (train) {
        trainer_train(t, SPOIL_AFTER, to);
    } else {
        trainer_leaves(t, &s);
        leaves_print(&s, to);
    }
    (void)fclose(to);
    return text;
}

static struct future future_of(struct trainer t)
{
    struct future f = { .start = future_text(&t, false) };
    f.trace = future_text(&t, true);
    f.end = future_text(&t, false);
    return f;
}

static void future_free(struct future *f)
{
    free(f->start);
    free(f->trace);
    free(f->end);
}

struct spoil {
    struct trainer fresh, saved, restored;
    struct future expected;
    unsigned spoiled, same;
};

static bool spoil_is(const struct leaf *l, enum cairn_component_id component, const char *path)
{
    return l->component == component && strcmp(l->path, path) == 0;
}

/* Two need not show in what is computed: RMSprop's avg follows from two others whenever it is used,
 * and a second moment that never passes the greatest one stands in its shadow. Comparing the state
 * when it was restored tells. */
static bool spoil_may_hide(const struct leaf *l)
{
    return spoil_is(l, CAIRN_OPTIMIZER, "avg") || spoil_is(l, CAIRN_OPTIMIZER, "moment_2");
}

/* What a fresh trainer has anyway: nothing at all, or the work dtype. */
static bool spoil_cannot_be_missed(const struct leaf *l)
{
    return (l->there != NULL && !*l->there) || spoil_is(l, CAIRN_WINDOW, "dtype");
}

static void spoil_leaf(struct spoil *x, size_t index)
{
    struct leaves fresh;
    struct leaves here;
    struct trainer t = x->restored;
    trainer_leaves(&x->fresh, &fresh);
    trainer_leaves(&t, &here);
    const struct leaf *l = &here.at[index];
    const char *optim = t.recipe.optim->name;
    const char *plan = t.recipe.plan->name;
    if (leaf_same(l, &fresh.at[index])) {
        cr_assert(spoil_cannot_be_missed(l),
                  "%s with %s: %s is as in a fresh trainer, which proves nothing",
                  optim,
                  plan,
                  l->path);
        x->same++;
        return;
    }
    leaf_copy(l, &fresh.at[index]);
    struct future f = future_of(t);
    bool in_trace = strcmp(f.trace, x->expected.trace) != 0;
    bool at_start = strcmp(f.start, x->expected.start) != 0;
    cr_assert(at_start && (in_trace || spoil_may_hide(l)),
              "%s with %s: nobody misses %s",
              optim,
              plan,
              l->path);
    future_free(&f);
    x->spoiled++;
}

static void spoil_train_and_restore(struct spoil *x, struct cairn *c, const struct recipe *recipe)
{
    struct cairn_boundary boundary;
    trainer_init(&x->saved, recipe, 1);
    trainer_train(&x->saved, SPOIL_BEFORE, NULL);
    cr_assert_gt(x->saved.loop.pending_microbatches, 0, "not in mid-window");
    char *before = future_text(&x->saved, false);
    cr_assert_eq(trainer_save(&x->saved, c, &boundary), 0, "%s", cairn_error(c));
    char *after = future_text(&x->saved, false);
    cr_assert_str_eq(before, after, "a save has changed the trainer");
    free(before);
    free(after);
    trainer_init(&x->fresh, recipe, 2);
    x->restored = x->fresh;
    cr_assert_eq(trainer_load(&x->restored, c, "latest"), 0, "%s", cairn_error(c));
}

static void spoil_each(struct spoil *x)
{
    struct leaves s;
    x->expected = future_of(x->saved);
    struct future f = future_of(x->restored);
    cr_assert_str_eq(f.start, x->expected.start, "begins as another");
    cr_assert_str_eq(f.trace, x->expected.trace, "goes on otherwise");
    cr_assert_str_eq(f.end, x->expected.end, "ends as another");
    future_free(&f);
    trainer_leaves(&x->restored, &s);
    for (size_t i = 0; i < s.count; i++) {
        spoil_leaf(x, i);
    }
    cr_assert_eq(x->spoiled + x->same, s.count);
    future_free(&x->expected);
}

CASE(spoil, R10_E21_every_piece_is_missed, .timeout = 120)
{
    static const char *const optimizers[][2] = { { "sgd", "f32" },     { "adam", "plain" },
                                                 { "adamw", "f32" },   { "adamw", "mixed" },
                                                 { "rmsprop", "f64" }, { "adagrad", "dtypes" },
                                                 { "lbfgs", "f64" } };
    char dir[TMP_PATH_BYTES];
    struct daemon d;
    struct cairn *c = NULL;
    unsigned spoiled = 0;
    tmp_make("spoil", dir);
    daemon_init(&d, dir);
    daemon_start(&d, NULL);
    cr_assert_eq(cairn_open(d.socket, "spoil", &c), 0, "%s", cairn_error(c));
    for (size_t i = 0; i < sizeof optimizers / sizeof optimizers[0]; i++) {
        for (const struct sched_plan *plan = sched_plans; plan->name != NULL; plan++) {
            struct spoil x = { .spoiled = 0 };
            struct recipe recipe;
            cr_assert(recipe_find(&recipe, optimizers[i][0], plan->name, optimizers[i][1]));
            spoil_train_and_restore(&x, c, &recipe);
            spoil_each(&x);
            spoiled += x.spoiled;
        }
    }
    cr_assert_gt(spoiled, 1000, "%u pieces", spoiled);
    c = cairn_close(c);
    cr_assert_eq(daemon_stop(&d), 0);
    daemon_fini(&d);
    tmp_remove(dir);
}
