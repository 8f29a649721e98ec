#include "store/check_ids.h"

#include <inttypes.h>
#include <stdlib.h>

#include "record/dtype.h"

void check_members_fini(struct check_members *m)
{
    free(m->parameters.ids);
    free(m->gradients.ids);
    *m = (struct check_members){ .nameless = false };
}

static int check_ids_add(struct check_ids *s, uint64_t id, struct err *err)
{
    if (s->count == s->room) {
        uint64_t room = s->room == 0 ? 64 : s->room * 2;
        uint64_t *ids = realloc(s->ids, room * sizeof *ids);
        if (ids == NULL) {
            return err_set(err, -CAIRN_ENOMEM, "no memory to compare %" PRIu64 " ids", room);
        }
        s->ids = ids;
        s->room = room;
    }
    s->ids[s->count++] = id;
    return 0;
}

/* Which component says what the parameters are. */
static enum component check_members_of(uint32_t kind)
{
    if ((kind & KIND_MODEL_STATE) != 0) {
        return COMPONENT_CONTRACT;
    }
    return (kind & KIND_WEIGHTED) != 0 ? COMPONENT_MODEL : COMPONENT_NONE;
}

static int check_gradient(struct check_members *m, const struct entry *e, struct err *err)
{
    bool has_id = (e->flags & ENTRY_HAS_ID) != 0;
    if (!dtype_is_floating(e->dtype)) {
        (void)err_set(err,
                      -CAIRN_EINVAL,
                      "the pending gradient '%.*s' (id %" PRIu64 ") is %s, no floating dtype",
                      (int)e->path.bytes,
                      (const char *)e->path.data,
                      e->id,
                      dtype_name(e->dtype));
        return err_at(err, COMPONENT_GRADIENTS, e->path.data, e->path.bytes);
    }
    m->nameless = m->nameless || !has_id;
    return has_id ? check_ids_add(&m->gradients, e->id, err) : 0;
}

int check_members_add(struct check_members *m,
                      uint32_t kind,
                      enum component component,
                      const struct entry *e,
                      struct err *err)
{
    enum component parameters = check_members_of(kind);
    bool has_id = (e->flags & ENTRY_HAS_ID) != 0;
    if (parameters == COMPONENT_NONE) {
        return 0;
    }
    if (component == COMPONENT_GRADIENTS && e->kind == ENTRY_TENSOR) {
        return check_gradient(m, e, err);
    }
    return component == parameters && has_id ? check_ids_add(&m->parameters, e->id, err) : 0;
}

static int check_ids_cmp(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return (*x > *y) - (*x < *y);
}

static void check_ids_sort(struct check_ids *s)
{
    if (s->count > 1) {
        qsort(s->ids, s->count, sizeof *s->ids, check_ids_cmp);
    }
}

int check_members_end(struct check_members *m, struct err *err)
{
    const struct check_ids *p = &m->parameters;
    const struct check_ids *g = &m->gradients;
    uint64_t at = 0;
    if (m->nameless) {
        (void)err_set(err, -CAIRN_EINVAL, "a pending gradient has no parameter id");
        return err_at(err, COMPONENT_GRADIENTS, "", 0);
    }
    check_ids_sort(&m->parameters);
    check_ids_sort(&m->gradients);
    for (uint64_t i = 0; i < g->count; i++) {
        while (at < p->count && p->ids[at] < g->ids[i]) {
            at++;
        }
        if (at == p->count || p->ids[at] != g->ids[i]) {
            (void)err_set(err,
                          -CAIRN_EINVAL,
                          "the pending gradient of parameter %" PRIu64
                          " belongs to no parameter of the record",
                          g->ids[i]);
            return err_at(err, COMPONENT_GRADIENTS, "", 0);
        }
    }
    return 0;
}
