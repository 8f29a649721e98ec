/* bench_steps.h: what one round consists of, and the state of the process that measures. */
#ifndef CLI_BENCH_STEPS_H
#define CLI_BENCH_STEPS_H

#include <cairn/record.h>
#include <time.h>

#include "bench.h"
#include "bench_floor.h"
#include "bench_state.h"

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

/* For those who do something for b, who have set b->doing: say what failed and keep the exit code.
 * rc: of the library; of a call with errno; of a finding of our own. Return 0 or -1. */
int bench_library(struct bench *b, int rc);
int bench_library_of(struct bench *b, struct cairn *c, int rc); /* on another handle than b's */
int bench_system(struct bench *b, int rc);
int bench_broken(struct bench *b, int rc, const char *why);

/* Capture, and save until the daemon says that it is durable: seconds from the start until each.
 * Returns 0 or -1. */
int bench_save(struct bench *b, const struct bench_state *s, double *capture, double *durable);
/* Drop what was saved: the disk is as full as before. Returns 0 or -1. */
int bench_step_end(struct bench *b);

/* One trainer saves and goes, the next one restores from its memory. Returns 0 or -1. */
int bench_step_restart(struct bench *b);

/* The steps of even rounds and of odd ones, in order. */
struct bench_step {
    const char *name;
    int (*take)(struct bench *b); /* 0 or -1 */
};
enum { BENCH_STEPS = 13 };
extern const struct bench_step bench_steps[2][BENCH_STEPS];

#endif
