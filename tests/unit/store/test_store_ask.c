/* The directory and what is asked of it: openers, runs, selectors, lists, save ids. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lmdb.h>

#include "fixture.h"
#include "record/selector.h"

/* ---- the directory --------------------------------------------------------------------------- */

CASE(dir, second_opener_is_refused_by_name)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct st *other = NULL;
    char pid[32];
    fix_open(&f);
    (void)snprintf(pid, sizeof pid, "process %ld", (long)getpid());
    cr_assert_eq(st_open(f.dir, NULL, &other, &err), -CAIRN_EBUSY);
    cr_assert_not_null(strstr(err.msg, pid), "%s", err.msg);
    cr_assert_not_null(strstr(err.msg, f.dir), "%s", err.msg);
    struct wire_verified verified;
    err = (struct err){ .code = 0 };
    cr_assert_eq(st_fsck(f.dir, NULL, NULL, &verified, &err), -CAIRN_EBUSY);
    fix_remove(&f);
}

static void put_file(const struct fix *f, const char *name, const char *text)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", f->dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

CASE(dir, E30_other_format_is_refused_with_both_numbers)
{
    struct fix f;
    struct err err = { .code = 0 };
    fix_open(&f);
    fix_close(&f);
    put_file(&f, "format", "cairn 2\n");
    cr_assert_eq(st_open(f.dir, NULL, &f.st, &err), -CAIRN_EVERSION);
    cr_assert_not_null(strstr(err.msg, "'cairn 2'"), "%s", err.msg);
    cr_assert_not_null(strstr(err.msg, "'cairn 1'"), "%s", err.msg);
    fix_remove(&f);
}

CASE(dir, foreign_directory_is_refused)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct wire_verified verified;
    fix_dir(&f);
    cr_assert_eq(st_fsck(f.dir, NULL, NULL, &verified, &err), -CAIRN_ENOENT);
    err = (struct err){ .code = 0 };
    put_file(&f, "letter.txt", "dear");
    cr_assert_eq(st_open(f.dir, NULL, &f.st, &err), -CAIRN_EEXIST);
    cr_assert_not_null(strstr(err.msg, "letter.txt"), "%s", err.msg);
    fix_remove(&f);
}

CASE(dir, store_is_private)
{
    struct fix f;
    struct stat st;
    char path[1024];
    fix_open(&f);
    fix_path(&f, "index", path);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0700);
    fix_path(&f, "index/data.mdb", path);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0600);
    fix_remove(&f);
}

/* ---- runs ------------------------------------------------------------------------------------ */

struct listed {
    char text[1024];
};

static int list_run(void *arg, const struct st_run_row *row)
{
    struct listed *l = arg;
    size_t used = strlen(l->text);
    (void)snprintf(l->text + used,
                   sizeof l->text - used,
                   "%u/%.*s:%llu@%llu ",
                   row->uid,
                   (int)row->name.bytes,
                   (const char *)row->name.data,
                   (unsigned long long)row->run.boundary_count,
                   (unsigned long long)row->run.latest_step);
    return 0;
}

static void expect_runs(struct fix *f, uint32_t uid, const char *expected)
{
    struct listed l = { .text = "" };
    struct err err = { .code = 0 };
    cr_assert_eq(st_runs(f->st, uid, list_run, &l, &err), 0, "%s", err.msg);
    cr_assert_str_eq(l.text, expected);
}

static void make_run(struct fix *f, uint32_t uid, const char *name)
{
    struct err err = { .code = 0 };
    struct st_run *run = NULL;
    cr_assert_eq(st_run_open(f->st, uid, slice_str(name), true, &run, &err), 0, "%s", err.msg);
    run = st_run_close(run);
}

CASE(runs, are_listed_by_owner_and_name)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct rec *r = rec_small(40, 1);
    fix_open(&f);
    make_run(&f, 7, "alpha");
    make_run(&f, 300, "x");
    make_run(&f, 2, "zulu");
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    const char *all = "2/zulu:0@0 7/alpha:0@0 7/run:1@40 300/x:0@0 ";
    expect_runs(&f, UINT32_MAX, all);
    expect_runs(&f, 7, "7/alpha:0@0 7/run:1@40 ");
    fix_reopen(&f); /* the catalogue is made anew */
    expect_runs(&f, UINT32_MAX, all);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    (void)rec_free(r);
}

CASE(runs, open_once_and_only_by_a_legal_name)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct st_run *run = NULL;
    fix_open(&f);
    cr_assert_eq(st_run_open(f.st, FIX_UID, slice_str("run"), true, &run, &err), -CAIRN_EBUSY);
    cr_assert_eq(st_run_open(f.st, FIX_UID, slice_str("none"), false, &run, &err), -CAIRN_ENOENT);
    cr_assert_eq(st_run_open(f.st, FIX_UID, slice_str("../run"), true, &run, &err), -CAIRN_EINVAL);
    cr_assert_eq(st_run_open(f.st, FIX_UID, slice_str(".."), true, &run, &err), -CAIRN_EINVAL);
    cr_assert_eq(st_run_open(f.st, FIX_UID, slice_str(""), true, &run, &err), -CAIRN_EINVAL);
    fix_remove(&f);
}

CASE(runs, dropping_needs_it_closed_and_leaves_nothing)
{
    struct fix f;
    struct err err = { .code = 0 };
    char path[1024];
    struct rec *r = rec_small(1, 1);
    fix_open(&f);
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    cr_assert_eq(st_run_drop(f.st, FIX_UID, slice_str("run"), &err), -CAIRN_EBUSY);
    f.run = st_run_close(f.run);
    cr_assert_eq(st_run_drop(f.st, FIX_UID, slice_str("other"), &err), -CAIRN_ENOENT);
    err = (struct err){ .code = 0 };
    cr_assert_eq(st_run_drop(f.st, FIX_UID, slice_str("run"), &err), 0, "%s", err.msg);
    fix_path(&f, "", path);
    cr_assert_neq(access(path, F_OK), 0);
    (void)snprintf(path, sizeof path, "%s/aside", f.dir);
    cr_assert_eq(fix_count_files(path), 0);
    expect_runs(&f, UINT32_MAX, "");
    cr_assert_eq(st_run_open(f.st, FIX_UID, slice_str("run"), false, &f.run, &err), -CAIRN_ENOENT);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    (void)rec_free(r);
}

/* ---- selectors ------------------------------------------------------------------------------- */

/* The seq that a selector names, or the negative code. */
static long long ask(struct fix *f, const char *text)
{
    struct selector sel;
    struct err err = { .code = 0 };
    uint64_t seq = 0;
    cr_assert_eq(selector_parse(slice_str(text), &sel, &err), 0, "%s", err.msg);
    int rc = st_select(f->run, &sel, &seq, &err);
    return rc < 0 ? rc : (long long)seq;
}

static struct rec *save_labelled(struct fix *f, uint64_t step, const char *loss)
{
    struct err err = { .code = 0 };
    struct rec *r = rec_tiny(step, step * 100 + (uint64_t)(loss == NULL ? 0 : loss[0]));
    struct label label = { .name = slice_str("loss"), .value = slice_str(loss) };
    r->b.labels = &label;
    r->b.label_count = loss == NULL ? 0 : 1;
    cr_assert_eq(rec_save(r, f->run, &err), 0, "%s", err.msg);
    r->b.labels = NULL;
    r->b.label_count = 0;
    return r;
}

static void
save_steps(struct fix *f, const uint64_t *steps, const char *const *losses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)rec_free(save_labelled(f, steps[i], losses[i]));
    }
}

CASE(select, newest_step_seq_and_id)
{
    static const uint64_t steps[] = { 10, 20, 30, 20, 40 };
    static const char *const none[] = { "a", "b", "c", "d", "e" };
    struct fix f;
    char text[64] = "id:";
    fix_open(&f);
    cr_assert_eq(ask(&f, "latest"), -CAIRN_ENOENT);
    cr_assert_eq(ask(&f, "10"), -CAIRN_ENOENT);
    save_steps(&f, steps, none, 5);
    struct rec *r = save_labelled(&f, 50, NULL);
    for (size_t i = 0; i < 16; i++) {
        (void)snprintf(text + 3 + 2 * i, 3, "%02x", r->b.save_id[i]);
    }
    cr_assert_eq(ask(&f, ""), 6);
    cr_assert_eq(ask(&f, "latest"), 6);
    cr_assert_eq(ask(&f, "latest~1"), 5);
    cr_assert_eq(ask(&f, "latest~5"), 1);
    cr_assert_eq(ask(&f, "latest~6"), -CAIRN_ENOENT);
    cr_assert_eq(ask(&f, "10"), 1);
    cr_assert_eq(ask(&f, "20"), 4); /* the newest of that step */
    cr_assert_eq(ask(&f, "50"), 6);
    cr_assert_eq(ask(&f, "15"), -CAIRN_ENOENT);
    cr_assert_eq(ask(&f, "60"), -CAIRN_ENOENT);
    cr_assert_eq(ask(&f, "seq:3"), 3);
    cr_assert_eq(ask(&f, "seq:7"), -CAIRN_ENOENT);
    cr_assert_eq(ask(&f, text), 6);
    text[4] = text[4] == '0' ? '1' : '0';
    cr_assert_eq(ask(&f, text), -CAIRN_ENOENT);
    cr_assert_eq(ask(&f, "finite"), 6);
    fix_remove(&f);
    (void)rec_free(r);
}

CASE(select, best_never_nan_and_ties_to_the_newest)
{
    static const uint64_t steps[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    static const char *const losses[] = { "nan",  "0.5", "0.25", "bad", "2.5e-1",
                                          "-nan", "1e3", "",     "0.3 " };
    struct fix f;
    fix_open(&f);
    cr_assert_eq(ask(&f, "best:loss:min"), -CAIRN_ENOENT);
    save_steps(&f, steps, losses, 1);
    cr_assert_eq(ask(&f, "best:loss:min"), -CAIRN_ENOENT);
    save_steps(&f, steps + 1, losses + 1, 8);
    cr_assert_eq(ask(&f, "best:loss:min"), 5);
    cr_assert_eq(ask(&f, "best:loss:max"), 7);
    cr_assert_eq(ask(&f, "best:other:max"), -CAIRN_ENOENT);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
}

CASE(list, goes_downwards_from_a_seq)
{
    static const uint64_t steps[] = { 1, 2, 3, 4, 5 };
    static const char *const losses[] = { "1", "2", "3", "4", "5" };
    struct fix f;
    struct err err = { .code = 0 };
    struct st_list list;
    struct bump b;
    uint64_t before = 9;
    fix_open(&f);
    save_steps(&f, steps, losses, 5);
    bump_init(&b, (size_t)1 << 20);
    cr_assert_eq(st_list(f.run, 4, 3, &b, &list, &err), 0, "%s", err.msg);
    cr_assert_eq(list.count, 3);
    cr_assert_eq(list.boundaries[0].seq, 4);
    cr_assert_eq(list.boundaries[2].seq, 2);
    cr_assert_eq(list.boundaries[0].label_count, 1);
    cr_assert_eq(slice_cmp(list.boundaries[0].labels[0].value, slice_str("4")), 0);
    cr_assert_eq(list.boundaries[0].component_count, 5);
    cr_assert_eq(list.damaged_count, 0);
    cr_assert_eq(st_list(f.run, UINT64_MAX, 100, &b, &list, &err), 0, "%s", err.msg);
    cr_assert_eq(list.count, 5);
    cr_assert_eq(list.boundaries[0].seq, 5);
    cr_assert_eq(st_list(f.run, 0, 100, &b, &list, &err), 0, "%s", err.msg);
    cr_assert_eq(list.count, 0);
    cr_assert_eq(st_before(f.run, UINT64_MAX, &before, &err), 0);
    cr_assert_eq(before, 5);
    cr_assert_eq(st_before(f.run, 1, &before, &err), 0);
    cr_assert_eq(before, 0);
    bump_fini(&b);
    bump_init(&b, 4096);
    cr_assert_eq(st_list(f.run, 5, 5, &b, &list, &err), -CAIRN_ELIMIT);
    bump_fini(&b);
    fix_remove(&f);
}

/* ---- save ids -------------------------------------------------------------------------------- */

CASE(saveid, tells_what_became_of_a_save)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct row_save save;
    struct rec *r = rec_small(1, 1);
    fix_open(&f);
    cr_assert_eq(st_save_state(f.run, r->b.save_id, 0, &save, &err), 0);
    cr_assert_eq(save.state, SAVE_NONE);
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    cr_assert_eq(st_save_state(f.run, r->b.save_id, 0, &save, &err), 0);
    cr_assert_eq(save.state, SAVE_COMMITTED);
    cr_assert_eq(save.seq, 1);
    cr_assert(digest_equal(&save.root, &r->b.root));
    fix_remove(&f);
    (void)rec_free(r);
}

CASE(saveid, E27_same_content_is_the_same_commit_other_content_a_conflict)
{
    struct fix f;
    struct err err = { .code = 0 };
    char segments[1024];
    struct rec *r = rec_small(1, 1);
    struct rec *again = rec_small(1, 1);
    struct rec *other = rec_small(1, 2);
    memcpy(other->b.save_id, r->b.save_id, sizeof other->b.save_id);
    other->b.root = digest_root(&other->b, other->infos, other->info_count);
    fix_open(&f);
    fix_path(&f, "segments", segments);
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    cr_assert_eq(rec_save(again, f.run, &err), 0, "%s", err.msg);
    cr_assert_eq(again->b.seq, 1);
    cr_assert_eq(again->b.created_ns, r->b.created_ns);
    cr_assert_eq(rec_save(other, f.run, &err), -CAIRN_ECONFLICT);
    cr_assert_eq(fix_count_files(segments), 1);
    cr_assert_not(st_run_poisoned(f.run));
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    (void)rec_free(r);
    (void)rec_free(again);
    (void)rec_free(other);
}
