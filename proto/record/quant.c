#include "record/quant.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal/ckd.h"
#include "record/dtype.h"

/* ---- the schemes --------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    uint32_t bits;
} quant_values[] = {
    [CAIRN_Q8F] = { "Q8F", 8 },    [CAIRN_Q8S] = { "Q8S", 8 },    [CAIRN_Q4F] = { "Q4F", 4 },
    [CAIRN_Q4S] = { "Q4S", 4 },    [CAIRN_Q2F] = { "Q2F", 2 },    [CAIRN_Q2S] = { "Q2S", 2 },
    [CAIRN_QE5M2] = { "E5M2", 8 }, [CAIRN_QE4M3] = { "E4M3", 8 }, [CAIRN_QE2M1] = { "E2M1", 4 },
};

uint32_t quant_bits(uint32_t value)
{
    return value < sizeof quant_values / sizeof quant_values[0] ? quant_values[value].bits : 0;
}

static bool quant_is_scale(uint32_t dtype)
{
    return dtype == CAIRN_F32 || dtype == CAIRN_F16 || dtype == CAIRN_BF16 ||
           dtype == CAIRN_F8_E8M0FNU || dtype == CAIRN_F8_UE4M3;
}

static int quant_check_store(const struct cairn_quant *q, uint32_t rank, struct err *err)
{
    const char *name = quant_values[q->value].name;
    uint32_t bits = quant_bits(q->value);
    if (q->store < CAIRN_QUANT_NATIVE || q->store > CAIRN_QUANT_PACKED_U32) {
        return err_set(err, -CAIRN_EINVAL, "no such quantized store: %u", q->store);
    }
    if (q->store == CAIRN_QUANT_NATIVE && bits < 8) {
        return err_set(err, -CAIRN_EINVAL, "%s values of %u bits must be packed", name, bits);
    }
    if (q->store == CAIRN_QUANT_PACKED_NATIVE && q->value != CAIRN_QE2M1) {
        return err_set(err, -CAIRN_EINVAL, "%s values are not packed natively: E2M1 is", name);
    }
    if (q->store == CAIRN_QUANT_NATIVE && q->packed_dim != 0) {
        return err_set(err, -CAIRN_EINVAL, "a packed dimension, although nothing is packed");
    }
    if (q->store != CAIRN_QUANT_NATIVE && q->packed_dim >= rank) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "packed in dimension %u from the innermost, but there are %u",
                       q->packed_dim,
                       rank);
    }
    return 0;
}

static int quant_check_block(const struct cairn_quant *q, uint32_t rank, struct err *err)
{
    if (q->block_rank > LIMIT_BLOCK_RANK || q->block_rank > rank) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "a block of %u dimensions: at most %u, and not more than the tensor's %u",
                       q->block_rank,
                       LIMIT_BLOCK_RANK,
                       rank);
    }
    for (uint32_t i = 0; i < LIMIT_BLOCK_RANK; i++) {
        if ((q->block[i] == 0) != (i >= q->block_rank)) {
            return err_set(err, -CAIRN_EINVAL, "extent %u of its block is %u", i, q->block[i]);
        }
    }
    if (q->block_rank > 1 && q->block[0] == 1) {
        return err_set(err, -CAIRN_EINVAL, "the outermost extent of its block is 1: leave it out");
    }
    return 0;
}

static int quant_check_scales(const struct cairn_quant *q, uint32_t rank, struct err *err)
{
    if (q->global_dtype == 0 && q->block_dtype == 0) {
        return err_set(err, -CAIRN_EINVAL, "a quantized tensor without a scale");
    }
    if ((q->global_dtype != 0 && !quant_is_scale(q->global_dtype)) ||
        (q->block_dtype != 0 && !quant_is_scale(q->block_dtype))) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "scales of dtype %u and %u: F32, F16, BF16, F8_E8M0FNU and F8_UE4M3 may be",
                       q->global_dtype,
                       q->block_dtype);
    }
    if (q->global_dtype != 0 && q->block_dtype != 0 && q->global_dtype != CAIRN_F32) {
        return err_set(err, -CAIRN_EINVAL, "above the scales of blocks, the tensor's must be F32");
    }
    if ((q->block_dtype != 0) != (q->block_rank != 0)) {
        return err_set(err, -CAIRN_EINVAL, "blocks have scales, and scales of blocks have blocks");
    }
    return quant_check_block(q, rank, err);
}

int quant_check(const struct cairn_quant *q, uint32_t rank, struct err *err)
{
    if (quant_bits(q->value) == 0) {
        return err_set(err, -CAIRN_EINVAL, "no such quantized value: %u", q->value);
    }
    if (q->mode != CAIRN_QUANT_SYMMETRIC && q->mode != CAIRN_QUANT_LOOKUP) {
        return err_set(err, -CAIRN_EINVAL, "no such quantization mode: %u", q->mode);
    }
    int rc = quant_check_store(q, rank, err);
    return rc < 0 ? rc : quant_check_scales(q, rank, err);
}

struct cairn_quant quant_canonical(const struct cairn_quant *q)
{
    struct cairn_quant ret = *q;
    while (ret.block_rank > 1 && ret.block_rank <= LIMIT_BLOCK_RANK && ret.block[0] == 1) {
        for (uint32_t i = 1; i < LIMIT_BLOCK_RANK; i++) {
            ret.block[i - 1] = ret.block[i];
        }
        ret.block[LIMIT_BLOCK_RANK - 1] = 0;
        ret.block_rank--;
    }
    for (uint32_t i = ret.block_rank; i < LIMIT_BLOCK_RANK; i++) {
        ret.block[i] = 0;
    }
    return ret;
}

bool quant_is_sibling(struct slice path)
{
    static const char *const ends[] = { "@codebook", "@scale", "@zero_point" };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t bytes = strlen(ends[i]);
        const char *text = path.data;
        if (path.bytes > bytes && memcmp(text + path.bytes - bytes, ends[i], bytes) == 0) {
            return true;
        }
    }
    return false;
}

bool quant_equal(const struct cairn_quant *a, const struct cairn_quant *b)
{
    bool same = a->value == b->value && a->store == b->store && a->packed_dim == b->packed_dim &&
                a->mode == b->mode && a->global_dtype == b->global_dtype &&
                a->block_dtype == b->block_dtype && a->block_rank == b->block_rank;
    for (uint32_t i = 0; same && i < LIMIT_BLOCK_RANK; i++) {
        same = a->block[i] == b->block[i];
    }
    return same;
}

/* ---- the lengths --------------------------------------------------------------------------------
 */

static uint64_t quant_ceil(uint64_t count, uint64_t per)
{
    return count / per + (count % per != 0);
}

/* Units of storage: the packed dimension is rounded up in each line, not in the whole. */
static bool quant_units(
    uint32_t rank, const uint64_t *shape, uint32_t packed_at, uint64_t per_unit, uint64_t *ret)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        uint64_t extent = i == packed_at ? quant_ceil(shape[i], per_unit) : shape[i];
        if (ckd_mul_u64(count, extent, &count)) {
            return false;
        }
    }
    *ret = count;
    return true;
}

static bool
quant_value_bytes(const struct cairn_quant *q, uint32_t rank, const uint64_t *shape, uint64_t *ret)
{
    static const uint32_t unit_bytes[] = {
        [CAIRN_QUANT_NATIVE] = 1, [CAIRN_QUANT_PACKED_NATIVE] = 1, [CAIRN_QUANT_PACKED_U32] = 4
    };
    uint32_t unit = unit_bytes[q->store];
    uint32_t bits = quant_bits(q->value);
    uint64_t count = 0;
    assert(bits > 0);
    return quant_units(rank, shape, rank - 1 - q->packed_dim, unit * 8 / bits, &count) &&
           !ckd_mul_u64(count, unit, ret);
}

/* A block covers the innermost dimensions; the last one of a line may be cut short. */
static bool
quant_block_bytes(const struct cairn_quant *q, uint32_t rank, const uint64_t *shape, uint64_t *ret)
{
    uint64_t count = 1;
    if (q->block_dtype == 0) {
        *ret = 0;
        return true;
    }
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t outer = rank - q->block_rank;
        uint64_t blocks = i < outer ? shape[i] : quant_ceil(shape[i], q->block[i - outer]);
        if (ckd_mul_u64(count, blocks, &count)) {
            return false;
        }
    }
    return !ckd_mul_u64(count, dtype_find(q->block_dtype)->bits / 8, ret);
}

bool quant_bytes(const struct cairn_quant *q,
                 uint32_t rank,
                 const uint64_t *shape,
                 struct cairn_quant_bytes *ret)
{
    uint64_t total = 0;
    if (!dtype_elements(rank, shape, &total)) {
        return false; /* whatever a dimension of 0 hides below */
    }
    ret->global_scale = q->global_dtype == 0 ? 0 : dtype_find(q->global_dtype)->bits / 8;
    return quant_value_bytes(q, rank, shape, &ret->values) &&
           quant_block_bytes(q, rank, shape, &ret->block_scales) &&
           !ckd_add_u64(ret->values, ret->block_scales, &total) &&
           !ckd_add_u64(total, ret->global_scale, &total);
}

uint64_t quant_total(const struct cairn_quant_bytes *bytes)
{
    return bytes->values + bytes->block_scales + bytes->global_scale;
}

/* ---- for people ---------------------------------------------------------------------------------
 */

struct quant_line {
    char *text;
    size_t used;
};

ERR_PRINTF(2, 3) static void quant_say(struct quant_line *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int more = vsnprintf(l->text + l->used, CAIRN_QUANT_TEXT_BYTES - l->used, format, args);
    va_end(args);
    l->used += more > 0 ? (size_t)more : 0;
    l->used = l->used < CAIRN_QUANT_TEXT_BYTES ? l->used : CAIRN_QUANT_TEXT_BYTES - 1;
}

void quant_text(const struct cairn_quant *q, char ret[CAIRN_QUANT_TEXT_BYTES])
{
    struct quant_line l = { .text = ret };
    ret[0] = '\0';
    quant_say(&l, "%s", quant_bits(q->value) == 0 ? "?" : quant_values[q->value].name);
    if (q->store == CAIRN_QUANT_PACKED_NATIVE) {
        quant_say(&l, " in bytes along %u", q->packed_dim);
    } else if (q->store == CAIRN_QUANT_PACKED_U32) {
        quant_say(&l, " in words along %u", q->packed_dim);
    }
    if (q->mode == CAIRN_QUANT_LOOKUP) {
        quant_say(&l, ", codebook");
    }
    for (uint32_t i = 0; i < q->block_rank && i < LIMIT_BLOCK_RANK; i++) {
        quant_say(&l, i == 0 ? ", blocks [%u" : ", %u", q->block[i]);
    }
    if (q->block_dtype != 0) {
        quant_say(&l, "] with %s scales", dtype_name(q->block_dtype));
    }
    if (q->global_dtype != 0) {
        quant_say(&l, ", %s scale", dtype_name(q->global_dtype));
    }
}
