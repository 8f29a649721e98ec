/* job.c: inbox and pool.
 *
 * Happy path: pool_submit -> a thread takes the job, runs work -> inbox_post -> the loop wakes and
 * calls done. The queue of a pool and the list of an inbox each have a lock of their own, held for
 * a few instructions; a job is in one of the two, or in nobody's list while it runs. */
#include "work/job.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "internal/container.h"

enum { POOL_NAME_BYTES = 16 };

struct pool {
    char name[POOL_NAME_BYTES];
    struct inbox *inbox;
    uv_mutex_t lock;
    uv_cond_t wake;
    /* under the lock */
    struct job *head, **tail;
    bool stopping;
    /* the submitters' (under the lock too) */
    unsigned threads_max, threads_started;
    uv_thread_t threads[];
};

static void inbox_drain(uv_async_t *async)
{
    struct inbox *inbox = CONTAINER_OF(async, struct inbox, async);
    uv_mutex_lock(&inbox->lock);
    struct job *job = inbox->head;
    inbox->head = NULL;
    inbox->tail = &inbox->head;
    uv_mutex_unlock(&inbox->lock);
    while (job != NULL) {
        struct job *next = job->next; /* done may free the job */
        job->done(job);
        job = next;
    }
}

int inbox_init(struct inbox *inbox, uv_loop_t *loop)
{
    *inbox = (struct inbox){ .tail = &inbox->head };
    int rc = uv_mutex_init(&inbox->lock);
    if (rc < 0) {
        return rc;
    }
    rc = uv_async_init(loop, &inbox->async, inbox_drain);
    if (rc < 0) {
        uv_mutex_destroy(&inbox->lock);
    }
    return rc;
}

void inbox_post(struct inbox *inbox, struct job *job)
{
    job->next = NULL;
    uv_mutex_lock(&inbox->lock);
    *inbox->tail = job;
    inbox->tail = &job->next;
    /* Under the lock: once the loop has taken this job the inbox may be closed at any time. */
    int rc = uv_async_send(&inbox->async);
    uv_mutex_unlock(&inbox->lock);
    assert(rc == 0);
    (void)rc;
}

static void inbox_async_closed(uv_handle_t *handle)
{
    struct inbox *inbox = CONTAINER_OF(handle, struct inbox, async);
    uv_mutex_destroy(&inbox->lock);
    inbox->closed(inbox);
}

void inbox_close(struct inbox *inbox, void (*closed)(struct inbox *inbox))
{
    assert(inbox->head == NULL);
    inbox->closed = closed;
    uv_close((uv_handle_t *)&inbox->async, inbox_async_closed);
}

/* The next job, or NULL: time to go. */
static struct job *pool_next(struct pool *pool)
{
    uv_mutex_lock(&pool->lock);
    while (pool->head == NULL && !pool->stopping) {
        uv_cond_wait(&pool->wake, &pool->lock);
    }
    struct job *job = pool->head;
    if (job != NULL) {
        pool->head = job->next;
        if (pool->head == NULL) {
            pool->tail = &pool->head;
        }
    }
    uv_mutex_unlock(&pool->lock);
    return job;
}

static void pool_run(struct job *job)
{
    if (job->work != NULL) {
        job->work(job);
    }
    inbox_post(job->inbox, job);
}

static void pool_thread(void *arg)
{
    struct pool *pool = arg;
    struct job *job = NULL;
    (void)pthread_setname_np(pthread_self(), pool->name);
    while ((job = pool_next(pool)) != NULL) {
        pool_run(job);
    }
}

struct pool *pool_new(const char *name, unsigned threads, struct inbox *inbox)
{
    struct pool *pool = calloc(1, sizeof *pool + threads * sizeof pool->threads[0]);
    if (pool == NULL) {
        return NULL;
    }
    (void)strncpy(pool->name, name, sizeof pool->name - 1);
    pool->inbox = inbox;
    pool->tail = &pool->head;
    pool->threads_max = threads;
    if (uv_mutex_init(&pool->lock) < 0) {
        free(pool);
        return NULL;
    }
    if (uv_cond_init(&pool->wake) < 0) {
        uv_mutex_destroy(&pool->lock);
        free(pool);
        return NULL;
    }
    return pool;
}

/* Signals are the loop thread's: a pool thread must never be the one that is interrupted. */
static int pool_start_thread(struct pool *pool)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = uv_thread_create(&pool->threads[pool->threads_started], pool_thread, pool);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* Under the lock. False: there is no thread at all. */
static bool pool_has_thread(struct pool *pool)
{
    if (pool->threads_started < pool->threads_max && pool_start_thread(pool) == 0) {
        pool->threads_started++;
    }
    return pool->threads_started > 0;
}

void pool_submit(struct pool *pool, struct job *job)
{
    job->inbox = pool->inbox;
    job->next = NULL;
    uv_mutex_lock(&pool->lock);
    assert(!pool->stopping);
    bool queued = pool_has_thread(pool);
    if (queued) {
        *pool->tail = job;
        pool->tail = &job->next;
        uv_cond_signal(&pool->wake);
    }
    uv_mutex_unlock(&pool->lock);
    if (!queued) {
        /* The machine gives no thread: slow, but in order and done, is better than never. */
        log_error("no thread",
                  "pool=%s work runs on the caller's thread, everything is slow",
                  pool->name);
        pool_run(job);
    }
}

struct pool *pool_free(struct pool *pool)
{
    if (pool == NULL) {
        return NULL;
    }
    uv_mutex_lock(&pool->lock);
    pool->stopping = true;
    uv_cond_broadcast(&pool->wake);
    uv_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->threads_started; i++) {
        (void)uv_thread_join(&pool->threads[i]);
    }
    uv_cond_destroy(&pool->wake);
    uv_mutex_destroy(&pool->lock);
    free(pool);
    return NULL;
}
