/* quant.h: quantized tensors (PROTOCOL.md, "Quantized tensors"): which schemes there are, and how
 * long the three regions of a tensor are: values, scales of blocks, scale of the tensor.
 *
 * Nothing here quantizes: the bytes are the trainer's, and stay so. */
#ifndef RECORD_QUANT_H
#define RECORD_QUANT_H

#include <cairn/record.h>

#include "internal/err.h"
#include "internal/slice.h"

struct quant {
    struct cairn_quant scheme;
    struct cairn_quant_bytes bytes; /* as recorded; rules_entry compares them with quant_bytes */
};

/* Bits of one value; 0: no such value. */
uint32_t quant_bits(uint32_t value);

/* Is there such a scheme, for a tensor of this rank? Only its canonical form is legal: a block has
 * no outer extents of 1, and what is not there is 0. Errors: EINVAL. */
int quant_check(const struct cairn_quant *q, uint32_t rank, struct err *err);

/* The canonical form of what a caller wrote: outer extents of 1 are dropped, as they say nothing.
 */
struct cairn_quant quant_canonical(const struct cairn_quant *q);

/* Lengths of the regions of a legal scheme. False when they overflow, one by one or in all. */
bool quant_bytes(const struct cairn_quant *q,
                 uint32_t rank,
                 const uint64_t *shape,
                 struct cairn_quant_bytes *ret);
uint64_t quant_total(const struct cairn_quant_bytes *bytes); /* of what quant_bytes gave */

/* "Q4S in words along 0, blocks [32] with F16 scales, F32 scale": for people. */
void quant_text(const struct cairn_quant *q, char ret[CAIRN_QUANT_TEXT_BYTES]);

/* Is this the path of a tensor that says what the values of a quantized one mean: PATH@codebook,
 * PATH@scale, PATH@zero_point? No precision converts it, as none converts those. */
bool quant_is_sibling(struct slice path);

/* Two canonical schemes. */
bool quant_equal(const struct cairn_quant *a, const struct cairn_quant *b);

#endif
