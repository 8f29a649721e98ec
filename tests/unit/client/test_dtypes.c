/* The record of storage dtypes: each of its rules (records.md 3.4), at capture against the model
 * that is captured, at restore against the trainer's. */
#include <string.h>

#include "ground.h"
#include "lib/rec.h"

/* Not of integers, and not of the small and quantized dtypes that the format would let pass. The
 * model has the tensor just as it is walked, so that nothing else is wrong. */
CASE(dtypes, D1_F1_R12_are_captured_first_and_must_be_floating)
{
    static const uint32_t others[] = {
        CAIRN_I32,     CAIRN_U8,        CAIRN_BOOL,  CAIRN_C64,
        CAIRN_F4_E2M1, CAIRN_F8_E4M3FN, CAIRN_QINT8, CAIRN_QUINT4X2
    };
    static const uint64_t shape[] = { 6 };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct ground g;
        struct cairn_record *r = NULL;
        ground_up(&g);
        job_fill(&g.job, 1);
        const uint32_t both = CAIRN_HAS_ID | CAIRN_TRAINABLE;
        (void)BOX_ADD(&g.job.model, "other", 70, both, others[i], 1, shape, 1);
        g.job.params[3] = (struct cairn_param){ 70, true, others[i], 1, shape };
        g.job.param_count = 4;
        cr_assert_eq(cairn_capture_with_dtypes(g.c, &g.job.t, &r), -CAIRN_EDTYPES, "%zu", i);
        cr_assert_str_eq(g.job.log, "Wm", "before any gradient was read");
        cr_assert_not_null(strstr(cairn_error(g.c), "parameter 70"), "%s", cairn_error(g.c));
        cr_assert_not_null(
            strstr(cairn_error(g.c), "is not of a floating"), "%s", cairn_error(g.c));
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "without dtypes nobody asks");
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

CASE(dtypes, D2_D7_D9_F1_R12_R18_tied_parameters_have_one)
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
    static const uint64_t ids[] = { 0, 7, 7, 8, 9, UINT64_MAX };
    for (size_t i = 0; i < 6; i++) {
        const struct entry *e = &r->components[COMPONENT_DTYPES].entries[i];
        cr_assert_eq(e->id, ids[i]);
        cr_assert_eq(e->path.bytes == strlen("frozen"), i == 1 || i == 4, "%zu", i);
    }
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
CASE(dtypes, D3_D4_D9_R12_name_what_the_model_has)
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
CASE(dtypes, D6_leave_the_rest_of_the_model_alone)
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

/* A restore into a trainer that was changed: refused before anything is read, and in peace with the
 * plain restore, which does not apply dtypes. */
static void refused(void (*change)(struct job *j, struct cairn_record *r))
{
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_record *r = ground_loaded(&g, CAIRN_KIND_DTYPES);
    job_like(&other, &g.job);
    change(&other, r);
    cr_assert_eq(cairn_restore_with_dtypes(g.c, r, &other.t), -CAIRN_EDTYPES);
    cr_assert_null(strpbrk(other.log, "GR"), "%s", other.log);
    cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "the plain restore does not apply them");
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}

static void record_an_integer(struct job *j, struct cairn_record *r)
{
    const uint64_t dtype = CAIRN_I32;
    struct entry *e = ground_entry(r, COMPONENT_DTYPES, "trainable", 7);
    (void)j;
    memcpy((void *)(uintptr_t)e->value.data, &dtype, sizeof dtype);
}

static void one_more_in_the_model(struct job *j, struct cairn_record *r)
{
    static const uint64_t shape[] = { 3 };
    (void)r;
    j->params[j->param_count++] = (struct cairn_param){ 70, true, CAIRN_F32, 1, shape };
}

static void another_id(struct job *j, struct cairn_record *r)
{
    (void)r;
    j->params[0].id = 70;
}

static void frozen_meanwhile(struct job *j, struct cairn_record *r)
{
    (void)r;
    j->params[0].trainable = false;
}

static void one_less_in_the_model(struct job *j, struct cairn_record *r)
{
    (void)r;
    j->param_count = 2;
}

static void quantized_meanwhile(struct job *j, struct cairn_record *r)
{
    (void)r;
    j->params[0].dtype = CAIRN_QFLOAT;
}

static void recorded_as_quantized(struct job *j, struct cairn_record *r)
{
    const uint64_t dtype = CAIRN_QFLOAT;
    struct entry *e = ground_entry(r, COMPONENT_DTYPES, "trainable", 7);
    (void)j;
    memcpy((void *)(uintptr_t)e->value.data, &dtype, sizeof dtype);
}

static void nobody_retypes(struct job *j, struct cairn_record *r)
{
    (void)r;
    j->params[0].dtype = CAIRN_F16;
    j->t.retype = NULL;
}

CASE(dtypes, D1_R34_are_refused_when_one_that_is_recorded_is_not_floating)
{
    refused(record_an_integer);
}

CASE(dtypes, D3_R34_are_refused_without_an_entry_for_a_parameter)
{
    refused(one_more_in_the_model);
    refused(another_id);
    refused(frozen_meanwhile);
}

CASE(dtypes, D4_R34_are_refused_without_a_parameter_for_an_entry)
{
    refused(one_less_in_the_model);
}

CASE(dtypes, D5_N5_R34_are_refused_rather_than_requantized)
{
    refused(quantized_meanwhile);
    refused(recorded_as_quantized);
}

CASE(dtypes, D10_F18_R34_are_refused_before_anything_is_read_when_nobody_retypes)
{
    refused(nobody_retypes);
}

CASE(dtypes, D7_F18_R34_E18_tied_parameters_change_once_and_alone)
{
    static const uint64_t shape[] = { 64, 10 };
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.job.params[3] = g.job.params[0];
    g.job.params[4] = (struct cairn_param){ 7, false, CAIRN_F16, 2, shape };
    g.job.param_count = 5;
    (void)BOX_ADD(&g.job.model, "frozen alias", 7, CAIRN_HAS_ID, CAIRN_F16, 2, shape, 1);
    struct cairn_record *r = ground_loaded(&g, CAIRN_KIND_DTYPES);
    job_like(&other, &g.job);
    other.params[0].dtype = CAIRN_F16;
    other.params[3].dtype = CAIRN_F16;
    other.params[2].dtype = CAIRN_F64;
    cr_assert_eq(cairn_restore_with_dtypes(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_str_eq(other.log, "Fg Fm Fo Fs Fu Wm Gg Gm Go Gs Gu Wm R7 R9");
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(other.params[i].dtype, g.job.params[i].dtype);
    }
    other.params[0].dtype = CAIRN_F16;
    other.retype_rc = -CAIRN_ENOMEM;
    cr_assert_eq(cairn_restore_with_dtypes(g.c, r, &other.t), -CAIRN_ENOMEM);
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}
