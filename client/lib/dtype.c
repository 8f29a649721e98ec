/* dtype.c: the public side of the tables of dtypes and of quantization schemes. */
#include "record/dtype.h"

#include <stdio.h>

#include "lib/rec.h"
#include "record/quant.h"

const char *cairn_dtype_name(uint32_t dtype)
{
    const struct dtype *d = dtype_find(dtype);
    return d == NULL ? NULL : d->name;
}

uint32_t cairn_dtype_bits(uint32_t dtype)
{
    const struct dtype *d = dtype_find(dtype);
    return d == NULL ? 0 : d->bits;
}

int cairn_quant_lengths(const struct cairn_quant *q,
                        uint32_t rank,
                        const uint64_t *shape,
                        struct cairn_quant_bytes *ret)
{
    if (q == NULL || ret == NULL || (rank > 0 && shape == NULL) || rank > LIMIT_RANK) {
        return -CAIRN_EINVAL;
    }
    struct cairn_quant canonical = quant_canonical(q);
    int rc = quant_check(&canonical, rank, NULL);
    if (rc < 0) {
        return rc;
    }
    return quant_bytes(&canonical, rank, shape, ret) ? 0 : -CAIRN_EINVAL;
}

int cairn_quant_text(const struct cairn_quant *q, char *ret, size_t ret_bytes)
{
    char text[CAIRN_QUANT_TEXT_BYTES];
    if (q == NULL || ret == NULL || ret_bytes == 0) {
        return -CAIRN_EINVAL;
    }
    quant_text(q, text);
    (void)snprintf(ret, ret_bytes, "%s", text);
    return 0;
}
