/* keep_round.c: every run's policy, now and then: age alone may let boundaries go, and what was
 * being read is not any more. One run at a time, so that open runs are left for those who train. */
#include <stdlib.h>

#include "ops/ops_int.h"

struct keep_round {
    struct ops *ops;
    struct run_name *names;
    size_t count, next;
    const struct run *run; /* whose turn it is */
    bool asking, refused;  /* it is asked for, just now; and is not to be had */
    struct run_wish wish;
    struct job job;
    int rc;
    struct err err;
};

static int round_each(void *arg, const struct st_run_row *row)
{
    struct keep_round *r = arg;
    if ((r->count & (r->count + 1)) == 0) { /* 0, 1, 3, 7, ...: grow to the next power */
        struct run_name *names = reallocarray(r->names, (r->count + 1) * 2, sizeof *names);
        if (names == NULL) {
            return err_set(&r->err, -CAIRN_ENOMEM, "look at %zu runs", r->count);
        }
        r->names = names;
    }
    struct run_name *to = &r->names[r->count++];
    to->uid = row->uid;
    memcpy(to->name, row->name.data, row->name.bytes);
    to->name[row->name.bytes] = '\0';
    return 0;
}

static void round_work(struct job *job)
{
    struct keep_round *r = CONTAINER_OF(job, struct keep_round, job);
    r->rc = st_runs(r->ops->st, UINT32_MAX, round_each, r, &r->err);
}

static void round_ready(struct run_wish *wish, struct run *run, const struct err *err);

static void round_go_on(struct keep_round *r)
{
    struct ops *ops = r->ops;
    r->run = NULL;
    while (!ops->stopping && r->next < r->count) {
        r->wish = (struct run_wish){ .ready = round_ready };
        r->asking = true;
        r->refused = false;
        run_get(ops, &r->names[r->next++], &r->wish);
        r->asking = false;
        if (!r->refused) {
            return;
        }
    }
    ops->round = NULL;
    free(r->names);
    free(r);
    ops_check_stopped(ops);
}

/* One that cannot be opened, or that too many want, has its turn the next time. */
static void round_ready(struct run_wish *wish, struct run *run, const struct err *err)
{
    struct keep_round *r = CONTAINER_OF(wish, struct keep_round, wish);
    (void)err;
    if (run != NULL) {
        keep_run(run);
        r->run = run->keeping ? run : NULL;
        run_put(run);
    }
    r->refused = r->run == NULL;
    if (r->refused && !r->asking) {
        round_go_on(r);
    }
}

void keep_round_ended(struct ops *ops, const struct run *run)
{
    if (ops->round != NULL && ops->round->run == run) {
        round_go_on(ops->round);
    }
}

static void round_done(struct job *job)
{
    struct keep_round *r = CONTAINER_OF(job, struct keep_round, job);
    if (r->rc < 0) {
        log_warn("policies not done", "why=\"%s\"", r->err.msg);
        r->count = 0;
    }
    round_go_on(r);
}

static void round_begin(uv_timer_t *timer)
{
    struct ops *ops = CONTAINER_OF(timer, struct ops, keep_timer);
    struct keep_round *r = ops->round != NULL || ops->stopping ? NULL : calloc(1, sizeof *r);
    if (r == NULL) {
        return; /* the last one is still under way; or there is no memory, and a next time */
    }
    ops->round = r;
    r->ops = ops;
    r->job = (struct job){ .work = round_work, .done = round_done };
    pool_submit(ops->queries, &r->job);
}

void keep_rounds_init(struct ops *ops)
{
    uint64_t ms = ops->options.keep_interval_ms;
    (void)uv_timer_init(ops->loop, &ops->keep_timer);
    if (ms > 0) {
        (void)uv_timer_start(&ops->keep_timer, round_begin, ms, ms);
    }
}
