/* fsck.h: the inside of the walk over a stopped store. */
#ifndef STORE_FSCK_H
#define STORE_FSCK_H

#include "store/row.h"
#include "store/store_int.h"

/* What the other rows must agree with. */
struct fsck_boundary {
    uint64_t seq, step;
    uint8_t save_id[16];
    uint32_t rank;
    uint32_t page_count[COMPONENT_NR]; /* plus one; 0: no such component */
};

struct fsck {
    struct st *st;
    st_fsck_fn *each;
    void *arg;
    struct wire_verified *result;
    char where[LIMIT_RUN_NAME_BYTES + 64];
    struct st_run *run;
    struct fsck_boundary *boundaries; /* of the run, in the order of seq */
    size_t boundary_count, boundary_cap;
    struct segment_list segments; /* files; `named`: by a boundary */
    struct row_run summary;       /* counted */
    uint64_t ref_count;           /* there should be */
    uint64_t previous_seq;        /* on the line that was not abandoned */
    uint64_t pruned_count;
    struct {
        uint64_t segment, end;
    } last_chunk; /* the one before, in key order */
};

int fsck_say(struct fsck *f, const char *fmt, ...) ERR_PRINTF(2, 3);
int fsck_say_leftover(struct fsck *f, const char *what, uint64_t segment);
const struct fsck_boundary *fsck_find(const struct fsck *f, uint64_t seq); /* NULL: none */
struct segment_file *fsck_segment(struct fsck *f, uint64_t id);            /* NULL: none */

/* Say what a failure tells of the store. One that tells nothing of it (no memory) comes back. */
int fsck_say_err(struct fsck *f, int rc, const struct err *why, struct err *err);

/* Each sound row of a database; one that is not sound is said, and left out. */
typedef int fsck_row_fn(struct fsck *f,
                        struct txn *t,
                        const struct key_parts *key,
                        struct slice value,
                        struct err *err);
int fsck_walk(struct fsck *f, enum st_db db, fsck_row_fn *row, struct err *err);
/* Say so unless there is a sound row with this key. *ret_value may be NULL. */
int fsck_need(struct fsck *f,
              struct txn *t,
              enum st_db db,
              const struct key *key,
              struct slice *ret_value,
              bool *ret_there);

int fsck_boundaries(struct fsck *f, struct err *err);         /* fsck_bound.c */
int fsck_rows(struct fsck *f, struct err *err);               /* fsck_rows.c */
int fsck_segments(struct txn *t, void *arg, struct err *err); /* fsck_segment.c; arg: the fsck */

#endif
