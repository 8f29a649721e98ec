/* bench_run.c: the process that measures: opens everything, goes through the rounds, prints. */
#include <cairn/admin.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench_steps.h"
#include "output.h"

#define RUN_NAME "bench"
#define RUN_TENSOR_BYTES (32 * BENCH_MIB)

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
    const struct bench_step *steps = bench_steps[b->round % 2];
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < BENCH_STEPS; i++) {
        run_progress(b, steps[i].name);
        b->doing = steps[i].name;
        rc = steps[i].take(b);
    }
    run_progress_end(b);
    return rc;
}

/* What only the first has to pay: the library's memory for a capture, the daemon's buffers. The
 * memory as a trainer gets it that knows its size. */
static int run_warm(struct bench *b)
{
    struct cairn_record *r = NULL;
    double unused[2];
    uint64_t bytes = b->state.bytes > b->small.bytes ? b->state.bytes : b->small.bytes;
    b->doing = "warm up";
    int rc = bench_library(b, cairn_warm(b->c, bytes, 1));
    rc = rc < 0 ? rc : bench_library(b, cairn_capture(b->c, &b->state.trainer, &r));
    (void)cairn_record_free(r);
    rc = rc < 0 ? rc : bench_save(b, &b->small, &unused[0], &unused[1]);
    return rc < 0 ? rc : bench_step_end(b);
}

/* Like is compared with like: where the daemon goes through the page cache, so do the floors. */
static int run_floor(struct bench *b, const char *place, const struct cairn_status *status)
{
    struct bench_figures *f = &b->figures;
    bool daemon_buffered = strcmp(status->io_mode, "direct") != 0;
    b->doing = "floor";
    int rc = bench_system(b, bench_floor_init(&b->floor, place, daemon_buffered));
    f->buffered = b->floor.buffered;
    if (f->buffered) {
        (void)snprintf(f->buffered_why,
                       sizeof f->buffered_why,
                       "%s",
                       daemon_buffered ? status->io_why : "the file system refuses it");
    }
    return rc;
}

/* The daemon is the same one as at the start, or every figure is spoiled. */
static int run_same_daemon(struct bench *b)
{
    struct cairn_status status = { 0 };
    b->doing = "daemon";
    if (bench_library(b, cairn_status(b->c, &status)) < 0) {
        return -1;
    }
    return status.pid == b->daemon_pid
               ? 0
               : bench_broken(b, -CAIRN_ECONN, "it was started again: no figure can be used");
}

static int run_memory(struct bench *b)
{
    uint64_t size_bytes = b->options->size_bytes;
    uint64_t small_bytes = (uint64_t)BENCH_SMALL_COUNT * BENCH_SMALL_BYTES;
    b->doing = "memory";
    b->copy = bench_memory(size_bytes);
    int rc = b->copy == NULL ? -1 : bench_state_init(&b->state, size_bytes, RUN_TENSOR_BYTES);
    if (rc == 0) {
        rc = bench_state_init(&b->small, small_bytes, BENCH_SMALL_BYTES);
    }
    return bench_system(b, rc);
}

static int run_open(struct bench *b, const char *place)
{
    struct cairn_status status = { 0 };
    b->doing = "connect";
    int rc = cairn_open(NULL, RUN_NAME, &b->c);
    if (rc == 0) {
        rc = cairn_status(b->c, &status);
    }
    if (bench_library(b, rc) < 0) {
        return -1;
    }
    b->daemon_pid = status.pid;
    errno = clock_getcpuclockid((pid_t)status.pid, &b->daemon_clock);
    if (bench_system(b, errno == 0 ? 0 : -1) < 0 || run_memory(b) < 0) {
        return -1;
    }
    return run_floor(b, place, &status);
}

static int run_rounds(struct bench *b)
{
    struct bench_figures *f = &b->figures;
    f->rounds = b->options->rounds;
    for (enum bench_row row = 0; row < BENCH_ROWS; row++) {
        f->bytes[row] = row == BENCH_SMALL ? b->small.bytes : b->state.bytes;
    }
    int rc = run_warm(b);
    for (b->round = 0; rc == 0 && b->round < f->rounds; b->round++) {
        rc = run_round(b);
    }
    return rc < 0 ? rc : run_same_daemon(b);
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
