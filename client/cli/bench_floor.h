/* bench_floor.h: what the machine can do at best, measured: one or two threads' memcpy, and one
 * file written and read in order, past the page cache where that can be had. */
#ifndef CLI_BENCH_FLOOR_H
#define CLI_BENCH_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_floor {
    char *path;    /* the file; there between a write and bench_floor_drop */
    bool buffered; /* through the page cache */
};

/* Seconds of a clock that only goes forward. */
double bench_now(void);

/* A file in `place`; buffered also when that is not wanted but O_DIRECT is refused there.
 * Returns 0 or -1 with errno; bench_floor_fini in both cases. */
int bench_floor_init(struct bench_floor *f, const char *place, bool buffered);
void bench_floor_fini(struct bench_floor *f);

/* Wait until the file system has written what others left to it (the file that was dropped, the
 * journal), so that nobody is charged for it. Returns 0 or -1 with errno. */
int bench_floor_settle(const struct bench_floor *f);

/* Each takes page-aligned memory and whole pages. On success *ret_seconds is what it took.
 * write: make the file, room first, then 4 MiB at a time, until all of it is durable.
 * read: that file, 4 MiB at a time. Return 0 or -1 with errno. */
double bench_floor_memcpy(void *to, const void *from, uint64_t bytes);
/* By two threads, half each. 0: there is no second one, with errno. */
double bench_floor_memcpy_2(void *to, const void *from, uint64_t bytes);
int bench_floor_write(const struct bench_floor *f,
                      const void *from,
                      uint64_t bytes,
                      double *ret_seconds);
int bench_floor_read(const struct bench_floor *f, void *to, uint64_t bytes, double *ret_seconds);
void bench_floor_drop(const struct bench_floor *f);

#endif
