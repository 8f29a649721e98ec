/* restore.c: one restore(kind); the public names are its faces.
 *
 * First everything looks and nothing changes; then the components read, the dtypes are applied, and
 * the window is written, last. No step, no reset, no cast, no replay.
 *
 * The order is the seed's: gradients, model, optimizer, scheduler, state, dtypes, window; a
 * model-state record begins with its model and its contract, which its gradients are then held
 * against. */
#include <cairn/keep.h>
#include <stdio.h>

#include "internal/fault.h"
#include "lib/members.h"
#include "lib/odd.h"
#include "lib/pending.h"
#include "lib/training.h"

enum {
    P = KIND_PLAIN,
    D = KIND_DTYPES,
    W = KIND_WEIGHTED,
    M = KIND_MODEL_STATE,
    RESTORE_KINDS = (D | W | M) + 1
};

/* Which restore (row) accepts which kind of record (column). */
static const bool restore_accepts[RESTORE_KINDS][RESTORE_KINDS] = {
    [P] = { [P] = true, [D] = true, [W] = true, [D | W] = true },
    [D] = { [D] = true, [D | W] = true },
    [W] = { [W] = true },
    [D | W] = { [D | W] = true },
    [M] = { [M] = true, [M | W] = true },
    [M | W] = { [M | W] = true },
};

struct restore_step {
    enum component component;
    const struct cairn_component *part;
};
#define RESTORE_STEPS 5

struct restore {
    struct cairn *c;
    const struct cairn_record *r;
    const struct cairn_trainer *t;
    uint32_t kind;
    struct restore_step steps[RESTORE_STEPS]; /* in order */
    struct contract recorded, live;           /* model state only */
    struct cairn_window window;
};

static int restore_check_kind(const struct restore *x)
{
    uint32_t recorded = x->r->boundary.kind;
    if (recorded < RESTORE_KINDS && restore_accepts[x->kind][recorded]) {
        return 0;
    }
    return err_set(&x->c->err,
                   -CAIRN_EKIND,
                   "a record of kind %s cannot be restored as %s",
                   kind_name(recorded),
                   kind_name(x->kind));
}

static const struct cairn_reader *restore_reader(const struct restore *x, enum component component)
{
    return &x->r->components[component];
}

static int restore_check_type(const struct restore *x, const struct restore_step *step)
{
    const char *recorded = x->r->components[step->component].type;
    const char *wanted = step->part->type == NULL ? "" : step->part->type;
    if (strcmp(recorded, wanted) == 0) {
        return 0;
    }
    (void)err_set(&x->c->err,
                  -CAIRN_EMISMATCH,
                  "%s: recorded as type '%s', the trainer's is '%s'",
                  component_name(step->component),
                  recorded,
                  wanted);
    return err_at(&x->c->err, step->component, NULL, 0);
}

/* Ask one component, with the failure's story about it. */
static int restore_ask(const struct restore *x,
                       const struct restore_step *step,
                       const char *what,
                       int (*ask)(void *self, const struct cairn_reader *r))
{
    struct err *err = &x->c->err;
    if (ask == NULL) {
        return 0;
    }
    *err = (struct err){ 0 };
    int rc = ask(step->part->self, &x->r->components[step->component]);
    if (rc == 0) {
        return 0;
    }
    if (rc > 0) {
        rc = err_set(err, -CAIRN_EINVAL, "returned %d, neither 0 nor a negative code", rc);
    } else if (err->code != rc) {
        rc = err_set(err, rc, "%s", cairn_strerror(rc));
    }
    return cl_during(err, rc, what, step->component);
}

/* ---- look ---- */

static int restore_fit_step(struct restore *x, const struct restore_step *step)
{
    int rc = restore_check_type(x, step);
    if (rc == 0) {
        rc = odd_config(x->r, step->component, step->part, x->t, &x->c->err);
    }
    return rc < 0 ? rc : restore_ask(x, step, "fit", step->part->fit);
}

/* Model state: the model first, then that it is the one whose parameters were recorded. */
static int restore_fit_contract(struct restore *x)
{
    int rc = contract_of_record(x->r, &x->recorded, &x->c->err);
    if (rc == 0) {
        rc = restore_fit_step(x, &x->steps[0]);
    }
    if (rc == 0) {
        rc = contract_of_trainer(x->c, x->t, -CAIRN_EMISMATCH, &x->live);
    }
    return rc < 0 ? rc : contract_compare(&x->recorded, &x->live, &x->c->err);
}

static int restore_fit_components(struct restore *x)
{
    bool contract = (x->kind & KIND_MODEL_STATE) != 0;
    int rc = contract ? restore_fit_contract(x) : 0;
    for (int i = contract ? 1 : 0; rc == 0 && i < RESTORE_STEPS; i++) {
        rc = restore_fit_step(x, &x->steps[i]);
        if (rc == 0 && contract && x->steps[i].component == COMPONENT_GRADIENTS) {
            rc = contract_check_gradients(
                &x->live, restore_reader(x, COMPONENT_GRADIENTS), -CAIRN_EMISMATCH, &x->c->err);
        }
    }
    return rc;
}

/* Gradients of another model, or class: the weighted window has its own rules, a model state its
 * contract. */
static int restore_fit_members(struct restore *x)
{
    if ((x->kind & (KIND_WEIGHTED | KIND_MODEL_STATE)) != 0) {
        return 0;
    }
    return members_check(restore_reader(x, COMPONENT_GRADIENTS),
                         restore_reader(x, COMPONENT_MODEL),
                         x->t->foreign_gradients_ok,
                         -CAIRN_EMISMATCH,
                         &x->c->err);
}

static int restore_fit_window(struct restore *x)
{
    if ((x->kind & KIND_WEIGHTED) == 0) {
        return 0;
    }
    const struct cairn_reader *model =
        (x->kind & KIND_MODEL_STATE) != 0 ? NULL : restore_reader(x, COMPONENT_MODEL);
    int rc = window_read(x->r, &x->window, &x->c->err);
    return rc < 0 ? rc
                  : window_check_gradients(
                        &x->window, restore_reader(x, COMPONENT_GRADIENTS), model, &x->c->err);
}

static int restore_fit(struct restore *x)
{
    int rc = restore_check_kind(x);
    if (rc == 0) {
        rc = restore_fit_components(x);
    }
    if (rc == 0) {
        rc = restore_fit_members(x);
    }
    if (rc == 0) {
        const struct contract *k = (x->kind & KIND_MODEL_STATE) != 0 ? &x->live : NULL;
        rc = odd_optimizer(x->r, k, x->t, &x->c->err);
    }
    if (rc == 0 && (x->kind & KIND_DTYPES) != 0) {
        rc = dtypes_fit(x->c, x->r, x->t);
    }
    return rc < 0 ? rc : restore_fit_window(x);
}

/* ---- read ---- */

/* What came out must be what was recorded: a model whose `get` made other parameters would train
 * on as another one. */
static int restore_recheck_contract(struct restore *x)
{
    contract_fini(&x->live);
    int rc = contract_of_trainer(x->c, x->t, -CAIRN_EMISMATCH, &x->live);
    if (rc == 0) {
        rc = contract_compare(&x->recorded, &x->live, &x->c->err);
    }
    return rc < 0 ? err_wrap(&x->c->err, rc, "after the model was read") : 0;
}

static int restore_get_step(struct restore *x, const struct restore_step *step)
{
    fault_point("restore");
    int rc = restore_ask(x, step, "get", step->part->get);
    if (rc == 0 && (x->kind & KIND_MODEL_STATE) != 0 && step->component == COMPONENT_MODEL) {
        rc = restore_recheck_contract(x);
    }
    return rc;
}

static int restore_get(struct restore *x)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < RESTORE_STEPS; i++) {
        rc = restore_get_step(x, &x->steps[i]);
    }
    if (rc == 0 && (x->kind & KIND_DTYPES) != 0) {
        rc = dtypes_apply(x->c, x->r, x->t);
    }
    if (rc == 0 && (x->kind & KIND_WEIGHTED) != 0) {
        *x->t->window = x->window;
    }
    return rc;
}

/* ---- both ---- */

/* A save that was started before ends, and what came of it is told, while nothing has changed yet.
 * A restore that has begun must not fail for it. */
static int restore_enter(struct cairn *c)
{
    int rc = cl_enter_daemon(c, 0);
    if (rc == 0) {
        rc = pending_settle(c);
    }
    return rc < 0 ? rc : pending_tell(c);
}

/* That an entry is missing says that the trainer does not fit the record: ENOENT is cairn_load's
 * word for "there is no boundary, start fresh". */
static int restore_code(struct cairn *c, int rc)
{
    if (rc == -CAIRN_ENOENT) {
        rc = -CAIRN_EMISMATCH;
        c->err.code = rc;
    }
    return rc;
}

static int restore_both(struct restore *x)
{
    bool resident = x->r->resident;
    int rc = restore_fit(x);
    if (rc == 0 && x->t->verify_first) {
        rc = restore_verify(x->c, x->r);
    }
    if (rc == 0) {
        x->c->plan.all = true;
        rc = restore_get(x);
        x->c->plan.all = false;
    }
    resident_finish(x->c, x->r);
    if (rc == 0 && resident && !x->r->resident) {
        odd_memory(x->r, x->c->resident.why, x->t);
    }
    contract_fini(&x->recorded);
    contract_fini(&x->live);
    return rc;
}

/* The seed's order: gradients, then model; of a model state the other way round. */
static void restore_order(struct restore *x)
{
    const struct restore_step gradients = { COMPONENT_GRADIENTS, &x->t->accumulator };
    const struct restore_step model = { COMPONENT_MODEL, &x->t->model };
    bool model_first = (x->kind & KIND_MODEL_STATE) != 0;
    x->steps[0] = model_first ? model : gradients;
    x->steps[1] = model_first ? gradients : model;
    x->steps[2] = (struct restore_step){ COMPONENT_OPTIMIZER, &x->t->optimizer };
    x->steps[3] = (struct restore_step){ COMPONENT_SCHEDULER, &x->t->scheduler };
    x->steps[4] = (struct restore_step){ COMPONENT_STATE, &x->t->state };
}

/* The run goes on from here. */
static int restore_rollback(struct cairn *c, const struct cairn_record *r)
{
    char selector[32];
    (void)snprintf(selector, sizeof selector, "seq:%llu", (unsigned long long)r->boundary.seq);
    int rc = cairn_rollback(c, selector, NULL);
    return rc < 0 ? err_wrap(&c->err, rc, "restored, but the run does not go on from it") : 0;
}

static int restore_run(struct cairn *c,
                       const struct cairn_record *r,
                       const struct cairn_trainer *t,
                       uint32_t kind)
{
    int rc = cl_enter(c);
    if (rc < 0) {
        return rc;
    }
    if (r == NULL || t == NULL || !r->loaded || r->c != c) {
        return cl_invalid(c,
                          "restore needs a trainer and a record that was loaded with this handle");
    }
    if ((kind & KIND_WEIGHTED) != 0 && t->window == NULL) {
        return cl_invalid(c, "a weighted restore needs the trainer's window");
    }
    struct restore x = { .c = c, .r = r, .t = t, .kind = kind };
    contract_init(&x.recorded);
    contract_init(&x.live);
    restore_order(&x);
    rc = restore_enter(c);
    rc = rc < 0 ? rc : restore_code(c, restore_both(&x));
    return rc < 0 || !t->rollback ? rc : restore_rollback(c, r);
}

int cairn_restore(struct cairn *c, const struct cairn_record *r, const struct cairn_trainer *t)
{
    return restore_run(c, r, t, KIND_PLAIN);
}

int cairn_restore_with_dtypes(struct cairn *c,
                              const struct cairn_record *r,
                              const struct cairn_trainer *t)
{
    return restore_run(c, r, t, KIND_DTYPES);
}

int cairn_restore_weighted(struct cairn *c,
                           const struct cairn_record *r,
                           const struct cairn_trainer *t)
{
    return restore_run(c, r, t, KIND_WEIGHTED);
}

int cairn_restore_weighted_with_dtypes(struct cairn *c,
                                       const struct cairn_record *r,
                                       const struct cairn_trainer *t)
{
    return restore_run(c, r, t, KIND_DTYPES | KIND_WEIGHTED);
}

int cairn_model_state_restore(struct cairn *c,
                              const struct cairn_record *r,
                              const struct cairn_trainer *t)
{
    return restore_run(c, r, t, KIND_MODEL_STATE);
}

int cairn_model_state_restore_weighted(struct cairn *c,
                                       const struct cairn_record *r,
                                       const struct cairn_trainer *t)
{
    return restore_run(c, r, t, KIND_MODEL_STATE | KIND_WEIGHTED);
}
