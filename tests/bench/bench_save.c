/* bench_save: what a save and a load cost beside what the machine could do at best, measured in one
 * run, on the same bytes, floors and candidates in turn.
 *
 *   bench_save [--mib N] [--rounds N] [--json]
 *
 *   memcpy      one copy of the state into warm memory
 *   capture     cairn_capture of the state
 *   raw write   a new file, 4 MiB O_DIRECT writes one after the other, fdatasync
 *   durable     capture and cairn_save, until the acknowledgement
 *   raw read    that file, 4 MiB O_DIRECT reads
 *   load        cairn_load and cairn_restore into warm tensors; nothing of it is in the page cache,
 *               because it was written past it
 *
 * Prints every time in milliseconds, the medians, and the ratios of medians. */
#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/daemon.h"
#include "support/sample.h"

enum { BENCH_ROUNDS_MAX = 99, BENCH_IO_BYTES = 4 << 20, BENCH_TENSOR_BYTES = 16 << 20 };

enum series { MEMCPY, CAPTURE, RAW_WRITE, DURABLE, RAW_READ, LOAD, SERIES_NR };

static const char *const series_names[SERIES_NR] = { "memcpy",  "capture",  "raw write",
                                                     "durable", "raw read", "load" };

struct bench {
    uint64_t mib, rounds;
    bool json;
    char dir[TMP_PATH_BYTES], raw_path[TMP_PATH_BYTES + 8];
    struct daemon daemon;
    struct cairn *run;
    struct sample state;
    uint8_t *copy; /* as large as the state */
    double ms[SERIES_NR][BENCH_ROUNDS_MAX];
};

static double bench_since_ms(uint64_t start_ns)
{
    return (double)(now_ns() - start_ns) * 1e-6;
}

static void bench_check(int rc, const char *what, const char *why)
{
    if (rc < 0) {
        (void)fprintf(stderr, "bench_save: %s: %s\n", what, why);
        exit(1);
    }
}

/* ---- floors ---------------------------------------------------------------------------------- */

static double bench_memcpy(struct bench *b)
{
    assert(b->copy != NULL);
    uint64_t start_ns = now_ns();
    memcpy(b->copy, b->state.memory, b->state.memory_bytes);
    return bench_since_ms(start_ns);
}

static double bench_raw_write(struct bench *b)
{
    (void)unlink(b->raw_path);
    uint64_t start_ns = now_ns();
    int fd = open(b->raw_path, O_WRONLY | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600);
    bench_check(fd, b->raw_path, strerror(errno));
    for (uint64_t at = 0; at < b->state.memory_bytes; at += BENCH_IO_BYTES) {
        ssize_t put = pwrite(fd, b->copy + at, BENCH_IO_BYTES, (off_t)at);
        bench_check(put == BENCH_IO_BYTES ? 0 : -1, "raw write", strerror(errno));
    }
    bench_check(fdatasync(fd), "raw sync", strerror(errno));
    double ms = bench_since_ms(start_ns);
    (void)close(fd);
    return ms;
}

static double bench_raw_read(struct bench *b)
{
    int fd = open(b->raw_path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    bench_check(fd, b->raw_path, strerror(errno));
    uint64_t start_ns = now_ns();
    for (uint64_t at = 0; at < b->state.memory_bytes; at += BENCH_IO_BYTES) {
        ssize_t got = pread(fd, b->copy + at, BENCH_IO_BYTES, (off_t)at);
        bench_check(got == BENCH_IO_BYTES ? 0 : -1, "raw read", strerror(errno));
    }
    double ms = bench_since_ms(start_ns);
    (void)close(fd);
    return ms;
}

/* ---- cairn ----------------------------------------------------------------------------------- */

static void bench_save(struct bench *b, uint64_t round)
{
    struct cairn_record *record = NULL;
    struct cairn_boundary saved;
    struct cairn_save_args args = { .step = round };
    uint64_t start_ns = now_ns();
    bench_check(cairn_capture(b->run, &b->state.trainer, &record), "capture", cairn_error(b->run));
    b->ms[CAPTURE][round] = bench_since_ms(start_ns);
    bench_check(cairn_save(b->run, &record, &args, &saved), "save", cairn_error(b->run));
    b->ms[DURABLE][round] = bench_since_ms(start_ns);
}

static void bench_load(struct bench *b, uint64_t round)
{
    uint64_t seed = b->state.seed;
    sample_clear(&b->state);
    uint64_t start_ns = now_ns();
    bench_check(sample_load(&b->state, b->run, "latest"), "load", cairn_error(b->run));
    b->ms[LOAD][round] = bench_since_ms(start_ns);
    bench_check(sample_is(&b->state, seed) ? 0 : -1, "load", "other bytes than were saved");
}

/* Floor and candidate in turn, and in the other order every second time. */
static void bench_round(struct bench *b, uint64_t round)
{
    bool floor_first = round % 2 == 0;
    sample_fill(&b->state, round + 1);
    b->ms[MEMCPY][round] = bench_memcpy(b);
    if (floor_first) {
        b->ms[RAW_WRITE][round] = bench_raw_write(b);
    }
    bench_save(b, round);
    if (!floor_first) {
        b->ms[RAW_WRITE][round] = bench_raw_write(b);
        b->ms[RAW_READ][round] = bench_raw_read(b);
    }
    bench_load(b, round);
    if (floor_first) {
        b->ms[RAW_READ][round] = bench_raw_read(b);
    }
    (void)unlink(b->raw_path);
}

/* ---- results --------------------------------------------------------------------------------- */

static int bench_order(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double bench_median(const struct bench *b, enum series s)
{
    double sorted[BENCH_ROUNDS_MAX];
    memcpy(sorted, b->ms[s], sizeof sorted);
    qsort(sorted, b->rounds, sizeof *sorted, bench_order);
    return b->rounds % 2 == 1 ? sorted[b->rounds / 2]
                              : (sorted[b->rounds / 2 - 1] + sorted[b->rounds / 2]) / 2;
}

static const struct {
    const char *name, *key;
    enum series over, under;
} ratios[] = {
    { "capture to durable / raw write", "durable_over_raw_write", DURABLE, RAW_WRITE },
    { "load / raw read", "load_over_raw_read", LOAD, RAW_READ },
    { "capture / memcpy", "capture_over_memcpy", CAPTURE, MEMCPY },
};

static void bench_print(const struct bench *b)
{
    (void)printf("%" PRIu64 " MiB, %" PRIu64 " rounds, milliseconds\n", b->mib, b->rounds);
    for (enum series s = 0; s < SERIES_NR; s++) {
        double median = bench_median(b, s);
        (void)printf("%-10s median %8.1f (%5.2f GiB/s):",
                     series_names[s],
                     median,
                     (double)b->mib / 1.024 / median);
        for (uint64_t i = 0; i < b->rounds; i++) {
            (void)printf(" %.1f", b->ms[s][i]);
        }
        (void)printf("\n");
    }
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        (void)printf("%-32s %.2f\n",
                     ratios[i].name,
                     bench_median(b, ratios[i].over) / bench_median(b, ratios[i].under));
    }
}

static void bench_print_json(const struct bench *b)
{
    (void)printf("{\"bytes\": %" PRIu64 ", \"rounds\": %" PRIu64, b->state.memory_bytes, b->rounds);
    for (enum series s = 0; s < SERIES_NR; s++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%s", series_names[s]);
        char *space = strchr(name, ' ');
        if (space != NULL) {
            *space = '_';
        }
        (void)printf(", \"%s_ms\": [", name);
        for (uint64_t i = 0; i < b->rounds; i++) {
            (void)printf("%s%.3f", i == 0 ? "" : ", ", b->ms[s][i]);
        }
        (void)printf("], \"%s_median_ms\": %.3f", name, bench_median(b, s));
    }
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        (void)printf(", \"%s\": %.3f",
                     ratios[i].key,
                     bench_median(b, ratios[i].over) / bench_median(b, ratios[i].under));
    }
    (void)printf("}\n");
}

/* ---- frame ----------------------------------------------------------------------------------- */

static void bench_open(struct bench *b)
{
    struct sample_tensors model = { .count = b->mib / 32, .tensor_bytes = BENCH_TENSOR_BYTES };
    struct sample_tensors optimizer = model;
    tmp_make("bench", b->dir);
    uint64_t needed = (b->rounds + 2) * b->mib;
    if (tmp_free_bytes(b->dir) >> 20 < needed) {
        (void)fprintf(stderr, "bench_save: needs %" PRIu64 " MiB free in %s\n", needed, b->dir);
        exit(1);
    }
    (void)snprintf(b->raw_path, sizeof b->raw_path, "%s/raw", b->dir);
    daemon_init(&b->daemon, b->dir);
    daemon_start(&b->daemon, NULL);
    bench_check(cairn_open(b->daemon.socket, "bench", &b->run), "open", b->daemon.socket);
    sample_init(&b->state, model, optimizer);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    void *copy = mmap(NULL, b->state.memory_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (copy == MAP_FAILED || copy == NULL) {
        (void)fprintf(
            stderr, "bench_save: no memory for %" PRIu64 " bytes\n", b->state.memory_bytes);
        exit(1);
    }
    b->copy = copy;
}

static void bench_close(struct bench *b)
{
    (void)munmap(b->copy, b->state.memory_bytes);
    sample_fini(&b->state);
    cairn_close(b->run);
    (void)daemon_stop(&b->daemon);
    daemon_fini(&b->daemon);
    tmp_remove(b->dir);
}

static error_t bench_option(int key, char *text, struct argp_state *state)
{
    struct bench *b = state->input;
    uint64_t value = text == NULL ? 0 : strtoull(text, NULL, 10);
    switch (key) {
    case 'm':
        b->mib = value;
        break;
    case 'r':
        b->rounds = value;
        break;
    case 'j':
        b->json = true;
        break;
    case ARGP_KEY_END:
        if (b->mib < 32 || b->mib % 32 != 0 || b->rounds < 1 || b->rounds > BENCH_ROUNDS_MAX) {
            argp_error(state, "--mib is a multiple of 32, --rounds is 1..%d", BENCH_ROUNDS_MAX);
        }
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp_option table[] = {
        { "mib", 'm', "N", 0, "size of the state (1024)", 0 },
        { "rounds", 'r', "N", 0, "how often everything is measured (5)", 0 },
        { "json", 'j', NULL, 0, "one line of JSON", 0 },
        { 0 },
    };
    static const struct argp argp = {
        table, bench_option, NULL, "Measure saves and loads beside raw I/O.", NULL, NULL, NULL
    };
    static struct bench b = { .mib = 1024, .rounds = 5 };
    if (argp_parse(&argp, argc, argv, 0, NULL, &b) != 0) {
        return 1;
    }
    bench_open(&b);
    for (uint64_t round = 0; round < b.rounds; round++) {
        bench_round(&b, round);
    }
    if (b.json) {
        bench_print_json(&b);
    } else {
        bench_print(&b);
    }
    bench_close(&b);
    return 0;
}
