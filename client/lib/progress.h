/* progress.h: how far the newest save of a handle is: written by the handle's thread as it goes,
 * read by any thread, and neither ever waits for the other's work. */
#ifndef LIB_PROGRESS_H
#define LIB_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

#include "cairn/record.h"

/* All zero: there was no save yet. */
struct progress {
    atomic_uint turn; /* odd while the rest is being written */
    atomic_uint stage;
    atomic_uint_fast64_t done_bytes, total_bytes;
};

/* A save of so many bytes: captured. */
void progress_begin(struct progress *p, uint64_t total_bytes);
/* It has come to this stage: with SEALED and COMMITTED all of it was sent, else nothing. */
void progress_stage(struct progress *p, enum cairn_save_stage stage);
/* So many more bytes were sent. */
void progress_sent(struct progress *p, uint64_t bytes);
/* All were. */
void progress_sent_all(struct progress *p);

#endif
