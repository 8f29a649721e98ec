/* load.h: the inside of a boundary held readable. */
#ifndef STORE_LOAD_H
#define STORE_LOAD_H

#include "store/held.h"
#include "store/store_int.h"

struct load_segment {
    uint64_t id;
    struct file file;
};

/* Where a chunk of the part lies. */
struct load_extent {
    uint64_t offset;
    uint32_t segment; /* in st_load.segments */
    uint32_t segment_index;
};

struct st_load {
    struct st_run *run;
    struct held held;  /* against removal */
    struct bump bump;  /* what row points to, ... */
    struct bump notes; /* ... and what came later */
    struct row_boundary row;
    struct chunk *chunks;
    struct load_extent *extents;
    uint32_t chunk_count;
    struct load_segment *segments;
    uint32_t segment_count;
};

/* ---- blame.c ---- */
/* The row of a manifest page does not match its digest, which err tells: put the entry in front
 * that is hit, as far as that can be found out. Returns ECORRUPT. */
int blame_page(const struct st_load *l, enum component component, uint32_t page, struct err *err);

#endif
