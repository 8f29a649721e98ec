/* select.h: what the files of the selectors share. */
#ifndef STORE_SELECT_H
#define STORE_SELECT_H

#include "record/selector.h"
#include "store/store_int.h"

/* What was marked is no answer, unless it is asked for by seq or save id: an abandoned boundary,
 * as the run went on elsewhere; a damaged one, as it cannot be read. */
struct sel_passed {
    unsigned marks; /* of all that were passed over */
    uint64_t seq;   /* the newest of them */
};
int sel_passes(struct txn *t,
               const struct selector *sel,
               uint64_t seq,
               struct sel_passed *passed,
               bool *ret,
               struct err *err);
/* Nothing answers but what was passed over: ENOENT, or ECORRUPT when that is damaged, as ENOENT
 * reads as "start fresh". */
int sel_none_left(const struct selector *sel, const struct sel_passed *passed, struct err *err);
/* Is the boundary that an index names there, and (unless sel is NULL) the right one? */
int sel_check(struct txn *t, const struct selector *sel, uint64_t seq, struct err *err);

/* ---- select_best.c ---- */
/* The number that a boundary has as this label; NaN: none. */
int label_number(
    struct txn *t, const struct boundary *b, struct slice name, double *ret, struct err *err);
int sel_best(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err);

#endif
