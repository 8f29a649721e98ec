/* frame.h: the fixed 24-byte prefix of every frame, little-endian. Pure: no I/O, no allocation.
 *   0 magic "CRN1"   4 type u16   6 flags u16   8 request u32   12 message bytes u32
 *   16 payload bytes u64 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stdint.h>

#include "internal/err.h"

#define FRAME_PREFIX_BYTES 24u

struct frame {
    uint16_t type;  /* enum wire_type */
    uint16_t flags; /* none defined: must be 0 */
    uint32_t request;
    uint32_t message_bytes;
    uint64_t payload_bytes;
};

void frame_encode(const struct frame *f, uint8_t ret_prefix[FRAME_PREFIX_BYTES]);
/* Errors: EPROTO for a wrong magic, flags, an unknown type, a length over the type's limit
 * (codec.h, wire_type_limits), a payload where the type has none. */
int frame_decode(const uint8_t prefix[FRAME_PREFIX_BYTES], struct frame *ret, struct err *err);

#endif
