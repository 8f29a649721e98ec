/* Questions about boundaries: each is one short read transaction. */
#include "store/row.h"
#include "store/store_int.h"

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
    uint32_t max, count;
    struct bump *bump;
    struct boundary *boundaries;
};

static int query_list_row(struct query_list *q, const struct row_cursor *c, struct err *err)
{
    struct row_boundary row;
    int rc = row_boundary_decode(c->value, q->bump, &row, err);
    if (rc < 0) {
        return q->bump->exhausted
                   ? err_set(err, -CAIRN_ELIMIT, "the boundaries do not fit the answer")
                   : row_undecodable(DB_BOUNDARY, c->key, err);
    }
    q->boundaries[q->count++] = row.boundary;
    return 0;
}

/* Onto the newest boundary that is not newer than seq. */
static int query_list_seek(struct row_cursor *c, uint64_t seq, struct err *err)
{
    struct key key = key_boundary(seq);
    int rc = row_seek(c, &key, err);
    if (rc == -CAIRN_ENOENT) {
        return row_last(c, err);
    }
    return rc == 0 && get_be64(c->key.data) != seq ? row_prev(c, err) : rc;
}

static int query_list_txn(struct txn *t, void *arg, struct err *err)
{
    struct query_list *q = arg;
    struct row_cursor c;
    int rc = row_cursor_open(&c, t, DB_BOUNDARY, err);
    if (rc < 0) {
        return rc;
    }
    rc = query_list_seek(&c, q->seq, err);
    while (rc == 0 && q->count < q->max) {
        rc = query_list_row(q, &c, err);
        if (rc == 0 && q->count < q->max) {
            rc = row_prev(&c, err);
        }
    }
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

/* NOLINTNEXTLINE(readability-function-size): the list and its length are one answer */
int st_list(struct st_run *run,
            uint64_t seq,
            uint32_t max,
            struct bump *bump,
            const struct boundary **ret,
            uint32_t *ret_count,
            struct err *err)
{
    struct query_list q = { .seq = seq, .max = max, .bump = bump };
    q.boundaries = bump_alloc(bump, max * sizeof *q.boundaries);
    if (q.boundaries == NULL && max > 0) {
        return err_set(err, -CAIRN_ELIMIT, "%u boundaries do not fit the answer", max);
    }
    int rc = env_read(&run->index, query_list_txn, &q, err);
    if (rc < 0) {
        return run_wrap(run, rc, err);
    }
    *ret = q.boundaries;
    *ret_count = q.count;
    return 0;
}

/* ---- save ids -------------------------------------------------------------------------------- */

struct query_save {
    const uint8_t *save_id;
    uint32_t rank;
    struct row_save save;
};

static int query_save_txn(struct txn *t, void *arg, struct err *err)
{
    struct query_save *q = arg;
    struct selector sel = { .kind = SELECT_ID };
    struct bump b;
    struct row_boundary row;
    uint64_t seq = 0;
    int rc = row_get_save(t, q->save_id, q->rank, &q->save, err);
    if (rc != -CAIRN_ENOENT) {
        return rc;
    }
    /* The key may be lost; its boundary would not be. */
    memcpy(sel.id, q->save_id, sizeof sel.id);
    rc = select_seq(t, &sel, &seq, err);
    if (rc < 0) {
        q->save = (struct row_save){ .state = SAVE_NONE };
        return rc == -CAIRN_ENOENT ? 0 : rc;
    }
    rc = row_get_boundary(t, seq, &b, &row, err);
    if (rc == 0) {
        q->save =
            (struct row_save){ .state = SAVE_COMMITTED, .seq = seq, .root = row.boundary.root };
    }
    bump_fini(&b);
    return rc;
}

static bool query_unknown(struct st_run *run, struct query_save *q)
{
    (void)pthread_mutex_lock(&run->lock);
    bool unknown = run->unknown.set && run->unknown.rank == q->rank &&
                   memcmp(run->unknown.save_id, q->save_id, sizeof run->unknown.save_id) == 0;
    if (unknown) {
        q->save = run->unknown.save;
    }
    (void)pthread_mutex_unlock(&run->lock);
    return unknown;
}

int st_save_state(struct st_run *run,
                  const uint8_t save_id[16],
                  uint32_t rank,
                  struct row_save *ret,
                  struct err *err)
{
    struct query_save q = { .save_id = save_id, .rank = rank };
    int rc = query_unknown(run, &q) ? 0 : env_read(&run->index, query_save_txn, &q, err);
    if (rc < 0) {
        return run_wrap(run, rc, err);
    }
    *ret = q.save;
    return 0;
}
