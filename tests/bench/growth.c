/* growth: how time and memory grow with what is saved. For developers: figures to read, not a test.
 *
 *   cairn exec --data DIR -- growth bytes MIB...       a state of so many MiB, in 32 MiB tensors
 *   cairn exec --data DIR -- growth entries COUNT...   so many tensors of 256 bytes
 *   cairn exec --data DIR -- growth trainers MIB N...  N trainers that save so many MiB at once
 *   cairn exec --data DIR -- growth runs COUNT         so many runs, of one small boundary each
 *   cairn exec --data DIR -- growth boundaries COUNT   one run of so many small boundaries
 *
 * The first two print the least of three rounds, per GiB or per entry, and the daemon's own memory;
 * the third the slowest over the fastest; the last two make what `cairn runs` and `cairn log` are
 * then timed over (growth.sh). */
#include <cairn/admin.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench_state.h"

#define GROWTH_MIB (UINT64_C(1) << 20)
enum { GROWTH_ROUNDS = 3, GROWTH_TRAINERS_MOST = 64, GROWTH_SMALL_BYTES = 256 };

static void fail(struct cairn *c, const char *what)
{
    (void)fprintf(stderr, "growth: %s: %s\n", what, c == NULL ? "" : cairn_error(c));
    exit(1);
}

static void check(struct cairn *c, int rc, const char *what)
{
    if (rc < 0) {
        fail(c, what);
    }
}

static struct cairn *opened(const char *run)
{
    struct cairn *c = NULL;
    int rc = cairn_open(NULL, run, &c);
    check(c, rc, "open");
    check(c, cairn_set_timeout(c, 600000), "timeout");
    return c;
}

static double seconds(void)
{
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The daemon's own memory, in MiB: what is its alone, and what it has mapped of files (programs and
 * indexes; the kernel takes that back when it wants). Arenas are neither. */
struct own {
    double anon_mib, file_mib;
};

static struct own own_memory(uint64_t pid)
{
    char line[256];
    struct own own = { 0 };
    (void)snprintf(line, sizeof line, "/proc/%llu/status", (unsigned long long)pid);
    FILE *file = fopen(line, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        double mib = strtod(line + strcspn(line, "\t "), NULL) / 1024;
        own.anon_mib = strncmp(line, "RssAnon:", 8) == 0 ? mib : own.anon_mib;
        own.file_mib = strncmp(line, "RssFile:", 8) == 0 ? mib : own.file_mib;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return own;
}

/* ---- one trainer ---- */

struct took {
    double capture, save, load;
};

static double least(double a, double b)
{
    return a == 0 || b < a ? b : a;
}

static void growth_round(struct cairn *c, struct bench_state *s, uint64_t step, struct took *t)
{
    struct cairn_record *r = NULL;
    bench_state_step(s, step);
    double start = seconds();
    check(c, cairn_capture(c, &s->trainer, &r), "capture");
    t->capture = least(t->capture, seconds() - start);
    check(c, cairn_save(c, &r, &(struct cairn_save_args){ .step = step }, NULL), "save");
    t->save = least(t->save, seconds() - start);
    start = seconds();
    check(c, cairn_load(c, "latest", 0, &r), "load");
    check(c, cairn_restore(c, r, &s->trainer), "restore");
    t->load = least(t->load, seconds() - start);
    r = cairn_record_free(r);
}

static struct took growth_one(uint64_t bytes, uint64_t tensor_bytes, struct own *ret)
{
    struct cairn *c = opened("growth");
    struct cairn_status status;
    struct bench_state s;
    struct took t = { 0 };
    if (bench_state_init(&s, bytes, tensor_bytes) < 0) {
        fail(NULL, "no memory for a state");
    }
    check(c, cairn_warm(c, bytes, 1), "warm");
    for (uint64_t step = 1; step <= GROWTH_ROUNDS; step++) {
        growth_round(c, &s, step, &t);
    }
    check(c, cairn_status(c, &status), "status");
    *ret = own_memory(status.pid);
    check(c, cairn_run_drop(c), "drop");
    bench_state_fini(&s);
    (void)cairn_close(c);
    return t;
}

static void growth_bytes(uint64_t mib)
{
    struct own own;
    struct took t = growth_one(mib * GROWTH_MIB, 32 * GROWTH_MIB, &own);
    double gib = (double)mib / 1024;
    (void)printf("%6llu MiB: capture %.3f save %.3f load %.3f s/GiB, daemon %.0f + %.0f MiB\n",
                 (unsigned long long)mib,
                 t.capture / gib,
                 t.save / gib,
                 t.load / gib,
                 own.anon_mib,
                 own.file_mib);
}

static void growth_entries(uint64_t count)
{
    struct own own;
    struct took t = growth_one(count * GROWTH_SMALL_BYTES, GROWTH_SMALL_BYTES, &own);
    double each = (double)count / 1e6;
    (void)printf(
        "%7llu tensors: capture %.2f save %.2f load %.2f us/tensor, daemon %.0f + %.0f MiB\n",
        (unsigned long long)count,
        t.capture / each,
        t.save / each,
        t.load / each,
        own.anon_mib,
        own.file_mib);
}

/* ---- trainers side by side ---- */

/* Captured and warm, it says so, waits for the word, saves, and says how long that took. */
static void trainer_run(uint64_t bytes, unsigned nth, int ready, int go, int told)
{
    char run[32];
    char word = 0;
    struct bench_state s;
    struct cairn_record *r = NULL;
    (void)snprintf(run, sizeof run, "growth.%u", nth);
    struct cairn *c = opened(run);
    if (bench_state_init(&s, bytes, 32 * GROWTH_MIB) < 0) {
        fail(NULL, "no memory for a state");
    }
    check(c, cairn_warm(c, bytes, 1), "warm");
    for (uint64_t step = 1; step <= 2; step++) { /* the first makes the run */
        check(c, cairn_capture(c, &s.trainer, &r), "capture");
        if (step == 2 && (write(ready, &word, 1) != 1 || read(go, &word, 1) != 0)) {
            fail(NULL, "no word to begin");
        }
        double start = seconds();
        check(c, cairn_save(c, &r, &(struct cairn_save_args){ .step = step }, NULL), "save");
        double took = seconds() - start;
        if (step == 2 && write(told, &took, sizeof took) != sizeof took) {
            fail(NULL, "nobody listens");
        }
    }
    check(c, cairn_run_drop(c), "drop");
    _exit(0);
}

static void growth_trainers(uint64_t mib, unsigned count)
{
    int ready[2];
    int go[2];
    int told[2];
    double first = 0;
    double last = 0;
    char word = 0;
    if (count > GROWTH_TRAINERS_MOST || pipe2(ready, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0 ||
        pipe2(told, O_CLOEXEC) < 0) {
        fail(NULL, "pipes");
    }
    for (unsigned i = 0; i < count; i++) {
        if (fork() == 0) {
            (void)close(go[1]);
            trainer_run(mib * GROWTH_MIB, i, ready[1], go[0], told[1]);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        if (read(ready[0], &word, 1) != 1) {
            fail(NULL, "a trainer ended");
        }
    }
    (void)close(go[1]); /* the word, to all at once */
    for (unsigned i = 0; i < count; i++) {
        double took = 0;
        if (read(told[0], &took, sizeof took) != sizeof took) {
            fail(NULL, "a trainer ended");
        }
        first = least(first, took);
        last = took > last ? took : last;
    }
    while (wait(NULL) > 0) {
    }
    (void)printf("%2u trainers of %llu MiB: fastest %.3f s, slowest %.3f s: %.2f; all %.3f s/GiB\n",
                 count,
                 (unsigned long long)mib,
                 first,
                 last,
                 last / first,
                 last / ((double)(count * mib) / 1024));
    (void)close(ready[0]);
    (void)close(ready[1]);
    (void)close(go[0]);
    (void)close(told[0]);
    (void)close(told[1]);
}

/* ---- for lists ---- */

static void small_save(struct cairn *c, uint64_t step)
{
    struct cairn_record *r = NULL;
    struct cairn_trainer nothing = { 0 };
    check(c, cairn_capture(c, &nothing, &r), "capture");
    check(c, cairn_save(c, &r, &(struct cairn_save_args){ .step = step }, NULL), "save");
}

static void growth_runs(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        char run[32];
        (void)snprintf(run, sizeof run, "run-%05llu", (unsigned long long)i);
        struct cairn *c = opened(run);
        small_save(c, i);
        (void)cairn_close(c);
    }
}

static void growth_boundaries(uint64_t count)
{
    struct cairn *c = opened("long");
    for (uint64_t i = 0; i < count; i++) {
        small_save(c, i);
    }
    (void)cairn_close(c);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    for (int i = 2; i < argc; i++) {
        uint64_t n = strtoull(argv[i], NULL, 10);
        if (n == 0) {
            fail(NULL, "a number is expected");
        } else if (strcmp(what, "bytes") == 0) {
            growth_bytes(n);
        } else if (strcmp(what, "entries") == 0) {
            growth_entries(n);
        } else if (strcmp(what, "runs") == 0) {
            growth_runs(n);
        } else if (strcmp(what, "boundaries") == 0) {
            growth_boundaries(n);
        } else if (strcmp(what, "trainers") == 0 && i > 2) {
            growth_trainers(strtoull(argv[2], NULL, 10), (unsigned)n);
        } else if (strcmp(what, "trainers") != 0) {
            fail(NULL, "bytes, entries, trainers, runs or boundaries?");
        }
        (void)fflush(stdout);
    }
    return 0;
}
