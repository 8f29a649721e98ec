#include "record/dtype.h"

#include <cairn/record.h>

#include "internal/ckd.h"

/* The widths of the quantized types of PyTorch are those of one element, not of its storage unit.
 */
static const struct dtype dtype_table[] = {
    { CAIRN_F64, "F64", 64, DTYPE_FLOAT, "F64", "float64" },
    { CAIRN_F32, "F32", 32, DTYPE_FLOAT, "F32", "float32" },
    { CAIRN_FLEX32, "FLEX32", 32, DTYPE_FLOAT, NULL, NULL },
    { CAIRN_F16, "F16", 16, DTYPE_FLOAT, "F16", "float16" },
    { CAIRN_BF16, "BF16", 16, DTYPE_FLOAT, "BF16", "bfloat16" },
    { CAIRN_F8_E4M3FN, "F8_E4M3FN", 8, DTYPE_FLOAT, "F8_E4M3", "float8_e4m3fn" },
    { CAIRN_F8_E5M2, "F8_E5M2", 8, DTYPE_FLOAT, "F8_E5M2", "float8_e5m2" },
    { CAIRN_F8_E4M3FNUZ, "F8_E4M3FNUZ", 8, DTYPE_FLOAT, "F8_E4M3FNUZ", "float8_e4m3fnuz" },
    { CAIRN_F8_E5M2FNUZ, "F8_E5M2FNUZ", 8, DTYPE_FLOAT, "F8_E5M2FNUZ", "float8_e5m2fnuz" },
    { CAIRN_F8_E8M0FNU, "F8_E8M0FNU", 8, DTYPE_FLOAT, "F8_E8M0", "float8_e8m0fnu" },
    { CAIRN_F8_UE4M3, "F8_UE4M3", 8, DTYPE_FLOAT, NULL, NULL },
    { CAIRN_F6_E2M3, "F6_E2M3", 6, DTYPE_FLOAT, "F6_E2M3", NULL },
    { CAIRN_F6_E3M2, "F6_E3M2", 6, DTYPE_FLOAT, "F6_E3M2", NULL },
    { CAIRN_F4_E2M1, "F4_E2M1", 4, DTYPE_FLOAT, "F4", "float4_e2m1fn_x2" },
    { CAIRN_I64, "I64", 64, DTYPE_INT, "I64", "int64" },
    { CAIRN_I32, "I32", 32, DTYPE_INT, "I32", "int32" },
    { CAIRN_I16, "I16", 16, DTYPE_INT, "I16", "int16" },
    { CAIRN_I8, "I8", 8, DTYPE_INT, "I8", "int8" },
    { CAIRN_U64, "U64", 64, DTYPE_UINT, "U64", "uint64" },
    { CAIRN_U32, "U32", 32, DTYPE_UINT, "U32", "uint32" },
    { CAIRN_U16, "U16", 16, DTYPE_UINT, "U16", "uint16" },
    { CAIRN_U8, "U8", 8, DTYPE_UINT, "U8", "uint8" },
    { CAIRN_BOOL, "BOOL", 8, DTYPE_BOOL, "BOOL", "bool" },
    { CAIRN_BOOL_U8, "BOOL_U8", 8, DTYPE_BOOL, NULL, NULL },
    { CAIRN_BOOL_U32, "BOOL_U32", 32, DTYPE_BOOL, NULL, NULL },
    { CAIRN_C32, "C32", 32, DTYPE_COMPLEX, NULL, "complex32" },
    { CAIRN_C64, "C64", 64, DTYPE_COMPLEX, "C64", "complex64" },
    { CAIRN_C128, "C128", 128, DTYPE_COMPLEX, NULL, "complex128" },
    { CAIRN_QFLOAT, "QFLOAT", 0, DTYPE_QUANT, NULL, NULL },
    { CAIRN_QINT8, "QINT8", 8, DTYPE_QUANT, NULL, "qint8" },
    { CAIRN_QUINT8, "QUINT8", 8, DTYPE_QUANT, NULL, "quint8" },
    { CAIRN_QINT32, "QINT32", 32, DTYPE_QUANT, NULL, "qint32" },
    { CAIRN_QUINT4X2, "QUINT4X2", 4, DTYPE_QUANT, NULL, "quint4x2" },
    { CAIRN_QUINT2X4, "QUINT2X4", 2, DTYPE_QUANT, NULL, "quint2x4" },
    { CAIRN_OPAQUE, "OPAQUE", 0, DTYPE_OPAQUE, NULL, NULL },
};

#define DTYPE_COUNT (sizeof dtype_table / sizeof dtype_table[0])

const struct dtype *dtype_find(uint32_t code)
{
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        if (dtype_table[i].code == code) {
            return &dtype_table[i];
        }
    }
    return NULL;
}

const struct dtype *dtype_at(size_t index)
{
    return index < DTYPE_COUNT ? &dtype_table[index] : NULL;
}

bool dtype_is_quantized(uint32_t code)
{
    const struct dtype *d = dtype_find(code);
    return d != NULL && d->category == DTYPE_QUANT;
}

bool dtype_is_floating(uint32_t code)
{
    const struct dtype *d = dtype_find(code);
    return d != NULL && d->category == DTYPE_FLOAT;
}

bool dtype_param_ok(uint64_t code)
{
    return code == CAIRN_F64 || code == CAIRN_F32 || code == CAIRN_FLEX32 || code == CAIRN_F16 ||
           code == CAIRN_BF16 || code == CAIRN_QFLOAT;
}

bool dtype_window_ok(uint64_t code)
{
    return code == CAIRN_F32 || code == CAIRN_F64;
}

bool dtype_gradient_ok(uint32_t parameter, uint32_t gradient)
{
    const struct dtype *p = dtype_find(parameter);
    const struct dtype *g = dtype_find(gradient);
    return p != NULL && g != NULL && p->category == g->category &&
           (p == g || p->category != DTYPE_QUANT);
}

/* Without a way out of the loop, so that it takes many bytes at once. */
static bool dtype_bools_ok(const uint8_t *byte, uint64_t bytes)
{
    uint8_t any = 0;
    for (uint64_t i = 0; i < bytes; i++) {
        any = (uint8_t)(any | byte[i]);
    }
    return any <= 1;
}

uint64_t dtype_bad_bool(const void *data, uint64_t bytes)
{
    const uint8_t *byte = data;
    uint64_t at = 0;
    if (dtype_bools_ok(byte, bytes)) {
        return bytes;
    }
    while (byte[at] <= 1) {
        at++;
    }
    return at;
}

const char *dtype_name(uint32_t code)
{
    const struct dtype *d = dtype_find(code);
    return d == NULL ? "?" : d->name;
}

bool dtype_elements(uint32_t rank, const uint64_t *shape, uint64_t *ret_elements)
{
    /* A zero dimension empties the tensor but does not excuse an overflow of the others, so that
     * the answer does not depend on the order of the dimensions. */
    uint64_t product = 1;
    bool empty = false;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] == 0) {
            empty = true;
        } else if (ckd_mul_u64(product, shape[i], &product)) {
            return false;
        }
    }
    *ret_elements = empty ? 0 : product;
    return true;
}

bool dtype_packed_bytes(uint64_t elements, uint32_t bits, uint64_t *ret_bytes)
{
    /* Eight elements are `bits` bytes, whatever the width; the rest is rounded up. */
    uint64_t whole = 0;
    if (ckd_mul_u64(elements / 8, bits, &whole)) {
        return false;
    }
    return !ckd_add_u64(whole, (elements % 8 * bits + 7) / 8, ret_bytes);
}

bool dtype_bytes(uint32_t code, uint32_t rank, const uint64_t *shape, uint64_t *ret_bytes)
{
    const struct dtype *d = dtype_find(code);
    uint64_t elements = 0;
    return d != NULL && d->bits != 0 && dtype_elements(rank, shape, &elements) &&
           dtype_packed_bytes(elements, d->bits, ret_bytes);
}

bool shape_same(uint32_t a_rank, const uint64_t *a, uint32_t b_rank, const uint64_t *b)
{
    return a_rank == b_rank && (a_rank == 0 || memcmp(a, b, a_rank * sizeof *a) == 0);
}

uint32_t precision_dtype(enum precision precision, uint32_t storage_dtype)
{
    static const struct {
        uint32_t floating;
        uint32_t integer;
    } values[] = {
        [PRECISION_FULL] = { CAIRN_F32, CAIRN_I32 },
        [PRECISION_HALF] = { CAIRN_F16, CAIRN_I16 },
        [PRECISION_DOUBLE] = { CAIRN_F64, CAIRN_I64 },
    };
    const struct dtype *d = dtype_find(storage_dtype);
    size_t which = (size_t)precision;
    if (d == NULL || which == PRECISION_NATIVE || which >= sizeof values / sizeof values[0]) {
        return storage_dtype;
    }
    switch (d->category) {
    case DTYPE_FLOAT:
        return values[which].floating;
    case DTYPE_INT:
    case DTYPE_UINT:
        return values[which].integer;
    case DTYPE_BOOL:
    case DTYPE_COMPLEX:
    case DTYPE_QUANT:
    case DTYPE_OPAQUE:
        break;
    }
    return storage_dtype;
}
