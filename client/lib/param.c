#include "lib/param.h"

#include <stdlib.h>

/* A walk that never says "end" must not hang the trainer. */
#define PARAM_MOST LIMIT_ENTRIES

const char *param_word(bool trainable)
{
    return trainable ? "trainable" : "frozen";
}

int param_next(struct cairn *c,
               const struct cairn_trainer *t,
               uint64_t index,
               struct cairn_param *ret)
{
    if (t->param == NULL) {
        return err_set(&c->err, -CAIRN_EINVAL, "the trainer has no param walk");
    }
    if (index >= PARAM_MOST) {
        return err_set(&c->err, -CAIRN_ELIMIT, "more than %u parameters", PARAM_MOST);
    }
    *ret = (struct cairn_param){ 0 };
    int rc = t->param(t->model.self, index, ret);
    if (rc == -CAIRN_ENOENT) {
        return 0;
    }
    if (rc != 0) {
        return err_set(&c->err,
                       rc < 0 ? rc : -CAIRN_EINVAL,
                       "the walk over the parameters returned %d at %llu",
                       rc,
                       (unsigned long long)index);
    }
    return 1;
}

int param_cmp(const void *a, const void *b)
{
    const struct cairn_param *x = a;
    const struct cairn_param *y = b;
    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return (int)x->trainable - (int)y->trainable;
}

void param_list_init(struct param_list *l)
{
    *l = (struct param_list){ 0 };
    bump_init(&l->shapes, SIZE_MAX / 2);
}

void param_list_fini(struct param_list *l)
{
    free(l->params);
    bump_fini(&l->shapes);
    l->params = NULL;
    l->count = l->room = 0;
}

static bool param_list_grow(struct param_list *l)
{
    if (l->count < l->room) {
        return true;
    }
    uint64_t room = l->room == 0 ? 16 : l->room * 2;
    struct cairn_param *params = realloc(l->params, room * sizeof *params);
    if (params == NULL) {
        return false;
    }
    l->params = params;
    l->room = room;
    return true;
}

int param_list_add(struct param_list *l, const struct cairn_param *p, int code, struct err *err)
{
    struct cairn_param kept = *p;
    uint64_t *shape = NULL;
    if (p->rank > LIMIT_RANK || (p->rank > 0 && p->shape == NULL)) {
        return err_set(err,
                       code,
                       "parameter %llu (%s) has no shape, or too many dimensions",
                       (unsigned long long)p->id,
                       param_word(p->trainable));
    }
    if (p->rank > 0) {
        shape = bump_alloc(&l->shapes, p->rank * sizeof *shape);
        if (shape != NULL) {
            memcpy(shape, p->shape, p->rank * sizeof *shape);
        }
    }
    if ((p->rank > 0 && shape == NULL) || !param_list_grow(l)) {
        return err_set(err, -CAIRN_ENOMEM, "no memory for a parameter");
    }
    kept.shape = shape;
    l->params[l->count++] = kept;
    return 0;
}
