/* bound.h: the rows that make a boundary, as they go into the index and into the segment's footer.
 */
#ifndef STORE_BOUND_H
#define STORE_BOUND_H

#include "store/key.h"
#include "store/manifest.h"
#include "store/save.h"

struct bound {
    const struct boundary *boundary; /* complete, components included */
    const struct st_manifest *manifest;
    const struct save_chunk *chunks; /* where they lie: as many as the manifest has */
    const uint64_t *segments;        /* that hold them, each once */
    uint32_t segment_count;
};

/* Every row, each database in key order; `value` without its trailer, valid during the call. */
typedef int
bound_row_fn(void *arg, enum st_db db, const struct key *key, struct slice value, struct err *err);
int bound_rows(const struct bound *b, bound_row_fn *each, void *arg, struct err *err);

#endif
