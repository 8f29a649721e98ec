/* ops.h: what frames do. Sits between connections (net) and runs (store), on the loop thread, and
 * does its work in jobs. One struct ops per daemon. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "internal/err.h"
#include "net/conn.h"
#include "store/store.h"
#include "work/job.h"

struct ops_options {
    const char *server;      /* "cairnd 0.1.0" */
    unsigned open_runs;      /* 64; one uid may use three quarters of them, root all */
    uint64_t idle_ms;        /* upload without progress: 30 s */
    uint64_t min_rate_bytes; /* per second: an upload may wait 30 s + what came / rate in all */
    uint64_t pool_bytes, read_pool_bytes;
    uint64_t arena_bytes;    /* lent to all, three quarters to one uid, root all; 0: none */
    uint64_t resident_bytes; /* of that, to records whose trainers are gone; 0: to none */
    uint64_t metadata_bytes; /* staged by uploads, half of it by one uid: 512 MiB */
    bool allow_root_trainers;
    int64_t read_group;        /* gid; -1: none */
    uint64_t keep_interval_ms; /* every run's policy is done so often */
};

struct ops;
/* Borrows st and loop until ops_free. */
int ops_new(uv_loop_t *loop,
            struct st *st,
            const struct ops_options *options,
            struct ops **ret,
            struct err *err);
const struct conn_handler *ops_handler(void); /* ctx is the struct ops */
/* How many connections there are, for STATUS: set by the server. */
void ops_set_connections(struct ops *ops, const struct conn_set *set);
/* Orderly stop: refuse new work and what is being asked (ECANCELED), abort open uploads and loads,
 * let commits in flight finish, close the runs; then `stopped` once. */
void ops_stop(struct ops *ops, void (*stopped)(void *ctx), void *ctx);
/* What keeps `stopped` from coming, one line in the log for each run and each save of it. */
void ops_log_busy(const struct ops *ops);
struct ops *ops_free(struct ops *ops); /* after `stopped` and after every connection is closed */

#endif
