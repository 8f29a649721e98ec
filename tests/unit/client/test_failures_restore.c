/* Every point at which a restore may fail, in the order in which they come. Each is provoked, and
 * nothing was read or changed that should not have been: the trainer's log says who was asked for
 * what, the fake daemon counts its frames. The last point, the window, is in test_window.c. */
#include <string.h>

#include "ground.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct cairn_record *loaded(struct ground *g, uint32_t kind)
{
    struct cairn_record *r = NULL;
    cr_assert_eq(ground_save(g, kind, 1, NULL), 0, "%s", cairn_error(g->c));
    cr_assert_eq(cairn_load(g->c, "latest", 0, &r), 0, "%s", cairn_error(g->c));
    return r;
}

/* `other` is refused with this code, having been asked for this much; and it is what it was. */
static void refuses(
    struct ground *g, const struct cairn_record *r, struct job *other, int code, const char *log)
{
    struct job twin;
    struct cairn_window window = other->window;
    struct cairn_param params[COUNT(other->params)];
    unsigned seen = fake_seen(&g->fake, WIRE_LOAD);
    memcpy(params, other->params, sizeof params);
    job_like(&twin, &g->job);
    other->log[0] = '\0';
    int rc = cairn_restore_weighted_with_dtypes(g->c, r, &other->t);
    cr_assert_eq(rc, code, "%d: %s", rc, cairn_error(g->c));
    cr_assert_str_eq(other->log, log);
    cr_assert_null(job_differs(&twin, other), "%s", job_differs(&twin, other));
    cr_assert(same_bits(&window, &other->window, sizeof window));
    cr_assert(same_bits(params, other->params, sizeof params));
    cr_assert_eq(fake_seen(&g->fake, WIRE_LOAD), seen, "no payload was asked for");
    job_fini(&twin);
}

static void spoil(struct job *j, size_t how)
{
    static const uint64_t turned[] = { 10, 64 };
    struct box *boxes[] = { &j->gradients, &j->model, &j->optimizer };
    struct cairn_component *parts[] = {
        &j->t.accumulator, &j->t.model, &j->t.optimizer, &j->t.scheduler, &j->t.state
    };
    struct cairn_entry *e = how < 12 ? &boxes[how / 4]->tensors[0]->entry : NULL;
    if (how >= 12) {
        parts[how - 12]->type = "of another make";
    } else if (how % 4 == 0) {
        e->shape = turned;
    } else if (how % 4 == 1) {
        e->rank = 1;
    } else if (how % 4 == 2) {
        e->dtype = CAIRN_I32;
    } else {
        e->id = 70;
    }
}

static void spoil_params(struct job *j, size_t how)
{
    switch (how) {
    case 0: /* recorded, and the model has no such parameter */
        j->param_count = 2;
        break;
    case 1: /* the other way round */
        j->params[0].id = 70;
        break;
    case 2:
        j->params[0].trainable = false;
        break;
    case 3: /* quantized by another scheme */
        j->params[0].dtype = CAIRN_QFLOAT;
        break;
    default: /* nobody can give it the dtype that was recorded */
        j->params[0].dtype = CAIRN_F16;
        j->t.retype = NULL;
        break;
    }
}

/* Gradients, model and optimizer: shape, rank, dtype and id; the type of all five; then the dtypes.
 * (That those of a record are floating, and each there once, is seen when it is loaded.) */
CASE(failures_restore,
     F14_F15_F16_F17_F18_R06_R30_R31_R34_R42_one_that_does_not_fit_changes_nothing)
{
    static const char *const logs[] = { "Fg", "Fg Fm", "Fg Fm Fo" };
    static const char *const types[] = { "", "Fg", "Fg Fm", "Fg Fm Fo", "Fg Fm Fo Fs" };
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_record *r = loaded(&g, 3);
    for (size_t i = 0; i < 17; i++) {
        job_like(&other, &g.job);
        spoil(&other, i);
        refuses(&g, r, &other, -CAIRN_EMISMATCH, i < 12 ? logs[i / 4] : types[i - 12]);
        job_fini(&other);
    }
    for (size_t i = 0; i < 5; i++) {
        job_like(&other, &g.job);
        spoil_params(&other, i);
        refuses(&g, r, &other, -CAIRN_EDTYPES, "Fg Fm Fo Fs Fu Wm");
        job_fini(&other);
    }
    (void)cairn_record_free(r);
    ground_check_newest(&g);
    ground_down(&g);
}
