#include "wire/frame.h"

#include <string.h>

#include "wire/codec.h"

static const uint8_t frame_magic[4] = { 'C', 'R', 'N', '1' };

static void frame_put(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint64_t frame_get(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = bytes; i > 0; i--) {
        value = value << 8 | at[i - 1];
    }
    return value;
}

void frame_encode(const struct frame *f, uint8_t ret_prefix[FRAME_PREFIX_BYTES])
{
    memcpy(ret_prefix, frame_magic, sizeof frame_magic);
    frame_put(ret_prefix + 4, f->type, 2);
    frame_put(ret_prefix + 6, f->flags, 2);
    frame_put(ret_prefix + 8, f->request, 4);
    frame_put(ret_prefix + 12, f->message_bytes, 4);
    frame_put(ret_prefix + 16, f->payload_bytes, 8);
}

static int frame_check(const struct frame *f, struct err *err)
{
    const struct wire_type_limits *limits = wire_type_limits(f->type);
    if (limits == NULL) {
        return err_set(err, -CAIRN_EPROTO, "unknown message type %u", (unsigned)f->type);
    }
    if (f->flags != 0) {
        return err_set(
            err, -CAIRN_EPROTO, "%s: unknown flags %#x", limits->name, (unsigned)f->flags);
    }
    if (f->message_bytes > limits->message_max_bytes) {
        return err_set(err,
                       -CAIRN_EPROTO,
                       "%s: a message of %u bytes, at most %u",
                       limits->name,
                       f->message_bytes,
                       limits->message_max_bytes);
    }
    if (f->payload_bytes > limits->payload_max_bytes) {
        return err_set(err,
                       -CAIRN_EPROTO,
                       "%s: a payload of %llu bytes, at most %llu",
                       limits->name,
                       (unsigned long long)f->payload_bytes,
                       (unsigned long long)limits->payload_max_bytes);
    }
    if (f->payload_bytes == 0 && limits->payload_max_bytes != 0) {
        return err_set(err, -CAIRN_EPROTO, "%s: without payload", limits->name);
    }
    return 0;
}

int frame_decode(const uint8_t prefix[FRAME_PREFIX_BYTES], struct frame *ret, struct err *err)
{
    if (memcmp(prefix, frame_magic, sizeof frame_magic) != 0) {
        return err_set(err,
                       -CAIRN_EPROTO,
                       "wrong magic %02x %02x %02x %02x: not a cairn frame",
                       (unsigned)prefix[0],
                       (unsigned)prefix[1],
                       (unsigned)prefix[2],
                       (unsigned)prefix[3]);
    }
    struct frame f = {
        .type = (uint16_t)frame_get(prefix + 4, 2),
        .flags = (uint16_t)frame_get(prefix + 6, 2),
        .request = (uint32_t)frame_get(prefix + 8, 4),
        .message_bytes = (uint32_t)frame_get(prefix + 12, 4),
        .payload_bytes = frame_get(prefix + 16, 8),
    };
    int rc = frame_check(&f, err);
    if (rc == 0) {
        *ret = f;
    }
    return rc;
}
