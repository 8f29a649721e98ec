/* Payload of a part on its way to the disk. The space is there before the first byte is taken. */
#include "store/save.h"

#include <inttypes.h>
#include <stdlib.h>

#include "internal/ckd.h"
#include "store/spare.h"

/* What a footer takes: rows of a chunk (chunk, digest, ref, its place in the component's head),
 * of an entry (without its path and value, which nobody knows yet), and the rest. */
#define SAVE_CHUNK_ROW_BYTES 320u
#define SAVE_ENTRY_ROW_BYTES 160u
#define SAVE_REST_BYTES (64u << 10)

static uint64_t save_rows_bytes(const struct boundary *b)
{
    return b->entry_count * SAVE_ENTRY_ROW_BYTES + b->chunk_count * (uint64_t)SAVE_CHUNK_ROW_BYTES +
           SAVE_REST_BYTES;
}

static uint64_t save_segment_bytes(const struct boundary *b)
{
    if (b->chunk_count == 0) {
        return 0;
    }
    return round_up_u64(2 * (uint64_t)SEGMENT_PAGE_BYTES + b->stored_bytes + save_rows_bytes(b),
                        SEGMENT_PAGE_BYTES);
}

/* Refuse what cannot fit, with the numbers; a part that fits but for a race fails later, as
 * cleanly. */
static int save_check_space(struct st_run *run, const struct boundary *b, struct err *err)
{
    uint64_t need = save_segment_bytes(b) + 2 * save_rows_bytes(b);
    uint64_t reserve = run->st->options.reserve_bytes;
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    int rc = file_space(run->segments_fd, &free_bytes, &total_bytes, err);
    free_bytes += spare_bytes(run);
    if (rc < 0 || (free_bytes >= need && free_bytes - need >= reserve)) {
        return rc;
    }
    return err_set(err,
                   -CAIRN_ENOSPC,
                   "%" PRIu64 " bytes are needed, %" PRIu64 " are free in '%s' (%" PRIu64
                   " of them are kept in reserve)",
                   need,
                   free_bytes,
                   st_dir(run->st),
                   reserve);
}

/* A spare that cannot be had, or extended, is none: then its space goes to a fresh file, as that of
 * one that does not fit. */
static int save_open_segment(struct st_save *s, struct err *err)
{
    struct st_run *run = s->run;
    (void)pthread_mutex_lock(&run->lock);
    struct segment_place place = { .mode = &run->st->mode,
                                   .dir_fd = run->segments_fd,
                                   .id = run->next_segment++,
                                   .bytes = save_segment_bytes(&s->announced),
                                   .run_id = run->id };
    (void)pthread_mutex_unlock(&run->lock);
    place.reuse = spare_take(run, place.bytes, &place.spare);
    int rc = segment_create(&s->segment, &place, err);
    if (rc < 0 && place.reuse && !s->segment.torn) {
        place.reuse = false;
        rc = segment_create(&s->segment, &place, err);
    }
    if (rc == -CAIRN_ENOSPC && !s->segment.torn && spare_bytes(run) > 0) {
        spare_drop(run);
        rc = segment_create(&s->segment, &place, err);
    }
    s->has_segment = rc == 0;
    return rc;
}

/* A failed write is the disk's failure unless it is only full. What failed before there was
 * anything to write (no descriptor, no memory, no right) says nothing about the disk. */
static int save_failed(const struct st_save *s, int rc, struct err *err)
{
    if (s->segment.torn) {
        run_poison(s->run);
    }
    return run_wrap(s->run, rc, err);
}

int st_save_begin(struct st_run *run,
                  const struct boundary *announced,
                  struct st_save **ret,
                  struct err *err)
{
    int rc = run_check_writable(run, err);
    if (rc < 0) {
        return rc;
    }
    struct st_save *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "begin a save");
    }
    s->run = run;
    s->segment.file.fd = -1;
    s->announced = *announced;
    s->chunks = calloc(announced->chunk_count + (size_t)1, sizeof *s->chunks);
    rc = s->chunks != NULL ? 0 : err_set(err, -CAIRN_ENOMEM, "begin a save");
    rc = rc < 0 ? rc : share_init(&s->share, announced->chunk_count, err);
    rc = rc < 0 ? rc : save_check_space(run, announced, err);
    if (rc == 0 && announced->chunk_count > 0) {
        rc = save_open_segment(s, err);
    }
    if (rc < 0) {
        rc = save_failed(s, rc, err);
        (void)save_end(s, false);
        return rc;
    }
    *ret = s;
    return 0;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static uint64_t save_padded_bytes(const struct chunk *chunk)
{
    return round_up_u64(chunk->bytes, SEGMENT_PAGE_BYTES);
}

static int save_check_chunk(const struct st_save *save,
                            uint32_t index,
                            const struct chunk *chunk,
                            struct err *err)
{
    uint64_t left = save->announced.stored_bytes - save->bytes_new - save->bytes_shared;
    int rc = run_check_writable(save->run, err);
    if (rc < 0) {
        return rc;
    }
    return index == save->chunk_count && index < save->announced.chunk_count && chunk->bytes > 0 &&
                   chunk->bytes <= LIMIT_CHUNK_BYTES && save_padded_bytes(chunk) <= left
               ? 0
               : err_set(err,
                         -CAIRN_EINVAL,
                         "chunk %u of %u bytes is none of those announced",
                         index,
                         chunk->bytes);
}

int st_save_share(struct st_save *save,
                  uint32_t index,
                  const struct chunk *chunk,
                  bool *ret_shared,
                  struct err *err)
{
    int rc = save_check_chunk(save, index, chunk, err);
    *ret_shared = rc == 0 && share_find(save, chunk, &save->chunks[index]);
    if (*ret_shared) {
        share_note(save, save->chunk_count++);
        save->bytes_shared += save_padded_bytes(chunk);
    }
    return rc;
}

int st_save_write(struct st_save *save,
                  uint32_t index,
                  const struct chunk *chunk,
                  const void *data,
                  struct err *err)
{
    int rc = save_check_chunk(save, index, chunk, err);
    if (rc < 0) {
        return rc;
    }
    const struct save_chunk at = { .digest = chunk->digest,
                                   .bytes = chunk->bytes,
                                   .segment = save->segment.id,
                                   .offset = save->segment.offset,
                                   .index = save->own_count };
    rc = segment_write(&save->segment, data, (size_t)save_padded_bytes(chunk), err);
    if (rc < 0) {
        return save_failed(save, rc, err);
    }
    save->chunks[index] = at;
    save->own_count++;
    save->bytes_new += save_padded_bytes(chunk);
    share_note(save, save->chunk_count++);
    return 0;
}

struct st_save *save_end(struct st_save *save, bool keep_segment)
{
    if (save == NULL) {
        return NULL;
    }
    /* After a failed commit nobody knows whether its rows are there; without a chunk of its own the
     * file was not finished, and is named by none. */
    if (save->has_segment && keep_segment && save->own_count > 0) {
        segment_close(&save->segment);
    } else if (save->has_segment) {
        segment_discard(&save->segment);
    }
    share_fini(&save->share);
    free(save->chunks);
    free(save);
    return NULL;
}

struct st_save *st_save_abort(struct st_save *save)
{
    return save_end(save, false);
}
