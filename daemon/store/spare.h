/* spare.h: the file of a segment that nothing names any more, kept to be written anew: blocks that
 * are allocated and were written take new bytes faster than fresh ones, and the disk is not asked
 * for space that may be gone by then.
 *
 * One per run, of about the size that its saves write. A larger one would have to be cut, which
 * takes the file system longer than the blocks are worth, and that in the way of a save; one that
 * does not fit any more makes room for the next that is left over. It is called <id>.tmp, as what a
 * crash leaves behind is, and goes the same way: at the next opening. Nobody reads it: a boundary
 * is not removed while anybody has it, and a segment is given up only when no boundary refers to
 * it. What is written into it gets a new id, and its name only when all of it is on the disk, so
 * old bytes pass for nothing. */
#ifndef STORE_SPARE_H
#define STORE_SPARE_H

#include "store/store_int.h"

/* Nothing names this segment any more: keep it or unlink it. */
void spare_give(struct st_run *run, uint64_t id);
/* Have the spare for a segment of at most `bytes`, if there is one and it is about as large as what
 * is likely to be written of them: as much as of the last save. */
bool spare_take(struct st_run *run, uint64_t bytes, uint64_t *ret_id);
/* Its space is wanted. */
void spare_drop(struct st_run *run);
uint64_t spare_bytes(struct st_run *run);

#endif
