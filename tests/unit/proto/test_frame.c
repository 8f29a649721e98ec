#include <stdlib.h>
#include <string.h>

#include "support/case.h"
#include "wire/codec.h"
#include "wire/frame.h"

static const struct frame frame_data = {
    .type = WIRE_DATA, .request = 0x01020304, .message_bytes = 2, .payload_bytes = 0x123456
};

static void frame_spoil(size_t at, uint8_t byte, const char *word)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    struct frame f = { .type = 0xEEEE };
    struct err err = { 0 };
    frame_encode(&frame_data, prefix);
    prefix[at] = byte;
    cr_assert_eq(frame_decode(prefix, &f, &err), -CAIRN_EPROTO, "byte %zu", at);
    cr_assert_not_null(strstr(err.msg, word), "%s", err.msg);
    cr_assert_eq(f.type, 0xEEEE); /* untouched */
}

CASE(frame, bytes)
{
    static const uint8_t golden[FRAME_PREFIX_BYTES] = {
        'C', 'R', 'N', '1', 44, 0, 0, 0, 4, 3, 2, 1, 2, 0, 0, 0, 0x56, 0x34, 0x12, 0, 0, 0, 0, 0,
    };
    uint8_t prefix[FRAME_PREFIX_BYTES];
    struct frame f;
    frame_encode(&frame_data, prefix);
    cr_assert_eq(memcmp(prefix, golden, sizeof golden), 0);
    cr_assert_eq(frame_decode(prefix, &f, NULL), 0);
    cr_assert(f.type == WIRE_DATA && f.flags == 0 && f.request == 0x01020304);
    cr_assert(f.message_bytes == 2 && f.payload_bytes == 0x123456);
}

CASE(frame, refuses)
{
    for (size_t i = 0; i < 4; i++) {
        frame_spoil(i, 'x', "magic");
    }
    frame_spoil(4, 0, "type 0");
    frame_spoil(4, 6, "type 6");
    frame_spoil(4, 85, "type 85");
    frame_spoil(4, 255, "type 255");
    frame_spoil(5, 1, "type 300");
    frame_spoil(6, 1, "flags");
    frame_spoil(7, 0x80, "flags");
    frame_spoil(14, 1, "message of 65538 bytes");
    frame_spoil(15, 0xFF, "message of");
    frame_spoil(19, 1, "payload of");
    frame_spoil(23, 0xFF, "payload of");
}

CASE(frame, payload_belongs_to_data_alone)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    struct frame f;
    struct err err = { 0 };
    for (uint32_t type = 0; type < 100; type++) {
        if (wire_type_limits(type) == NULL || type == WIRE_DATA) {
            continue;
        }
        frame_encode(&(struct frame){ .type = (uint16_t)type, .payload_bytes = 1 }, prefix);
        cr_assert_eq(frame_decode(prefix, &f, &err), -CAIRN_EPROTO, "type %u", type);
        frame_encode(&(struct frame){ .type = (uint16_t)type }, prefix);
        cr_assert_eq(frame_decode(prefix, &f, &err), 0, "type %u", type);
    }
    frame_encode(&(struct frame){ .type = WIRE_DATA, .message_bytes = 2 }, prefix);
    cr_assert_eq(frame_decode(prefix, &f, &err), -CAIRN_EPROTO);
    cr_assert_not_null(strstr(err.msg, "without payload"));
}

CASE(frame, limits_of_each_type)
{
    static const struct {
        uint32_t type;
        uint32_t message;
        uint64_t payload;
    } rows[] = {
        { WIRE_HELLO, 65536, 0 },
        { WIRE_ARENA_OPEN, 65536, 0 },
        { WIRE_BEGIN, 65536, 0 },
        { WIRE_DATA, 65536, 8388608 },
        { WIRE_CHUNKS, 1048576 + 65536, 0 },
        { WIRE_ENTRIES, 1048576 + 65536, 0 },
        { WIRE_FOUND, 4194304, 0 },
        { WIRE_STATUS_INFO, 65536, 0 },
        { WIRE_PING, 0, 0 },
        { WIRE_ABORT, 0, 0 },
    };
    uint8_t prefix[FRAME_PREFIX_BYTES];
    struct frame f;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct wire_type_limits *l = wire_type_limits(rows[i].type);
        cr_assert_not_null(l);
        cr_assert_eq(l->message_max_bytes, rows[i].message, "%s", l->name);
        cr_assert_eq(l->payload_max_bytes, rows[i].payload, "%s", l->name);
        struct frame most = { .type = (uint16_t)rows[i].type,
                              .message_bytes = rows[i].message,
                              .payload_bytes = rows[i].payload };
        frame_encode(&most, prefix);
        cr_assert_eq(frame_decode(prefix, &f, NULL), 0, "%s", l->name);
        most.message_bytes++;
        frame_encode(&most, prefix);
        cr_assert_eq(frame_decode(prefix, &f, NULL), -CAIRN_EPROTO, "%s", l->name);
    }
    cr_assert_null(wire_type_limits(0));
    cr_assert_null(wire_type_limits(36));
    cr_assert_null(wire_type_limits(UINT32_MAX));
}

/* Any 24 bytes either decode to what encodes to them again, or are refused. */
CASE(frame, random_prefixes)
{
    unsigned seed = 7321;
    unsigned state = seed;
    unsigned accepted = 0;
    for (unsigned i = 0; i < 200000; i++) {
        uint8_t prefix[FRAME_PREFIX_BYTES] = { 'C', 'R', 'N', '1' };
        uint8_t again[FRAME_PREFIX_BYTES];
        struct frame f;
        prefix[4] = (uint8_t)(rand_r(&state) % 100);
        prefix[8] = (uint8_t)rand_r(&state);
        for (unsigned n = (unsigned)rand_r(&state) % 3; n > 0; n--) {
            prefix[(unsigned)rand_r(&state) % FRAME_PREFIX_BYTES] = (uint8_t)rand_r(&state);
        }
        if (frame_decode(prefix, &f, NULL) == 0) {
            frame_encode(&f, again);
            cr_assert_eq(memcmp(prefix, again, sizeof again), 0, "seed %u, round %u", seed, i);
            accepted++;
        }
    }
    cr_assert_gt(accepted, 1000);
}
