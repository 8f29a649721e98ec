/* err.h: a failure's story on its way up.
 *
 * The deepest frame sets the message, each caller that knows more puts its part in front, and the
 * one that acts on the failure logs or sends it, once. A NULL err is allowed everywhere. */
#ifndef INTERNAL_ERR_H
#define INTERNAL_ERR_H

#include <cairn/error.h>
#include <stddef.h>
#include <stdint.h>

struct err {
    int code;           /* negative, as returned; 0: nothing wrong */
    uint32_t component; /* enum component; 0: none */
    char path[256];     /* entry, quoted and cut; "": none */
    char msg[512];
};

#define ERR_PRINTF(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at)))

/* Set code and message; returns code, so that `return err_set(err, -CAIRN_EIO, "...")` reads well.
 */
int err_set(struct err *err, int code, const char *fmt, ...) ERR_PRINTF(3, 4);
/* Put "prefix: " in front of the message; returns the code that is already in err (or code). */
int err_wrap(struct err *err, int code, const char *fmt, ...) ERR_PRINTF(3, 4);
/* Set from errno: ENOSPC, EDQUOT -> ENOSPC; ENOMEM -> ENOMEM; ENOENT -> ENOENT; EACCES, EPERM ->
 * EACCES; ETIMEDOUT -> ETIMEDOUT; EMFILE, ENFILE -> EBUSY; others -> EIO. The text of errnum is
 * appended. */
int err_errno(struct err *err, int errnum, const char *fmt, ...) ERR_PRINTF(3, 4);
/* Name the component and entry that a failure is about; returns err->code (-CAIRN_EINTERNAL for a
 * NULL err). The path is escaped (control characters, quotes, bytes that are no UTF-8) and cut. */
int err_at(struct err *err, uint32_t component, const char *path, size_t path_bytes);

#endif
