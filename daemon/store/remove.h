/* remove.h: boundaries on their way out. */
#ifndef STORE_REMOVE_H
#define STORE_REMOVE_H

#include "store/hole.h"
#include "store/row.h"
#include "store/store_int.h"

/* A chunk that they refer to. */
struct remove_chunk {
    uint64_t segment, offset;
    uint32_t index, bytes;
    struct digest digest;
    bool used; /* by another boundary */
    bool hole; /* its place is to be given back; else it stays, or goes with its segment */
};

/* A segment that they name. */
struct remove_segment {
    uint64_t id;
    bool used;
};

struct remove {
    struct st_run *run;
    const uint64_t *seqs;
    uint32_t count;
    struct bump bump;            /* what row points to */
    struct row_boundary row;     /* the one that goes just now */
    struct remove_chunk *chunks; /* of all of them; sorted, once all are noted */
    size_t chunk_count, chunk_cap;
    struct remove_segment *segments;
    size_t segment_count, segment_cap;
    bool refs_damaged;      /* why it failed: not for the rows of these boundaries */
    struct row_run summary; /* without them */
    uint64_t next_seq, next_segment;
};

/* ---- remove_chunk.c ---- */
/* Notes the chunks and the segments of the row; it does not refer to them any more. */
int remove_refs(struct txn *t, struct remove *r, struct err *err);
/* After that of all: the chunks that nothing else refers to go. */
int remove_chunks(struct txn *t, struct remove *r, struct err *err);

/* ---- remove.c ---- */
/* As st_remove. *ret_elsewhere: it failed for damage in rows that are not of these boundaries. */
int remove_boundaries(
    struct st_run *run, const uint64_t *seqs, uint32_t count, bool *ret_elsewhere, struct err *err);

/* ---- remove_id.c ---- */
/* Its save id says from now on that it was removed; of those that say so the oldest goes, once
 * there are too many. */
int remove_save_id(struct txn *t, const struct boundary *b, struct err *err);

#endif
