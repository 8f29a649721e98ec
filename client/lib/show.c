/* show.c: entries of a loaded record as people read them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "lib/rec.h"

int cairn_entry_digest(const struct cairn_reader *r, uint64_t index, uint8_t *ret)
{
    if (r == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    if (index >= r->count) {
        return -CAIRN_ENOENT;
    }
    memcpy(ret, r->entries[index].digest.byte, sizeof r->entries[index].digest.byte);
    return 0;
}

static uint64_t show_bits(const struct entry *e)
{
    uint64_t bits = 0;
    memcpy(&bits, e->value.data, e->value.bytes < sizeof bits ? e->value.bytes : sizeof bits);
    return bits;
}

/* The host may have set a locale with another decimal point, of several bytes even: whatever is
 * neither a digit nor part of an exponent is the point. */
static void show_point(char *text)
{
    static const char number[] = "0123456789+-e";
    size_t at = strspn(text, number);
    size_t after = at + strcspn(text + at, number);
    if (after > at) {
        text[at] = '.';
        memmove(text + at + 1, text + after, strlen(text + after) + 1);
    }
}

/* A NaN shows its bits: two of them may differ. `digits` bring every value of the type back. */
static void show_float(const struct entry *e, double value, int digits, char *ret, size_t room)
{
    char text[64];
    if (isnan(value)) {
        (void)snprintf(ret, room, "nan:0x%" PRIx64, show_bits(e));
        return;
    }
    (void)snprintf(text, sizeof text, "%.*g", digits, value);
    if (isfinite(value)) {
        show_point(text);
    }
    bool whole = isfinite(value) && strpbrk(text, ".e") == NULL;
    (void)snprintf(ret, room, "%s%s", text, whole ? ".0" : "");
}

static void show_f64(const struct entry *e, char *ret, size_t room)
{
    double value = 0;
    memcpy(&value, e->value.data, sizeof value);
    show_float(e, value, 17, ret, room);
}

static void show_f32(const struct entry *e, char *ret, size_t room)
{
    float value = 0;
    memcpy(&value, e->value.data, sizeof value);
    show_float(e, (double)value, 9, ret, room);
}

static void show_bytes(const struct entry *e, char *ret, size_t room)
{
    const uint8_t *at = e->value.data;
    for (size_t i = 0; i < e->value.bytes && 2 * i + 3 <= room; i++) {
        (void)snprintf(ret + 2 * i, room - 2 * i, "%02x", at[i]);
    }
}

/* Quoted; control characters, quotes and backslashes as \\xHH. */
static void show_string(const struct entry *e, char *ret, size_t room)
{
    const uint8_t *at = e->value.data;
    size_t used = (size_t)snprintf(ret, room, "\"");
    for (size_t i = 0; i < e->value.bytes && used + 6 <= room; i++) {
        bool plain = at[i] >= 0x20 && at[i] != 0x7f && at[i] != '"' && at[i] != '\\';
        used += (size_t)snprintf(ret + used, room - used, plain ? "%c" : "\\x%02x", at[i]);
    }
    if (used + 1 < room) {
        (void)snprintf(ret + used, room - used, "\"");
    }
}

int cairn_entry_text(const struct cairn_reader *r, uint64_t index, char *ret, size_t ret_bytes)
{
    if (r == NULL || ret == NULL || ret_bytes == 0) {
        return -CAIRN_EINVAL;
    }
    if (index >= r->count) {
        return -CAIRN_ENOENT;
    }
    const struct entry *e = &r->entries[index];
    ret[0] = '\0';
    switch (e->kind) {
    case ENTRY_I64:
        (void)snprintf(ret, ret_bytes, "%" PRId64, (int64_t)show_bits(e));
        return 0;
    case ENTRY_U64:
        (void)snprintf(ret, ret_bytes, "%" PRIu64, show_bits(e));
        return 0;
    case ENTRY_F64:
        show_f64(e, ret, ret_bytes);
        return 0;
    case ENTRY_F32:
        show_f32(e, ret, ret_bytes);
        return 0;
    case ENTRY_BOOL:
        (void)snprintf(ret, ret_bytes, "%s", show_bits(e) != 0 ? "true" : "false");
        return 0;
    case ENTRY_STRING:
        show_string(e, ret, ret_bytes);
        return 0;
    case ENTRY_BYTES:
        show_bytes(e, ret, ret_bytes);
        return 0;
    case ENTRY_NULL:
        (void)snprintf(ret, ret_bytes, "null");
        return 0;
    case ENTRY_TENSOR:
    case ENTRY_KIND_NR:
    default:
        return err_set(
            cl_err(r->record->c), -CAIRN_EMISMATCH, "'%s' is a tensor", (const char *)e->path.data);
    }
}
