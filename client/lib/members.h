/* members.h: which gradient belongs to which parameter of a model. */
#ifndef LIB_MEMBERS_H
#define LIB_MEMBERS_H

#include "lib/describe.h"
#include "lib/rec.h"

/* The tensors of a model that have an id, ascending by it: borrowed from its reader. */
struct members {
    const struct entry **entries;
    size_t count;
};

/* Errors: ENOMEM. */
int members_of(const struct cairn_reader *model, struct members *ret, struct err *err);
void members_fini(struct members *m);

/* Does the entry have the id of one of them? */
bool members_have(const struct members *m, const struct entry *e);
/* What is wrong with a gradient that the next update is to use; NULL: nothing. A tied parameter has
 * several entries: one that fits is enough. The text may lie in *room. */
const char *
members_wrong(const struct members *m, const struct entry *gradient, struct describe *room);
/* Every gradient belongs to a parameter of the model: by its id, or, without one, by its path. One
 * of another model would be carried along for ever, and summed into nothing; `foreign_ok` lets it.
 * And it is of its parameter's class of dtypes: nothing else could be added to it.
 * Errors: code, ENOMEM. */
int members_check(const struct cairn_reader *gradients,
                  const struct cairn_reader *model,
                  bool foreign_ok,
                  int code,
                  struct err *err);

/* The failure of one gradient: "the gradient of parameter ID ('PATH') WRONG: it is DTYPE SHAPE".
 * Returns code. */
int members_refuse(struct err *err, int code, const struct entry *gradient, const char *wrong);

#endif
