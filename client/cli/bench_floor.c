#include "bench_floor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "output.h"

#define FLOOR_IO_BYTES (UINT64_C(4) << 20)

double bench_now(void)
{
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int floor_open(const struct bench_floor *f, int flags)
{
    return open(f->path, flags | (f->buffered ? 0 : O_DIRECT) | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int bench_floor_init(struct bench_floor *f, const char *place, bool buffered)
{
    *f = (struct bench_floor){ .path = out_format("%s/floor", place), .buffered = buffered };
    int fd = floor_open(f, O_WRONLY | O_CREAT);
    if (fd < 0 && errno == EINVAL && !buffered) {
        f->buffered = true;
        fd = floor_open(f, O_WRONLY | O_CREAT);
    }
    if (fd < 0) {
        return -1;
    }
    (void)close(fd);
    bench_floor_drop(f);
    return 0;
}

void bench_floor_fini(struct bench_floor *f)
{
    if (f->path != NULL) {
        bench_floor_drop(f);
    }
    free(f->path);
    *f = (struct bench_floor){ 0 };
}

void bench_floor_drop(const struct bench_floor *f)
{
    (void)unlink(f->path);
}

int bench_floor_settle(const struct bench_floor *f)
{
    char *place = out_format("%.*s", (int)(strrchr(f->path, '/') - f->path), f->path);
    int fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(place);
    int rc = fd < 0 ? -1 : syncfs(fd);
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

double bench_floor_memcpy(void *to, const void *from, uint64_t bytes)
{
    double start = bench_now();
    memcpy(to, from, bytes);
    return bench_now() - start;
}

struct floor_half {
    void *to;
    const void *from;
    uint64_t bytes;
};

static void *floor_copy_half(void *arg)
{
    const struct floor_half *half = arg;
    memcpy(half->to, half->from, half->bytes);
    return NULL;
}

double bench_floor_memcpy_2(void *to, const void *from, uint64_t bytes)
{
    pthread_t other;
    uint64_t first = bytes / 2;
    struct floor_half half = { (uint8_t *)to + first,
                               (const uint8_t *)from + first,
                               bytes - first };
    double start = bench_now();
    errno = pthread_create(&other, NULL, floor_copy_half, &half);
    if (errno != 0) {
        return 0;
    }
    memcpy(to, from, first);
    (void)pthread_join(other, NULL);
    return bench_now() - start;
}

/* ---- one file in order ---- */

static uint64_t floor_next(uint64_t at, uint64_t bytes)
{
    return bytes - at < FLOOR_IO_BYTES ? bytes - at : FLOOR_IO_BYTES;
}

static int floor_put(int fd, const uint8_t *from, uint64_t bytes)
{
    uint64_t at = 0;
    while (at < bytes) {
        ssize_t put = pwrite(fd, from + at, floor_next(at, bytes), (off_t)at);
        if (put <= 0 && errno != EINTR) {
            return -1;
        }
        at += put > 0 ? (uint64_t)put : 0;
    }
    return fdatasync(fd);
}

static int floor_take(int fd, uint8_t *to, uint64_t bytes)
{
    uint64_t at = 0;
    while (at < bytes) {
        ssize_t got = pread(fd, to + at, floor_next(at, bytes), (off_t)at);
        if (got == 0) {
            errno = EIO; /* it was longer when it was written */
            return -1;
        }
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        at += got > 0 ? (uint64_t)got : 0;
    }
    return 0;
}

static int floor_close(int fd, int rc)
{
    int error = errno;
    (void)close(fd);
    errno = error;
    return rc;
}

int bench_floor_write(const struct bench_floor *f,
                      const void *from,
                      uint64_t bytes,
                      double *ret_seconds)
{
    double start = bench_now();
    int fd = floor_open(f, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0) {
        return -1;
    }
    /* Room that is promised is written faster; where it cannot be had, it is not needed. */
    int rc = fallocate(fd, 0, 0, (off_t)bytes) < 0 && errno == ENOSPC ? -1 : 0;
    if (rc == 0) {
        rc = floor_put(fd, from, bytes);
    }
    double seconds = bench_now() - start;
    if (rc == 0) {
        *ret_seconds = seconds;
    }
    return floor_close(fd, rc);
}

int bench_floor_read(const struct bench_floor *f, void *to, uint64_t bytes, double *ret_seconds)
{
    int fd = floor_open(f, O_RDONLY);
    if (fd < 0) {
        return -1;
    }
    /* A buffered file is in memory still: ask for it to be forgotten. */
    (void)posix_fadvise(fd, 0, 0, f->buffered ? POSIX_FADV_DONTNEED : POSIX_FADV_SEQUENTIAL);
    double start = bench_now();
    int rc = floor_take(fd, to, bytes);
    double seconds = bench_now() - start;
    if (rc == 0) {
        *ret_seconds = seconds;
    }
    return floor_close(fd, rc);
}
