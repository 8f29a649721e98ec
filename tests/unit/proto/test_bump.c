#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cairn.pb-c.h"
#include "support/case.h"
#include "wire/bump.h"
#include "wire/codec_int.h"

CASE(bump, hands_out_aligned_memory)
{
    struct bump b;
    bump_init(&b, 1 << 20);
    uint8_t *last = NULL;
    for (size_t bytes = 0; bytes < 300; bytes++) {
        uint8_t *p = bump_alloc(&b, bytes);
        cr_assert_not_null(p);
        cr_assert_eq((uintptr_t)p % 16, 0);
        memset(p, 0xAB, bytes);
        cr_assert(bytes < 2 || p != last);
        last = p;
    }
    cr_assert_not(b.exhausted);
    bump_fini(&b);
    bump_fini(&b);
    cr_assert_null(b.head);
}

CASE(bump, stops_at_the_cap)
{
    struct bump b;
    bump_init(&b, 1000);
    cr_assert_not_null(bump_alloc(&b, 992));
    cr_assert_eq(b.used_bytes, 992);
    cr_assert_null(bump_alloc(&b, 9)); /* 16 with alignment: over */
    cr_assert(b.exhausted);
    bump_reset(&b);
    cr_assert_not(b.exhausted);
    cr_assert_eq(b.used_bytes, 0);
    cr_assert_null(bump_alloc(&b, 1001));
    cr_assert_null(bump_alloc(&b, SIZE_MAX));
    cr_assert_null(bump_alloc(&b, SIZE_MAX - 8));
    cr_assert(b.exhausted);
    bump_fini(&b);
    bump_init(&b, SIZE_MAX);
    cr_assert_null(bump_alloc(&b, SIZE_MAX - 8)); /* not even where there is no cap */
    bump_fini(&b);
}

CASE(bump, keeps_one_block)
{
    struct bump b;
    bump_init(&b, 64 << 20);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 300; i++) {
            cr_assert_not_null(bump_alloc(&b, 10000));
        }
        cr_assert_not_null(bump_alloc(&b, 5 << 20));
        bump_reset(&b);
        cr_assert_not_null(b.head);
    }
    bump_fini(&b);
}

/* What the cap is for: `count` empty sub-messages are two bytes each on the wire and far more in
 * memory. The decoder refuses them before it unpacks; this goes to protobuf-c directly.
 * STATUS_INFO's sentences are the plainest repeated field; everything required is there. */
CASE(bump, a_megabyte_of_empty_values_is_refused)
{
    const size_t bytes = 1 << 20;
    struct bump b;
    struct err err = { 0 };
    struct wire_buf head = { 0 };
    union wire_msg msg = { .status_info = { .pid = 1 } };
    cr_assert_eq(wire_encode(WIRE_STATUS_INFO, 1, &msg, 0, &head, &err), 0);
    size_t used = head.bytes - FRAME_PREFIX_BYTES;
    uint8_t *message = malloc(bytes + used);
    cr_assert_not_null(message);
    memcpy(message, head.data + FRAME_PREFIX_BYTES, used);
    for (size_t i = 0; i < bytes; i += 3) {
        /* key of field 17, then length 0 */
        memcpy(message + used + i, "\x8A\x01", i + 3 <= bytes ? 3 : bytes - i);
    }
    size_t whole = used + bytes / 3 * 3;
    bump_init(&b, 4 << 20);
    ProtobufCAllocator allocator = codec_allocator(&b);
    cr_assert_null(
        protobuf_c_message_unpack(&cairn__status_info__descriptor, &allocator, whole, message));
    cr_assert(b.exhausted);
    bump_fini(&b);
    bump_init(&b, SIZE_MAX); /* the same bytes are legal protobuf: it was the cap */
    allocator = codec_allocator(&b);
    cr_assert_not_null(
        protobuf_c_message_unpack(&cairn__status_info__descriptor, &allocator, whole, message));
    cr_assert_gt(b.used_bytes, 4 << 20);
    bump_fini(&b);
    free(message);
    wire_buf_free(&head);
}

/* The same with messages. */
CASE(bump, a_megabyte_of_empty_messages_is_refused)
{
    const size_t bytes = 1 << 20;
    uint8_t *message = calloc(1, bytes);
    cr_assert_not_null(message);
    for (size_t i = 0; i < bytes; i += 2) {
        message[i] = 1 << 3 | 2;
    }
    struct bump b;
    bump_init(&b, wire_bump_cap((uint32_t)bytes));
    ProtobufCAllocator allocator = codec_allocator(&b);
    cr_assert_null(protobuf_c_message_unpack(&cairn__seal__descriptor, &allocator, bytes, message));
    cr_assert(b.exhausted);
    cr_assert_leq(b.used_bytes, wire_bump_cap((uint32_t)bytes));
    bump_fini(&b);
    free(message);
}

CASE(bump, a_megabyte_of_empty_messages_is_refused_before)
{
    const size_t bytes = 1 << 20;
    uint8_t *message = calloc(1, bytes);
    cr_assert_not_null(message);
    for (size_t i = 0; i < bytes; i += 2) {
        message[i] = 3 << 3 | 2;
    }
    struct bump b;
    struct err err = { 0 };
    union wire_msg msg;
    bump_init(&b, wire_bump_cap((uint32_t)bytes));
    int rc = wire_decode(WIRE_ENTRIES, slice_of(message, bytes), &b, &msg, &err);
    cr_assert_eq(rc, -CAIRN_EPROTO);
    cr_assert_eq(b.used_bytes, 0); /* nothing was allocated for it */
    bump_fini(&b);
    free(message);
}
