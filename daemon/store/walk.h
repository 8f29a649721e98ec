/* walk.h: the boundaries of a run by their keys, newest first. A row that is damaged has its place
 * in the walk like any other: its key says which boundary it was. So has the newest one when its
 * row is lost: meta says that there was one, and an older one must not pass for it. */
#ifndef STORE_WALK_H
#define STORE_WALK_H

#include "store/row.h"

struct walk {
    struct row_cursor c;
    uint64_t seq;   /* of the row it stands on */
    bool damaged;   /* that row does not match its digest, or is lost */
    bool lost;      /* it stands where the newest should be, not on a row */
    struct err why; /* it is damaged */
};

/* Onto the newest boundary that is not newer than `from`. ENOENT: there is none (err untouched).
 * ECORRUPT: the keys themselves cannot be walked. walk_close follows in every case. */
int walk_open(struct walk *w, struct txn *t, uint64_t from, struct err *err);
/* Onto the next older one. Errors as above. */
int walk_older(struct walk *w, struct err *err);
void walk_close(struct walk *w);
/* There is no row of this boundary: ENOENT, or ECORRUPT when there was one, as it is the newest by
 * meta or has components. */
int walk_missing(struct txn *t, uint64_t seq, struct err *err);
/* Decode the row. ECORRUPT: it is damaged; ELIMIT: it does not fit the bump. */
int walk_row(const struct walk *w, struct bump *b, struct row_boundary *ret, struct err *err);

#endif
