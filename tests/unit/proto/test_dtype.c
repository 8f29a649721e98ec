#include <cairn/record.h>
#include <string.h>

#include "record/dtype.h"
#include "support/case.h"

/* Written down here a second time on purpose: the table is a contract with every stored record. */
static const struct {
    uint32_t code;
    uint32_t bits;
    const char *name;
} dtypes[] = {
    { 1, 64, "F64" },        { 2, 32, "F32" },        { 3, 32, "FLEX32" },
    { 4, 16, "F16" },        { 5, 16, "BF16" },       { 6, 8, "F8_E4M3FN" },
    { 7, 8, "F8_E5M2" },     { 8, 8, "F8_E4M3FNUZ" }, { 9, 8, "F8_E5M2FNUZ" },
    { 10, 8, "F8_E8M0FNU" }, { 11, 8, "F8_UE4M3" },   { 12, 6, "F6_E2M3" },
    { 13, 6, "F6_E3M2" },    { 14, 4, "F4_E2M1" },    { 20, 64, "I64" },
    { 21, 32, "I32" },       { 22, 16, "I16" },       { 23, 8, "I8" },
    { 24, 64, "U64" },       { 25, 32, "U32" },       { 26, 16, "U16" },
    { 27, 8, "U8" },         { 30, 8, "BOOL" },       { 31, 8, "BOOL_U8" },
    { 32, 32, "BOOL_U32" },  { 40, 32, "C32" },       { 41, 64, "C64" },
    { 42, 128, "C128" },     { 50, 0, "QFLOAT" },     { 60, 8, "QINT8" },
    { 61, 8, "QUINT8" },     { 62, 32, "QINT32" },    { 63, 4, "QUINT4X2" },
    { 64, 2, "QUINT2X4" },   { 70, 0, "OPAQUE" },
};

CASE(dtype, table)
{
    size_t count = sizeof dtypes / sizeof dtypes[0];
    for (size_t i = 0; i < count; i++) {
        const struct dtype *d = dtype_at(i);
        cr_assert_not_null(d);
        cr_assert_eq(d->code, dtypes[i].code);
        cr_assert_str_eq(d->name, dtypes[i].name);
        cr_assert_eq(d->bits, dtypes[i].bits, "%s", d->name);
        cr_assert_eq(dtype_find(d->code), d);
        cr_assert_str_eq(dtype_name(d->code), d->name);
    }
    cr_assert_null(dtype_at(count));
    cr_assert_null(dtype_find(0));
    cr_assert_null(dtype_find(15));
    cr_assert_null(dtype_find(71));
    cr_assert_str_eq(dtype_name(15), "?");
}

CASE(dtype, categories_and_foreign_names)
{
    cr_assert_eq(dtype_find(CAIRN_BF16)->category, DTYPE_FLOAT);
    cr_assert_eq(dtype_find(CAIRN_I8)->category, DTYPE_INT);
    cr_assert_eq(dtype_find(CAIRN_U8)->category, DTYPE_UINT);
    cr_assert_eq(dtype_find(CAIRN_BOOL_U32)->category, DTYPE_BOOL);
    cr_assert_eq(dtype_find(CAIRN_C64)->category, DTYPE_COMPLEX);
    cr_assert_eq(dtype_find(CAIRN_QFLOAT)->category, DTYPE_QUANT);
    cr_assert_eq(dtype_find(CAIRN_OPAQUE)->category, DTYPE_OPAQUE);
    cr_assert_str_eq(dtype_find(CAIRN_F8_E4M3FN)->safetensors, "F8_E4M3");
    cr_assert_str_eq(dtype_find(CAIRN_BF16)->pytorch, "bfloat16");
    cr_assert_null(dtype_find(CAIRN_FLEX32)->safetensors);
    cr_assert_null(dtype_find(CAIRN_C128)->safetensors);
}

static uint64_t dtype_size(uint32_t code, uint32_t rank, const uint64_t *shape)
{
    uint64_t bytes = UINT64_MAX;
    cr_assert(dtype_bytes(code, rank, shape, &bytes), "dtype %u", code);
    return bytes;
}

CASE(dtype, lengths)
{
    const uint64_t one[] = { 1 };
    const uint64_t zero[] = { 0 };
    const uint64_t hole[] = { 3, 0, 2 };
    const uint64_t odd[] = { 3, 3 };
    const uint64_t big[] = { UINT64_C(1) << 31, UINT64_C(1) << 30 };
    const uint64_t ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5 };
    cr_assert_eq(dtype_size(CAIRN_F32, 0, NULL), 4); /* [] is one element */
    cr_assert_eq(dtype_size(CAIRN_F32, 1, zero), 0);
    cr_assert_eq(dtype_size(CAIRN_F32, 3, hole), 0);
    cr_assert_eq(dtype_size(CAIRN_F32, 1, one), 4);
    cr_assert_eq(dtype_size(CAIRN_F64, 16, ones), 40);
    cr_assert_eq(dtype_size(CAIRN_F4_E2M1, 2, odd), 5); /* 36 bits */
    cr_assert_eq(dtype_size(CAIRN_F6_E2M3, 2, odd), 7); /* 54 bits */
    cr_assert_eq(dtype_size(CAIRN_QUINT2X4, 2, odd), 3);
    cr_assert_eq(dtype_size(CAIRN_C128, 1, one), 16);
    cr_assert_eq(dtype_size(CAIRN_U8, 2, big), UINT64_C(1) << 61);
    cr_assert_eq(dtype_size(CAIRN_F16, 2, big), UINT64_C(1) << 62);
    cr_assert_eq(dtype_size(CAIRN_F32, 2, big), UINT64_C(1) << 63);
}

CASE(dtype, E9_overflows)
{
    const uint64_t big[] = { UINT64_C(1) << 31, UINT64_C(1) << 30 };
    const uint64_t huge[] = { UINT64_C(1) << 32, UINT64_C(1) << 32 };
    const uint64_t huge_first[] = { UINT64_C(1) << 32, UINT64_C(1) << 32, 0 };
    const uint64_t huge_last[] = { 0, UINT64_C(1) << 32, UINT64_C(1) << 32 };
    const uint64_t most[] = { UINT64_MAX };
    uint64_t bytes = 0;
    cr_assert_not(dtype_bytes(CAIRN_F64, 2, big, &bytes));
    cr_assert_not(dtype_bytes(CAIRN_U8, 2, huge, &bytes));
    cr_assert_not(dtype_bytes(CAIRN_U8, 3, huge_first, &bytes)); /* whatever the order */
    cr_assert_not(dtype_bytes(CAIRN_U8, 3, huge_last, &bytes));
    cr_assert_eq(dtype_size(CAIRN_U8, 1, most), UINT64_MAX);
    cr_assert_eq(dtype_size(CAIRN_F4_E2M1, 1, most), (UINT64_C(1) << 63));
    cr_assert_not(dtype_bytes(CAIRN_F16, 1, most, &bytes));
    cr_assert_not(dtype_bytes(CAIRN_QFLOAT, 0, NULL, &bytes));
    cr_assert_not(dtype_bytes(CAIRN_OPAQUE, 0, NULL, &bytes));
    cr_assert_not(dtype_bytes(99, 0, NULL, &bytes));
}
