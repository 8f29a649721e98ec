/* ties.c: parameters of the model that share an id. A trainable one and its frozen alias may differ
 * in everything; two of the same kind are one parameter, so they must not. */
#include <stdlib.h>

#include "lib/training.h"
#include "record/digest.h"
#include "record/dtype.h"
#include "record/quant.h"

/* By id, trainable flag, and then in key order, so that the first path is the one named. */
static int ties_cmp(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a;
    const struct entry *y = *(const struct entry *const *)b;
    uint32_t x_trainable = x->flags & ENTRY_TRAINABLE;
    uint32_t y_trainable = y->flags & ENTRY_TRAINABLE;
    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    if (x_trainable != y_trainable) {
        return x_trainable < y_trainable ? -1 : 1;
    }
    return slice_cmp(x->path, y->path);
}

static const char *ties_differ(const struct entry *a, const struct entry *b)
{
    if (a->id != b->id || a->flags != b->flags) {
        return NULL;
    }
    if (a->dtype != b->dtype) {
        return "dtypes";
    }
    if (!shape_same(a->rank, a->shape, b->rank, b->shape)) {
        return "shapes";
    }
    if (a->element_bits != b->element_bits ||
        (a->quant != NULL && !quant_equal(&a->quant->scheme, &b->quant->scheme))) {
        return "quantizations"; /* of one dtype: both have a scheme, or none has */
    }
    return digest_equal(&a->digest, &b->digest) ? NULL : "values";
}

static int ties_compare(const struct entry *const *entries, size_t count, struct err *err)
{
    for (size_t i = 1; i < count; i++) {
        const struct entry *a = entries[i - 1];
        const struct entry *b = entries[i];
        const char *what = ties_differ(a, b);
        if (what != NULL) {
            (void)err_set(err,
                          -CAIRN_EINVAL,
                          "model: '%.*s' and '%.*s' are one parameter (id %llu) with different %s",
                          cl_shown(a->path),
                          (const char *)a->path.data,
                          cl_shown(b->path),
                          (const char *)b->path.data,
                          (unsigned long long)a->id,
                          what);
            return err_at(err, COMPONENT_MODEL, b->path.data, b->path.bytes);
        }
    }
    return 0;
}

int ties_check(const struct cairn_reader *model, struct err *err)
{
    const struct entry **entries = calloc(model->count + 1, sizeof(struct entry *));
    size_t count = 0;
    if (entries == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory to compare tied parameters");
    }
    for (uint64_t i = 0; i < model->count; i++) {
        const struct entry *e = &model->entries[i];
        if (e->kind == ENTRY_TENSOR && (e->flags & ENTRY_HAS_ID) != 0) {
            entries[count++] = e;
        }
    }
    qsort(entries, count, sizeof(struct entry *), ties_cmp);
    int rc = ties_compare(entries, count, err);
    free(entries);
    return rc;
}
