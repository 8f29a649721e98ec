/* row.h: the values of the databases. Every value ends in the XXH3-64 of key and value; whoever
 * reads a row here has had it checked (ECORRUPT names database and key). */
#ifndef STORE_ROW_H
#define STORE_ROW_H

#include "store/env.h"
#include "wire/rows.h"

#define ROW_TRAILER_BYTES 8u
#define ROW_SAVE_ID_BYTES 16u /* the value of `pruned` */

/* The trailer of a row, as it is stored. */
void row_trailer(const struct key *key, struct slice value, uint8_t ret_trailer[ROW_TRAILER_BYTES]);
/* Check and cut off the trailer of a stored value. */
int row_check(
    enum st_db db, struct slice key, struct slice stored, struct slice *ret_value, struct err *err);

/* Values are LMDB's memory: valid until the transaction ends or writes. ENOENT names the row. */
int row_get(
    struct txn *t, enum st_db db, const struct key *key, struct slice *ret_value, struct err *err);
/* A value is not needed any more: the daemon no longer counts as using the pages of the index that
 * hold it. They stay in the page cache, for whoever reads them next. */
void row_forget(struct slice value);
/* What lies there of a row that is damaged, to say more about it; nothing of it may be believed.
 * False: nothing does. */
bool row_peek(struct txn *t, enum st_db db, const struct key *key, struct slice *ret_value);
int row_put(
    struct txn *t, enum st_db db, const struct key *key, struct slice value, struct err *err);
int row_del(struct txn *t, enum st_db db, const struct key *key, struct err *err);
/* Rows of a database. */
int row_count(struct txn *t, enum st_db db, uint64_t *ret_count, struct err *err);

/* Walk a database in key order. ENOENT is the end (err untouched). A row that fails its check is
 * ECORRUPT with `key` set, and the walk can go on behind it. When the tree itself is damaged (LMDB
 * cannot step, or steps to where the walk has been) it is ECORRUPT with an empty `key`, and the
 * walk is over: LMDB would fail again for ever, or start anew. */
struct row_cursor {
    struct txn *txn;
    enum st_db db;
    MDB_cursor *mdb;
    struct slice key, value; /* of the row it stands on */
};
int row_cursor_open(struct row_cursor *c, struct txn *t, enum st_db db, struct err *err);
void row_cursor_close(struct row_cursor *c); /* idempotent */
int row_seek(struct row_cursor *c,
             const struct key *at,
             struct err *err); /* first >= at; NULL: first */
int row_last(struct row_cursor *c, struct err *err);
int row_next(struct row_cursor *c, struct err *err);
int row_prev(struct row_cursor *c, struct err *err);
/* After a move that returned `moved`: does it stand on a row, sound or damaged? */
bool row_stands(const struct row_cursor *c, int moved);

/* A bump that one row of `bytes` decodes into; the caller ends it. */
void row_bump_init(struct bump *b, size_t bytes);

/* Get and decode. `b` is initialised here, ended by the caller in every case. */
int row_get_boundary(
    struct txn *t, uint64_t seq, struct bump *b, struct row_boundary *ret, struct err *err);
int row_get_component(struct txn *t,
                      const struct boundary *boundary,
                      uint32_t component,
                      struct bump *b,
                      struct row_component *ret,
                      struct err *err);
int row_get_chunk(
    struct txn *t, uint64_t segment, uint32_t index, struct row_chunk *ret, struct err *err);
int row_get_save(
    struct txn *t, const uint8_t save_id[16], uint32_t rank, struct row_save *ret, struct err *err);

/* A value that does not decode is damage: names the row. */
int row_undecodable(enum st_db db, struct slice key, struct err *err);
/* ENOENT of something that must be there is damage, not absence. Other codes pass. */
int row_damage(int rc, const char *what, struct err *err);

#endif
