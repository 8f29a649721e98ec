/* held.h: which boundaries of a run are being read, and which are being removed. Neither begins
 * while the other is under way, so that no segment goes between a row and its reader. */
#ifndef STORE_HELD_H
#define STORE_HELD_H

#include "store/store_int.h"

/* A reader's place in the list of its run. Zeroed: it holds nothing. */
struct held {
    struct st_run *run; /* NULL: holds nothing */
    uint64_t seq;
    struct held *next;
};

/* EBUSY: this boundary is just being removed. */
int held_add(struct held *h, struct st_run *run, uint64_t seq, struct err *err);
void held_drop(struct held *h); /* idempotent */

/* From here until held_remove_end nobody begins to read these; the list stays the caller's. EBUSY:
 * somebody reads one already. */
int held_remove_begin(struct st_run *run, const uint64_t *seqs, uint32_t count, struct err *err);
void held_remove_end(struct st_run *run);

#endif
