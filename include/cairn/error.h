/* cairn/error.h: every way in which a call can fail.
 *
 * Calls return 0 or a negative code, -CAIRN_E... . The same numbers travel in ERROR frames
 * (proto/PROTOCOL.md), are exit hints of the command, and never change their meaning. */
#ifndef CAIRN_ERROR_H
#define CAIRN_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CAIRN_API __attribute__((visibility("default")))
#else
#define CAIRN_API
#endif

/* X(name, number, text): the one list of errors. */
#define CAIRN_ERRORS(X)                                                                            \
    X(EINVAL, 1, "invalid argument")                                                               \
    X(ENOENT, 2, "no such run, boundary or entry")                                                 \
    X(ENOMEM, 3, "out of memory")                                                                  \
    X(EIO, 4, "input or output failed")                                                            \
    X(ENOSPC, 5, "no space left")                                                                  \
    X(ECORRUPT, 6, "stored data does not match its digest")                                        \
    X(ECONFLICT, 7, "this save id holds other content")                                            \
    X(ETIMEDOUT, 8, "the deadline passed")                                                         \
    X(ECONN, 9, "no connection to the daemon")                                                     \
    X(EPROTO, 10, "the peer broke the protocol")                                                   \
    X(EVERSION, 11, "no common protocol or format version")                                        \
    X(EACCES, 12, "permission denied")                                                             \
    X(EBUSY, 13, "busy, try again")                                                                \
    X(ELIMIT, 14, "over a limit")                                                                  \
    X(EEXIST, 15, "already there")                                                                 \
    X(EKIND, 16, "the record is of another kind")                                                  \
    X(EMISMATCH, 17, "the target does not fit the record")                                         \
    X(EUNKNOWN, 18, "the outcome is unknown")                                                      \
    X(EPOISONED, 19, "the run is read-only after a failed write")                                  \
    X(EFORK, 20, "the handle belongs to the parent process")                                       \
    X(ESYNC, 21, "a slot was still open when a synchronous capture ended")                         \
    X(ECONCURRENT, 22, "the trainer changed while it was captured")                                \
    X(ENOTSUP, 23, "not supported")                                                                \
    X(ECANCELED, 24, "cancelled")                                                                  \
    X(EWINDOW, 25, "the weighted accumulation window is not valid")                                \
    X(EDTYPES, 26, "the dtype record is not valid")                                                \
    X(EPRECISION, 27, "a conversion would change a value")                                         \
    X(ERANGE, 28, "an integer is out of range")                                                    \
    X(ESUPERSEDED, 29, "a newer process of the same rank took over")                               \
    X(EPRUNED, 30, "the boundary was removed")                                                     \
    X(EINTERNAL, 31, "internal error")

enum cairn_error_code {
#define CAIRN_ERROR_ENUM(name, number, text) CAIRN_##name = (number),
    CAIRN_ERRORS(CAIRN_ERROR_ENUM)
#undef CAIRN_ERROR_ENUM
};

/* The short English text of a code, given as the negative return value or as the positive number.
 * Returns a static string, never NULL; "unknown error" for a number that is not in the list.
 * Errors: none.   Ownership: static.   Threads: any.   Blocks: never. */
CAIRN_API const char *cairn_strerror(int code);

/* The symbolic name of a code, "CAIRN_ENOSPC"; "CAIRN_E?" for a number that is not in the list.
 * Errors: none.   Ownership: static.   Threads: any.   Blocks: never. */
CAIRN_API const char *cairn_error_name(int code);

#ifdef __cplusplus
}
#endif
#endif
