#include "sockdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOCKDIR_PREFIX "cairn-exec."
#define SOCKDIR_LOCK "lock"
#define SOCKDIR_LOCK_NEW "lock.new"

static int sockdir_empty(int base_fd, const char *path)
{
    static const char *const names[] = {
        SOCKDIR_SOCKET, SOCKDIR_NOTIFY, SOCKDIR_LOCK, SOCKDIR_LOCK_NEW
    };
    int fd = openat(base_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)unlinkat(fd, names[i], 0);
    }
    (void)close(fd);
    return unlinkat(base_fd, path, AT_REMOVEDIR);
}

/* ---- what others left behind ---- */

/* Ours, and nobody holds its lock: whoever made it was killed. One without a lock is being made. */
static bool sockdir_is_left(int base_fd, const char *name)
{
    struct stat st = { 0 };
    int fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    int lock = -1;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid()) {
        lock = openat(fd, SOCKDIR_LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    }
    bool left = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (lock >= 0) {
        (void)close(lock);
    }
    (void)close(fd);
    return left;
}

static void sockdir_sweep(const char *base)
{
    DIR *dir = opendir(base);
    if (dir == NULL) {
        return;
    }
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (strncmp(e->d_name, SOCKDIR_PREFIX, sizeof SOCKDIR_PREFIX - 1) == 0 &&
            sockdir_is_left(dirfd(dir), e->d_name)) {
            (void)sockdir_empty(dirfd(dir), e->d_name);
        }
    }
    (void)closedir(dir);
}

/* ---- ours ---- */

/* The lock is held before it has its name: nobody ever sees one that is free and not left behind.
 */
static int sockdir_lock(struct sockdir *d)
{
    int fd = open(d->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    d->lock_fd = openat(fd, SOCKDIR_LOCK_NEW, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = d->lock_fd < 0 || flock(d->lock_fd, LOCK_EX | LOCK_NB) < 0
                 ? -1
                 : renameat(fd, SOCKDIR_LOCK_NEW, fd, SOCKDIR_LOCK);
    int error = errno;
    (void)close(fd);
    errno = error;
    return rc;
}

/* A socket's path has 107 bytes: a deep runtime directory is passed over for /tmp. */
static int sockdir_make_in(struct sockdir *d, const char *base)
{
    int length = snprintf(d->path, sizeof d->path, "%s/" SOCKDIR_PREFIX "XXXXXX", base);
    if (length < 0 || (size_t)length >= sizeof d->path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    sockdir_sweep(base);
    return mkdtemp(d->path) == NULL ? -1 : 0;
}

int sockdir_make(struct sockdir *d)
{
    *d = (struct sockdir){ .lock_fd = -1 };
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    bool absolute = runtime != NULL && runtime[0] == '/';
    if ((!absolute || sockdir_make_in(d, runtime) < 0) && sockdir_make_in(d, "/tmp") < 0) {
        return -1;
    }
    if (sockdir_lock(d) == 0) {
        return 0;
    }
    int error = errno;
    (void)sockdir_empty(AT_FDCWD, d->path);
    if (d->lock_fd >= 0) {
        (void)close(d->lock_fd);
    }
    d->lock_fd = -1;
    errno = error;
    return -1;
}

int sockdir_remove(struct sockdir *d)
{
    if (d->lock_fd < 0) {
        return 0;
    }
    /* Still locked meanwhile: nobody else takes it for left behind. */
    int rc = sockdir_empty(AT_FDCWD, d->path);
    int error = errno;
    (void)close(d->lock_fd);
    d->lock_fd = -1;
    errno = error;
    return rc;
}
