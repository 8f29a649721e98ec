/* test_memory.c: a record of 5 GiB with one tensor of 4.5 GiB goes in and comes back, and the
 * daemon needs no more memory for it than for a record of 512 MiB.
 *
 * The daemon's memory is RssAnon + RssFile + RssShmem of /proc/PID/status, looked at every 10 ms
 * from its start to its end. */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "support/case.h"
#include "support/daemon.h"
#include "support/sample.h"

#define MIB (UINT64_C(1) << 20)

enum {
    MEMORY_SAMPLE_NS = 10 * 1000 * 1000,
    MEMORY_PEAK_KIB = 256 << 10,
    MEMORY_NEEDED_MIB = 12 << 10, /* of disk, and of memory */
    MEMORY_SAMPLES_LEAST = 20,    /* in the shorter of the two runs */
};

struct memory_watch {
    pthread_t thread;
    int timer_fd, end_fd, status_fd;
    uint64_t samples, peak_kib, anon_kib, file_kib, shmem_kib; /* the parts at the peak */
};

static uint64_t memory_field(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    return at == NULL ? 0 : strtoull(at + strlen(name), NULL, 10);
}

static void memory_sample(struct memory_watch *w)
{
    char status[4096];
    ssize_t got = pread(w->status_fd, status, sizeof status - 1, 0);
    if (got <= 0) {
        return;
    }
    status[got] = '\0';
    uint64_t anon = memory_field(status, "\nRssAnon:");
    uint64_t file = memory_field(status, "\nRssFile:");
    uint64_t shmem = memory_field(status, "\nRssShmem:");
    w->samples++;
    if (anon + file + shmem > w->peak_kib) {
        w->peak_kib = anon + file + shmem;
        w->anon_kib = anon;
        w->file_kib = file;
        w->shmem_kib = shmem;
    }
}

static void *memory_watch_run(void *arg)
{
    struct memory_watch *w = arg;
    struct pollfd fds[2] = { { .fd = w->timer_fd, .events = POLLIN },
                             { .fd = w->end_fd, .events = POLLIN } };
    uint64_t ticks = 0;
    while (fds[1].revents == 0) {
        memory_sample(w);
        (void)poll(fds, 2, -1);
        if (fds[0].revents != 0) {
            (void)!read(w->timer_fd, &ticks, sizeof ticks);
        }
    }
    return NULL;
}

static void memory_watch_start(struct memory_watch *w, pid_t pid)
{
    char path[64];
    struct itimerspec every = { .it_interval = { .tv_nsec = MEMORY_SAMPLE_NS },
                                .it_value = { .tv_nsec = MEMORY_SAMPLE_NS } };
    *w = (struct memory_watch){ 0 };
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    w->status_fd = open(path, O_RDONLY | O_CLOEXEC);
    w->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    w->end_fd = eventfd(0, EFD_CLOEXEC);
    cr_assert(w->status_fd >= 0 && w->timer_fd >= 0 && w->end_fd >= 0);
    cr_assert_eq(timerfd_settime(w->timer_fd, 0, &every, NULL), 0);
    cr_assert_eq(pthread_create(&w->thread, NULL, memory_watch_run, w), 0);
}

static void memory_watch_stop(struct memory_watch *w)
{
    uint64_t one = 1;
    cr_assert_eq(write(w->end_fd, &one, sizeof one), (ssize_t)sizeof one);
    cr_assert_eq(pthread_join(w->thread, NULL), 0);
    (void)close(w->status_fd);
    (void)close(w->timer_fd);
    (void)close(w->end_fd);
}

/* Into the daemon and back, with the sums printed. */
static void memory_there_and_back(struct sample *s, const struct daemon *d, uint64_t seed)
{
    struct cairn *c = NULL;
    struct cairn_boundary saved;
    cr_assert_eq(cairn_open(d->socket, "memory", &c), 0);
    cr_assert_eq(cairn_set_timeout(c, 120000), 0);
    uint64_t start_ns = now_ns();
    sample_fill(s, seed);
    uint64_t filled_ns = now_ns();
    int rc = sample_save(s, c, &saved);
    cr_assert_eq(rc, 0, "save: %s: %s", cairn_strerror(rc), cairn_error(c));
    uint64_t saved_ns = now_ns();
    cr_assert_geq(saved.payload_bytes, s->memory_bytes);
    sample_clear(s);
    uint64_t cleared_ns = now_ns();
    rc = sample_load(s, c, "latest");
    cr_assert_eq(rc, 0, "load: %s: %s", cairn_strerror(rc), cairn_error(c));
    uint64_t loaded_ns = now_ns();
    cr_assert(sample_is(s, seed), "what came back is not what went in");
    cairn_close(c);
    (void)printf("memory: %" PRIu64 " MiB: filled in %.2f s, captured and saved in %.2f s, loaded "
                 "and restored in %.2f s, compared in %.2f s\n",
                 s->memory_bytes / MIB,
                 (double)(filled_ns - start_ns) * 1e-9,
                 (double)(saved_ns - filled_ns) * 1e-9,
                 (double)(loaded_ns - cleared_ns) * 1e-9,
                 (double)(now_ns() - loaded_ns) * 1e-9);
}

/* A fresh daemon takes and gives back a record; returns its peak in KiB. */
static uint64_t
memory_peak(const char *dir, struct sample_tensors model, struct sample_tensors optimizer)
{
    struct daemon d;
    struct memory_watch watch;
    struct sample s;
    daemon_init(&d, dir);
    daemon_start(&d, NULL);
    memory_watch_start(&watch, d.proc.pid);
    sample_init(&s, model, optimizer);
    memory_there_and_back(&s, &d, 5);
    (void)printf("memory: %" PRIu64 " MiB: peak of the daemon %.1f MiB (anonymous %.1f, file %.1f, "
                 "shared %.1f), %" PRIu64 " samples\n",
                 s.memory_bytes / MIB,
                 (double)watch.peak_kib / 1024,
                 (double)watch.anon_kib / 1024,
                 (double)watch.file_kib / 1024,
                 (double)watch.shmem_kib / 1024,
                 watch.samples);
    sample_fini(&s);
    memory_watch_stop(&watch);
    cr_assert_geq(watch.samples, MEMORY_SAMPLES_LEAST);
    cr_assert_eq(daemon_stop(&d), 0);
    daemon_fini(&d);
    tmp_remove(d.data);
    return watch.peak_kib;
}

static uint64_t memory_available_mib(void)
{
    char text[4096];
    int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    (void)close(fd);
    text[got > 0 ? got : 0] = '\0';
    return memory_field(text, "MemAvailable:") / 1024;
}

CASE(memory, peak_does_not_grow_with_the_record, .timeout = 600)
{
    char dir[TMP_PATH_BYTES];
    tmp_make("memory", dir);
    uint64_t free_mib = tmp_free_bytes(dir) / MIB;
    cr_assert_geq(free_mib,
                  MEMORY_NEEDED_MIB,
                  "%s: needs 12 GiB of disk, has %" PRIu64 " MiB",
                  dir,
                  free_mib);
    uint64_t memory_mib = memory_available_mib();
    cr_assert_geq(
        memory_mib, MEMORY_NEEDED_MIB, "needs 12 GiB of memory, has %" PRIu64 " MiB", memory_mib);

    struct sample_tensors small_model = { .count = 1, .tensor_bytes = 448 * MIB };
    struct sample_tensors small_optimizer = { .count = 8, .tensor_bytes = 8 * MIB };
    struct sample_tensors large_model = { .count = 1, .tensor_bytes = 4608 * MIB };
    struct sample_tensors large_optimizer = { .count = 64, .tensor_bytes = 8 * MIB };
    uint64_t small = memory_peak(dir, small_model, small_optimizer);
    uint64_t large = memory_peak(dir, large_model, large_optimizer);
    tmp_remove(dir);

    (void)printf("memory: peak for 5 GiB / peak for 512 MiB = %.3f\n",
                 (double)large / (double)small);
    (void)fflush(stdout);
    cr_assert_leq(large * 10, small * 11, "more than 10 %% above");
    cr_assert_geq(large * 10, small * 9, "more than 10 %% below");
    cr_assert_leq(large, MEMORY_PEAK_KIB);
}
