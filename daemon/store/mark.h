/* mark.h: what was found out or decided about a boundary after its commit; its row never changes.
 * A mark is a row of `mark`: key seq and name, value a sentence that says why. */
#ifndef STORE_MARK_H
#define STORE_MARK_H

#include "record/record.h"
#include "store/env.h"

/* The marks of a boundary, as bits. A row that is damaged marks too: its key says which. */
int mark_get(struct txn *t, uint64_t seq, unsigned *ret_marks, struct err *err);
/* The bit of a mark, by its name; 0: none is called so. */
unsigned mark_named(struct slice name);
int mark_put(struct txn *t, uint64_t seq, unsigned mark, struct slice why, struct err *err);
int mark_del(struct txn *t, uint64_t seq, unsigned mark, struct err *err);

#endif
