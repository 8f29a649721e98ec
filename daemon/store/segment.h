/* segment.h: an immutable file with the chunks of one part.
 *
 *   page 0      magic, format, segment id, run id, ... XXH3-64 of the page in its last 8 bytes
 *   chunks      in index order, each on a 4 KiB boundary, padded with zeros
 *   footer      the rows of the boundary (db u8, 0 u8, key bytes u16, value bytes u32, key, value
 *               with its trailer): enough to rebuild an index; padded with zeros to 4 KiB
 *   last page   magic, format, segment id, footer offset, bytes, rows, digest, ... XXH3-64
 *
 * Integers are big-endian. While it is written it is called <id>.tmp, afterwards <id>.seg. The
 * footer's digest is a chain over blocks of 1 MiB: chain = XXH3-128(chain, XXH3-128(block)). */
#ifndef STORE_SEGMENT_H
#define STORE_SEGMENT_H

#include "record/record.h"
#include "store/file.h"
#include "store/key.h"

#define SEGMENT_PAGE_BYTES FILE_ALIGN_BYTES
#define SEGMENT_FIRST_CHUNK SEGMENT_PAGE_BYTES
#define SEGMENT_NAME_BYTES 24u
#define SEGMENT_ID_BYTES 16u /* of a run */

void segment_name(uint64_t id, bool temporary, char ret_name[SEGMENT_NAME_BYTES]);
/* Is this file name one of a segment? */
bool segment_parse_name(const char *name, uint64_t *ret_id, bool *ret_temporary);

struct segment_writer {
    struct file file;
    int dir_fd;
    uint64_t id, offset; /* where the next byte goes */
    bool renamed, torn;  /* torn: a write or a sync failed, and not for want of space */
    uint8_t *stage;      /* footer rows on their way, one block */
    size_t staged_bytes;
    struct digest chain;
    uint64_t footer_offset, footer_bytes, row_count;
};

/* Create <id>.tmp with `bytes` of disk space and write its first page. Leaves nothing on failure.
 */
struct segment_place {
    const struct file_mode *mode;
    int dir_fd;
    uint64_t id, bytes;
    const uint8_t *run_id;
    bool reuse; /* <spare>.tmp is there, and becomes it */
    uint64_t spare;
};
int segment_create(struct segment_writer *w, const struct segment_place *place, struct err *err);
/* Append a chunk, padded. Sets where it lies. */
int segment_write(struct segment_writer *w, const void *data, size_t bytes, struct err *err);
/* Append a row to the footer; no chunk may follow. */
int segment_row(struct segment_writer *w,
                enum st_db db,
                const struct key *key,
                struct slice value,
                struct err *err);
/* The last page, the exact size, fdatasync, <id>.seg, fsync of the directory. */
int segment_finish(struct segment_writer *w, struct err *err);
void segment_close(struct segment_writer *w);   /* idempotent; the file stays as it is */
void segment_discard(struct segment_writer *w); /* close, and unlink it under whatever name */

/* A segment of a stopped or running store, checked page by page. ECORRUPT says what is wrong. */
struct segment_reader {
    struct file file;
    uint64_t id, footer_offset, footer_bytes, row_count;
    struct digest footer_digest;
};
int segment_open(struct segment_reader *r,
                 const struct file_mode *mode,
                 int dir_fd,
                 uint64_t id,
                 const uint8_t *run_id,
                 struct err *err);
void segment_reader_close(struct segment_reader *r); /* idempotent */
/* Each row of the footer; `value` includes its trailer. Stops when `each` returns negative. */
typedef int
segment_row_fn(void *arg, enum st_db db, struct slice key, struct slice value, struct err *err);
int segment_rows(struct segment_reader *r, segment_row_fn *each, void *arg, struct err *err);

#endif
