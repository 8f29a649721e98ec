/* The weighted window: each of its rules by itself (records.md 3.8), at capture, before anything is
 * read, and at restore, of a record that a less careful writer made. */
#include <string.h>

#include "ground.h"
#include "lib/rec.h"

static double nan_of(uint64_t bits)
{
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const uint64_t shape[] = { 64, 10 };

/* ---- the four fields ---- */

/* `wrong` is what the error says of the rule that is broken; NULL: none is. All rules have one
 * code, and a value that breaks one often breaks the next as well: only the words tell which it
 * was. */
static void window_rc(const struct ground *g, int rc, const char *wrong)
{
    cr_assert_eq(rc, wrong == NULL ? 0 : -CAIRN_EWINDOW, "%s", cairn_error(g->c));
    cr_assert(wrong == NULL || strstr(cairn_error(g->c), wrong) != NULL,
              "'%s' is not in: %s",
              wrong,
              cairn_error(g->c));
}

static void capture_is(struct ground *g, const struct cairn_window *w, const char *wrong)
{
    struct cairn_record *r = NULL;
    g->job.window = *w;
    g->job.log[0] = '\0';
    window_rc(g, cairn_capture_weighted(g->c, &g->job.t, &r), wrong);
    cr_assert(wrong == NULL || g->job.log[0] == '\0', "nobody was asked");
    (void)cairn_record_free(r);
}

static void spoil(struct cairn_record *r, const char *path, const void *value)
{
    struct entry *e = ground_entry(r, COMPONENT_WINDOW, path, 0);
    memcpy((void *)(uintptr_t)e->value.data, value, e->value.bytes);
}

static void restore_is(struct ground *g, const struct cairn_window *w, const char *wrong)
{
    struct job other;
    uint64_t dtype = w->dtype;
    g->job.window = (struct cairn_window){ CAIRN_F32, 16, 5, 3 };
    struct cairn_record *r = ground_loaded(g, CAIRN_KIND_WEIGHTED);
    spoil(r, "dtype", &dtype);
    spoil(r, "loss_scale", &w->loss_scale);
    spoil(r, "total_weight", &w->total_weight);
    spoil(r, "microbatches", &w->microbatches);
    job_like(&other, &g->job);
    struct cairn_window untouched = other.window;
    window_rc(g, cairn_restore_weighted(g->c, r, &other.t), wrong);
    cr_assert(wrong == NULL || strchr(other.log, 'G') == NULL, "nothing was read: %s", other.log);
    cr_assert(window_same(&other.window, wrong == NULL ? w : &untouched));
    job_fini(&other);
    (void)cairn_record_free(r);
}

static void window_is(struct cairn_window w, const char *wrong)
{
    struct ground g;
    ground_up(&g);
    job_fill(&g.job, 1);
    capture_is(&g, &w, wrong);
    restore_is(&g, &w, wrong);
    ground_down(&g);
}

#define TAKEN(...) window_is((struct cairn_window){ __VA_ARGS__ }, NULL)
#define REFUSED(wrong, ...) window_is((struct cairn_window){ __VA_ARGS__ }, wrong)

CASE(window, W1_R33_its_dtype_is_F32_or_F64)
{
    static const char wrong[] = "the work dtype must be F32 or F64";
    TAKEN(CAIRN_F32, 16, 5, 3);
    TAKEN(CAIRN_F64, 16, 5, 3);
    REFUSED(wrong, CAIRN_F16, 16, 5, 3);
    REFUSED(wrong, CAIRN_I32, 16, 5, 3);
    REFUSED(wrong, 0, 16, 5, 3);
}

CASE(window, W2_E22_R33_loss_scale_is_finite_and_above_0)
{
    static const char wrong[] = "loss_scale must be finite and greater than 0";
    TAKEN(CAIRN_F64, 1e300, 5, 3);
    REFUSED(wrong, CAIRN_F64, 0, 5, 3);
    REFUSED(wrong, CAIRN_F64, -1, 5, 3);
    REFUSED(wrong, CAIRN_F64, nan_of(0x7ff0000000000000), 5, 3);
    REFUSED(wrong, CAIRN_F64, nan_of(0x7ff8000000000000), 5, 3);
}

CASE(window, W3_E22_R33_loss_scale_stays_so_as_F32)
{
    static const char wrong[] = "loss_scale must stay finite and greater than 0 as F32";
    TAKEN(CAIRN_F32, 0x1p-149, 5, 3);
    TAKEN(CAIRN_F64, 1e39, 5, 3);
    TAKEN(CAIRN_F64, 1e-46, 5, 3);
    REFUSED(wrong, CAIRN_F32, 1e39, 5, 3);
    REFUSED(wrong, CAIRN_F32, 1e-46, 5, 3);
}

CASE(window, W4_R33_total_weight_is_finite_and_not_negative)
{
    static const char wrong[] = "total_weight must be finite and not negative";
    TAKEN(CAIRN_F64, 1, 0x1p-1074, 3);
    REFUSED(wrong, CAIRN_F64, 1, -1, 3);
    REFUSED(wrong, CAIRN_F64, 1, nan_of(0x7ff0000000000000), 3);
    REFUSED(wrong, CAIRN_F64, 1, nan_of(0x7ff8000000000000), 3);
}

CASE(window, W5_R33_total_weight_stays_finite_and_does_not_vanish_as_F32)
{
    TAKEN(CAIRN_F32, 1, 0x1p-149, 3);
    TAKEN(CAIRN_F64, 1, 1e39, 3);
    TAKEN(CAIRN_F64, 1, 1e-46, 3);
    REFUSED("total_weight must stay finite as F32", CAIRN_F32, 1, 1e39, 3);
    REFUSED("total_weight must not vanish as F32", CAIRN_F32, 1, 1e-46, 3);
}

CASE(window, W6_E20_R33_no_microbatches_no_weight)
{
    static const char wrong[] = "total_weight without microbatches";
    TAKEN(CAIRN_F32, 1, 1, 1);
    REFUSED(wrong, CAIRN_F32, 1, 1, 0);
}

/* ---- the window and its gradients ---- */

CASE(window, W6_W7_E20_R33_no_weight_no_pending_gradients)
{
    static const struct cairn_window empty = { CAIRN_F32, 1, 0, 0 };
    static const struct cairn_window weightless = { CAIRN_F32, 1, -0.0, 5 };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    capture_is(&g, &empty, NULL);
    capture_is(&g, &weightless, NULL); /* zero-weight batches */
    job_fill(&g.job, 1);
    for (int i = 0; i < 2; i++) {
        const struct cairn_window *w = i == 0 ? &empty : &weightless;
        g.job.window = *w;
        cr_assert_eq(cairn_capture_weighted(g.c, &g.job.t, &r), -CAIRN_EWINDOW);
        cr_assert_not_null(strstr(cairn_error(g.c), "parameter 7"), "%s", cairn_error(g.c));
        restore_is(&g, w, "is pending although total_weight is 0");
    }
    ground_down(&g);
}

struct gradient {
    uint64_t id;
    uint32_t flags, dtype;
    const uint64_t *shape;
    uint32_t parameter; /* dtype of its parameter; 0: F32 */
};

static uint32_t parameter_dtype(const struct gradient *is)
{
    return is->parameter == 0 ? CAIRN_F32 : is->parameter;
}

static void gradient_at_capture(const struct gradient *is, bool ok)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    (void)BOX_ADD(
        &g.job.model, "w", 7, CAIRN_HAS_ID | CAIRN_TRAINABLE, parameter_dtype(is), 2, shape, 1);
    const struct tensor *t =
        BOX_ADD(&g.job.gradients, "w", is->id, is->flags, is->dtype, 2, is->shape, 2);
    memset(t->data, 0, t->bytes); /* legal as bools, too */
    g.job.window = (struct cairn_window){ CAIRN_F32, 1, 1, 1 };
    cr_assert_eq(cairn_capture_weighted(g.c, &g.job.t, &r), ok ? 0 : -CAIRN_EWINDOW);
    r = cairn_record_free(r);
    g.job.t.foreign_gradients_ok = true;
    bool same_class = is->dtype == parameter_dtype(is) ||
                      (is->dtype == CAIRN_BF16 && parameter_dtype(is) == CAIRN_F32);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r),
                 same_class ? 0 : -CAIRN_EINVAL,
                 "a plain record takes it, if told to, but of no other class");
    (void)cairn_record_free(r);
    ground_down(&g);
}

static void gradient_at_restore(const struct gradient *is, bool ok)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_record *r = ground_loaded(&g, CAIRN_KIND_WEIGHTED);
    struct entry *e = ground_entry(r, COMPONENT_GRADIENTS, "weight", 7);
    e->id = is->id;
    e->flags = is->flags;
    e->dtype = is->dtype;
    e->shape = is->shape;
    ground_entry(r, COMPONENT_MODEL, "fc.weight", 7)->dtype = parameter_dtype(is);
    job_like(&other, &g.job);
    other.t.accumulator.fit = NULL; /* who looks away is not let through for it */
    other.t.accumulator.get = NULL;
    other.t.model.fit = NULL;
    other.t.model.get = NULL;
    cr_assert_eq(cairn_restore_weighted(g.c, r, &other.t), ok ? 0 : -CAIRN_EWINDOW);
    cr_assert(ok || strchr(other.log, 'G') == NULL, "nothing was read: %s", other.log);
    cr_assert_eq(other.window.microbatches, ok ? 3 : 77);
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

static void gradient_is(struct gradient is, bool ok)
{
    gradient_at_capture(&is, ok);
    gradient_at_restore(&is, ok);
}

CASE(window, W8_E13_R33_its_gradients_are_of_parameters_of_the_model)
{
    gradient_is((struct gradient){ 7, CAIRN_HAS_ID, CAIRN_F32, shape, 0 }, true);
    gradient_is((struct gradient){ 70, CAIRN_HAS_ID, CAIRN_F32, shape, 0 }, false);
    gradient_is((struct gradient){ 0, 0, CAIRN_F32, shape, 0 }, false);
}

CASE(window, W9_E15_R33_its_gradients_have_the_shapes_of_their_parameters)
{
    static const uint64_t turned[] = { 10, 64 };
    gradient_is((struct gradient){ 7, CAIRN_HAS_ID, CAIRN_F32, turned, 0 }, false);
}

/* Of another floating dtype they may be: an F32 gradient of a BF16 weight is the usual case. */
CASE(window, W10_E15_R33_its_gradients_are_not_quantized)
{
    gradient_is((struct gradient){ 7, CAIRN_HAS_ID, CAIRN_BF16, shape, 0 }, true);
    gradient_is((struct gradient){ 7, CAIRN_HAS_ID, CAIRN_QINT8, shape, 0 }, false);
    gradient_is((struct gradient){ 7, CAIRN_HAS_ID, CAIRN_QINT8, shape, CAIRN_QINT8 }, false);
    gradient_is((struct gradient){ 7, CAIRN_HAS_ID, CAIRN_F32, shape, CAIRN_QINT8 }, false);
}

/* What is summed in the work dtype is floating. */
CASE(window, W10_E15_R33_its_gradients_are_floating)
{
    static const uint32_t others[] = { CAIRN_I32, CAIRN_U8, CAIRN_BOOL, CAIRN_C64 };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        gradient_is((struct gradient){ 7, CAIRN_HAS_ID, others[i], shape, 0 }, false);
    }
    gradient_is((struct gradient){ 7, CAIRN_HAS_ID, CAIRN_C64, shape, CAIRN_C64 }, false);
    gradient_is((struct gradient){ 7, CAIRN_HAS_ID, CAIRN_F32, shape, CAIRN_C64 }, false);
    /* Its length does not follow from its shape, so it is only met where it was recorded. */
    const struct gradient opaque = { 7, CAIRN_HAS_ID, CAIRN_OPAQUE, shape, 0 };
    gradient_at_restore(&opaque, false);
}

/* ---- what comes back ---- */

/* Its bits as they were: nothing is unscaled, averaged or closed; and only the weighted calls write
 * it. */
CASE(window, W12_W13_R08_E2_E23_comes_back_bit_for_bit)
{
    static const struct cairn_window windows[] = {
        { CAIRN_F64, 0x1.fffffffffffffp-1022, -0.0, UINT64_MAX },
        { CAIRN_F32, 16, 5, 3 },
    };
    for (size_t i = 0; i < 2; i++) {
        struct ground g;
        struct job other;
        ground_up(&g);
        g.job.window = windows[i];
        struct cairn_record *r = ground_loaded(&g, CAIRN_KIND_WEIGHTED);
        cr_assert(window_same(&g.job.window, &windows[i]), "capture closed it");
        job_like(&other, &g.job);
        cr_assert_eq(cairn_restore(g.c, r, &other.t), 0);
        cr_assert_eq(other.window.microbatches, 77);
        cr_assert_eq(cairn_restore_weighted(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
        cr_assert(window_same(&other.window, &windows[i]));
        job_fini(&other);
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

static void window_lacks(const char *path, bool pending)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    if (pending) {
        job_fill(&g.job, 1);
    }
    struct cairn_record *r = ground_loaded(&g, CAIRN_KIND_WEIGHTED);
    struct cairn_reader *reader = &r->components[COMPONENT_WINDOW];
    struct entry *e = ground_entry(r, COMPONENT_WINDOW, path, 0);
    memmove(e, e + 1, (size_t)(reader->entries + --reader->count - e) * sizeof *e);
    job_like(&other, &g.job);
    window_rc(&g, cairn_restore_weighted(g.c, r, &other.t), "is not complete");
    cr_assert_null(strchr(other.log, 'G'), "%s", other.log);
    cr_assert_eq(other.window.microbatches, 77);
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* Any of the four that is not there: refused, and never made up. Without pending gradients, too: an
 * empty window that was made up would be refused for those alone. */
CASE(window, W15_N9_F19_R15_one_that_is_not_complete_is_refused)
{
    static const char *const paths[] = { "dtype", "loss_scale", "microbatches", "total_weight" };
    for (size_t i = 0; i < 4; i++) {
        window_lacks(paths[i], true);
        window_lacks(paths[i], false);
    }
}

/* dtypes first, then the window: with both wrong, the dtypes win. Neither has read anything. */
CASE(window, F18_F19_R35_comes_behind_the_dtypes)
{
    const double none = 0;
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_record *r = ground_loaded(&g, CAIRN_KIND_DTYPES | CAIRN_KIND_WEIGHTED);
    spoil(r, "loss_scale", &none);
    job_like(&other, &g.job);
    cr_assert_eq(cairn_restore_weighted_with_dtypes(g.c, r, &other.t), -CAIRN_EWINDOW);
    cr_assert_str_eq(other.log, "Fg Fm Fo Fs Fu Wm");
    other.param_count = 2;
    other.log[0] = '\0';
    cr_assert_eq(cairn_restore_weighted_with_dtypes(g.c, r, &other.t), -CAIRN_EDTYPES);
    cr_assert_str_eq(other.log, "Fg Fm Fo Fs Fu Wm");
    cr_assert_eq(other.window.microbatches, 77);
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}
