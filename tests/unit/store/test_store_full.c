/* A disk that is really full: a small file system, filled up. Run on it alone. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"

/* Take all space but `leave` bytes; undone by unfill. */
static void fill(const struct fix *f, uint64_t leave)
{
    char path[600];
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    struct err err = { .code = 0 };
    (void)snprintf(path, sizeof path, "%s.fill", f->dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    cr_assert_geq(fd, 0);
    off_t size = lseek(fd, 0, SEEK_END);
    for (off_t step = 64 << 20; step >= 4096; step /= 2) {
        while (st_space(f->st, &free_bytes, &total_bytes, &err) == 0 &&
               free_bytes >= leave + (uint64_t)step && fallocate(fd, 0, size, step) == 0) {
            size += step;
        }
    }
    (void)close(fd);
}

static void unfill(const struct fix *f)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s.fill", f->dir);
    cr_assert_eq(unlink(path), 0);
}

static uint64_t free_bytes_of(const struct fix *f)
{
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    struct err err = { .code = 0 };
    cr_assert_eq(st_space(f->st, &free_bytes, &total_bytes, &err), 0);
    return free_bytes;
}

/* Many rows: what the index, or a footer, has no room for. */
static struct rec *rec_rows(uint64_t step, unsigned mib, uint32_t chunks)
{
    struct rec *r = rec_new(step, step);
    uint8_t *value = calloc(1, LIMIT_SCALAR_BYTES);
    for (unsigned i = 0; i < mib * 16; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "blob %05u", i);
        rec_scalar(r, COMPONENT_STATE, name, ENTRY_BYTES, value, LIMIT_SCALAR_BYTES);
    }
    if (chunks > 0) {
        rec_floats(r, COMPONENT_MODEL, "big", (uint64_t)chunks * (LIMIT_CHUNK_BYTES / 4));
    }
    r->page_entries = 15;
    rec_build(r);
    free(value);
    return r;
}

static void expect_no_trace(const struct fix *f, int segments)
{
    char path[1024];
    fix_path(f, "segments", path);
    cr_assert_eq(fix_count_files(path), segments);
    cr_assert_not(st_run_poisoned(f->run));
}

/* Free space makes the next save succeed, and the store is sound. */
static void expect_recovery(struct fix *f, struct rec *r)
{
    struct err err = { .code = 0 };
    unfill(f);
    cr_assert_eq(rec_save(r, f->run, &err), 0, "%s", err.msg);
    rec_compare(r, f->run, r->b.seq);
    fix_close(f);
    fix_fsck_clean(f);
    fix_remove(f);
    (void)rec_free(r);
}

CASE(full, at_begin_names_the_numbers)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct st_save *save = NULL;
    char text[64];
    struct rec *first = rec_big(1, 1, 1);
    struct rec *r = rec_big(2, 2, 3);
    fix_open(&f);
    cr_assert_eq(rec_save(first, f.run, &err), 0, "%s", err.msg);
    fill(&f, 9 << 20);
    (void)snprintf(text, sizeof text, "%llu are free in", (unsigned long long)free_bytes_of(&f));
    cr_assert_eq(st_save_begin(f.run, &r->b, &save, &err), -CAIRN_ENOSPC, "%s", err.msg);
    cr_assert_not_null(strstr(err.msg, text), "%s", err.msg);
    cr_assert_not_null(strstr(err.msg, "bytes are needed"), "%s", err.msg);
    cr_assert_not_null(strstr(err.msg, f.dir), "%s", err.msg);
    expect_no_trace(&f, 1);
    rec_compare(first, f.run, 1);
    expect_recovery(&f, r);
    (void)rec_free(first);
}

CASE(full, reserve_is_kept)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct st_save *save = NULL;
    const struct st_options options = { .reserve_bytes = 1ull << 30 };
    struct rec *r = rec_tiny(1, 1);
    fix_open_with(&f, &options);
    cr_assert_eq(st_save_begin(f.run, &r->b, &save, &err), -CAIRN_ENOSPC, "%s", err.msg);
    cr_assert_not_null(strstr(err.msg, "1073741824"), "%s", err.msg);
    fix_remove(&f);
    (void)rec_free(r);
}

/* What was allocated at begin is there, whoever fills the disk meanwhile. */
CASE(full, in_mid_segment_has_its_space)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct st_save *save = NULL;
    struct st_manifest *m = NULL;
    struct rec *r = rec_big(1, 1, 4);
    fix_open(&f);
    cr_assert_eq(rec_manifest(r, &m, &err), 0, "%s", err.msg);
    cr_assert_eq(st_save_begin(f.run, &r->b, &save, &err), 0, "%s", err.msg);
    cr_assert_eq(rec_write(r, save, 0, 2, &err), 0, "%s", err.msg);
    fill(&f, 1 << 20);
    cr_assert_eq(rec_write(r, save, 2, 2, &err), 0, "%s", err.msg);
    cr_assert_eq(st_save_commit(&save, m, &r->b, &err), 0, "%s", err.msg);
    rec_compare(r, f.run, 1);
    unfill(&f);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    m = st_manifest_free(m);
    (void)rec_free(r);
}

/* Save up to the commit, fill the disk, commit: refused, nothing left, older boundaries readable.
 */
static void full_at_commit(struct rec *r, uint64_t leave)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct st_save *save = NULL;
    struct st_manifest *m = NULL;
    struct rec *first = rec_big(1, 1, 1);
    fix_open(&f);
    cr_assert_eq(rec_save(first, f.run, &err), 0, "%s", err.msg);
    cr_assert_eq(rec_manifest(r, &m, &err), 0, "%s", err.msg);
    cr_assert_eq(st_save_begin(f.run, &r->b, &save, &err), 0, "%s", err.msg);
    cr_assert_eq(rec_write(r, save, 0, r->b.chunk_count, &err), 0, "%s", err.msg);
    fill(&f, leave);
    cr_assert_eq(st_save_commit(&save, m, &r->b, &err), -CAIRN_ENOSPC, "%s", err.msg);
    cr_assert_null(save);
    (void)fprintf(stderr, "refused with: %s\n", err.msg);
    expect_no_trace(&f, 1);
    struct row_run row;
    st_run_row(f.run, &row);
    cr_assert_eq(row.boundary_count, 1);
    rec_compare(first, f.run, 1);
    expect_recovery(&f, r);
    m = st_manifest_free(m);
    (void)rec_free(first);
}

CASE(full, at_the_footer)
{
    full_at_commit(rec_rows(2, 12, 1), 0); /* rows far over the estimate */
}

CASE(full, at_the_commit_of_the_index)
{
    full_at_commit(rec_rows(2, 12, 0), 0); /* no segment: LMDB itself runs out */
}

CASE(full, at_the_commit_with_a_little_left)
{
    full_at_commit(rec_rows(2, 12, 0), 5 << 20);
}

CASE(full, a_full_disk_opens_and_reads)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct rec *r = rec_big(1, 1, 2);
    struct rec *again = rec_big(2, 2, 2);
    fix_open(&f);
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    fill(&f, 0);
    fix_reopen(&f);
    rec_compare(r, f.run, 1);
    cr_assert_eq(rec_save(again, f.run, &err), -CAIRN_ENOSPC, "%s", err.msg);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_reopen(&f);
    expect_recovery(&f, again);
    (void)rec_free(r);
}
