/* codec_check.c: raw protobuf bytes against the schema, without allocating.
 *
 * protobuf-c keeps unknown fields, cuts numbers that are too large, takes enum values that do not
 * exist, takes the last of two, and says nothing about what was wrong when it gives up. This walk
 * refuses all of that by name, and counts repeated fields before anything is allocated for them. It
 * goes down into sub-messages with a stack of its own: the schema is at most three deep. */
#include <assert.h>
#include <stdio.h>

#include "rows.pb-c.h"
#include "wire/codec_int.h"

#define CHECK_DEPTH_MAX 4u
#define CHECK_FIELDS_MAX 32u /* bits of `seen` */

enum check_wire { CHECK_VARINT = 0, CHECK_64 = 1, CHECK_BYTES = 2, CHECK_32 = 5 };

struct check_level {
    const ProtobufCMessageDescriptor *desc;
    const char *via; /* name of the field that holds this message; NULL at the top */
    const uint8_t *at;
    const uint8_t *end;
    uint32_t seen;                     /* bit per field, by index */
    uint32_t counts[CHECK_FIELDS_MAX]; /* of repeated fields, by index */
    bool repeats;                      /* any of them is not 0 */
};

struct check {
    struct check_level levels[CHECK_DEPTH_MAX];
    unsigned depth;
    struct err *err;
};

/* Every repeated field has a row. */
static const struct {
    const ProtobufCMessageDescriptor *desc;
    const char *field;
    uint32_t max;
} check_limits[] = {
    { &cairn__entry__descriptor, "shape", LIMIT_RANK },
    { &cairn__entries__descriptor, "entries", LIMIT_ENTRIES_PER_PAGE },
    { &cairn__chunks__descriptor, "chunks", LIMIT_CHUNKS_PER_PAGE },
    { &cairn__chunks__descriptor, "offsets", LIMIT_CHUNKS_PER_PAGE },
    { &cairn__boundary__descriptor, "labels", LIMIT_LABELS },
    { &cairn__boundary__descriptor, "components", COMPONENT_NR - 1 },
    { &cairn__seal__descriptor, "components", COMPONENT_NR - 1 },
    { &cairn__found__descriptor, "boundaries", LIMIT_FIND },
    { &cairn__set_labels__descriptor, "labels", LIMIT_LABELS },
    { &cairn__pins__descriptor, "pins", LIMIT_PINS },
    { &cairn__kept__descriptor, "boundaries", LIMIT_KEPT },
    { &cairn__found__descriptor, "damaged", LIMIT_FIND },
    { &cairn__status_info__descriptor, "attention", 16 },
    { &cairn_rows__boundary_row__descriptor, "segments", LIMIT_CHUNKS },
    { &cairn_rows__component_row__descriptor, "chunks", LIMIT_CHUNKS },
    { &cairn_rows__component_row__descriptor, "first_paths", LIMIT_ENTRIES },
};

static uint32_t check_limit_of(const ProtobufCMessageDescriptor *desc, const char *field)
{
    for (size_t i = 0; i < sizeof check_limits / sizeof check_limits[0]; i++) {
        if (check_limits[i].desc == desc && strcmp(check_limits[i].field, field) == 0) {
            return check_limits[i].max;
        }
    }
    return 0;
}

/* "entries[7]: digest: missing" */
static int check_refuse(const struct check *k, int code, const char *field, const char *why)
{
    (void)err_set(k->err, code, "%s: %s", field, why);
    for (unsigned d = k->depth; d > 0; d--) {
        const struct check_level *parent = &k->levels[d - 1];
        const char *via = k->levels[d].via;
        const ProtobufCFieldDescriptor *f =
            protobuf_c_message_descriptor_get_field_by_name(parent->desc, via);
        if (f != NULL && f->label == PROTOBUF_C_LABEL_REPEATED) {
            uint32_t count = parent->counts[f - parent->desc->fields];
            (void)err_wrap(k->err, code, "%s[%u]", via, count - 1);
        } else {
            (void)err_wrap(k->err, code, "%s", via);
        }
    }
    return code;
}

/* At most ten bytes, and no bits beyond the 64th. */
static bool check_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
    uint64_t value = 0;
    const uint8_t *byte = *at;
    for (unsigned shift = 0; shift < 70 && byte < end; shift += 7, byte++) {
        if (shift == 63 && *byte > 1) {
            return false;
        }
        value |= (uint64_t)(*byte & 0x7F) << shift;
        if (*byte < 0x80) {
            *at = byte + 1;
            *ret = value;
            return true;
        }
    }
    return false;
}

/* Which one it is helps who looks for the release that has it. */
static int check_enum(const struct check *k, const ProtobufCFieldDescriptor *f, uint64_t value)
{
    char why[64];
    if (value <= INT32_MAX &&
        protobuf_c_enum_descriptor_get_value(f->descriptor, (int)value) != NULL) {
        return 0;
    }
    (void)snprintf(why, sizeof why, "a value that is not defined: %llu", (unsigned long long)value);
    return check_refuse(k, -CAIRN_EPROTO, f->name, why);
}

static int check_number(const struct check *k, const ProtobufCFieldDescriptor *f, uint64_t value)
{
    switch ((int)f->type) {
    case PROTOBUF_C_TYPE_UINT32:
        return value <= UINT32_MAX ? 0
                                   : check_refuse(k, -CAIRN_EPROTO, f->name, "more than 32 bits");
    case PROTOBUF_C_TYPE_BOOL:
        return value <= 1 ? 0 : check_refuse(k, -CAIRN_EPROTO, f->name, "neither 0 nor 1");
    case PROTOBUF_C_TYPE_ENUM:
        return check_enum(k, f, value);
    default:
        return 0;
    }
}

static enum check_wire check_wire_of(const ProtobufCFieldDescriptor *f)
{
    if ((f->flags & PROTOBUF_C_FIELD_FLAG_PACKED) != 0) {
        return CHECK_BYTES;
    }
    switch ((int)f->type) {
    case PROTOBUF_C_TYPE_FIXED64:
        return CHECK_64;
    case PROTOBUF_C_TYPE_FIXED32:
        return CHECK_32;
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return CHECK_BYTES;
    default:
        return CHECK_VARINT;
    }
}

static int check_packed(struct check *k,
                        const ProtobufCFieldDescriptor *f,
                        const uint8_t *at,
                        const uint8_t *end)
{
    struct check_level *level = &k->levels[k->depth];
    uint32_t *count = &level->counts[f - level->desc->fields];
    uint64_t value = 0;
    *count = 0;
    while (at < end) {
        if (!check_varint(&at, end, &value)) {
            return check_refuse(k, -CAIRN_EPROTO, f->name, "malformed");
        }
        (*count)++;
    }
    return 0;
}

/* A length-prefixed value: bytes are skipped, a message becomes the next level. */
static int check_bytes(struct check *k, const ProtobufCFieldDescriptor *f)
{
    struct check_level *level = &k->levels[k->depth];
    uint64_t bytes = 0;
    if (!check_varint(&level->at, level->end, &bytes) ||
        bytes > (uint64_t)(level->end - level->at)) {
        return check_refuse(k, -CAIRN_EPROTO, f->name, "longer than the message");
    }
    const uint8_t *at = level->at;
    level->at += bytes;
    if ((f->flags & PROTOBUF_C_FIELD_FLAG_PACKED) != 0) {
        return check_packed(k, f, at, at + bytes);
    }
    if (f->type != PROTOBUF_C_TYPE_MESSAGE) {
        return 0;
    }
    if (k->depth + 1 == CHECK_DEPTH_MAX) {
        return check_refuse(k, -CAIRN_EPROTO, f->name, "nested too deep");
    }
    struct check_level *below = &k->levels[++k->depth];
    below->desc = f->descriptor;
    below->via = f->name;
    below->at = at;
    below->end = at + bytes;
    below->seen = 0;
    below->repeats = false;
    assert(below->desc->n_fields <= CHECK_FIELDS_MAX);
    memset(below->counts, 0, below->desc->n_fields * sizeof below->counts[0]);
    return 0;
}

static int check_value(struct check *k, const ProtobufCFieldDescriptor *f)
{
    struct check_level *level = &k->levels[k->depth];
    uint64_t value = 0;
    size_t fixed = 0;
    switch (check_wire_of(f)) {
    case CHECK_BYTES:
        return check_bytes(k, f);
    case CHECK_VARINT:
        return check_varint(&level->at, level->end, &value)
                   ? check_number(k, f, value)
                   : check_refuse(k, -CAIRN_EPROTO, f->name, "malformed");
    case CHECK_64:
        fixed = 8;
        break;
    case CHECK_32:
        fixed = 4;
        break;
    }
    if ((size_t)(level->end - level->at) < fixed) {
        return check_refuse(k, -CAIRN_EPROTO, f->name, "cut short");
    }
    level->at += fixed;
    return 0;
}

/* Once, unless the field repeats; a packed field comes in one piece. */
static int check_once(struct check *k, const ProtobufCFieldDescriptor *f)
{
    struct check_level *level = &k->levels[k->depth];
    uint32_t index = (uint32_t)(f - level->desc->fields);
    bool packed = (f->flags & PROTOBUF_C_FIELD_FLAG_PACKED) != 0;
    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        level->counts[index]++;
        level->repeats = true;
    }
    if ((f->label != PROTOBUF_C_LABEL_REPEATED || packed) && (level->seen >> index & 1) != 0) {
        return check_refuse(k, -CAIRN_EPROTO, f->name, "given twice");
    }
    level->seen |= 1u << index;
    return 0;
}

static int check_field(struct check *k)
{
    struct check_level *level = &k->levels[k->depth];
    uint64_t key = 0;
    char text[32] = "message";
    if (!check_varint(&level->at, level->end, &key) || key > UINT32_MAX) {
        return check_refuse(k, -CAIRN_EPROTO, text, "malformed");
    }
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field(level->desc, (unsigned)(key >> 3));
    if (f == NULL) {
        (void)snprintf(text, sizeof text, "field %u", (unsigned)(key >> 3));
        return check_refuse(k, -CAIRN_EPROTO, text, "unknown");
    }
    if ((key & 7) != (uint64_t)check_wire_of(f)) {
        return check_refuse(k, -CAIRN_EPROTO, f->name, "of another wire type");
    }
    int rc = check_once(k, f);
    return rc < 0 ? rc : check_value(k, f);
}

/* The end of a message: is everything there, and not too much of it? */
static int check_end(struct check *k)
{
    const struct check_level *level = &k->levels[k->depth];
    const ProtobufCFieldDescriptor *fields = level->desc->fields;
    for (unsigned i = 0; i < level->desc->n_fields; i++) {
        if (fields[i].label == PROTOBUF_C_LABEL_REQUIRED && (level->seen >> i & 1) == 0) {
            return check_refuse(k, -CAIRN_EPROTO, fields[i].name, "missing");
        }
        if (level->repeats && level->counts[i] != 0 &&
            level->counts[i] > check_limit_of(level->desc, fields[i].name)) {
            return check_refuse(k, -CAIRN_ELIMIT, fields[i].name, "too many");
        }
    }
    return 0;
}

/* One field, or the end of a message. Sets *ret_done at the end of the outermost one. */
static int check_step(struct check *k, bool *ret_done)
{
    if (k->levels[k->depth].at < k->levels[k->depth].end) {
        return check_field(k);
    }
    int rc = check_end(k);
    if (rc == 0 && k->depth > 0) {
        k->depth--;
    } else {
        *ret_done = true;
    }
    return rc;
}

int codec_check(const ProtobufCMessageDescriptor *desc, struct slice s, struct err *err)
{
    const uint8_t *data = s.data;
    struct check k = { .err = err };
    assert(desc->n_fields <= CHECK_FIELDS_MAX);
    k.levels[0].desc = desc;
    k.levels[0].at = data;
    k.levels[0].end = data == NULL ? data : data + s.bytes;
    bool done = false;
    int rc = 0;
    while (rc == 0 && !done) {
        rc = check_step(&k, &done);
    }
    return rc;
}
