/* listener.c: as listener.h says.
 *
 * Between the check whether somebody listens at the path and our own listen() another daemon could
 * do the same: both hold a lock on the directory meanwhile, for which no file is left behind. */
#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

enum { LSN_BACKLOG = 128 };

struct listener {
    int fd;
    bool activated;
    bool bound; /* path is our file: dev and ino say which */
    dev_t dev;
    ino_t ino;
    struct sockaddr_un addr;
};

int lsn_fd(const struct listener *lsn)
{
    return lsn->fd;
}

const char *lsn_path(const struct listener *lsn)
{
    return lsn->addr.sun_path;
}

bool lsn_activated(const struct listener *lsn)
{
    return lsn->activated;
}

/* ---- handed over ---- */

static int lsn_take_over(struct listener *lsn, int count, struct err *err)
{
    socklen_t bytes = sizeof lsn->addr;
    if (count > 1) {
        return err_set(err, -CAIRN_EINVAL, "%d sockets were handed over: one is expected", count);
    }
    lsn->fd = SD_LISTEN_FDS_START;
    if (sd_is_socket_unix(lsn->fd, SOCK_STREAM, 1, NULL, 0) <= 0) {
        return err_set(
            err,
            -CAIRN_EINVAL,
            "what was handed over is no listening Unix stream socket (ListenStream=/path)");
    }
    lsn->activated = true;
    if (getsockname(lsn->fd, (struct sockaddr *)&lsn->addr, &bytes) < 0) {
        return err_errno(err, errno, "name of the socket that was handed over");
    }
    lsn->addr.sun_path[sizeof lsn->addr.sun_path - 1] = '\0';
    return 0;
}

/* ---- our own ---- */

static int lsn_set_path(struct listener *lsn, const char *path, struct err *err)
{
    size_t bytes = strlen(path);
    if (bytes == 0 || bytes >= sizeof lsn->addr.sun_path) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "socket path '%s' has %zu bytes: 1 to %zu are possible, use a shorter one",
                       path,
                       bytes,
                       sizeof lsn->addr.sun_path - 1);
    }
    lsn->addr.sun_family = AF_UNIX;
    memcpy(lsn->addr.sun_path, path, bytes + 1);
    return 0;
}

/* Lock the directory of the path; *ret_fd is closed to unlock. */
static int lsn_lock_directory(const char *path, int *ret_fd, struct err *err)
{
    char copy[sizeof((struct sockaddr_un *)0)->sun_path];
    (void)snprintf(copy, sizeof copy, "%s", path);
    const char *dir = dirname(copy);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return err_errno(err, errno, "open directory '%s' of the socket", dir);
    }
    int rc = 0;
    do {
        rc = flock(fd, LOCK_EX);
    } while (rc < 0 && errno == EINTR);
    if (rc < 0) {
        rc = err_errno(err, errno, "lock directory '%s' of the socket", dir);
        (void)close(fd);
        return rc;
    }
    *ret_fd = fd;
    return 0;
}

/* Does anybody listen at the path? A full backlog (EAGAIN) is somebody. */
static int lsn_refuse_live(const struct listener *lsn, struct err *err)
{
    const char *path = lsn->addr.sun_path;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return err_errno(err, errno, "make a socket");
    }
    int rc = connect(fd, (const struct sockaddr *)&lsn->addr, sizeof lsn->addr);
    int errnum = rc < 0 ? errno : 0;
    struct ucred owner = { 0 };
    socklen_t bytes = sizeof owner;
    bool known = rc == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &bytes) == 0;
    (void)close(fd);
    if (known) {
        return err_set(err,
                       -CAIRN_EBUSY,
                       "a daemon listens at '%s' already (pid %d, uid %u)",
                       path,
                       (int)owner.pid,
                       (unsigned)owner.uid);
    }
    if (rc == 0 || errnum == EAGAIN) {
        return err_set(err, -CAIRN_EBUSY, "a daemon listens at '%s' already", path);
    }
    if (errnum != ECONNREFUSED) {
        return err_errno(err, errnum, "try whether somebody listens at '%s'", path);
    }
    return 0;
}

static int lsn_remove_stale(const struct listener *lsn, struct err *err)
{
    const char *path = lsn->addr.sun_path;
    struct stat st;
    if (lstat(path, &st) < 0) {
        return errno == ENOENT ? 0 : err_errno(err, errno, "look at '%s'", path);
    }
    if (!S_ISSOCK(st.st_mode)) {
        return err_set(err, -CAIRN_EEXIST, "'%s' exists and is no socket: it is not touched", path);
    }
    int rc = lsn_refuse_live(lsn, err);
    if (rc < 0) {
        return rc;
    }
    return unlink(path) < 0 ? err_errno(err, errno, "remove stale socket '%s'", path) : 0;
}

/* Made for nobody but us, opened up as asked, and only then listening. */
static int
lsn_publish(struct listener *lsn, const struct listener_options *options, struct err *err)
{
    const char *path = lsn->addr.sun_path;
    struct stat st;
    mode_t before = umask(0177);
    int rc = bind(lsn->fd, (const struct sockaddr *)&lsn->addr, sizeof lsn->addr);
    int errnum = errno;
    (void)umask(before);
    if (rc < 0) {
        return err_errno(err, errnum, "bind '%s'", path);
    }
    if (lstat(path, &st) < 0) {
        return err_errno(err, errno, "look at '%s'", path);
    }
    lsn->bound = true;
    lsn->dev = st.st_dev;
    lsn->ino = st.st_ino;
    if (options->group >= 0 && chown(path, (uid_t)-1, (gid_t)options->group) < 0) {
        return err_errno(err, errno, "give '%s' to group %lld", path, (long long)options->group);
    }
    if (chmod(path, options->mode) < 0) {
        return err_errno(err, errno, "set the mode of '%s'", path);
    }
    return listen(lsn->fd, LSN_BACKLOG) < 0 ? err_errno(err, errno, "listen at '%s'", path) : 0;
}

static int lsn_bind(struct listener *lsn, const struct listener_options *options, struct err *err)
{
    int lock = -1;
    int rc = lsn_set_path(lsn, options->path, err);
    if (rc == 0) {
        rc = lsn_lock_directory(options->path, &lock, err);
    }
    if (rc == 0) {
        rc = lsn_remove_stale(lsn, err);
    }
    if (rc == 0) {
        lsn->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        rc = lsn->fd < 0 ? err_errno(err, errno, "make a socket") : lsn_publish(lsn, options, err);
    }
    if (lock >= 0) {
        (void)close(lock);
    }
    return rc;
}

int lsn_open(const struct listener_options *options, struct listener **ret, struct err *err)
{
    struct listener *lsn = calloc(1, sizeof *lsn);
    if (lsn == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory for the listener");
    }
    lsn->fd = -1;
    int handed = sd_listen_fds(1);
    int rc = handed > 0 ? lsn_take_over(lsn, handed, err) : lsn_bind(lsn, options, err);
    if (rc < 0) {
        (void)lsn_close(lsn);
        return rc;
    }
    *ret = lsn;
    return 0;
}

struct listener *lsn_close(struct listener *lsn)
{
    struct stat st;
    if (lsn == NULL) {
        return NULL;
    }
    bool ours = lsn->bound && lstat(lsn->addr.sun_path, &st) == 0 && st.st_dev == lsn->dev &&
                st.st_ino == lsn->ino;
    if (ours) {
        (void)unlink(lsn->addr.sun_path);
    }
    if (lsn->fd >= 0) {
        (void)close(lsn->fd);
    }
    free(lsn);
    return NULL;
}
