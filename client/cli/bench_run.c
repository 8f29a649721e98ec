/* bench_run.c: rounds of steps. Floors stand beside what they judge, and change places with it from
 * round to round, so that neither has the better half of a disk's or a neighbour's mood. */
#include <cairn/admin.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "bench_floor.h"
#include "bench_state.h"
#include "output.h"

#define RUN_NAME "bench"
#define RUN_TENSOR_BYTES (32 * BENCH_MIB)
#define RUN_SMALL_RATE 300000.0 /* entries a second */
#define RUN_CPU_PER_GIB 0.25    /* seconds */
#define RUN_GIB (1024.0 * (double)BENCH_MIB)

struct bench {
    const struct bench_options *options;
    struct cairn *c;
    uint64_t daemon_pid;
    clockid_t daemon_clock; /* CPU time of all its threads */
    struct bench_state state, small;
    uint8_t *copy; /* as large as the state; holds it after the memcpy of a round */
    struct bench_floor floor;
    struct bench_figures figures;
    unsigned round;
    const char *doing;
    int code; /* enum out_exit, once a step failed */
};

/* ---- failures: said here, once; -1 goes up ---- */

static int run_library(struct bench *b, int rc)
{
    if (rc < 0) {
        b->code = (int)out_fail(b->c, b->options->json, rc, b->doing);
    }
    return rc < 0 ? -1 : 0;
}

static int run_system(struct bench *b, int rc)
{
    if (rc < 0) {
        int code = errno == ENOSPC ? -CAIRN_ENOSPC : errno == ENOMEM ? -CAIRN_ENOMEM : -CAIRN_EIO;
        const char *why = strerrordesc_np(errno);
        b->code = (int)out_fail_why(b->options->json, code, b->doing, why);
    }
    return rc < 0 ? -1 : 0;
}

static int run_broken(struct bench *b, int rc, const char *why)
{
    b->code = (int)out_fail_why(b->options->json, rc, b->doing, why);
    return -1;
}

/* ---- steps of a round ---- */

static double run_daemon_seconds(const struct bench *b)
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

static int step_raw_write(struct bench *b)
{
    double *floor = &b->figures.floor_seconds[BENCH_SAVE][b->round];
    int rc = bench_floor_settle(&b->floor);
    if (rc == 0) {
        rc = bench_floor_write(&b->floor, b->state.memory, b->state.bytes, floor);
    }
    return run_system(b, rc);
}

static int step_raw_read(struct bench *b)
{
    double *floor = &b->figures.floor_seconds[BENCH_LOAD][b->round];
    int rc = bench_floor_settle(&b->floor);
    if (rc == 0) {
        rc = bench_floor_read(&b->floor, b->copy, b->state.bytes, floor);
    }
    return run_system(b, rc);
}

/* Capture, and save until the daemon says that it is durable. */
static int run_save(struct bench *b, const struct bench_state *s, double *capture, double *durable)
{
    struct cairn_record *r = NULL;
    struct cairn_save_args args = { .step = s->step };
    double start = bench_now();
    int rc = cairn_capture(b->c, &s->trainer, &r);
    *capture = bench_now() - start;
    if (rc == 0) {
        rc = cairn_save(b->c, &r, &args, NULL);
    }
    *durable = bench_now() - start;
    (void)cairn_record_free(r);
    return run_library(b, rc);
}

static int step_save(struct bench *b)
{
    struct bench_figures *f = &b->figures;
    if (run_system(b, bench_floor_settle(&b->floor)) < 0) {
        return -1;
    }
    double cpu = run_daemon_seconds(b);
    int rc = run_save(
        b, &b->state, &f->seconds[BENCH_CAPTURE][b->round], &f->seconds[BENCH_SAVE][b->round]);
    f->seconds[BENCH_DAEMON_CPU][b->round] = run_daemon_seconds(b) - cpu;
    f->floor_seconds[BENCH_DAEMON_CPU][b->round] =
        RUN_CPU_PER_GIB * (double)b->state.bytes / RUN_GIB;
    return rc;
}

static int step_load(struct bench *b)
{
    struct cairn_record *r = NULL;
    uint64_t step = b->state.step;
    memset(b->state.memory, 0, b->state.bytes);
    if (run_system(b, bench_floor_settle(&b->floor)) < 0) {
        return -1;
    }
    double start = bench_now();
    int rc = cairn_load(b->c, "latest", 0, &r);
    if (rc == 0) {
        rc = cairn_restore(b->c, r, &b->state.trainer);
    }
    b->figures.seconds[BENCH_LOAD][b->round] = bench_now() - start;
    (void)cairn_record_free(r);
    if (run_library(b, rc) < 0) {
        return -1;
    }
    return b->state.step == step && memcmp(b->state.memory, b->copy, b->state.bytes) == 0
               ? 0
               : run_broken(b, -CAIRN_ECORRUPT, "other bytes came back than were saved");
}

static int step_small(struct bench *b)
{
    struct bench_figures *f = &b->figures;
    double capture = 0;
    if (run_system(b, bench_floor_settle(&b->floor)) < 0) {
        return -1;
    }
    f->floor_seconds[BENCH_SMALL][b->round] = BENCH_SMALL_COUNT / RUN_SMALL_RATE;
    return run_save(b, &b->small, &capture, &f->seconds[BENCH_SMALL][b->round]);
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
    return run_library(b, rc);
}

/* The disk is as full as before. */
static int step_end(struct bench *b)
{
    bench_floor_drop(&b->floor);
    return run_library(b, cairn_run_drop(b->c));
}

/* ---- the whole ---- */

static const struct run_step {
    const char *name;
    int (*take)(struct bench *b);
} run_steps[2][8] = {
    {
        { "begin", step_begin },
        { "raw write", step_raw_write },
        { "memcpy", step_memcpy },
        { "save", step_save },
        { "raw read", step_raw_read },
        { "load", step_load },
        { "small tensors", step_small },
        { "end", step_end },
    },
    {
        { "begin", step_begin },
        { "save", step_save },
        { "memcpy", step_memcpy },
        { "raw write", step_raw_write },
        { "load", step_load },
        { "raw read", step_raw_read },
        { "small tensors", step_small },
        { "end", step_end },
    },
};

static void run_progress(const struct bench *b, const char *step)
{
    if (!b->options->quiet && isatty(STDERR_FILENO) == 1) {
        (void)fprintf(stderr, "\r\033[Kround %u of %u: %s", b->round + 1, b->options->rounds, step);
    }
}

static void run_progress_end(const struct bench *b)
{
    if (!b->options->quiet && isatty(STDERR_FILENO) == 1) {
        (void)fputs("\r\033[K", stderr);
    }
}

static int run_round(struct bench *b)
{
    const struct run_step *steps = run_steps[b->round % 2];
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof run_steps[0] / sizeof run_steps[0][0]; i++) {
        run_progress(b, steps[i].name);
        b->doing = steps[i].name;
        rc = steps[i].take(b);
    }
    run_progress_end(b);
    return rc;
}

/* What only the first has to pay: the library's memory for a capture, the daemon's buffers. */
static int run_warm(struct bench *b)
{
    struct cairn_record *r = NULL;
    double unused[2];
    b->doing = "warm up";
    int rc = run_library(b, cairn_capture(b->c, &b->state.trainer, &r));
    (void)cairn_record_free(r);
    rc = rc < 0 ? rc : run_save(b, &b->small, &unused[0], &unused[1]);
    return rc < 0 ? rc : step_end(b);
}

static int run_daemon(struct bench *b, uint64_t *ret_pid)
{
    struct cairn_status status = { 0 };
    int rc = run_library(b, cairn_status(b->c, &status));
    *ret_pid = status.pid;
    return rc;
}

static int run_open(struct bench *b, const char *place)
{
    const struct bench_options *o = b->options;
    b->doing = "connect";
    if (run_library(b, cairn_open(NULL, RUN_NAME, &b->c)) < 0 ||
        run_daemon(b, &b->daemon_pid) < 0) {
        return -1;
    }
    errno = clock_getcpuclockid((pid_t)b->daemon_pid, &b->daemon_clock);
    if (run_system(b, errno == 0 ? 0 : -1) < 0) {
        return -1;
    }
    b->doing = "memory";
    b->copy = bench_memory(o->size_bytes);
    if (run_system(b, b->copy == NULL ? -1 : 0) < 0 ||
        run_system(b, bench_state_init(&b->state, o->size_bytes, RUN_TENSOR_BYTES)) < 0 ||
        run_system(b,
                   bench_state_init(&b->small,
                                    (uint64_t)BENCH_SMALL_COUNT * BENCH_SMALL_BYTES,
                                    BENCH_SMALL_BYTES)) < 0) {
        return -1;
    }
    b->doing = "floor";
    return run_system(b, bench_floor_init(&b->floor, place));
}

static int run_rounds(struct bench *b)
{
    struct bench_figures *f = &b->figures;
    uint64_t pid = 0;
    f->rounds = b->options->rounds;
    f->buffered = b->floor.buffered;
    for (enum bench_row row = 0; row < BENCH_ROWS; row++) {
        f->bytes[row] = row == BENCH_SMALL ? b->small.bytes : b->state.bytes;
    }
    int rc = run_warm(b);
    for (b->round = 0; rc == 0 && b->round < f->rounds; b->round++) {
        rc = run_round(b);
    }
    b->doing = "daemon";
    if (rc == 0 && run_daemon(b, &pid) == 0 && pid != b->daemon_pid) {
        return run_broken(b, -CAIRN_ECONN, "it was started again meanwhile: no figure can be used");
    }
    return rc;
}

int bench_run(const struct bench_options *o, const char *place)
{
    struct bench *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return (int)out_fail(NULL, o->json, -CAIRN_ENOMEM, "bench");
    }
    b->options = o;
    if (run_open(b, place) == 0 && run_rounds(b) == 0) {
        bench_report(o, &b->figures);
    }
    int code = b->code;
    bench_floor_fini(&b->floor);
    bench_state_fini(&b->state);
    bench_state_fini(&b->small);
    if (b->copy != NULL) {
        (void)munmap(b->copy, o->size_bytes);
    }
    (void)cairn_close(b->c);
    free(b);
    return code;
}
