#include "raw.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lmdb.h>

#include "store/row.h"

struct raw {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
};

static struct raw raw_begin(const char *dir, const char *db)
{
    struct raw r;
    cr_assert_eq(mdb_env_create(&r.env), 0);
    cr_assert_eq(mdb_env_set_maxdbs(r.env, 16), 0);
    cr_assert_eq(mdb_env_open(r.env, dir, 0, 0600), 0, "%s", dir);
    cr_assert_eq(mdb_txn_begin(r.env, NULL, 0, &r.txn), 0);
    cr_assert_eq(mdb_dbi_open(r.txn, db, 0, &r.dbi), 0, "%s", db);
    return r;
}

static struct raw raw_index(const struct fix *f, enum st_db db)
{
    char dir[1024];
    cr_assert_null(f->st, "close the store before");
    fix_path(f, "index", dir);
    return raw_begin(dir, key_db_name(db));
}

static void raw_end(struct raw *r)
{
    cr_assert_eq(mdb_txn_commit(r->txn), 0);
    mdb_env_close(r->env);
}

/* The nth row, copied. */
static void raw_nth(struct raw *r, unsigned nth, MDB_val *key, MDB_val *value)
{
    MDB_cursor *c = NULL;
    cr_assert_eq(mdb_cursor_open(r->txn, r->dbi, &c), 0);
    for (unsigned i = 0; i <= nth; i++) {
        cr_assert_eq(mdb_cursor_get(c, key, value, i == 0 ? MDB_FIRST : MDB_NEXT), 0, "row %u", i);
    }
    mdb_cursor_close(c);
    MDB_val *both[] = { key, value };
    for (size_t i = 0; i < 2; i++) {
        void *copy = malloc(both[i]->mv_size + 1);
        cr_assert_not_null(copy);
        memcpy(copy, both[i]->mv_data, both[i]->mv_size);
        both[i]->mv_data = copy;
    }
}

void raw_flip(const struct fix *f, enum st_db db, unsigned nth, size_t byte)
{
    struct raw r = raw_index(f, db);
    MDB_val key;
    MDB_val value;
    raw_nth(&r, nth, &key, &value);
    cr_assert_lt(byte, value.mv_size);
    ((uint8_t *)value.mv_data)[byte] ^= 0x10;
    cr_assert_eq(mdb_put(r.txn, r.dbi, &key, &value, 0), 0);
    raw_end(&r);
    free(key.mv_data);
    free(value.mv_data);
}

struct raw_row raw_take(const struct fix *f, enum st_db db, unsigned nth)
{
    struct raw r = raw_index(f, db);
    struct raw_row row = { .db = db };
    MDB_val key;
    MDB_val value;
    raw_nth(&r, nth, &key, &value);
    cr_assert_eq(mdb_del(r.txn, r.dbi, &key, NULL), 0);
    raw_end(&r);
    cr_assert_leq(key.mv_size, sizeof row.key);
    memcpy(row.key, key.mv_data, key.mv_size);
    row.key_bytes = key.mv_size;
    row.value = value.mv_data;
    row.value_bytes = value.mv_size;
    free(key.mv_data);
    return row;
}

void raw_give(const struct fix *f, struct raw_row *row)
{
    struct raw r = raw_index(f, row->db);
    MDB_val key = { .mv_size = row->key_bytes, .mv_data = row->key };
    MDB_val value = { .mv_size = row->value_bytes, .mv_data = row->value };
    cr_assert_eq(mdb_put(r.txn, r.dbi, &key, &value, 0), 0);
    raw_end(&r);
    free(row->value);
    row->value = NULL;
}

void raw_delete(const struct fix *f, enum st_db db, unsigned nth)
{
    struct raw_row row = raw_take(f, db, nth);
    free(row.value);
}

static void raw_put_in(struct raw *r, const struct key *key, struct slice value, bool sound)
{
    union {
        const uint8_t *in;
        void *out;
    } pun = { .in = key->data };
    uint8_t stored[4096];
    cr_assert_leq(value.bytes, sizeof stored - ROW_TRAILER_BYTES);
    if (value.bytes > 0) {
        memcpy(stored, value.data, value.bytes);
    }
    row_trailer(key, value, stored + value.bytes);
    stored[value.bytes] ^= sound ? 0 : 1;
    MDB_val k = { .mv_size = key->bytes, .mv_data = pun.out };
    MDB_val v = { .mv_size = value.bytes + ROW_TRAILER_BYTES, .mv_data = stored };
    cr_assert_eq(mdb_put(r->txn, r->dbi, &k, &v, 0), 0);
}

void raw_put(const struct fix *f, enum st_db db, const struct key *key, struct slice value)
{
    struct raw r = raw_index(f, db);
    raw_put_in(&r, key, value, true);
    raw_end(&r);
}

void raw_put_steps(const struct fix *f, unsigned count)
{
    struct raw r = raw_index(f, DB_STEP);
    for (unsigned i = 0; i < count; i++) {
        struct key key = key_step(1000 + i, 77);
        raw_put_in(&r, &key, slice_of(NULL, 0), true);
    }
    raw_end(&r);
}

void raw_drop(const struct fix *f, enum st_db db)
{
    struct raw r = raw_index(f, db);
    cr_assert_eq(mdb_drop(r.txn, r.dbi, 1), 0);
    raw_end(&r);
}

unsigned raw_count(const struct fix *f, enum st_db db)
{
    struct raw r = raw_index(f, db);
    MDB_stat stat;
    cr_assert_eq(mdb_stat(r.txn, r.dbi, &stat), 0);
    raw_end(&r);
    return (unsigned)stat.ms_entries;
}

void raw_put_catalogue(
    const struct fix *f, uint32_t uid, const char *name, struct slice value, bool sound)
{
    char dir[1024];
    (void)snprintf(dir, sizeof dir, "%s/catalogue", f->dir);
    struct raw r = raw_begin(dir, "run");
    struct key key = key_run(uid, slice_str(name));
    raw_put_in(&r, &key, value, sound);
    raw_end(&r);
}

/* ---- files ----------------------------------------------------------------------------------- */

void raw_flip_file(const char *path, long long offset)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t byte = 0;
    cr_assert_geq(fd, 0, "%s", path);
    off_t at = offset < 0 ? lseek(fd, 0, SEEK_END) + offset : offset;
    cr_assert_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 0x04;
    cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
    cr_assert_eq(fsync(fd), 0);
    (void)close(fd);
}

unsigned raw_flip_text(const char *path, const char *text)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat st;
    unsigned count = 0;
    cr_assert_geq(fd, 0, "%s", path);
    cr_assert_eq(fstat(fd, &st), 0);
    size_t bytes = (size_t)st.st_size;
    uint8_t *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_neq(data, MAP_FAILED);
    for (uint8_t *at = memmem(data, bytes, text, strlen(text)); at != NULL;
         at = memmem(at, bytes - (size_t)(at - data), text, strlen(text))) {
        *at ^= 0x01;
        count++;
    }
    (void)munmap(data, bytes);
    (void)close(fd);
    return count;
}

void raw_truncate(const char *path, long long by)
{
    struct stat st;
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(truncate(path, st.st_size - by), 0);
}

void raw_segment_path(const struct fix *f, unsigned id, char ret_path[1024])
{
    char name[64];
    (void)snprintf(name, sizeof name, "segments/%016x.seg", id);
    fix_path(f, name, ret_path);
}
