#include <inttypes.h>
#include <stdlib.h>

#include "internal/ckd.h"
#include "record/digest.h"
#include "store/row.h"
#include "store/segment.h"
#include "store/segment_int.h"

static int seg_bad(uint64_t id, const char *what, struct err *err)
{
    return err_set(err, -CAIRN_ECORRUPT, "segment %016" PRIx64 ": %s", id, what);
}

static int seg_check_page(const struct segment_reader *r,
                          const uint8_t *page,
                          const char *magic,
                          struct err *err)
{
    if (memcmp(page, magic, 8) != 0) {
        return seg_bad(r->id, "a page without its magic number", err);
    }
    if (get_be64(page + SEGMENT_PAGE_BYTES - ROW_TRAILER_BYTES) != segment_page_digest(page)) {
        return seg_bad(r->id, "first or last page does not match its digest", err);
    }
    if (get_be32(page + 8) != SEGMENT_FORMAT) {
        return err_set(err,
                       -CAIRN_EVERSION,
                       "segment %016" PRIx64 ": format %u, this is %u",
                       r->id,
                       get_be32(page + 8),
                       SEGMENT_FORMAT);
    }
    return get_be64(page + 16) == r->id ? 0 : seg_bad(r->id, "holds the id of another", err);
}

static int
seg_check_first(struct segment_reader *r, const uint8_t *run_id, uint8_t *page, struct err *err)
{
    int rc = file_read(&r->file, 0, page, SEGMENT_PAGE_BYTES, err);
    if (rc == 0) {
        rc = seg_check_page(r, page, SEGMENT_MAGIC_HEAD, err);
    }
    if (rc == 0 && memcmp(page + 24, run_id, SEGMENT_ID_BYTES) != 0) {
        rc = seg_bad(r->id, "belongs to another run", err);
    }
    return rc;
}

static int seg_check_last(struct segment_reader *r, uint8_t *page, struct err *err)
{
    uint64_t size = 0;
    int rc = file_size(&r->file, &size, err);
    if (rc < 0) {
        return rc;
    }
    if (size < 2 * (uint64_t)SEGMENT_PAGE_BYTES || size % SEGMENT_PAGE_BYTES != 0) {
        return seg_bad(r->id, "has a size that no segment has", err);
    }
    rc = file_read(&r->file, size - SEGMENT_PAGE_BYTES, page, SEGMENT_PAGE_BYTES, err);
    if (rc == 0) {
        rc = seg_check_page(r, page, SEGMENT_MAGIC_LAST, err);
    }
    if (rc < 0) {
        return rc;
    }
    r->footer_offset = get_be64(page + 24);
    r->footer_bytes = get_be64(page + 32);
    r->row_count = get_be64(page + 40);
    memcpy(r->footer_digest.byte, page + 48, sizeof r->footer_digest.byte);
    uint64_t room = size - SEGMENT_PAGE_BYTES;
    if (r->footer_offset > room || r->footer_bytes > room - r->footer_offset ||
        round_up_u64(r->footer_bytes, SEGMENT_PAGE_BYTES) != room - r->footer_offset) {
        return seg_bad(r->id, "its last page names a footer that is not there", err);
    }
    return 0;
}

int segment_open(struct segment_reader *r,
                 const struct file_mode *mode,
                 int dir_fd,
                 uint64_t id,
                 const uint8_t *run_id,
                 struct err *err)
{
    char name[SEGMENT_NAME_BYTES];
    segment_name(id, false, name);
    *r = (struct segment_reader){ .file.fd = -1, .id = id };
    uint8_t *page = file_buffer(SEGMENT_PAGE_BYTES);
    if (page == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "open a segment");
    }
    int rc = file_open(&r->file, mode, dir_fd, name, err);
    if (rc == 0) {
        rc = seg_check_first(r, run_id, page, err);
    }
    if (rc == 0) {
        rc = seg_check_last(r, page, err);
    }
    free(page);
    if (rc < 0) {
        segment_reader_close(r);
    }
    return rc;
}

void segment_reader_close(struct segment_reader *r)
{
    file_close(&r->file);
}

static int seg_walk(const struct segment_reader *r,
                    const uint8_t *footer,
                    segment_row_fn *each,
                    void *arg,
                    struct err *err)
{
    uint64_t at = 0;
    uint64_t rows = 0;
    for (; at < r->footer_bytes; rows++) {
        uint64_t left = r->footer_bytes - at;
        if (left < SEGMENT_ROW_HEAD_BYTES) {
            return seg_bad(r->id, "its footer ends inside a row", err);
        }
        const uint8_t *head = footer + at;
        size_t key_bytes = (size_t)head[2] << 8 | head[3];
        size_t value_bytes = get_be32(head + 4);
        left -= SEGMENT_ROW_HEAD_BYTES;
        if (left < key_bytes || left - key_bytes < value_bytes) {
            return seg_bad(r->id, "its footer ends inside a row", err);
        }
        const uint8_t *key = head + SEGMENT_ROW_HEAD_BYTES;
        int rc = each(arg,
                      (enum st_db)head[0],
                      slice_of(key, key_bytes),
                      slice_of(key + key_bytes, value_bytes),
                      err);
        if (rc < 0) {
            return rc;
        }
        at += SEGMENT_ROW_HEAD_BYTES + key_bytes + value_bytes;
    }
    return rows == r->row_count ? 0 : seg_bad(r->id, "its footer has another number of rows", err);
}

int segment_rows(struct segment_reader *r, segment_row_fn *each, void *arg, struct err *err)
{
    size_t padded = (size_t)round_up_u64(r->footer_bytes, FILE_ALIGN_BYTES);
    uint8_t *footer = file_buffer(padded + FILE_ALIGN_BYTES);
    if (footer == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "read the footer of a segment");
    }
    struct digest chain = { .byte = { 0 } };
    int rc = file_read(&r->file, r->footer_offset, footer, padded, err);
    for (uint64_t at = 0; rc == 0 && at < r->footer_bytes; at += SEGMENT_BLOCK_BYTES) {
        uint64_t left = r->footer_bytes - at;
        segment_chain(
            &chain, footer + at, left < SEGMENT_BLOCK_BYTES ? (size_t)left : SEGMENT_BLOCK_BYTES);
    }
    if (rc == 0 && !digest_equal(&chain, &r->footer_digest)) {
        rc = seg_bad(r->id, "its footer does not match its digest", err);
    }
    if (rc == 0) {
        rc = seg_walk(r, footer, each, arg, err);
    }
    free(footer);
    return rc;
}
