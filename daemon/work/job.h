/* job.h: work off the loop. A job runs `work` on a thread of its pool and then `done` on the loop,
 * exactly once each. Jobs are owned by whoever submits them, and touch nothing else meanwhile.
 *
 * An inbox carries finished jobs back (one uv_async for all of them). A pool of one thread is a
 * lane: its jobs run one after the other, in order; that is what a run's writer is. */
#ifndef WORK_JOB_H
#define WORK_JOB_H

#include <stdbool.h>

#include <uv.h>

struct job {
    /* in */
    void (*work)(struct job *job); /* on a pool thread; may be NULL: only done */
    void (*done)(struct job *job); /* on the loop; may free the job */
    /* private */
    struct inbox *inbox;
    struct job *next;
};

struct inbox {
    uv_async_t async;
    uv_mutex_t lock;
    struct job *head, **tail;
    void (*closed)(struct inbox *inbox);
};
int inbox_init(struct inbox *inbox, uv_loop_t *loop);
/* Any thread: have job->done called on the loop. */
void inbox_post(struct inbox *inbox, struct job *job);
/* On the loop, when no job is under way any more. */
void inbox_close(struct inbox *inbox, void (*closed)(struct inbox *inbox));

struct pool; /* threads and a FIFO queue */
/* Threads start with the first job. `name` is cut to 15 characters for the thread's name. NULL: no
 * memory. */
struct pool *pool_new(const char *name, unsigned threads, struct inbox *inbox);
void pool_submit(struct pool *pool,
                 struct job *job); /* from the loop thread, or from a pool thread */
/* Finish what is queued (their done calls still come through the inbox), join, free. Blocks. */
struct pool *pool_free(struct pool *pool);

#endif
