/* codec_quant.c: how a tensor is quantized. Its presence rules are checked here, what it means by
 * rules_entry. */
#include "record/quant.h"
#include "wire/codec_int.h"

static int codec_quant_block(struct codec *c, const Cairn__Quant *pb, struct cairn_quant *ret)
{
    if (pb->has_block != pb->has_block_scale) {
        return codec_refuse(c, "block", pb->has_block ? "given without need" : "missing");
    }
    if (!pb->has_block) {
        return 0;
    }
    if (pb->block.len == 0 || pb->block.len > LIMIT_BLOCK_RANK) {
        return err_set(c->err,
                       -CAIRN_EPROTO,
                       "block: %zu extents, expected 1 to %u",
                       pb->block.len,
                       LIMIT_BLOCK_RANK);
    }
    memcpy(ret->block, pb->block.data, pb->block.len);
    ret->block_rank = (uint32_t)pb->block.len;
    ret->block_dtype = (uint32_t)pb->block_scale;
    return 0;
}

int codec_quant_from(struct codec *c, const Cairn__Quant *pb, const struct quant **ret)
{
    bool packed = pb->store != CAIRN__QUANT_STORE__QUANT_NATIVE;
    if (packed != (pb->has_packed_dim != 0)) {
        return codec_refuse(c, "packed_dim", packed ? "missing" : "given without need");
    }
    struct quant *q = codec_array(c, 1, sizeof *q);
    if (q == NULL) {
        return c->bump->exhausted ? -CAIRN_ELIMIT : -CAIRN_ENOMEM;
    }
    *q = (struct quant){
        .scheme = { .value = (uint32_t)pb->value,
                    .store = (uint32_t)pb->store,
                    .packed_dim = packed ? pb->packed_dim : 0,
                    .mode = (uint32_t)pb->mode,
                    .global_dtype = pb->has_global_scale ? (uint32_t)pb->global_scale : 0 },
        .bytes = { .values = pb->value_bytes,
                   .block_scales = pb->block_scale_bytes,
                   .global_scale = pb->global_scale_bytes },
    };
    *ret = q;
    return codec_quant_block(c, pb, &q->scheme);
}

void codec_quant_to(const struct quant *from, Cairn__Quant *ret)
{
    const struct cairn_quant *s = &from->scheme;
    cairn__quant__init(ret);
    ret->value = (Cairn__QuantValue)s->value;
    ret->store = (Cairn__QuantStore)s->store;
    ret->has_packed_dim = s->store != CAIRN_QUANT_NATIVE;
    ret->packed_dim = s->packed_dim;
    ret->mode = (Cairn__QuantMode)s->mode;
    ret->has_global_scale = s->global_dtype != 0;
    ret->global_scale = (Cairn__Dtype)s->global_dtype;
    ret->has_block_scale = s->block_dtype != 0;
    ret->block_scale = (Cairn__Dtype)s->block_dtype;
    ret->has_block = s->block_rank != 0;
    ret->block = codec_bin_of(s->block, s->block_rank);
    ret->value_bytes = from->bytes.values;
    ret->block_scale_bytes = from->bytes.block_scales;
    ret->global_scale_bytes = from->bytes.global_scale;
}
