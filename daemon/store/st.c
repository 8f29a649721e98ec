/* The data directory: its lock, its format number, how it is written. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_int.h"

#define ST_LOCK "lock"
#define ST_FORMAT "format"
#define ST_FORMAT_TMP "format.tmp"

static int st_join(const char *a, const char *b, char ret_path[STORE_PATH_BYTES], struct err *err)
{
    int n = snprintf(ret_path, STORE_PATH_BYTES, "%s/%s", a, b);
    if (n < 0 || (size_t)n >= STORE_PATH_BYTES) {
        return err_set(err, -CAIRN_ELIMIT, "the path '%.200s...' is too long", a);
    }
    return 0;
}

int st_path(const struct st *st,
            uint32_t uid,
            const char *name,
            const char *sub,
            char ret_path[STORE_PATH_BYTES],
            struct err *err)
{
    char tail[LIMIT_RUN_NAME_BYTES + 64];
    (void)snprintf(tail,
                   sizeof tail,
                   "runs/%" PRIu32 "%s%s%s%s",
                   uid,
                   name[0] == '\0' ? "" : "/",
                   name,
                   sub[0] == '\0' ? "" : "/",
                   sub);
    return st_join(st->dir, tail, ret_path, err);
}

int st_path_aside(struct st *st, char ret_path[STORE_PATH_BYTES], struct err *err)
{
    char tail[64];
    (void)pthread_mutex_lock(&st->lock);
    uint64_t number = st->aside_count++;
    (void)pthread_mutex_unlock(&st->lock);
    (void)snprintf(tail, sizeof tail, "aside/%" PRIu64, number);
    return st_join(st->dir, tail, ret_path, err);
}

/* ---- lock ------------------------------------------------------------------------------------ */

static int st_refuse_locked(const struct st *st, struct err *err)
{
    char pid[32] = "";
    ssize_t n = pread(st->lock_fd, pid, sizeof pid - 1, 0);
    pid[n > 0 ? n : 0] = '\0';
    pid[strcspn(pid, "\n ")] = '\0';
    return err_set(
        err, -CAIRN_EBUSY, "'%s' is in use by process %s", st->dir, pid[0] == '\0' ? "?" : pid);
}

static int st_lock(struct st *st, struct err *err)
{
    st->lock_fd = openat(st->dir_fd, ST_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (st->lock_fd < 0) {
        return err_errno(err, errno, "open '%s/%s'", st->dir, ST_LOCK);
    }
    if (flock(st->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        return errno == EWOULDBLOCK ? st_refuse_locked(st, err)
                                    : err_errno(err, errno, "lock '%s/%s'", st->dir, ST_LOCK);
    }
    /* For the text above only, so it may fail. Fixed width: no truncation that would need a block.
     */
    char pid[32];
    int bytes = snprintf(pid, sizeof pid, "%-20ld\n", (long)getpid());
    ssize_t written = pwrite(st->lock_fd, pid, (size_t)bytes, 0);
    (void)written;
    return 0;
}

/* ---- format ---------------------------------------------------------------------------------- */

/* May a store be made in this directory? Not among somebody else's files. */
static int st_check_empty(const struct st *st, struct err *err)
{
    /* cairnd.log: where `cairn exec` keeps what its daemon says. */
    static const char *const ours[] = { ".",           "..",         ST_LOCK,
                                        ST_FORMAT_TMP, "lost+found", "cairnd.log" };
    DIR *dir = opendir(st->dir);
    if (dir == NULL) {
        return err_errno(err, errno, "list '%s'", st->dir);
    }
    int rc = 0;
    for (struct dirent *e = readdir(dir); e != NULL && rc == 0; e = readdir(dir)) {
        bool known = false;
        for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
            known = known || strcmp(e->d_name, ours[i]) == 0;
        }
        if (!known) {
            rc = err_set(err,
                         -CAIRN_EEXIST,
                         "'%s' is no store and holds other files ('%s')",
                         st->dir,
                         e->d_name);
        }
    }
    (void)closedir(dir);
    return rc;
}

static int st_write_format(const struct st *st, struct err *err)
{
    char text[32];
    int bytes = snprintf(text, sizeof text, "cairn %u\n", STORE_FORMAT);
    int fd = openat(st->dir_fd, ST_FORMAT_TMP, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_errno(err, errno, "create '%s/%s'", st->dir, ST_FORMAT_TMP);
    }
    bool ok = write(fd, text, (size_t)bytes) == bytes && fsync(fd) == 0;
    ok = ok && renameat(st->dir_fd, ST_FORMAT_TMP, st->dir_fd, ST_FORMAT) == 0;
    int rc = ok ? 0 : err_errno(err, errno, "write '%s/%s'", st->dir, ST_FORMAT);
    (void)close(fd);
    rc = rc < 0 ? rc : file_sync_dir(st->dir_fd, st->dir, err);
    return rc < 0 ? rc : tree_sync_parent(st->dir, err);
}

static int st_check_format(const struct st *st, bool create, struct err *err)
{
    char text[32] = "";
    int fd = openat(st->dir_fd, ST_FORMAT, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        if (!create) {
            return err_set(err, -CAIRN_ENOENT, "'%s' holds no store", st->dir);
        }
        int rc = st_check_empty(st, err);
        return rc < 0 ? rc : st_write_format(st, err);
    }
    if (fd < 0) {
        return err_errno(err, errno, "open '%s/%s'", st->dir, ST_FORMAT);
    }
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    char want[32];
    (void)snprintf(want, sizeof want, "cairn %u", STORE_FORMAT);
    if (strcmp(text, want) != 0) {
        return err_set(err,
                       -CAIRN_EVERSION,
                       "'%s' has format '%s', this program needs '%s'",
                       st->dir,
                       text,
                       want);
    }
    return 0;
}

/* ---- open and close -------------------------------------------------------------------------- */

static int st_open_dir(struct st *st, const char *dir, bool create, struct err *err)
{
    int rc = create ? tree_make(dir, err) : 0;
    if (rc < 0) {
        return rc;
    }
    st->dir = realpath(dir, NULL);
    st->dir_fd = st->dir == NULL ? -1 : open(st->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return st->dir_fd >= 0 ? 0 : err_errno(err, errno, "open '%s'", dir);
}

int st_attach(const char *dir, bool create, struct st **ret, struct err *err)
{
    struct st *st = calloc(1, sizeof *st);
    if (st == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "open the store");
    }
    st->dir_fd = -1;
    st->lock_fd = -1;
    st->mode.direct = true;
    (void)pthread_mutex_init(&st->lock, NULL);
    int rc = st_open_dir(st, dir, create, err);
    rc = rc < 0 ? rc : st_lock(st, err);
    rc = rc < 0 ? rc : st_check_format(st, create, err);
    if (rc < 0) {
        (void)st_close(st);
        return rc;
    }
    *ret = st;
    return 0;
}

static int st_make_dirs(struct st *st, struct err *err)
{
    static const char *const dirs[] = { "runs", "aside" };
    char path[STORE_PATH_BYTES];
    int rc = st_join(st->dir, "aside", path, err);
    rc = rc < 0 ? rc : tree_remove(path, err);
    for (size_t i = 0; rc == 0 && i < sizeof dirs / sizeof dirs[0]; i++) {
        rc = st_join(st->dir, dirs[i], path, err);
        rc = rc < 0 ? rc : tree_make(path, err);
    }
    return rc < 0 ? rc : file_sync_dir(st->dir_fd, st->dir, err);
}

int st_open(const char *dir, const struct st_options *options, struct st **ret, struct err *err)
{
    struct st *st = NULL;
    int rc = st_attach(dir, true, &st, err);
    if (rc < 0) {
        return err_wrap(err, rc, "open the store");
    }
    assert(st != NULL);
    if (options != NULL) {
        st->options = *options;
    }
    rc = st_make_dirs(st, err);
    rc = rc < 0 ? rc : file_probe(st->dir_fd, st->options.force_buffered, &st->mode, err);
    rc = rc < 0 ? rc : catalogue_open(st, err);
    if (rc < 0) {
        (void)st_close(st);
        return err_wrap(err, rc, "open the store '%s'", dir);
    }
    *ret = st;
    return 0;
}

struct st *st_close(struct st *st)
{
    if (st == NULL) {
        return NULL;
    }
    env_close(&st->catalogue);
    latch_free_all(st);
    if (st->lock_fd >= 0) {
        (void)close(st->lock_fd);
    }
    if (st->dir_fd >= 0) {
        (void)close(st->dir_fd);
    }
    (void)pthread_mutex_destroy(&st->lock);
    free(st->dir);
    free(st);
    return NULL;
}

const char *st_dir(const struct st *st)
{
    return st->dir;
}

const char *st_io_mode(const struct st *st, const char **ret_why)
{
    *ret_why = st->mode.why;
    return st->mode.direct ? "direct" : "buffered";
}

int st_space(const struct st *st,
             uint64_t *ret_free_bytes,
             uint64_t *ret_total_bytes,
             struct err *err)
{
    return file_space(st->dir_fd, ret_free_bytes, ret_total_bytes, err);
}
