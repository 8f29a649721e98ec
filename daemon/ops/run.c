/* run.c: the table of open runs. Opening and closing happen on the query pool; whoever wants a run
 * meanwhile waits. Least recently used first out, never one that is held. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/ops_int.h"

static void run_open_work(struct job *job)
{
    struct run *run = CONTAINER_OF(job, struct run, job);
    run->rc = st_run_open(run->ops->st,
                          run->name.uid,
                          slice_str(run->name.name),
                          run->open_create,
                          &run->st,
                          &run->err);
}

static void run_unlink(struct run *run)
{
    struct run **at = &run->ops->runs;
    while (*at != run) {
        at = &(*at)->next;
    }
    *at = run->next;
    run->ops->run_count--;
    (void)pool_free(run->writer);
    (void)pool_free(run->digester);
    free(run);
}

/* Have every waiting wish fulfilled or refused. */
static void run_answer_wishes(struct run *run, const struct err *err)
{
    struct run_wish *wish = run->wishes;
    run->wishes = NULL;
    while (wish != NULL) {
        struct run_wish *next = wish->next;
        if (err == NULL) {
            run->holds++;
            wish->ready(wish, run, NULL);
        } else {
            wish->ready(wish, NULL, err);
        }
        wish = next;
    }
}

/* The run leaves the table; those that still want it start over. */
static void run_restart_wishes(struct run *run)
{
    struct ops *ops = run->ops;
    struct run_name name = run->name;
    struct run_wish *wish = run->wishes;
    run_unlink(run);
    while (wish != NULL) {
        struct run_wish *next = wish->next;
        run_get(ops, &name, wish);
        wish = next;
    }
}

static void run_open_done(struct job *job)
{
    struct run *run = CONTAINER_OF(job, struct run, job);
    struct ops *ops = run->ops;
    if (run->rc == 0) {
        run->state = RUN_READY;
        run_answer_wishes(run, NULL);
        if (run->holds == 0 && ops->stopping) {
            run_close_all(ops);
        }
        return;
    }
    /* One that only looked must not spoil it for one that came meanwhile and wants to create. */
    struct run_wish **at = &run->wishes;
    struct run_wish *creating = NULL;
    while (*at != NULL) {
        struct run_wish *wish = *at;
        if (run->rc == -CAIRN_ENOENT && wish->create && !run->open_create) {
            *at = wish->next;
            wish->next = creating;
            creating = wish;
        } else {
            at = &wish->next;
        }
    }
    struct err err = run->err;
    run_answer_wishes(run, &err);
    run->wishes = creating;
    run_restart_wishes(run);
    ops_check_stopped(ops);
}

static void run_close_work(struct job *job)
{
    struct run *run = CONTAINER_OF(job, struct run, job);
    run->writer = pool_free(run->writer);
    run->digester = pool_free(run->digester);
    run->st = st_run_close(run->st);
    run->rc = 0;
    if (run->drop) {
        run->rc = st_run_drop(run->ops->st, run->name.uid, slice_str(run->name.name), &run->err);
    }
}

static void run_close_done(struct job *job)
{
    struct run *run = CONTAINER_OF(job, struct run, job);
    struct ops *ops = run->ops;
    if (run->dropped != NULL) {
        run->dropped(run->dropped_arg, run->rc, &run->err);
    }
    run_restart_wishes(run);
    ops_check_stopped(ops);
}

static void run_close(struct run *run)
{
    run->state = RUN_CLOSING;
    run->job = (struct job){ .work = run_close_work, .done = run_close_done };
    pool_submit(run->ops->queries, &run->job);
}

void run_close_all(struct ops *ops)
{
    for (struct run *run = ops->runs; run != NULL; run = run->next) {
        if (run->state == RUN_READY && run->holds == 0) {
            run_close(run);
        }
    }
}

/* Make room: close idle runs over the limit. True when the table may grow. */
static bool run_make_room(struct ops *ops)
{
    unsigned closing = 0;
    struct run *oldest = NULL;
    for (struct run *run = ops->runs; run != NULL; run = run->next) {
        closing += run->state == RUN_CLOSING;
        if (run->state == RUN_READY && run->holds == 0) {
            oldest = run; /* newest use first: the last is the oldest */
        }
    }
    if (ops->run_count - closing < ops->options.open_runs) {
        return true;
    }
    if (oldest != NULL) {
        run_close(oldest);
    }
    return oldest != NULL;
}

static struct run *run_find(struct ops *ops, const struct run_name *name)
{
    for (struct run **at = &ops->runs; *at != NULL; at = &(*at)->next) {
        struct run *run = *at;
        if (run->name.uid == name->uid && strcmp(run->name.name, name->name) == 0) {
            *at = run->next; /* to the front */
            run->next = ops->runs;
            ops->runs = run;
            return run;
        }
    }
    return NULL;
}

static struct run *run_new(struct ops *ops, const struct run_name *name)
{
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL) {
        return NULL;
    }
    run->ops = ops;
    run->name = *name;
    run->writer = pool_new("cairn-write", 1, &ops->inbox);
    run->digester = pool_new("cairn-digest", 1, &ops->inbox);
    if (run->writer == NULL || run->digester == NULL) {
        (void)pool_free(run->writer);
        (void)pool_free(run->digester);
        free(run);
        return NULL;
    }
    run->next = ops->runs;
    ops->runs = run;
    ops->run_count++;
    return run;
}

void run_get(struct ops *ops, const struct run_name *name, struct run_wish *wish)
{
    struct err err = { 0 };
    struct run *run = run_find(ops, name);
    wish->next = NULL;
    if (run != NULL && run->state == RUN_READY) {
        run->holds++;
        wish->ready(wish, run, NULL);
        return;
    }
    if (run != NULL) {
        wish->next = run->wishes;
        run->wishes = wish;
        return;
    }
    if (ops->stopping) {
        (void)err_set(&err, -CAIRN_ECANCELED, "the daemon is stopping");
    } else if (!run_make_room(ops)) {
        (void)err_set(&err,
                      -CAIRN_EBUSY,
                      "all %u open runs are in use, try again (option --open-runs)",
                      ops->options.open_runs);
    } else if ((run = run_new(ops, name)) == NULL) {
        (void)err_set(&err, -CAIRN_ENOMEM, "open run '%s': no memory", name->name);
    }
    if (run == NULL) {
        wish->ready(wish, NULL, &err);
        return;
    }
    run->wishes = wish;
    run->state = RUN_OPENING;
    run->open_create = wish->create;
    run->job = (struct job){ .work = run_open_work, .done = run_open_done };
    pool_submit(ops->queries, &run->job);
}

void run_put(struct run *run)
{
    struct ops *ops = run->ops;
    run->holds--;
    if (run->holds == 0 && ops->stopping && run->state == RUN_READY) {
        run_close(run);
    }
}

int run_drop(struct run *run,
             void (*dropped)(void *arg, int rc, const struct err *err),
             void *arg,
             struct err *err)
{
    if (run->holds > 1 || run->uploads != NULL || run->state != RUN_READY) {
        return err_set(err,
                       -CAIRN_EBUSY,
                       "run '%" PRIu32 "/%s' is being read or written, try again later",
                       run->name.uid,
                       run->name.name);
    }
    run->holds--;
    run->drop = true;
    run->dropped = dropped;
    run->dropped_arg = arg;
    run_close(run);
    return 0;
}

static bool run_settled(const struct run *run, uint64_t ticket)
{
    for (const struct upload *u = run->uploads; u != NULL; u = u->next) {
        if (u->seal_ticket != 0 && u->seal_ticket <= ticket) {
            return false;
        }
    }
    return true;
}

void run_settle(struct run *run, struct run_wait *wait)
{
    wait->ticket = run->seal_count;
    if (run_settled(run, wait->ticket)) {
        wait->settled(wait);
        return;
    }
    wait->next = run->waits;
    run->waits = wait;
}

void run_kick(struct run *run)
{
    struct run_wait **at = &run->waits;
    struct run_wait *settled = NULL;
    while (*at != NULL) {
        struct run_wait *wait = *at;
        if (run_settled(run, wait->ticket)) {
            *at = wait->next;
            wait->next = settled;
            settled = wait;
        } else {
            at = &wait->next;
        }
    }
    while (settled != NULL) {
        struct run_wait *next = settled->next;
        settled->settled(settled);
        settled = next;
    }
    if (run->uploads != NULL) {
        upload_try_commit(run->uploads);
    }
}
