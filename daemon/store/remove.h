/* remove.h: boundaries on their way out. */
#ifndef STORE_REMOVE_H
#define STORE_REMOVE_H

#include "store/row.h"
#include "store/store_int.h"

/* A place in a segment that stays: nothing refers to it any more. */
struct remove_hole {
    uint64_t segment, offset;
    uint32_t bytes;
};

struct remove {
    struct st_run *run;
    const uint64_t *seqs;
    uint32_t count;
    struct bump bump;        /* what row points to */
    struct row_boundary row; /* the one that goes just now */
    struct remove_hole *holes;
    size_t hole_count, hole_cap;
    uint64_t *gone; /* segments that nothing names any more */
    size_t gone_count, gone_cap;
    struct row_run summary; /* without them */
    uint64_t next_seq, next_segment;
};

/* ---- remove_chunk.c ---- */
/* The chunks of the row, as far as no other boundary refers to them; notes the holes. */
int remove_chunks(struct txn *t, struct remove *r, struct err *err);
/* Notes which of the row's segments nothing names any more. */
int remove_segments(struct txn *t, struct remove *r, struct err *err);

/* ---- remove_id.c ---- */
/* Its save id says from now on that it was removed; of those that say so the oldest goes, once
 * there are too many. */
int remove_save_id(struct txn *t, const struct boundary *b, struct err *err);

#endif
