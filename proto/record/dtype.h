/* dtype.h: the one table of element types (numbers: cairn/record.h, enum cairn_dtype). */
#ifndef RECORD_DTYPE_H
#define RECORD_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

enum dtype_category {
    DTYPE_FLOAT,
    DTYPE_INT,
    DTYPE_UINT,
    DTYPE_BOOL,
    DTYPE_COMPLEX,
    DTYPE_QUANT,
    DTYPE_OPAQUE
};

struct dtype {
    uint32_t code;
    const char *name;
    uint32_t
        bits; /* of one element; 0: the length is not a function of the shape (QFLOAT, OPAQUE) */
    enum dtype_category category;
    const char *safetensors; /* NULL: none */
    const char *pytorch;     /* NULL: none */
};

const struct dtype *dtype_find(uint32_t code); /* NULL: unknown */
const struct dtype *dtype_at(size_t index);    /* walk the table; NULL: end */
const char *dtype_name(uint32_t code);         /* "?" when unknown */
bool dtype_is_quantized(uint32_t code);        /* of any sort; false when unknown */
bool dtype_is_floating(uint32_t code);         /* not quantized; false when unknown */
/* What a parameter of a dtype record or a contract may be: F64, F32, FLEX32, F16, BF16, QFLOAT. */
#define DTYPE_PARAM_NAMES "F64, F32, FLEX32, F16, BF16, QFLOAT"
bool dtype_param_ok(uint64_t code);
/* In what a weighted window may sum: F32, F64. */
bool dtype_window_ok(uint64_t code);
/* May a parameter of one dtype have a gradient of the other? Both are floating, of whatever width,
 * or complex, and so on; a quantized one is of the same dtype, and its scheme is for the caller to
 * compare. */
bool dtype_gradient_ok(uint32_t parameter, uint32_t gradient);
/* The first byte of a BOOL tensor that is neither 0 nor 1; `bytes`: none. */
uint64_t dtype_bad_bool(const void *data, uint64_t bytes);
/* Elements of a shape; 1 for rank 0. False when the product of the dimensions that are not 0
 * overflows. */
bool dtype_elements(uint32_t rank, const uint64_t *shape, uint64_t *ret_elements);
/* Bytes of so many elements of so many bits: ceil(product / 8). False on overflow. */
bool dtype_packed_bytes(uint64_t elements, uint32_t bits, uint64_t *ret_bytes);
/* Bytes of a tensor: ceil(product x bits / 8). False on overflow, unknown code or when bits is 0.
 */
bool dtype_bytes(uint32_t code, uint32_t rank, const uint64_t *shape, uint64_t *ret_bytes);

bool shape_same(uint32_t a_rank, const uint64_t *a, uint32_t b_rank, const uint64_t *b);

/* The type in which a precision stores the values of another: floats F32, F16 or F64, integers with
 * and without a sign I32, I16 or I64. The type itself under NATIVE, and always for bool, complex,
 * quantized, opaque and unknown ones. */
uint32_t precision_dtype(enum precision precision, uint32_t storage_dtype);

#endif
