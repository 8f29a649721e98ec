#include <pthread.h>
#include <stdlib.h>

#include "loop.h"
#include "support/case.h"
#include "work/job.h"

/* The build wraps uv_thread_create: the first `thread_failures` calls fail. The names are the
 * linker's. */
static int thread_failures;
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,readability-identifier-naming) */
int __real_uv_thread_create(uv_thread_t *tid, uv_thread_cb entry, void *arg);
int __wrap_uv_thread_create(uv_thread_t *tid, uv_thread_cb entry, void *arg);
int __wrap_uv_thread_create(uv_thread_t *tid, uv_thread_cb entry, void *arg)
{
    if (thread_failures > 0) {
        thread_failures--;
        return UV_EAGAIN;
    }
    return __real_uv_thread_create(tid, entry, arg);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,readability-identifier-naming) */

struct fixture {
    uv_loop_t loop;
    struct inbox inbox;
    struct pool *pool;
    unsigned done, wanted;
    unsigned running, running_max; /* written by jobs, under lock */
    pthread_mutex_t lock;
    bool closed;
};

struct count_job {
    struct job job;
    struct fixture *f;
    pthread_t thread;
    unsigned number;
    char name[16];
    bool worked;
};

static void begin(struct fixture *f, unsigned threads)
{
    *f = (struct fixture){ .lock = PTHREAD_MUTEX_INITIALIZER };
    cr_assert_eq(uv_loop_init(&f->loop), 0);
    cr_assert_eq(inbox_init(&f->inbox, &f->loop), 0);
    f->pool = pool_new("a-name-that-is-too-long", threads, &f->inbox);
    cr_assert_not_null(f->pool);
}

static void inbox_gone(struct inbox *inbox)
{
    struct fixture *f = (struct fixture *)((char *)inbox - offsetof(struct fixture, inbox));
    f->closed = true;
}

static bool all_done(void *arg)
{
    const struct fixture *f = arg;
    return f->done == f->wanted;
}

static void end(struct fixture *f)
{
    f->pool = pool_free(f->pool);
    cr_assert(loop_until(&f->loop, all_done, f));
    inbox_close(&f->inbox, inbox_gone);
    cr_assert(loop_until(&f->loop, loop_flag, &f->closed));
    cr_assert(loop_end(&f->loop));
}

static void count_work(struct job *job)
{
    struct count_job *c = (struct count_job *)job;
    (void)pthread_mutex_lock(&c->f->lock);
    c->f->running++;
    if (c->f->running > c->f->running_max) {
        c->f->running_max = c->f->running;
    }
    (void)pthread_mutex_unlock(&c->f->lock);
    c->thread = pthread_self();
    (void)pthread_getname_np(c->thread, c->name, sizeof c->name);
    c->worked = true;
    (void)pthread_mutex_lock(&c->f->lock);
    c->f->running--;
    (void)pthread_mutex_unlock(&c->f->lock);
}

static void count_done(struct job *job)
{
    struct count_job *c = (struct count_job *)job;
    cr_assert(c->worked);
    c->f->done++;
}

static void submit(struct fixture *f, struct count_job *c, unsigned number)
{
    *c = (struct count_job){ .f = f, .number = number };
    c->job.work = count_work;
    c->job.done = count_done;
    f->wanted++;
    pool_submit(f->pool, &c->job);
}

CASE(job, done_runs_on_the_loop_and_work_elsewhere)
{
    struct fixture f;
    struct count_job c;
    begin(&f, 1);
    submit(&f, &c, 0);
    cr_assert_eq(f.done, 0, "never from inside of submit");
    cr_assert(loop_until(&f.loop, all_done, &f));
    cr_assert_not(pthread_equal(c.thread, pthread_self()));
    cr_assert_str_eq(c.name, "a-name-that-is-");
    end(&f);
}

static unsigned expected_number;
static void ordered_done(struct job *job)
{
    struct count_job *c = (struct count_job *)job;
    cr_assert_eq(c->number, expected_number);
    expected_number++;
    count_done(job);
}

CASE(job, a_lane_keeps_the_order)
{
    enum { JOBS = 5000 };
    struct fixture f;
    struct count_job *jobs = calloc(JOBS, sizeof *jobs);
    begin(&f, 1);
    expected_number = 0;
    for (unsigned i = 0; i < JOBS; i++) {
        jobs[i] = (struct count_job){ .f = &f, .number = i };
        jobs[i].job.work = count_work;
        jobs[i].job.done = ordered_done;
        f.wanted++;
        pool_submit(f.pool, &jobs[i].job);
        if (i % 100 == 0) {
            (void)uv_run(&f.loop, UV_RUN_NOWAIT);
        }
    }
    cr_assert(loop_until(&f.loop, all_done, &f));
    cr_assert_eq(f.running_max, 1);
    end(&f);
    free(jobs);
}

/* Each job meets its partner inside work: possible only when both run at once. */
static pthread_barrier_t meeting;
static void meet_work(struct job *job)
{
    (void)pthread_barrier_wait(&meeting);
    ((struct count_job *)job)->worked = true;
}

CASE(job, a_pool_of_two_runs_two_at_once)
{
    struct fixture f;
    struct count_job jobs[2];
    begin(&f, 2);
    (void)pthread_barrier_init(&meeting, NULL, 2);
    for (unsigned i = 0; i < 2; i++) {
        jobs[i] = (struct count_job){ .f = &f };
        jobs[i].job.work = meet_work;
        jobs[i].job.done = count_done;
        f.wanted++;
        pool_submit(f.pool, &jobs[i].job);
    }
    cr_assert(loop_until(&f.loop, all_done, &f));
    (void)pthread_barrier_destroy(&meeting);
    end(&f);
}

CASE(job, freeing_a_pool_finishes_its_queue)
{
    enum { JOBS = 1000 };
    struct fixture f;
    struct count_job *jobs = calloc(JOBS, sizeof *jobs);
    begin(&f, 2);
    for (unsigned i = 0; i < JOBS; i++) {
        submit(&f, &jobs[i], i);
    }
    end(&f); /* frees the pool first, then waits for every done */
    cr_assert_eq(f.done, JOBS);
    free(jobs);
}

/* From one pool into another, as the digest goes behind a write. */
static struct pool *second;
static void resubmit_done(struct job *job)
{
    struct count_job *c = (struct count_job *)job;
    if (c->number > 0) {
        c->number--;
        pool_submit(second, job);
        return;
    }
    count_done(job);
}

CASE(job, a_job_goes_on_in_another_pool)
{
    enum { JOBS = 50, ROUNDS = 20 };
    struct fixture f;
    struct count_job jobs[JOBS];
    begin(&f, 2);
    second = pool_new("second", 1, &f.inbox);
    for (unsigned i = 0; i < JOBS; i++) {
        jobs[i] = (struct count_job){ .f = &f, .number = ROUNDS };
        jobs[i].job.work = count_work;
        jobs[i].job.done = resubmit_done;
        f.wanted++;
        pool_submit(f.pool, &jobs[i].job);
    }
    cr_assert(loop_until(&f.loop, all_done, &f));
    second = pool_free(second);
    end(&f);
}

static void post_thread(void *arg)
{
    struct count_job *jobs = arg;
    for (unsigned i = 0; i < 500; i++) {
        jobs[i].worked = true;
        inbox_post(&jobs[i].f->inbox, &jobs[i].job);
    }
}

CASE(job, an_inbox_loses_nothing_of_many_posters)
{
    enum { THREADS = 4, JOBS = 500 };
    struct fixture f;
    struct count_job *jobs = calloc((size_t)THREADS * JOBS, sizeof *jobs);
    uv_thread_t threads[THREADS];
    begin(&f, 1);
    f.wanted = THREADS * JOBS;
    for (unsigned i = 0; i < THREADS * JOBS; i++) {
        jobs[i] = (struct count_job){ .f = &f };
        jobs[i].job.done = count_done;
    }
    for (unsigned t = 0; t < THREADS; t++) {
        cr_assert_eq(uv_thread_create(&threads[t], post_thread, jobs + (size_t)t * JOBS), 0);
    }
    cr_assert(loop_until(&f.loop, all_done, &f));
    for (unsigned t = 0; t < THREADS; t++) {
        (void)uv_thread_join(&threads[t]);
    }
    end(&f);
    free(jobs);
}

CASE(job, a_job_without_work_is_done)
{
    struct fixture f;
    begin(&f, 1);
    struct count_job c = { .f = &f, .worked = true };
    c.job.done = count_done;
    f.wanted = 1;
    pool_submit(f.pool, &c.job);
    cr_assert(loop_until(&f.loop, all_done, &f));
    end(&f);
}

CASE(job, a_pool_that_was_never_used_is_freed)
{
    struct fixture f;
    begin(&f, 3);
    end(&f);
    cr_assert_null(pool_free(NULL));
}

CASE(job, without_any_thread_the_work_is_still_done)
{
    struct fixture f;
    struct count_job jobs[3];
    begin(&f, 1);
    thread_failures = 2;
    for (unsigned i = 0; i < 3; i++) {
        submit(&f, &jobs[i], i);
    }
    cr_assert(loop_until(&f.loop, all_done, &f));
    cr_assert(pthread_equal(jobs[0].thread, pthread_self()));
    cr_assert_not(pthread_equal(jobs[2].thread, pthread_self()), "the third thread was to be had");
    end(&f);
}
