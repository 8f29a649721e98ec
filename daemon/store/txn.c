/* Transactions: every one begins and ends inside env_read or env_write. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "internal/fault.h"
#include "store/env.h"
#include "store/rc.h"

static int txn_map_gone(const struct env *e, struct err *err)
{
    return err_set(err, -CAIRN_EIO, "the %s lost its memory map: restart the daemon", e->what);
}

/* Begin to read what is committed. LMDB 0.9 takes the number of the last transaction first and
 * copies that one's meta page then. A thread that is held up in between may find the page of the
 * second next one there, which is still being written: it would see a boundary before it is
 * durable, and the next reader would not see it any more. So the page is used only while that one
 * is not there yet. */
static int txn_begin_read(struct env *e, MDB_txn **ret)
{
    for (;;) {
        MDB_envinfo info;
        int rc = mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, ret);
        if (rc != 0) {
            return rc;
        }
        (void)mdb_env_info(e->mdb, &info);
        if (info.me_last_txnid <= mdb_txn_id(*ret) + 1) {
            return 0;
        }
        mdb_txn_abort(*ret);
    }
}

int env_read(struct env *e, txn_fn *fn, void *arg, struct err *err)
{
    struct txn t = { .env = e };
    int rc = pthread_rwlock_rdlock(&e->map_lock);
    assert(rc == 0);
    if (e->unmapped) {
        rc = txn_map_gone(e, err);
        goto out;
    }
    rc = txn_begin_read(e, &t.mdb);
    if (rc != 0) {
        rc = rc_lmdb(err, rc, "begin to read the %s", e->what);
        goto out;
    }
    rc = fn(&t, arg, err);
    mdb_txn_abort(t.mdb);
out:
    (void)pthread_rwlock_unlock(&e->map_lock);
    return rc;
}

int txn_error(struct txn *t, int rc, const char *what, struct err *err)
{
    if (rc == MDB_MAP_FULL) {
        t->map_full = true;
        return err_set(err, -CAIRN_ELIMIT, "the map of the %s is full", t->env->what);
    }
    if (rc_full_disk(rc, env_fd(t->env))) {
        return err_set(err, -CAIRN_ENOSPC, "no space left to write %s", what);
    }
    return rc_lmdb(err, rc, "write %s", what);
}

/* Did LMDB fail to write its meta page? Then what is on the disk is anybody's guess. */
static bool txn_panicked(const struct env *e)
{
    MDB_txn *probe = NULL;
    int rc = mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &probe);
    if (rc == 0) {
        mdb_txn_abort(probe);
    }
    return rc == MDB_PANIC;
}

/* A full disk stops a commit at its data pages, before the meta page names them: nothing happened.
 * After any other failure the new state may be on the disk or not. */
static int txn_commit(struct txn *t, const char *failpoint, struct err *err)
{
    int rc = failpoint == NULL ? 0 : fault_error(failpoint);
    if (rc != 0) {
        mdb_txn_abort(t->mdb);
    } else {
        rc = mdb_txn_commit(t->mdb);
    }
    if (rc == 0) {
        return 0;
    }
    if (rc == MDB_MAP_FULL) {
        return txn_error(t, rc, "", err);
    }
    if (rc_full_disk(rc, env_fd(t->env)) && !txn_panicked(t->env)) {
        return err_set(err, -CAIRN_ENOSPC, "no space left to write the %s", t->env->what);
    }
    return err_set(err, -CAIRN_EUNKNOWN, "commit to the %s: %s", t->env->what, mdb_strerror(rc));
}

static int txn_try(struct txn *t, const struct txn_job *job, struct err *err)
{
    struct env *e = t->env;
    int rc = pthread_rwlock_rdlock(&e->map_lock);
    assert(rc == 0);
    if (e->unmapped) {
        rc = txn_map_gone(e, err);
        goto out;
    }
    rc = mdb_txn_begin(e->mdb, NULL, 0, &t->mdb);
    if (rc != 0) {
        rc = rc_lmdb(err, rc, "begin to write the %s", e->what);
        goto out;
    }
    rc = job->fn(t, job->arg, err);
    if (rc < 0) {
        mdb_txn_abort(t->mdb);
    } else {
        rc = txn_commit(t, job->failpoint, err);
    }
out:
    (void)pthread_rwlock_unlock(&e->map_lock);
    return rc;
}

/* Twice the map. A reader that died holds old pages, so those go first. */
static int txn_grow(struct env *e, struct err *err)
{
    int dead = 0;
    (void)mdb_reader_check(e->mdb, &dead);
    int rc = pthread_rwlock_wrlock(&e->map_lock);
    assert(rc == 0);
    uint64_t bytes = e->map_bytes * 2;
    rc = mdb_env_set_mapsize(e->mdb, (size_t)bytes);
    if (rc == 0) {
        e->map_bytes = bytes;
    } else if (mdb_env_set_mapsize(e->mdb, (size_t)e->map_bytes) != 0) {
        e->unmapped = true;
    }
    (void)pthread_rwlock_unlock(&e->map_lock);
    return rc == 0 ? 0 : rc_lmdb(err, rc, "grow the %s's map to %" PRIu64 " bytes", e->what, bytes);
}

int env_write(struct env *e, const struct txn_job *job, struct err *err)
{
    for (;;) {
        struct txn t = { .env = e };
        int rc = txn_try(&t, job, err);
        if (!t.map_full) {
            return rc;
        }
        rc = txn_grow(e, err);
        if (rc < 0) {
            return rc;
        }
    }
}
