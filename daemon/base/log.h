/* log.h: one line per event, for an operator.
 *
 *     log_info("connection closed", "conn=%" PRIu64 " uid=%u why=%s", id, uid, log_quote(q, ...));
 *
 * prints `<6>connection closed: conn=7 uid=1000 why="..."` when stderr is the journal, else the
 * same with time and level in words. A line is one write; control characters never reach it as
 * such, so no peer can forge a second line. Every call site may log 20 lines in 10 s; what it
 * swallows meanwhile is counted and said with its next line. Any thread. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARN, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG };

struct log_site { /* one static per call site; zero at start */
    uint64_t window_ms;
    uint32_t lines, swallowed;
};

/* Level of the least important lines that are still printed. At start: INFO, to stderr. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
/* Where lines go (tests); the format is chosen by whether JOURNAL_STREAM names this descriptor. */
void log_set_fd(int fd);

void log_write(struct log_site *site, enum log_level level, const char *event, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* `data` in double quotes, with everything that is not printable ASCII or good UTF-8 escaped as
 * \xNN and quotes and backslashes behind a backslash, cut with "..." to ret_bytes (8 at least).
 * Returns `ret`, for use as an argument. */
#define LOG_QUOTE_BYTES 160
const char *log_quote(char *ret, size_t ret_bytes, const void *data, size_t bytes);

#define LOG_AT(level, event, ...)                                                                  \
    do {                                                                                           \
        static struct log_site log_site_;                                                          \
        log_write(&log_site_, level, event, __VA_ARGS__);                                          \
    } while (0)
#define log_error(event, ...) LOG_AT(LOG_LEVEL_ERROR, event, __VA_ARGS__)
#define log_warn(event, ...) LOG_AT(LOG_LEVEL_WARN, event, __VA_ARGS__)
#define log_info(event, ...) LOG_AT(LOG_LEVEL_INFO, event, __VA_ARGS__)
#define log_debug(event, ...) LOG_AT(LOG_LEVEL_DEBUG, event, __VA_ARGS__)

#endif
