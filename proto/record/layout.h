/* layout.h: packing. Decides, in put order, where every tensor lies in the region and which chunks
 * there are (PROTOCOL.md, "Packing"). Pure bookkeeping; the caller copies and digests.
 *
 * A region is an address range that starts on a page. Chunks start on pages. Per component two
 * shared chunks may be open at once, one for trainable entries, one for the others; each has 8 MiB
 * of the region set aside until it is closed. What alignment leaves between two entries of a chunk,
 * and between its end and the next page, must be zero: a caller that reuses a region zeroes it. */
#ifndef RECORD_LAYOUT_H
#define RECORD_LAYOUT_H

#include "internal/err.h"
#include "record/record.h"

struct layout_chunk {
    struct chunk chunk; /* digest empty until the caller fills it */
    uint64_t region_offset;
    struct nonfinite nonfinite; /* of a chunk that is one tensor's own; the caller fills it too */
};

struct layout; /* owns its growing chunk table */

struct layout *layout_new(void);
struct layout *layout_free(struct layout *l);
void layout_reset(struct layout *l);

/* Start a component; the one before must have ended. */
void layout_begin(struct layout *l, enum component component);

/* Place `bytes` (> 0) of a tensor. Sets first_chunk and offset_bytes as struct entry means them and
 * the region offset of the first byte; a tensor of its own chunks is contiguous in the region.
 * Errors: ELIMIT (chunks), ENOMEM. */
int layout_place(struct layout *l,
                 uint64_t bytes,
                 bool trainable,
                 uint32_t *ret_first_chunk,
                 uint32_t *ret_offset_bytes,
                 uint64_t *ret_region_offset,
                 struct err *err);

/* End the component. When everything it placed is at most LIMIT_INLINE_COMPONENT_BYTES in total
 * (sum of the tensors' bytes), its chunks are taken back, `*ret_inline` is true, and the caller
 * copies the values out of the region before the next layout_begin. */
void layout_end(struct layout *l, bool *ret_inline);

uint32_t layout_chunk_count(const struct layout *l);
struct layout_chunk *layout_chunk_at(struct layout *l, uint32_t index);
uint64_t layout_region_bytes(const struct layout *l); /* high-water mark of the region */
uint64_t layout_stored_bytes(const struct layout *l); /* chunks padded to 4 KiB */

#endif
