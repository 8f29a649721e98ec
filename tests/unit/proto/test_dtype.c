#include <cairn/record.h>
#include <string.h>

#include "record/dtype.h"
#include "support/case.h"

/* Written down here a second time on purpose: the table is a contract with every stored record.
 * 0 bits: the length does not follow from the shape. */
static const struct {
    uint32_t code;
    enum cairn_dtype symbol;
    const char *name;
    uint32_t bits;
    enum dtype_category category;
    const char *safetensors, *pytorch;
} dtypes[] = {
    { 1, CAIRN_F64, "F64", 64, DTYPE_FLOAT, "F64", "float64" },
    { 2, CAIRN_F32, "F32", 32, DTYPE_FLOAT, "F32", "float32" },
    { 3, CAIRN_FLEX32, "FLEX32", 32, DTYPE_FLOAT, NULL, NULL },
    { 4, CAIRN_F16, "F16", 16, DTYPE_FLOAT, "F16", "float16" },
    { 5, CAIRN_BF16, "BF16", 16, DTYPE_FLOAT, "BF16", "bfloat16" },
    { 6, CAIRN_F8_E4M3FN, "F8_E4M3FN", 8, DTYPE_FLOAT, "F8_E4M3", "float8_e4m3fn" },
    { 7, CAIRN_F8_E5M2, "F8_E5M2", 8, DTYPE_FLOAT, "F8_E5M2", "float8_e5m2" },
    { 8, CAIRN_F8_E4M3FNUZ, "F8_E4M3FNUZ", 8, DTYPE_FLOAT, "F8_E4M3FNUZ", "float8_e4m3fnuz" },
    { 9, CAIRN_F8_E5M2FNUZ, "F8_E5M2FNUZ", 8, DTYPE_FLOAT, "F8_E5M2FNUZ", "float8_e5m2fnuz" },
    { 10, CAIRN_F8_E8M0FNU, "F8_E8M0FNU", 8, DTYPE_FLOAT, "F8_E8M0", "float8_e8m0fnu" },
    { 11, CAIRN_F8_UE4M3, "F8_UE4M3", 8, DTYPE_FLOAT, NULL, NULL },
    { 12, CAIRN_F6_E2M3, "F6_E2M3", 6, DTYPE_FLOAT, "F6_E2M3", NULL },
    { 13, CAIRN_F6_E3M2, "F6_E3M2", 6, DTYPE_FLOAT, "F6_E3M2", NULL },
    { 14, CAIRN_F4_E2M1, "F4_E2M1", 4, DTYPE_FLOAT, "F4", "float4_e2m1fn_x2" },
    { 20, CAIRN_I64, "I64", 64, DTYPE_INT, "I64", "int64" },
    { 21, CAIRN_I32, "I32", 32, DTYPE_INT, "I32", "int32" },
    { 22, CAIRN_I16, "I16", 16, DTYPE_INT, "I16", "int16" },
    { 23, CAIRN_I8, "I8", 8, DTYPE_INT, "I8", "int8" },
    { 24, CAIRN_U64, "U64", 64, DTYPE_UINT, "U64", "uint64" },
    { 25, CAIRN_U32, "U32", 32, DTYPE_UINT, "U32", "uint32" },
    { 26, CAIRN_U16, "U16", 16, DTYPE_UINT, "U16", "uint16" },
    { 27, CAIRN_U8, "U8", 8, DTYPE_UINT, "U8", "uint8" },
    { 30, CAIRN_BOOL, "BOOL", 8, DTYPE_BOOL, "BOOL", "bool" },
    { 31, CAIRN_BOOL_U8, "BOOL_U8", 8, DTYPE_BOOL, NULL, NULL },
    { 32, CAIRN_BOOL_U32, "BOOL_U32", 32, DTYPE_BOOL, NULL, NULL },
    { 40, CAIRN_C32, "C32", 32, DTYPE_COMPLEX, NULL, "complex32" },
    { 41, CAIRN_C64, "C64", 64, DTYPE_COMPLEX, "C64", "complex64" },
    { 42, CAIRN_C128, "C128", 128, DTYPE_COMPLEX, NULL, "complex128" },
    { 50, CAIRN_QFLOAT, "QFLOAT", 0, DTYPE_QUANT, NULL, NULL },
    { 60, CAIRN_QINT8, "QINT8", 8, DTYPE_QUANT, NULL, "qint8" },
    { 61, CAIRN_QUINT8, "QUINT8", 8, DTYPE_QUANT, NULL, "quint8" },
    { 62, CAIRN_QINT32, "QINT32", 32, DTYPE_QUANT, NULL, "qint32" },
    { 63, CAIRN_QUINT4X2, "QUINT4X2", 4, DTYPE_QUANT, NULL, "quint4x2" },
    { 64, CAIRN_QUINT2X4, "QUINT2X4", 2, DTYPE_QUANT, NULL, "quint2x4" },
    { 70, CAIRN_OPAQUE, "OPAQUE", 0, DTYPE_OPAQUE, NULL, NULL },
};

#define DTYPES (sizeof dtypes / sizeof dtypes[0])

static bool dtype_same_name(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

CASE(dtype, every_row_of_the_table)
{
    for (size_t i = 0; i < DTYPES; i++) {
        const struct dtype *d = dtype_at(i);
        cr_assert_not_null(d, "%s", dtypes[i].name);
        cr_assert_eq(d->code, dtypes[i].code, "%s", dtypes[i].name);
        cr_assert_eq((uint32_t)dtypes[i].symbol, d->code, "%s", dtypes[i].name);
        cr_assert_str_eq(d->name, dtypes[i].name);
        cr_assert_eq(d->bits, dtypes[i].bits, "%s", d->name);
        cr_assert_eq(d->category, dtypes[i].category, "%s", d->name);
        cr_assert(dtype_same_name(d->safetensors, dtypes[i].safetensors), "%s", d->name);
        cr_assert(dtype_same_name(d->pytorch, dtypes[i].pytorch), "%s", d->name);
    }
    cr_assert_null(dtype_at(DTYPES));
    cr_assert_null(dtype_at(SIZE_MAX));
}

/* Each code and each name is one dtype's, and no other code is any's. */
CASE(dtype, E30_codes_and_names_are_unique)
{
    size_t known = 0;
    size_t safetensors = 0;
    for (uint32_t code = 0; code < 1000; code++) {
        const struct dtype *d = dtype_find(code);
        known += d != NULL ? 1 : 0;
        cr_assert_str_eq(dtype_name(code), d == NULL ? "?" : d->name);
        cr_assert(d == NULL || d->code == code);
    }
    cr_assert_eq(known, DTYPES);
    cr_assert_null(dtype_find(UINT32_MAX));
    for (size_t i = 0; i < DTYPES; i++) {
        const struct dtype *a = dtype_at(i);
        safetensors += a->safetensors != NULL ? 1 : 0;
        for (size_t k = 0; k < i; k++) {
            const struct dtype *b = dtype_at(k);
            cr_assert_str_neq(a->name, b->name);
            cr_assert(a->safetensors == NULL || !dtype_same_name(a->safetensors, b->safetensors));
            cr_assert(a->pytorch == NULL || !dtype_same_name(a->pytorch, b->pytorch));
        }
    }
    cr_assert_eq(safetensors, 22); /* all that safetensors 0.8 has */
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
