/* Death and failing disks: a boundary is absent or complete, and after a failed write the run is
 * read-only until it is opened anew. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

/* ---- kill -9 --------------------------------------------------------------------------------- */

/* In a child: open, save the boundaries first..last, close. Never returns. */
static void victim(struct fix *f, const char *failpoint, uint64_t first, uint64_t last)
{
    struct err err = { .code = 0 };
    int rc = failpoint == NULL ? 0 : setenv("CAIRN_FAILPOINT", failpoint, 1);
    rc = rc < 0 ? rc : st_open(f->dir, NULL, &f->st, &err);
    rc = rc < 0 ? rc : st_run_open(f->st, FIX_UID, slice_str("run"), true, &f->run, &err);
    for (uint64_t i = first; rc == 0 && i <= last; i++) {
        struct rec *r = rec_big(i, i, 3);
        rc = rec_save(r, f->run, &err);
        (void)rec_free(r);
    }
    fix_close(f);
    if (rc < 0) {
        (void)fprintf(stderr, "victim: %s\n", err.msg);
    }
    _exit(rc == 0 ? 0 : 1);
}

static int run_victim(struct fix *f, const char *failpoint, uint64_t first, uint64_t last)
{
    int status = 0;
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        victim(f, failpoint, first, last);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return status;
}

/* Boundary 1 is there; boundary 2 is being saved when the process is killed at `failpoint`. Once
 * per test: what is armed is read once per process, and the children are forked from this one. */
static void killed_at(const char *failpoint, bool complete)
{
    struct fix f;
    struct err err = { .code = 0 };
    char segments[1024];
    fix_dir(&f);
    fix_path(&f, "segments", segments);
    cr_assert_eq(run_victim(&f, NULL, 1, 1), 0);
    int status = run_victim(&f, failpoint, 2, 2);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%s did not kill", failpoint);
    fix_reopen(&f);
    struct row_run row;
    st_run_row(f.run, &row);
    cr_assert_eq(row.boundary_count, complete ? 2 : 1, "%s", failpoint);
    cr_assert_eq(fix_count_files(segments), complete ? 2 : 1, "%s", failpoint);
    for (uint64_t seq = 1; seq <= row.boundary_count; seq++) {
        cr_assert_eq(rec_verify(f.run, seq, NULL), 0, "%s", failpoint);
    }
    fix_close(&f);
    fix_fsck_clean(&f);
    /* Life goes on, and a save whose acknowledgement was lost is the same save. */
    fix_reopen(&f);
    struct rec *r = rec_big(2, 2, 3);
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    cr_assert_eq(r->b.seq, 2);
    rec_compare(r, f.run, 2);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    (void)rec_free(r);
}

CASE(kill, E26_before_the_first_chunk)
{
    killed_at("segment_write:kill:1", false);
}

CASE(kill, E26_in_the_middle_of_the_segment)
{
    killed_at("segment_write:kill:2", false);
}

CASE(kill, E26_before_the_last_chunk)
{
    killed_at("segment_write:kill:3", false);
}

CASE(kill, N11_E26_before_the_sync)
{
    killed_at("segment_sync:kill", false);
}

CASE(kill, N11_E26_before_the_commit)
{
    killed_at("commit:kill", false);
}

CASE(kill, E26_after_the_commit)
{
    killed_at("committed:kill", true);
}

/* What the killed process left is told, and harms nobody: it goes when the run is opened. */
static void leaves_until_opened(const char *failpoint, const char *left)
{
    struct fix f;
    fix_dir(&f);
    cr_assert_eq(run_victim(&f, NULL, 1, 1), 0);
    cr_assert(WIFSIGNALED(run_victim(&f, failpoint, 2, 2)));
    fix_fsck_finds(&f, left);
    cr_assert_eq(run_victim(&f, NULL, 1, 0), 0); /* opens, and saves nothing */
    fix_fsck_clean(&f);
    fix_remove(&f);
}

CASE(kill, leaves_a_temporary_file_until_the_run_is_opened)
{
    leaves_until_opened("segment_sync:kill", "temporary segment 0000000000000002: left over");
}

CASE(kill, leaves_an_unnamed_file_until_the_run_is_opened)
{
    leaves_until_opened("commit:kill", "unnamed segment 0000000000000002: left over");
}

/* ---- failing writes -------------------------------------------------------------------------- */

/* Opening anew ends the latch; nothing of the failed save is there, and it can be saved. */
static void expect_recovery(struct fix *f, struct rec *r)
{
    struct err err = { .code = 0 };
    char segments[1024];
    fix_path(f, "segments", segments);
    fix_reopen(f);
    cr_assert_not(st_run_poisoned(f->run));
    cr_assert_eq(fix_count_files(segments), 1);
    rec_state_is(f, r, SAVE_NONE);
    fix_close(f);
    fix_fsck_clean(f);
    fix_reopen(f);
    cr_assert_eq(rec_save(r, f->run, &err), 0, "%s", err.msg);
    rec_compare(r, f->run, 2);
    fix_close(f);
    fix_fsck_clean(f);
    fix_remove(f);
}

static void eio_latches(const char *failpoint)
{
    struct fix f;
    char segments[1024];
    struct rec *r = rec_fail_second(&f, failpoint, -CAIRN_EIO);
    fix_path(&f, "segments", segments);
    rec_is_refused(&f, r);
    rec_state_is(&f, r, SAVE_NONE);
    cr_assert_eq(fix_count_files(segments), 1);
    expect_recovery(&f, r);
    (void)rec_free(r);
}

CASE(latch, failed_write)
{
    eio_latches("segment_write:eio:5");
}

CASE(latch, failed_sync)
{
    eio_latches("segment_sync:eio:2");
}

CASE(latch, failed_commit_is_unknown)
{
    struct fix f;
    char segments[1024];
    struct rec *r = rec_fail_second(&f, "commit:eio:2", -CAIRN_EUNKNOWN);
    fix_path(&f, "segments", segments);
    rec_is_refused(&f, r);
    rec_state_is(&f, r, SAVE_UNKNOWN);
    cr_assert_eq(fix_count_files(segments), 2); /* it may be named: it stays */
    expect_recovery(&f, r);
    (void)rec_free(r);
}

/* Not a failpoint: LMDB itself cannot write its pages. */
CASE(latch, failed_commit_of_lmdb_itself)
{
    struct fix f;
    struct err err = { .code = 0 };
    char path[1024];
    struct stat st;
    struct rlimit old;
    struct rec *first = rec_tiny(1, 1);
    struct rec *r = rec_new(2, 2);
    uint8_t *value = calloc(1, LIMIT_SCALAR_BYTES);
    for (unsigned i = 0; i < 20; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "blob %02u", i);
        rec_scalar(r, COMPONENT_STATE, name, ENTRY_BYTES, value, LIMIT_SCALAR_BYTES);
    }
    r->page_entries = 4;
    rec_build(r);
    fix_open(&f);
    cr_assert_eq(rec_save(first, f.run, &err), 0, "%s", err.msg);
    fix_path(&f, "index/data.mdb", path);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    const struct rlimit low = { .rlim_cur = (rlim_t)st.st_size, .rlim_max = old.rlim_max };
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
    int rc = rec_save(r, f.run, &err);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    cr_assert_eq(rc, -CAIRN_EUNKNOWN, "%s", err.msg);
    cr_assert(st_run_poisoned(f.run));
    rec_compare(first, f.run, 1);
    fix_reopen(&f);
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    rec_compare(r, f.run, 2);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    free(value);
    (void)rec_free(first);
    (void)rec_free(r);
}

static void enospc_does_not_latch(const char *failpoint)
{
    struct fix f;
    struct err err = { .code = 0 };
    char segments[1024];
    struct rec *r = rec_fail_second(&f, failpoint, -CAIRN_ENOSPC);
    fix_path(&f, "segments", segments);
    cr_assert_not(st_run_poisoned(f.run));
    cr_assert_eq(fix_count_files(segments), 1);
    rec_state_is(&f, r, SAVE_NONE);
    cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
    rec_compare(r, f.run, 2);
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    (void)rec_free(r);
}

CASE(full, E26_at_a_write)
{
    enospc_does_not_latch("segment_write:enospc:5");
}

CASE(full, E26_at_the_sync)
{
    enospc_does_not_latch("segment_sync:enospc:2");
}

CASE(full, N11_E26_at_the_commit)
{
    enospc_does_not_latch("commit:enospc:2");
}
