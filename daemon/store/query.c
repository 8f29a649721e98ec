/* Questions about boundaries: each is one short read transaction. */
#include <inttypes.h>

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

/* The key may be lost; its boundary would not be. One whose row is damaged too may be the one: then
 * it is saved once more, which loses nothing, where no save at all would. */
static int query_save_scan(struct txn *t, struct query_save *q, struct err *err)
{
    struct walk w;
    int rc = walk_open(&w, t, UINT64_MAX, err);
    while (rc == 0) {
        struct bump b;
        struct row_boundary row;
        row_bump_init(&b, w.c.value.bytes);
        rc = walk_row(&w, &b, &row, err);
        if (rc == 0 && row.boundary.rank == q->rank &&
            memcmp(row.boundary.save_id, q->save_id, sizeof row.boundary.save_id) == 0) {
            q->save = (struct row_save){ .state = SAVE_COMMITTED,
                                         .seq = row.boundary.seq,
                                         .root = row.boundary.root };
        }
        bump_fini(&b);
        if (q->save.state != SAVE_NONE || (rc < 0 && rc != -CAIRN_ECORRUPT)) {
            break;
        }
        rc = walk_older(&w, err);
    }
    walk_close(&w);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

static int query_save_txn(struct txn *t, void *arg, struct err *err)
{
    struct query_save *q = arg;
    int rc = row_get_save(t, q->save_id, q->rank, &q->save, err);
    if (rc == -CAIRN_ENOENT) {
        q->save = (struct row_save){ .state = SAVE_NONE };
        return query_save_scan(t, q, err);
    }
    return rc == 0 && q->save.state == SAVE_COMMITTED ? query_save_sound(t, q->save.seq, err) : rc;
}

int st_save_state(struct st_run *run,
                  const uint8_t save_id[16],
                  uint32_t rank,
                  struct row_save *ret,
                  struct err *err)
{
    struct query_save q = { .save_id = save_id, .rank = rank };
    if (run_save_unknown(run, save_id, rank, ret)) {
        return 0;
    }
    int rc = env_read(&run->index, query_save_txn, &q, err);
    if (rc < 0) {
        return run_wrap(run, rc, err);
    }
    *ret = q.save;
    return 0;
}
