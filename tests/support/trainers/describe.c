/* describe.c: the small trainer as cairn sees it: its leaves, by component. */
#include <string.h>

#include "support/trainers/half.h"
#include "support/trainers/trainer.h"

/* ---- the list -------------------------------------------------------------------------------- */

static struct cairn_entry param_entry(const struct param *p, const char *path, uint32_t dtype)
{
    return (struct cairn_entry){ .path = path,
                                 .id = p->id,
                                 .flags = CAIRN_HAS_ID,
                                 .dtype = dtype,
                                 .rank = p->rank,
                                 .kind = CAIRN_TENSOR,
                                 .shape = p->shape };
}

static void param_slot(struct leaves *to, struct param *p, const char *path, struct slot *s)
{
    const struct cairn_entry e = param_entry(p, path, CAIRN_F32);
    leaves_add(to, CAIRN_OPTIMIZER, &e, s->at, &s->there);
}

static void param_leaves(struct param *p, const struct trainer *t, struct leaves *to)
{
    struct cairn_entry weight = param_entry(p, p->path, p->dtype);
    const struct cairn_entry gradient = param_entry(p, "gradient", t->recipe.mode->work_dtype);
    const struct cairn_entry time = {
        .path = "time", .id = p->id, .flags = CAIRN_HAS_ID, .kind = CAIRN_SCALAR_U64
    };
    const struct optim *o = t->recipe.optim;
    weight.flags |= p->trainable ? CAIRN_TRAINABLE : 0;
    leaves_add(to, CAIRN_MODEL, &weight, p->dtype == CAIRN_F32 ? (void *)p->value : p->half, NULL);
    leaves_add(to, CAIRN_GRADIENTS, &gradient, &p->gradient, &p->pending);
    if (p->wrapped) {
        param_slot(to, p, "master", &p->master);
    }
    for (size_t i = 0; i < OPTIM_ROLES && o->roles[i] != NULL; i++) {
        param_slot(to, p, o->roles[i], &p->slots[i]);
    }
    if (o->timed) {
        leaves_add(to, CAIRN_OPTIMIZER, &time, &p->time, &p->stepped);
    }
}

static void leaves_scalar(
    struct leaves *to, enum cairn_component_id c, const char *path, uint32_t kind, void *at)
{
    leaves_add(to, c, &(struct cairn_entry){ .path = path, .kind = kind }, at, NULL);
}

/* The library itself puts these, so they are only printed, compared and spoiled. */
static void window_leaves(struct cairn_window *w, struct leaves *to)
{
    const struct cairn_entry dtype = { .path = "dtype",
                                       .kind = CAIRN_SCALAR_U64,
                                       .bytes = sizeof w->dtype };
    leaves_add(to, CAIRN_WINDOW, &dtype, &w->dtype, NULL);
    leaves_scalar(to, CAIRN_WINDOW, "loss_scale", CAIRN_SCALAR_F64, &w->loss_scale);
    leaves_scalar(to, CAIRN_WINDOW, "total_weight", CAIRN_SCALAR_F64, &w->total_weight);
    leaves_scalar(to, CAIRN_WINDOW, "microbatches", CAIRN_SCALAR_U64, &w->microbatches);
}

void trainer_leaves(struct trainer *t, struct leaves *ret)
{
    struct loop *l = &t->loop;
    ret->count = 0;
    for (size_t i = 0; i < PARAMS; i++) {
        param_leaves(&t->params[i], t, ret);
    }
    if (t->recipe.optim->step == NULL) {
        lbfgs_leaves(&t->lbfgs, ret);
    }
    sched_leaves(&t->sched, ret);
    if ((t->recipe.mode->kind & CAIRN_KIND_WEIGHTED) != 0) {
        window_leaves(&t->window, ret);
    }
    leaves_scalar(ret, CAIRN_STATE, "rng/key", CAIRN_SCALAR_U64, &l->key);
    leaves_scalar(ret, CAIRN_STATE, "rng/counter", CAIRN_SCALAR_U64, &l->counter);
    leaves_scalar(ret, CAIRN_STATE, "completed_updates", CAIRN_SCALAR_U64, &l->completed_updates);
    leaves_scalar(
        ret, CAIRN_STATE, "pending_microbatches", CAIRN_SCALAR_U64, &l->pending_microbatches);
    leaves_scalar(ret, CAIRN_STATE, "loss", CAIRN_SCALAR_F64, &l->loss);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

struct part {
    struct trainer *t;
    enum cairn_component_id component;
};

static int part_put(void *self, struct cairn_writer *w)
{
    const struct part *part = self;
    struct leaves s;
    trainer_leaves(part->t, &s);
    return leaves_put(&s, part->component, w);
}

static int part_fit(void *self, const struct cairn_reader *r)
{
    const struct part *part = self;
    struct leaves s;
    trainer_leaves(part->t, &s);
    return leaves_fit(&s, part->component, r);
}

static int part_get(void *self, const struct cairn_reader *r)
{
    const struct part *part = self;
    struct leaves s;
    trainer_leaves(part->t, &s);
    return leaves_get(&s, part->component, r);
}

static uint32_t model_recorded(const struct cairn_reader *r, const char *path)
{
    struct cairn_entry e = { 0 };
    for (uint64_t i = 0; cairn_entry_at(r, i, &e) == 0; i++) {
        if (strcmp(e.path, path) == 0) {
            return e.dtype;
        }
    }
    return 0;
}

/* Where this model stores F32 and the record has 16 bits, they are read as they are: widening loses
 * nothing, and the storage dtype comes back afterwards, by model_retype. */
static void model_leaves(struct trainer *t, const struct cairn_reader *r, struct leaves *ret)
{
    ret->count = 0;
    for (size_t i = 0; i < PARAMS; i++) {
        struct param *p = &t->params[i];
        uint32_t recorded = model_recorded(r, p->path);
        bool widen = p->dtype == CAIRN_F32 && (recorded == CAIRN_F16 || recorded == CAIRN_BF16);
        struct cairn_entry e = param_entry(p, p->path, widen ? recorded : p->dtype);
        e.flags |= p->trainable ? CAIRN_TRAINABLE : 0;
        leaves_add(ret, CAIRN_MODEL, &e, e.dtype == CAIRN_F32 ? (void *)p->value : p->half, NULL);
    }
}

static int model_fit(void *self, const struct cairn_reader *r)
{
    const struct part *part = self;
    struct leaves s;
    model_leaves(part->t, r, &s);
    return leaves_fit(&s, CAIRN_MODEL, r);
}

static int model_get(void *self, const struct cairn_reader *r)
{
    const struct part *part = self;
    struct leaves s;
    model_leaves(part->t, r, &s);
    int rc = leaves_get(&s, CAIRN_MODEL, r);
    for (size_t i = 0; rc == 0 && i < PARAMS; i++) {
        struct param *p = &part->t->params[i];
        uint32_t recorded = s.at[i].entry.dtype;
        for (uint64_t k = 0; p->dtype != recorded && k < p->count; k++) {
            p->value[k] = half_widen(recorded, p->half[k]);
        }
    }
    return rc;
}

static int model_param(void *self, uint64_t index, struct cairn_param *ret)
{
    const struct part *part = self;
    if (index >= PARAMS) {
        return -CAIRN_ENOENT;
    }
    const struct param *p = &part->t->params[index];
    *ret = (struct cairn_param){ .id = p->id,
                                 .trainable = p->trainable,
                                 .dtype = p->dtype,
                                 .rank = p->rank,
                                 .shape = p->shape };
    return 0;
}

static int model_retype(void *self, const struct cairn_param *want)
{
    const struct part *part = self;
    for (size_t i = 0; i < PARAMS; i++) {
        struct param *p = &part->t->params[i];
        if (p->id == want->id && p->dtype == CAIRN_F32) {
            p->dtype = want->dtype;
            for (uint64_t k = 0; k < p->count; k++) {
                p->half[k] = half_narrow(want->dtype, p->value[k]);
            }
            return 0;
        }
    }
    return -CAIRN_EDTYPES;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static const struct {
    int (*capture)(struct cairn *c, const struct cairn_trainer *t, struct cairn_record **ret);
    int (*capture_async)(struct cairn *c,
                         const struct cairn_trainer *t,
                         cairn_captured_fn *done,
                         void *arg);
    int (*restore)(struct cairn *c, const struct cairn_record *r, const struct cairn_trainer *t);
} trainer_calls[] = {
    [0] = { cairn_capture, cairn_capture_async, cairn_restore },
    [CAIRN_KIND_DTYPES] = { cairn_capture_with_dtypes,
                            cairn_capture_async_with_dtypes,
                            cairn_restore_with_dtypes },
    [CAIRN_KIND_WEIGHTED] = { cairn_capture_weighted,
                              cairn_capture_weighted_async,
                              cairn_restore_weighted },
    [CAIRN_KIND_WEIGHTED | CAIRN_KIND_DTYPES] = { cairn_capture_weighted_with_dtypes,
                                                  cairn_capture_weighted_with_dtypes_async,
                                                  cairn_restore_weighted_with_dtypes },
    [CAIRN_KIND_MODEL_STATE] = { cairn_model_state_capture,
                                 cairn_model_state_capture_async,
                                 cairn_model_state_restore },
    [CAIRN_KIND_MODEL_STATE | CAIRN_KIND_WEIGHTED] = { cairn_model_state_capture_weighted,
                                                       cairn_model_state_capture_weighted_async,
                                                       cairn_model_state_restore_weighted },
};

struct trainer_captured {
    bool done;
    int rc;
    struct cairn_record *record;
};

static void trainer_captured(void *arg, int rc, struct cairn_record *r)
{
    *(struct trainer_captured *)arg = (struct trainer_captured){ true, rc, r };
}

/* No slot is open, so each turn of the loop has something to do. */
static int trainer_capture(const struct mode *mode,
                           struct cairn *c,
                           const struct cairn_trainer *table,
                           struct cairn_record **ret)
{
    struct trainer_captured x = { .done = false };
    if (!mode->async) {
        return trainer_calls[mode->kind].capture(c, table, ret);
    }
    int rc = trainer_calls[mode->kind].capture_async(c, table, trainer_captured, &x);
    while (rc == 0 && !x.done) {
        rc = cairn_process(c);
    }
    *ret = x.record;
    return rc < 0 ? rc : x.rc;
}

/* One restored type means one way to go on, so the types carry what the numbers mean nothing
 * without: which optimizer, which schedulers and how they nest, which work dtype. */
static struct cairn_trainer trainer_table(struct trainer *t, struct part parts[static 6])
{
    const struct recipe *r = &t->recipe;
    for (int c = CAIRN_MODEL; c <= CAIRN_STATE; c++) {
        parts[c] = (struct part){ t, (enum cairn_component_id)c };
    }
    return (struct cairn_trainer){
        .model = { .self = &parts[CAIRN_MODEL],
                   .type = "linear",
                   .put = part_put,
                   .fit = model_fit,
                   .get = model_get },
        .optimizer = { .self = &parts[CAIRN_OPTIMIZER],
                       .type = r->optim->name,
                       .put = part_put,
                       .fit = part_fit,
                       .get = part_get },
        .scheduler = { .self = &parts[CAIRN_SCHEDULER],
                       .type = t->sched.type,
                       .put = part_put,
                       .fit = part_fit,
                       .get = part_get },
        .accumulator = { .self = &parts[CAIRN_GRADIENTS],
                         .type = cairn_dtype_name(r->mode->work_dtype),
                         .put = part_put,
                         .fit = part_fit,
                         .get = part_get },
        .state = { .self = &parts[CAIRN_STATE],
                   .type = "loop",
                   .put = part_put,
                   .fit = part_fit,
                   .get = part_get },
        .window = &t->window,
        .generation = &t->loop.completed_updates,
        .param = model_param,
        .retype = model_retype,
    };
}

int trainer_save(struct trainer *t, struct cairn *c, struct cairn_boundary *ret)
{
    struct part parts[CAIRN_STATE + 1];
    struct cairn_trainer table = trainer_table(t, parts);
    struct cairn_record *record = NULL;
    const struct cairn_save_args args = { .step = t->loop.counter };
    int rc = trainer_capture(t->recipe.mode, c, &table, &record);
    if (rc == 0) {
        rc = cairn_save(c, &record, &args, ret);
    }
    (void)cairn_record_free(record);
    return rc;
}

int trainer_load(struct trainer *t, struct cairn *c, const char *selector)
{
    struct part parts[CAIRN_STATE + 1];
    struct cairn_trainer table = trainer_table(t, parts);
    struct cairn_record *record = NULL;
    int rc = cairn_load(c, selector, 0, &record);
    if (rc == 0) {
        rc = trainer_calls[t->recipe.mode->kind].restore(c, record, &table);
    }
    (void)cairn_record_free(record);
    return rc;
}
