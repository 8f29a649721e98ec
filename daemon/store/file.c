#include "store/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "store/rc.h"

#define FILE_MODE 0600
#define PROBE_NAME "probe.tmp"

void *file_buffer(size_t bytes)
{
    void *data = NULL;
    return posix_memalign(&data, FILE_ALIGN_BYTES, bytes) == 0 ? data : NULL;
}

/* ---- open ------------------------------------------------------------------------------------ */

static int file_open_flags(struct file *f, bool direct, int dir_fd, const char *name, int flags)
{
    flags |= O_CLOEXEC | O_NOFOLLOW;
    *f = (struct file){ .fd = openat(dir_fd, name, flags | (direct ? O_DIRECT : 0), FILE_MODE),
                        .direct = direct };
    if (f->fd < 0 && direct && errno == EINVAL) {
        *f = (struct file){ .fd = openat(dir_fd, name, flags, FILE_MODE) };
    }
    return f->fd;
}

int file_create(
    struct file *f, const struct file_mode *mode, int dir_fd, const char *name, struct err *err)
{
    int fd = file_open_flags(f, mode->direct, dir_fd, name, O_RDWR | O_CREAT | O_EXCL);
    return fd >= 0 ? 0 : rc_open(err, errno, "create '%s'", name);
}

int file_reuse(
    struct file *f, const struct file_mode *mode, int dir_fd, const char *name, struct err *err)
{
    int fd = file_open_flags(f, mode->direct, dir_fd, name, O_RDWR);
    return fd >= 0 ? 0 : rc_open(err, errno, "open '%s' to write it anew", name);
}

int file_open(
    struct file *f, const struct file_mode *mode, int dir_fd, const char *name, struct err *err)
{
    int fd = file_open_flags(f, mode->direct, dir_fd, name, O_RDONLY);
    return fd >= 0 ? 0 : rc_open(err, errno, "open '%s'", name);
}

void file_close(struct file *f)
{
    if (f->fd >= 0) {
        (void)close(f->fd);
    }
    f->fd = -1;
}

/* ---- which mode ------------------------------------------------------------------------------ */

static int probe_round_trip(struct file *f, struct err *err)
{
    uint8_t *data = file_buffer(2 * (size_t)FILE_ALIGN_BYTES);
    if (data == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "probe for O_DIRECT");
    }
    uint8_t *back = data + FILE_ALIGN_BYTES;
    memset(data, 0xa5, FILE_ALIGN_BYTES);
    memset(back, 0, FILE_ALIGN_BYTES);
    int rc = file_write(f, 0, data, FILE_ALIGN_BYTES, err);
    if (rc == 0) {
        rc = file_read(f, 0, back, FILE_ALIGN_BYTES, err);
    }
    if (rc == 0 && memcmp(data, back, FILE_ALIGN_BYTES) != 0) {
        rc = err_set(err, -CAIRN_EIO, "the probe for O_DIRECT read back other bytes");
    }
    free(data);
    return rc;
}

static void probe_why(struct file_mode *m, const char *why)
{
    m->direct = false;
    (void)snprintf(m->why, sizeof m->why, "%s", why);
}

int file_probe(int dir_fd, bool force_buffered, struct file_mode *ret, struct err *err)
{
    struct statfs fs;
    struct file f;
    *ret = (struct file_mode){ .direct = true };
    if (force_buffered) {
        probe_why(ret, "buffered writing was asked for");
        return 0;
    }
    if (fstatfs(dir_fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)) {
        /* Newer kernels accept the flag there, and copy all the same. */
        probe_why(ret, "the file system keeps its files in memory");
        return 0;
    }
    (void)unlinkat(dir_fd, PROBE_NAME, 0);
    if (file_open_flags(&f, true, dir_fd, PROBE_NAME, O_RDWR | O_CREAT | O_EXCL) < 0) {
        return rc_open(err, errno, "create '%s'", PROBE_NAME);
    }
    int rc = 0;
    if (!f.direct) {
        probe_why(ret, "the file system refuses O_DIRECT");
    } else {
        rc = probe_round_trip(&f, err);
        if (rc == -CAIRN_EIO) {
            probe_why(ret, "a trial with O_DIRECT failed");
            rc = 0;
        }
    }
    file_close(&f);
    (void)unlinkat(dir_fd, PROBE_NAME, 0);
    return rc == -CAIRN_ENOSPC ? 0 : rc;
}

/* ---- size ------------------------------------------------------------------------------------ */

int file_allocate(struct file *f, uint64_t bytes, struct err *err)
{
    int rc;
    do {
        rc = fallocate(f->fd, 0, 0, (off_t)bytes);
    } while (rc < 0 && errno == EINTR);
    if (rc == 0 || errno == EOPNOTSUPP) {
        return 0; /* where space cannot be had in advance, the writes will tell */
    }
    return err_errno(err, errno, "allocate %" PRIu64 " bytes", bytes);
}

int file_truncate(struct file *f, uint64_t bytes, struct err *err)
{
    return ftruncate(f->fd, (off_t)bytes) == 0
               ? 0
               : err_errno(err, errno, "set the size to %" PRIu64 " bytes", bytes);
}

int file_size(const struct file *f, uint64_t *ret_bytes, struct err *err)
{
    struct stat st;
    if (fstat(f->fd, &st) < 0) {
        return err_errno(err, errno, "look at the size");
    }
    *ret_bytes = (uint64_t)st.st_size;
    return 0;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Buffered: start writing this range back, wait for the one before it and drop that from the cache,
 * so that at most two ranges are ever dirty. */
static int file_push(struct file *f, uint64_t offset, size_t bytes)
{
    if (sync_file_range(f->fd, (off_t)offset, (off_t)bytes, SYNC_FILE_RANGE_WRITE) < 0 &&
        (errno == EIO || errno == ENOSPC)) {
        return -1;
    }
    if (f->pushed_bytes > 0) {
        unsigned flags =
            SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
        if (sync_file_range(f->fd, (off_t)f->pushed_offset, (off_t)f->pushed_bytes, flags) < 0 &&
            (errno == EIO || errno == ENOSPC)) {
            return -1;
        }
        (void)posix_fadvise(
            f->fd, (off_t)f->pushed_offset, (off_t)f->pushed_bytes, POSIX_FADV_DONTNEED);
    }
    f->pushed_offset = offset;
    f->pushed_bytes = bytes;
    return 0;
}

/* How much of a short transfer counts: with O_DIRECT the rest must start aligned. */
static size_t file_progress(const struct file *f, size_t done)
{
    return f->direct ? done & ~(size_t)(FILE_ALIGN_BYTES - 1) : done;
}

int file_write(struct file *f, uint64_t offset, const void *data, size_t bytes, struct err *err)
{
    const uint8_t *at = data;
    assert(offset % FILE_ALIGN_BYTES == 0 && bytes % FILE_ALIGN_BYTES == 0);
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(f->fd, at + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        size_t progress = n < 0 ? 0 : file_progress(f, (size_t)n);
        if (progress == 0) {
            return err_errno(err,
                             n < 0 ? errno : EIO,
                             "write %zu bytes at %" PRIu64,
                             bytes - done,
                             offset + done);
        }
        done += progress;
    }
    if (!f->direct && file_push(f, offset, bytes) < 0) {
        return err_errno(err, errno, "write back %zu bytes at %" PRIu64, bytes, offset);
    }
    return 0;
}

int file_read(const struct file *f, uint64_t offset, void *data, size_t bytes, struct err *err)
{
    uint8_t *at = data;
    assert(offset % FILE_ALIGN_BYTES == 0 && bytes % FILE_ALIGN_BYTES == 0);
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(f->fd, at + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return err_errno(err, errno, "read %zu bytes at %" PRIu64, bytes - done, offset + done);
        }
        size_t progress = file_progress(f, (size_t)n);
        if (progress == 0) {
            return err_set(err,
                           -CAIRN_ECORRUPT,
                           "the file ends at %" PRIu64 ", before %" PRIu64,
                           offset + done + (uint64_t)n,
                           offset + bytes);
        }
        done += progress;
    }
    if (!f->direct) {
        (void)posix_fadvise(f->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_DONTNEED);
    }
    return 0;
}

int file_sync(struct file *f, struct err *err)
{
    if (fdatasync(f->fd) < 0) {
        return err_errno(err, errno, "sync");
    }
    if (!f->direct) {
        (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
    }
    return 0;
}

/* ---- directories ----------------------------------------------------------------------------- */

int file_sync_dir(int dir_fd, const char *name, struct err *err)
{
    return fsync(dir_fd) == 0 ? 0 : err_errno(err, errno, "sync the directory '%s'", name);
}

int file_open_dir(int at_fd, const char *name, int *ret_fd, struct err *err)
{
    int fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return rc_open(err, errno, "open the directory '%s'", name);
    }
    *ret_fd = fd;
    return 0;
}

int file_space(int fd, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes, struct err *err)
{
    struct statvfs vfs;
    if (fstatvfs(fd, &vfs) < 0) {
        return err_errno(err, errno, "look at the free space");
    }
    *ret_free_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
    *ret_total_bytes = (uint64_t)vfs.f_blocks * vfs.f_frsize;
    return 0;
}
