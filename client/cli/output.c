#include "output.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- failures ---- */

enum out_exit out_exit_of(int rc)
{
    switch (rc) {
    case 0:
        return OUT_OK;
    case -CAIRN_ECORRUPT:
        return OUT_ATTENTION;
    case -CAIRN_ECONN:
    case -CAIRN_ETIMEDOUT:
        return OUT_NO_DAEMON;
    case -CAIRN_ENOENT:
    case -CAIRN_EPRUNED:
        return OUT_NOT_FOUND;
    case -CAIRN_EINVAL:
        return OUT_USAGE;
    default:
        return OUT_FAILURE;
    }
}

static const char *out_hint(int rc)
{
    switch (rc) {
    case -CAIRN_ECONN:
        return "start the service (systemctl start cairnd.socket), name another socket (--socket,\n"
               "$CAIRN_SOCKET), or run a command beside a daemon of its own: cairn exec -- COMMAND";
    case -CAIRN_ETIMEDOUT:
        return "the daemon did not answer in time: its log says what it is doing";
    case -CAIRN_ENOENT:
        return "`cairn runs` lists the runs, `cairn log RUN` the boundaries of one";
    case -CAIRN_EPRUNED:
        return "`cairn log RUN` lists the boundaries that are left";
    case -CAIRN_EINVAL:
        return "`cairn --help` explains how runs and boundaries are named";
    case -CAIRN_EACCES:
        return "the run belongs to somebody else, or the socket is not for you: ask its owner or "
               "root";
    case -CAIRN_ECORRUPT:
        return "`cairn verify RUN` says what else is damaged; older boundaries may be whole";
    case -CAIRN_EVERSION:
        return "the command and the daemon are too far apart: install both from one release";
    default:
        return NULL;
    }
}

const char *out_why(const struct cairn *c, int rc)
{
    const char *why = c == NULL ? "" : cairn_error(c);
    return why[0] == '\0' ? cairn_strerror(rc) : why;
}

enum out_exit out_fail(struct cairn *c, bool json, int rc, const char *doing)
{
    return out_fail_why(json, rc, doing, out_why(c, rc));
}

enum out_exit out_fail_why(bool json, int rc, const char *doing, const char *why)
{
    if (json) {
        json_out_error(rc, doing, why);
    }
    (void)fputs("cairn: ", stderr);
    out_text(stderr, doing);
    (void)fputs(": ", stderr);
    out_text(stderr, why);
    (void)fputc('\n', stderr);
    const char *hint = out_hint(rc);
    if (hint != NULL) {
        (void)fprintf(stderr, "%s\n", hint);
    }
    return out_exit_of(rc);
}

/* ---- text ---- */

static char *out_or_end(char *text)
{
    if (text == NULL) {
        static const char message[] = "cairn: out of memory\n";
        (void)!write(STDERR_FILENO, message, sizeof message - 1);
        _exit(OUT_FAILURE);
    }
    return text;
}

char *out_format(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int length = vasprintf(&text, fmt, args);
    va_end(args);
    return out_or_end(length < 0 ? NULL : text);
}

/* Decode one character; returns its bytes, 0 when they are not UTF-8 (overlong forms, surrogates
 * and numbers above U+10FFFF included). */
static size_t out_decode(const unsigned char *at, uint32_t *ret_point)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (at[0] < 0x80) {
        *ret_point = at[0];
        return 1;
    }
    size_t bytes = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    uint32_t point = at[0] & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0u) != 0x80) {
            return 0;
        }
        point = point << 6 | (at[i] & 0x3fu);
    }
    bool bad = at[0] < 0xc2 || at[0] > 0xf4 || point < least[bytes] || point > 0x10ffff ||
               (point >= 0xd800 && point <= 0xdfff);
    *ret_point = point;
    return bad ? 0 : bytes;
}

static bool out_is_safe(uint32_t point)
{
    bool control = point < 0x20 || (point >= 0x7f && point < 0xa0);
    bool direction = point == 0x200e || point == 0x200f || point == 0x61c ||
                     (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
    return !control && !direction && point != 0xfeff;
}

/* Append one character, as it is or as \ooo for each of its bytes; returns the new end. */
static char *out_escape_one(char *to, const unsigned char *at, size_t bytes, bool safe)
{
    for (size_t i = 0; i < bytes; i++) {
        if (safe) {
            *to++ = (char)at[i];
        } else {
            to += snprintf(to, 5, "\\%03o", at[i]);
        }
    }
    return to;
}

char *out_escape(const char *text)
{
    char *out = out_or_end(malloc(4 * strlen(text) + 1));
    char *to = out;
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        uint32_t point = 0;
        size_t bytes = out_decode(at, &point);
        bool safe = bytes > 0 && out_is_safe(point);
        bytes += bytes == 0; /* a byte that begins no character stands alone */
        to = out_escape_one(to, at, bytes, safe);
        at += bytes;
    }
    *to = '\0';
    return out;
}

void out_text(FILE *to, const char *text)
{
    char *safe = out_escape(text);
    (void)fputs(safe, to);
    free(safe);
}

/* ---- numbers ---- */

const char *out_size(struct out_buf *b, uint64_t bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double value = (double)bytes;
    size_t unit = 0;
    /* 1023.95 would print as 1024.0. */
    while (value >= 1023.95 && unit + 1 < COUNT_OF(units)) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(b->text, sizeof b->text, "%.*f %s", unit == 0 ? 0 : 1, value, units[unit]);
    return b->text;
}

const char *out_span(struct out_buf *b, uint64_t ms)
{
    uint64_t s = ms / 1000;
    if (s < 120) {
        (void)snprintf(b->text, sizeof b->text, "%llu s", (unsigned long long)s);
    } else if (s < 2 * UINT64_C(3600)) {
        (void)snprintf(b->text, sizeof b->text, "%llu min", (unsigned long long)(s / 60));
    } else if (s < 2 * UINT64_C(86400)) {
        (void)snprintf(b->text, sizeof b->text, "%llu h", (unsigned long long)(s / 3600));
    } else {
        (void)snprintf(b->text, sizeof b->text, "%llu days", (unsigned long long)(s / 86400));
    }
    return b->text;
}

const char *out_age(struct out_buf *b, uint64_t ns)
{
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (ns == 0) {
        (void)snprintf(b->text, sizeof b->text, "-");
        return b->text;
    }
    if (ns > now_ns + 1000000000u) {
        (void)snprintf(b->text, sizeof b->text, "in the future");
        return b->text;
    }
    (void)out_span(b, ns > now_ns ? 0 : (now_ns - ns) / 1000000u);
    size_t length = strlen(b->text);
    (void)snprintf(b->text + length, sizeof b->text - length, " ago");
    return b->text;
}

const char *out_time(struct out_buf *b, uint64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000u);
    struct tm tm = { 0 };
    if (ns == 0 || gmtime_r(&seconds, &tm) == NULL ||
        strftime(b->text, sizeof b->text, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0) {
        (void)snprintf(b->text, sizeof b->text, "-");
    }
    return b->text;
}

const char *out_hex(struct out_buf *b, const uint8_t *bytes, size_t count)
{
    b->text[0] = '\0';
    for (size_t i = 0; i < count && i < 16; i++) {
        (void)snprintf(b->text + 2 * i, 3, "%02x", bytes[i]);
    }
    return b->text;
}

const char *out_user(struct out_buf *b, uint32_t uid)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char room[4096];
    if (getpwuid_r(uid, &entry, room, sizeof room, &found) == 0 && found != NULL) {
        (void)snprintf(b->text, sizeof b->text, "%s", found->pw_name);
    } else {
        (void)snprintf(b->text, sizeof b->text, "%u", uid);
    }
    return b->text;
}

/* ---- names ---- */

const char *out_component_name(uint32_t component)
{
    static const char *const names[] = {
        [CAIRN_MODEL] = "model",         [CAIRN_OPTIMIZER] = "optimizer",
        [CAIRN_SCHEDULER] = "scheduler", [CAIRN_GRADIENTS] = "gradients",
        [CAIRN_STATE] = "state",         [CAIRN_DTYPES] = "dtypes",
        [CAIRN_WINDOW] = "window",       [CAIRN_CONTRACT] = "contract",
    };
    return component < COUNT_OF(names) && names[component] != NULL ? names[component] : "?";
}

const char *out_entry_kind_name(uint32_t kind)
{
    static const char *const names[] = {
        [CAIRN_TENSOR] = "tensor",        [CAIRN_SCALAR_I64] = "i64",
        [CAIRN_SCALAR_U64] = "u64",       [CAIRN_SCALAR_F64] = "f64",
        [CAIRN_SCALAR_F32] = "f32",       [CAIRN_SCALAR_BOOL] = "bool",
        [CAIRN_SCALAR_STRING] = "string", [CAIRN_SCALAR_BYTES] = "bytes",
        [CAIRN_SCALAR_NULL] = "null",
    };
    return kind < COUNT_OF(names) && names[kind] != NULL ? names[kind] : "?";
}

const char *out_precision_name(uint32_t precision)
{
    static const char *const names[] = {
        [CAIRN_NATIVE] = "native",
        [CAIRN_FULL] = "full",
        [CAIRN_HALF] = "half",
        [CAIRN_DOUBLE] = "double",
    };
    return precision < COUNT_OF(names) ? names[precision] : "?";
}

const char *out_kind_name(struct out_buf *b, uint32_t kind)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } bits[] = {
        { CAIRN_KIND_MODEL_STATE, "model-state" },
        { CAIRN_KIND_WEIGHTED, "weighted" },
        { CAIRN_KIND_DTYPES, "dtypes" },
    };
    (void)snprintf(b->text, sizeof b->text, kind == 0 ? "plain" : "");
    for (size_t i = 0; i < COUNT_OF(bits); i++) {
        if ((kind & bits[i].bit) != 0) {
            size_t length = strlen(b->text);
            (void)snprintf(b->text + length,
                           sizeof b->text - length,
                           "%s%s",
                           length == 0 ? "" : "+",
                           bits[i].name);
            kind &= ~bits[i].bit;
        }
    }
    if (kind != 0) {
        size_t length = strlen(b->text);
        (void)snprintf(
            b->text + length, sizeof b->text - length, "%s0x%x", length == 0 ? "" : "+", kind);
    }
    return b->text;
}
