/* cairn/dtype.h: what the elements of a tensor are. */
#ifndef CAIRN_DTYPE_H
#define CAIRN_DTYPE_H

#include <cairn/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types. Definitions and lengths: PROTOCOL.md, "Dtypes". */
enum cairn_dtype {
    CAIRN_F64 = 1,
    CAIRN_F32 = 2,
    CAIRN_FLEX32 = 3,
    CAIRN_F16 = 4,
    CAIRN_BF16 = 5,
    CAIRN_F8_E4M3FN = 6,
    CAIRN_F8_E5M2 = 7,
    CAIRN_F8_E4M3FNUZ = 8,
    CAIRN_F8_E5M2FNUZ = 9,
    CAIRN_F8_E8M0FNU = 10,
    CAIRN_F8_UE4M3 = 11,
    CAIRN_F6_E2M3 = 12,
    CAIRN_F6_E3M2 = 13,
    CAIRN_F4_E2M1 = 14,
    CAIRN_I64 = 20,
    CAIRN_I32 = 21,
    CAIRN_I16 = 22,
    CAIRN_I8 = 23,
    CAIRN_U64 = 24,
    CAIRN_U32 = 25,
    CAIRN_U16 = 26,
    CAIRN_U8 = 27,
    CAIRN_BOOL = 30,
    CAIRN_BOOL_U8 = 31,
    CAIRN_BOOL_U32 = 32,
    CAIRN_C32 = 40,
    CAIRN_C64 = 41,
    CAIRN_C128 = 42,
    CAIRN_QFLOAT = 50,
    CAIRN_QINT8 = 60,
    CAIRN_QUINT8 = 61,
    CAIRN_QINT32 = 62,
    CAIRN_QUINT4X2 = 63,
    CAIRN_QUINT2X4 = 64,
    CAIRN_OPAQUE = 70
};

/* What a quantized value is: its width, and for integers its range (F: the whole of two's
 * complement, S: symmetric, without the smallest). */
enum cairn_quant_value {
    CAIRN_Q8F = 1,
    CAIRN_Q8S = 2,
    CAIRN_Q4F = 3,
    CAIRN_Q4S = 4,
    CAIRN_Q2F = 5,
    CAIRN_Q2S = 6,
    CAIRN_QE5M2 = 7,
    CAIRN_QE4M3 = 8,
    CAIRN_QE2M1 = 9
};

/* Where values lie: one by one; two in a byte (E2M1 only); as many as fit in 32-bit words. */
enum cairn_quant_store {
    CAIRN_QUANT_NATIVE = 1,
    CAIRN_QUANT_PACKED_NATIVE = 2,
    CAIRN_QUANT_PACKED_U32 = 3
};

/* What a value means: times its scale; or an index into a codebook, which is another entry, at
 * PATH@codebook: under that name no precision converts it (record.h, cairn_save_args). */
enum cairn_quant_mode { CAIRN_QUANT_SYMMETRIC = 1, CAIRN_QUANT_LOOKUP = 2 };

/* How a QFLOAT tensor is quantized. The dtype of a scale is F32, F16, BF16, F8_E8M0FNU or F8_UE4M3;
 * there is one scale for the tensor, or one for each block, or both (then the former is F32). */
struct cairn_quant {
    uint32_t value;        /* enum cairn_quant_value */
    uint32_t store;        /* enum cairn_quant_store */
    uint32_t packed_dim;   /* the dimension that is packed, 0 the innermost; 0 when none is */
    uint32_t mode;         /* enum cairn_quant_mode */
    uint32_t global_dtype; /* of the one scale of the tensor; 0: there is none */
    uint32_t block_dtype;  /* of the scales of the blocks; 0: there are none */
    uint32_t block_rank;   /* dimensions of a block, 1 to 5, the innermost last; 0: no blocks */
    uint8_t block[5];      /* its extents, elements; in dimensions that are not named it is 1 */
};

/* The bytes of a QFLOAT tensor are these three regions, one behind the other. */
struct cairn_quant_bytes {
    uint64_t values;
    uint64_t block_scales;
    uint64_t global_scale;
};

/* Name and element bits of a dtype; NULL and 0 for an unknown one (0 also for QFLOAT, OPAQUE).
 * Errors: none.   Ownership: static.   Threads: any.   Blocks: never. */
CAIRN_API const char *cairn_dtype_name(uint32_t dtype);
CAIRN_API uint32_t cairn_dtype_bits(uint32_t dtype);

/* Lengths in bytes of the regions of a tensor that is quantized so: what cairn_put and cairn_get of
 * it take is their sum, in the order of the struct. The arithmetic: PROTOCOL.md, "Quantized
 * tensors". Errors: EINVAL no such scheme, not for this rank, or the lengths overflow (*ret is
 * undefined then). Ownership: nothing is kept.   Threads: any.   Blocks: never. */
CAIRN_API int cairn_quant_lengths(const struct cairn_quant *q,
                                  uint32_t rank,
                                  const uint64_t *shape,
                                  struct cairn_quant_bytes *ret);

/* A scheme for people: "Q4S in words along 0, blocks [32] with F16 scales, F32 scale", cut to
 * ret_bytes; CAIRN_QUANT_TEXT_BYTES hold any.
 * Errors: EINVAL.   Ownership: caller's buffer.   Threads: any.   Blocks: never. */
#define CAIRN_QUANT_TEXT_BYTES 128
CAIRN_API int cairn_quant_text(const struct cairn_quant *q, char *ret, size_t ret_bytes);

#ifdef __cplusplus
}
#endif
#endif
