/* The file of a removed segment is written anew; nothing of what was in it passes for anything. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raw.h"

/* Boundaries of one size each: seq i holds what seed i says. */
struct some {
    struct fix f;
    char segments[1024];
};

static struct rec *rec_of(uint64_t seed, uint64_t floats)
{
    struct rec *r = rec_new(10 * seed, seed);
    rec_floats(r, COMPONENT_MODEL, "m", floats);
    rec_build(r);
    return r;
}

static void saves(const struct some *s, uint64_t seed, uint64_t floats)
{
    struct err err = { .code = 0 };
    struct rec *r = rec_of(seed, floats);
    cr_assert_eq(rec_save(r, s->f.run, &err), 0, "%s", err.msg);
    rec_compare(r, s->f.run, r->b.seq);
    cr_assert_eq(rec_verify(s->f.run, r->b.seq, NULL), 0);
    (void)rec_free(r);
}

static void removes(const struct some *s, uint64_t seq)
{
    struct err err = { .code = 0 };
    cr_assert_eq(st_remove(s->f.run, &seq, 1, &err), 0, "%s", err.msg);
}

#define FLOATS 300000u

static void some_start(struct some *s, unsigned count)
{
    fix_open(&s->f);
    fix_path(&s->f, "segments", s->segments);
    for (unsigned i = 1; i <= count; i++) {
        saves(s, i, FLOATS);
    }
}

/* Of the segment, or of the spare. 0: there is no such file. */
static uint64_t inode(const struct some *s, uint64_t id, const char *end)
{
    char path[1200];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/%016lx%s", s->segments, id, end);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

static void files_are(const struct some *s, int segments, int spares)
{
    cr_assert_eq(fix_count_segments(s->segments), segments);
    cr_assert_eq(fix_count_files(s->segments), segments + spares);
}

static void sound(struct some *s)
{
    fix_close(&s->f);
    cr_assert_eq(fix_count_files(s->segments), fix_count_segments(s->segments), "a spare is left");
    fix_fsck_clean(&s->f);
    fix_reopen(&s->f);
}

CASE(spare, is_written_anew)
{
    struct some s;
    some_start(&s, 2);
    uint64_t first = inode(&s, 1, ".seg");
    removes(&s, 1);
    cr_assert_eq(inode(&s, 1, ".tmp"), first);
    files_are(&s, 1, 1);
    saves(&s, 3, FLOATS);
    cr_assert_eq(inode(&s, 3, ".seg"), first);
    files_are(&s, 2, 0);
    sound(&s);
    fix_remove(&s.f);
}

/* Smaller and larger than what was in it: the file ends where the new one does. */
CASE(spare, of_about_the_size)
{
    static const struct {
        uint64_t floats;
        bool reused;
    } next[] = {
        { FLOATS * 10 / 11, true },
        { FLOATS * 21 / 20, true },
        { FLOATS / 3, false },
        { FLOATS * 3 / 2, false },
    };
    for (unsigned i = 0; i < sizeof next / sizeof next[0]; i++) {
        struct some s;
        some_start(&s, 2);
        char path[1024];
        uint64_t first = inode(&s, 1, ".seg");
        raw_segment_path(&s.f, 1, path);
        int fd = open(path, O_RDONLY | O_CLOEXEC); /* so that no other file gets its inode */
        cr_assert_geq(fd, 0);
        removes(&s, 1);
        saves(&s, 3, next[i].floats);
        (void)close(fd);
        cr_assert_eq(inode(&s, 3, ".seg") == first, next[i].reused, "%u", i);
        files_are(&s, 2, next[i].reused ? 0 : 1);
        sound(&s);
        fix_remove(&s.f);
    }
}

/* One that is too large for what is saved now goes when the next is left over. */
CASE(spare, one_that_does_not_fit_makes_room)
{
    struct some s;
    some_start(&s, 3);
    removes(&s, 1);
    uint64_t large = inode(&s, 1, ".tmp");
    cr_assert_neq(large, 0);
    saves(&s, 4, FLOATS * 2 / 5);
    saves(&s, 5, FLOATS * 2 / 5);
    cr_assert_eq(inode(&s, 1, ".tmp"), large);
    uint64_t small = inode(&s, 4, ".seg");
    removes(&s, 2);
    cr_assert_eq(inode(&s, 1, ".tmp"), large);
    removes(&s, 4);
    files_are(&s, 2, 1);
    saves(&s, 6, FLOATS * 2 / 5);
    cr_assert_eq(inode(&s, 6, ".seg"), small);
    files_are(&s, 3, 0);
    sound(&s);
    fix_remove(&s.f);
}

CASE(spare, there_is_one_at_a_time)
{
    struct some s;
    some_start(&s, 4);
    removes(&s, 1);
    removes(&s, 2);
    files_are(&s, 2, 1);
    sound(&s);
    files_are(&s, 2, 0);
    fix_remove(&s.f);
}

CASE(spare, is_swept_after_a_crash)
{
    struct some s;
    char from[1200];
    char to[1200];
    some_start(&s, 2);
    fix_close(&s.f);
    (void)snprintf(from, sizeof from, "%s/%016x.seg", s.segments, 1);
    (void)snprintf(to, sizeof to, "%s/%016x.tmp", s.segments, 9);
    cr_assert_eq(link(from, to), 0);
    fix_reopen(&s.f);
    files_are(&s, 2, 0);
    saves(&s, 3, FLOATS);
    cr_assert_neq(inode(&s, 10, ".seg"), 0, "its id is not used again");
    fix_remove(&s.f);
}

/* The child writes into the spare and is killed on its way: what was there before stays, and the
 * file that was begun goes. */
static void killed_at(const char *failpoint)
{
    struct some s;
    int status = 0;
    cr_assert_eq(setenv("CAIRN_FAILPOINT", failpoint, 1), 0); /* read once, here */
    some_start(&s, 3);
    fix_close(&s.f);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        struct err err = { .code = 0 };
        int rc = st_open(s.f.dir, NULL, &s.f.st, &err);
        rc = rc < 0 ? rc : st_run_open(s.f.st, FIX_UID, slice_str("run"), false, &s.f.run, &err);
        rc = rc < 0 ? rc : st_remove(s.f.run, &(uint64_t){ 1 }, 1, &err);
        rc = rc < 0 ? rc : rec_save(rec_of(4, FLOATS), s.f.run, &err);
        _exit(rc == 0 ? 0 : 1);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%s did not kill", failpoint);
    fix_reopen(&s.f);
    files_are(&s, 2, 0);
    cr_assert_eq(rec_verify(s.f.run, 2, NULL), 0);
    cr_assert_eq(rec_verify(s.f.run, 3, NULL), 0);
    sound(&s);
    fix_remove(&s.f);
}

CASE(spare, killed_while_it_is_written)
{
    killed_at("segment_write:kill:4");
}

CASE(spare, killed_before_it_is_synced)
{
    killed_at("segment_sync:kill:4");
}

CASE(spare, killed_before_the_commit)
{
    killed_at("commit:kill:4");
}

/* Saves and removals in turn take no more of the disk than the boundaries there are and one. */
CASE(spare, the_disk_stays_flat)
{
    struct some s;
    struct stat st;
    some_start(&s, 3);
    for (uint64_t seq = 4; seq <= 23; seq++) {
        uint64_t blocks = 0;
        removes(&s, seq - 3);
        saves(&s, seq, FLOATS);
        for (uint64_t id = 1; id <= seq; id++) {
            char path[1200];
            (void)snprintf(path, sizeof path, "%s/%016lx.seg", s.segments, id);
            blocks += stat(path, &st) == 0 ? (uint64_t)st.st_blocks : 0;
        }
        files_are(&s, 3, 0);
        cr_assert_leq(blocks * 512, 3 * (FLOATS * sizeof(float) + (64u << 10)));
    }
    sound(&s);
    fix_remove(&s.f);
}
