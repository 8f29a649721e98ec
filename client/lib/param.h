/* param.h: the trainer's walk over its floating parameters. */
#ifndef LIB_PARAM_H
#define LIB_PARAM_H

#include "lib/handle.h"

/* The parameter at an index. 1: *ret is it; 0: the end. Errors: EINVAL no walk, or what it
 * returned; ELIMIT a walk that never ends. */
int param_next(struct cairn *c,
               const struct cairn_trainer *t,
               uint64_t index,
               struct cairn_param *ret);
/* By id, then frozen before trainable. */
int param_cmp(const void *a, const void *b);
const char *param_word(bool trainable); /* "trainable", "frozen" */

/* A copy of a walk: what it says lives only until its next step. */
struct param_list {
    struct cairn_param *params; /* in the order of the walk, until somebody sorts them */
    uint64_t count, room;
    struct bump shapes;
};

void param_list_init(struct param_list *l);
void param_list_fini(struct param_list *l);
/* Errors: code, when it has no shape or too many dimensions; ENOMEM. */
int param_list_add(struct param_list *l, const struct cairn_param *p, int code, struct err *err);

#endif
