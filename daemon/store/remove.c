/* A boundary goes as it came: in one transaction.
 *
 *   one LMDB transaction      from here on the boundary is removed, its save id says so
 *   unlink                    segments that no row names any more
 *
 * A crash before the commit leaves all of it, one after the commit leaves segments that the next
 * opening sweeps. A commit that failed leaves the segments too, as nobody knows what the disk
 * holds, and the run is read-only. */
#include "store/remove.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal/fault.h"
#include "store/held.h"
#include "store/walk.h"

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Does a row of chunk or ref begin with this segment (and this index, unless `any`)? */
static int remove_names(struct txn *t,
                        enum st_db db,
                        const struct key_parts *chunk,
                        bool any,
                        bool *ret,
                        struct err *err)
{
    struct row_cursor c;
    struct key_parts at;
    struct key from = db == DB_REF ? key_ref(chunk->segment, chunk->index, 0)
                                   : key_chunk(chunk->segment, chunk->index);
    int rc = row_cursor_open(&c, t, db, err);
    if (rc < 0) {
        return rc;
    }
    rc = row_seek(&c, &from, err);
    bool stands = row_stands(&c, rc);
    *ret = stands && key_parse(db, c.key, &at) && at.segment == chunk->segment &&
           (any || at.index == chunk->index);
    row_cursor_close(&c);
    return stands || rc == -CAIRN_ENOENT ? 0 : rc;
}

/* The row of digest names one chunk of those that have it. Is it this one? */
static int
remove_digest(struct txn *t, struct remove *r, const struct chunk_ref *ref, struct err *err)
{
    struct slice value;
    struct key chunk = key_chunk(ref->segment, ref->segment_index);
    struct key digest = key_digest(ref->chunk.digest.byte, ref->chunk.bytes);
    int rc = row_get(t, DB_DIGEST, &digest, &value, NULL);
    if (rc == 0 && slice_cmp(value, key_slice(&chunk)) != 0) {
        return 0;
    }
    if (rc < 0 && rc != -CAIRN_ENOENT && rc != -CAIRN_ECORRUPT) {
        return row_get(t, DB_DIGEST, &digest, &value, err);
    }
    r->orphans[r->orphan_count++] = digest;
    return row_del(t, DB_DIGEST, &digest, err);
}

static int
remove_chunk(struct txn *t, struct remove *r, const struct chunk_ref *ref, struct err *err)
{
    bool used = false;
    const struct key_parts at = { .segment = ref->segment, .index = ref->segment_index };
    struct key chunk = key_chunk(ref->segment, ref->segment_index);
    struct key own = key_ref(ref->segment, ref->segment_index, r->seq);
    int rc = row_del(t, DB_REF, &own, err);
    rc = rc < 0 ? rc : remove_names(t, DB_REF, &at, false, &used, err);
    if (rc < 0 || used) {
        return rc;
    }
    rc = row_del(t, DB_CHUNK, &chunk, err);
    return rc < 0 ? rc : remove_digest(t, r, ref, err);
}

static int
remove_chunks(struct txn *t, struct remove *r, const struct component_info *info, struct err *err)
{
    struct bump b;
    struct row_component row;
    int rc = row_get_component(t, &r->row.boundary, info->component, &b, &row, err);
    rc = row_damage(rc, component_name(info->component), err);
    for (uint32_t i = 0; rc == 0 && i < row.chunk_count; i++) {
        rc = r->orphan_count < r->row.boundary.chunk_count
                 ? remove_chunk(t, r, &row.chunks[i], err)
                 : err_set(err, -CAIRN_ECORRUPT, "its components have more chunks than it has");
    }
    bump_fini(&b);
    return rc;
}

/* ---- digests that another chunk has too ------------------------------------------------------ */

static int remove_order(const void *a, const void *b)
{
    const struct key *x = a;
    const struct key *y = b;
    return slice_cmp(key_slice(x), key_slice(y));
}

static int
remove_adopt(struct txn *t, const struct remove *r, const struct row_cursor *c, struct err *err)
{
    struct bump b;
    struct row_chunk row;
    row_bump_init(&b, c->value.bytes);
    int rc = row_chunk_decode(c->value, &b, &row, NULL);
    bump_fini(&b);
    if (rc < 0) {
        return 0; /* damage of another boundary, which whoever reads that is told */
    }
    struct key digest = key_digest(row.digest.byte, row.bytes);
    const struct key *found =
        bsearch(&digest, r->orphans, r->orphan_count, sizeof *r->orphans, remove_order);
    return found == NULL ? 0 : row_put_new(t, DB_DIGEST, &digest, c->key, err);
}

/* Each chunk's digest has a row, so one that named a chunk now gone names another that has it. No
 * index leads there: all chunks of the run are looked through, once per removal. */
static int remove_digests(struct txn *t, struct remove *r, struct err *err)
{
    struct row_cursor c;
    if (r->orphan_count == 0) {
        return 0;
    }
    qsort(r->orphans, r->orphan_count, sizeof *r->orphans, remove_order);
    int rc = row_cursor_open(&c, t, DB_CHUNK, err);
    if (rc < 0) {
        return rc;
    }
    rc = row_seek(&c, NULL, err);
    while (row_stands(&c, rc)) {
        rc = rc < 0 ? 0 : remove_adopt(t, r, &c, err);
        if (rc < 0) {
            break;
        }
        rc = row_next(&c, err);
    }
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

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

static int remove_rows(struct txn *t, const struct remove *r, struct err *err)
{
    static const enum st_db with_seq[] = { DB_COMPONENT, DB_LABEL, DB_MARK };
    struct key boundary = key_boundary(r->seq);
    struct key step = key_step(r->row.boundary.step, r->seq);
    int rc = row_del(t, DB_BOUNDARY, &boundary, err);
    rc = rc < 0 ? rc : row_del(t, DB_STEP, &step, err);
    for (size_t i = 0; rc == 0 && i < sizeof with_seq / sizeof with_seq[0]; i++) {
        rc = remove_all(t, with_seq[i], r->seq, err);
    }
    return rc;
}

/* ---- what goes with it ----------------------------------------------------------------------- */

static int remove_check(struct txn *t, const struct remove *r, struct err *err)
{
    struct row_cursor c;
    struct key_parts at;
    struct key from = key_boundary(r->seq);
    if (r->seq == r->summary.latest_seq) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "seq %" PRIu64 " is the newest boundary of the run, which always stays",
                       r->seq);
    }
    int rc = row_cursor_open(&c, t, DB_PIN, err);
    if (rc < 0) {
        return rc;
    }
    rc = row_seek(&c, &from, err);
    bool stands = row_stands(&c, rc);
    bool pinned = stands && key_parse(DB_PIN, c.key, &at) && at.seq == r->seq;
    row_cursor_close(&c);
    if (pinned) {
        return err_set(err, -CAIRN_EBUSY, "seq %" PRIu64 " is pinned: unpin it first", r->seq);
    }
    return stands || rc == -CAIRN_ENOENT ? 0 : rc;
}

/* Which segments nothing names any more. A ref counts as well: the row of its chunk may be lost. */
static int remove_segments(struct txn *t, struct remove *r, struct err *err)
{
    int rc = 0;
    r->gone_count = 0;
    for (uint32_t i = 0; rc == 0 && i < r->row.segment_count; i++) {
        const struct key_parts first = { .segment = r->row.segments[i] };
        bool chunk = false;
        bool ref = false;
        rc = remove_names(t, DB_CHUNK, &first, true, &chunk, err);
        rc = rc < 0 ? rc : remove_names(t, DB_REF, &first, true, &ref, err);
        if (rc == 0 && !chunk && !ref) {
            r->gone[r->gone_count++] = first.segment;
        }
    }
    return rc;
}

static void remove_summary(struct remove *r)
{
    struct st_run *run = r->run;
    uint64_t bytes = r->row.boundary.bytes_new;
    (void)pthread_mutex_lock(&run->lock);
    r->summary = run->summary;
    r->next_seq = run->next_seq;
    r->next_segment = run->next_segment;
    (void)pthread_mutex_unlock(&run->lock);
    r->summary.boundary_count -= r->summary.boundary_count > 0 ? 1 : 0;
    r->summary.bytes -= bytes < r->summary.bytes ? bytes : r->summary.bytes;
}

static int remove_alloc(struct remove *r, struct err *err)
{
    free(r->orphans);
    free(r->gone);
    r->orphans = calloc(r->row.boundary.chunk_count + (size_t)1, sizeof *r->orphans);
    r->gone = calloc(r->row.segment_count + (size_t)1, sizeof *r->gone);
    r->orphan_count = 0;
    return r->orphans != NULL && r->gone != NULL ? 0
                                                 : err_set(err, -CAIRN_ENOMEM, "remove a boundary");
}

/* May run again, after the map grew. */
static int remove_txn(struct txn *t, void *arg, struct err *err)
{
    struct remove *r = arg;
    bump_fini(&r->bump);
    int rc = row_get_boundary(t, r->seq, &r->bump, &r->row, err);
    rc = rc == -CAIRN_ENOENT ? walk_missing(t, r->seq, err) : rc;
    if (rc < 0) {
        return rc;
    }
    remove_summary(r);
    const struct boundary *b = &r->row.boundary;
    rc = remove_check(t, r, err);
    rc = rc < 0 ? rc : remove_alloc(r, err);
    for (uint32_t i = 0; rc == 0 && i < b->component_count; i++) {
        rc = remove_chunks(t, r, &b->components[i], err);
    }
    rc = rc < 0 ? rc : remove_digests(t, r, err);
    rc = rc < 0 ? rc : remove_rows(t, r, err);
    rc = rc < 0 ? rc : remove_segments(t, r, err);
    rc = rc < 0 ? rc : remove_save_id(t, b, err);
    return rc < 0 ? rc : meta_put_progress(t, r->next_seq, r->next_segment, &r->summary, err);
}

static void remove_done(const struct remove *r)
{
    struct st_run *run = r->run;
    (void)pthread_mutex_lock(&run->lock);
    run->summary = r->summary;
    (void)pthread_mutex_unlock(&run->lock);
    fault_point("removed");
    for (uint32_t i = 0; i < r->gone_count; i++) {
        char name[SEGMENT_NAME_BYTES];
        segment_name(r->gone[i], false, name);
        (void)unlinkat(run->segments_fd, name, 0); /* if it stays, the next opening sweeps it */
    }
    fault_point("swept");
    catalogue_put(run->st, &run->claim, &r->summary);
}

int st_remove(struct st_run *run, uint64_t seq, struct err *err)
{
    struct remove r = { .run = run, .seq = seq };
    const struct txn_job job = { .fn = remove_txn, .arg = &r, .failpoint = "remove" };
    int rc = run_check_writable(run, err);
    rc = rc < 0 ? rc : held_remove_begin(run, seq, err);
    if (rc < 0) {
        return run_wrap(run, rc, err);
    }
    rc = env_write(&run->index, &job, err);
    if (rc == 0) {
        remove_done(&r);
    } else if (rc == -CAIRN_EUNKNOWN || rc == -CAIRN_EIO) {
        run_poison(run);
    }
    held_remove_end(run);
    bump_fini(&r.bump);
    free(r.orphans);
    free(r.gone);
    return rc < 0 ? run_wrap(run, rc, err) : 0;
}
