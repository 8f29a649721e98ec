#include "store/share.h"

#include <stdlib.h>

#include "internal/ckd.h"
#include "internal/fault.h"
#include "record/digest.h"
#include "store/row.h"
#include "store/save.h"

/* Copies of a chunk that are looked at. There is more than one only where one could not be proved.
 */
enum { SHARE_COPIES = 4 };

struct share_copy {
    struct save_chunk at;
    uint64_t seq; /* a boundary that refers to it */
    bool proved;
    bool large; /* its file holds as many chunks as a quarter of the save */
};

struct share_lookup {
    const struct st_save *save;
    const struct chunk *chunk;
    uint64_t newest_seq;
    struct share_copy copies[SHARE_COPIES];
    uint32_t count;
};

int share_init(struct share *s, uint32_t chunk_count, struct err *err)
{
    uint32_t slots = 16;
    while (slots < 2 * (uint64_t)chunk_count) {
        slots *= 2;
    }
    *s = (struct share){ .file.fd = -1, .table_mask = slots - 1 };
    s->table = calloc(slots, sizeof *s->table);
    return s->table != NULL ? 0 : err_set(err, -CAIRN_ENOMEM, "look for %u chunks", chunk_count);
}

void share_fini(struct share *s)
{
    for (uint32_t i = 0; i < s->hold_count; i++) {
        held_drop(&s->holds[i]);
    }
    s->hold_count = 0;
    if (s->table != NULL) {
        file_close(&s->file);
    }
    free(s->buffer);
    free(s->table);
    s->buffer = NULL;
    s->table = NULL;
}

/* ---- in the same save ------------------------------------------------------------------------ */

/* The slot of this digest and length, or the free one where it belongs. Half of them are free. */
static uint32_t share_slot(const struct st_save *save, const struct digest *digest, uint32_t bytes)
{
    const struct share *s = &save->share;
    uint32_t at = 0;
    memcpy(&at, digest->byte, sizeof at);
    for (at &= s->table_mask; s->table[at] != 0; at = (at + 1) & s->table_mask) {
        const struct save_chunk *c = &save->chunks[s->table[at] - 1];
        if (c->bytes == bytes && digest_equal(&c->digest, digest)) {
            break;
        }
    }
    return at;
}

void share_note(struct st_save *save, uint32_t index)
{
    const struct save_chunk *c = &save->chunks[index];
    uint32_t at = share_slot(save, &c->digest, c->bytes);
    if (save->share.table[at] == 0) {
        save->share.table[at] = index + 1;
    }
}

/* ---- in the run ------------------------------------------------------------------------------ */

/* For one more file of any size. */
static bool share_has_room(const struct st_save *save)
{
    unsigned most = save->run->st->options.share_segments;
    return save->share.segment_count < (most == 0 ? SHARE_SEGMENTS : most);
}

/* Is there a row that says that this boundary refers to the chunk? */
static bool share_refers(struct txn *t, const struct save_chunk *at, uint64_t seq)
{
    struct slice value;
    struct key key = key_ref(at->segment, at->index, seq);
    return row_get(t, DB_REF, &key, &value, NULL) == 0;
}

/* A boundary that refers to it, rather one that is held anyway; 0: none. */
static uint64_t share_user(struct txn *t, const struct share_lookup *l, const struct save_chunk *at)
{
    const struct share *s = &l->save->share;
    for (uint32_t i = 0; i < s->hold_count; i++) {
        if (share_refers(t, at, s->holds[i].seq)) {
            return s->holds[i].seq;
        }
    }
    if (share_refers(t, at, l->newest_seq)) {
        return l->newest_seq;
    }
    struct row_cursor c;
    struct key_parts ref;
    struct key from = key_ref(at->segment, at->index, 0);
    uint64_t seq = 0;
    if (row_cursor_open(&c, t, DB_REF, NULL) == 0) {
        bool found = row_seek(&c, &from, NULL) == 0 && key_parse(DB_REF, c.key, &ref) &&
                     ref.segment == at->segment && ref.index == at->index;
        seq = found ? ref.seq : 0;
        row_cursor_close(&c);
    }
    return seq;
}

static bool share_is_large(struct txn *t, const struct st_save *save, uint64_t segment)
{
    struct row_cursor c;
    struct key_parts at;
    struct key from = key_chunk(segment, 0);
    uint32_t wanted = save->announced.chunk_count / 4 + 1;
    uint32_t count = 0;
    if (row_cursor_open(&c, t, DB_CHUNK, NULL) < 0) {
        return false;
    }
    for (int rc = row_seek(&c, &from, NULL); rc == 0 && count < wanted; rc = row_next(&c, NULL)) {
        if (!key_parse(DB_CHUNK, c.key, &at) || at.segment != segment) {
            break;
        }
        count++;
    }
    row_cursor_close(&c);
    return count == wanted;
}

/* A copy that the row of digest names, if the rows agree about it. */
static void share_copy(struct txn *t, struct share_lookup *l, const struct key_parts *digest)
{
    struct row_chunk row;
    const struct chunk *chunk = l->chunk;
    struct share_copy copy = { .at = { .digest = chunk->digest,
                                       .segment = digest->segment,
                                       .index = digest->index,
                                       .bytes = chunk->bytes,
                                       .shared = true } };
    if (row_get_chunk(t, digest->segment, digest->index, &row, NULL) < 0 ||
        row.bytes != chunk->bytes || !digest_equal(&row.digest, &chunk->digest) ||
        row.offset % SEGMENT_PAGE_BYTES != 0) {
        return;
    }
    copy.at.offset = row.offset;
    copy.proved = row.proved;
    copy.seq = share_user(t, l, &copy.at);
    copy.large = !share_has_room(l->save) && share_is_large(t, l->save, copy.at.segment);
    if (copy.seq != 0) {
        l->copies[l->count++] = copy;
    }
}

static int share_lookup_txn(struct txn *t, void *arg, struct err *err)
{
    struct share_lookup *l = arg;
    struct row_cursor c;
    struct key_parts at;
    struct key from = key_digest(l->chunk->digest.byte, l->chunk->bytes, 0, 0);
    l->count = 0;
    int rc = row_cursor_open(&c, t, DB_DIGEST, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_seek(&c, &from, err); rc == 0 && l->count < SHARE_COPIES;
         rc = row_next(&c, err)) {
        if (!key_parse(DB_DIGEST, c.key, &at) || at.bytes != l->chunk->bytes ||
            memcmp(at.id, l->chunk->digest.byte, sizeof l->chunk->digest.byte) != 0) {
            break;
        }
        share_copy(t, l, &at);
    }
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

/* ---- may it be referred to? ------------------------------------------------------------------ */

static bool share_hold(struct st_save *save, uint64_t seq)
{
    struct share *s = &save->share;
    for (uint32_t i = 0; i < s->hold_count; i++) {
        if (s->holds[i].seq == seq) {
            return true;
        }
    }
    if (s->hold_count == SHARE_HOLDS ||
        held_add(&s->holds[s->hold_count], save->run, seq, NULL) < 0) {
        return false;
    }
    s->hold_count++;
    return true;
}

static bool share_has_segment(const struct share *s, uint64_t segment)
{
    uint32_t i = 0;
    while (i < s->segment_count && s->segments[i] != segment) {
        i++;
    }
    return i < s->segment_count;
}

static bool share_open(struct st_save *save, uint64_t segment)
{
    struct share *s = &save->share;
    char name[SEGMENT_NAME_BYTES];
    if (s->file.fd >= 0 && s->file_segment == segment) {
        return true;
    }
    file_close(&s->file);
    segment_name(segment, false, name);
    s->file_segment = segment;
    return file_open(&s->file, &save->run->st->mode, save->run->segments_fd, name, NULL) == 0;
}

/* Read it back. */
static bool share_prove(struct st_save *save, const struct save_chunk *c)
{
    struct share *s = &save->share;
    s->buffer = s->buffer != NULL ? s->buffer : file_buffer(LIMIT_CHUNK_BYTES);
    size_t bytes = (size_t)round_up_u64(c->bytes, SEGMENT_PAGE_BYTES);
    fault_point("prove");
    if (s->buffer == NULL || !share_open(save, c->segment) ||
        file_read(&s->file, c->offset, s->buffer, bytes, NULL) < 0) {
        return false;
    }
    struct digest found = digest_bytes(s->buffer, c->bytes);
    return digest_equal(&found, &c->digest);
}

static bool share_take(struct st_save *save, const struct share_copy *copy, struct save_chunk *ret)
{
    struct share *s = &save->share;
    bool room = share_has_room(save) || (copy->large && s->segment_count < 2 * SHARE_SEGMENTS);
    bool known = share_has_segment(s, copy->at.segment);
    if ((!known && !room) || !share_hold(save, copy->seq) ||
        (!copy->proved && !share_prove(save, &copy->at))) {
        return false;
    }
    if (!known) {
        s->segments[s->segment_count++] = copy->at.segment;
    }
    *ret = copy->at;
    ret->proves = !copy->proved;
    return true;
}

static bool share_take_if(struct st_save *save,
                          const struct share_lookup *l,
                          bool proved,
                          struct save_chunk *ret)
{
    uint32_t i = 0;
    while (i < l->count &&
           (l->copies[i].proved != proved || !share_take(save, &l->copies[i], ret))) {
        i++;
    }
    return i < l->count;
}

bool share_find(struct st_save *save, const struct chunk *chunk, struct save_chunk *ret)
{
    struct st_run *run = save->run;
    uint32_t own = save->share.table[share_slot(save, &chunk->digest, chunk->bytes)];
    if (own != 0) {
        *ret = save->chunks[own - 1];
        ret->shared = true;
        ret->repeated = true;
        ret->proves = false;
        return true;
    }
    (void)pthread_mutex_lock(&run->lock);
    struct share_lookup l = { .save = save, .chunk = chunk, .newest_seq = run->summary.latest_seq };
    (void)pthread_mutex_unlock(&run->lock);
    return l.newest_seq != 0 && env_read(&run->index, share_lookup_txn, &l, NULL) == 0 &&
           (share_take_if(save, &l, true, ret) || /* the others cost a read, and may fail */
            share_take_if(save, &l, false, ret));
}
