/* env.h: one LMDB environment and its transactions.
 *
 * Safe mode (no WRITEMAP, full sync) and MDB_NOTLS. A transaction lives inside one call of env_read
 * or env_write, on the thread that made it; nothing that LMDB owns survives the call. The map grows
 * when it is full, with every reader of this process outside (a lock that readers share). */
#ifndef STORE_ENV_H
#define STORE_ENV_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <lmdb.h>

#include "internal/err.h"
#include "store/key.h"

#define ENV_MAP_BYTES (256ull << 20)

struct env_options {
    const char *what;   /* for messages: "index", "catalogue" */
    unsigned first, nr; /* databases first..nr-1, named by `name` */
    const char *(*name)(enum st_db db);
    uint64_t map_bytes;
    bool create;   /* make missing databases; otherwise a missing one is ECORRUPT */
    bool readonly; /* never change anything on disk */
    bool nosync;   /* advisory contents only */
};

struct env {
    MDB_env *mdb;
    MDB_dbi dbi[DB_NR];
    pthread_rwlock_t map_lock; /* readers and the writer share it; growing the map excludes all */
    bool map_lock_ready;
    uint64_t map_bytes;
    bool unmapped; /* growing failed half way: nothing may touch the map any more */
    const char *what;
};

struct txn {
    struct env *env;
    MDB_txn *mdb;
    bool map_full; /* a put failed for that: env_write grows the map and runs fn again */
};

typedef int txn_fn(struct txn *t, void *arg, struct err *err);

/* Opens DIR/data.mdb (DIR exists). Never twice for one path in a process: LMDB's locks would go. */
int env_open(struct env *e, const char *dir, const struct env_options *options, struct err *err);
void env_close(struct env *e); /* idempotent; works on a zeroed one */

int env_read(struct env *e, txn_fn *fn, void *arg, struct err *err);

/* Run fn (again after the map grew, so it must be repeatable) and commit what it put.
 * ENOSPC: nothing happened. EUNKNOWN: the commit failed, maybe after it took effect. Others: fn's,
 * or failures before the commit; nothing happened. `failpoint` (NULL: none) is passed right before
 * the commit. */
struct txn_job {
    txn_fn *fn;
    void *arg;
    const char *failpoint;
};
int env_write(struct env *e, const struct txn_job *job, struct err *err);

/* For row.c: an LMDB call of a write transaction failed before the commit. Sets map_full, or err.
 */
int txn_error(struct txn *t, int rc, const char *what, struct err *err);

int env_fd(const struct env *e); /* of data.mdb */
/* Put everything that is visible on the disk. */
int env_sync(struct env *e, struct err *err);

#endif
