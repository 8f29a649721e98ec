#include "store/segment.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal/ckd.h"
#include "internal/fault.h"
#include "record/digest.h"
#include "store/row.h"
#include "store/segment_int.h"

void segment_name(uint64_t id, bool temporary, char ret_name[SEGMENT_NAME_BYTES])
{
    (void)snprintf(
        ret_name, SEGMENT_NAME_BYTES, "%016" PRIx64 "%s", id, temporary ? ".tmp" : ".seg");
}

bool segment_parse_name(const char *name, uint64_t *ret_id, bool *ret_temporary)
{
    uint64_t id = 0;
    for (unsigned i = 0; i < 16; i++) {
        const char *digits = "0123456789abcdef";
        const char *at = name[i] == '\0' ? NULL : strchr(digits, name[i]);
        if (at == NULL) {
            return false;
        }
        id = id << 4 | (uint64_t)(at - digits);
    }
    *ret_id = id;
    *ret_temporary = strcmp(name + 16, ".tmp") == 0;
    return *ret_temporary || strcmp(name + 16, ".seg") == 0;
}

void segment_chain(struct digest *chain, const void *block, size_t bytes)
{
    uint8_t pair[2 * sizeof chain->byte];
    struct digest d = digest_bytes(block, bytes);
    memcpy(pair, chain->byte, sizeof chain->byte);
    memcpy(pair + sizeof chain->byte, d.byte, sizeof d.byte);
    *chain = digest_bytes(pair, sizeof pair);
}

uint64_t segment_page_digest(const uint8_t *page)
{
    return digest_row(slice_of(NULL, 0), slice_of(page, SEGMENT_PAGE_BYTES - ROW_TRAILER_BYTES));
}

/* After a write or a sync: a disk that is only full has not failed. */
static int segment_torn(struct segment_writer *w, int rc)
{
    w->torn = w->torn || (rc < 0 && rc != -CAIRN_ENOSPC);
    return rc;
}

static int segment_put(
    struct segment_writer *w, uint64_t offset, const void *data, size_t bytes, struct err *err)
{
    int rc = file_write(&w->file, offset, data, bytes, err);
    return rc == -CAIRN_ENOMEM ? rc : segment_torn(w, rc); /* no memory: never began */
}

static int
segment_write_page(struct segment_writer *w, uint64_t offset, uint8_t *page, struct err *err)
{
    put_be64(page + SEGMENT_PAGE_BYTES - ROW_TRAILER_BYTES, segment_page_digest(page));
    return segment_put(w, offset, page, SEGMENT_PAGE_BYTES, err);
}

static uint8_t *segment_page_new(const char *magic, uint64_t id)
{
    uint8_t *page = file_buffer(SEGMENT_PAGE_BYTES);
    if (page != NULL) {
        memset(page, 0, SEGMENT_PAGE_BYTES);
        memcpy(page, magic, 8);
        put_be32(page + 8, SEGMENT_FORMAT);
        put_be64(page + 16, id);
    }
    return page;
}

static int segment_create_file(struct segment_writer *w,
                               const struct segment_place *place,
                               const char *name,
                               struct err *err)
{
    char spare[SEGMENT_NAME_BYTES];
    if (!place->reuse) {
        return file_create(&w->file, place->mode, place->dir_fd, name, err);
    }
    segment_name(place->spare, true, spare);
    if (renameat(place->dir_fd, spare, place->dir_fd, name) < 0) {
        return err_errno(err, errno, "rename '%s' to '%s'", spare, name);
    }
    int rc = file_reuse(&w->file, place->mode, place->dir_fd, name, err);
    if (rc < 0) {
        (void)unlinkat(place->dir_fd, name, 0);
    }
    return rc;
}

int segment_create(struct segment_writer *w, const struct segment_place *place, struct err *err)
{
    char name[SEGMENT_NAME_BYTES];
    segment_name(place->id, true, name);
    *w = (struct segment_writer){
        .file.fd = -1, .dir_fd = place->dir_fd, .id = place->id, .offset = SEGMENT_FIRST_CHUNK
    };
    uint8_t *page = segment_page_new(SEGMENT_MAGIC_HEAD, place->id);
    if (page == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "begin a segment");
    }
    memcpy(page + 24, place->run_id, SEGMENT_ID_BYTES);
    int rc = segment_create_file(w, place, name, err);
    if (rc < 0) {
        free(page);
        return rc;
    }
    rc = file_allocate(&w->file, place->bytes, err);
    if (rc == 0) {
        rc = segment_write_page(w, 0, page, err);
    }
    free(page);
    if (rc < 0) {
        segment_discard(w);
        return err_wrap(err, rc, "segment %s", name);
    }
    return 0;
}

static int segment_fault(struct segment_writer *w, const char *failpoint, struct err *err)
{
    int errnum = fault_error(failpoint);
    return errnum == 0 ? 0 : segment_torn(w, err_errno(err, errnum, "failpoint %s", failpoint));
}

int segment_write(struct segment_writer *w, const void *data, size_t bytes, struct err *err)
{
    assert(w->stage == NULL);
    int rc = segment_fault(w, "segment_write", err);
    if (rc == 0) {
        rc = segment_put(w, w->offset, data, bytes, err);
    }
    if (rc < 0) {
        return err_wrap(err, rc, "segment %016" PRIx64, w->id);
    }
    w->offset += bytes;
    return 0;
}

/* ---- footer ---------------------------------------------------------------------------------- */

static int segment_flush(struct segment_writer *w, struct err *err)
{
    size_t padded = (size_t)round_up_u64(w->staged_bytes, FILE_ALIGN_BYTES);
    segment_chain(&w->chain, w->stage, w->staged_bytes);
    memset(w->stage + w->staged_bytes, 0, padded - w->staged_bytes);
    int rc = segment_put(w, w->offset, w->stage, padded, err);
    w->offset += padded;
    w->staged_bytes = 0;
    return rc;
}

static int segment_stage(struct segment_writer *w, const void *data, size_t bytes, struct err *err)
{
    const uint8_t *at = data;
    while (bytes > 0) {
        size_t n = SEGMENT_BLOCK_BYTES - w->staged_bytes;
        n = n < bytes ? n : bytes;
        memcpy(w->stage + w->staged_bytes, at, n);
        w->staged_bytes += n;
        w->footer_bytes += n;
        at += n;
        bytes -= n;
        int rc = w->staged_bytes == SEGMENT_BLOCK_BYTES ? segment_flush(w, err) : 0;
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

static int segment_begin_footer(struct segment_writer *w, struct err *err)
{
    if (w->stage != NULL) {
        return 0;
    }
    w->stage = file_buffer(SEGMENT_BLOCK_BYTES);
    w->footer_offset = w->offset;
    return w->stage != NULL ? 0 : err_set(err, -CAIRN_ENOMEM, "write the footer of a segment");
}

int segment_row(struct segment_writer *w,
                enum st_db db,
                const struct key *key,
                struct slice value,
                struct err *err)
{
    uint8_t head[SEGMENT_ROW_HEAD_BYTES] = {
        (uint8_t)db, 0, (uint8_t)(key->bytes >> 8), (uint8_t)key->bytes
    };
    uint8_t trailer[ROW_TRAILER_BYTES];
    put_be32(head + 4, (uint32_t)(value.bytes + ROW_TRAILER_BYTES));
    row_trailer(key, value, trailer);
    int rc = segment_begin_footer(w, err);
    if (rc == 0) {
        rc = segment_stage(w, head, sizeof head, err);
    }
    if (rc == 0) {
        rc = segment_stage(w, key->data, key->bytes, err);
    }
    if (rc == 0) {
        rc = segment_stage(w, value.data, value.bytes, err);
    }
    if (rc == 0) {
        rc = segment_stage(w, trailer, sizeof trailer, err);
    }
    w->row_count++;
    return rc == 0 ? 0 : err_wrap(err, rc, "segment %016" PRIx64 ": footer", w->id);
}

static int segment_write_last(struct segment_writer *w, struct err *err)
{
    int rc = segment_begin_footer(w, err);
    if (rc == 0 && w->staged_bytes > 0) {
        rc = segment_flush(w, err);
    }
    if (rc < 0) {
        return rc;
    }
    uint8_t *page = segment_page_new(SEGMENT_MAGIC_LAST, w->id);
    if (page == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "end a segment");
    }
    put_be64(page + 24, w->footer_offset);
    put_be64(page + 32, w->footer_bytes);
    put_be64(page + 40, w->row_count);
    memcpy(page + 48, w->chain.byte, sizeof w->chain.byte);
    rc = segment_write_page(w, w->offset, page, err);
    free(page);
    w->offset += SEGMENT_PAGE_BYTES;
    return rc == 0 ? file_truncate(&w->file, w->offset, err) : rc;
}

static int segment_publish(struct segment_writer *w, struct err *err)
{
    char from[SEGMENT_NAME_BYTES];
    char to[SEGMENT_NAME_BYTES];
    segment_name(w->id, true, from);
    segment_name(w->id, false, to);
    if (renameat(w->dir_fd, from, w->dir_fd, to) < 0) {
        return err_errno(err, errno, "rename '%s' to '%s'", from, to);
    }
    w->renamed = true;
    return segment_torn(w, file_sync_dir(w->dir_fd, "segments", err));
}

int segment_finish(struct segment_writer *w, struct err *err)
{
    int rc = segment_write_last(w, err);
    if (rc == 0) {
        rc = segment_fault(w, "segment_sync", err);
    }
    if (rc == 0) {
        rc = segment_torn(w, file_sync(&w->file, err));
    }
    if (rc == 0) {
        rc = segment_publish(w, err);
    }
    return rc == 0 ? 0 : err_wrap(err, rc, "segment %016" PRIx64, w->id);
}

void segment_close(struct segment_writer *w)
{
    file_close(&w->file);
    free(w->stage);
    w->stage = NULL;
}

void segment_discard(struct segment_writer *w)
{
    char name[SEGMENT_NAME_BYTES];
    segment_close(w);
    segment_name(w->id, !w->renamed, name);
    (void)unlinkat(w->dir_fd, name, 0);
}
