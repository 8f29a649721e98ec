/* hole.h: places in segments that stay, which no boundary refers to any more. They are written down
 * in the transaction that removes the last one that did, and given back to the file system after
 * it; after a crash in between the next opening does that. Their rows are `hole`: key and value are
 * those that the chunk had. They go with the next removal. */
#ifndef STORE_HOLE_H
#define STORE_HOLE_H

#include "store/row.h"
#include "store/store_int.h"

int hole_put(struct txn *t, const struct key *chunk, const struct row_chunk *row, struct err *err);
/* All holes that there are have been given back. */
int hole_forget(struct txn *t, struct err *err);
/* Give a place back. Where the file system cannot, it stays until its segment goes. */
void hole_punch(const struct st_run *run, uint64_t segment, uint64_t offset, uint32_t bytes);
/* After a crash: give back all that is written down. */
void hole_punch_all(struct st_run *run);

#endif
