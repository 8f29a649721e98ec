#include "lib/describe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "record/dtype.h"
#include "record/quant.h"

void describe_add(struct describe *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int more = vsnprintf(d->text + d->bytes, sizeof d->text - d->bytes, format, args);
    va_end(args);
    d->bytes += more > 0 ? (size_t)more : 0;
    d->bytes = d->bytes < sizeof d->text ? d->bytes : sizeof d->text - 1;
}

void describe_type(struct describe *d, uint32_t dtype, uint32_t rank, const uint64_t *shape)
{
    describe_add(d, "%s [", dtype_name(dtype));
    for (uint32_t i = 0; i < rank; i++) {
        describe_add(d, i == 0 ? "%" PRIu64 : ", %" PRIu64, shape[i]);
    }
    describe_add(d, "]");
}

/* How it is quantized, or how long it is: what its dtype and shape do not say. */
static void describe_rare(struct describe *d, const struct entry *e)
{
    char scheme[CAIRN_QUANT_TEXT_BYTES];
    if (e->quant != NULL) {
        quant_text(&e->quant->scheme, scheme);
        describe_add(d, " as %s", scheme);
    } else if (e->element_bits != 0) {
        describe_add(d, " of %" PRIu32 " bits each", e->element_bits);
    } else {
        describe_add(d, " of %" PRIu64 " bytes", e->bytes);
    }
}

void describe_entry(struct describe *d, const struct entry *e)
{
    const struct dtype *dtype = dtype_find(e->dtype);
    if (e->kind != ENTRY_TENSOR) {
        describe_add(d, "%s", entry_kind_name(e->kind));
        return;
    }
    describe_type(d, e->dtype, e->rank, e->shape);
    if (dtype == NULL || dtype->bits == 0) {
        describe_rare(d, e);
    }
    if ((e->flags & ENTRY_HAS_ID) != 0) {
        describe_add(d, " id %" PRIu64, e->id);
    }
    if ((e->flags & ENTRY_TRAINABLE) != 0) {
        describe_add(d, " trainable");
    }
}
