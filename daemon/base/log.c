/* log.c: lines to stderr, as log.h says. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"

enum { LOG_LINE_BYTES = 2048, LOG_WINDOW_MS = 10000, LOG_WINDOW_LINES = 20 };

static atomic_int log_level = LOG_LEVEL_INFO;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock. */
static int log_fd = STDERR_FILENO;
static bool log_fd_checked, log_is_journal;

void log_set_level(enum log_level level)
{
    atomic_store(&log_level, (int)level);
}

enum log_level log_get_level(void)
{
    return (enum log_level)atomic_load(&log_level);
}

void log_set_fd(int fd)
{
    (void)pthread_mutex_lock(&log_lock);
    log_fd = fd;
    log_fd_checked = false;
    (void)pthread_mutex_unlock(&log_lock);
}

/* JOURNAL_STREAM is "device:inode" of the stream that systemd gave us; an inherited one of somebody
 * else's stderr does not match. */
static bool log_fd_is_journal(int fd)
{
    struct stat st;
    char expected[64];
    const char *stream = getenv("JOURNAL_STREAM"); /* NOLINT(concurrency-mt-unsafe): never set */
    if (stream == NULL || fstat(fd, &st) < 0) {
        return false;
    }
    (void)snprintf(
        expected, sizeof expected, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return strcmp(stream, expected) == 0;
}

static uint64_t log_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* May the site print now? *ret_swallowed: lines to own up to, when it may. */
static bool log_admit(struct log_site *site, enum log_level level, uint32_t *ret_swallowed)
{
    uint64_t now = log_now_ms();
    *ret_swallowed = 0;
    if (level == LOG_LEVEL_DEBUG) {
        return true;
    }
    if (site->window_ms == 0 || now - site->window_ms >= LOG_WINDOW_MS) {
        site->window_ms = now;
        site->lines = 0;
        *ret_swallowed = site->swallowed;
        site->swallowed = 0;
    }
    if (site->lines >= LOG_WINDOW_LINES) {
        site->swallowed++;
        return false;
    }
    site->lines++;
    return true;
}

static const char *log_level_name(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_ERROR:
        return "error";
    case LOG_LEVEL_WARN:
        return "warning";
    case LOG_LEVEL_INFO:
        return "info";
    case LOG_LEVEL_DEBUG:
        return "debug";
    }
    return "?";
}

static size_t log_prefix(char *line, size_t bytes, enum log_level level)
{
    int length = 0;
    if (log_is_journal) {
        length = snprintf(line, bytes, "<%d>", (int)level);
    } else {
        struct timespec now;
        struct tm tm;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        (void)gmtime_r(&now.tv_sec, &tm);
        size_t at = strftime(line, bytes, "%Y-%m-%dT%H:%M:%S", &tm);
        length =
            (int)at +
            snprintf(
                line + at, bytes - at, ".%03ldZ %s ", now.tv_nsec / 1000000, log_level_name(level));
    }
    return (size_t)length;
}

/* Append to a line that has room for `bytes`; returns where it ends now. */
__attribute__((format(printf, 4, 0))) static size_t
log_append(char *line, size_t at, size_t bytes, const char *fmt, va_list args)
{
    int length = vsnprintf(line + at, bytes - at, fmt, args);
    if (length < 0) {
        return at;
    }
    return at + (size_t)length < bytes ? at + (size_t)length : bytes - 1;
}

__attribute__((format(printf, 4, 5))) static size_t
log_appendf(char *line, size_t at, size_t bytes, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    at = log_append(line, at, bytes, fmt, args);
    va_end(args);
    return at;
}

static void log_flatten(char *line, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f) {
            line[i] = '?';
        }
    }
}

void log_write(struct log_site *site, enum log_level level, const char *event, const char *fmt, ...)
{
    char line[LOG_LINE_BYTES];
    uint32_t swallowed = 0;
    if ((int)level > atomic_load(&log_level)) {
        return;
    }
    (void)pthread_mutex_lock(&log_lock);
    if (!log_fd_checked) {
        log_is_journal = log_fd_is_journal(log_fd);
        log_fd_checked = true;
    }
    if (log_admit(site, level, &swallowed)) {
        va_list args;
        size_t room = sizeof line - 1; /* for the newline */
        size_t at = log_prefix(line, room, level);
        at = log_appendf(line, at, room, fmt[0] == '\0' ? "%s" : "%s: ", event);
        va_start(args, fmt);
        at = log_append(line, at, room, fmt, args);
        va_end(args);
        if (swallowed > 0) {
            at = log_appendf(line, at, room, " swallowed=%u", swallowed);
        }
        log_flatten(line, at);
        line[at++] = '\n';
        /* Nobody can be told that the log is gone. */
        ssize_t written = write(log_fd, line, at);
        (void)written;
    }
    (void)pthread_mutex_unlock(&log_lock);
}

/* Of the character at s, when it may be shown as it is; else 0. */
static size_t log_printable(const uint8_t *s, size_t bytes)
{
    size_t length = utf8_length(s, bytes);
    bool c0 = s[0] < 0x20 || s[0] == 0x7f;
    bool c1 = length == 2 && s[0] == 0xc2 && s[1] < 0xa0; /* terminals obey these too */
    return c0 || c1 ? 0 : length;
}

/* Write what stands for the character at s into ret (5 bytes); returns how many bytes of s it took.
 */
static size_t log_escape(char ret[5], const uint8_t *s, size_t bytes)
{
    size_t length = log_printable(s, bytes);
    if (s[0] == '"' || s[0] == '\\') {
        (void)snprintf(ret, 5, "\\%c", s[0]);
        return 1;
    }
    if (length == 0) {
        (void)snprintf(ret, 5, "\\x%02x", s[0]);
        return 1;
    }
    memcpy(ret, s, length);
    ret[length] = '\0';
    return length;
}

const char *log_quote(char *ret, size_t ret_bytes, const void *data, size_t bytes)
{
    const uint8_t *s = data;
    size_t room = ret_bytes - sizeof "...\""; /* always left for the end */
    size_t at = 0;
    ret[at++] = '"';
    for (size_t i = 0; i < bytes;) {
        char one[5];
        size_t took = log_escape(one, s + i, bytes - i);
        size_t length = strlen(one);
        if (at + length > room) {
            memcpy(ret + at, "...", 3);
            at += 3;
            break;
        }
        memcpy(ret + at, one, length);
        at += length;
        i += took;
    }
    ret[at++] = '"';
    ret[at] = '\0';
    return ret;
}
