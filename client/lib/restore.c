/* restore.c: one restore(kind); the public names are its faces.
 *
 * First everything looks (kind, types, gradients, model, optimizer, scheduler, state, dtypes,
 * window) and nothing changes; then the five components read, the dtypes are applied, and the
 * window is written, last. No step, no reset, no cast, no replay. */
#include "internal/fault.h"
#include "lib/pending.h"
#include "lib/training.h"

/* Which restore accepts which kind of record; the numbers are sets of KIND_DTYPES, KIND_WEIGHTED.
 */
static const bool restore_accepts[4][4] = {
    [KIND_PLAIN] = { [KIND_PLAIN] = true,
                     [KIND_DTYPES] = true,
                     [KIND_WEIGHTED] = true,
                     [KIND_DTYPES | KIND_WEIGHTED] = true },
    [KIND_DTYPES] = { [KIND_DTYPES] = true, [KIND_DTYPES | KIND_WEIGHTED] = true },
    [KIND_WEIGHTED] = { [KIND_WEIGHTED] = true },
    [KIND_DTYPES | KIND_WEIGHTED] = { [KIND_DTYPES | KIND_WEIGHTED] = true },
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
    struct cairn_window window;
};

static int restore_check_kind(const struct restore *x)
{
    uint32_t recorded = x->r->boundary.kind;
    if (recorded < 4 && restore_accepts[x->kind][recorded]) {
        return 0;
    }
    return err_set(&x->c->err,
                   -CAIRN_EKIND,
                   "a record of kind %s cannot be restored as %s",
                   kind_name(recorded),
                   kind_name(x->kind));
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
    return err_wrap(err, rc, "%s %s", what, component_name(step->component));
}

static int restore_fit(struct restore *x)
{
    int rc = restore_check_kind(x);
    for (int i = 0; rc == 0 && i < RESTORE_STEPS; i++) {
        rc = restore_check_type(x, &x->steps[i]);
        if (rc == 0) {
            rc = restore_ask(x, &x->steps[i], "fit", x->steps[i].part->fit);
        }
    }
    if (rc == 0 && (x->kind & KIND_DTYPES) != 0) {
        rc = dtypes_fit(x->c, x->r, x->t);
    }
    if (rc == 0 && (x->kind & KIND_WEIGHTED) != 0) {
        rc = window_read(x->r, &x->window, &x->c->err);
        if (rc == 0) {
            rc = window_check_gradients(&x->window,
                                        &x->r->components[COMPONENT_GRADIENTS],
                                        &x->r->components[COMPONENT_MODEL],
                                        &x->c->err);
        }
    }
    return rc;
}

static int restore_get(struct restore *x)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < RESTORE_STEPS; i++) {
        fault_point("restore");
        rc = restore_ask(x, &x->steps[i], "get", x->steps[i].part->get);
    }
    if (rc == 0 && (x->kind & KIND_DTYPES) != 0) {
        rc = dtypes_apply(x->c, x->r, x->t);
    }
    if (rc == 0 && (x->kind & KIND_WEIGHTED) != 0) {
        *x->t->window = x->window;
    }
    return rc;
}

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
    int rc = restore_fit(x);
    return rc < 0 ? rc : restore_get(x);
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
    struct restore x = { .c = c,
                         .r = r,
                         .t = t,
                         .kind = kind,
                         .steps = { { COMPONENT_GRADIENTS, &t->accumulator },
                                    { COMPONENT_MODEL, &t->model },
                                    { COMPONENT_OPTIMIZER, &t->optimizer },
                                    { COMPONENT_SCHEDULER, &t->scheduler },
                                    { COMPONENT_STATE, &t->state } } };
    rc = restore_enter(c);
    return rc < 0 ? rc : restore_code(c, restore_both(&x));
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
