/* share.h: chunks of a save that the run holds already. They are referred to, not written again.
 *
 * A chunk is known by its digest and length, within its run only. What was digested behind a write
 * may still have been changed between the two by a hostile client, or have rotted since; so a chunk
 * is read back and compared before it is referred to for the first time, and its row then says
 * `proved`. While the save is under way it holds the boundaries whose chunks it counts on, as a
 * reader would: they cannot be removed. */
#ifndef STORE_SHARE_H
#define STORE_SHARE_H

#include "store/held.h"

/* Boundaries that one save counts on; chunks of others are written again. */
#define SHARE_HOLDS 8u
/* Other files that hold chunks of one boundary: whoever reads it opens each. What lies in yet
 * another one is written again, so that the pieces of a long run come together now and then; but
 * for files that hold many chunks, for which there is room once more. */
#define SHARE_SEGMENTS 32u

/* Where a chunk of a save lies. */
struct save_chunk {
    struct digest digest;
    uint64_t segment, offset;
    uint32_t index; /* in the segment */
    uint32_t bytes;
    bool shared;   /* it was there, nothing was written */
    bool repeated; /* the same place as an earlier chunk of this save */
    bool proves;   /* it was read back for this save: from the commit on its row says so */
};

struct share {
    struct held holds[SHARE_HOLDS];
    uint32_t hold_count;
    uint64_t segments[2 * SHARE_SEGMENTS];
    uint32_t segment_count;
    struct file file; /* that was read last, to prove */
    uint64_t file_segment;
    uint8_t *buffer; /* one chunk; NULL until it is needed */
    uint32_t *table; /* places of the save's chunks by digest, plus one; 0: free */
    uint32_t table_mask;
};

struct st_save;

int share_init(struct share *s, uint32_t chunk_count, struct err *err);
void share_fini(struct share *s); /* idempotent */
/* Does the save, or its run, hold this chunk? Then *ret says where. What goes wrong in asking is no
 * error: then the chunk is written. */
bool share_find(struct st_save *save, const struct chunk *chunk, struct save_chunk *ret);
/* The save's chunk of this number is placed: later ones may be the same. */
void share_note(struct st_save *save, uint32_t index);

#endif
