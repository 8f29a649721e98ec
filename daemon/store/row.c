#include "store/row.h"

#include <sys/mman.h>

#include "internal/limits.h"
#include "record/digest.h"
#include "store/rc.h"

void row_trailer(const struct key *key, struct slice value, uint8_t ret_trailer[ROW_TRAILER_BYTES])
{
    put_be64(ret_trailer, digest_row(key_slice(key), value));
}

int row_check(
    enum st_db db, struct slice key, struct slice stored, struct slice *ret_value, struct err *err)
{
    char text[KEY_TEXT_BYTES];
    if (stored.bytes < ROW_TRAILER_BYTES) {
        key_text(db, key, text);
        return err_set(err, -CAIRN_ECORRUPT, "row %s is %zu bytes long", text, stored.bytes);
    }
    struct slice value = slice_of(stored.data, stored.bytes - ROW_TRAILER_BYTES);
    uint64_t want = get_be64((const uint8_t *)stored.data + value.bytes);
    if (digest_row(key, value) != want) {
        key_text(db, key, text);
        return err_set(err, -CAIRN_ECORRUPT, "row %s does not match its digest", text);
    }
    *ret_value = value;
    return 0;
}

static MDB_val row_val(struct slice s)
{
    /* LMDB does not write through what it is given to look up or to store. */
    union {
        const void *in;
        void *out;
    } pun = { .in = s.data };
    return (MDB_val){ .mv_size = s.bytes, .mv_data = pun.out };
}

static struct slice row_slice(const MDB_val *v)
{
    return slice_of(v->mv_data, v->mv_size);
}

int row_get(
    struct txn *t, enum st_db db, const struct key *key, struct slice *ret_value, struct err *err)
{
    char text[KEY_TEXT_BYTES];
    MDB_val k = row_val(key_slice(key));
    MDB_val v;
    int rc = mdb_get(t->mdb, t->env->dbi[db], &k, &v);
    if (rc == MDB_NOTFOUND) {
        key_text(db, key_slice(key), text);
        return err_set(err, -CAIRN_ENOENT, "there is no row %s", text);
    }
    if (rc != 0) {
        key_text(db, key_slice(key), text);
        return rc_lmdb(err, rc, "read row %s", text);
    }
    return row_check(db, key_slice(key), row_slice(&v), ret_value, err);
}

/* Pages at its ends may hold other rows, which costs who reads those a look into the page cache. */
void row_forget(struct slice value)
{
    enum { PAGE = LIMIT_PAGE_BYTES };
    union {
        const void *in;
        uint8_t *out;
    } pun = { .in = value.data };
    size_t in_page = (uintptr_t)value.data % PAGE;
    if (value.bytes > PAGE) {
        (void)madvise(pun.out - in_page, in_page + value.bytes, MADV_DONTNEED);
    }
}

bool row_peek(struct txn *t, enum st_db db, const struct key *key, struct slice *ret_value)
{
    MDB_val k = row_val(key_slice(key));
    MDB_val v;
    if (mdb_get(t->mdb, t->env->dbi[db], &k, &v) != 0 || v.mv_size < ROW_TRAILER_BYTES) {
        return false;
    }
    *ret_value = slice_of(v.mv_data, v.mv_size - ROW_TRAILER_BYTES);
    return true;
}

int row_put(
    struct txn *t, enum st_db db, const struct key *key, struct slice value, struct err *err)
{
    MDB_val k = row_val(key_slice(key));
    MDB_val v = { .mv_size = value.bytes + ROW_TRAILER_BYTES };
    int rc = mdb_put(t->mdb, t->env->dbi[db], &k, &v, MDB_RESERVE);
    if (rc != 0) {
        char text[KEY_TEXT_BYTES];
        key_text(db, key_slice(key), text);
        return txn_error(t, rc, text, err);
    }
    uint8_t *at = v.mv_data;
    if (value.bytes > 0) {
        memcpy(at, value.data, value.bytes);
    }
    row_trailer(key, value, at + value.bytes);
    return 0;
}

int row_del(struct txn *t, enum st_db db, const struct key *key, struct err *err)
{
    MDB_val k = row_val(key_slice(key));
    int rc = mdb_del(t->mdb, t->env->dbi[db], &k, NULL);
    if (rc == 0 || rc == MDB_NOTFOUND) {
        return 0;
    }
    char text[KEY_TEXT_BYTES];
    key_text(db, key_slice(key), text);
    return txn_error(t, rc, text, err);
}

int row_count(struct txn *t, enum st_db db, uint64_t *ret_count, struct err *err)
{
    MDB_stat stat;
    int rc = mdb_stat(t->mdb, t->env->dbi[db], &stat);
    if (rc != 0) {
        return rc_lmdb(err, rc, "count the rows of %s", key_db_name(db));
    }
    *ret_count = stat.ms_entries;
    return 0;
}

int row_cursor_open(struct row_cursor *c, struct txn *t, enum st_db db, struct err *err)
{
    *c = (struct row_cursor){ .txn = t, .db = db };
    int rc = mdb_cursor_open(t->mdb, t->env->dbi[db], &c->mdb);
    return rc == 0 ? 0 : rc_lmdb(err, rc, "walk the rows of %s", key_db_name(db));
}

void row_cursor_close(struct row_cursor *c)
{
    if (c->mdb != NULL) {
        mdb_cursor_close(c->mdb);
        c->mdb = NULL;
    }
}

/* A tree with a wrong page in it may lead back to where the walk has been. */
static bool row_disordered(struct slice before, struct slice after, MDB_cursor_op op)
{
    if (before.bytes == 0) {
        return false;
    }
    return (op == MDB_NEXT && slice_cmp(after, before) <= 0) ||
           (op == MDB_PREV && slice_cmp(after, before) >= 0);
}

static int row_move(struct row_cursor *c, const struct key *at, MDB_cursor_op op, struct err *err)
{
    MDB_val k = at == NULL ? (MDB_val){ .mv_size = 0 } : row_val(key_slice(at));
    MDB_val v;
    int rc = mdb_cursor_get(c->mdb, &k, &v, op);
    if (rc == MDB_NOTFOUND) {
        return -CAIRN_ENOENT;
    }
    struct slice before = c->key;
    c->key = slice_of(NULL, 0);
    if (rc != 0) {
        return rc_lmdb(err, rc, "walk the rows of %s", key_db_name(c->db));
    }
    if (row_disordered(before, row_slice(&k), op)) {
        return err_set(err, -CAIRN_ECORRUPT, "the rows of %s are not in order", key_db_name(c->db));
    }
    c->key = row_slice(&k);
    return row_check(c->db, c->key, row_slice(&v), &c->value, err);
}

bool row_stands(const struct row_cursor *c, int moved)
{
    return moved == 0 || (moved == -CAIRN_ECORRUPT && c->key.bytes > 0);
}

int row_seek(struct row_cursor *c, const struct key *at, struct err *err)
{
    return row_move(c, at, at == NULL ? MDB_FIRST : MDB_SET_RANGE, err);
}

int row_last(struct row_cursor *c, struct err *err)
{
    return row_move(c, NULL, MDB_LAST, err);
}

int row_next(struct row_cursor *c, struct err *err)
{
    return row_move(c, NULL, MDB_NEXT, err);
}

int row_prev(struct row_cursor *c, struct err *err)
{
    return row_move(c, NULL, MDB_PREV, err);
}
