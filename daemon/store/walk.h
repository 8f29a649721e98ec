/* walk.h: the boundaries of a run by their keys, newest first. A row that is damaged has its place
 * in the walk like any other: its key says which boundary it was. */
#ifndef STORE_WALK_H
#define STORE_WALK_H

#include "store/row.h"

struct walk {
    struct row_cursor c;
    uint64_t seq;   /* of the row it stands on */
    bool damaged;   /* that row does not match its digest */
    struct err why; /* it is damaged */
};

/* Onto the newest boundary that is not newer than `from`. ENOENT: there is none (err untouched).
 * ECORRUPT: the keys themselves cannot be walked. walk_close follows in every case. */
int walk_open(struct walk *w, struct txn *t, uint64_t from, struct err *err);
/* Onto the next older one. Errors as above. */
int walk_older(struct walk *w, struct err *err);
void walk_close(struct walk *w);
/* Decode the row. ECORRUPT: it is damaged; ELIMIT: it does not fit the bump. */
int walk_row(const struct walk *w, struct bump *b, struct row_boundary *ret, struct err *err);

#endif
