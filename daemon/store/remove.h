/* remove.h: a boundary on its way out. */
#ifndef STORE_REMOVE_H
#define STORE_REMOVE_H

#include "store/row.h"
#include "store/store_int.h"

struct remove {
    struct st_run *run;
    uint64_t seq;
    struct bump bump; /* what row points to */
    struct row_boundary row;
    struct key *orphans; /* digests whose row named a chunk that goes */
    uint32_t orphan_count;
    uint64_t *gone; /* segments that nothing names any more */
    uint32_t gone_count;
    struct row_run summary; /* without it */
    uint64_t next_seq, next_segment;
};

/* ---- remove_id.c ---- */
/* Its save id says from now on that it was removed; of those that say so the oldest goes, once
 * there are too many. */
int remove_save_id(struct txn *t, const struct boundary *b, struct err *err);

#endif
