/* The path of a boundary: in, onto the disk, and back, bit for bit. */
#include <cairn/record.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"

/* Save, compare, close, check the store, open it again, compare, check the boundary. */
static void whole_way(struct rec *r)
{
    struct fix f;
    struct err err = { .code = 0 };
    fix_open(&f);
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    rec_compare(r, f.run, r->b.seq);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_reopen(&f);
    rec_compare(r, f.run, r->b.seq);
    fix_remove(&f);
    (void)rec_free(r);
}

CASE(path, small_record_comes_back)
{
    whole_way(rec_small(100, 1));
}

CASE(path, twenty_chunks_come_back)
{
    whole_way(rec_big(7, 2, 20));
}

CASE(path, record_without_chunks_has_no_segment)
{
    struct fix f;
    struct err err = { .code = 0 };
    char segments[1024];
    struct rec *r = rec_tiny(3, 3);
    fix_open(&f);
    fix_path(&f, "segments", segments);
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    rec_compare(r, f.run, 1);
    cr_assert_eq(fix_count_files(segments), 0);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    (void)rec_free(r);
}

CASE(path, E8_E32_awkward_names_and_shapes_come_back)
{
    static const uint64_t ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3 };
    static const uint64_t none[] = { 0 };
    static const uint64_t hole[] = { 3, 0, 2 };
    static const uint64_t seven[] = { 7 };
    static const char *const names[] = { "a/b",
                                         "a~b",
                                         ".",
                                         "..",
                                         "a.b",
                                         " ",
                                         "with space",
                                         "\xf0\x9f\x90\xa7",
                                         "\xc3\xa9t\xc3\xa9",
                                         "a\nb",
                                         "\"",
                                         "%s%n" };
    char longest[4001];
    memset(longest, 'p', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    struct rec *r = rec_new(1, 4);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        rec_tensor(r, COMPONENT_MODEL, names[i], CAIRN_F32, 1, seven);
        rec_scalar(r, COMPONENT_STATE, names[i], ENTRY_BYTES, names[i], strlen(names[i]));
    }
    rec_tensor(r, COMPONENT_MODEL, longest, CAIRN_F64, 0, NULL);
    rec_tensor(r, COMPONENT_MODEL, "shape none", CAIRN_BF16, 1, none);
    rec_tensor(r, COMPONENT_MODEL, "shape hole", CAIRN_I64, 3, hole);
    rec_tensor(r, COMPONENT_MODEL, "shape rank 16", CAIRN_F4_E2M1, 16, ones);
    rec_floats(r, COMPONENT_MODEL, "odd", 1000003);
    rec_floats(r, COMPONENT_MODEL, "exactly own", LIMIT_OWN_CHUNK_BYTES / 4);
    rec_floats(r, COMPONENT_MODEL, "just packed", LIMIT_OWN_CHUNK_BYTES / 4 - 1);
    rec_scalar(r, COMPONENT_STATE, "nothing", ENTRY_NULL, NULL, 0);
    rec_scalar(r, COMPONENT_STATE, "empty text", ENTRY_STRING, "", 0);
    rec_scalar(r, COMPONENT_STATE, "minus zero", ENTRY_F64, "\0\0\0\0\0\0\0\x80", 8);
    rec_build(r);
    whole_way(r);
}

CASE(path, E19_ids_order_as_numbers)
{
    struct rec *r = rec_new(1, 5);
    static const uint64_t ids[] = { 0, 1, 255, 256, UINT64_MAX - 1, UINT64_MAX };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "p%zu", 9 - i);
        rec_floats(r, COMPONENT_OPTIMIZER, path, 30000);
        struct entry *e = &r->entries[COMPONENT_OPTIMIZER][i];
        e->flags = ENTRY_HAS_ID;
        e->id = ids[i];
    }
    rec_build(r);
    whole_way(r);
}

CASE(path, manifest_of_many_pages_comes_back)
{
    struct rec *r = rec_new(1, 6);
    r->page_entries = 97;
    for (unsigned i = 0; i < 3000; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "layer.%04u", i);
        rec_floats(r, COMPONENT_MODEL, path, 16 + i % 50);
    }
    rec_build(r);
    whole_way(r);
}

CASE(path, buffered_mode_works_everywhere)
{
    struct fix f;
    struct err err = { .code = 0 };
    const char *why = NULL;
    const struct st_options options = { .force_buffered = true };
    struct rec *r = rec_big(1, 7, 5);
    fix_open_with(&f, &options);
    cr_assert_str_eq(st_io_mode(f.st, &why), "buffered");
    cr_assert_str_neq(why, "");
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    rec_compare(r, f.run, 1);
    fix_reopen(&f); /* in the other mode, where there is one */
    rec_compare(r, f.run, 1);
    fix_remove(&f);
    (void)rec_free(r);
}

/* ---- several at once ------------------------------------------------------------------------- */

CASE(path, saves_may_overlap)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct rec *r[3];
    struct st_save *save[3];
    struct st_manifest *m[3];
    fix_open(&f);
    for (unsigned i = 0; i < 3; i++) {
        r[i] = rec_big(10 + i, 20 + i, 3);
        cr_assert_eq(rec_manifest(r[i], &m[i], &err), 0, "%s", err.msg);
        cr_assert_eq(st_save_begin(f.run, &r[i]->b, &save[i], &err), 0, "%s", err.msg);
    }
    for (uint32_t chunk = 0; chunk < 3; chunk++) {
        for (unsigned i = 0; i < 3; i++) {
            cr_assert_eq(rec_write(r[2 - i], save[2 - i], chunk, 1, &err), 0, "%s", err.msg);
        }
    }
    save[1] = st_save_abort(save[1]);
    cr_assert_eq(st_save_commit(&save[2], m[2], &r[2]->b, &err), 0, "%s", err.msg);
    cr_assert_eq(st_save_commit(&save[0], m[0], &r[0]->b, &err), 0, "%s", err.msg);
    cr_assert_null(save[0]);
    cr_assert_eq(r[2]->b.seq, 1);
    cr_assert_eq(r[0]->b.seq, 2);
    cr_assert_eq(r[0]->b.parent_seq, 1);
    rec_compare(r[2], f.run, 1);
    rec_compare(r[0], f.run, 2);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    for (unsigned i = 0; i < 3; i++) {
        m[i] = st_manifest_free(m[i]);
        r[i] = rec_free(r[i]);
    }
}

CASE(path, abort_leaves_nothing)
{
    struct fix f;
    struct err err = { .code = 0 };
    char segments[1024];
    struct st_save *save = NULL;
    struct rec *r = rec_big(1, 8, 4);
    fix_open(&f);
    fix_path(&f, "segments", segments);
    for (uint32_t written = 0; written <= 4; written += 2) {
        cr_assert_eq(st_save_begin(f.run, &r->b, &save, &err), 0, "%s", err.msg);
        cr_assert_eq(fix_count_files(segments), 1);
        cr_assert_eq(rec_write(r, save, 0, written, &err), 0, "%s", err.msg);
        save = st_save_abort(save);
        cr_assert_null(save);
        cr_assert_eq(fix_count_files(segments), 0);
    }
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    cr_assert_eq(r->b.seq, 1);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    (void)rec_free(r);
}

CASE(path, seq_and_parent_go_on_after_reopening)
{
    struct fix f;
    struct err err = { .code = 0 };
    fix_open(&f);
    for (uint64_t i = 1; i <= 6; i++) {
        struct rec *r = rec_small(i, 30 + i);
        struct row_run row;
        cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
        cr_assert_eq(r->b.seq, i);
        cr_assert_eq(r->b.parent_seq, i - 1);
        st_run_row(f.run, &row);
        cr_assert_eq(row.boundary_count, i);
        cr_assert_eq(row.latest_seq, i);
        cr_assert_eq(row.latest_step, i);
        cr_assert_eq(row.latest_ns, r->b.created_ns);
        cr_assert_eq(row.bytes, i * r->b.bytes_new);
        (void)rec_free(r);
        if (i % 2 == 0) {
            fix_reopen(&f);
        }
    }
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
}

static void touch(const char *dir, const char *name)
{
    char path[1200];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    cr_assert_geq(fd, 0);
    (void)close(fd);
}

CASE(path, opening_sweeps_what_nobody_names)
{
    struct fix f;
    struct err err = { .code = 0 };
    char segments[1024];
    struct rec *r = rec_small(1, 9);
    struct rec *later = rec_small(2, 10);
    fix_open(&f);
    fix_path(&f, "segments", segments);
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    fix_close(&f);
    touch(segments, "0000000000000002.seg");
    touch(segments, "0000000000000007.tmp");
    touch(segments, "00000000000000ff.seg");
    touch(segments, "somebody's.txt");
    fix_fsck_finds(&f, "unnamed segment 00000000000000ff: left over");
    fix_fsck_finds(&f, "temporary segment 0000000000000007: left over");
    fix_reopen(&f);
    cr_assert_eq(fix_count_files(segments), 2);
    rec_compare(r, f.run, 1);
    /* An id is never used twice, not even that of a file that went. */
    cr_assert_eq(rec_save(later, f.run, &err), 0, "%s", err.msg);
    char path[1200];
    (void)snprintf(path, sizeof path, "%s/0000000000000100.seg", segments);
    cr_assert_eq(access(path, F_OK), 0);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    (void)rec_free(r);
    (void)rec_free(later);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

CASE(path, commit_needs_every_chunk_as_announced)
{
    struct fix f;
    struct err err = { .code = 0 };
    char segments[1024];
    struct st_save *save = NULL;
    struct st_manifest *m = NULL;
    struct rec *r = rec_big(1, 11, 3);
    fix_open(&f);
    fix_path(&f, "segments", segments);
    cr_assert_eq(rec_manifest(r, &m, &err), 0, "%s", err.msg);
    cr_assert_eq(st_save_begin(f.run, &r->b, &save, &err), 0, "%s", err.msg);
    const struct chunk other = { .bytes = 4096 };
    cr_assert_eq(st_save_write(save, 1, &other, r->region, &err), -CAIRN_EINVAL);
    cr_assert_eq(rec_write(r, save, 0, 2, &err), 0, "%s", err.msg);
    cr_assert_eq(st_save_commit(&save, m, &r->b, &err), -CAIRN_EINVAL);
    cr_assert_null(save);
    cr_assert_eq(st_save_begin(f.run, &r->b, &save, &err), 0, "%s", err.msg);
    cr_assert_eq(rec_write(r, save, 0, 2, &err), 0, "%s", err.msg);
    cr_assert_eq(st_save_write(save, 2, &other, r->region, &err), 0);
    cr_assert_eq(st_save_write(save, 3, &other, r->region, &err), -CAIRN_EINVAL);
    cr_assert_eq(st_save_commit(&save, m, &r->b, &err), -CAIRN_EINVAL);
    cr_assert_not(st_run_poisoned(f.run));
    cr_assert_eq(fix_count_files(segments), 0);
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    fix_remove(&f);
    m = st_manifest_free(m);
    (void)rec_free(r);
}
