#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *fix_env(const char *name)
{
    const char *value = getenv(name);
    cr_assert_not_null(value, "%s is not set: run through CTest", name);
    return value;
}

static void fix_check_fs(const char *dir)
{
    static const struct {
        const char *name;
        long magic;
    } known[] = { { "ext4", EXT4_SUPER_MAGIC },
                  { "xfs", XFS_SUPER_MAGIC },
                  { "tmpfs", TMPFS_MAGIC } };
    const char *want = fix_env("CAIRN_TEST_FS");
    struct statfs fs;
    cr_assert_eq(statfs(dir, &fs), 0, "'%s' is missing: %s", dir, strerror(errno));
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, want) == 0) {
            cr_assert_eq(
                (long)fs.f_type, known[i].magic, "'%s' is no %s: the mount is missing", dir, want);
            return;
        }
    }
    cr_assert_fail("unknown file system '%s'", want);
}

static void fix_check_mode(const struct st *st)
{
    const char *why = NULL;
    const char *mode = st_io_mode(st, &why);
    const char *fs = fix_env("CAIRN_TEST_FS");
    const char *want = strcmp(fs, "tmpfs") == 0 ? "buffered" : "direct";
    (void)fprintf(stderr, "store test on %s: %s%s%s\n", fs, mode, why[0] == '\0' ? "" : ", ", why);
    cr_assert_str_eq(mode, want);
    cr_assert_eq(why[0] == '\0', strcmp(want, "direct") == 0);
}

void fix_dir(struct fix *f)
{
    *f = (struct fix){ .st = NULL };
    const char *base = fix_env("CAIRN_TEST_DIR");
    fix_check_fs(base);
    (void)snprintf(f->dir, sizeof f->dir, "%s/store-XXXXXX", base);
    cr_assert_not_null(mkdtemp(f->dir));
}

static void fix_start(struct fix *f, const struct st_options *options)
{
    struct err err = { .code = 0 };
    cr_assert_eq(st_open(f->dir, options, &f->st, &err), 0, "%s", err.msg);
    if (options == NULL || !options->force_buffered) {
        fix_check_mode(f->st);
    }
    cr_assert_eq(
        st_run_open(f->st, FIX_UID, slice_str("run"), true, &f->run, &err), 0, "%s", err.msg);
}

void fix_open(struct fix *f)
{
    fix_dir(f);
    fix_start(f, NULL);
}

void fix_open_with(struct fix *f, const struct st_options *options)
{
    fix_dir(f);
    fix_start(f, options);
}

void fix_close(struct fix *f)
{
    f->run = st_run_close(f->run);
    f->st = st_close(f->st);
}

void fix_reopen(struct fix *f)
{
    fix_close(f);
    fix_start(f, NULL);
}

static int fix_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void fix_remove_tree(const char *path)
{
    cr_assert_eq(nftw(path, fix_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

void fix_remove(struct fix *f)
{
    fix_close(f);
    fix_remove_tree(f->dir);
}

void fix_path(const struct fix *f, const char *sub, char ret_path[1024])
{
    (void)snprintf(ret_path, 1024, "%s/runs/%u/run/%s", f->dir, FIX_UID, sub);
}

/* Files whose names end so. */
static int count_files(const char *dir, const char *end)
{
    int count = 0;
    DIR *d = opendir(dir);
    cr_assert_not_null(d, "%s", dir);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        size_t bytes = strlen(e->d_name);
        count += e->d_name[0] != '.' && bytes >= strlen(end) &&
                 strcmp(e->d_name + bytes - strlen(end), end) == 0;
    }
    (void)closedir(d);
    return count;
}

int fix_count_files(const char *dir)
{
    return count_files(dir, "");
}

int fix_count_segments(const char *dir)
{
    return count_files(dir, ".seg");
}

int fix_command(const char *const argv[])
{
    union {
        const char *const *in;
        char **out;
    } pun = { .in = argv };
    pid_t pid = 0;
    int status = 0;
    cr_assert_eq(posix_spawnp(&pid, argv[0], NULL, NULL, pun.out, environ), 0, "%s", argv[0]);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- fsck ------------------------------------------------------------------------------------ */

struct fix_found {
    const char *expected;
    int count, matching, leftovers;
    char all[4096];
};

static int fix_found_one(void *arg, const char *where, const char *text)
{
    struct fix_found *found = arg;
    size_t used = strlen(found->all);
    found->count++;
    found->leftovers += strstr(text, "left over from an unfinished save") != NULL ? 1 : 0;
    found->matching += found->expected != NULL && strstr(text, found->expected) != NULL;
    (void)snprintf(found->all + used, sizeof found->all - used, "%s: %s\n", where, text);
    return 0;
}

static void fix_fsck(const struct fix *f, struct fix_found *found)
{
    struct wire_verified verified;
    struct err err = { .code = 0 };
    cr_assert_null(f->st, "close the store before");
    cr_assert_eq(st_fsck(f->dir, fix_found_one, found, &verified, &err), 0, "%s", err.msg);
    /* What a crash left over is told, and is no damage. */
    cr_assert_eq(verified.finding_count, (uint64_t)(found->count - found->leftovers));
}

void fix_fsck_clean(const struct fix *f)
{
    struct fix_found found = { .expected = NULL };
    fix_fsck(f, &found);
    cr_assert_eq(found.count, 0, "fsck says:\n%s", found.all);
}

void fix_fsck_finds(const struct fix *f, const char *expected)
{
    struct fix_found found = { .expected = expected };
    fix_fsck(f, &found);
    cr_assert_gt(found.matching, 0, "expected '%s', fsck says:\n%s", expected, found.all);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

struct rlimit fix_take_descriptors(void)
{
    struct rlimit old;
    int lowest = fcntl(0, F_DUPFD_CLOEXEC, 0);
    cr_assert_geq(lowest, 0);
    (void)close(lowest);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    const struct rlimit low = { .rlim_cur = (rlim_t)lowest, .rlim_max = old.rlim_max };
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    return old;
}

void fix_give_descriptors(const struct rlimit *taken)
{
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, taken), 0);
}
