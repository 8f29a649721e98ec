/* capture.c: one capture(kind); the public names are its faces.
 *
 * The order is fixed: the window's own rules, dtypes or contract (they may fail), gradients (they
 * may fail), then model, optimizer, scheduler and state. Whatever fails, nothing after it is asked,
 * and there is no record. */
#include "lib/members.h"
#include "lib/odd.h"
#include "lib/training.h"

static int capture_dtypes(struct capture *cap, const struct cairn_trainer *t, uint32_t kind)
{
    return (kind & KIND_DTYPES) != 0 ? dtypes_capture(cap, t) : 0;
}

/* What the model promises, before anything of it is read. */
static int capture_contract(struct capture *cap, const struct cairn_trainer *t, uint32_t kind)
{
    return (kind & KIND_MODEL_STATE) != 0
               ? contract_of_trainer(cap->c, t, -CAIRN_EINVAL, &cap->contract)
               : 0;
}

static int
capture_part(struct capture *cap, enum component component, const struct cairn_component *part)
{
    const struct component_put put = { part->type, part->config, part->put, part->self };
    return capture_component(cap, component, &put);
}

static int capture_gradients(struct capture *cap, const struct cairn_trainer *t, uint32_t kind)
{
    int rc = capture_part(cap, COMPONENT_GRADIENTS, &t->accumulator);
    if (rc == 0 && (kind & KIND_MODEL_STATE) != 0) {
        rc = contract_check_gradients(
            &cap->contract, &cap->r->components[COMPONENT_GRADIENTS], -CAIRN_EINVAL, &cap->c->err);
    }
    return rc;
}

static int capture_components(struct capture *cap, const struct cairn_trainer *t)
{
    const struct {
        enum component component;
        const struct cairn_component *part;
    } order[] = {
        { COMPONENT_MODEL, &t->model },
        { COMPONENT_OPTIMIZER, &t->optimizer },
        { COMPONENT_SCHEDULER, &t->scheduler },
        { COMPONENT_STATE, &t->state },
    };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof order / sizeof order[0]; i++) {
        rc = capture_part(cap, order[i].component, order[i].part);
    }
    return rc;
}

/* Does what was captured belong together? Slots are full by now. */
static int capture_judge(struct capture *cap, const struct cairn_trainer *t, uint32_t kind)
{
    const struct cairn_reader *components = cap->r->components;
    bool contract = (kind & KIND_MODEL_STATE) != 0;
    int rc = 0;
    if ((kind & (KIND_WEIGHTED | KIND_MODEL_STATE)) == 0 && !t->foreign_gradients_ok) {
        rc = members_check(&components[COMPONENT_GRADIENTS],
                           &components[COMPONENT_MODEL],
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
static int capture_window(struct capture *cap, const struct cairn_window *w, uint32_t kind)
{
    const struct cairn_reader *components = cap->r->components;
    if ((kind & KIND_WEIGHTED) == 0) {
        return 0;
    }
    const struct cairn_reader *model =
        (kind & KIND_MODEL_STATE) != 0 ? NULL : &components[COMPONENT_MODEL];
    int rc = window_check_gradients(w, &components[COMPONENT_GRADIENTS], model, &cap->c->err);
    return rc < 0 ? rc : window_capture(cap, w);
}

static int capture_check(struct cairn *c,
                         const struct cairn_trainer *t,
                         uint32_t kind,
                         struct cairn_window *ret_window)
{
    if ((kind & KIND_WEIGHTED) == 0) {
        return 0;
    }
    if (t->window == NULL) {
        return cl_invalid(c, "a weighted capture needs the trainer's window");
    }
    *ret_window = *t->window;
    return window_check(ret_window, &c->err);
}

static uint64_t capture_generation(const struct cairn_trainer *t)
{
    return t->generation == NULL ? 0 : __atomic_load_n(t->generation, __ATOMIC_ACQUIRE);
}

/* Everything between begin and end. Slots are filled until they are finished, so that is part of
 * it. */
static int capture_fill(struct capture *cap,
                        const struct cairn_trainer *t,
                        uint32_t kind,
                        const struct cairn_window *window)
{
    int rc = capture_dtypes(cap, t, kind);
    if (rc == 0) {
        rc = capture_contract(cap, t, kind);
    }
    if (rc == 0) {
        rc = capture_gradients(cap, t, kind);
    }
    if (rc == 0) {
        rc = capture_components(cap, t);
    }
    if (rc == 0 && (kind & KIND_DTYPES) != 0) {
        rc = dtypes_check_model(cap);
    }
    if (rc == 0) {
        rc = slot_finish_all(cap);
    }
    if (rc == 0) {
        rc = capture_judge(cap, t, kind);
    }
    if (rc == 0) {
        rc = capture_window(cap, window, kind);
    }
    return rc;
}

static int
capture_check_generation(struct cairn *c, const struct cairn_trainer *t, uint64_t generation)
{
    if (capture_generation(t) == generation) {
        return 0;
    }
    return err_set(&c->err,
                   -CAIRN_ECONCURRENT,
                   "the trainer was updated during the capture: capture between two updates");
}

static int capture_run(struct cairn *c,
                       const struct cairn_trainer *t,
                       uint32_t kind,
                       struct cairn_record **ret)
{
    struct capture cap;
    struct cairn_window window = { 0 };
    uint64_t generation = 0;
    int rc = cl_enter(c);
    if (rc < 0) {
        return rc;
    }
    if (t == NULL || ret == NULL) {
        return cl_invalid(c, "capture needs a trainer and a place for the record");
    }
    generation = capture_generation(t); /* before anything of the trainer is read */
    rc = capture_check(c, t, kind, &window);
    if (rc == 0) {
        rc = capture_begin(c, &cap);
    }
    if (rc < 0) {
        return rc;
    }
    rc = capture_fill(&cap, t, kind, &window);
    if (rc == 0) {
        rc = capture_check_generation(c, t, generation);
    }
    if (rc < 0) {
        capture_abort(&cap);
        return rc;
    }
    return capture_end(&cap, kind, ret);
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
