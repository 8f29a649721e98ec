#include "raw.h"

#include <criterion/criterion.h>

void raw_byte(struct raw *r, uint8_t byte)
{
    cr_assert_lt(r->bytes, sizeof r->data);
    r->data[r->bytes++] = byte;
}

void raw_varint(struct raw *r, uint64_t value)
{
    while (value >= 0x80) {
        raw_byte(r, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    raw_byte(r, (uint8_t)value);
}

void raw_key(struct raw *r, uint32_t field, uint32_t wire)
{
    raw_varint(r, (uint64_t)field << 3 | wire);
}

void raw_number(struct raw *r, uint32_t field, uint64_t value)
{
    raw_key(r, field, 0);
    raw_varint(r, value);
}

void raw_bytes(struct raw *r, uint32_t field, const void *data, size_t bytes)
{
    const uint8_t *byte = data;
    raw_key(r, field, 2);
    raw_varint(r, bytes);
    for (size_t i = 0; i < bytes; i++) {
        raw_byte(r, byte[i]);
    }
}

void raw_text(struct raw *r, uint32_t field, const char *text)
{
    raw_bytes(r, field, text, strlen(text));
}

void raw_sub(struct raw *r, uint32_t field, const struct raw *below)
{
    raw_bytes(r, field, below->data, below->bytes);
}

void raw_zeros(struct raw *r, uint32_t field, size_t bytes)
{
    static const uint8_t zeros[2048];
    cr_assert_leq(bytes, sizeof zeros);
    raw_bytes(r, field, zeros, bytes);
}

struct slice raw_slice(const struct raw *r)
{
    return slice_of(r->data, r->bytes);
}
