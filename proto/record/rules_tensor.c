/* rules_tensor.c: a tensor by itself: its dtype, its shape, and the length that follows from them.
 */
#include <cairn/record.h>

#include "record/dtype.h"
#include "record/finite.h"
#include "record/quant.h"
#include "record/rules.h"
#include "record/rules_int.h"

int rules_length(const struct entry *e, uint64_t expected, struct err *err)
{
    if (e->bytes != expected) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "%llu bytes, expected %llu",
                       (unsigned long long)e->bytes,
                       (unsigned long long)expected);
    }
    return 0;
}

static int rules_region(const char *what, uint64_t recorded, uint64_t expected, struct err *err)
{
    if (recorded == expected) {
        return 0;
    }
    return err_set(err,
                   -CAIRN_EINVAL,
                   "its %s have %llu bytes, expected %llu",
                   what,
                   (unsigned long long)recorded,
                   (unsigned long long)expected);
}

static int rules_quant(const struct entry *e, struct err *err)
{
    struct cairn_quant_bytes want;
    const struct quant *q = e->quant;
    if (q == NULL) {
        return err_set(err, -CAIRN_EINVAL, "a QFLOAT tensor without its quantization scheme");
    }
    int rc = quant_check(&q->scheme, e->rank, err);
    if (rc < 0) {
        return rc;
    }
    if (!quant_bytes(&q->scheme, e->rank, e->shape, &want)) {
        return err_set(err, -CAIRN_EINVAL, "the bytes of its shape, quantized, overflow");
    }
    rc = rules_region("values", q->bytes.values, want.values, err);
    rc = rc < 0 ? rc : rules_region("block scales", q->bytes.block_scales, want.block_scales, err);
    rc = rc < 0 ? rc : rules_region("tensor scales", q->bytes.global_scale, want.global_scale, err);
    return rc < 0 ? rc : rules_length(e, quant_total(&want), err);
}

/* Bytes that nothing here understands; only how wide an element is may be known. */
static int rules_opaque(const struct entry *e, uint64_t elements, struct err *err)
{
    uint64_t bytes = 0;
    if (e->element_bits == 0) {
        return 0;
    }
    if (!dtype_packed_bytes(elements, e->element_bits, &bytes)) {
        return err_set(
            err, -CAIRN_EINVAL, "the bytes of its shape x %u bits overflow", e->element_bits);
    }
    return rules_length(e, bytes, err);
}

/* What belongs to tensors of one dtype alone. */
static int rules_rare(const struct entry *e, struct err *err)
{
    if (e->quant != NULL && e->dtype != CAIRN_QFLOAT) {
        return err_set(
            err, -CAIRN_EINVAL, "a quantization scheme, but it is %s", dtype_name(e->dtype));
    }
    if (e->element_bits != 0 && e->dtype != CAIRN_OPAQUE) {
        return err_set(
            err, -CAIRN_EINVAL, "element bits, but %s has its own", dtype_name(e->dtype));
    }
    if (e->storage_dtype != 0 && dtype_find(e->storage_dtype) == NULL) {
        return err_set(err, -CAIRN_EINVAL, "unknown storage dtype %u", e->storage_dtype);
    }
    return 0;
}

static int rules_nonfinite(const struct entry *e, uint64_t elements, struct err *err)
{
    if (nonfinite_possible(e->dtype, elements, &e->nonfinite)) {
        return 0;
    }
    return err_set(err,
                   -CAIRN_EINVAL,
                   "%llu NaN and %llu Inf cannot be among %llu elements of %s",
                   (unsigned long long)e->nonfinite.nan,
                   (unsigned long long)e->nonfinite.inf,
                   (unsigned long long)elements,
                   dtype_name(e->dtype));
}

int rules_tensor(const struct entry *e, struct err *err)
{
    const struct dtype *d = dtype_find(e->dtype);
    uint64_t elements = 0;
    uint64_t bytes = 0;
    if (d == NULL) {
        return err_set(err, -CAIRN_EINVAL, "unknown dtype %u", e->dtype);
    }
    if (e->rank > LIMIT_RANK) {
        return err_set(err, -CAIRN_EINVAL, "rank %u, at most %u", e->rank, LIMIT_RANK);
    }
    if (!dtype_elements(e->rank, e->shape, &elements)) {
        return err_set(err, -CAIRN_EINVAL, "the product of the shape overflows");
    }
    int rc = rules_rare(e, err);
    rc = rc < 0 ? rc : rules_nonfinite(e, elements, err);
    if (rc < 0) {
        return rc;
    }
    if (d->bits == 0) {
        return d->code == CAIRN_QFLOAT ? rules_quant(e, err) : rules_opaque(e, elements, err);
    }
    if (!dtype_bytes(e->dtype, e->rank, e->shape, &bytes)) {
        return err_set(err, -CAIRN_EINVAL, "the bytes of shape x %s overflow", d->name);
    }
    return rules_length(e, bytes, err);
}

int rules_precision(enum component component,
                    const struct entry *e,
                    enum precision precision,
                    struct err *err)
{
    if (e->kind != ENTRY_TENSOR) {
        return 0;
    }
    uint32_t was = e->storage_dtype == 0 ? e->dtype : e->storage_dtype;
    uint32_t want = quant_is_sibling(e->path) ? was : precision_dtype(precision, was);
    const char *name = precision_name((uint32_t)precision);
    if (e->storage_dtype == e->dtype || e->dtype != want) {
        (void)err_set(err,
                      -CAIRN_EINVAL,
                      "dtype %s (the trainer's: %s) in a record of precision %s, where it is %s",
                      dtype_name(e->dtype),
                      e->storage_dtype == 0 ? "the same" : dtype_name(e->storage_dtype),
                      name,
                      dtype_name(want));
        return err_at(err, component, e->path.data, e->path.bytes);
    }
    return 0;
}
