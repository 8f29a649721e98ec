/* members.c: gradients against the parameters of a model. */
#include "lib/members.h"

#include <stdlib.h>

#include "record/dtype.h"
#include "record/quant.h"

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

/* ---- one gradient ---- */

/* What the bytes of a gradient mean to its parameter: the same class, and of what is more than a
 * class, the same scheme or width. */
static bool members_same_class(const struct entry *parameter, const struct entry *gradient)
{
    const struct quant *p = parameter->quant;
    const struct quant *g = gradient->quant;
    bool same_scheme = p == NULL || g == NULL ? p == g : quant_equal(&p->scheme, &g->scheme);
    return dtype_gradient_ok(parameter->dtype, gradient->dtype) &&
           parameter->element_bits == gradient->element_bits && same_scheme;
}

static const char *members_other_class(const struct entry *parameter, struct describe *room)
{
    *room = (struct describe){ .bytes = 0 };
    describe_add(room, "is of another class of dtypes than its parameter, ");
    describe_entry(room, parameter);
    return room->text;
}

const char *
members_wrong(const struct members *m, const struct entry *gradient, struct describe *room)
{
    if (!members_have(m, gradient)) {
        return "is not a parameter of the model";
    }
    if (!dtype_is_floating(gradient->dtype)) {
        return "is not of a floating dtype"; /* as a quantized one is not */
    }
    size_t at = members_first(m, gradient->id);
    const char *wrong = "has another shape than its parameter";
    for (; at < m->count && m->entries[at]->id == gradient->id; at++) {
        const struct entry *e = m->entries[at];
        bool same_shape = shape_same(e->rank, e->shape, gradient->rank, gradient->shape);
        if (same_shape && members_same_class(e, gradient)) {
            return NULL;
        }
        wrong = same_shape ? members_other_class(e, room) : wrong;
    }
    return wrong;
}

int members_refuse(struct err *err, int code, const struct entry *gradient, const char *wrong)
{
    struct describe is = { .bytes = 0 };
    describe_type(&is, gradient->dtype, gradient->rank, gradient->shape);
    (void)err_set(err,
                  code,
                  "the gradient of parameter %llu ('%.*s') %s: it is %s",
                  (unsigned long long)gradient->id,
                  cl_shown(gradient->path),
                  (const char *)gradient->path.data,
                  wrong,
                  is.text);
    return err_at(err, COMPONENT_GRADIENTS, gradient->path.data, gradient->path.bytes);
}

/* ---- all of them ---- */

/* A gradient without an id: the parameter of its path. */
static const char *members_wrong_by_path(const struct cairn_reader *model,
                                         const struct entry *gradient,
                                         bool foreign_ok,
                                         struct describe *room)
{
    const struct entry *e = rec_find(model, gradient);
    if (e == NULL || e->kind != ENTRY_TENSOR) {
        return foreign_ok ? NULL : "belongs to no parameter of the model";
    }
    return members_same_class(e, gradient) ? NULL : members_other_class(e, room);
}

static const char *members_wrong_by_id(const struct members *m,
                                       const struct entry *gradient,
                                       bool foreign_ok,
                                       struct describe *room)
{
    size_t at = members_first(m, gradient->id);
    if (!members_have(m, gradient)) {
        return foreign_ok ? NULL : "belongs to no parameter of the model";
    }
    const struct entry *first = m->entries[at];
    for (; at < m->count && m->entries[at]->id == gradient->id; at++) {
        if (members_same_class(m->entries[at], gradient)) {
            return NULL;
        }
    }
    return members_other_class(first, room);
}

int members_check(const struct cairn_reader *gradients,
                  const struct cairn_reader *model,
                  bool foreign_ok,
                  int code,
                  struct err *err)
{
    struct members members;
    int rc = members_of(model, &members, err);
    for (uint64_t i = 0; rc == 0 && i < gradients->count; i++) {
        const struct entry *g = &gradients->entries[i];
        struct describe room;
        const char *wrong = NULL;
        if (g->kind == ENTRY_TENSOR) {
            wrong = (g->flags & ENTRY_HAS_ID) == 0
                        ? members_wrong_by_path(model, g, foreign_ok, &room)
                        : members_wrong_by_id(&members, g, foreign_ok, &room);
        }
        if (wrong != NULL) {
            rc = members_refuse(err, code, g, wrong);
        }
    }
    members_fini(&members);
    return rc;
}
