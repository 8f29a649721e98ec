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

/* The first of the parameters, which are sorted, with the id and flag of this entry; or where it
 * would be. */
static uint64_t model_first(const struct capture *cap, const struct cairn_param *key)
{
    uint64_t low = 0;
    uint64_t high = cap->params.count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (param_cmp(&cap->params.params[middle], key) < 0) {
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
                  param_word(model_trainable(e)),
                  dtype_name(e->dtype),
                  cl_shown(e->path),
                  (const char *)e->path.data,
                  what);
    return err_at(err, COMPONENT_MODEL, e->path.data, e->path.bytes);
}

/* Every entry of the model with this key, against every parameter with it: tied ones are several.
 */
static int model_entry(const struct capture *cap, const struct entry *e, bool *met)
{
    struct err *err = &cap->c->err;
    struct cairn_param key = { .id = e->id, .trainable = model_trainable(e) };
    uint64_t at = model_first(cap, &key);
    if (at == cap->params.count || param_cmp(&cap->params.params[at], &key) != 0) {
        return dtype_param_ok(e->dtype) ? model_wrong(err, e, "is not in the walk of the trainer")
                                        : 0;
    }
    for (; at < cap->params.count && param_cmp(&cap->params.params[at], &key) == 0; at++) {
        const struct cairn_param *p = &cap->params.params[at];
        if (p->dtype != e->dtype) {
            return model_wrong(err, e, "has another dtype in the walk of the trainer");
        }
        if (!shape_same(p->rank, p->shape, e->rank, e->shape)) {
            return model_wrong(err, e, "has another shape in the walk of the trainer");
        }
        met[at] = true;
    }
    return 0;
}

static int model_unmet(const struct capture *cap, const bool *met)
{
    for (uint64_t i = 0; i < cap->params.count; i++) {
        if (!met[i]) {
            return dtypes_wrong(&cap->c->err,
                                &cap->params.params[i],
                                "was walked, but the model that was captured has no such tensor");
        }
    }
    return 0;
}

int dtypes_check_model(const struct capture *cap)
{
    const struct cairn_reader *model = &cap->r->components[COMPONENT_MODEL];
    bool *met = calloc(cap->params.count + 1, sizeof *met);
    int rc = 0;
    if (met == NULL) {
        return err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory to compare dtypes");
    }
    if (cap->params.count > 1) {
        qsort(cap->params.params, cap->params.count, sizeof(struct cairn_param), param_cmp);
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
