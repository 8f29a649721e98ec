/* bench_steps.c: floors stand beside what they judge, and change places with it from round to
 * round, so that neither has the better half of a disk's or a neighbour's mood. */
#include "bench_steps.h"

#include <cairn/admin.h>
#include <errno.h>
#include <string.h>

#include "output.h"

#define STEP_SMALL_RATE 300000.0 /* entries a second */
#define STEP_CPU_PER_GIB 0.25    /* seconds */
#define STEP_GIB (1024.0 * (double)BENCH_MIB)

/* ---- failures: said here, once; -1 goes up ---- */

int bench_library_of(struct bench *b, struct cairn *c, int rc)
{
    if (rc < 0) {
        b->code = (int)out_fail(c, b->options->json, rc, b->doing);
    }
    return rc < 0 ? -1 : 0;
}

int bench_library(struct bench *b, int rc)
{
    return bench_library_of(b, b->c, rc);
}

int bench_system(struct bench *b, int rc)
{
    if (rc < 0) {
        int code = errno == ENOSPC ? -CAIRN_ENOSPC : errno == ENOMEM ? -CAIRN_ENOMEM : -CAIRN_EIO;
        const char *why = strerrordesc_np(errno);
        b->code = (int)out_fail_why(b->options->json, code, b->doing, why);
    }
    return rc < 0 ? -1 : 0;
}

int bench_broken(struct bench *b, int rc, const char *why)
{
    b->code = (int)out_fail_why(b->options->json, rc, b->doing, why);
    return -1;
}

/* ---- steps of a round ---- */

static double step_daemon_seconds(const struct bench *b)
{
    struct timespec spent = { 0 };
    (void)clock_gettime(b->daemon_clock, &spent);
    return (double)spent.tv_sec + (double)spent.tv_nsec * 1e-9;
}

static int step_memcpy(struct bench *b)
{
    double *floor = b->figures.floor_seconds[BENCH_CAPTURE];
    floor[b->round] = bench_floor_memcpy(b->copy, b->state.memory, b->state.bytes);
    return 0;
}

static int step_memcpy_2(struct bench *b)
{
    double *floor = &b->figures.floor_seconds[BENCH_CAPTURE_2][b->round];
    *floor = bench_floor_memcpy_2(b->copy, b->state.memory, b->state.bytes);
    return bench_system(b, *floor > 0 ? 0 : -1);
}

static int step_raw_write(struct bench *b)
{
    double *floor = &b->figures.floor_seconds[BENCH_SAVE][b->round];
    int rc = bench_floor_settle(&b->floor);
    if (rc == 0) {
        rc = bench_floor_write(&b->floor, b->state.memory, b->state.bytes, floor);
    }
    return bench_system(b, rc);
}

static int step_raw_read(struct bench *b)
{
    double *floor = &b->figures.floor_seconds[BENCH_LOAD][b->round];
    int rc = bench_floor_settle(&b->floor);
    if (rc == 0) {
        rc = bench_floor_read(&b->floor, b->copy, b->state.bytes, floor);
    }
    return bench_system(b, rc);
}

static int step_save_as(struct bench *b,
                        const struct bench_state *s,
                        double *capture,
                        double *durable,
                        struct cairn_boundary *ret)
{
    struct cairn_record *r = NULL;
    struct cairn_save_args args = { .step = s->step };
    double start = bench_now();
    int rc = cairn_capture(b->c, &s->trainer, &r);
    *capture = bench_now() - start;
    if (rc == 0) {
        rc = cairn_save(b->c, &r, &args, ret);
    }
    *durable = bench_now() - start;
    (void)cairn_record_free(r);
    return bench_library(b, rc);
}

int bench_save(struct bench *b, const struct bench_state *s, double *capture, double *durable)
{
    return step_save_as(b, s, capture, durable, NULL);
}

static int step_save(struct bench *b)
{
    struct bench_figures *f = &b->figures;
    if (bench_system(b, bench_floor_settle(&b->floor)) < 0) {
        return -1;
    }
    double cpu = step_daemon_seconds(b);
    int rc = bench_save(
        b, &b->state, &f->seconds[BENCH_CAPTURE][b->round], &f->seconds[BENCH_SAVE][b->round]);
    f->seconds[BENCH_DAEMON_CPU][b->round] = step_daemon_seconds(b) - cpu;
    f->floor_seconds[BENCH_DAEMON_CPU][b->round] =
        STEP_CPU_PER_GIB * (double)b->state.bytes / STEP_GIB;
    return rc;
}

/* Into the memory of the save before it; nothing is saved. */
static int step_capture_2(struct bench *b)
{
    struct cairn_record *r = NULL;
    if (bench_library(b, cairn_set_threads(b->c, 2)) < 0) {
        return -1;
    }
    double start = bench_now();
    int rc = cairn_capture(b->c, &b->state.trainer, &r);
    b->figures.seconds[BENCH_CAPTURE_2][b->round] = bench_now() - start;
    (void)cairn_record_free(r);
    rc = bench_library(b, rc);
    return rc < 0 ? rc : bench_library(b, cairn_set_threads(b->c, 1));
}

static int step_load(struct bench *b)
{
    struct cairn_record *r = NULL;
    uint64_t step = b->state.step;
    memset(b->state.memory, 0, b->state.bytes);
    if (bench_system(b, bench_floor_settle(&b->floor)) < 0) {
        return -1;
    }
    double start = bench_now();
    int rc = cairn_load(b->c, "latest", 0, &r);
    if (rc == 0) {
        rc = cairn_restore(b->c, r, &b->state.trainer);
    }
    b->figures.seconds[BENCH_LOAD][b->round] = bench_now() - start;
    (void)cairn_record_free(r);
    if (bench_library(b, rc) < 0) {
        return -1;
    }
    return b->state.step == step && memcmp(b->state.memory, b->copy, b->state.bytes) == 0
               ? 0
               : bench_broken(b, -CAIRN_ECORRUPT, "other bytes came back than were saved");
}

/* A run in its steady state: as many boundaries go as come. The oldest went after the last commit,
 * and left its space. */
static int step_steady_ready(struct bench *b)
{
    double unused[2];
    bench_floor_drop(&b->floor);
    bench_state_step(&b->state, b->state.step + 1);
    int rc = bench_save(b, &b->state, &unused[0], &unused[1]);
    rc = rc < 0 ? rc : bench_library(b, cairn_remove(b->c, "latest~1", NULL));
    bench_state_step(&b->state, b->state.step + 1);
    memcpy(b->copy, b->state.memory, b->state.bytes);
    return rc;
}

static int step_steady_floor(struct bench *b)
{
    double *floor = &b->figures.floor_seconds[BENCH_STEADY][b->round];
    int rc = bench_floor_settle(&b->floor);
    rc = rc < 0 ? rc : bench_floor_write(&b->floor, b->state.memory, b->state.bytes, floor);
    return bench_system(b, rc);
}

static int step_steady_save(struct bench *b)
{
    double capture = 0;
    int rc = bench_system(b, bench_floor_settle(&b->floor));
    return rc < 0 ? rc
                  : bench_save(b, &b->state, &capture, &b->figures.seconds[BENCH_STEADY][b->round]);
}

static int step_steady(struct bench *b)
{
    bool floor_first = b->round % 2 == 0;
    int rc = step_steady_ready(b);
    rc = rc < 0 ? rc : floor_first ? step_steady_floor(b) : step_steady_save(b);
    return rc < 0 ? rc : floor_first ? step_steady_save(b) : step_steady_floor(b);
}

/* Nine tenths are as they were: they are not written again. What is referred to for the first time
 * is read back, once: that is over before this is measured. */
static int step_frozen(struct bench *b)
{
    struct bench_figures *f = &b->figures;
    struct cairn_boundary saved = { .seq = 0 };
    double unused[2];
    bench_floor_drop(&b->floor);
    bench_state_step_frozen(&b->state, b->state.step + 1);
    int rc = bench_save(b, &b->state, &unused[0], &unused[1]);
    rc = rc < 0 ? rc : bench_library(b, cairn_remove(b->c, "latest~2", NULL));
    bench_state_step_frozen(&b->state, b->state.step + 1);
    rc = rc < 0 ? rc : bench_system(b, bench_floor_settle(&b->floor));
    if (rc < 0) {
        return -1;
    }
    rc = step_save_as(b, &b->state, &unused[0], &f->seconds[BENCH_FROZEN][b->round], &saved);
    f->floor_seconds[BENCH_FROZEN][b->round] = f->seconds[BENCH_SAVE][b->round];
    f->frozen_new_bytes =
        saved.bytes_new > f->frozen_new_bytes ? saved.bytes_new : f->frozen_new_bytes;
    return rc;
}

static int step_small(struct bench *b)
{
    struct bench_figures *f = &b->figures;
    double capture = 0;
    if (bench_system(b, bench_floor_settle(&b->floor)) < 0) {
        return -1;
    }
    f->floor_seconds[BENCH_SMALL][b->round] = BENCH_SMALL_COUNT / STEP_SMALL_RATE;
    return bench_save(b, &b->small, &capture, &f->seconds[BENCH_SMALL][b->round]);
}

/* The next step of the trainer. The run has its directory and index before anything is measured,
 * as the run of a trainer has: a save of next to nothing makes them. */
static int step_begin(struct bench *b)
{
    struct cairn_record *r = NULL;
    struct cairn_trainer nothing = { 0 };
    bench_state_step(&b->state, b->round + 1);
    bench_state_step(&b->small, b->round + 1);
    int rc = cairn_capture(b->c, &nothing, &r);
    if (rc == 0) {
        rc = cairn_save(b->c, &r, &(struct cairn_save_args){ 0 }, NULL);
    }
    (void)cairn_record_free(r);
    return bench_library(b, rc);
}

int bench_step_end(struct bench *b)
{
    bench_floor_drop(&b->floor);
    return bench_library(b, cairn_run_drop(b->c));
}

/* ---- the order ---- */

const struct bench_step bench_steps[2][BENCH_STEPS] = {
    {
        { "begin", step_begin },
        { "raw write", step_raw_write },
        { "memcpy", step_memcpy },
        { "save", step_save },
        { "memcpy, 2 threads", step_memcpy_2 },
        { "capture, 2 threads", step_capture_2 },
        { "raw read", step_raw_read },
        { "load", step_load },
        { "steady state", step_steady },
        { "frozen parameters", step_frozen },
        { "small tensors", step_small },
        { "end", bench_step_end },
        { "restart", bench_step_restart },
    },
    {
        { "begin", step_begin },
        { "save", step_save },
        { "memcpy", step_memcpy },
        { "raw write", step_raw_write },
        { "capture, 2 threads", step_capture_2 },
        { "memcpy, 2 threads", step_memcpy_2 },
        { "load", step_load },
        { "raw read", step_raw_read },
        { "steady state", step_steady },
        { "frozen parameters", step_frozen },
        { "small tensors", step_small },
        { "end", bench_step_end },
        { "restart", bench_step_restart },
    },
};
