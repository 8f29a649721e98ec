/* The run goes on from an older boundary: what came after that is abandoned. Nothing is removed,
 * and one that was abandoned may be chosen again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/mark.h"
#include "store/row.h"
#include "store/store_int.h"
#include "store/walk.h"

struct rollback {
    struct st_run *run;
    uint64_t seq;
    struct row_run summary;
    uint64_t next_seq, next_segment;
    uint64_t *line; /* what was abandoned and is no more, newest first */
    size_t line_count, line_cap;
    uint64_t fork; /* the newest boundary that stays as it is; 0 or the oldest of the line: none */
};

static void rollback_summary(struct rollback *r)
{
    struct st_run *run = r->run;
    (void)pthread_mutex_lock(&run->lock);
    r->summary = run->summary;
    r->next_seq = run->next_seq;
    r->next_segment = run->next_segment;
    (void)pthread_mutex_unlock(&run->lock);
}

/* The boundary to go on from must be one that can be read. */
static int rollback_target(struct txn *t, struct rollback *r, struct err *err)
{
    struct bump b;
    struct row_boundary row;
    unsigned marks = 0;
    int rc = row_get_boundary(t, r->seq, &b, &row, err);
    rc = rc == -CAIRN_ENOENT ? walk_missing(t, r->seq, err) : rc;
    rc = rc < 0 ? rc : mark_get(t, r->seq, &marks, err);
    if (rc == 0 && (marks & MARK_DAMAGED) != 0) {
        rc = err_set(err,
                     -CAIRN_ECORRUPT,
                     "seq %" PRIu64 " is damaged: roll back to another boundary",
                     r->seq);
    }
    if (rc == 0) {
        r->summary.latest_seq = row.boundary.seq;
        r->summary.latest_step = row.boundary.step;
        r->summary.latest_ns = row.boundary.created_ns;
    }
    bump_fini(&b);
    return rc;
}

static int rollback_add(struct rollback *r, uint64_t seq, struct err *err)
{
    if (r->line_count == r->line_cap) {
        size_t cap = r->line_cap == 0 ? 64 : 2 * r->line_cap;
        uint64_t *line = reallocarray(r->line, cap, sizeof *line);
        if (line == NULL) {
            return err_set(err, -CAIRN_ENOMEM, "roll back over %zu boundaries", r->line_count);
        }
        r->line = line;
        r->line_cap = cap;
    }
    r->line[r->line_count++] = seq;
    return 0;
}

/* Where it came from; 0: nobody can tell any more. */
static uint64_t rollback_parent(struct txn *t, uint64_t seq)
{
    struct bump b;
    struct row_boundary row = { .segment_count = 0 };
    int rc = row_get_boundary(t, seq, &b, &row, NULL);
    uint64_t parent = rc == 0 && row.boundary.parent_seq < seq ? row.boundary.parent_seq : 0;
    bump_fini(&b);
    return parent;
}

/* Where it was abandoned, its line is taken up again: itself and what it came from, back to where
 * that leaves the line that was not. */
static int rollback_line(struct txn *t, struct rollback *r, struct err *err)
{
    unsigned marks = 0;
    int rc = mark_get(t, r->seq, &marks, err);
    uint64_t seq = r->seq;
    r->line_count = 0;
    while (rc == 0 && seq != 0 && (marks & MARK_ABANDONED) != 0) {
        rc = rollback_add(r, seq, err);
        seq = rollback_parent(t, seq);
        marks = 0;
        rc = rc < 0 || seq == 0 ? rc : mark_get(t, seq, &marks, err);
    }
    r->fork = seq;
    if (seq == 0 && r->line_count > 0) {
        r->fork = r->line[r->line_count - 1];
    }
    return rc;
}

/* All that is newer than the fork is on the line, or abandoned. */
static int rollback_marks(struct txn *t, struct rollback *r, struct err *err)
{
    char why[96];
    struct walk w;
    size_t next = 0;
    (void)snprintf(why, sizeof why, "the run was rolled back to seq %" PRIu64, r->seq);
    int rc = walk_open(&w, t, UINT64_MAX, err);
    while (rc == 0 && w.seq >= r->fork) {
        bool on_line = next < r->line_count && r->line[next] == w.seq;
        if (on_line) {
            next++;
            rc = mark_del(t, w.seq, MARK_ABANDONED, err);
        } else if (w.seq > r->fork) {
            rc = mark_put(t, w.seq, MARK_ABANDONED, slice_str(why), err);
        }
        rc = rc < 0 ? rc : walk_older(&w, err);
    }
    walk_close(&w);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

/* May run again, after the map grew. */
static int rollback_txn(struct txn *t, void *arg, struct err *err)
{
    struct rollback *r = arg;
    rollback_summary(r);
    int rc = rollback_target(t, r, err);
    rc = rc < 0 ? rc : rollback_line(t, r, err);
    rc = rc < 0 ? rc : rollback_marks(t, r, err);
    return rc < 0 ? rc : meta_put_progress(t, r->next_seq, r->next_segment, &r->summary, err);
}

int st_rollback(struct st_run *run, uint64_t seq, struct err *err)
{
    struct rollback r = { .run = run, .seq = seq };
    const struct txn_job job = { .fn = rollback_txn, .arg = &r, .failpoint = "rollback" };
    int rc = run_change(run, &job, err);
    if (rc == 0) {
        (void)pthread_mutex_lock(&run->lock);
        run->summary = r.summary;
        (void)pthread_mutex_unlock(&run->lock);
        catalogue_put(run->st, &run->claim, &r.summary);
    }
    free(r.line);
    return rc;
}

/* ---- damage ---------------------------------------------------------------------------------- */

struct damage {
    uint64_t seq;
    struct slice why;
};

static int damage_txn(struct txn *t, void *arg, struct err *err)
{
    const struct damage *d = arg;
    return d->why.data == NULL ? mark_del(t, d->seq, MARK_DAMAGED, err)
                               : mark_put(t, d->seq, MARK_DAMAGED, d->why, err);
}

int st_mark_damaged(struct st_run *run, uint64_t seq, struct slice why, struct err *err)
{
    struct damage d = { .seq = seq, .why = why };
    const struct txn_job job = { .fn = damage_txn, .arg = &d, .failpoint = "mark" };
    return run_change(run, &job, err);
}
