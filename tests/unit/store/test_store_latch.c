/* What makes a run read-only, what does not, and how long it stays so. */
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

/* Close the run and open it again, in the same store. */
static void run_again(struct fix *f)
{
    struct err err = { .code = 0 };
    f->run = st_run_close(f->run);
    cr_assert_eq(
        st_run_open(f->st, FIX_UID, slice_str("run"), true, &f->run, &err), 0, "%s", err.msg);
}

static int count_poisoned(void *arg, const struct st_run_row *row)
{
    *(int *)arg += row->poisoned;
    return 0;
}

static int poisoned_runs(struct fix *f)
{
    struct err err = { .code = 0 };
    int count = 0;
    cr_assert_eq(st_runs(f->st, UINT32_MAX, count_poisoned, &count, &err), 0, "%s", err.msg);
    return count;
}

/* ---- how long -------------------------------------------------------------------------------- */

static void
latch_outlives_closing(const char *failpoint, int code, enum save_state state, int files)
{
    struct fix f;
    struct err err = { .code = 0 };
    char segments[1024];
    struct rec *r = rec_fail_second(&f, failpoint, code);
    fix_path(&f, "segments", segments);
    for (int i = 0; i < 2; i++) {
        run_again(&f);
        rec_is_refused(&f, r);
        rec_state_is(&f, r, state);
        cr_assert_eq(poisoned_runs(&f), 1);
        cr_assert_eq(fix_count_files(segments), files); /* of an unknown save too: left as it is */
    }
    f.run = st_run_close(f.run);
    cr_assert_eq(st_run_drop(f.st, FIX_UID, slice_str("run"), &err), -CAIRN_EPOISONED);
    cr_assert_not_null(strstr(err.msg, "restart"), "%s", err.msg);
    fix_reopen(&f);
    cr_assert_not(st_run_poisoned(f.run));
    cr_assert_eq(poisoned_runs(&f), 0);
    cr_assert_eq(fix_count_files(segments), 1);
    rec_state_is(&f, r, SAVE_NONE);
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    rec_compare(r, f.run, 2);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    (void)rec_free(r);
}

CASE(latch, of_a_failed_sync_outlives_closing)
{
    latch_outlives_closing("segment_sync:eio:2", -CAIRN_EIO, SAVE_NONE, 1);
}

CASE(latch, of_an_unknown_commit_outlives_closing)
{
    latch_outlives_closing("commit:eio:2", -CAIRN_EUNKNOWN, SAVE_UNKNOWN, 2);
}

/* ---- what does not ----------------------------------------------------------------------------
 */

/* Every descriptor is taken: the save is refused, and that is all. */
CASE(latch, not_for_want_of_a_descriptor)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct st_save *save = NULL;
    struct rec *r = rec_big(1, 1, 3);
    fix_open(&f);
    const struct rlimit taken = fix_take_descriptors();
    int rc = st_save_begin(f.run, &r->b, &save, &err);
    fix_give_descriptors(&taken);
    cr_assert_eq(rc, -CAIRN_EBUSY, "%d %s", rc, err.msg);
    cr_assert_not_null(strstr(err.msg, "Too many open files"), "%s", err.msg);
    cr_assert_not(st_run_poisoned(f.run));
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    rec_compare(r, f.run, 1);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    (void)rec_free(r);
}

/* ---- opening ----------------------------------------------------------------------------------
 */

/* The opening's own commit is the second of this process: the first made nothing visible. */
static void open_with_failed_commit(struct fix *f, struct rec *r, const char *failpoint)
{
    struct err err = { .code = 0 };
    cr_assert_eq(setenv("CAIRN_FAILPOINT", failpoint, 1), 0);
    fix_open(f);
    cr_assert_eq(rec_save(r, f->run, &err), 0, "%s", err.msg);
    fix_reopen(f);
}

CASE(confirm, a_failed_commit_at_the_opening_latches)
{
    struct fix f;
    struct rec *r = rec_big(1, 1, 3);
    open_with_failed_commit(&f, r, "confirm:eio:2");
    rec_is_refused(&f, r);
    rec_state_is(&f, r, SAVE_UNKNOWN); /* it may be in the page cache only */
    rec_compare(r, f.run, 1);
    fix_reopen(&f);
    cr_assert_not(st_run_poisoned(f.run));
    rec_state_is(&f, r, SAVE_COMMITTED);
    fix_remove(&f);
    (void)rec_free(r);
}

CASE(confirm, a_full_disk_at_the_opening_does_not)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct rec *r = rec_big(1, 1, 3);
    struct rec *next = rec_big(2, 2, 3);
    open_with_failed_commit(&f, r, "confirm:enospc:2");
    cr_assert_not(st_run_poisoned(f.run));
    rec_state_is(&f, r, SAVE_COMMITTED);
    cr_assert_eq(rec_save(next, f.run, &err), 0, "%s", err.msg);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    (void)rec_free(r);
    (void)rec_free(next);
}

/* A run whose place could not be synced was never there. */
CASE(make, a_failed_sync_leaves_no_run)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct st_run *run = NULL;
    const struct slice name = slice_str("late");
    cr_assert_eq(setenv("CAIRN_FAILPOINT", "make_sync:eio:2", 1), 0);
    fix_open(&f);
    cr_assert_eq(st_run_open(f.st, 8, name, true, &run, &err), -CAIRN_EIO, "%s", err.msg);
    cr_assert_eq(st_run_open(f.st, 8, name, false, &run, &err), -CAIRN_ENOENT, "%s", err.msg);
    cr_assert_eq(st_run_open(f.st, 8, name, true, &run, &err), 0, "%s", err.msg);
    (void)st_run_close(run);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
}
