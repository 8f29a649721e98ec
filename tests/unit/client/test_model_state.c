/* Records whose model the caller chooses: the contract they carry, and what is held against it. */
#include <stdio.h>
#include <string.h>

#include "ground.h"
#include "lib/rec.h"

/* Three trainable parameters, one of them with an extreme id, a frozen one, and a model that
 * carries only a part. */
static void fill(struct job *j)
{
    static const uint64_t weight[] = { 64, 10 };
    job_fill(j, 1);
    j->params[3] = (struct cairn_param){ 0, true, CAIRN_F32, 2, weight };
    j->params[4] = (struct cairn_param){ UINT64_MAX, true, CAIRN_F16, 0, NULL };
    j->param_count = 5;
}

static struct cairn_record *loaded(struct ground *g, uint32_t kind)
{
    struct cairn_record *r = NULL;
    cr_assert_eq(ground_save(g, kind, 1, NULL), 0, "%s", cairn_error(g->c));
    cr_assert_eq(cairn_load(g->c, "latest", 0, &r), 0, "%s", cairn_error(g->c));
    return r;
}

CASE(model_state, R01_captures_a_contract_of_the_trainable_and_restores)
{
    struct ground g;
    struct job other;
    const struct cairn_reader *contract = NULL;
    struct cairn_entry e;
    uint64_t version = 0;
    static const uint64_t ids[] = { 0, 7, 8, UINT64_MAX };
    ground_up(&g);
    fill(&g.job);
    struct cairn_record *r = loaded(&g, CAIRN_KIND_MODEL_STATE);
    cr_assert_str_eq(g.job.log, "Wm Pg Pm Po Ps Pu");
    cr_assert_eq(cairn_record_component(r, CAIRN_CONTRACT, &contract), 0);
    cr_assert_eq(cairn_get_u64(contract, "version", &version), 0);
    cr_assert_eq(version, 1);
    for (uint64_t i = 0; i < 4; i++) {
        cr_assert_eq(cairn_entry_at(contract, 1 + i, &e), 0);
        cr_assert(e.id == ids[i] && e.flags == CAIRN_HAS_ID && strcmp(e.path, "param") == 0);
    }
    cr_assert_eq(cairn_entry_at(contract, 5, &e), -CAIRN_ENOENT, "no frozen one");
    job_like(&other, &g.job);
    cr_assert_eq(cairn_model_state_restore(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_str_eq(other.log, "Fm Wm Fg Fo Fs Fu Gm Wm Gg Go Gs Gu");
    cr_assert_null(job_differs(&g.job, &other));
    cr_assert_eq(other.window.microbatches, 77, "not asked for");
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(model_state, F21_W14_R15_weighted_restores_the_window_last)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    fill(&g.job);
    struct cairn_record *r = loaded(&g, CAIRN_KIND_MODEL_STATE | CAIRN_KIND_WEIGHTED);
    job_like(&other, &g.job);
    cr_assert_eq(cairn_model_state_restore_weighted(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert(same_bits(&other.window, &g.job.window, sizeof other.window));
    other.window.microbatches = 77;
    other.state.get_rc = -CAIRN_EIO;
    cr_assert_eq(cairn_model_state_restore_weighted(g.c, r, &other.t), -CAIRN_EIO);
    cr_assert_eq(other.window.microbatches, 77);
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* ---- the comparison -------------------------------------------------------------------------- */

static void spoil(struct job *j, int how)
{
    static const uint64_t other[] = { 10, 64 };
    switch (how) {
    case 0:
        j->params[1].id = 88;
        break;
    case 1:
        j->params[0].dtype = CAIRN_BF16;
        break;
    case 2:
        j->params[0].shape = other;
        break;
    case 3:
        j->params[0].trainable = false;
        break;
    case 4:
        j->params[2].trainable = true;
        break;
    default:
        j->param_count = 0;
        break;
    }
}

CASE(model_state, R31_names_what_is_missing_extra_and_changed_before_any_get)
{
    static const char *const words[] = {
        "1 missing, 1 extra; missing: 8; extra: 88",
        "1 changed; changed: 7 (7 recorded F32 [64, 10], the trainer's BF16 [64, 10])",
        "1 changed; changed: 7 (7 recorded F32 [64, 10], the trainer's F32 [10, 64])",
        "1 missing; missing: 7",
        "1 extra; extra: 9",
        "4 missing; missing: 0, 7, 8, 18446744073709551615",
    };
    struct ground g;
    ground_up(&g);
    fill(&g.job);
    struct cairn_record *r = loaded(&g, CAIRN_KIND_MODEL_STATE);
    for (int i = 0; i < 6; i++) {
        struct job other;
        uint64_t count = 0;
        job_like(&other, &g.job);
        spoil(&other, i);
        cr_assert_eq(cairn_model_state_restore(g.c, r, &other.t), -CAIRN_EMISMATCH);
        cr_assert_not_null(strstr(cairn_error(g.c), words[i]), "%s", cairn_error(g.c));
        cr_assert_null(strchr(other.log, 'G'), "%s", other.log);
        cr_assert_eq(cairn_contract_fit(g.c, "latest", &other.t, &count), -CAIRN_EMISMATCH);
        cr_assert_not_null(strstr(cairn_error(g.c), words[i]), "%s", cairn_error(g.c));
        cr_assert_eq(count, 4);
        job_fini(&other);
    }
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* Fifteen of each: eight are named, the count says how many there are. */
CASE(model_state, R31_cuts_long_lists_with_a_count)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    g.job.param_count = 15;
    for (uint64_t i = 0; i < 15; i++) {
        g.job.params[i] = (struct cairn_param){ 1 + i, true, CAIRN_F32, 0, NULL };
    }
    struct cairn_record *r = loaded(&g, CAIRN_KIND_MODEL_STATE);
    job_like(&other, &g.job);
    for (uint64_t i = 0; i < 15; i++) {
        other.params[i].id += 100;
    }
    cr_assert_eq(cairn_model_state_restore(g.c, r, &other.t), -CAIRN_EMISMATCH);
    cr_assert_not_null(strstr(cairn_error(g.c),
                              "15 missing, 15 extra; missing: 1, 2, 3, 4, 5, 6, 7, 8 and 7 more; "
                              "extra: 101, 102, 103, 104, 105, 106, 107, 108 and 7 more"),
                       "%s",
                       cairn_error(g.c));
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* Ten of each, with ids of 20 digits: an id is there as a whole or not at all. */
CASE(model_state, R31_cuts_lists_of_long_ids_between_two_ids)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    g.job.param_count = 20;
    for (uint64_t i = 0; i < 20; i++) {
        g.job.params[i] = (struct cairn_param){ UINT64_MAX - i, true, CAIRN_F32, 0, NULL };
    }
    struct cairn_record *r = loaded(&g, CAIRN_KIND_MODEL_STATE);
    job_like(&other, &g.job);
    for (uint64_t i = 0; i < 10; i++) {
        other.params[i].id -= 1000;
        other.params[10 + i].dtype = CAIRN_BF16;
    }
    cr_assert_eq(cairn_model_state_restore(g.c, r, &other.t), -CAIRN_EMISMATCH);
    cr_assert_not_null(
        strstr(
            cairn_error(g.c),
            "of 20 recorded parameters, 10 missing, 10 extra, 10 changed; "
            "missing: 18446744073709551606, 18446744073709551607, 18446744073709551608 "
            "and 7 more; "
            "extra: 18446744073709550606, 18446744073709550607, 18446744073709550608 and 7 more; "
            "changed: 18446744073709551596, 18446744073709551597, 18446744073709551598 "
            "and 7 more (18446744073709551596 recorded F32 [], the trainer's BF16 [])"),
        "%s",
        cairn_error(g.c));
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* A model whose get turns it into another one has not been restored. */
static int get_another(void *self, const struct cairn_reader *r)
{
    struct box *b = self;
    (void)r;
    b->job->params[0].dtype = CAIRN_F64;
    return 0;
}

CASE(model_state, R31_looks_again_after_the_model_was_read)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    fill(&g.job);
    struct cairn_record *r = loaded(&g, CAIRN_KIND_MODEL_STATE);
    job_like(&other, &g.job);
    other.t.model.get = get_another;
    cr_assert_eq(cairn_model_state_restore(g.c, r, &other.t), -CAIRN_EMISMATCH);
    cr_assert_not_null(strstr(cairn_error(g.c), "after the model was read"));
    cr_assert_null(strstr(other.log, "Gg"), "%s", other.log);
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(model_state, R31_demands_the_base_it_was_recorded_over)
{
    static const uint8_t base[16] = "the frozen base";
    static const uint8_t elsewhere[16] = "another base...";
    const struct {
        const uint8_t *recorded, *live;
        const char *word; /* NULL: it fits */
    } cases[] = {
        { base, base, NULL },         { base, elsewhere, "another base" },
        { base, NULL, "names none" }, { NULL, base, "without a base" },
        { NULL, NULL, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ground g;
        struct job other;
        ground_up(&g);
        fill(&g.job);
        g.job.t.base = cases[i].recorded;
        struct cairn_record *r = loaded(&g, CAIRN_KIND_MODEL_STATE);
        job_like(&other, &g.job);
        other.t.base = cases[i].live;
        int rc = cairn_model_state_restore(g.c, r, &other.t);
        cr_assert_eq(rc, cases[i].word == NULL ? 0 : -CAIRN_EMISMATCH, "%zu", i);
        cr_assert(rc == 0 || strstr(cairn_error(g.c), cases[i].word) != NULL);
        job_fini(&other);
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

/* A newer library's contract is not read as if it were this one's. */
CASE(model_state, F13_E30_refuses_a_contract_of_another_version)
{
    const uint64_t two = 2;
    struct ground g;
    struct job other;
    ground_up(&g);
    fill(&g.job);
    struct cairn_record *r = ground_loaded(&g, CAIRN_KIND_MODEL_STATE);
    struct entry *e = ground_entry(r, COMPONENT_CONTRACT, "version", 0);
    memcpy((void *)(uintptr_t)e->value.data, &two, sizeof two);
    job_like(&other, &g.job);
    cr_assert_eq(cairn_model_state_restore(g.c, r, &other.t), -CAIRN_EVERSION);
    cr_assert_str_eq(other.log, "", "nobody was asked");
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(model_state, E30_refuses_a_contract_with_a_dtype_that_is_not_known)
{
    const uint32_t later = 77;
    struct ground g;
    struct job other;
    ground_up(&g);
    fill(&g.job);
    struct cairn_record *r = ground_loaded(&g, CAIRN_KIND_MODEL_STATE);
    struct entry *e = ground_entry(r, COMPONENT_CONTRACT, "param", 7);
    memcpy((void *)(uintptr_t)e->value.data, &later, sizeof later);
    job_like(&other, &g.job);
    cr_assert_eq(cairn_model_state_restore(g.c, r, &other.t), -CAIRN_ECORRUPT);
    cr_assert_not_null(strstr(cairn_error(g.c), "contract: parameter 7: ? (code 77) is no dtype"),
                       "%s",
                       cairn_error(g.c));
    cr_assert_str_eq(other.log, "", "nobody was asked");
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* ---- gradients, at capture ------------------------------------------------------------------- */

static void spoil_gradients(struct job *j, int how)
{
    static const uint64_t shape[] = { 64, 10 };
    static const uint64_t three[] = { 3 };
    static const uint64_t ten[] = { 10 };
    switch (how) {
    case 0:
        (void)BOX_ADD(&j->gradients, "g", 12345, CAIRN_HAS_ID, CAIRN_F32, 2, shape, 1);
        break;
    case 1:
        (void)BOX_ADD(&j->gradients, "g", 9, CAIRN_HAS_ID, CAIRN_F16, 2, shape, 1);
        break;
    case 2:
        (void)BOX_ADD(&j->gradients, "g", 8, CAIRN_HAS_ID, CAIRN_F32, 1, three, 1);
        break;
    case 3:
        (void)BOX_ADD(&j->gradients, "g", 8, CAIRN_HAS_ID, CAIRN_QINT8, 1, ten, 1);
        break;
    case 4:
        (void)BOX_ADD(&j->gradients, "g", 8, CAIRN_HAS_ID, CAIRN_I32, 1, ten, 1);
        break;
    case 5:
        (void)BOX_ADD(&j->gradients, "g", 8, CAIRN_HAS_ID, CAIRN_C64, 1, ten, 1);
        break;
    case 6:
        (void)BOX_ADD(&j->gradients, "g", 8, CAIRN_HAS_ID, CAIRN_BOOL_U8, 1, ten, 1);
        break;
    default:
        (void)BOX_ADD(&j->gradients, "g", 0, 0, CAIRN_F32, 2, shape, 1);
        break;
    }
}

static const char *const gradient_words[] = {
    "is not that of a parameter", "is that of a frozen parameter",
    "has another shape",          "is quantized",
    "is not of a floating dtype", "is not of a floating dtype",
    "is not of a floating dtype", "has no id",
};
#define GRADIENT_WORDS (sizeof gradient_words / sizeof gradient_words[0])

CASE(model_state, E13_E14_refuses_foreign_and_frozen_gradients_at_capture)
{
    for (int i = 0; i < (int)GRADIENT_WORDS; i++) {
        struct ground g;
        struct cairn_record *r = NULL;
        ground_up(&g);
        fill(&g.job);
        spoil_gradients(&g.job, i);
        cr_assert_eq(cairn_model_state_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
        cr_assert_not_null(strstr(cairn_error(g.c), gradient_words[i]), "%s", cairn_error(g.c));
        cr_assert_str_eq(g.job.log, "Wm Pg", "nothing behind was read");
        cr_assert_null(r);
        ground_down(&g);
    }
}

/* A record that a less careful writer made is refused when it is restored. */
CASE(model_state, E13_E14_refuses_foreign_and_frozen_gradients_at_restore)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    fill(&g.job);
    struct cairn_record *r = loaded(&g, CAIRN_KIND_MODEL_STATE);
    job_like(&other, &g.job);
    /* Recorded as trainable, frozen in the trainer: the contract speaks before the gradient. */
    other.params[0].trainable = false;
    cr_assert_eq(cairn_model_state_restore(g.c, r, &other.t), -CAIRN_EMISMATCH);
    cr_assert_str_eq(other.log, "Fm Wm");
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(model_state, F14_E15_refuses_gradients_of_another_class_at_restore)
{
    static const uint32_t others[] = { CAIRN_I32, CAIRN_BOOL, CAIRN_C64, CAIRN_OPAQUE };
    struct ground g;
    struct job other;
    ground_up(&g);
    fill(&g.job);
    struct cairn_record *r = ground_loaded(&g, CAIRN_KIND_MODEL_STATE | CAIRN_KIND_WEIGHTED);
    job_like(&other, &g.job);
    other.t.accumulator.fit = NULL;
    other.t.accumulator.get = NULL;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ground_entry(r, COMPONENT_GRADIENTS, "weight", 7)->dtype = others[i];
        cr_assert_eq(cairn_model_state_restore(g.c, r, &other.t), -CAIRN_EMISMATCH, "%zu", i);
        cr_assert_eq(
            cairn_model_state_restore_weighted(g.c, r, &other.t), -CAIRN_EMISMATCH, "%zu", i);
        cr_assert_not_null(strstr(cairn_error(g.c), "parameter 7 ('weight') is not of a floating"));
        cr_assert_null(strchr(other.log, 'G'), "%s", other.log);
        other.log[0] = '\0';
    }
    ground_entry(r, COMPONENT_GRADIENTS, "weight", 7)->dtype = CAIRN_BF16;
    cr_assert_eq(cairn_model_state_restore_weighted(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(model_state, E18_refuses_tied_parameters_that_differ)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    fill(&g.job);
    g.job.params[5] = g.job.params[0];
    g.job.param_count = 6;
    cr_assert_eq(cairn_model_state_capture(g.c, &g.job.t, &r), 0, "the same twice");
    r = cairn_record_free(r);
    g.job.params[5].dtype = CAIRN_F16;
    cr_assert_eq(cairn_model_state_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    cr_assert_not_null(strstr(cairn_error(g.c), "parameter 7 (trainable) is tied"));
    g.job.params[5].trainable = false;
    cr_assert_eq(cairn_model_state_capture(g.c, &g.job.t, &r), 0, "a frozen alias may differ");
    (void)cairn_record_free(r);
    g.job.t.param = NULL;
    cr_assert_eq(cairn_model_state_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    ground_down(&g);
}

/* ---- the question ---------------------------------------------------------------------------- */

CASE(model_state, contract_fit_reads_no_payload_and_answers_for_every_kind)
{
    static const uint32_t kinds[] = { 0, 1, 2, 3, 4, 6 };
    struct ground g;
    ground_up(&g);
    job_fill(&g.job, 1);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t count = 0;
        cr_assert_eq(ground_save(&g, kinds[i], i, NULL), 0, "%s", cairn_error(g.c));
        cr_assert_eq(
            cairn_contract_fit(g.c, "latest", &g.job.t, &count), 0, "%s", cairn_error(g.c));
        cr_assert_eq(count, 2);
        struct cairn_param given = g.job.params[1];
        g.job.params[1].id = 88;
        cr_assert_eq(cairn_contract_fit(g.c, "latest", &g.job.t, NULL), -CAIRN_EMISMATCH);
        g.job.params[1] = given;
    }
    cr_assert_eq(fake_seen(&g.fake, WIRE_LOAD), 0);
    cr_assert_eq(cairn_contract_fit(g.c, "seq:99", &g.job.t, NULL), -CAIRN_ENOENT);
    cr_assert_eq(cairn_contract_fit(g.c, "latest", NULL, NULL), -CAIRN_EINVAL);
    ground_down(&g);
}
