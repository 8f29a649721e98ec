/* Where index and segment meet. The order is the whole point:
 *
 *   footer, fdatasync, rename, fsync of the directory    the segment is durable, nothing names it
 *   one LMDB transaction                                 from here on the boundary exists
 *   return                                               from here on it may be acknowledged
 *
 * Whatever fails before the transaction leaves a segment that is unlinked at once; a crash leaves
 * one that is unlinked when the run is opened. When the commit itself fails, nobody knows what the
 * disk holds: the segment stays, and the run is read-only for as long as this process lives, opened
 * anew or not. After a restart the opening makes one synced commit, and what is visible then
 * counts. */
#include <inttypes.h>
#include <time.h>

#include "internal/fault.h"
#include "store/bound.h"
#include "store/row.h"
#include "store/save.h"
#include "store/stale.h"

struct commit {
    struct st_save *save;
    struct st_run *run;
    const struct st_manifest *manifest;
    struct boundary boundary; /* as it will be stored */
    struct row_run summary;
    uint64_t next_segment;
    uint64_t segments[2 * SHARE_SEGMENTS + 1];
    uint32_t segment_count;
    bool known; /* the save id is there already, with the same root */
    bool torn;  /* the index could not be written */
};

/* ---- before ---------------------------------------------------------------------------------- */

static int commit_check(const struct st_save *s,
                        const struct st_manifest *m,
                        const struct boundary *b,
                        struct err *err)
{
    if (!m->sealed || m->broken || memcmp(m->check.announced.save_id, b->save_id, 16) != 0) {
        return err_set(err, -CAIRN_EINVAL, "the manifest is not sealed, or of another save");
    }
    if (s->chunk_count != m->check.chunk_count) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "%u chunks were written, the manifest has %u",
                       s->chunk_count,
                       m->check.chunk_count);
    }
    for (uint32_t i = 0; i < s->chunk_count; i++) {
        const struct chunk *c = &m->check.chunks[i];
        if (s->chunks[i].bytes != c->bytes || !digest_equal(&s->chunks[i].digest, &c->digest)) {
            return err_set(err, -CAIRN_EINVAL, "chunk %u: another one is in the manifest", i);
        }
    }
    return 0;
}

/* A save id that is known holds the same content, and is then committed, or it is refused. */
static int commit_find_txn(struct txn *t, void *arg, struct err *err)
{
    struct commit *c = arg;
    struct row_save save;
    struct row_boundary row;
    struct bump b;
    int rc = row_get_save(t, c->boundary.save_id, c->boundary.rank, &save, err);
    if (rc == -CAIRN_ENOENT) {
        stale_measure(t, c->save, c->manifest, &c->boundary);
        return 0;
    }
    if (rc < 0) {
        return rc;
    }
    if (!digest_equal(&save.root, &c->boundary.root)) {
        return err_set(err,
                       -CAIRN_ECONFLICT,
                       "this save id is that of seq %" PRIu64 ", which holds other content",
                       save.seq);
    }
    if (save.state != SAVE_COMMITTED) {
        return err_set(err,
                       -CAIRN_EPRUNED,
                       "this save was committed as seq %" PRIu64 " and has been removed",
                       save.seq);
    }
    rc = row_get_boundary(t, save.seq, &b, &row, err);
    if (rc == 0) {
        c->boundary.seq = save.seq;
        c->boundary.parent_seq = row.boundary.parent_seq;
        c->boundary.created_ns = row.boundary.created_ns;
        c->boundary.bytes_new = row.boundary.bytes_new;
        c->boundary.bytes_shared = row.boundary.bytes_shared;
        c->boundary.trainable_bytes = row.boundary.trainable_bytes;
        c->boundary.trainable_new_bytes = row.boundary.trainable_new_bytes;
        c->boundary.warnings = row.boundary.warnings;
        c->known = true;
    }
    bump_fini(&b);
    return row_damage(rc, "save id", err);
}

static void commit_fill(struct commit *c, const struct boundary *b)
{
    const struct st_manifest *m = c->manifest;
    struct boundary *to = &c->boundary;
    struct timespec now = { .tv_sec = 0 };
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *to = *b;
    to->created_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    to->entry_count = m->check.announced.entry_count;
    to->payload_bytes = m->check.announced.payload_bytes;
    to->stored_bytes = m->check.stored_bytes;
    to->chunk_count = m->check.chunk_count;
    to->bytes_new = c->save->bytes_new;
    to->bytes_shared = c->save->bytes_shared;
    to->nonfinite = m->check.nonfinite;
    to->not_finite = m->check.not_finite;
    to->root = m->root;
    to->components = m->infos;
    to->component_count = m->info_count;
    (void)pthread_mutex_lock(&c->run->lock);
    c->summary = c->run->summary;
    to->seq = c->run->next_seq;
    c->next_segment = c->run->next_segment;
    (void)pthread_mutex_unlock(&c->run->lock);
    to->parent_seq = c->summary.latest_seq;
    c->summary.boundary_count++;
    c->summary.latest_seq = to->seq;
    c->summary.latest_step = to->step;
    c->summary.latest_ns = to->created_ns;
    c->summary.bytes += to->bytes_new;
}

/* ---- segment --------------------------------------------------------------------------------- */

/* Its own file first, if it has one. */
static void commit_segments(struct commit *c)
{
    const struct st_save *s = c->save;
    if (s->own_count > 0) {
        c->segments[c->segment_count++] = s->segment.id;
    }
    for (uint32_t i = 0; i < s->share.segment_count; i++) {
        c->segments[c->segment_count++] = s->share.segments[i];
    }
}

static struct bound commit_bound(const struct commit *c)
{
    return (struct bound){ .boundary = &c->boundary,
                           .manifest = c->manifest,
                           .chunks = c->save->chunks,
                           .segments = c->segments,
                           .segment_count = c->segment_count };
}

static int commit_footer_row(
    void *arg, enum st_db db, const struct key *key, struct slice value, struct err *err)
{
    return segment_row(arg, db, key, value, err);
}

static int commit_segment(struct commit *c, struct err *err)
{
    struct bound bound = commit_bound(c);
    if (c->save->own_count == 0) {
        return 0;
    }
    int rc = bound_rows(&bound, commit_footer_row, &c->save->segment, err);
    return rc < 0 ? rc : segment_finish(&c->save->segment, err);
}

/* ---- index ----------------------------------------------------------------------------------- */

static int
commit_put(void *arg, enum st_db db, const struct key *key, struct slice value, struct err *err)
{
    return row_put(arg, db, key, value, err);
}

/* What was read back for this save is good for the next ones. */
static int commit_prove(struct txn *t, const struct save_chunk *c, struct err *err)
{
    struct row_chunk row;
    struct wire_buf buf = { .data = NULL };
    struct key key = key_chunk(c->segment, c->index);
    int rc = row_get_chunk(t, c->segment, c->index, &row, err);
    row.proved = true;
    rc = rc < 0 ? row_damage(rc, "chunk that is referred to", err)
                : row_chunk_encode(&row, &buf, err);
    rc = rc < 0 ? rc : row_put(t, DB_CHUNK, &key, slice_of(buf.data, buf.bytes), err);
    wire_buf_free(&buf);
    return rc;
}

static int commit_proved(struct txn *t, const struct st_save *s, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < s->chunk_count; i++) {
        rc = s->chunks[i].proves ? commit_prove(t, &s->chunks[i], err) : 0;
    }
    return rc;
}

static int commit_txn(struct txn *t, void *arg, struct err *err)
{
    const struct commit *c = arg;
    struct bound bound = commit_bound(c);
    uint64_t next_seq = 0;
    uint64_t next_segment = 0;
    int rc = meta_get_progress(t, &next_seq, &next_segment, err);
    if (rc == 0 && next_seq != c->boundary.seq) {
        return err_set(err,
                       -CAIRN_ECORRUPT,
                       "meta: seq %" PRIu64 " is to come, expected %" PRIu64,
                       next_seq,
                       c->boundary.seq);
    }
    rc = rc < 0 ? row_damage(rc, "meta", err) : bound_rows(&bound, commit_put, t, err);
    rc = rc < 0 ? rc : commit_proved(t, c->save, err);
    return rc < 0 ? rc
                  : meta_put_progress(t, c->boundary.seq + 1, c->next_segment, &c->summary, err);
}

static int commit_index(struct commit *c, struct err *err)
{
    struct txn_job job = { .fn = commit_txn, .arg = c, .failpoint = "commit" };
    return env_write(&c->run->index, &job, err);
}

/* ---- after ----------------------------------------------------------------------------------- */

/* What the caller does not know of it. */
static void commit_tell(const struct commit *c, struct boundary *b)
{
    b->seq = c->boundary.seq;
    b->parent_seq = c->boundary.parent_seq;
    b->created_ns = c->boundary.created_ns;
    b->bytes_new = c->boundary.bytes_new;
    b->bytes_shared = c->boundary.bytes_shared;
    b->nonfinite = c->boundary.nonfinite;
    b->not_finite = c->boundary.not_finite;
    b->trainable_bytes = c->boundary.trainable_bytes;
    b->trainable_new_bytes = c->boundary.trainable_new_bytes;
    b->warnings = c->boundary.warnings;
}

static void commit_done(struct commit *c, struct boundary *b)
{
    struct st_run *run = c->run;
    (void)pthread_mutex_lock(&run->lock);
    run->summary = c->summary;
    run->next_seq = c->boundary.seq + 1;
    if (c->boundary.bytes_new > 0) {
        run->last_bytes = c->boundary.stored_bytes;
        run->last_bytes_new = c->boundary.bytes_new;
    }
    (void)pthread_mutex_unlock(&run->lock);
    commit_tell(c, b);
    fault_point("committed");
    catalogue_put(run->st, &run->claim, &c->summary);
}

/* The disk may hold the boundary or not: whoever asks for this save id is told so. */
static void commit_unknown(const struct commit *c)
{
    const struct row_save save = { .seq = c->boundary.seq, .root = c->boundary.root };
    run_poison_unknown(c->run, c->boundary.save_id, c->boundary.rank, &save);
}

static int commit_run(struct commit *c, const struct boundary *b, struct err *err)
{
    int rc = run_check_writable(c->run, err);
    rc = rc < 0 ? rc : commit_check(c->save, c->manifest, b, err);
    if (rc < 0) {
        return rc;
    }
    commit_fill(c, b);
    commit_segments(c);
    rc = env_read(&c->run->index, commit_find_txn, c, err);
    if (rc < 0 || c->known) {
        return rc;
    }
    rc = commit_segment(c, err);
    if (rc == 0) {
        rc = commit_index(c, err);
        c->torn = rc == -CAIRN_EIO;
    }
    return rc;
}

int st_save_commit(struct st_save **save,
                   const struct st_manifest *m,
                   struct boundary *b,
                   struct err *err)
{
    struct commit c = { .save = *save, .run = (*save)->run, .manifest = m };
    *save = NULL;
    int rc = commit_run(&c, b, err);
    if (rc == 0 && c.known) {
        commit_tell(&c, b);
    } else if (rc == 0) {
        commit_done(&c, b);
    } else if (rc == -CAIRN_EUNKNOWN) {
        commit_unknown(&c);
    } else if (c.save->segment.torn || c.torn) {
        run_poison(c.run);
    }
    (void)save_end(c.save, (rc == 0 && !c.known) || rc == -CAIRN_EUNKNOWN);
    return rc < 0 ? run_wrap(c.run, rc, err) : 0;
}
