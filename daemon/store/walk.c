#include "store/walk.h"

#include <inttypes.h>

#include "store/store_int.h"

static int walk_why(const struct walk *w, int rc, struct err *err)
{
    if (err != NULL) {
        *err = w->why;
    }
    return rc;
}

/* Where did a move lead? A damaged row is stood upon, anything else that failed is not. */
static int walk_stand(struct walk *w, int moved, uint64_t most, struct err *err)
{
    struct key_parts parts;
    if (moved == -CAIRN_ENOENT) {
        return moved;
    }
    if (!row_stands(&w->c, moved)) {
        return walk_why(w, moved, err);
    }
    if (!key_parse(DB_BOUNDARY, w->c.key, &parts)) {
        return row_undecodable(DB_BOUNDARY, w->c.key, err);
    }
    if (parts.seq > most) { /* a search led past it */
        return err_set(err, -CAIRN_ECORRUPT, "the rows of boundary are not in order");
    }
    w->seq = parts.seq;
    w->damaged = moved < 0;
    return 0;
}

/* Onto the newest row that is not newer than `from`. */
static int walk_seek(struct walk *w, uint64_t from, struct err *err)
{
    struct key key = key_boundary(from);
    struct key_parts parts;
    int rc = row_seek(&w->c, &key, &w->why);
    if (rc == -CAIRN_ENOENT) {
        rc = row_last(&w->c, &w->why);
    } else if (row_stands(&w->c, rc) &&
               (!key_parse(DB_BOUNDARY, w->c.key, &parts) || parts.seq != from)) {
        rc = row_prev(&w->c, &w->why);
    }
    return walk_stand(w, rc, from, err);
}

/* A component of this boundary is there: what names its seq is a sound row. */
static bool walk_has_component(struct txn *t, uint64_t seq)
{
    struct row_cursor c;
    struct key_parts parts;
    struct key from = key_component(seq, 0, 0, 0);
    if (row_cursor_open(&c, t, DB_COMPONENT, NULL) < 0) {
        return false;
    }
    int at = row_seek(&c, &from, NULL);
    while (at < 0 && row_stands(&c, at)) {
        at = row_next(&c, NULL);
    }
    bool has = at == 0 && key_parse(DB_COMPONENT, c.key, &parts) && parts.seq == seq;
    row_cursor_close(&c);
    return has;
}

int walk_missing(struct txn *t, uint64_t seq, struct err *err)
{
    uint64_t latest = 0;
    int rc = meta_get_latest(t, &latest, err);
    if (rc < 0) {
        return rc;
    }
    if (seq == latest && seq != 0) {
        return err_set(err,
                       -CAIRN_ECORRUPT,
                       "row boundary seq %" PRIu64 " is lost: by meta it is the newest",
                       seq);
    }
    return walk_has_component(t, seq)
               ? err_set(err,
                         -CAIRN_ECORRUPT,
                         "row boundary seq %" PRIu64 " is lost: components of it are there",
                         seq)
               : err_set(err, -CAIRN_ENOENT, "there is no boundary with seq %" PRIu64, seq);
}

int walk_open(struct walk *w, struct txn *t, uint64_t from, struct err *err)
{
    uint64_t latest = 0;
    *w = (struct walk){ .seq = 0 };
    int rc = row_cursor_open(&w->c, t, DB_BOUNDARY, err);
    rc = rc < 0 ? rc : meta_get_latest(t, &latest, err);
    rc = rc < 0 ? rc : walk_seek(w, from, err);
    if ((rc < 0 && rc != -CAIRN_ENOENT) || latest > from || latest <= w->seq) {
        return rc;
    }
    w->seq = latest;
    w->damaged = true;
    w->lost = true;
    (void)walk_missing(t, latest, &w->why);
    return 0;
}

int walk_older(struct walk *w, struct err *err)
{
    if (w->seq == 0) {
        return -CAIRN_ENOENT;
    }
    if (w->lost) {
        w->lost = false;
        return walk_seek(w, w->seq - 1, err);
    }
    return walk_stand(w, row_prev(&w->c, &w->why), w->seq - 1, err);
}

void walk_close(struct walk *w)
{
    row_cursor_close(&w->c);
}

int walk_row(const struct walk *w, struct bump *b, struct row_boundary *ret, struct err *err)
{
    if (w->damaged) {
        return walk_why(w, -CAIRN_ECORRUPT, err);
    }
    int rc = row_boundary_decode(w->c.value, b, ret, err);
    if (rc < 0 && b->exhausted) {
        return err_set(err, -CAIRN_ELIMIT, "a boundary does not fit the memory for it");
    }
    if (rc == -CAIRN_ENOMEM || (rc == 0 && ret->boundary.seq == w->seq)) {
        return rc;
    }
    return row_undecodable(DB_BOUNDARY, w->c.key, err);
}
