/* output.h: what all commands say alike: exit codes, failures, sizes, ages, times, ids, and text
 * of peers made safe for a terminal. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <cairn/record.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* X(name, number, meaning): the one table of exit codes; --help prints it. */
#define OUT_EXITS(X)                                                                               \
    X(OUT_OK, 0, "fine")                                                                           \
    X(OUT_ATTENTION,                                                                               \
      1,                                                                                           \
      "something needs a hand (status), or was found damaged (verify, log, show)")                 \
    X(OUT_NO_DAEMON, 2, "no daemon, or none that answers")                                         \
    X(OUT_NOT_FOUND, 3, "no such run, boundary or entry")                                          \
    X(OUT_USAGE, 4, "wrong usage, or a selector that cannot be read")                              \
    X(OUT_FAILURE, 5, "any other failure")                                                         \
    X(OUT_EXEC_SELF, 125, "exec: cairn exec itself failed, the command was not run")               \
    X(OUT_EXEC_DENIED, 126, "exec: the command cannot be run")                                     \
    X(OUT_EXEC_MISSING, 127, "exec: the command was not found")                                    \
    X(OUT_EXEC_SIGNAL, 128, "exec, bench: plus N, it was ended by signal N")

enum out_exit {
#define OUT_EXIT_ENUM(name, number, meaning) name = (number),
    OUT_EXITS(OUT_EXIT_ENUM)
#undef OUT_EXIT_ENUM
};

/* The exit code for a failed call of the library. */
enum out_exit out_exit_of(int rc);

/* A string made by printf. Never NULL: ends the program when memory is out. The caller frees. */
char *out_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same text with control characters, bytes that are not UTF-8, and characters that turn the
 * direction of writing shown as \ooo, so that a name cannot drive the terminal. The caller frees.
 */
char *out_escape(const char *text);
/* Write the escaped text. */
void out_text(FILE *to, const char *text);

/* The handle's sentence about its last failure, else what the code says by itself. c may be NULL.
 */
const char *out_why(const struct cairn *c, int rc);
/* Say on stderr that `doing` failed, why, and what to do next; with json, an object on stdout too.
 * c may be NULL. Returns the exit code. */
enum out_exit out_fail(struct cairn *c, bool json, int rc, const char *doing);
/* The same for a failure that is not the library's: rc is the code that fits best, `why` the
 * sentence. */
enum out_exit out_fail_why(bool json, int rc, const char *doing, const char *why);

/* Room for any of the texts below. */
struct out_buf {
    char text[64];
};
const char *out_size(struct out_buf *b, uint64_t bytes); /* "1.5 MiB" */
const char *out_span(struct out_buf *b, uint64_t ms);    /* "3 min" */
const char *out_age(struct out_buf *b, uint64_t ns);     /* wall clock -> "3 min ago"; 0: "-" */
const char *out_time(struct out_buf *b, uint64_t ns);    /* wall clock -> RFC 3339, UTC; 0: "-" */
const char *out_hex(struct out_buf *b, const uint8_t *bytes, size_t count); /* count <= 16 */
/* A name from the password file, else the number. */
const char *out_user(struct out_buf *b, uint32_t uid);

/* Names of what the public headers number; "?" for a number that they do not have. */
const char *out_component_name(uint32_t component);
const char *out_entry_kind_name(uint32_t kind);
const char *out_precision_name(uint32_t precision);
const char *out_kind_name(struct out_buf *b, uint32_t kind); /* "plain", "weighted+dtypes", ... */

#endif
