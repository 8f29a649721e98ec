/* Making a run: whole under DATA/aside, then renamed to its place, so there is never half a run. */
#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "internal/fault.h"
#include "store/row.h"
#include "store/store_int.h"

static int make_meta(struct txn *t, void *arg, struct err *err)
{
    return meta_put(t, arg, err);
}

static int
make_index(const struct st *st, const char *path, const struct st_claim *claim, struct err *err)
{
    const struct env_options options = { .what = "index",
                                         .first = DB_META,
                                         .nr = DB_INDEX_NR,
                                         .name = key_db_name,
                                         .map_bytes = st_map_bytes(st),
                                         .create = true };
    struct timespec now = { .tv_sec = 0 };
    struct run_meta meta = {
        .format = STORE_RUN_FORMAT, .owner = claim->uid, .next_seq = 1, .next_segment = 1
    };
    struct env env;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    meta.created_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (getrandom(meta.id, sizeof meta.id, 0) != (ssize_t)sizeof meta.id) {
        return err_errno(err, errno, "choose an id");
    }
    int rc = env_open(&env, path, &options, err);
    if (rc < 0) {
        return rc;
    }
    struct txn_job job = { .fn = make_meta, .arg = &meta };
    rc = env_write(&env, &job, err);
    env_close(&env);
    return rc;
}

static int
make_in(const struct st *st, const char *dir, const struct st_claim *claim, struct err *err)
{
    char path[STORE_PATH_BYTES + 16];
    int rc = tree_make(dir, err);
    (void)snprintf(path, sizeof path, "%s/segments", dir);
    rc = rc < 0 ? rc : tree_make(path, err);
    (void)snprintf(path, sizeof path, "%s/index", dir);
    rc = rc < 0 ? rc : tree_make(path, err);
    rc = rc < 0 ? rc : make_index(st, path, claim, err);
    /* LMDB never syncs the directory that its files are in. */
    rc = rc < 0 ? rc : tree_sync(path, err);
    return rc < 0 ? rc : tree_sync(dir, err);
}

static int make_sync(const char *owner, const char *from, struct err *err)
{
    int errnum = fault_error("make_sync");
    int rc = errnum == 0 ? tree_sync(owner, err)
                         : err_errno(err, errnum, "failpoint make_sync: sync '%s'", owner);
    return rc < 0 ? rc : tree_sync_parent(from, err);
}

static int
make_place(struct st *st, const char *from, const struct st_claim *claim, struct err *err)
{
    char owner[STORE_PATH_BYTES];
    char to[STORE_PATH_BYTES];
    int rc = st_path(st, claim->uid, "", "", owner, err);
    rc = rc < 0 ? rc : st_path(st, claim->uid, claim->name, "", to, err);
    if (rc < 0) {
        return rc;
    }
    rc = tree_make(owner, err);
    rc = rc < 0 ? rc : tree_sync_parent(owner, err);
    if (rc == 0 && rename(from, to) < 0) {
        rc = err_errno(err, errno, "rename to '%s'", to);
    }
    if (rc == 0) {
        rc = make_sync(owner, from, err);
        if (rc < 0) {
            (void)rename(to, from); /* never there, rather than there until the power goes */
        }
    }
    if (rc < 0) {
        (void)rmdir(owner); /* if it is new and empty: the next to make it syncs it anew */
    }
    return rc;
}

int run_make(struct st *st, const struct st_claim *claim, struct err *err)
{
    char aside[STORE_PATH_BYTES];
    int rc = st_path_aside(st, aside, err);
    if (rc < 0) {
        return rc;
    }
    rc = make_in(st, aside, claim, err);
    rc = rc < 0 ? rc : make_place(st, aside, claim, err);
    if (rc < 0) {
        struct err ignored = { .code = 0 };
        (void)tree_remove(aside, &ignored);
        return err_wrap(err, rc, "make run '%s'", claim->name);
    }
    return 0;
}
