#include "internal/err.h"

#include <cairn/error.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* A message may quote what a peer sent and may have been cut inside a character; it must still be
 * fit for a log line and for an ERROR frame: UTF-8 on one line. */
static void err_clean(char *msg)
{
    size_t left = strlen(msg);
    uint8_t *at = (uint8_t *)msg;
    while (left > 0) {
        size_t length = utf8_length(at, left);
        if (length == 0 || *at < 0x20 || *at == 0x7F) {
            *at = '?';
            length = 1;
        }
        at += length;
        left -= length;
    }
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    if (err == NULL) {
        return code;
    }
    err->code = code;
    err->component = 0;
    err->path[0] = '\0';
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err->msg, sizeof err->msg, fmt, args);
    va_end(args);
    err_clean(err->msg);
    return code;
}

/* Put `prefix` and ": " in front of what is in msg; the end is lost when it does not fit. */
static void err_prefix(char *msg, size_t msg_bytes, const char *prefix)
{
    size_t old = strlen(msg);
    size_t front = strlen(prefix);
    size_t gap = old == 0 ? 0 : 2;
    size_t room = msg_bytes - 1;
    front = front > room ? room : front;
    gap = front + gap > room ? room - front : gap;
    old = front + gap + old > room ? room - front - gap : old;
    memmove(msg + front + gap, msg, old);
    memcpy(msg + front, ": ", gap);
    memcpy(msg, prefix, front);
    msg[front + gap + old] = '\0';
    err_clean(msg);
}

int err_wrap(struct err *err, int code, const char *fmt, ...)
{
    if (err == NULL) {
        return code;
    }
    if (err->code == 0) {
        err->code = code;
    }
    char prefix[sizeof err->msg];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(prefix, sizeof prefix, fmt, args);
    va_end(args);
    err_prefix(err->msg, sizeof err->msg, prefix);
    return err->code;
}

static int err_code_of(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
        return -CAIRN_ENOSPC;
    case ENOMEM:
        return -CAIRN_ENOMEM;
    case ENOENT:
        return -CAIRN_ENOENT;
    case EACCES:
    case EPERM:
        return -CAIRN_EACCES;
    case ETIMEDOUT:
        return -CAIRN_ETIMEDOUT;
    case EMFILE:
    case ENFILE:
        return -CAIRN_EBUSY;
    default:
        return -CAIRN_EIO;
    }
}

int err_errno(struct err *err, int errnum, const char *fmt, ...)
{
    int code = err_code_of(errnum);
    if (err == NULL) {
        return code;
    }
    char what[sizeof err->msg];
    char why[128];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    /* The GNU strerror_r: returns the text, which may or may not be in `why`. */
    const char *text = strerror_r(errnum, why, sizeof why);
    (void)err_set(err, code, "%s", what);
    size_t used = strlen(err->msg);
    (void)snprintf(err->msg + used, sizeof err->msg - used, ": %s", text);
    err_clean(err->msg);
    return code;
}

/* Appends one character of a path, escaped if it could garble a line; false when it does not fit.
 */
static bool
err_path_add(char *ret, size_t ret_bytes, size_t *used, const uint8_t *at, size_t length)
{
    char escaped[8];
    const char *text = (const char *)at;
    size_t text_bytes = length;
    if (length == 0 || *at < 0x20 || *at == 0x7F || *at == '"' || *at == '\\') {
        text_bytes = (size_t)snprintf(escaped, sizeof escaped, "\\x%02x", (unsigned)*at);
        text = escaped;
    }
    if (*used + text_bytes >= ret_bytes) {
        return false;
    }
    memcpy(ret + *used, text, text_bytes);
    *used += text_bytes;
    return true;
}

int err_at(struct err *err, uint32_t component, const char *path, size_t path_bytes)
{
    static const char cut[] = "...";
    if (err == NULL) {
        return -CAIRN_EINTERNAL;
    }
    err->component = component;
    const uint8_t *at = (const uint8_t *)path;
    size_t used = 0;
    size_t room = sizeof err->path - (sizeof cut - 1);
    while (path_bytes > 0) {
        size_t length = utf8_length(at, path_bytes);
        if (!err_path_add(err->path, room, &used, at, length)) {
            memcpy(err->path + used, cut, sizeof cut - 1);
            used += sizeof cut - 1;
            break;
        }
        at += length == 0 ? 1 : length;
        path_bytes -= length == 0 ? 1 : length;
    }
    err->path[used] = '\0';
    return err->code;
}
