/* What a capture and a restore must not do (records.md 1.6). The trainer's callbacks are the only
 * hands that the library has on a trainer, so who was asked how often is half of the answer; the
 * other half is that every bit is what it was. */
#include <stdlib.h>
#include <string.h>

#include "ground.h"
#include "lib/rec.h"

static const uint32_t kinds[] = { 0, 1, 2, 3, 4, 6 };
#define KINDS (sizeof kinds / sizeof kinds[0])

static int restore(struct ground *g, struct job *j, const struct cairn_record *r, uint32_t kind)
{
    switch (kind) {
    case CAIRN_KIND_MODEL_STATE:
        return cairn_model_state_restore(g->c, r, &j->t);
    case CAIRN_KIND_MODEL_STATE | CAIRN_KIND_WEIGHTED:
        return cairn_model_state_restore_weighted(g->c, r, &j->t);
    case CAIRN_KIND_DTYPES:
        return cairn_restore_with_dtypes(g->c, r, &j->t);
    case CAIRN_KIND_WEIGHTED:
        return cairn_restore_weighted(g->c, r, &j->t);
    case CAIRN_KIND_DTYPES | CAIRN_KIND_WEIGHTED:
        return cairn_restore_weighted_with_dtypes(g->c, r, &j->t);
    default:
        return cairn_restore(g->c, r, &j->t);
    }
}

/* How often the log says that this was asked of that component. */
static unsigned asked(const struct job *j, char what, char letter)
{
    unsigned count = 0;
    for (const char *at = j->log; *at != '\0'; at++) {
        count += at[0] == what && at[1] == letter;
    }
    return count;
}

static void captured_once(struct ground *g, uint32_t kind, char letter)
{
    struct cairn_record *r = NULL;
    struct job before;
    job_init(&before);
    job_fill(&before, 1);
    g->job.log[0] = '\0';
    cr_assert_eq(ground_capture(g, kind, &r), 0, "%s", cairn_error(g->c));
    cr_assert_eq(asked(&g->job, 'P', letter), 1, "%s", g->job.log);
    cr_assert_null(strpbrk(g->job.log, "FGR"), "put, and nothing else: %s", g->job.log);
    cr_assert_null(job_differs(&before, &g->job), "%s", job_differs(&before, &g->job));
    cr_assert(window_same(&before.window, &g->job.window));
    cr_assert_eq(g->job.generation, 0);
    (void)cairn_record_free(r);
    job_fini(&before);
}

static void restored_once(struct ground *g, uint32_t kind, char letter)
{
    struct job other;
    struct cairn_record *r = ground_loaded(g, kind);
    job_like(&other, &g->job);
    cr_assert_eq(restore(g, &other, r, kind), 0, "%s", cairn_error(g->c));
    cr_assert_eq(asked(&other, 'F', letter), 1, "%s", other.log);
    cr_assert_eq(asked(&other, 'G', letter), 1, "%s", other.log);
    cr_assert_null(strpbrk(other.log, "PR"), "%s", other.log);
    cr_assert_null(job_differs(&g->job, &other), "%s", job_differs(&g->job, &other));
    cr_assert_eq(other.generation, 0);
    job_fini(&other);
    (void)cairn_record_free(r);
}

/* In every kind: put once, looked at once, read once, with the bits that it had. */
static void once(char letter)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct ground g;
        ground_up(&g);
        job_fill(&g.job, 1);
        captured_once(&g, kinds[i], letter);
        restored_once(&g, kinds[i], letter);
        ground_down(&g);
    }
}

CASE(must_not, N1_update_by_the_optimizer)
{
    once('o');
}

CASE(must_not, N2_step_the_scheduler)
{
    once('s');
}

CASE(must_not, N6_consume_or_change_the_model)
{
    once('m');
}

/* What is pending stays as it was scaled and summed, and so does the window that says how. */
CASE(must_not, N3_reset_average_or_unscale_gradients)
{
    once('g');
    for (uint32_t kind = CAIRN_KIND_WEIGHTED; kind <= 6; kind += 4) {
        struct ground g;
        struct job other;
        ground_up(&g);
        job_fill(&g.job, 1);
        struct cairn_record *r = ground_loaded(&g, kind);
        job_like(&other, &g.job);
        cr_assert_eq(restore(&g, &other, r, kind), 0, "%s", cairn_error(g.c));
        cr_assert(window_same(&other.window, &g.job.window));
        job_fini(&other);
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

/* A parameter without a gradient has none; who asks for it is told so. */
CASE(must_not, N4_E12_invent_gradients)
{
    static const uint64_t shape[] = { 10 };
    const struct cairn_reader *gradients = NULL;
    struct cairn_entry e;
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_record *r = ground_loaded(&g, 0);
    cr_assert_eq(cairn_record_component(r, CAIRN_GRADIENTS, &gradients), 0);
    cr_assert_eq(cairn_entry_at(gradients, 1, &e), 0);
    cr_assert_eq(e.id, 7);
    cr_assert_eq(cairn_entry_at(gradients, 2, &e), -CAIRN_ENOENT, "8 and 9 have none");
    job_like(&other, &g.job);
    (void)BOX_ADD(&other.gradients, "bias", 8, CAIRN_HAS_ID, CAIRN_F32, 1, shape, 1);
    cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_EMISMATCH);
    cr_assert_str_eq(other.log, "Fg");
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* Whatever the precision, quantized bytes are what they were, of the type that they were. */
CASE(must_not, N5_quantize_anew_or_dequantize)
{
    static const uint64_t shape[] = { 6 };
    for (uint32_t precision = CAIRN_NATIVE; precision <= CAIRN_DOUBLE; precision++) {
        struct ground g;
        struct cairn_record *r = NULL;
        struct cairn_save_args args = { .precision = precision };
        struct cairn_boundary b;
        ground_up(&g);
        box_add_opaque(&g.job.model, "scheme", CAIRN_QFLOAT, 21);
        (void)BOX_ADD(&g.job.model, "affine", 0, 0, CAIRN_QINT8, 1, shape, 1);
        (void)BOX_ADD(&g.job.gradients, "affine", 0, 0, CAIRN_QINT8, 1, shape, 2);
        cr_assert_eq(ground_capture(&g, 0, &r), 0, "%s", cairn_error(g.c));
        cr_assert_eq(cairn_save(g.c, &r, &args, &b), 0, "%s", cairn_error(g.c));
        r = cairn_record_free(r);
        cr_assert(b.exact);
        ground_check_newest(&g);
        ground_down(&g);
    }
}

/* Nobody is there, and nobody is missed. */
CASE(must_not, N7_talk_to_the_daemon_in_a_capture)
{
    struct ground g;
    ground_up(&g);
    job_fill(&g.job, 1);
    fake_pause(&g.fake);
    for (size_t i = 0; i < KINDS; i++) {
        struct cairn_record *r = NULL;
        cr_assert_eq(ground_capture(&g, kinds[i], &r), 0, "%s", cairn_error(g.c));
        (void)cairn_record_free(r);
    }
    fake_resume(&g.fake);
    unsigned frames = 0;
    for (uint32_t i = 0; i < FAKE_TYPES; i++) {
        frames += fake_seen(&g.fake, i);
    }
    cr_assert_eq(frames, 2, "HELLO and RUN_OPEN of the open, nothing else");
    ground_down(&g);
}

/* The window comes back as full as it was, with its gradients: nothing is left to be done over. */
CASE(must_not, N8_R32_replay_microbatches)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_record *r = ground_loaded(&g, CAIRN_KIND_WEIGHTED);
    job_like(&other, &g.job);
    cr_assert_eq(cairn_restore_weighted(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_eq(other.window.microbatches, 3);
    cr_assert_str_eq(other.log, "Fg Fm Fo Fs Fu Gg Gm Go Gs Gu");
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* ---- nothing is inferred ---- */

CASE(must_not, N9_R04_make_up_the_callers_state)
{
    const struct cairn_reader *state = NULL;
    struct cairn_entry e;
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.job.t.state = (struct cairn_component){ .self = NULL };
    struct cairn_record *r = ground_loaded(&g, CAIRN_KIND_DTYPES | CAIRN_KIND_WEIGHTED);
    cr_assert_eq(cairn_record_component(r, CAIRN_STATE, &state), 0);
    cr_assert_eq(cairn_entry_at(state, 0, &e), -CAIRN_ENOENT, "empty it was");
    job_like(&other, &g.job);
    other.t.state.type = NULL;
    cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_EMISMATCH, "it has no counter");
    other.t.state = (struct cairn_component){ .self = NULL };
    cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(must_not, N9_R04_count_the_steps_for_the_caller)
{
    struct cairn_boundary b;
    struct ground g;
    ground_up(&g);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(ground_save(&g, 0, 0, &b), 0, "%s", cairn_error(g.c));
        cr_assert_eq(b.step, 0);
    }
    ground_down(&g);
}
