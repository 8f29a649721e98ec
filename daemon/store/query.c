/* Questions about boundaries: each is one short read transaction. */
#include <inttypes.h>

#include "store/note.h"
#include "store/store_int.h"
#include "store/walk.h"

struct query_select {
    const struct selector *sel;
    uint64_t seq;
};

static int query_select_txn(struct txn *t, void *arg, struct err *err)
{
    struct query_select *q = arg;
    return select_seq(t, q->sel, &q->seq, err);
}

int st_select(struct st_run *run, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct query_select q = { .sel = sel };
    int rc = env_read(&run->index, query_select_txn, &q, err);
    if (rc < 0) {
        return run_wrap(run, rc, err);
    }
    *ret_seq = q.seq;
    return 0;
}

/* ---- list ------------------------------------------------------------------------------------ */

struct query_list {
    uint64_t seq;
    uint32_t max;
    struct bump *bump;
    struct boundary *boundaries;
    uint64_t *damaged;
    uint32_t count, damaged_count;
};

static int query_list_row(struct query_list *q, const struct walk *w, struct err *err)
{
    struct row_boundary row;
    int rc = walk_row(w, q->bump, &row, err);
    if (rc == -CAIRN_ECORRUPT) {
        q->damaged[q->damaged_count++] = w->seq;
        return 0;
    }
    rc = rc < 0 ? rc : note_read(w->c.txn, &row.boundary, q->bump, err);
    if (rc == 0) {
        q->boundaries[q->count++] = row.boundary;
    }
    return rc;
}

static int query_list_txn(struct txn *t, void *arg, struct err *err)
{
    struct query_list *q = arg;
    struct walk w;
    int rc = walk_open(&w, t, q->seq, err);
    while (rc == 0 && q->count + q->damaged_count < q->max) {
        rc = query_list_row(q, &w, err);
        rc = rc < 0 ? rc : walk_older(&w, err);
    }
    walk_close(&w);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

int st_list(struct st_run *run,
            uint64_t seq,
            uint32_t max,
            struct bump *bump,
            struct st_list *ret,
            struct err *err)
{
    struct query_list q = { .seq = seq, .max = max, .bump = bump };
    q.boundaries = bump_alloc(bump, max * sizeof *q.boundaries);
    q.damaged = bump_alloc(bump, max * sizeof *q.damaged);
    if ((q.boundaries == NULL || q.damaged == NULL) && max > 0) {
        return err_set(err, -CAIRN_ELIMIT, "%u boundaries do not fit the answer", max);
    }
    int rc = env_read(&run->index, query_list_txn, &q, err);
    if (rc < 0) {
        return run_wrap(run, rc, err);
    }
    *ret = (struct st_list){ q.boundaries, q.count, q.damaged, q.damaged_count };
    return 0;
}

static int query_before_txn(struct txn *t, void *arg, struct err *err)
{
    struct query_select *q = arg;
    struct walk w;
    int rc = walk_open(&w, t, q->seq - 1, err);
    q->seq = rc == 0 ? w.seq : 0;
    walk_close(&w);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

int st_before(struct st_run *run, uint64_t seq, uint64_t *ret_seq, struct err *err)
{
    struct query_select q = { .seq = seq };
    int rc = seq == 0 ? 0 : env_read(&run->index, query_before_txn, &q, err);
    if (rc < 0) {
        return run_wrap(run, rc, err);
    }
    *ret_seq = q.seq;
    return 0;
}

/* ---- save ids -------------------------------------------------------------------------------- */

struct query_save {
    const uint8_t *save_id;
    uint32_t rank;
    struct row_save save;
    bool whole; /* no save id of a boundary is missing: a miss is a miss */
};

/* What was committed and is damaged since must not be taken for saved. */
static int query_save_sound(struct txn *t, uint64_t seq, struct err *err)
{
    struct bump b;
    struct row_boundary row;
    int rc = row_get_boundary(t, seq, &b, &row, err);
    bump_fini(&b);
    rc = row_damage(rc, "lost", err);
    return rc == -CAIRN_ECORRUPT
               ? err_wrap(err,
                          rc,
                          "seq %" PRIu64 " has this save id and is damaged, save under a new one",
                          seq)
               : rc;
}

/* Has the boundary that the walk stands on this save id? And is it under its save id? */
static int
query_save_row(const struct walk *w, struct txn *t, struct query_save *q, struct err *err)
{
    struct bump b;
    struct row_boundary row;
    struct row_save save;
    row_bump_init(&b, w->c.value.bytes);
    int rc = walk_row(w, &b, &row, err);
    const struct boundary *found = &row.boundary;
    if (rc == 0 && found->rank == q->rank &&
        memcmp(found->save_id, q->save_id, sizeof found->save_id) == 0) {
        q->save =
            (struct row_save){ .state = SAVE_COMMITTED, .seq = found->seq, .root = found->root };
    }
    q->whole = q->whole && rc == 0 &&
               row_get_save(t, found->save_id, found->rank, &save, NULL) == 0 &&
               save.seq == found->seq;
    bump_fini(&b);
    return rc;
}

/* The key may be lost; its boundary would not be. One whose row is damaged too may be the one: then
 * it is saved once more, which loses nothing, where no save at all would. */
static int query_save_scan(struct txn *t, struct query_save *q, struct err *err)
{
    struct walk w;
    q->whole = true;
    int rc = walk_open(&w, t, UINT64_MAX, err);
    while (rc == 0) {
        rc = query_save_row(&w, t, q, err);
        if (q->save.state != SAVE_NONE || (rc < 0 && rc != -CAIRN_ECORRUPT)) {
            break;
        }
        rc = walk_older(&w, err);
    }
    walk_close(&w);
    q->whole = q->whole && rc == -CAIRN_ENOENT;
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

static int query_save_txn(struct txn *t, void *arg, struct err *err)
{
    struct query_save *q = arg;
    int rc = row_get_save(t, q->save_id, q->rank, &q->save, err);
    if (rc == -CAIRN_ENOENT) {
        q->save = (struct row_save){ .state = SAVE_NONE };
        return q->whole ? 0 : query_save_scan(t, q, err);
    }
    return rc == 0 && q->save.state == SAVE_COMMITTED ? query_save_sound(t, q->save.seq, err) : rc;
}

/* Every new save asks for its id and finds none, so that all boundaries are looked through only
 * once: what is committed after that has its save id in the same transaction. */
int st_save_state(struct st_run *run,
                  const uint8_t save_id[16],
                  uint32_t rank,
                  struct row_save *ret,
                  struct err *err)
{
    struct query_save q = { .save_id = save_id,
                            .rank = rank,
                            .whole = atomic_load(&run->save_ids_whole) };
    if (run_save_unknown(run, save_id, rank, ret)) {
        return 0;
    }
    int rc = env_read(&run->index, query_save_txn, &q, err);
    if (rc < 0) {
        return run_wrap(run, rc, err);
    }
    if (q.whole) {
        atomic_store(&run->save_ids_whole, true);
    }
    *ret = q.save;
    return 0;
}
