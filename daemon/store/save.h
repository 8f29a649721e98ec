/* save.h: the inside of a save under way. */
#ifndef STORE_SAVE_H
#define STORE_SAVE_H

#include "store/share.h"
#include "store/store_int.h"

struct st_save {
    struct st_run *run;
    struct segment_writer segment;
    bool has_segment;
    struct boundary announced; /* its numbers */
    struct save_chunk *chunks; /* so far */
    uint32_t chunk_count;
    uint32_t own_count; /* of these, in the segment */
    uint64_t bytes_new, bytes_shared;
    struct share share;
};

/* Close; the segment stays when the outcome is unknown or good. NULL. */
struct st_save *save_end(struct st_save *save, bool keep_segment);

#endif
