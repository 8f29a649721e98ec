/* Every point at which a restore may fail, in the order in which they come. Each is provoked, and
 * nothing was read or changed that should not have been: the trainer's log says who was asked for
 * what, the fake daemon counts its frames. */
#include <math.h>
#include <string.h>

#include "ground.h"
#include "lib/training.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- a careless writer: captures what this library refuses to capture (CMakeLists.txt) ---- */

static bool careless;
static const char *left_out; /* of the window, when careless */

int real_window_check(const struct cairn_window *w, struct err *err) __asm__("__real_window_check");
int wrap_window_check(const struct cairn_window *w, struct err *err) __asm__("__wrap_window_check");
int real_window_gradients(const struct cairn_window *w,
                          const struct cairn_reader *gradients,
                          const struct cairn_reader *model,
                          struct err *err) __asm__("__real_window_check_gradients");
int wrap_window_gradients(const struct cairn_window *w,
                          const struct cairn_reader *gradients,
                          const struct cairn_reader *model,
                          struct err *err) __asm__("__wrap_window_check_gradients");
int real_window_capture(struct capture *cap,
                        const struct cairn_window *w) __asm__("__real_window_capture");
int wrap_window_capture(struct capture *cap,
                        const struct cairn_window *w) __asm__("__wrap_window_capture");

int wrap_window_check(const struct cairn_window *w, struct err *err)
{
    return careless ? 0 : real_window_check(w, err);
}

int wrap_window_gradients(const struct cairn_window *w,
                          const struct cairn_reader *gradients,
                          const struct cairn_reader *model,
                          struct err *err)
{
    return careless ? 0 : real_window_gradients(w, gradients, model, err);
}

static int put_the_rest(void *self, struct cairn_writer *w)
{
    static const char *const names[] = { "dtype", "loss_scale", "microbatches", "total_weight" };
    (void)self;
    for (size_t i = 0; i < COUNT(names); i++) {
        int rc = 0;
        if (strcmp(names[i], left_out) != 0) {
            rc = i % 2 == 0 ? cairn_put_u64(w, names[i], 2) : cairn_put_f64(w, names[i], 2);
        }
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

int wrap_window_capture(struct capture *cap, const struct cairn_window *w)
{
    struct component_put put = { .put = put_the_rest };
    return left_out == NULL ? real_window_capture(cap, w)
                            : capture_component(cap, COMPONENT_WINDOW, &put);
}

static void says(const struct ground *g, const char *word)
{
    cr_assert_not_null(
        strstr(cairn_error(g->c), word), "'%s' is not in: %s", word, cairn_error(g->c));
}

/* ---- restore ---- */

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
CASE(failures_restore, R06_R30_R31_R34_R42_a_restore_that_does_not_fit_reads_and_changes_nothing)
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

/* ---- restore: the window, last ---- */

static const struct {
    struct cairn_window w;
    const char *word;
} windows[] = {
    { { CAIRN_F16, 16, 5, 3 }, "work dtype" },
    { { CAIRN_F32, 0, 5, 3 }, "loss_scale" },
    { { CAIRN_F32, -1, 5, 3 }, "loss_scale" },
    { { CAIRN_F32, (double)INFINITY, 5, 3 }, "loss_scale" },
    { { CAIRN_F32, (double)NAN, 5, 3 }, "loss_scale" },
    { { CAIRN_F32, 1e39, 5, 3 }, "as F32" },
    { { CAIRN_F32, 1e-46, 5, 3 }, "as F32" },
    { { CAIRN_F64, 16, -1, 3 }, "total_weight" },
    { { CAIRN_F64, 16, (double)INFINITY, 3 }, "total_weight" },
    { { CAIRN_F64, 16, (double)NAN, 3 }, "total_weight" },
    { { CAIRN_F32, 16, 1e39, 3 }, "as F32" },
    { { CAIRN_F32, 16, 1e-46, 3 }, "as F32" },
    { { CAIRN_F32, 16, 1, 0 }, "without microbatches" },
    { { CAIRN_F32, 16, 0, 3 }, "pending although total_weight is 0" },
};

/* Each rule by itself, on a record that somebody else wrote: EWINDOW, and nothing has changed. */
CASE(failures_restore, R33_E22_a_recorded_window_is_judged_before_anything_is_read)
{
    for (size_t i = 0; i < COUNT(windows); i++) {
        struct ground g;
        struct job other;
        ground_up(&g);
        job_fill(&g.job, 1);
        g.job.window = windows[i].w;
        careless = true;
        struct cairn_record *r = loaded(&g, 3);
        careless = false;
        job_like(&other, &g.job);
        other.window.microbatches = 77;
        refuses(&g, r, &other, -CAIRN_EWINDOW, "Fg Fm Fo Fs Fu Wm");
        says(&g, windows[i].word);
        job_fini(&other);
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

/* The gradients of the window against the model: id, shape, quantization (E13, E15). */
CASE(failures_restore, R33_E13_E15_a_recorded_gradient_is_judged_before_anything_is_read)
{
    static const uint64_t shape[] = { 64, 10 };
    static const uint64_t turned[] = { 10, 64 };
    static const struct {
        struct cairn_entry e;
        const char *word;
    } gradients[] = {
        { { .path = "g",
            .id = 70,
            .flags = CAIRN_HAS_ID,
            .dtype = CAIRN_F32,
            .rank = 2,
            .shape = shape },
          "parameter 70 ('g') is not a parameter" },
        { { .path = "g", .dtype = CAIRN_F32, .rank = 2, .shape = shape }, "is not a parameter" },
        { { .path = "g",
            .id = 8,
            .flags = CAIRN_HAS_ID,
            .dtype = CAIRN_F32,
            .rank = 2,
            .shape = turned },
          "parameter 8 ('g') has another shape" },
        { { .path = "g",
            .id = 8,
            .flags = CAIRN_HAS_ID,
            .dtype = CAIRN_QINT8,
            .rank = 2,
            .shape = shape },
          "parameter 8 ('g') is quantized" },
    };
    for (size_t i = 0; i < COUNT(gradients); i++) {
        struct ground g;
        struct job other;
        ground_up(&g);
        job_fill(&g.job, 1);
        (void)box_add(&g.job.gradients, &gradients[i].e, 1);
        careless = true;
        struct cairn_record *r = loaded(&g, 3);
        careless = false;
        job_like(&other, &g.job);
        refuses(&g, r, &other, -CAIRN_EWINDOW, "Fg Fm Fo Fs Fu Wm");
        says(&g, gradients[i].word);
        job_fini(&other);
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

/* A window with a piece missing is no window: nothing is made up for it. */
CASE(failures_restore, R15_a_window_that_is_not_whole_has_no_defaults)
{
    static const char *const names[] = { "dtype", "loss_scale", "microbatches", "total_weight" };
    for (size_t i = 0; i < COUNT(names); i++) {
        struct ground g;
        struct job other;
        ground_up(&g);
        job_fill(&g.job, 1);
        left_out = names[i];
        struct cairn_record *r = loaded(&g, 3);
        left_out = NULL;
        job_like(&other, &g.job);
        refuses(&g, r, &other, -CAIRN_EWINDOW, "Fg Fm Fo Fs Fu Wm");
        says(&g, "not complete");
        job_fini(&other);
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

/* dtypes first, then the window against the model that has them: with both wrong, dtypes win. */
CASE(failures_restore, R35_dtypes_win_over_the_window)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.job.window.loss_scale = 0;
    careless = true;
    struct cairn_record *r = loaded(&g, 3);
    careless = false;
    job_like(&other, &g.job);
    other.param_count = 2;
    refuses(&g, r, &other, -CAIRN_EDTYPES, "Fg Fm Fo Fs Fu Wm");
    other.param_count = 3;
    refuses(&g, r, &other, -CAIRN_EWINDOW, "Fg Fm Fo Fs Fu Wm");
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}
