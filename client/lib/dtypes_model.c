/* dtypes_model.c: the trainer's walk over its parameters against the model that was captured with
 * it. A dtype record that names other parameters than the model has, or other dtypes, would only be
 * found out when it is needed. */
#include <stdlib.h>

#include "lib/training.h"
#include "record/dtype.h"

static bool model_trainable(const struct entry *e)
{
    return (e->flags & ENTRY_TRAINABLE) != 0;
}

static int model_cmp(const void *a, const void *b)
{
    const struct cairn_param *x = a;
    const struct cairn_param *y = b;
    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return (int)x->trainable - (int)y->trainable;
}

/* The first of the parameters, which are sorted, with the id and flag of this entry; or where it
 * would be. */
static uint64_t model_first(const struct capture *cap, const struct cairn_param *key)
{
    uint64_t low = 0;
    uint64_t high = cap->param_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (model_cmp(&cap->params[middle], key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int model_wrong(struct err *err, const struct entry *e, const char *what)
{
    (void)err_set(err,
                  -CAIRN_EDTYPES,
                  "dtypes: parameter %llu (%s, %s) of the model, '%.*s', %s",
                  (unsigned long long)e->id,
                  model_trainable(e) ? "trainable" : "frozen",
                  dtype_name(e->dtype),
                  cl_shown(e->path),
                  (const char *)e->path.data,
                  what);
    return err_at(err, COMPONENT_MODEL, e->path.data, e->path.bytes);
}

static bool model_same_shape(const struct cairn_param *p, const struct entry *e)
{
    return p->rank == e->rank &&
           (p->rank == 0 || memcmp(p->shape, e->shape, p->rank * sizeof *p->shape) == 0);
}

/* Every entry of the model with this key, against every parameter with it: tied ones are several.
 */
static int model_entry(const struct capture *cap, const struct entry *e, bool *met)
{
    struct err *err = &cap->c->err;
    struct cairn_param key = { .id = e->id, .trainable = model_trainable(e) };
    uint64_t at = model_first(cap, &key);
    if (at == cap->param_count || model_cmp(&cap->params[at], &key) != 0) {
        return dtypes_allowed(e->dtype) ? model_wrong(err, e, "is not in the walk of the trainer")
                                        : 0;
    }
    for (; at < cap->param_count && model_cmp(&cap->params[at], &key) == 0; at++) {
        const struct cairn_param *p = &cap->params[at];
        if (p->dtype != e->dtype) {
            return model_wrong(err, e, "has another dtype in the walk of the trainer");
        }
        if (!model_same_shape(p, e)) {
            return model_wrong(err, e, "has another shape in the walk of the trainer");
        }
        met[at] = true;
    }
    return 0;
}

static int model_unmet(const struct capture *cap, const bool *met)
{
    for (uint64_t i = 0; i < cap->param_count; i++) {
        if (!met[i]) {
            return dtypes_wrong(&cap->c->err,
                                &cap->params[i],
                                "was walked, but the model that was captured has no such tensor");
        }
    }
    return 0;
}

int dtypes_check_model(const struct capture *cap)
{
    const struct cairn_reader *model = &cap->r->components[COMPONENT_MODEL];
    bool *met = calloc(cap->param_count + 1, sizeof *met);
    int rc = 0;
    if (met == NULL) {
        return err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory to compare dtypes");
    }
    if (cap->param_count > 1) {
        qsort(cap->params, cap->param_count, sizeof *cap->params, model_cmp);
    }
    for (uint64_t i = 0; rc == 0 && i < model->count; i++) {
        const struct entry *e = &model->entries[i];
        if (e->kind == ENTRY_TENSOR && (e->flags & ENTRY_HAS_ID) != 0) {
            rc = model_entry(cap, e, met);
        }
    }
    if (rc == 0) {
        rc = model_unmet(cap, met);
    }
    free(met);
    return rc;
}
