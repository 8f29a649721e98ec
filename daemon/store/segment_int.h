/* segment_int.h: what the writing and the reading of segments share. */
#ifndef STORE_SEGMENT_INT_H
#define STORE_SEGMENT_INT_H

#include "store/segment.h"

#define SEGMENT_MAGIC_HEAD "CRNSEGH1"
#define SEGMENT_MAGIC_LAST "CRNSEGF1"
#define SEGMENT_FORMAT 1u
#define SEGMENT_BLOCK_BYTES ((size_t)1 << 20)
#define SEGMENT_ROW_HEAD_BYTES 8u

void segment_chain(struct digest *chain, const void *block, size_t bytes);
uint64_t segment_page_digest(const uint8_t *page);

#endif
