#include "flip.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <lmdb.h>

#include "store/row.h"

/* ---- LMDB ------------------------------------------------------------------------------------ */

/* Not synced: nobody pulls a plug here, and whoever has it open sees the pages of the same file. */
static MDB_env *flip_open(const char *dir)
{
    MDB_env *env = NULL;
    cr_assert_eq(mdb_env_create(&env), 0);
    cr_assert_eq(mdb_env_set_maxdbs(env, 16), 0);
    cr_assert_eq(mdb_env_open(env, dir, MDB_NOSYNC, 0600), 0, "%s", dir);
    return env;
}

static MDB_val flip_val(const uint8_t *data, size_t bytes)
{
    union {
        const uint8_t *in;
        void *out;
    } pun = { .in = data };
    return (MDB_val){ .mv_size = bytes, .mv_data = pun.out };
}

static uint8_t *flip_copy(const void *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes + 1);
    cr_assert_not_null(copy);
    if (bytes > 0) {
        memcpy(copy, data, bytes);
    }
    return copy;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void flip_add(
    struct flip_rows *r, enum st_db db, const char *db_name, const MDB_val *k, const MDB_val *v)
{
    if ((r->count & (r->count - 1)) == 0) { /* 0, 1, 2, 4, ...: double the room */
        r->rows = realloc(r->rows, (r->count * 2 + 1) * sizeof *r->rows);
        cr_assert_not_null(r->rows);
    }
    struct flip_row *row = &r->rows[r->count++];
    *row = (struct flip_row){ .db = db,
                              .db_name = db_name,
                              .key = flip_copy(k->mv_data, k->mv_size),
                              .key_bytes = k->mv_size,
                              .value = flip_copy(v->mv_data, v->mv_size),
                              .value_bytes = v->mv_size };
}

static void flip_read_db(struct flip_rows *r, MDB_txn *txn, enum st_db db, const char *db_name)
{
    MDB_dbi dbi = 0;
    MDB_cursor *c = NULL;
    MDB_val k;
    MDB_val v;
    cr_assert_eq(mdb_dbi_open(txn, db_name, 0, &dbi), 0, "%s", db_name);
    cr_assert_eq(mdb_cursor_open(txn, dbi, &c), 0);
    while (mdb_cursor_get(c, &k, &v, MDB_NEXT) == 0) {
        flip_add(r, db, db_name, &k, &v);
    }
    mdb_cursor_close(c);
}

void flip_rows_read(struct flip_rows *r, const char *dir, bool catalogue)
{
    MDB_txn *txn = NULL;
    *r = (struct flip_rows){ .rows = NULL };
    (void)snprintf(r->dir, sizeof r->dir, "%s", dir);
    MDB_env *env = flip_open(dir);
    cr_assert_eq(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
    for (enum st_db db = DB_META; !catalogue && db < DB_INDEX_NR; db++) {
        flip_read_db(r, txn, db, key_db_name(db));
    }
    if (catalogue) {
        flip_read_db(r, txn, DB_CATALOGUE, key_db_name(DB_CATALOGUE));
    }
    mdb_txn_abort(txn);
    mdb_env_close(env);
    for (size_t i = 0; i < r->count; i++) {
        struct flip_row *row = &r->rows[i];
        cr_assert(key_parse(row->db, slice_of(row->key, row->key_bytes), &row->key_parts));
    }
}

void flip_rows_free(struct flip_rows *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->rows[i].key);
        free(r->rows[i].value);
    }
    free(r->rows);
    *r = (struct flip_rows){ .rows = NULL };
}

/* ---- changing -------------------------------------------------------------------------------- */

struct flip_change {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
};

static struct flip_change flip_begin(const struct flip_rows *r, const struct flip_row *row)
{
    struct flip_change c = { .env = flip_open(r->dir) };
    cr_assert_eq(mdb_txn_begin(c.env, NULL, 0, &c.txn), 0);
    cr_assert_eq(mdb_dbi_open(c.txn, row->db_name, 0, &c.dbi), 0);
    return c;
}

static void flip_commit(struct flip_change *c)
{
    cr_assert_eq(mdb_txn_commit(c->txn), 0);
    mdb_env_close(c->env);
}

static void flip_put_value(struct flip_change *c, const struct flip_row *row, const uint8_t *value)
{
    MDB_cursor *cursor = NULL;
    MDB_val k = flip_val(row->key, row->key_bytes);
    MDB_val v;
    cr_assert_eq(mdb_cursor_open(c->txn, c->dbi, &cursor), 0);
    cr_assert_eq(mdb_cursor_get(cursor, &k, &v, MDB_SET_KEY), 0);
    cr_assert_eq(v.mv_size, row->value_bytes);
    v = flip_val(value, row->value_bytes);
    cr_assert_eq(mdb_cursor_put(cursor, &k, &v, MDB_CURRENT), 0);
    mdb_cursor_close(cursor);
}

static void
flip_put(struct flip_change *c, const uint8_t *key, size_t key_bytes, const struct flip_row *row)
{
    MDB_val k = flip_val(key, key_bytes);
    MDB_val v = flip_val(row->value, row->value_bytes);
    cr_assert_eq(mdb_put(c->txn, c->dbi, &k, &v, 0), 0);
}

static void flip_delete(struct flip_change *c, const uint8_t *key, size_t key_bytes)
{
    MDB_val k = flip_val(key, key_bytes);
    cr_assert_eq(mdb_del(c->txn, c->dbi, &k, NULL), 0);
}

static void flip_key(const struct flip *f, uint8_t ret_key[FLIP_KEY_BYTES])
{
    cr_assert_leq(f->row->key_bytes, FLIP_KEY_BYTES);
    memcpy(ret_key, f->row->key, f->row->key_bytes);
    ret_key[f->at] ^= f->mask;
}

void flip_apply(const struct flip_rows *r, const struct flip *f)
{
    const struct flip_row *row = f->row;
    uint8_t key[FLIP_KEY_BYTES];
    struct flip_change c = flip_begin(r, row);
    if (f->in_key) {
        flip_key(f, key);
        flip_delete(&c, row->key, row->key_bytes);
        flip_put(&c, key, row->key_bytes, row);
    } else {
        uint8_t *value = flip_copy(row->value, row->value_bytes);
        value[f->at] ^= f->mask;
        flip_put_value(&c, row, value);
        free(value);
    }
    flip_commit(&c);
}

void flip_undo(const struct flip_rows *r, const struct flip *f)
{
    const struct flip_row *row = f->row;
    uint8_t key[FLIP_KEY_BYTES];
    struct flip_change c = flip_begin(r, row);
    if (f->in_key) {
        flip_key(f, key);
        flip_delete(&c, key, row->key_bytes);
        flip_put(&c, row->key, row->key_bytes, row);
    } else {
        flip_put_value(&c, row, row->value);
    }
    for (size_t i = 0; f->in_key && i < r->count; i++) { /* what it had displaced */
        const struct flip_row *other = &r->rows[i];
        if (other->db == row->db && other->key_bytes == row->key_bytes &&
            memcmp(other->key, key, row->key_bytes) == 0) {
            flip_put(&c, other->key, other->key_bytes, other);
        }
    }
    flip_commit(&c);
}
