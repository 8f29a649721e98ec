/* PROTOCOL.md's examples: each frame in hex is decoded, and what it contains is compared, line by
 * line, with what the page says it contains.
 *
 * An example is a block ```hex followed by a block ```text. The text is: type, request, payload if
 * there is one, then every field in the order of the schema. Digests, ids and values are shown in
 * hex, other bytes as text in quotes. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cairn.pb-c.h"
#include "record/dtype.h"
#include "support/case.h"
#include "wire/codec.h"

struct dump {
    char text[8192];
    size_t used;
};

static __attribute__((format(printf, 2, 3))) void dump_add(struct dump *d, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int bytes = vsnprintf(d->text + d->used, sizeof d->text - d->used, fmt, args);
    va_end(args);
    cr_assert(bytes >= 0 && (size_t)bytes < sizeof d->text - d->used);
    d->used += (size_t)bytes;
}

static void dump_hex(struct dump *d, const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        dump_add(d, "%02x", data[i]);
    }
}

static void dump_bytes(struct dump *d, const char *name, const ProtobufCBinaryData *b)
{
    static const char *const in_hex[] = { "digest", "root", "save_id", "value", "config", "block" };
    for (size_t i = 0; i < sizeof in_hex / sizeof in_hex[0]; i++) {
        if (strcmp(name, in_hex[i]) == 0) {
            dump_hex(d, b->data, b->len);
            return;
        }
    }
    dump_add(d, "\"%.*s\"", (int)b->len, b->len == 0 ? "" : (const char *)b->data);
}

static void dump_value(struct dump *d, const ProtobufCFieldDescriptor *f, const uint8_t *at)
{
    uint32_t word = 0;
    uint64_t wide = 0;
    protobuf_c_boolean flag = 0;
    const ProtobufCEnumValue *name = NULL;
    switch ((int)f->type) {
    case PROTOBUF_C_TYPE_UINT32:
        memcpy(&word, at, sizeof word);
        dump_add(d, "%" PRIu32, word);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        memcpy(&wide, at, sizeof wide);
        dump_add(d, "%" PRIu64, wide);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        memcpy(&flag, at, sizeof flag);
        dump_add(d, flag != 0 ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_ENUM:
        memcpy(&word, at, sizeof word);
        name = protobuf_c_enum_descriptor_get_value(f->descriptor, (int)word);
        dump_add(d, "%s", name->name);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        dump_bytes(d, f->name, (const ProtobufCBinaryData *)(const void *)at);
        break;
    default:
        cr_assert_fail("field %s has a type that the schema does not use", f->name);
    }
}

struct dump_level {
    const ProtobufCMessage *message;
    unsigned field;
    size_t element;
    char prefix[128];
};

static size_t dump_count(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f)
{
    const uint8_t *base = (const uint8_t *)m;
    size_t count = 1;
    protobuf_c_boolean has = 0;
    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        memcpy(&count, base + f->quantifier_offset, sizeof count);
    } else if (f->label == PROTOBUF_C_LABEL_OPTIONAL) {
        memcpy(&has, base + f->quantifier_offset, sizeof has);
        count = has != 0;
    }
    if (f->label == PROTOBUF_C_LABEL_OPTIONAL && f->type == PROTOBUF_C_TYPE_MESSAGE) {
        const void *below = NULL;
        memcpy(&below, base + f->offset, sizeof below);
        count = below != NULL;
    }
    return count;
}

/* Where the bytes of one element of a field are. */
static const uint8_t *
dump_at(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, size_t element)
{
    const uint8_t *at = (const uint8_t *)m + f->offset;
    const uint8_t *array = NULL;
    if (f->label != PROTOBUF_C_LABEL_REPEATED) {
        return at;
    }
    memcpy(&array, at, sizeof array);
    size_t bytes = f->type == PROTOBUF_C_TYPE_MESSAGE ? sizeof(void *)
                   : f->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData)
                                                      : sizeof(uint64_t);
    return array + element * bytes;
}

static void dump_message(struct dump *d, const ProtobufCMessage *message)
{
    struct dump_level levels[4] = { { .message = message } };
    int depth = 0;
    while (depth >= 0) {
        struct dump_level *l = &levels[depth];
        const ProtobufCMessageDescriptor *desc = l->message->descriptor;
        if (l->field == desc->n_fields) {
            depth--;
            continue;
        }
        const ProtobufCFieldDescriptor *f = &desc->fields[l->field];
        if (l->element == dump_count(l->message, f)) {
            l->field++;
            l->element = 0;
            continue;
        }
        char name[128];
        char index[24] = "";
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            (void)snprintf(index, sizeof index, "[%zu]", l->element);
        }
        (void)snprintf(name, sizeof name, "%.80s%.20s%s", l->prefix, f->name, index);
        const uint8_t *at = dump_at(l->message, f, l->element++);
        if (f->type != PROTOBUF_C_TYPE_MESSAGE) {
            dump_add(d, "%s = ", name);
            dump_value(d, f, at);
            dump_add(d, "\n");
            continue;
        }
        cr_assert_lt(depth, 3);
        struct dump_level *below = &levels[++depth];
        *below = (struct dump_level){ .message = NULL };
        memcpy(&below->message, at, sizeof(void *));
        (void)snprintf(below->prefix, sizeof below->prefix, "%.120s.", name);
    }
}

static const ProtobufCMessageDescriptor *dump_descriptor(uint32_t type)
{
    static const ProtobufCMessageDescriptor *const by_type[] = {
        [WIRE_HELLO] = &cairn__hello__descriptor,
        [WIRE_WELCOME] = &cairn__welcome__descriptor,
        [WIRE_ERROR] = &cairn__error__descriptor,
        [WIRE_RUN_OPEN] = &cairn__run_open__descriptor,
        [WIRE_RUN_INFO] = &cairn__run_info__descriptor,
        [WIRE_BEGIN] = &cairn__begin__descriptor,
        [WIRE_BEGUN] = &cairn__begun__descriptor,
        [WIRE_CHUNKS] = &cairn__chunks__descriptor,
        [WIRE_ENTRIES] = &cairn__entries__descriptor,
        [WIRE_DATA] = &cairn__data__descriptor,
        [WIRE_SEAL] = &cairn__seal__descriptor,
        [WIRE_COMMITTED] = &cairn__committed__descriptor,
        [WIRE_FIND] = &cairn__find__descriptor,
        [WIRE_FOUND] = &cairn__found__descriptor,
        [WIRE_CHUNK_LIST] = &cairn__chunk_list__descriptor,
        [WIRE_LOAD] = &cairn__load__descriptor,
    };
    const ProtobufCMessageDescriptor *desc =
        type < sizeof by_type / sizeof by_type[0] ? by_type[type] : NULL;
    return desc == NULL ? &cairn__empty__descriptor : desc;
}

/* What the page must say about a frame. */
static void dump_frame(struct dump *d, const uint8_t *bytes, size_t count)
{
    struct frame f;
    struct err err = { 0 };
    struct bump b;
    union wire_msg msg;
    cr_assert_geq(count, FRAME_PREFIX_BYTES);
    cr_assert_eq(frame_decode(bytes, &f, &err), 0, "%s", err.msg);
    cr_assert_eq(count, FRAME_PREFIX_BYTES + f.message_bytes + f.payload_bytes);
    struct slice message = slice_of(bytes + FRAME_PREFIX_BYTES, f.message_bytes);
    bump_init(&b, wire_bump_cap(f.message_bytes));
    cr_assert_eq(wire_decode(f.type, message, &b, &msg, &err), 0, "%s", err.msg);
    bump_fini(&b);
    dump_add(d, "type %s\nrequest %" PRIu32 "\n", wire_type_limits(f.type)->name, f.request);
    if (f.payload_bytes > 0) {
        dump_add(d, "payload ");
        dump_hex(d, bytes + count - f.payload_bytes, (size_t)f.payload_bytes);
        dump_add(d, "\n");
    }
    ProtobufCMessage *pb =
        protobuf_c_message_unpack(dump_descriptor(f.type), NULL, message.bytes, message.data);
    cr_assert_not_null(pb);
    dump_message(d, pb);
    protobuf_c_message_free_unpacked(pb, NULL);
}

/* ---- the page
 * ------------------------------------------------------------------------------------- */

static char *page_read(void)
{
    FILE *f = fopen(PROTOCOL_MD, "re");
    cr_assert_not_null(f, "%s", PROTOCOL_MD);
    size_t room = 1 << 20;
    char *text = malloc(room);
    cr_assert_not_null(text);
    size_t bytes = fread(text, 1, room - 1, f);
    text[bytes] = '\0';
    cr_assert_lt(bytes, room - 1);
    cr_assert_eq(fclose(f), 0);
    return text;
}

/* The block that starts behind `open`; its end is cut off. NULL when there is none. */
static char *page_block(char **at, const char *open)
{
    char *start = strstr(*at, open);
    if (start == NULL) {
        return NULL;
    }
    start += strlen(open);
    char *end = strstr(start, "```");
    cr_assert_not_null(end);
    *end = '\0';
    *at = end + 3;
    return start;
}

static size_t page_unhex(const char *text, uint8_t *ret, size_t room)
{
    size_t count = 0;
    unsigned byte = 0;
    int used = 0;
    while (sscanf(text, " %2x%n", &byte, &used) == 1) { // NOLINT(cert-err34-c): two digits
        cr_assert_lt(count, room);
        ret[count++] = (uint8_t)byte;
        text += used;
    }
    cr_assert_eq(strspn(text, " \n"), strlen(text), "not hex: %s", text);
    return count;
}

CASE(protocol, examples_are_what_they_say)
{
    char *page = page_read();
    char *at = page;
    unsigned count = 0;
    for (char *hex = page_block(&at, "```hex\n"); hex != NULL; hex = page_block(&at, "```hex\n")) {
        static uint8_t bytes[4096];
        struct dump d = { .used = 0 };
        char *says = page_block(&at, "```text\n");
        cr_assert_not_null(says, "example %u says nothing", count + 1);
        dump_frame(&d, bytes, page_unhex(hex, bytes, sizeof bytes));
        cr_assert_str_eq(d.text, says, "example %u", count + 1);
        count++;
    }
    cr_assert_geq(count, 12, "only %u examples", count);
    free(page);
}

/* Every message type and every error has its place on the page. */
CASE(protocol, page_is_complete)
{
    char *page = page_read();
    char row[64];
    for (uint32_t type = 0; type < 200; type++) {
        const struct wire_type_limits *l = wire_type_limits(type);
        if (l != NULL) {
            (void)snprintf(row, sizeof row, "| %s | %" PRIu32 " |", l->name, type);
            cr_assert_not_null(strstr(page, row), "no row \"%s\"", row);
        }
    }
    for (int code = 1; code <= CAIRN_EINTERNAL; code++) {
        (void)snprintf(row, sizeof row, "| %d | `%s` |", code, cairn_error_name(code));
        cr_assert_not_null(strstr(page, row), "no row \"%s\"", row);
    }
    free(page);
}

/* The row of a dtype, from its code to its foreign names; and its number in the schema. */
static void page_dtype(const char *page, const struct dtype *d)
{
    char head[64];
    char tail[64];
    char bits[16] = "-";
    if (d->bits != 0) {
        (void)snprintf(bits, sizeof bits, "%" PRIu32, d->bits);
    }
    (void)snprintf(head, sizeof head, "\n| %" PRIu32 " | %s | %s |", d->code, d->name, bits);
    (void)snprintf(tail,
                   sizeof tail,
                   " | %s | %s |",
                   d->safetensors == NULL ? "" : d->safetensors,
                   d->pytorch == NULL ? "" : d->pytorch);
    const char *row = strstr(page, head);
    cr_assert_not_null(row, "no row \"%s\"", head + 1);
    const char *end = strchr(row + 1, '\n');
    cr_assert_geq((size_t)(end - row), strlen(head) + strlen(tail));
    cr_assert_eq(strncmp(end - strlen(tail), tail, strlen(tail)), 0, "%s: \"%s\"", head + 1, tail);
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(&cairn__dtype__descriptor, (int)d->code);
    cr_assert_not_null(v, "%s", d->name);
    cr_assert_str_eq(v->name, d->name);
}

CASE(protocol, dtypes_are_those_of_the_table)
{
    char *page = page_read();
    unsigned count = 0;
    for (const struct dtype *d = dtype_at(0); d != NULL; d = dtype_at(++count)) {
        page_dtype(page, d);
    }
    cr_assert_eq(count, cairn__dtype__descriptor.n_values);
    free(page);
}
