#include "store/env.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "store/rc.h"

#define ENV_READERS 64u
#define ENV_DBS 16u
#define ENV_MODE 0600
#define ENV_LOCK_BYTES (16 << 10) /* more than LMDB needs for ENV_READERS */

/* LMDB writes to lock.mdb through a shared map: on a full disk, a page without a block behind it
 * would be a SIGBUS. So the blocks are there before LMDB opens the file. */
static int env_reserve_lock(const char *dir, struct err *err)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/lock.mdb", dir);
    if (n < 0 || (size_t)n >= sizeof path) {
        return err_set(err, -CAIRN_ELIMIT, "the path '%.200s...' is too long", dir);
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, ENV_MODE);
    if (fd < 0) {
        return rc_open(err, errno, "open '%s'", path);
    }
    int rc = 0;
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, ENV_LOCK_BYTES) < 0 && errno != EOPNOTSUPP) {
        rc = err_errno(err, errno, "reserve %d bytes for '%s'", ENV_LOCK_BYTES, path);
    }
    (void)close(fd);
    return rc;
}

int env_fd(const struct env *e)
{
    mdb_filehandle_t fd = -1;
    (void)mdb_env_get_fd(e->mdb, &fd);
    return fd;
}

static int env_open_dbs(struct env *e, const struct env_options *o, struct err *err)
{
    MDB_txn *txn = NULL;
    int rc = mdb_txn_begin(e->mdb, NULL, o->create ? 0 : MDB_RDONLY, &txn);
    for (unsigned db = o->first; rc == 0 && db < o->nr; db++) {
        rc = mdb_dbi_open(txn, o->name(db), o->create ? MDB_CREATE : 0, &e->dbi[db]);
        if (rc != 0) {
            mdb_txn_abort(txn);
            int code = rc_lmdb(err, rc, "open database '%s'", o->name(db));
            return rc == MDB_NOTFOUND
                       ? err_set(err, -CAIRN_ECORRUPT, "database '%s' is missing", o->name(db))
                       : code;
        }
    }
    if (rc == 0) {
        rc = mdb_txn_commit(txn);
    }
    if (rc != 0 && rc_full_disk(rc, env_fd(e))) {
        return err_set(err, -CAIRN_ENOSPC, "create databases: no space left");
    }
    return rc == 0 ? 0 : rc_lmdb(err, rc, "open databases");
}

static int env_init_lock(struct env *e, struct err *err)
{
    pthread_rwlockattr_t attr;
    int rc = pthread_rwlockattr_init(&attr);
    if (rc == 0) {
        /* Growing must not wait for a moment without any reader. */
        rc = pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    }
    if (rc == 0) {
        rc = pthread_rwlock_init(&e->map_lock, &attr);
        e->map_lock_ready = rc == 0;
    }
    return rc == 0 ? 0 : err_errno(err, rc, "make a lock");
}

static int
env_open_mdb(struct env *e, const char *dir, const struct env_options *o, struct err *err)
{
    unsigned flags = MDB_NOTLS;
    flags |= o->readonly ? MDB_RDONLY : 0u;
    flags |= o->nosync ? MDB_NOSYNC : 0u;
    int rc = mdb_env_create(&e->mdb);
    if (rc == 0) {
        rc = mdb_env_set_mapsize(e->mdb, (size_t)o->map_bytes);
    }
    if (rc == 0) {
        rc = mdb_env_set_maxdbs(e->mdb, ENV_DBS);
    }
    if (rc == 0) {
        rc = mdb_env_set_maxreaders(e->mdb, ENV_READERS);
    }
    if (rc == 0) {
        rc = mdb_env_open(e->mdb, dir, flags, ENV_MODE);
    }
    if (rc != 0) {
        return rc_lmdb(err, rc, "open LMDB environment '%s'", dir);
    }
    int dead = 0;
    rc = mdb_reader_check(e->mdb, &dead);
    return rc == 0 ? 0 : rc_lmdb(err, rc, "clear stale readers of '%s'", dir);
}

int env_open(struct env *e, const char *dir, const struct env_options *o, struct err *err)
{
    assert(o->nr <= DB_NR);
    *e = (struct env){ .what = o->what };
    struct MDB_envinfo info;
    int rc = env_reserve_lock(dir, err);
    if (rc < 0) {
        return rc;
    }
    rc = env_open_mdb(e, dir, o, err);
    if (rc < 0) {
        goto fail;
    }
    rc = env_init_lock(e, err);
    if (rc < 0) {
        goto fail;
    }
    rc = env_open_dbs(e, o, err);
    if (rc < 0) {
        (void)err_wrap(err, rc, "%s '%s'", o->what, dir);
        goto fail;
    }
    (void)mdb_env_info(e->mdb, &info);
    e->map_bytes = info.me_mapsize;
    return 0;
fail:
    env_close(e);
    return rc;
}

void env_close(struct env *e)
{
    if (e->mdb != NULL) {
        mdb_env_close(e->mdb);
    }
    if (e->map_lock_ready) {
        (void)pthread_rwlock_destroy(&e->map_lock);
    }
    *e = (struct env){ .mdb = NULL };
}

int env_sync(struct env *e, struct err *err)
{
    int rc = mdb_env_sync(e->mdb, 1);
    return rc == 0 ? 0 : rc_lmdb(err, rc, "sync the %s", e->what);
}
