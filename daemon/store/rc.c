#include "store/rc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include <lmdb.h>

/* A file system with less than this is full as far as a failed write is concerned: XFS keeps a few
 * blocks to itself, and what failed may have been longer than what is left. */
#define RC_FULL_BYTES (4u << 20)

static int rc_code(int rc)
{
    switch (rc) {
    case MDB_NOTFOUND:
        return -CAIRN_ENOENT;
    case MDB_KEYEXIST:
        return -CAIRN_EEXIST;
    case MDB_VERSION_MISMATCH:
        return -CAIRN_EVERSION;
    case MDB_PAGE_NOTFOUND:
    case MDB_CORRUPTED:
    case MDB_INVALID:
    case MDB_INCOMPATIBLE:
    case MDB_CURSOR_FULL:
        return -CAIRN_ECORRUPT;
    case MDB_MAP_FULL:
    case MDB_DBS_FULL:
    case MDB_TXN_FULL:
    case MDB_TLS_FULL:
        return -CAIRN_ELIMIT;
    case MDB_READERS_FULL:
    case MDB_MAP_RESIZED:
        return -CAIRN_EBUSY;
    case MDB_PANIC:
        return -CAIRN_EPOISONED;
    default:
        return -CAIRN_EINTERNAL; /* a misuse: BAD_TXN, BAD_DBI, BAD_VALSIZE... */
    }
}

int rc_lmdb(struct err *err, int rc, const char *fmt, ...)
{
    char text[384];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0) {
        text[0] = '\0';
    }
    if (rc > 0) {
        return rc_open(err, rc, "%s", text);
    }
    return err_set(err, rc_code(rc), "%s: %s", text, mdb_strerror(rc));
}

static const char *rc_advice(int errnum)
{
    switch (errnum) {
    case EMFILE:
        return ": too much is open at once, try again later or raise LimitNOFILE= of the daemon";
    case ENFILE:
        return ": too much is open on this machine, try again later or raise fs.file-max";
    case ENOMEM:
        return ": the machine is short of memory, free some and try again";
    case EACCES:
    case EPERM:
        return ": the daemon's user must own what is in its data directory, see to that";
    default:
        return "";
    }
}

int rc_open(struct err *err, int errnum, const char *fmt, ...)
{
    char text[384];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    int code = err_errno(err, errnum, "%s", n < 0 ? "" : text);
    if (err != NULL) {
        size_t used = strlen(err->msg);
        (void)snprintf(err->msg + used, sizeof err->msg - used, "%s", rc_advice(errnum));
    }
    return code;
}

bool rc_is_trouble(int rc)
{
    return rc == -CAIRN_ENOMEM || rc == -CAIRN_EBUSY || rc == -CAIRN_EACCES ||
           rc == -CAIRN_ENOSPC || rc == -CAIRN_ETIMEDOUT || rc == -CAIRN_ECANCELED;
}

bool rc_full_disk(int rc, int fd)
{
    if (rc == ENOSPC || rc == EDQUOT) {
        return true;
    }
    struct statvfs vfs;
    if (rc != EIO || fstatvfs(fd, &vfs) < 0) {
        return false;
    }
    return (uint64_t)vfs.f_bavail * vfs.f_frsize < RC_FULL_BYTES;
}
