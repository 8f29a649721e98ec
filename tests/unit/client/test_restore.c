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

CASE(restore, F13_R30_takes_the_kinds_of_the_matrix_and_no_other)
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

CASE(restore, F21_R31_R35_looks_at_all_then_reads_all_then_dtypes_then_window)
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
CASE(restore, F21_R31_a_no_of_anybody_comes_before_the_first_get)
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

CASE(restore, F21_W14_a_get_that_fails_ends_it_and_the_window_stays)
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
CASE(restore, F11_R42_a_missing_entry_is_a_mismatch)
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
