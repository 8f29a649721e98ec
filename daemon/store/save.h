/* save.h: the inside of a save under way. */
#ifndef STORE_SAVE_H
#define STORE_SAVE_H

#include "store/store_int.h"

struct st_save {
    struct st_run *run;
    struct segment_writer segment;
    bool has_segment;
    struct boundary announced; /* its numbers */
    uint32_t *lengths;         /* of the chunks written so far */
    uint32_t chunk_count;
};

/* Close; the segment stays when the outcome is unknown or good. NULL. */
struct st_save *save_end(struct st_save *save, bool keep_segment);

#endif
