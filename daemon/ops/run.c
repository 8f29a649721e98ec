/* run.c: the table of open runs. Opening and closing happen on the query pool; whoever wants a run
 * meanwhile waits, and is served in the order of asking: supersession and commits follow it. Least
 * recently used first out, never one that is held. A latched run may go too: the store remembers.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "ops/ops_int.h"

static void run_open_work(struct job *job)
{
    struct run *run = CONTAINER_OF(job, struct run, job);
    fault_point("run_open");
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

static void run_add_wish(struct run *run, struct run_wish *wish)
{
    struct run_wish **at = &run->wishes;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    wish->next = NULL;
    *at = wish;
}

/* Have every waiting wish fulfilled or refused. The caller holds the run: a wish may give its hold
 * back at once, and a run that nobody holds may close. */
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

/* One that only looked must not spoil it for those that came meanwhile and want to create. */
static struct run_wish *run_take_creating(struct run *run)
{
    struct run_wish *creating = NULL;
    struct run_wish **end = &creating;
    struct run_wish **at = &run->wishes;
    while (*at != NULL) {
        struct run_wish *wish = *at;
        if (run->rc == -CAIRN_ENOENT && wish->create && !run->open_create) {
            *at = wish->next;
            wish->next = NULL;
            *end = wish;
            end = &wish->next;
        } else {
            at = &wish->next;
        }
    }
    return creating;
}

static void run_open_done(struct job *job)
{
    struct run *run = CONTAINER_OF(job, struct run, job);
    struct ops *ops = run->ops;
    if (run->rc == 0) {
        run->state = RUN_READY;
        run->holds++;
        run_answer_wishes(run, NULL);
        run_put(run);
        return;
    }
    struct run_wish *creating = run_take_creating(run);
    struct err err = run->err;
    run_answer_wishes(run, &err);
    while (creating != NULL) {
        struct run_wish *next = creating->next;
        run_add_wish(run, creating);
        creating = next;
    }
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

/* How many of the open runs one uid may hold, so that the others get at some. Root may hold all. */
static unsigned run_share(const struct ops *ops, uint32_t uid)
{
    unsigned all = ops->options.open_runs;
    return uid == 0 ? UINT_MAX : all - all / 4;
}

static bool run_check_share(const struct ops *ops, uint32_t uid, struct err *err)
{
    unsigned held = 0;
    for (const struct run *run = ops->runs; run != NULL; run = run->next) {
        held += run->holder == uid && (run->state == RUN_OPENING || run->holds > 0);
    }
    if (held < run_share(ops, uid)) {
        return true;
    }
    (void)err_set(err,
                  -CAIRN_EBUSY,
                  "uid %" PRIu32 " uses %u runs, its share of the %u open ones: close some, or try "
                  "again (option --open-runs)",
                  uid,
                  held,
                  ops->options.open_runs);
    return false;
}

/* The hold that a wish is given; false when it is over its share. */
static bool run_hold(struct run *run, const struct run_wish *wish, struct err *err)
{
    if (run->holds == 0 && !run_check_share(run->ops, wish->uid, err)) {
        return false;
    }
    run->holder = run->holds == 0 ? wish->uid : run->holder;
    run->holds++;
    return true;
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
    if (run != NULL && run->state == RUN_READY) {
        bool held = run_hold(run, wish, &err);
        wish->ready(wish, held ? run : NULL, held ? NULL : &err);
        return;
    }
    if (run != NULL) {
        run_add_wish(run, wish);
        return;
    }
    if (ops->stopping) {
        (void)err_set(&err, -CAIRN_ECANCELED, "the daemon is stopping");
    } else if (!run_check_share(ops, wish->uid, &err)) {
        run = NULL;
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
    run_add_wish(run, wish);
    run->state = RUN_OPENING;
    run->holder = wish->uid;
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
    if (st_run_poisoned(run->st)) {
        return err_set(err,
                       -CAIRN_EPOISONED,
                       "run '%" PRIu32
                       "/%s' is read-only after a failed write: restart the daemon, "
                       "then drop it",
                       run->name.uid,
                       run->name.name);
    }
    resident_drop_run(run->ops, &run->name);
    run->holds--;
    run->drop = true;
    run->dropped = dropped;
    run->dropped_arg = arg;
    run_close(run);
    return 0;
}
