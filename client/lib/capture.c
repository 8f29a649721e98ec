/* capture.c: one capture(kind) in three steps; the public names are its faces.
 *
 * The order is fixed: dtypes or contract (they may fail), gradients (they may fail), then model,
 * optimizer, scheduler and state, then the sums. Whatever fails, nothing after it is asked, and
 * there is no record. A synchronous capture runs its steps straight; an asynchronous one
 * (capture_async.c) begins each when the slots of those before are filled, so that nothing but the
 * gradients is asked before they are all there. */
#include <stdlib.h>

#include "lib/members.h"
#include "lib/odd.h"
#include "lib/pending.h"
#include "lib/training.h"
#include "record/rules.h"

/* ---- the steps ---- */

static int
capture_part(struct capture *cap, enum component component, const struct cairn_component *part)
{
    const struct component_put put = { part->type, part->config, part->put, part->self };
    return capture_component(cap, component, &put);
}

/* What the model promises, before anything of it is read. */
static int capture_promise(struct capture *cap)
{
    const struct cairn_trainer *t = &cap->trainer;
    if ((cap->kind & KIND_DTYPES) != 0) {
        return dtypes_capture(cap, t);
    }
    if ((cap->kind & KIND_MODEL_STATE) != 0) {
        return contract_of_trainer(cap->c, t, -CAIRN_EINVAL, &cap->contract);
    }
    return 0;
}

static int capture_gradients(struct capture *cap)
{
    int rc = capture_promise(cap);
    if (rc == 0) {
        rc = capture_part(cap, COMPONENT_GRADIENTS, &cap->trainer.accumulator);
    }
    const struct cairn_reader *gradients = &cap->r->components[COMPONENT_GRADIENTS];
    for (uint64_t i = 1; rc == 0 && i < gradients->count; i++) {
        rc = rules_gradients(
            COMPONENT_GRADIENTS, &gradients->entries[i - 1], &gradients->entries[i], &cap->c->err);
    }
    if (rc == 0 && (cap->kind & KIND_MODEL_STATE) != 0) {
        rc = contract_check_gradients(
            &cap->contract, &cap->r->components[COMPONENT_GRADIENTS], -CAIRN_EINVAL, &cap->c->err);
    }
    return rc;
}

/* Not begun when a gradient could not be read. */
static int capture_rest(struct capture *cap)
{
    const struct cairn_trainer *t = &cap->trainer;
    const struct {
        enum component component;
        const struct cairn_component *part;
    } order[] = {
        { COMPONENT_MODEL, &t->model },
        { COMPONENT_OPTIMIZER, &t->optimizer },
        { COMPONENT_SCHEDULER, &t->scheduler },
        { COMPONENT_STATE, &t->state },
    };
    int rc = slot_check_failed(cap);
    for (size_t i = 0; rc == 0 && i < sizeof order / sizeof order[0]; i++) {
        rc = capture_part(cap, order[i].component, order[i].part);
    }
    return rc == 0 && (cap->kind & KIND_DTYPES) != 0 ? dtypes_check_model(cap) : rc;
}

/* Does what was captured belong together? Slots are full by now. */
static int capture_judge(struct capture *cap)
{
    const struct cairn_trainer *t = &cap->trainer;
    const struct cairn_reader *components = cap->r->components;
    bool contract = (cap->kind & KIND_MODEL_STATE) != 0;
    int rc = 0;
    if ((cap->kind & (KIND_WEIGHTED | KIND_MODEL_STATE)) == 0) {
        rc = members_check(&components[COMPONENT_GRADIENTS],
                           &components[COMPONENT_MODEL],
                           t->foreign_gradients_ok,
                           -CAIRN_EINVAL,
                           &cap->c->err);
    }
    if (rc == 0) {
        rc = ties_check(&components[COMPONENT_MODEL], &cap->c->err);
    }
    if (rc == 0) {
        rc = odd_optimizer(cap->r, contract ? &cap->contract : NULL, t, &cap->c->err);
    }
    if (rc == 0 && contract) {
        rc = contract_capture(cap, &cap->contract);
    }
    return rc;
}

/* The window as it was when the capture began, so that it and its gradients belong together. */
static int capture_window(struct capture *cap)
{
    const struct cairn_reader *components = cap->r->components;
    if ((cap->kind & KIND_WEIGHTED) == 0) {
        return 0;
    }
    const struct cairn_reader *model =
        (cap->kind & KIND_MODEL_STATE) != 0 ? NULL : &components[COMPONENT_MODEL];
    int rc =
        window_check_gradients(&cap->window, &components[COMPONENT_GRADIENTS], model, &cap->c->err);
    return rc < 0 ? rc : window_capture(cap, &cap->window);
}

static uint64_t capture_generation(const struct cairn_trainer *t)
{
    return t->generation == NULL ? 0 : __atomic_load_n(t->generation, __ATOMIC_ACQUIRE);
}

static int capture_check_generation(struct capture *cap)
{
    if (capture_generation(&cap->trainer) == cap->generation) {
        return 0;
    }
    return err_set(&cap->c->err,
                   -CAIRN_ECONCURRENT,
                   "the trainer was updated during the capture: capture between two updates");
}

/* Slots are filled until here, so the generation is looked at once more after them. */
static int capture_sum(struct capture *cap)
{
    int rc = slot_finish_all(cap);
    if (rc == 0) {
        rc = capture_judge(cap);
    }
    if (rc == 0) {
        rc = capture_window(cap);
    }
    return rc < 0 ? rc : capture_check_generation(cap);
}

static int (*const capture_steps[])(struct capture *cap) = {
    capture_gradients,
    capture_rest,
    capture_sum,
};
#define CAPTURE_STEP_COUNT (sizeof capture_steps / sizeof capture_steps[0])

int capture_step(struct capture *cap)
{
    cap->running = true;
    int rc = capture_check_generation(cap);
    if (rc == 0) {
        rc = capture_steps[cap->step++](cap);
    }
    cap->running = false;
    return rc == 0 && cap->step < CAPTURE_STEP_COUNT ? 1 : rc;
}

/* ---- from begin to end ---- */

int capture_enter(struct cairn *c)
{
    int rc = cl_enter_local(c);
    return rc < 0 ? rc : pending_tell(c);
}

static int capture_prepare(struct capture *cap, const struct cairn_trainer *t, uint32_t kind)
{
    cap->trainer = *t;
    cap->kind = kind;
    cap->generation = capture_generation(t); /* before anything of the trainer is read */
    if ((kind & KIND_WEIGHTED) == 0) {
        return 0;
    }
    if (t->window == NULL) {
        return cl_invalid(cap->c, "a weighted capture needs the trainer's window");
    }
    cap->window = *t->window;
    return window_check(&cap->window, &cap->c->err);
}

int capture_start(struct cairn *c,
                  const struct cairn_trainer *t,
                  uint32_t kind,
                  struct capture **ret)
{
    int rc = c->capture == NULL ? busy_make_room(c) : 0; /* else it is refused at once */
    if (rc < 0) {
        return rc;
    }
    struct capture *cap = calloc(1, sizeof *cap);
    if (cap == NULL) {
        (void)err_set(&c->err, -CAIRN_ENOMEM, "no memory for a capture");
        return -CAIRN_ENOMEM;
    }
    rc = capture_begin(c, cap);
    if (rc < 0) {
        free(cap);
        return rc;
    }
    rc = capture_prepare(cap, t, kind);
    if (rc < 0) {
        capture_drop(cap);
        return rc;
    }
    *ret = cap;
    return 0;
}

int capture_finish(struct capture *cap, struct cairn_record **ret)
{
    int rc = capture_end(cap, cap->kind, ret);
    free(cap);
    return rc;
}

static int capture_run(struct cairn *c,
                       const struct cairn_trainer *t,
                       uint32_t kind,
                       struct cairn_record **ret)
{
    struct capture *cap = NULL;
    int rc = capture_enter(c);
    if (rc < 0) {
        return rc;
    }
    if (t == NULL || ret == NULL) {
        return cl_invalid(c, "capture needs a trainer and a place for the record");
    }
    rc = capture_start(c, t, kind, &cap);
    if (rc < 0) {
        return rc;
    }
    do {
        rc = capture_step(cap);
    } while (rc > 0);
    if (rc < 0) {
        capture_drop(cap);
        return rc;
    }
    return capture_finish(cap, ret);
}

int cairn_capture(struct cairn *c, const struct cairn_trainer *t, struct cairn_record **ret)
{
    return capture_run(c, t, KIND_PLAIN, ret);
}

int cairn_capture_with_dtypes(struct cairn *c,
                              const struct cairn_trainer *t,
                              struct cairn_record **ret)
{
    return capture_run(c, t, KIND_DTYPES, ret);
}

int cairn_capture_weighted(struct cairn *c,
                           const struct cairn_trainer *t,
                           struct cairn_record **ret)
{
    return capture_run(c, t, KIND_WEIGHTED, ret);
}

int cairn_capture_weighted_with_dtypes(struct cairn *c,
                                       const struct cairn_trainer *t,
                                       struct cairn_record **ret)
{
    return capture_run(c, t, KIND_DTYPES | KIND_WEIGHTED, ret);
}

int cairn_model_state_capture(struct cairn *c,
                              const struct cairn_trainer *t,
                              struct cairn_record **ret)
{
    return capture_run(c, t, KIND_MODEL_STATE, ret);
}

int cairn_model_state_capture_weighted(struct cairn *c,
                                       const struct cairn_trainer *t,
                                       struct cairn_record **ret)
{
    return capture_run(c, t, KIND_MODEL_STATE | KIND_WEIGHTED, ret);
}
