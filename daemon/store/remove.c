/* Boundaries go as they came: in one transaction.
 *
 *   one LMDB transaction      from here on they are removed, their save ids say so
 *   unlink                    segments that no row names any more; or keep one as a spare
 *   punch                     chunks that nothing refers to out of segments that stay
 *
 * A crash before the commit leaves all of it, one after the commit leaves segments and places that
 * the next opening gives back. A commit that failed leaves the segments too, as nobody knows what
 * the disk holds, and the run is read-only. */
#include "store/remove.h"

#include <inttypes.h>
#include <stdlib.h>

#include "internal/fault.h"
#include "store/held.h"
#include "store/spare.h"
#include "store/walk.h"

/* ---- rows ------------------------------------------------------------------------------------ */

/* Every row of a database whose key begins with the seq, be it damaged or not. */
static int remove_all(struct txn *t, enum st_db db, uint64_t seq, struct err *err)
{
    struct row_cursor c;
    struct key_parts at;
    struct key from = key_boundary(seq);
    int rc = row_cursor_open(&c, t, db, err);
    while (rc == 0) {
        rc = row_seek(&c, &from, err);
        if (!row_stands(&c, rc) || !key_parse(db, c.key, &at) || at.seq != seq) {
            rc = row_stands(&c, rc) ? -CAIRN_ENOENT : rc;
            break;
        }
        struct key gone = { .bytes = c.key.bytes };
        memcpy(gone.data, c.key.data, c.key.bytes);
        rc = row_del(t, db, &gone, err);
    }
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

static int remove_rows(struct txn *t, const struct boundary *b, struct err *err)
{
    static const enum st_db with_seq[] = { DB_COMPONENT, DB_LABEL, DB_MARK };
    struct key boundary = key_boundary(b->seq);
    struct key step = key_step(b->step, b->seq);
    int rc = row_del(t, DB_BOUNDARY, &boundary, err);
    rc = rc < 0 ? rc : row_del(t, DB_STEP, &step, err);
    for (size_t i = 0; rc == 0 && i < sizeof with_seq / sizeof with_seq[0]; i++) {
        rc = remove_all(t, with_seq[i], b->seq, err);
    }
    return rc;
}

/* ---- what stays ------------------------------------------------------------------------------ */

static int remove_check(struct txn *t, const struct remove *r, uint64_t seq, struct err *err)
{
    struct row_cursor c;
    struct key_parts at;
    struct key from = key_boundary(seq);
    if (seq == r->summary.latest_seq) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "seq %" PRIu64 " is the newest boundary of the run, which always stays",
                       seq);
    }
    int rc = row_cursor_open(&c, t, DB_PIN, err);
    if (rc < 0) {
        return rc;
    }
    rc = row_seek(&c, &from, err);
    bool stands = row_stands(&c, rc);
    if (stands && key_parse(DB_PIN, c.key, &at) && at.seq == seq) {
        rc = err_set(err,
                     -CAIRN_EBUSY,
                     "seq %" PRIu64 " is pinned as '%.*s': unpin it first",
                     seq,
                     (int)at.name.bytes,
                     at.name.bytes == 0 ? "" : (const char *)at.name.data);
        stands = false;
    }
    row_cursor_close(&c);
    return stands || rc == -CAIRN_ENOENT ? 0 : rc;
}

static void remove_summary(struct remove *r)
{
    struct st_run *run = r->run;
    (void)pthread_mutex_lock(&run->lock);
    r->summary = run->summary;
    r->next_seq = run->next_seq;
    r->next_segment = run->next_segment;
    (void)pthread_mutex_unlock(&run->lock);
}

/* ---- the transaction ------------------------------------------------------------------------- */

static int remove_one(struct txn *t, struct remove *r, uint64_t seq, struct err *err)
{
    const struct boundary *b = &r->row.boundary;
    bump_fini(&r->bump);
    int rc = row_get_boundary(t, seq, &r->bump, &r->row, err);
    rc = rc == -CAIRN_ENOENT ? walk_missing(t, seq, err) : rc;
    rc = rc < 0 ? rc : remove_check(t, r, seq, err);
    rc = rc < 0 ? rc : remove_refs(t, r, err);
    rc = rc < 0 ? rc : remove_rows(t, b, err);
    rc = rc < 0 ? rc : remove_save_id(t, b, err);
    if (rc == 0) {
        r->summary.boundary_count -= r->summary.boundary_count > 0 ? 1 : 0;
    }
    return rc;
}

/* May run again, after the map grew. */
static int remove_txn(struct txn *t, void *arg, struct err *err)
{
    struct remove *r = arg;
    r->chunk_count = 0;
    r->segment_count = 0;
    remove_summary(r);
    int rc = hole_forget(t, err);
    for (uint32_t i = 0; rc == 0 && i < r->count; i++) {
        rc = remove_one(t, r, r->seqs[i], err);
    }
    rc = rc < 0 ? rc : remove_chunks(t, r, err);
    return rc < 0 ? rc : meta_put_progress(t, r->next_seq, r->next_segment, &r->summary, err);
}

/* ---- after it -------------------------------------------------------------------------------- */

static void remove_done(const struct remove *r)
{
    struct st_run *run = r->run;
    (void)pthread_mutex_lock(&run->lock);
    run->summary = r->summary;
    (void)pthread_mutex_unlock(&run->lock);
    fault_point("removed");
    for (size_t i = 0; i < r->segment_count; i++) {
        if (!r->segments[i].used) {
            spare_give(run, r->segments[i].id);
        }
    }
    for (size_t i = 0; i < r->chunk_count; i++) {
        const struct remove_chunk *c = &r->chunks[i];
        if (c->hole) {
            hole_punch(run, c->segment, c->offset, c->bytes);
        }
    }
    fault_point("swept");
    catalogue_put(run->st, &run->claim, &r->summary);
}

int remove_boundaries(
    struct st_run *run, const uint64_t *seqs, uint32_t count, bool *ret_elsewhere, struct err *err)
{
    struct remove r = { .run = run, .seqs = seqs, .count = count };
    const struct txn_job job = { .fn = remove_txn, .arg = &r, .failpoint = "remove" };
    int rc = held_remove_begin(run, seqs, count, err);
    *ret_elsewhere = false;
    if (rc < 0) {
        return run_wrap(run, rc, err);
    }
    rc = run_change(run, &job, err);
    if (rc == 0) {
        remove_done(&r);
    }
    held_remove_end(run);
    *ret_elsewhere = r.refs_damaged;
    bump_fini(&r.bump);
    free(r.chunks);
    free(r.segments);
    return rc;
}

int st_remove(struct st_run *run, const uint64_t *seqs, uint32_t count, struct err *err)
{
    bool elsewhere = false;
    return remove_boundaries(run, seqs, count, &elsewhere, err);
}
