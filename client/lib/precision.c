/* precision.c: the tensors of a captured record in another element type, in the order in which they
 * were put, each converted on its way into a region of its own. Everything else is carried over as
 * it is: scalars, bool, complex, quantized and opaque tensors, codebooks, scales and zero points
 * beside these, the companions. */
#include "lib/precision.h"

#include <stdlib.h>

#include "internal/container.h"
#include "lib/capture.h"
#include "lib/convert.h"
#include "record/dtype.h"
#include "record/quant.h"

/* ---- one tensor ---- */

struct precision_source {
    struct source source;
    uint32_t from, to;
    uint32_t from_bits, to_bits;
    const uint8_t *at;
    struct convert_count count;
};

static void precision_take(struct source *s, void *dst, size_t bytes)
{
    struct precision_source *p = CONTAINER_OF(s, struct precision_source, source);
    uint64_t elements = (uint64_t)bytes * 8 / p->to_bits;
    convert_values(p->from, p->at, p->to, dst, elements, &p->count);
    p->at += (elements * p->from_bits + 7) / 8;
}

/* ---- one component ---- */

struct precision_walk {
    const struct cairn_reader *from;
    const struct cairn_record *record;
    enum precision precision;
    bool lossy_ok;
    bool exact; /* so far */
};

static const uint8_t *precision_data(const struct precision_walk *walk, const struct entry *e)
{
    if (e->value.bytes > 0 || e->bytes == 0) {
        return e->value.data;
    }
    const struct layout_chunk *chunk = layout_chunk_at(walk->record->layout, e->first_chunk);
    return walk->record->region->base + chunk->region_offset + e->offset_bytes;
}

static int precision_judge(struct precision_walk *walk,
                           struct cairn_writer *w,
                           const struct entry *e,
                           const struct precision_source *p)
{
    struct err *err = &w->cap->c->err;
    const struct convert_count *n = &p->count;
    if (n->out_of_range > 0) {
        (void)err_set(err,
                      -CAIRN_ERANGE,
                      "'%.*s': %llu of %llu integers do not fit %s, the first at %llu: save with "
                      "native precision",
                      cl_shown(e->path),
                      (const char *)e->path.data,
                      (unsigned long long)n->out_of_range,
                      (unsigned long long)n->done,
                      dtype_name(p->to),
                      (unsigned long long)n->first_out_of_range);
        return writer_fail(w, -CAIRN_ERANGE, e);
    }
    if (n->changed > 0 && !walk->lossy_ok) {
        (void)err_set(err,
                      -CAIRN_EPRECISION,
                      "'%.*s': %llu of %llu values would change from %s to %s, the first at %llu: "
                      "save with native precision, or allow lossy",
                      cl_shown(e->path),
                      (const char *)e->path.data,
                      (unsigned long long)n->changed,
                      (unsigned long long)n->done,
                      dtype_name(p->from),
                      dtype_name(p->to),
                      (unsigned long long)n->first_changed);
        return writer_fail(w, -CAIRN_EPRECISION, e);
    }
    walk->exact = walk->exact && n->changed == 0;
    return 0;
}

static int
precision_convert(struct precision_walk *walk, struct cairn_writer *w, const struct entry *e)
{
    struct entry as = *e;
    as.dtype = precision_dtype(walk->precision, e->dtype);
    as.storage_dtype = e->dtype;
    as.value = slice_of(NULL, 0);
    struct precision_source p = { .source = { precision_take },
                                  .from = e->dtype,
                                  .to = as.dtype,
                                  .from_bits = dtype_find(e->dtype)->bits,
                                  .to_bits = dtype_find(as.dtype)->bits,
                                  .at = precision_data(walk, e) };
    if (!dtype_bytes(as.dtype, as.rank, as.shape, &as.bytes)) {
        return writer_fail(
            w, err_set(&w->cap->c->err, -CAIRN_ELIMIT, "a tensor grows beyond 2^64 bytes"), e);
    }
    int rc = writer_tensor(w, &as, &p.source);
    return rc < 0 ? rc : precision_judge(walk, w, e, &p);
}

static int
precision_entry(struct precision_walk *walk, struct cairn_writer *w, const struct entry *e)
{
    struct entry as = *e;
    if (e->kind != ENTRY_TENSOR) {
        return writer_scalar(w, &as);
    }
    if (precision_dtype(walk->precision, e->dtype) != e->dtype && !quant_is_sibling(e->path)) {
        return precision_convert(walk, w, e);
    }
    struct source_memory from = source_of(precision_data(walk, e));
    as.value = slice_of(NULL, 0);
    return writer_tensor(w, &as, &from.source);
}

/* Entries are sorted by key; restores read fast in put order, so they are put as they were. */
static int precision_cmp(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a;
    const struct entry *y = *(const struct entry *const *)b;
    if (x->first_chunk != y->first_chunk) {
        return x->first_chunk < y->first_chunk ? -1 : 1;
    }
    return (x->offset_bytes > y->offset_bytes) - (x->offset_bytes < y->offset_bytes);
}

static int precision_put(void *self, struct cairn_writer *w)
{
    struct precision_walk *walk = self;
    uint64_t count = walk->from->count;
    const struct entry **order = calloc(count + 1, sizeof(struct entry *));
    int rc = 0;
    if (order == NULL) {
        return err_set(&w->cap->c->err, -CAIRN_ENOMEM, "no memory to convert a record");
    }
    for (uint64_t i = 0; i < count; i++) {
        order[i] = &walk->from->entries[i];
    }
    qsort(order, count, sizeof(struct entry *), precision_cmp);
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        rc = precision_entry(walk, w, order[i]);
    }
    free(order);
    return rc;
}

/* ---- the record ---- */

/* As they were captured. */
static const enum component precision_order[] = {
    COMPONENT_DTYPES,    COMPONENT_GRADIENTS, COMPONENT_MODEL,  COMPONENT_OPTIMIZER,
    COMPONENT_SCHEDULER, COMPONENT_STATE,     COMPONENT_WINDOW, COMPONENT_CONTRACT,
};

static int precision_fill(struct capture *cap, struct precision_walk *walk)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof precision_order / sizeof precision_order[0]; i++) {
        enum component component = precision_order[i];
        walk->from = &walk->record->components[component];
        if (walk->from->present) {
            const struct component_info *info = rec_info(walk->record, component);
            struct component_put put = { .type = walk->from->type,
                                         .config = info->has_config ? info->config.byte : NULL,
                                         .put = precision_put,
                                         .self = walk };
            rc = capture_component(cap, component, &put);
        }
    }
    return rc;
}

static int precision_build(struct cairn *c, struct cairn_record *r, struct precision_walk *walk)
{
    struct capture cap;
    int rc = capture_new(c, &cap);
    if (rc < 0) {
        return rc;
    }
    rc = precision_fill(&cap, walk);
    if (rc < 0) {
        capture_abort(&cap);
        return rc;
    }
    rc = capture_end(&cap, r->boundary.kind, &r->converted);
    if (rc == 0) {
        r->converted->boundary.precision = walk->precision;
        r->converted->boundary.exact = walk->exact;
    }
    return rc;
}

/* What the caller said of the boundary, from the record that stays his. */
static void precision_label(const struct cairn_record *r)
{
    struct boundary *b = &r->converted->boundary;
    b->step = r->boundary.step;
    b->labels = r->boundary.labels;
    b->label_count = r->boundary.label_count;
    memcpy(b->save_id, r->boundary.save_id, sizeof b->save_id);
}

int precision_apply(struct cairn *c,
                    struct cairn_record *r,
                    const struct cairn_save_args *a,
                    struct cairn_record **ret)
{
    struct precision_walk walk = { .record = r,
                                   .precision = (enum precision)a->precision,
                                   .lossy_ok = a->lossy_ok,
                                   .exact = true };
    if (a->precision > PRECISION_DOUBLE) {
        return err_set(&c->err, -CAIRN_EINVAL, "no precision %u", a->precision);
    }
    bool kept = r->converted != NULL && r->converted->boundary.precision == walk.precision &&
                (a->lossy_ok || r->converted->boundary.exact);
    if (!kept) {
        r->converted = cairn_record_free(r->converted);
    }
    if (a->precision == PRECISION_NATIVE) {
        *ret = r;
        return 0;
    }
    int rc = kept ? 0 : precision_build(c, r, &walk);
    if (rc < 0) {
        return err_wrap(&c->err, rc, "%s precision", precision_name(a->precision));
    }
    precision_label(r);
    *ret = r->converted;
    return 0;
}
