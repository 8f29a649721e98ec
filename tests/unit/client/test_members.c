/* Gradients and optimizer state of parameters that the model does not have; configurations that are
 * not those of the record. */
#include <stdio.h>
#include <string.h>

#include "ground.h"
#include "lib/rec.h"

struct told {
    unsigned count;
    char last[512];
};

static void tell(void *arg, const char *sentence)
{
    struct told *t = arg;
    t->count++;
    (void)snprintf(t->last, sizeof t->last, "%s", sentence);
}

static void listen(struct job *j, struct told *t)
{
    *t = (struct told){ 0 };
    j->t.warn = tell;
    j->t.warn_arg = t;
}

static struct cairn_record *loaded(struct ground *g, uint32_t kind)
{
    struct cairn_record *r = NULL;
    cr_assert_eq(ground_save(g, kind, 1, NULL), 0, "%s", cairn_error(g->c));
    cr_assert_eq(cairn_load(g->c, "latest", 0, &r), 0, "%s", cairn_error(g->c));
    return r;
}

static void add_foreign(struct box *b)
{
    static const uint64_t shape[] = { 3 };
    (void)BOX_ADD(b, "stray", 4711, CAIRN_HAS_ID, CAIRN_F32, 1, shape, 1);
}

CASE(members, E13_a_foreign_gradient_is_refused_unless_allowed)
{
    for (uint32_t kind = 0; kind < 2; kind++) {
        struct ground g;
        struct job other;
        struct cairn_record *r = NULL;
        ground_up(&g);
        job_fill(&g.job, 1);
        add_foreign(&g.job.gradients);
        cr_assert_eq(ground_capture(&g, kind, &r), -CAIRN_EINVAL);
        cr_assert_not_null(strstr(cairn_error(g.c), "parameter 4711 ('stray') belongs to no"),
                           "%s",
                           cairn_error(g.c));
        cr_assert_null(r);
        g.job.t.foreign_gradients_ok = true;
        r = loaded(&g, kind);
        job_like(&other, &g.job);
        cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_EMISMATCH);
        cr_assert_not_null(strstr(cairn_error(g.c), "4711"));
        cr_assert_null(strchr(other.log, 'G'), "%s", other.log);
        other.t.foreign_gradients_ok = true;
        cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
        cr_assert_null(job_differs(&g.job, &other));
        job_fini(&other);
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

CASE(members, E13_a_gradient_without_an_id_belongs_by_its_path)
{
    static const uint64_t shape[] = { 64, 10 };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    (void)BOX_ADD(&g.job.gradients, "fc.weight", 0, 0, CAIRN_F32, 2, shape, 1);
    cr_assert_eq(ground_capture(&g, 0, &r), 0, "%s", cairn_error(g.c));
    r = cairn_record_free(r);
    (void)BOX_ADD(&g.job.gradients, "fc.weights", 0, 0, CAIRN_F32, 2, shape, 1);
    cr_assert_eq(ground_capture(&g, 0, &r), -CAIRN_EINVAL);
    cr_assert_not_null(strstr(cairn_error(g.c), "'fc.weights'"));
    ground_down(&g);
}

CASE(members, E12_E14_no_gradient_stays_none_and_a_frozen_one_is_kept)
{
    static const uint64_t table[] = { 200, 300 };
    const struct cairn_reader *gradients = NULL;
    struct cairn_entry e;
    struct ground g;
    ground_up(&g);
    job_fill(&g.job, 1);
    (void)BOX_ADD(&g.job.gradients, "table", 9, CAIRN_HAS_ID, CAIRN_F32, 2, table, 1);
    struct cairn_record *r = loaded(&g, 0);
    cr_assert_eq(cairn_record_component(r, CAIRN_GRADIENTS, &gradients), 0);
    cr_assert_eq(cairn_entry_at(gradients, 1, &e), 0);
    cr_assert_eq(e.id, 7);
    cr_assert_eq(cairn_entry_at(gradients, 2, &e), 0);
    cr_assert_eq(e.id, 9);
    cr_assert_eq(cairn_entry_at(gradients, 3, &e), -CAIRN_ENOENT, "8 has none");
    ground_check_newest(&g);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* ---- the class of a gradient's dtype ---- */

static const struct cairn_quant words = { .value = CAIRN_Q4S,
                                          .store = CAIRN_QUANT_PACKED_U32,
                                          .mode = CAIRN_QUANT_SYMMETRIC,
                                          .global_dtype = CAIRN_F32 };
static const struct cairn_quant blocks = { .value = CAIRN_Q4S,
                                           .store = CAIRN_QUANT_PACKED_U32,
                                           .mode = CAIRN_QUANT_SYMMETRIC,
                                           .block_dtype = CAIRN_F32,
                                           .block_rank = 1,
                                           .block = { 16 } };

/* A pending gradient of parameter 8, which is BF16 [10]. */
static void add_gradient(struct box *b, uint32_t dtype)
{
    static const uint64_t ten[] = { 10 };
    struct cairn_quant_bytes q = { 0 };
    struct cairn_entry e = {
        .path = "bias", .id = 8, .flags = CAIRN_HAS_ID, .dtype = dtype, .rank = 1, .shape = ten
    };
    if (dtype == CAIRN_OPAQUE) {
        e.element_bits = 16;
        (void)box_add_raw(b, &e, 20);
    } else if (dtype == CAIRN_QFLOAT) {
        e.quant = &words;
        cr_assert_eq(cairn_quant_lengths(&words, 1, ten, &q), 0);
        (void)box_add_raw(b, &e, q.values + q.block_scales + q.global_scale);
    } else {
        const struct tensor *t = box_add(b, &e, 1);
        memset(t->data, 0, t->bytes); /* legal as bools, too */
    }
}

static void class_at_capture(uint32_t kind, uint32_t dtype, bool ok)
{
    struct ground g;
    ground_up(&g);
    job_fill(&g.job, 1);
    add_gradient(&g.job.gradients, dtype);
    for (int i = 0; i < 2; i++) {
        struct cairn_record *r = NULL;
        g.job.t.foreign_gradients_ok = i == 1; /* which this one is not */
        cr_assert_eq(ground_capture(&g, kind, &r), ok ? 0 : -CAIRN_EINVAL, "dtype %u", dtype);
        cr_assert(ok ||
                      strstr(cairn_error(g.c), "parameter 8 ('bias') is of another class") != NULL,
                  "%s",
                  cairn_error(g.c));
        (void)cairn_record_free(r);
    }
    ground_down(&g);
}

static void class_at_restore(uint32_t kind, uint32_t dtype, bool ok)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    add_gradient(&g.job.gradients, CAIRN_BF16);
    struct cairn_record *r = ground_loaded(&g, kind);
    ground_entry(r, COMPONENT_GRADIENTS, "bias", 8)->dtype = dtype;
    job_like(&other, &g.job);
    other.t.accumulator.fit = NULL;
    other.t.accumulator.get = NULL;
    for (int i = 0; i < 2; i++) {
        other.t.foreign_gradients_ok = i == 1;
        int rc = kind == CAIRN_KIND_DTYPES ? cairn_restore_with_dtypes(g.c, r, &other.t)
                                           : cairn_restore(g.c, r, &other.t);
        cr_assert_eq(rc, ok ? 0 : -CAIRN_EMISMATCH, "dtype %u: %s", dtype, cairn_error(g.c));
        cr_assert(ok || strchr(other.log, 'G') == NULL, "nothing was read: %s", other.log);
    }
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* Another floating dtype is usual; an integer, a bool, a complex number is no gradient of a float,
 * and of bytes that nobody understands nobody can say that they are one. */
CASE(members, F14_E15_a_gradient_is_of_its_parameters_class)
{
    static const struct {
        uint32_t dtype;
        bool ok;
    } rows[] = {
        { CAIRN_F64, true },    { CAIRN_F32, true },     { CAIRN_F16, true },
        { CAIRN_BF16, true },   { CAIRN_I32, false },    { CAIRN_U8, false },
        { CAIRN_BOOL, false },  { CAIRN_C64, false },    { CAIRN_OPAQUE, false },
        { CAIRN_QINT8, false }, { CAIRN_QFLOAT, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (uint32_t kind = 0; kind <= CAIRN_KIND_DTYPES; kind++) {
            class_at_capture(kind, rows[i].dtype, rows[i].ok);
            class_at_restore(kind, rows[i].dtype, rows[i].ok);
        }
    }
}

static int quantized_capture(const struct cairn_quant *parameter,
                             const struct cairn_quant *gradient)
{
    static const uint64_t shape[] = { 4, 32 };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    (void)box_add_quant(&g.job.model, "q", parameter, 2, shape);
    if (gradient != NULL) {
        (void)box_add_quant(&g.job.gradients, "q", gradient, 2, shape);
    } else {
        (void)BOX_ADD(&g.job.gradients, "q", 0, 0, CAIRN_F32, 2, shape, 1);
    }
    int rc = ground_capture(&g, 0, &r);
    cr_assert(rc == 0 || strstr(cairn_error(g.c), "'q'") != NULL, "%s", cairn_error(g.c));
    (void)cairn_record_free(r);
    ground_down(&g);
    return rc;
}

CASE(members, F14_E15_a_quantized_gradient_has_its_parameters_scheme)
{
    cr_assert_eq(quantized_capture(&words, &words), 0);
    cr_assert_eq(quantized_capture(&words, &blocks), -CAIRN_EINVAL);
    cr_assert_eq(quantized_capture(&words, NULL), -CAIRN_EINVAL);
}

CASE(members, E16_optimizer_state_of_no_parameter_is_kept_and_told_or_refused)
{
    struct ground g;
    struct job other;
    struct told told;
    ground_up(&g);
    job_fill(&g.job, 1);
    add_foreign(&g.job.optimizer);
    g.job.t.strict_optimizer = true;
    struct cairn_record *r = NULL;
    cr_assert_eq(ground_capture(&g, 0, &r), -CAIRN_EMISMATCH);
    g.job.t.strict_optimizer = false;
    listen(&g.job, &told);
    r = loaded(&g, 0);
    cr_assert_eq(told.count, 1);
    cr_assert_not_null(strstr(told.last, "1 parameters that the model does not have (4711)"));
    job_like(&other, &g.job);
    listen(&other, &told);
    other.t.strict_optimizer = true;
    cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_EMISMATCH);
    cr_assert_not_null(strstr(cairn_error(g.c), "4711"));
    cr_assert(told.count == 0 && strchr(other.log, 'G') == NULL);
    other.t.strict_optimizer = false;
    cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_eq(told.count, 1);
    cr_assert_null(job_differs(&g.job, &other));
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* State of a frozen parameter is nothing odd: it may be thawed again. */
CASE(members, E16_optimizer_state_of_a_frozen_parameter_is_kept_in_silence)
{
    static const uint64_t table[] = { 200, 300 };
    struct ground g;
    struct told told;
    ground_up(&g);
    job_fill(&g.job, 1);
    (void)BOX_ADD(&g.job.optimizer, "moment_1", 9, CAIRN_HAS_ID, CAIRN_F32, 2, table, 1);
    listen(&g.job, &told);
    struct cairn_record *plain = loaded(&g, 0);
    struct cairn_record *model_state = loaded(&g, CAIRN_KIND_MODEL_STATE);
    cr_assert_eq(told.count, 0, "%s", told.last);
    (void)cairn_record_free(plain);
    (void)cairn_record_free(model_state);
    ground_down(&g);
}

CASE(members, F13_another_configuration_is_told_or_refused)
{
    static const uint8_t recorded[16] = { 1 };
    static const uint8_t live[16] = { 2 };
    struct ground g;
    struct job other;
    struct told told;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.job.t.scheduler.config = recorded;
    g.job.t.optimizer.config = recorded;
    struct cairn_record *r = loaded(&g, 0);
    job_like(&other, &g.job);
    listen(&other, &told);
    other.t.scheduler.config = recorded;
    other.t.model.config = live; /* not recorded: nothing to compare */
    cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_eq(told.count, 0, "the optimizer's is not told now, the scheduler's is the same");
    other.t.scheduler.config = live;
    other.t.optimizer.config = live;
    cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_eq(told.count, 2);
    cr_assert_not_null(strstr(told.last, "scheduler: recorded under configuration 0100000000"));
    other.t.strict_config = true;
    cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_EMISMATCH, "the model's is not recorded");
    cr_assert_not_null(strstr(cairn_error(g.c), "model: recorded without a configuration"));
    other.t.model.config = NULL;
    other.t.optimizer.config = NULL;
    cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_EMISMATCH, "the optimizer's is not told");
    cr_assert_not_null(strstr(cairn_error(g.c), "optimizer: recorded under a configuration, the"));
    other.t.optimizer.config = live;
    other.log[0] = '\0';
    cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_EMISMATCH);
    cr_assert_not_null(strstr(cairn_error(g.c), "optimizer: recorded under configuration 01"));
    cr_assert_str_eq(other.log, "Fg Fm");
    cr_assert_eq(told.count, 2);
    job_fini(&other);
    (void)cairn_record_free(r);
    ground_down(&g);
}
