/* bench.h: what the parts of `cairn bench` share: which rows there are, and what was measured for
 * them.
 *
 *   cmd_bench.c     the command: checks the room, makes a directory, runs itself beside a private
 *                   daemon (exec.c), removes the directory
 *   bench_place.c   room and directory
 *   bench_run.c     the one that measures, in a process of its own: rounds
 *   bench_steps.c   of these steps
 *   bench_restart.c and of this one: a trainer goes, the next one comes
 *   bench_floor.c   what the machine can do at best
 *   bench_state.c   the training state that is saved
 *   bench_report.c  ratios, goals, the table and the JSON */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_ROUNDS_MAX = 99, BENCH_SMALL_COUNT = 100000, BENCH_SMALL_BYTES = 1024 };
#define BENCH_MIB (UINT64_C(1) << 20)

struct bench_options {
    uint64_t size_bytes; /* of the state; whole MiB, since O_DIRECT wants whole blocks */
    unsigned rounds;
    bool json, quiet;
};

enum bench_row {
    BENCH_CAPTURE,
    BENCH_CAPTURE_2,
    BENCH_SAVE,
    BENCH_STEADY,
    BENCH_FROZEN,
    BENCH_LOAD,
    BENCH_SMALL,
    BENCH_DAEMON_CPU,
    BENCH_RESIDENT,
    BENCH_RESIDENT_ALL,
    BENCH_ROWS /* how many */
};

struct bench_figures {
    unsigned rounds;
    bool buffered;          /* the disk's floors went through the page cache, ... */
    char buffered_why[160]; /* ... because of this; "" when not */
    uint64_t bytes[BENCH_ROWS];
    uint64_t frozen_new_bytes; /* written for BENCH_FROZEN, at most */
    double seconds[BENCH_ROWS][BENCH_ROUNDS_MAX];
    double floor_seconds[BENCH_ROWS][BENCH_ROUNDS_MAX];
};

/* Measure, in the directory `place`, against the daemon that CAIRN_SOCKET names; print the figures.
 * Says what fails. Returns enum out_exit. */
int bench_run(const struct bench_options *o, const char *place);

/* Print the figures: a table for people, or one JSON object a line. */
void bench_report(const struct bench_options *o, const struct bench_figures *f);

#endif
