/* convert_integer.c: integers of every width to the signed ones that a precision asks for. Values
 * are taken in halves of 64 bits, because the vectors of many processors cannot compare wider
 * lanes. */
#include <cairn/record.h>

#include "lib/convert_int.h"

struct integer {
    uint32_t low;
    uint32_t high;  /* of signed types all copies of the sign */
    uint32_t above; /* 1: not below 2^63 */
};

/* Of narrow signed types, whose sign is that of `low`. */
static inline struct integer integer_signed(int32_t v)
{
    return (struct integer){ .low = (uint32_t)v, .high = v < 0 ? UINT32_MAX : 0 };
}

static inline struct integer integer_i64(const void *src, size_t i)
{
    uint64_t v = convert_load64(src, i);
    return (struct integer){ .low = (uint32_t)v, .high = (uint32_t)(v >> 32) };
}

static inline struct integer integer_u64(const void *src, size_t i)
{
    struct integer v = integer_i64(src, i);
    v.above = v.high >> 31;
    return v;
}

static inline struct integer integer_i32(const void *src, size_t i)
{
    return integer_signed((int32_t)convert_load32(src, i));
}

static inline struct integer integer_u32(const void *src, size_t i)
{
    return (struct integer){ .low = convert_load32(src, i) };
}

static inline struct integer integer_i16(const void *src, size_t i)
{
    return integer_signed((int16_t)convert_load16(src, i));
}

static inline struct integer integer_u16(const void *src, size_t i)
{
    return (struct integer){ .low = convert_load16(src, i) };
}

static inline struct integer integer_i8(const void *src, size_t i)
{
    return integer_signed(((const int8_t *)src)[i]);
}

static inline struct integer integer_u8(const void *src, size_t i)
{
    return (struct integer){ .low = ((const uint8_t *)src)[i] };
}

/* Stores the value, or 0 when it is out of range, and says which (1: out of range). */
static inline uint32_t integer_to_i64(void *dst, size_t i, struct integer v)
{
    uint64_t value = (uint64_t)v.high << 32 | v.low;
    uint64_t keep = (uint64_t)v.above - 1; /* all ones, or none */
    convert_store64(dst, i, value & keep);
    return v.above;
}

static inline uint32_t integer_to_i32(void *dst, size_t i, struct integer v)
{
    uint32_t fill = 0 - (v.low >> 31);
    uint32_t bad = v.above | (v.high != fill ? 1u : 0u);
    convert_store32(dst, i, v.low & (bad - 1));
    return bad;
}

static inline uint32_t integer_to_i16(void *dst, size_t i, struct integer v)
{
    uint32_t fill = 0 - (v.low >> 31);
    uint32_t top = 0 - (v.low >> 15 & 1);
    uint32_t bad = v.above | (v.high != fill ? 1u : 0u) | (v.low >> 16 != top >> 16 ? 1u : 0u);
    convert_store16(dst, i, (uint16_t)(v.low & (bad - 1)));
    return bad;
}

#define INTEGER_LOOP(FROM, TO)                                                                     \
    static uint32_t integer_##FROM##_##TO(const void *src, void *dst, size_t elements)             \
    {                                                                                              \
        uint32_t bad = 0;                                                                          \
        for (size_t i = 0; i < elements; i++) {                                                    \
            bad += integer_to_##TO(dst, i, integer_##FROM(src, i));                                \
        }                                                                                          \
        return bad;                                                                                \
    }

#define INTEGER_LOOPS(FROM)                                                                        \
    INTEGER_LOOP(FROM, i16)                                                                        \
    INTEGER_LOOP(FROM, i32)                                                                        \
    INTEGER_LOOP(FROM, i64)

INTEGER_LOOPS(i64)
INTEGER_LOOPS(i32)
INTEGER_LOOPS(i16)
INTEGER_LOOPS(i8)
INTEGER_LOOPS(u64)
INTEGER_LOOPS(u32)
INTEGER_LOOPS(u16)
INTEGER_LOOPS(u8)

static const struct {
    uint32_t dtype;
    convert_fn *to_i16;
    convert_fn *to_i32;
    convert_fn *to_i64;
} integer_table[] = {
    { CAIRN_I64, integer_i64_i16, integer_i64_i32, integer_i64_i64 },
    { CAIRN_I32, integer_i32_i16, integer_i32_i32, integer_i32_i64 },
    { CAIRN_I16, integer_i16_i16, integer_i16_i32, integer_i16_i64 },
    { CAIRN_I8, integer_i8_i16, integer_i8_i32, integer_i8_i64 },
    { CAIRN_U64, integer_u64_i16, integer_u64_i32, integer_u64_i64 },
    { CAIRN_U32, integer_u32_i16, integer_u32_i32, integer_u32_i64 },
    { CAIRN_U16, integer_u16_i16, integer_u16_i32, integer_u16_i64 },
    { CAIRN_U8, integer_u8_i16, integer_u8_i32, integer_u8_i64 },
};

convert_fn *convert_integer(uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < sizeof integer_table / sizeof integer_table[0]; i++) {
        if (integer_table[i].dtype != from) {
            continue;
        }
        switch (to) {
        case CAIRN_I16:
            return integer_table[i].to_i16;
        case CAIRN_I32:
            return integer_table[i].to_i32;
        case CAIRN_I64:
            return integer_table[i].to_i64;
        default:
            return NULL;
        }
    }
    return NULL;
}
