/* raw.h: protobuf bytes written by hand, so that a test can send what no encoder makes. */
#ifndef PROTO_RAW_H
#define PROTO_RAW_H

#include <stdint.h>

#include "internal/slice.h"

struct raw {
    uint8_t data[4096];
    size_t bytes;
};

void raw_byte(struct raw *r, uint8_t byte);
void raw_varint(struct raw *r, uint64_t value);
void raw_key(struct raw *r, uint32_t field, uint32_t wire);
void raw_number(struct raw *r, uint32_t field, uint64_t value);                /* wire type 0 */
void raw_bytes(struct raw *r, uint32_t field, const void *data, size_t bytes); /* wire type 2 */
void raw_text(struct raw *r, uint32_t field, const char *text);
void raw_sub(struct raw *r, uint32_t field, const struct raw *below);
void raw_zeros(struct raw *r, uint32_t field, size_t bytes);
struct slice raw_slice(const struct raw *r);

#endif
