/* A run whose disk has failed is read-only for as long as this process lives. The latch belongs to
 * the store, by the run's name: closing the run and opening it again does not lift it. */
#include <stdlib.h>

#include "store/store_int.h"

static struct st_latch *latch_find(const struct st *st, uint32_t uid, const char *name)
{
    for (struct st_latch *l = st->latches; l != NULL; l = l->next) {
        if (l->uid == uid && strcmp(l->name, name) == 0) {
            return l;
        }
    }
    return NULL;
}

int latch_init(struct st_run *run, struct err *err)
{
    struct st *st = run->st;
    (void)pthread_mutex_lock(&st->lock);
    run->latch = latch_find(st, run->claim.uid, run->claim.name);
    (void)pthread_mutex_unlock(&st->lock);
    if (run->latch != NULL) {
        atomic_store(&run->poisoned, true);
        return 0;
    }
    run->latch = calloc(1, sizeof *run->latch);
    if (run->latch == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "open a run");
    }
    run->latch->uid = run->claim.uid;
    memcpy(run->latch->name, run->claim.name, sizeof run->latch->name);
    return 0;
}

void latch_fini(struct st_run *run)
{
    if (!st_run_poisoned(run)) {
        free(run->latch);
    }
    run->latch = NULL;
}

void run_poison(struct st_run *run)
{
    struct st *st = run->st;
    (void)pthread_mutex_lock(&st->lock);
    if (!atomic_load(&run->poisoned)) {
        run->latch->next = st->latches;
        st->latches = run->latch;
        atomic_store(&run->poisoned, true);
    }
    (void)pthread_mutex_unlock(&st->lock);
}

void run_poison_unknown(struct st_run *run,
                        const uint8_t save_id[16],
                        uint32_t rank,
                        const struct row_save *save)
{
    (void)pthread_mutex_lock(&run->st->lock);
    memcpy(run->latch->unknown.save_id, save_id, sizeof run->latch->unknown.save_id);
    run->latch->unknown.rank = rank;
    run->latch->unknown.save = *save;
    run->latch->unknown.save.state = SAVE_UNKNOWN;
    (void)pthread_mutex_unlock(&run->st->lock);
    run_poison(run);
}

bool run_save_unknown(struct st_run *run,
                      const uint8_t save_id[16],
                      uint32_t rank,
                      struct row_save *ret)
{
    const struct st_latch *l = run->latch;
    (void)pthread_mutex_lock(&run->st->lock);
    bool unknown = l->unknown.save.state == SAVE_UNKNOWN && l->unknown.rank == rank &&
                   memcmp(l->unknown.save_id, save_id, sizeof l->unknown.save_id) == 0;
    if (unknown) {
        *ret = l->unknown.save;
    }
    (void)pthread_mutex_unlock(&run->st->lock);
    return unknown;
}

bool latch_is_set(struct st *st, uint32_t uid, const char *name)
{
    (void)pthread_mutex_lock(&st->lock);
    bool set = latch_find(st, uid, name) != NULL;
    (void)pthread_mutex_unlock(&st->lock);
    return set;
}

void latch_free_all(struct st *st)
{
    while (st->latches != NULL) {
        struct st_latch *l = st->latches;
        st->latches = l->next;
        free(l);
    }
}

bool st_run_poisoned(const struct st_run *run)
{
    return atomic_load(&run->poisoned);
}

int run_check_writable(const struct st_run *run, struct err *err)
{
    if (!st_run_poisoned(run)) {
        return 0;
    }
    return err_set(err,
                   -CAIRN_EPOISONED,
                   "run '%s' is read-only after a failed write: restart the daemon, then verify",
                   run->claim.name);
}

int run_change(struct st_run *run, const struct txn_job *job, struct err *err)
{
    int rc = run_check_writable(run, err);
    rc = rc < 0 ? rc : env_write(&run->index, job, err);
    if (rc == -CAIRN_EUNKNOWN || rc == -CAIRN_EIO) {
        run_poison(run);
    }
    return rc < 0 ? run_wrap(run, rc, err) : 0;
}

/* ---- one synced commit ----------------------------------------------------------------------- */

static int confirm_txn(struct txn *t, void *arg, struct err *err)
{
    const struct st_run *run = arg;
    return meta_put_progress(t, run->next_seq, run->next_segment, &run->summary, err);
}

/* What is visible may have been committed by a process whose sync failed: then it is in the page
 * cache only, clean, and no sync of ours would write it. A commit writes its own pages and the meta
 * page that names them all. Should it fail, the newest boundary may be one of those. */
int run_confirm(struct st_run *run, struct err *err)
{
    const struct txn_job job = { .fn = confirm_txn, .arg = run, .failpoint = "confirm" };
    struct err why = { .code = 0 };
    int rc = env_write(&run->index, &job, err);
    if (rc < 0 && (rc == -CAIRN_EUNKNOWN || env_sync(&run->index, &why) < 0)) {
        if (run->newest.save.seq > 0) { /* of a damaged one nobody is told that it is saved */
            run_poison_unknown(run, run->newest.save_id, run->newest.rank, &run->newest.save);
        }
        run_poison(run);
    }
    return rc;
}
