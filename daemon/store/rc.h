/* rc.h: what LMDB and the kernel return, as CAIRN_E*. No MDB_ value leaves the store. */
#ifndef STORE_RC_H
#define STORE_RC_H

#include <stdbool.h>

#include "internal/err.h"

/* Set err from an LMDB return value (an errno when positive); its text is appended. */
int rc_lmdb(struct err *err, int rc, const char *fmt, ...) ERR_PRINTF(3, 4);
/* err_errno of something that could not be opened: says what to do when it is for want of
 * descriptors, memory or rights. */
int rc_open(struct err *err, int errnum, const char *fmt, ...) ERR_PRINTF(3, 4);

/* Is the failure this process's trouble (memory, descriptors, readers, rights, space), or that it
 * was told to stop? Then it tells nothing about what is stored: it is never damage. */
bool rc_is_trouble(int rc);

/* Was a failed write of LMDB's a full disk? LMDB reports a short write as EIO, so when it says EIO
 * the free space decides: `fd` is any descriptor on that file system. */
bool rc_full_disk(int rc, int fd);

#endif
