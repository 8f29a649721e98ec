/* codec.c: the table of message types, and the two ways through it. */
#include "wire/codec.h"

#include <assert.h>
#include <stdlib.h>

#include "wire/codec_int.h"

#define CODEC_SMALL (64u << 10)
#define CODEC_PAGE (LIMIT_ENTRIES_BYTES + CODEC_SMALL) /* a page never fails for its last entry */

struct codec_type {
    struct wire_type_limits limits;
    const ProtobufCMessageDescriptor *desc;
    codec_from_fn from;
    codec_to_fn to;
};

#define CODEC_ROW(NAME, name, max)                                                                 \
    [WIRE_##NAME] = {                                                                              \
        { #NAME, (max), 0 }, &cairn__##name##__descriptor, codec_##name##_from, codec_##name##_to  \
    }
#define CODEC_EMPTY(NAME)                                                                          \
    [WIRE_##NAME] = { { #NAME, 0, 0 }, &cairn__empty__descriptor, codec_empty_from, codec_empty_to }

static const struct codec_type codec_types[] = {
    CODEC_ROW(HELLO, hello, CODEC_SMALL),
    CODEC_ROW(WELCOME, welcome, CODEC_SMALL),
    CODEC_ROW(ERROR, error, CODEC_SMALL),
    CODEC_EMPTY(DONE),
    CODEC_EMPTY(PING),
    CODEC_ROW(RUN_OPEN, run_open, CODEC_SMALL),
    CODEC_ROW(RUN_INFO, run_info, CODEC_SMALL),
    CODEC_ROW(RUN_LIST, run_list, CODEC_SMALL),
    CODEC_ROW(RUN_DROP, run_drop, CODEC_SMALL),
    CODEC_ROW(POLICY, policy, CODEC_SMALL),
    CODEC_ROW(POLICY_INFO, policy_info, CODEC_SMALL),
    CODEC_ROW(KEEP, keep, CODEC_SMALL),
    CODEC_ROW(KEPT, kept, LIMIT_MESSAGE_BYTES),
    CODEC_ROW(ROLLBACK, rollback, CODEC_SMALL),
    CODEC_ROW(USAGE, usage, CODEC_SMALL),
    CODEC_ROW(USAGE_INFO, usage_info, CODEC_SMALL),
    CODEC_ROW(ARENA_OPEN, arena_open, CODEC_SMALL),
    CODEC_ROW(ARENA, arena, CODEC_SMALL),
    CODEC_ROW(ARENA_MAPPED, arena_ref, CODEC_SMALL),
    CODEC_ROW(ARENA_CLOSE, arena_ref, CODEC_SMALL),
    CODEC_ROW(BEGIN, begin, CODEC_SMALL),
    CODEC_ROW(BEGUN, begun, CODEC_SMALL),
    CODEC_ROW(CHUNKS, chunks, CODEC_PAGE),
    CODEC_ROW(ENTRIES, entries, CODEC_PAGE),
    [WIRE_DATA] = { { "DATA", CODEC_SMALL, LIMIT_CHUNK_BYTES },
                    &cairn__data__descriptor,
                    codec_data_from,
                    codec_data_to },
    CODEC_ROW(SEAL, seal, CODEC_SMALL),
    CODEC_ROW(COMMITTED, committed, CODEC_SMALL),
    CODEC_EMPTY(ABORT),
    CODEC_ROW(PIN, pin, CODEC_SMALL),
    CODEC_ROW(UNPIN, unpin, CODEC_SMALL),
    CODEC_ROW(LABEL, set_labels, CODEC_SMALL),
    CODEC_ROW(DELETE, delete, CODEC_SMALL),
    CODEC_ROW(PIN_LIST, pin_list, CODEC_SMALL),
    CODEC_ROW(PINS, pins, LIMIT_MESSAGE_BYTES),
    CODEC_ROW(FIND, find, CODEC_SMALL),
    CODEC_ROW(FOUND, found, LIMIT_MESSAGE_BYTES),
    CODEC_ROW(DESCRIBE, describe, CODEC_SMALL),
    CODEC_ROW(DESCRIBED, described, CODEC_SMALL),
    CODEC_ROW(MANIFEST, manifest, CODEC_SMALL),
    CODEC_ROW(CHUNK_LIST, chunk_list, CODEC_SMALL),
    CODEC_EMPTY(CLOSE),
    CODEC_EMPTY(RESIDENT),
    CODEC_ROW(LOAD, load, CODEC_SMALL),
    CODEC_ROW(LOADED, loaded, CODEC_SMALL),
    CODEC_ROW(RELEASE, release, CODEC_SMALL),
    CODEC_ROW(FILLED, filled, CODEC_SMALL),
    CODEC_ROW(VERIFY, verify, CODEC_SMALL),
    CODEC_ROW(FINDING, finding, CODEC_SMALL),
    CODEC_ROW(VERIFIED, verified, CODEC_SMALL),
    CODEC_EMPTY(STATUS),
    CODEC_ROW(STATUS_INFO, status_info, CODEC_SMALL),
};

/* The same numbers on both sides of the schema. */
#define CODEC_ERROR_SAME(name, number, sort, text)                                                 \
    static_assert((int)CAIRN__ERROR_CODE__##name == (number), "error number of " #name);
CAIRN_ERRORS(CODEC_ERROR_SAME)
static_assert((int)CAIRN__COMPONENT__COMPONENT_CONTRACT == COMPONENT_NR - 1, "components");
static_assert((int)CAIRN__ENTRY_KIND__ENTRY_NULL == ENTRY_KIND_NR - 1, "entry kinds");
static_assert((int)CAIRN__PRECISION__PRECISION_DOUBLE == PRECISION_DOUBLE, "precisions");
static_assert((int)CAIRN__SAVE_STATE__SAVE_UNKNOWN == SAVE_UNKNOWN, "save states");

static const struct codec_type *codec_type(uint32_t type)
{
    bool known = type < sizeof codec_types / sizeof codec_types[0] && codec_types[type].to != NULL;
    return known ? &codec_types[type] : NULL;
}

const struct wire_type_limits *wire_type_limits(uint32_t type)
{
    const struct codec_type *t = codec_type(type);
    return t == NULL ? NULL : &t->limits;
}

size_t wire_bump_cap(uint32_t message_bytes)
{
    return (size_t)message_bytes * 24 + (64u << 10);
}

/* ---- in -----------------------------------------------------------------------------------------
 */

static void *codec_bump_alloc(void *data, size_t bytes)
{
    return bump_alloc(data, bytes);
}

static void codec_bump_free(void *data, void *pointer)
{
    (void)data;
    (void)pointer;
}

ProtobufCAllocator codec_allocator(struct bump *b)
{
    return (ProtobufCAllocator){ .alloc = codec_bump_alloc,
                                 .free = codec_bump_free,
                                 .allocator_data = b };
}

int codec_unpack(const ProtobufCMessageDescriptor *desc,
                 struct slice s,
                 struct codec *c,
                 ProtobufCMessage **ret)
{
    int rc = codec_check(desc, s, c->err);
    if (rc < 0) {
        return rc;
    }
    ProtobufCAllocator allocator = codec_allocator(c->bump);
    ProtobufCMessage *pb = protobuf_c_message_unpack(desc, &allocator, s.bytes, s.data);
    if (pb == NULL) {
        /* The check let it pass, so it was memory. */
        return c->bump->exhausted
                   ? err_set(c->err, -CAIRN_ELIMIT, "the message unpacks to too much")
                   : err_set(c->err, -CAIRN_ENOMEM, "no memory for a message");
    }
    *ret = pb;
    return 0;
}

int wire_decode(
    uint32_t type, struct slice message, struct bump *bump, union wire_msg *ret, struct err *err)
{
    const struct codec_type *t = codec_type(type);
    if (t == NULL) {
        return err_set(err, -CAIRN_EPROTO, "unknown message type %u", type);
    }
    if (message.bytes > t->limits.message_max_bytes) {
        return err_set(err, -CAIRN_EPROTO, "%s: the message is too long", t->limits.name);
    }
    struct codec c = { bump, err };
    ProtobufCMessage *pb = NULL;
    memset(ret, 0, sizeof *ret);
    int rc = codec_unpack(t->desc, message, &c, &pb);
    rc = rc < 0 ? rc : t->from(&c, pb, ret);
    return rc < 0 ? err_wrap(err, rc, "%s", t->limits.name) : 0;
}

/* ---- out ----------------------------------------------------------------------------------------
 */

void wire_buf_free(struct wire_buf *b)
{
    free(b->data);
    *b = (struct wire_buf){ 0 };
}

int codec_reserve(struct wire_buf *b, size_t more, struct err *err)
{
    if (more <= b->cap_bytes - b->bytes) {
        return 0;
    }
    size_t cap = b->cap_bytes * 2 < 256 ? 256 : b->cap_bytes * 2;
    cap = cap < b->bytes + more ? b->bytes + more : cap;
    uint8_t *data = realloc(b->data, cap);
    if (data == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory for a message of %zu bytes", more);
    }
    b->data = data;
    b->cap_bytes = cap;
    return 0;
}

int codec_pack(const ProtobufCMessage *pb, size_t pb_bytes, struct wire_buf *b, struct err *err)
{
    int rc = codec_reserve(b, pb_bytes, err);
    if (rc == 0) {
        b->bytes += protobuf_c_message_pack(pb, b->data + b->bytes);
    }
    return rc;
}

static int codec_pack_frame(const struct codec_type *t,
                            struct frame *f,
                            const ProtobufCMessage *pb,
                            struct wire_buf *b,
                            struct err *err)
{
    size_t bytes = protobuf_c_message_get_packed_size(pb);
    if (bytes > t->limits.message_max_bytes || f->payload_bytes > t->limits.payload_max_bytes) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "%s: %zu bytes and %llu of payload are over its limit",
                       t->limits.name,
                       bytes,
                       (unsigned long long)f->payload_bytes);
    }
    int rc = codec_reserve(b, FRAME_PREFIX_BYTES + bytes, err);
    if (rc < 0) {
        return rc;
    }
    f->message_bytes = (uint32_t)bytes;
    frame_encode(f, b->data + b->bytes);
    b->bytes += FRAME_PREFIX_BYTES;
    return codec_pack(pb, bytes, b, err);
}

int wire_encode(uint32_t type,
                uint32_t request,
                const union wire_msg *msg,
                uint64_t payload_bytes,
                struct wire_buf *b,
                struct err *err)
{
    const struct codec_type *t = codec_type(type);
    if (t == NULL) {
        return err_set(err, -CAIRN_EINVAL, "no message type %u", type);
    }
    struct bump scratch;
    bump_init(&scratch, SIZE_MAX);
    const ProtobufCMessage *pb = t->to(&scratch, msg);
    struct frame f = { .type = (uint16_t)type, .request = request, .payload_bytes = payload_bytes };
    int rc = pb == NULL ? err_set(err, -CAIRN_ENOMEM, "no memory for a message")
                        : codec_pack_frame(t, &f, pb, b, err);
    bump_fini(&scratch);
    return rc;
}
