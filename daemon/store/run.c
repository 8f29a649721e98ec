/* A run: opened by one at a time, its index by one environment. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/rules.h"
#include "store/row.h"
#include "store/spare.h"
#include "store/store_int.h"

/* ---- who has which run ----------------------------------------------------------------------- */

int run_claim_init(struct st_claim *claim, uint32_t uid, struct slice name, struct err *err)
{
    if (!run_name_ok(name)) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "'%.*s' is no name for a run",
                       (int)(name.bytes < 128 ? name.bytes : 128),
                       name.bytes == 0 ? "" : (const char *)name.data);
    }
    *claim = (struct st_claim){ .uid = uid };
    memcpy(claim->name, name.data, name.bytes);
    return 0;
}

int run_claim(struct st *st, struct st_claim *claim, struct err *err)
{
    int rc = 0;
    (void)pthread_mutex_lock(&st->lock);
    for (const struct st_claim *c = st->claims; c != NULL; c = c->next) {
        if (c->uid == claim->uid && strcmp(c->name, claim->name) == 0) {
            rc = -CAIRN_EBUSY;
        }
    }
    if (rc == 0) {
        claim->next = st->claims;
        st->claims = claim;
    }
    (void)pthread_mutex_unlock(&st->lock);
    return rc == 0 ? 0 : err_set(err, rc, "run '%s' of uid %u is open", claim->name, claim->uid);
}

void run_unclaim(struct st *st, struct st_claim *claim)
{
    (void)pthread_mutex_lock(&st->lock);
    for (struct st_claim **at = &st->claims; *at != NULL; at = &(*at)->next) {
        if (*at == claim) {
            *at = claim->next;
            break;
        }
    }
    (void)pthread_mutex_unlock(&st->lock);
}

/* ---- attach and detach ----------------------------------------------------------------------- */

static int run_read_meta(struct txn *t, void *arg, struct err *err)
{
    struct st_run *run = arg;
    struct run_meta meta;
    int rc = meta_get(t, &meta, err);
    if (rc == 0) {
        memcpy(run->id, meta.id, sizeof run->id);
        run->summary = meta.summary;
        run->next_seq = meta.next_seq;
        run->next_segment = meta.next_segment;
    }
    return rc;
}

static int run_attach_files(struct st_run *run, struct err *err)
{
    char path[STORE_PATH_BYTES];
    const struct st *st = run->st;
    const struct env_options options = {
        .what = "index",
        .first = DB_META,
        .nr = DB_INDEX_NR,
        .name = key_db_name,
        .map_bytes = st_map_bytes(st),
        .readonly = run->readonly,
    };
    int rc = st_path(st, run->claim.uid, run->claim.name, "segments", path, err);
    rc = rc < 0 ? rc : file_open_dir(AT_FDCWD, path, &run->segments_fd, err);
    rc = rc < 0 ? rc : st_path(st, run->claim.uid, run->claim.name, "index", path, err);
    rc = rc < 0 ? rc : env_open(&run->index, path, &options, err);
    return rc < 0 ? rc : env_read(&run->index, run_read_meta, run, err);
}

int run_attach(struct st *st,
               const struct st_claim *claim,
               bool readonly,
               struct st_run **ret,
               struct err *err)
{
    struct st_run *run = calloc(1, sizeof *run);
    if (run == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "open a run");
    }
    run->claim = *claim;
    run->st = st;
    run->segments_fd = -1;
    run->readonly = readonly;
    (void)pthread_mutex_init(&run->lock, NULL);
    int rc = latch_init(run, err);
    rc = rc < 0 ? rc : run_attach_files(run, err);
    if (rc < 0) {
        (void)run_wrap(run, rc, err);
        (void)run_detach(run);
        /* The directory of the run is there: what is missing inside it is damage. */
        return row_damage(rc, "damaged", err);
    }
    *ret = run;
    return 0;
}

struct st_run *run_detach(struct st_run *run)
{
    if (run == NULL) {
        return NULL;
    }
    env_close(&run->index);
    if (run->segments_fd >= 0) {
        (void)close(run->segments_fd);
    }
    latch_fini(run);
    (void)pthread_mutex_destroy(&run->lock);
    free(run);
    return NULL;
}

/* ---- open and close -------------------------------------------------------------------------- */

/* Whose outcome is unknown if the opening's own commit fails: the newest. Damage to it does not
 * close the run: the older ones are to be read, and it is safe to save. Its row says nothing that a
 * save needs (seq, segment ids and sums are meta's, checked here and at the commit), its key or
 * meta keeps its place, so the next seq is above it; its save id stays taken, and no file goes that
 * it may name. Where LMDB itself cannot reach the newest row, no new one can be put beside it: that
 * commit fails before it began, each time. */
static int run_check_newest(struct txn *t, void *arg, struct err *err)
{
    struct st_run *run = arg;
    struct bump b;
    struct row_boundary row;
    if (run->summary.latest_seq >= run->next_seq) {
        return err_set(err,
                       -CAIRN_ECORRUPT,
                       "meta: seq %" PRIu64 " is to come, %" PRIu64 " is there",
                       run->next_seq,
                       run->summary.latest_seq);
    }
    if (run->summary.boundary_count == 0) {
        return 0;
    }
    int rc = row_get_boundary(t, run->summary.latest_seq, &b, &row, err);
    if (rc == 0) {
        memcpy(run->newest.save_id, row.boundary.save_id, sizeof run->newest.save_id);
        run->newest.rank = row.boundary.rank;
        run->newest.save = (struct row_save){ .seq = row.boundary.seq, .root = row.boundary.root };
    }
    bump_fini(&b);
    run->newest_damaged = rc == -CAIRN_ENOENT || rc == -CAIRN_ECORRUPT;
    return run->newest_damaged ? 0 : rc;
}

static int run_prepare(struct st_run *run, struct err *err)
{
    int rc = env_read(&run->index, run_check_newest, run, err);
    if (rc == 0 && !st_run_poisoned(run)) {
        rc = run_sweep(run, err);
    }
    return rc < 0 ? run_wrap(run, rc, err) : 0;
}

static int run_find(struct st *st, const struct st_claim *claim, bool create, struct err *err)
{
    char path[STORE_PATH_BYTES];
    int rc = st_path(st, claim->uid, claim->name, "", path, err);
    if (rc < 0 || tree_is_dir(path)) {
        return rc;
    }
    return create ? run_make(st, claim, err)
                  : err_set(err, -CAIRN_ENOENT, "uid %u has no run '%s'", claim->uid, claim->name);
}

int st_run_open(struct st *st,
                uint32_t uid,
                struct slice name,
                bool create,
                struct st_run **ret,
                struct err *err)
{
    struct st_claim claim = { .uid = uid };
    struct st_run *run = NULL;
    int rc = run_claim_init(&claim, uid, name, err);
    rc = rc < 0 ? rc : run_claim(st, &claim, err);
    if (rc < 0) {
        return rc;
    }
    rc = run_find(st, &claim, create, err);
    rc = rc < 0 ? rc : run_attach(st, &claim, false, &run, err);
    rc = rc < 0 ? rc : run_prepare(run, err);
    if (rc < 0) {
        (void)run_detach(run);
        run_unclaim(st, &claim);
        return rc;
    }
    /* The claim moves into the run without a moment in which nobody holds it. */
    (void)pthread_mutex_lock(&st->lock);
    struct st_claim **at = &st->claims;
    while (*at != &claim) {
        at = &(*at)->next;
    }
    run->claim.next = claim.next;
    *at = &run->claim;
    (void)pthread_mutex_unlock(&st->lock);
    catalogue_put(st, &run->claim, &run->summary);
    *ret = run;
    return 0;
}

struct st_run *st_run_close(struct st_run *run)
{
    if (run != NULL) {
        spare_drop(run);
        env_close(&run->index); /* before anybody else may open it */
        run_unclaim(run->st, &run->claim);
        (void)run_detach(run);
    }
    return NULL;
}

int st_run_drop(struct st *st, uint32_t uid, struct slice name, struct err *err)
{
    char path[STORE_PATH_BYTES];
    char aside[STORE_PATH_BYTES];
    struct st_claim claim = { .uid = uid };
    int rc = run_claim_init(&claim, uid, name, err);
    rc = rc < 0 ? rc : run_claim(st, &claim, err);
    if (rc < 0) {
        return rc;
    }
    rc = run_find(st, &claim, false, err);
    if (rc == 0 && latch_is_set(st, uid, claim.name)) {
        rc = err_set(err,
                     -CAIRN_EPOISONED,
                     "it is read-only after a failed write: restart the daemon, then drop it");
    }
    rc = rc < 0 ? rc : st_path(st, uid, claim.name, "", path, err);
    rc = rc < 0 ? rc : st_path_aside(st, aside, err);
    if (rc == 0) {
        catalogue_del(st, &claim);
        rc = rename(path, aside) == 0 ? 0 : err_errno(err, errno, "move '%s' aside", path);
    }
    rc = rc < 0 ? rc : tree_sync_parent(aside, err);
    if (rc == 0) {
        (void)st_path(st, uid, "", "", path, err);
        rc = tree_sync(path, err);
    }
    rc = rc < 0 ? rc : tree_remove(aside, err);
    run_unclaim(st, &claim);
    return rc < 0 ? err_wrap(err, rc, "drop run '%s'", claim.name) : 0;
}

/* ---- state ----------------------------------------------------------------------------------- */

int run_wrap(const struct st_run *run, int rc, struct err *err)
{
    return err_wrap(err, rc, "run '%s'", run->claim.name);
}

/* The lock is the run's own business: to whoever asks, the run does not change. */
static pthread_mutex_t *run_lock(const struct st_run *run)
{
    union {
        const struct st_run *in;
        struct st_run *out;
    } pun = { .in = run };
    return &pun.out->lock;
}

void st_run_row(const struct st_run *run, struct row_run *ret)
{
    (void)pthread_mutex_lock(run_lock(run));
    *ret = run->summary;
    (void)pthread_mutex_unlock(run_lock(run));
}
