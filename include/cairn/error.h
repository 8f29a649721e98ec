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

/* How a caller that knows no codes may sort failures: there is nothing to be found; what was found
 * is no record, or none for this target; anything else (seed: the three kinds of RecorderError). */
enum cairn_error_class {
    CAIRN_CLASS_NONE = 0, /* not a code of the list, or no error */
    CAIRN_CLASS_NOT_FOUND = 1,
    CAIRN_CLASS_UNREADABLE = 2,
    CAIRN_CLASS_OTHER = 3
};

/* X(name, number, sort, text): the one list of errors. */
#define CAIRN_ERRORS(X)                                                                            \
    X(EINVAL, 1, OTHER, "invalid argument")                                                        \
    X(ENOENT, 2, NOT_FOUND, "no such run, boundary or entry")                                      \
    X(ENOMEM, 3, OTHER, "out of memory")                                                           \
    X(EIO, 4, OTHER, "input or output failed")                                                     \
    X(ENOSPC, 5, OTHER, "no space left")                                                           \
    X(ECORRUPT, 6, UNREADABLE, "stored data does not match its digest")                            \
    X(ECONFLICT, 7, OTHER, "this save id holds other content")                                     \
    X(ETIMEDOUT, 8, OTHER, "the deadline passed")                                                  \
    X(ECONN, 9, OTHER, "no connection to the daemon")                                              \
    X(EPROTO, 10, OTHER, "the peer broke the protocol")                                            \
    X(EVERSION, 11, UNREADABLE, "no common protocol or format version")                            \
    X(EACCES, 12, OTHER, "permission denied")                                                      \
    X(EBUSY, 13, OTHER, "busy, try again")                                                         \
    X(ELIMIT, 14, OTHER, "over a limit")                                                           \
    X(EEXIST, 15, OTHER, "already there")                                                          \
    X(EKIND, 16, UNREADABLE, "the record is of another kind")                                      \
    X(EMISMATCH, 17, UNREADABLE, "the target does not fit the record")                             \
    X(EUNKNOWN, 18, OTHER, "the outcome is unknown")                                               \
    X(EPOISONED, 19, OTHER, "the run is read-only after a failed write")                           \
    X(EFORK, 20, OTHER, "the handle belongs to the parent process")                                \
    X(ESYNC, 21, OTHER, "a slot was still open when a synchronous capture ended")                  \
    X(ECONCURRENT, 22, OTHER, "the trainer changed while it was captured")                         \
    X(ENOTSUP, 23, OTHER, "not supported")                                                         \
    X(ECANCELED, 24, OTHER, "cancelled")                                                           \
    X(EWINDOW, 25, UNREADABLE, "the weighted accumulation window is not valid")                    \
    X(EDTYPES, 26, UNREADABLE, "the dtype record is not valid")                                    \
    X(EPRECISION, 27, OTHER, "a conversion would change a value")                                  \
    X(ERANGE, 28, OTHER, "an integer is out of range")                                             \
    X(ESUPERSEDED, 29, OTHER, "a newer process of the same rank took over")                        \
    X(EPRUNED, 30, NOT_FOUND, "the boundary was removed")                                          \
    X(EINTERNAL, 31, OTHER, "internal error")

enum cairn_error_code {
#define CAIRN_ERROR_ENUM(name, number, sort, text) CAIRN_##name = (number),
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

/* The class of a code; CAIRN_CLASS_NONE for 0 and for a number that is not in the list.
 * Errors: none.   Ownership: -.   Threads: any.   Blocks: never. */
CAIRN_API enum cairn_error_class cairn_error_class_of(int code);

#ifdef __cplusplus
}
#endif
#endif
