/* members.c: gradients against the parameters of a model. */
#include "lib/members.h"

#include <stdlib.h>

#include "record/dtype.h"

static int members_cmp(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a;
    const struct entry *y = *(const struct entry *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

int members_of(const struct cairn_reader *model, struct members *ret, struct err *err)
{
    ret->count = 0;
    ret->entries = calloc(model->count + 1, sizeof(struct entry *));
    if (ret->entries == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory to check the gradients");
    }
    for (uint64_t i = 0; i < model->count; i++) {
        const struct entry *e = &model->entries[i];
        if (e->kind == ENTRY_TENSOR && (e->flags & ENTRY_HAS_ID) != 0) {
            ret->entries[ret->count++] = e;
        }
    }
    qsort(ret->entries, ret->count, sizeof(struct entry *), members_cmp);
    return 0;
}

void members_fini(struct members *m)
{
    free(m->entries);
    m->entries = NULL;
    m->count = 0;
}

static size_t members_first(const struct members *m, uint64_t id)
{
    size_t low = 0;
    size_t high = m->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->entries[middle]->id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool members_have(const struct members *m, const struct entry *e)
{
    size_t at = members_first(m, e->id);
    return (e->flags & ENTRY_HAS_ID) != 0 && at < m->count && m->entries[at]->id == e->id;
}

const char *members_wrong(const struct members *m, const struct entry *gradient)
{
    if (!members_have(m, gradient)) {
        return "is not a parameter of the model";
    }
    size_t at = members_first(m, gradient->id);
    if (dtype_is_quantized(gradient->dtype) || dtype_is_quantized(m->entries[at]->dtype)) {
        return "is quantized";
    }
    for (; at < m->count && m->entries[at]->id == gradient->id; at++) {
        const struct entry *e = m->entries[at];
        if (shape_same(e->rank, e->shape, gradient->rank, gradient->shape)) {
            return NULL;
        }
    }
    return "has another shape than its parameter";
}

int members_refuse(struct err *err, int code, const struct entry *gradient, const char *wrong)
{
    (void)err_set(err,
                  code,
                  "the gradient of parameter %llu ('%.*s') %s",
                  (unsigned long long)gradient->id,
                  cl_shown(gradient->path),
                  (const char *)gradient->path.data,
                  wrong);
    return err_at(err, COMPONENT_GRADIENTS, gradient->path.data, gradient->path.bytes);
}

int members_check(const struct cairn_reader *gradients,
                  const struct cairn_reader *model,
                  int code,
                  struct err *err)
{
    struct members members;
    int rc = members_of(model, &members, err);
    for (uint64_t i = 0; rc == 0 && i < gradients->count; i++) {
        const struct entry *g = &gradients->entries[i];
        bool by_path = (g->flags & ENTRY_HAS_ID) == 0;
        if (g->kind == ENTRY_TENSOR &&
            !(by_path ? rec_find(model, g) != NULL : members_have(&members, g))) {
            rc = members_refuse(err, code, g, "belongs to no parameter of the model");
        }
    }
    members_fini(&members);
    return rc;
}
