/* Many runs, much metadata, many threads, and copies made from outside while a run is written. */
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

/* ---- 300 runs -------------------------------------------------------------------------------- */

#define RUNS 300u
#define OPEN 64u

static int descriptor_count(void)
{
    return fix_count_files("/proc/self/fd");
}

struct many {
    struct fix f;
    struct st_run *open[RUNS];
    uint64_t used[RUNS]; /* when last */
    unsigned open_count;
};

/* Open a run; at most OPEN are, the least recently used one makes room. */
static struct st_run *many_get(struct many *m, unsigned index, uint64_t now)
{
    char name[16];
    struct err err = { .code = 0 };
    (void)snprintf(name, sizeof name, "run-%03u", index);
    if (m->open[index] == NULL && m->open_count == OPEN) {
        unsigned oldest = RUNS;
        for (unsigned i = 0; i < RUNS; i++) {
            if (m->open[i] != NULL && (oldest == RUNS || m->used[i] < m->used[oldest])) {
                oldest = i;
            }
        }
        m->open[oldest] = st_run_close(m->open[oldest]);
        m->open_count--;
    }
    if (m->open[index] == NULL) {
        cr_assert_eq(st_run_open(m->f.st, 1, slice_str(name), true, &m->open[index], &err),
                     0,
                     "%s",
                     err.msg);
        m->open_count++;
    }
    m->used[index] = now;
    return m->open[index];
}

static int count_run(void *arg, const struct st_run_row *row)
{
    unsigned *count = arg;
    *count += row->uid == 1 && row->run.boundary_count == 2 ? 1 : 0;
    return 0;
}

CASE(many, three_hundred_runs_in_turn)
{
    struct many *m = calloc(1, sizeof *m);
    struct err err = { .code = 0 };
    unsigned listed = 0;
    fix_open(&m->f);
    int before = descriptor_count();
    for (unsigned i = 0; i < 2 * RUNS; i++) {
        struct rec *r = i % 10 == 0 ? rec_small(i, i) : rec_tiny(i, i);
        struct st_run *run = many_get(m, i % RUNS, i);
        cr_assert_eq(rec_save(r, run, &err), 0, "run %u: %s", i % RUNS, err.msg);
        cr_assert_leq(descriptor_count(), before + 5 * (int)OPEN);
        (void)rec_free(r);
    }
    for (unsigned i = 0; i < RUNS; i += 7) {
        cr_assert_eq(rec_verify(many_get(m, i, 2 * RUNS + i), 2, NULL), 0);
    }
    for (unsigned i = 0; i < RUNS; i++) {
        m->open[i] = st_run_close(m->open[i]);
    }
    cr_assert_eq(descriptor_count(), before);
    fix_reopen(&m->f);
    cr_assert_eq(st_runs(m->f.st, UINT32_MAX, count_run, &listed, &err), 0, "%s", err.msg);
    cr_assert_eq(listed, RUNS);
    fix_close(&m->f);
    fix_fsck_clean(&m->f);
    fix_remove(&m->f);
    free(m);
}

/* ---- readers while the map grows ------------------------------------------------------------- */

struct reader {
    struct st_run *run;
    atomic_bool stop;
    atomic_ulong rounds;
    atomic_int failed;
};

static int reader_round(struct st_run *run)
{
    struct err err = { .code = 0 };
    struct selector sel = { .kind = SELECT_LATEST };
    struct st_list list;
    uint64_t seq = 0;
    struct st_load *load = NULL;
    struct wire_entries page;
    struct bump b;
    int rc = st_select(run, &sel, &seq, &err);
    if (rc == -CAIRN_ENOENT) {
        return 0;
    }
    bump_init(&b, (size_t)64 << 20);
    rc = rc < 0 ? rc : st_list(run, seq, 10, &b, &list, &err);
    rc = rc < 0 ? rc : st_load_open(run, seq, &load, &err);
    rc = rc < 0 ? rc : st_load_page(load, COMPONENT_STATE, 0, &b, &page, &err);
    if (rc < 0) {
        (void)fprintf(stderr, "reader: %s\n", err.msg);
    }
    load = st_load_close(load);
    bump_fini(&b);
    return rc;
}

static void *reader_main(void *arg)
{
    struct reader *r = arg;
    while (!atomic_load(&r->stop)) {
        if (reader_round(r->run) < 0) {
            atomic_fetch_add(&r->failed, 1);
        }
        atomic_fetch_add(&r->rounds, 1);
    }
    return NULL;
}

static struct rec *rec_rows(uint64_t step)
{
    static const uint8_t value[1000];
    struct rec *r = rec_new(step, step);
    for (unsigned i = 0; i < 400; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "blob %05u", i);
        rec_scalar(r, COMPONENT_STATE, name, ENTRY_BYTES, value, sizeof value);
    }
    r->page_entries = 50;
    rec_build(r);
    return r;
}

CASE(many, map_grows_under_readers)
{
    struct fix f;
    struct err err = { .code = 0 };
    const struct st_options options = { .map_bytes = 512u << 10 };
    pthread_t threads[4];
    fix_open_with(&f, &options);
    struct reader reader = { .run = f.run };
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, reader_main, &reader), 0);
    }
    for (uint64_t i = 1; i <= 40; i++) { /* some 16 MiB of rows: the map doubles five times */
        struct rec *r = rec_rows(i);
        cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
        cr_assert_eq(r->b.seq, i);
        (void)rec_free(r);
    }
    atomic_store(&reader.stop, true);
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    }
    cr_assert_eq(atomic_load(&reader.failed), 0);
    cr_assert_gt(atomic_load(&reader.rounds), 0);
    char path[1024];
    struct stat st;
    fix_path(&f, "index/data.mdb", path);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_gt(st.st_size, (off_t)8 * (512 << 10), "the map never had to grow");
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
}

/* ---- copies from outside --------------------------------------------------------------------- */

struct writer {
    struct st_run *run;
    atomic_bool stop;
    atomic_ulong saved;
    sem_t each; /* posted after every save */
    int rc;
};

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    for (uint64_t i = 1; !atomic_load(&w->stop) && w->rc == 0; i++) {
        struct err err = { .code = 0 };
        struct rec *r = i % 3 == 0 ? rec_big(i, i, 1) : rec_small(i, i);
        w->rc = rec_save(r, w->run, &err);
        (void)rec_free(r);
        if (w->rc < 0) {
            (void)fprintf(stderr, "writer: %s\n", err.msg);
        }
        atomic_fetch_add(&w->saved, 1);
        (void)sem_post(&w->each);
    }
    return NULL;
}

/* mdb_copy the index first, then cp -a everything, then put the copied index in its place. */
static void copy_run(const struct fix *f, const char *to)
{
    char from[1024];
    char index[1024];
    char copied[1200];
    char torn[1200];
    fix_path(f, "index", index);
    fix_path(f, ".", from);
    (void)snprintf(copied, sizeof copied, "%s.index", to);
    (void)snprintf(torn, sizeof torn, "%s/index", to);
    cr_assert_eq(mkdir(copied, 0700), 0);
    cr_assert_eq(fix_command((const char *const[]){ "mdb_stat", "-e", index, NULL }), 0);
    cr_assert_eq(fix_command((const char *const[]){ "mdb_copy", index, copied, NULL }), 0);
    cr_assert_eq(mkdir(to, 0700), 0);
    /* A segment that gets its name meanwhile "vanishes" for cp, which then says 1; it is not one
     * that the copied index names. */
    cr_assert_leq(fix_command((const char *const[]){ "cp", "-a", from, to, NULL }), 1);
    fix_remove_tree(torn);
    cr_assert_eq(rename(copied, torn), 0);
}

static void check_copy(const struct fix *copy)
{
    struct fix f = *copy;
    struct row_run row;
    fix_reopen(&f);
    st_run_row(f.run, &row);
    cr_assert_gt(row.boundary_count, 0);
    (void)fprintf(stderr, "the copy has %llu boundaries\n", (unsigned long long)row.boundary_count);
    for (uint64_t seq = 1; seq <= row.latest_seq; seq++) {
        cr_assert_eq(rec_verify(f.run, seq, NULL), 0);
    }
    fix_close(&f);
    fix_fsck_clean(&f);
}

CASE(many, copies_made_while_writing_are_whole)
{
    struct fix f;
    struct fix copies[3];
    char path[1024];
    pthread_t thread;
    fix_open(&f);
    for (unsigned i = 0; i < 3; i++) { /* three empty stores to put the copies in */
        fix_open(&copies[i]);
        struct err err = { .code = 0 };
        copies[i].run = st_run_close(copies[i].run);
        cr_assert_eq(st_run_drop(copies[i].st, FIX_UID, slice_str("run"), &err), 0, "%s", err.msg);
        fix_close(&copies[i]);
    }
    struct writer w = { .run = f.run };
    cr_assert_eq(sem_init(&w.each, 0, 0), 0);
    cr_assert_eq(pthread_create(&thread, NULL, writer_main, &w), 0);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned saves = 0; saves < 3; saves++) {
            cr_assert_eq(sem_wait(&w.each), 0);
        }
        fix_path(&copies[i], "", path);
        path[strlen(path) - 1] = '\0';
        copy_run(&f, path);
    }
    atomic_store(&w.stop, true);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(sem_destroy(&w.each), 0);
    cr_assert_eq(w.rc, 0);
    fix_close(&f);
    fix_fsck_clean(&f);
    for (unsigned i = 0; i < 3; i++) {
        check_copy(&copies[i]);
        fix_remove(&copies[i]);
    }
    fix_remove(&f);
}
