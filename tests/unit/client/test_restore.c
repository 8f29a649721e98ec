/* Restoring: which call takes which record, in which order, and what must not happen. */
#include <stdio.h>
#include <string.h>

#include "ground.h"

typedef int (*restore_fn)(struct cairn *c,
                          const struct cairn_record *r,
                          const struct cairn_trainer *t);

static const struct {
    const char *name;
    restore_fn call;
    uint32_t kind;
} restores[] = {
    { "plain", cairn_restore, 0 },
    { "dtypes", cairn_restore_with_dtypes, CAIRN_KIND_DTYPES },
    { "weighted", cairn_restore_weighted, CAIRN_KIND_WEIGHTED },
    { "both", cairn_restore_weighted_with_dtypes, CAIRN_KIND_DTYPES | CAIRN_KIND_WEIGHTED },
    { "model state", cairn_model_state_restore, CAIRN_KIND_MODEL_STATE },
    { "weighted model state",
      cairn_model_state_restore_weighted,
      CAIRN_KIND_MODEL_STATE | CAIRN_KIND_WEIGHTED },
};
#define RESTORES (sizeof restores / sizeof restores[0])

/* Save the job with that kind, load it. */
static struct cairn_record *loaded(struct ground *g, uint32_t kind)
{
    struct cairn_record *r = NULL;
    cr_assert_eq(ground_save(g, kind, 1, NULL), 0, "%s", cairn_error(g->c));
    cr_assert_eq(cairn_load(g->c, "latest", 0, &r), 0, "%s", cairn_error(g->c));
    return r;
}

CASE(restore, R30_takes_the_kinds_of_the_matrix_and_no_other)
{
    static const bool accepts[RESTORES][RESTORES] = {
        /* record: plain, dtypes, weighted, both, model state, weighted model state */
        { true, true, true, true, false, false },    { false, true, false, true, false, false },
        { false, false, true, false, false, false }, { false, false, false, true, false, false },
        { false, false, false, false, true, true },  { false, false, false, false, false, true },
    };
    struct ground g;
    ground_up(&g);
    job_fill(&g.job, 1);
    for (size_t kind = 0; kind < RESTORES; kind++) {
        struct cairn_record *r = loaded(&g, restores[kind].kind);
        for (size_t i = 0; i < RESTORES; i++) {
            struct job other;
            job_like(&other, &g.job);
            int rc = restores[i].call(g.c, r, &other.t);
            cr_assert_eq(rc,
                         accepts[i][kind] ? 0 : -CAIRN_EKIND,
                         "%s of %s: %s",
                         restores[i].name,
                         restores[kind].name,
                         cairn_error(g.c));
            if (rc < 0) {
                cr_assert_str_eq(other.log, "", "nobody was asked");
            } else {
                cr_assert_null(job_differs(&g.job, &other));
                bool window = (restores[i].kind & CAIRN_KIND_WEIGHTED) != 0;
                cr_assert_eq(other.window.microbatches, window ? 3 : 77);
            }
            job_fini(&other);
        }
        (void)cairn_record_free(r);
    }
    ground_down(&g);
}

CASE(restore, R31_R35_looks_at_all_then_reads_all_then_dtypes_then_window)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_record *r = loaded(&g, 3);
    job_like(&other, &g.job);
    other.params[0].dtype = CAIRN_F64;
    cr_assert_eq(cairn_restore_weighted_with_dtypes(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_str_eq(other.log, "Fg Fm Fo Fs Fu Wm Gg Gm Go Gs Gu Wm R7");
    cr_assert_eq(other.params[0].dtype, CAIRN_F32);
    cr_assert_eq(other.generation, 0);
    cr_assert(same_bits(&other.window, &g.job.window, sizeof other.window));
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}

/* Whoever says no in fit, nothing has been read by then, and nobody behind was asked. */
CASE(restore, R31_a_no_of_anybody_comes_before_the_first_get)
{
    static const char *logs[] = { "Fg", "Fg Fm", "Fg Fm Fo", "Fg Fm Fo Fs", "Fg Fm Fo Fs Fu" };
    struct ground g;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_record *r = loaded(&g, 3);
    for (int i = 0; i < 5; i++) {
        struct job other;
        job_like(&other, &g.job);
        struct box *boxes[] = {
            &other.gradients, &other.model, &other.optimizer, &other.scheduler, &other.state
        };
        boxes[i]->fit_rc = -CAIRN_EMISMATCH;
        cr_assert_eq(cairn_restore_weighted_with_dtypes(g.c, r, &other.t), -CAIRN_EMISMATCH);
        cr_assert_str_eq(other.log, logs[i]);
        cr_assert_eq(other.window.microbatches, 77);
        job_fini(&other);
    }
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(restore, a_get_that_fails_ends_it_and_the_window_stays)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_record *r = loaded(&g, 3);
    job_like(&other, &g.job);
    other.optimizer.get_rc = -CAIRN_EIO;
    cr_assert_eq(cairn_restore_weighted_with_dtypes(g.c, r, &other.t), -CAIRN_EIO);
    cr_assert_not_null(strstr(cairn_error(g.c), "optimizer"), "%s", cairn_error(g.c));
    cr_assert_str_eq(other.log, "Fg Fm Fo Fs Fu Wm Gg Gm Go");
    cr_assert_eq(other.window.microbatches, 77);
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}

CASE(restore, R06_another_type_of_a_component_is_refused)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_record *r = loaded(&g, 0);
    job_like(&other, &g.job);
    other.t.optimizer.type = "adam-2";
    cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_EMISMATCH);
    cr_assert_not_null(strstr(cairn_error(g.c), "'o'"), "%s", cairn_error(g.c));
    cr_assert_not_null(strstr(cairn_error(g.c), "'adam-2'"), "%s", cairn_error(g.c));
    cr_assert_str_eq(other.log, "Fg Fm");
    other.t.optimizer.type = NULL;
    cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_EMISMATCH);
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}

CASE(restore, needs_its_own_handle_a_loaded_record_and_a_window)
{
    struct ground g;
    struct cairn *other = NULL;
    struct cairn_record *captured = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_record *r = loaded(&g, 3);
    cr_assert_eq(cairn_open(g.fake.path, "demo", &other), 0);
    cr_assert_eq(cairn_restore(other, r, &g.job.t), -CAIRN_EINVAL);
    cr_assert_eq(cairn_restore(g.c, r, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &captured), 0);
    cr_assert_eq(cairn_restore(g.c, captured, &g.job.t), -CAIRN_EINVAL);
    g.job.t.window = NULL;
    cr_assert_eq(cairn_restore_weighted(g.c, r, &g.job.t), -CAIRN_EINVAL);
    cr_assert_eq(cairn_restore(g.c, r, &g.job.t), 0);
    g.job.t.param = NULL;
    cr_assert_eq(cairn_restore_with_dtypes(g.c, r, &g.job.t), -CAIRN_EINVAL);
    (void)cairn_record_free(captured);
    (void)cairn_record_free(r);
    (void)cairn_close(other);
    ground_down(&g);
}

/* ENOENT is cairn_load's word alone: it means "start fresh", which a trainer that does not fit the
 * record must not. */
CASE(restore, R42_a_missing_entry_is_a_mismatch)
{
    static const uint64_t shape[] = { 3 };
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_record *r = loaded(&g, 3);
    for (size_t i = 0; i < 4; i++) {
        if (restores[i].kind == CAIRN_KIND_WEIGHTED) {
            continue; /* does not take this record */
        }
        job_like(&other, &g.job);
        (void)BOX_ADD(&other.model, "not there", 5, CAIRN_HAS_ID, CAIRN_F32, 1, shape, 1);
        cr_assert_eq(restores[i].call(g.c, r, &other.t), -CAIRN_EMISMATCH, "%s", restores[i].name);
        cr_assert_not_null(
            strstr(cairn_error(g.c), "no entry 'not there'"), "%s", cairn_error(g.c));
        cr_assert_str_eq(other.log, "Fg Fm");
        job_fini(&other);
    }
    for (int i = 0; i < 3; i++) { /* whatever callback says it, in either pass */
        job_like(&other, &g.job);
        other.state.fit_rc = i == 0 ? -CAIRN_ENOENT : 0;
        other.state.get_rc = i == 1 ? -CAIRN_ENOENT : 0;
        other.retype_rc = i == 2 ? -CAIRN_ENOENT : 0;
        other.params[0].dtype = CAIRN_F64;
        cr_assert_eq(cairn_restore_with_dtypes(g.c, r, &other.t), -CAIRN_EMISMATCH, "%d", i);
        job_fini(&other);
    }
    const struct cairn_reader *reader = NULL;
    uint64_t value = 0;
    cr_assert_eq(cairn_record_component(r, CAIRN_STATE, &reader), 0);
    cr_assert_eq(cairn_get_u64(reader, "not there", &value), -CAIRN_ENOENT, "who probes is told");
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* The whole of it: capture changes nothing, restore nothing but what was recorded. */
CASE(restore, R10_captures_change_nothing)
{
    struct ground g;
    struct job before;
    ground_up(&g);
    job_fill(&g.job, 1);
    job_init(&before);
    job_fill(&before, 1);
    for (uint32_t kind = 0; kind < 4; kind++) {
        struct cairn_record *r = NULL;
        cr_assert_eq(ground_capture(&g, kind, &r), 0);
        (void)cairn_record_free(r);
    }
    cr_assert_null(job_differs(&before, &g.job));
    cr_assert(same_bits(&before.window, &g.job.window, sizeof before.window));
    cr_assert_eq(g.job.generation, 0);
    job_fini(&before);
    ground_down(&g);
}

/* ---- the window ---- */

static double nan_of(uint64_t bits)
{
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

CASE(window, E22_has_rules)
{
    const struct {
        const char *name;
        struct cairn_window w;
        bool ok;
    } windows[] = {
        { "fine", { CAIRN_F32, 16, 5, 3 }, true },
        { "f64", { CAIRN_F64, 1e300, 5, 3 }, true },
        { "dtype", { CAIRN_F16, 16, 5, 3 }, false },
        { "scale 0", { CAIRN_F32, 0, 5, 3 }, false },
        { "scale -1", { CAIRN_F32, -1, 5, 3 }, false },
        { "scale inf", { CAIRN_F32, nan_of(0x7ff0000000000000), 5, 3 }, false },
        { "scale nan", { CAIRN_F32, nan_of(0x7ff8000000000000), 5, 3 }, false },
        { "scale over f32", { CAIRN_F32, 1e39, 5, 3 }, false },
        { "scale under f32", { CAIRN_F32, 1e-46, 5, 3 }, false },
        { "scale over f32 as f64", { CAIRN_F64, 1e39, 5, 3 }, true },
        { "smallest f32", { CAIRN_F32, 0x1p-149, 5, 3 }, true },
        { "weight -1", { CAIRN_F32, 1, -1, 3 }, false },
        { "weight nan", { CAIRN_F32, 1, nan_of(0x7ff8000000000000), 3 }, false },
        { "weight over f32", { CAIRN_F32, 1, 1e39, 3 }, false },
        { "weight under f32", { CAIRN_F32, 1, 1e-46, 3 }, false },
        { "weight without microbatches", { CAIRN_F32, 1, 1, 0 }, false },
        { "microbatches", { CAIRN_F32, 1, 1, UINT64_MAX }, true },
    };
    struct ground g;
    ground_up(&g);
    job_fill(&g.job, 1);
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        struct cairn_record *r = NULL;
        g.job.window = windows[i].w;
        g.job.log[0] = '\0';
        int rc = cairn_capture_weighted(g.c, &g.job.t, &r);
        cr_assert_eq(rc, windows[i].ok ? 0 : -CAIRN_EWINDOW, "%s", windows[i].name);
        cr_assert(windows[i].ok || g.job.log[0] == '\0', "nobody was asked");
        (void)cairn_record_free(r);
    }
    ground_down(&g);
}

CASE(window, E20_weight_0_means_no_pending_gradients)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    g.job.window = (struct cairn_window){ CAIRN_F32, 1, -0.0, 5 };
    cr_assert_eq(
        cairn_capture_weighted(g.c, &g.job.t, &r), 0, "weight 0, microbatches 5, no gradients");
    r = cairn_record_free(r);
    job_fill(&g.job, 1);
    g.job.window = (struct cairn_window){ CAIRN_F32, 1, 0, 0 };
    cr_assert_eq(cairn_capture_weighted(g.c, &g.job.t, &r), -CAIRN_EWINDOW);
    cr_assert_not_null(strstr(cairn_error(g.c), "parameter 7"), "%s", cairn_error(g.c));
    ground_down(&g);
}

CASE(window, E13_E15_its_gradients_belong_to_the_model)
{
    static const uint64_t shape[] = { 64, 10 };
    static const uint64_t turned[] = { 10, 64 };
    static const struct {
        const char *name;
        uint64_t id;
        uint32_t flags, dtype;
        const uint64_t *shape;
        bool ok;
    } gradients[] = {
        { "fine", 7, CAIRN_HAS_ID, CAIRN_F32, shape, true },
        { "other dtype", 7, CAIRN_HAS_ID, CAIRN_BF16, shape, true },
        { "other shape", 7, CAIRN_HAS_ID, CAIRN_F32, turned, false },
        { "no parameter", 70, CAIRN_HAS_ID, CAIRN_F32, shape, false },
        { "no id", 0, 0, CAIRN_F32, shape, false },
        { "quantized", 7, CAIRN_HAS_ID, CAIRN_QINT8, shape, false },
    };
    for (size_t i = 0; i < sizeof gradients / sizeof gradients[0]; i++) {
        struct ground g;
        struct cairn_record *r = NULL;
        ground_up(&g);
        (void)BOX_ADD(&g.job.model, "w", 7, CAIRN_HAS_ID | CAIRN_TRAINABLE, CAIRN_F32, 2, shape, 1);
        (void)BOX_ADD(&g.job.gradients,
                      "w",
                      gradients[i].id,
                      gradients[i].flags,
                      gradients[i].dtype,
                      2,
                      gradients[i].shape,
                      2);
        g.job.window = (struct cairn_window){ CAIRN_F32, 1, 1, 1 };
        cr_assert_eq(cairn_capture_weighted(g.c, &g.job.t, &r),
                     gradients[i].ok ? 0 : -CAIRN_EWINDOW,
                     "%s",
                     gradients[i].name);
        r = cairn_record_free(r);
        g.job.t.foreign_gradients_ok = true;
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "a plain record takes it, if told to");
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

/* Its bits come back as they were, and only the weighted calls write it. */
CASE(window, R08_E2_E23_comes_back_bit_for_bit)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    g.job.window = (struct cairn_window){ CAIRN_F64, 0x1.fffffffffffffp-1022, -0.0, UINT64_MAX };
    struct cairn_record *r = loaded(&g, CAIRN_KIND_WEIGHTED);
    job_like(&other, &g.job);
    cr_assert_eq(cairn_restore(g.c, r, &other.t), 0);
    cr_assert_eq(other.window.microbatches, 77);
    cr_assert_eq(cairn_restore_weighted(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert(same_bits(&other.window, &g.job.window, sizeof other.window));
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}

/* ---- the dtype record ---- */

CASE(dtypes, R12_are_captured_first_and_must_be_floating)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.job.params[1].dtype = CAIRN_I32;
    cr_assert_eq(cairn_capture_with_dtypes(g.c, &g.job.t, &r), -CAIRN_EDTYPES);
    cr_assert_str_eq(g.job.log, "Wm", "before any gradient was read");
    cr_assert_not_null(strstr(cairn_error(g.c), "parameter 8"), "%s", cairn_error(g.c));
    ground_down(&g);
}

CASE(dtypes, R12_R18_tied_parameters_have_one)
{
    struct ground g;
    static const uint64_t shape[] = { 64, 10 };
    static const uint64_t bytes[] = { 500 };
    const uint32_t both = CAIRN_HAS_ID | CAIRN_TRAINABLE;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct box *m = &g.job.model;
    (void)BOX_ADD(m, "frozen alias", 7, CAIRN_HAS_ID, CAIRN_F16, 2, shape, 1);
    box_add_opaque(m, "quantized", CAIRN_QFLOAT, bytes[0]);
    m->tensors[m->count - 1]->entry.id = UINT64_MAX;
    m->tensors[m->count - 1]->entry.flags = both;
    (void)BOX_ADD(m, "zero", 0, both, CAIRN_FLEX32, 0, NULL, 1);
    g.job.params[3] = g.job.params[0];
    g.job.params[4] = (struct cairn_param){ 7, false, CAIRN_F16, 2, shape };
    g.job.params[5] = (struct cairn_param){ UINT64_MAX, true, CAIRN_QFLOAT, 1, bytes };
    g.job.params[6] = (struct cairn_param){ .id = 0, .trainable = true, .dtype = CAIRN_FLEX32 };
    g.job.param_count = 7;
    cr_assert_eq(cairn_capture_with_dtypes(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
    struct cairn_boundary b;
    cr_assert_eq(cairn_record_info(r, &b), 0);
    cr_assert_eq(b.entry_count, 14 + 6);
    r = cairn_record_free(r);
    g.job.params[3].dtype = CAIRN_BF16;
    cr_assert_eq(cairn_capture_with_dtypes(g.c, &g.job.t, &r), -CAIRN_EDTYPES);
    cr_assert_not_null(strstr(cairn_error(g.c), "parameter 7"), "%s", cairn_error(g.c));
    ground_down(&g);
}

/* One thing after the other that is not as in the model. */
static void spoil_params(struct job *j, int what)
{
    static const uint64_t shape[] = { 10, 64 };
    struct cairn_param *p = j->params;
    j->param_count = 3;
    switch (what) {
    case 0: /* one of the model is missing */
        j->param_count = 2;
        break;
    case 1: /* one is not the model's */
        p[3] = (struct cairn_param){ 70, true, CAIRN_F32, 2, shape };
        j->param_count = 4;
        break;
    case 2:
        p[2].trainable = true;
        break;
    case 3:
        p[1].dtype = CAIRN_F16;
        break;
    case 4:
        p[0].shape = shape;
        break;
    case 5:
        p[0].rank = 1;
        break;
    case 6: /* tied, one of them with another shape */
        p[3] = (struct cairn_param){ 7, true, CAIRN_F32, 2, shape };
        j->param_count = 4;
        break;
    case 7:
        p[0].shape = NULL;
        break;
    default:
        p[0].rank = UINT32_MAX;
    }
}

/* The record of dtypes is of the model that was captured with it, no more and no less. */
CASE(dtypes, R12_name_what_the_model_has)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct job *j = &g.job;
    const struct cairn_param given[] = { j->params[0], j->params[1], j->params[2] };
    for (int i = 0; i < 9; i++) {
        memcpy(j->params, given, sizeof given);
        spoil_params(j, i);
        j->log[0] = '\0';
        cr_assert_eq(cairn_capture_with_dtypes(g.c, &j->t, &r), -CAIRN_EDTYPES, "%d", i);
        bool early = i >= 7; /* refused by itself; the others with the model beside it */
        cr_assert_str_eq(j->log, early ? "Wm" : "Wm Pg Pm Po Ps Pu", "%d", i);
        cr_assert_eq(cairn_capture(g.c, &j->t, &r), 0, "without dtypes nobody asks");
        r = cairn_record_free(r);
    }
    memcpy(j->params, given, sizeof given);
    spoil_params(j, 0);
    cr_assert_eq(cairn_capture_with_dtypes(g.c, &j->t, &r), -CAIRN_EDTYPES);
    cr_assert_not_null(strstr(cairn_error(g.c), "parameter 9"), "%s", cairn_error(g.c));
    cr_assert_not_null(strstr(cairn_error(g.c), "'table'"), "%s", cairn_error(g.c));
    ground_down(&g);
}

/* What has no id, and what is of no dtype that the record can name, is outside of it. */
CASE(dtypes, leave_the_rest_of_the_model_alone)
{
    static const uint64_t shape[] = { 5 };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    (void)BOX_ADD(&g.job.model, "running mean", 0, 0, CAIRN_F32, 1, shape, 1);
    (void)BOX_ADD(&g.job.model, "steps", 71, CAIRN_HAS_ID, CAIRN_I64, 1, shape, 1);
    (void)BOX_ADD(&g.job.model, "packed", 72, CAIRN_HAS_ID, CAIRN_F8_E4M3FN, 1, shape, 1);
    cr_assert_eq(cairn_capture_with_dtypes(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(dtypes, R34_fit_or_are_refused_before_anything_is_read)
{
    for (int i = 0; i < 5; i++) {
        struct ground g;
        struct job other;
        ground_up(&g);
        job_fill(&g.job, 1);
        struct cairn_record *r = loaded(&g, CAIRN_KIND_DTYPES);
        job_like(&other, &g.job);
        switch (i) {
        case 0:
            other.params[0].id = 70;
            break;
        case 1:
            other.params[0].trainable = false;
            break;
        case 2:
            other.param_count = 2;
            break;
        case 3:
            other.params[0].dtype = CAIRN_QFLOAT;
            break;
        default:
            other.params[0].dtype = CAIRN_F16;
            other.t.retype = NULL;
        }
        cr_assert_eq(cairn_restore_with_dtypes(g.c, r, &other.t), -CAIRN_EDTYPES, "%d", i);
        cr_assert_str_eq(other.log, "Fg Fm Fo Fs Fu Wm");
        cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "the plain restore does not apply them");
        (void)cairn_record_free(r);
        job_fini(&other);
        ground_down(&g);
    }
}

CASE(dtypes, R34_E18_tied_parameters_change_once)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.job.params[3] = g.job.params[0];
    g.job.param_count = 4;
    struct cairn_record *r = loaded(&g, CAIRN_KIND_DTYPES);
    job_like(&other, &g.job);
    other.params[0].dtype = CAIRN_F16;
    other.params[3].dtype = CAIRN_F16;
    other.params[2].dtype = CAIRN_F64;
    cr_assert_eq(cairn_restore_with_dtypes(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_not_null(strstr(other.log, "Gu Wm R7 R9"), "%s", other.log);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(other.params[i].dtype, g.job.params[i].dtype);
    }
    other.params[0].dtype = CAIRN_F16;
    other.retype_rc = -CAIRN_ENOMEM;
    cr_assert_eq(cairn_restore_with_dtypes(g.c, r, &other.t), -CAIRN_ENOMEM);
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}
