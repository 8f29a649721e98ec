/* writer.c: what a component's put callback calls. */
#include <stdlib.h>

#include "internal/ckd.h"
#include "lib/capture.h"
#include "record/digest.h"
#include "record/dtype.h"
#include "record/quant.h"
#include "record/rules.h"

/* A put that failed fails the capture, also when the callback goes on. */
int writer_fail(struct cairn_writer *w, int rc, const struct entry *e)
{
    if (rc < 0) {
        (void)cl_about_entry(&w->cap->c->err, w->component, e);
        if (w->cap->rc == 0) {
            w->cap->rc = rc;
        }
    }
    return rc;
}

int writer_check_bool(
    const struct entry *e, struct span part, const void *data, int code, struct err *err)
{
    const uint8_t *at = data;
    if (e->kind != ENTRY_TENSOR || e->dtype != CAIRN_BOOL) {
        return 0;
    }
    uint64_t bad = dtype_bad_bool(at, part.bytes);
    if (bad < part.bytes) {
        return err_set(err,
                       code,
                       "element %llu of a bool tensor is %u, neither 0 nor 1",
                       (unsigned long long)part.offset_bytes + bad,
                       at[bad]);
    }
    return 0;
}

/* A dtype whose length is more than a matter of its shape. The scheme is checked before its lengths
 * are asked for. */
static int writer_rare_bytes(const struct cairn_entry *from,
                             struct quant *quant,
                             struct entry *ret,
                             struct err *err)
{
    uint64_t elements = 0;
    bool fits = dtype_elements(ret->rank, ret->shape, &elements);
    if (ret->dtype == CAIRN_OPAQUE && from->element_bits == 0) {
        ret->bytes = from->bytes;
        return 0;
    }
    if (ret->dtype == CAIRN_OPAQUE) {
        fits = fits && dtype_packed_bytes(elements, from->element_bits, &ret->bytes);
    } else if (ret->quant == NULL) {
        return err_set(err, -CAIRN_EINVAL, "a QFLOAT tensor needs its quantization scheme");
    } else {
        int rc = quant_check(&quant->scheme, ret->rank, err);
        if (rc < 0) {
            return rc;
        }
        fits = fits && quant_bytes(&quant->scheme, ret->rank, ret->shape, &quant->bytes);
        ret->bytes = fits ? quant_total(&quant->bytes) : 0;
    }
    return fits ? 0 : err_set(err, -CAIRN_EINVAL, "the bytes of its shape overflow");
}

static int writer_no_shape(const struct cairn_entry *from, struct err *err)
{
    if (from->rank > LIMIT_RANK) {
        return err_set(err, -CAIRN_EINVAL, "rank %u, expected at most %u", from->rank, LIMIT_RANK);
    }
    return err_set(
        err, -CAIRN_EINVAL, "rank %u and shape NULL, expected its dimensions", from->rank);
}

static int writer_bytes(const struct cairn_entry *from,
                        struct quant *quant,
                        struct entry *ret,
                        struct err *err)
{
    const struct dtype *dtype = dtype_find(from->dtype);
    bool shaped = from->rank <= LIMIT_RANK && (from->rank == 0 || from->shape != NULL);
    if (shaped && dtype != NULL && dtype->bits == 0) {
        return writer_rare_bytes(from, quant, ret, err);
    }
    if (dtype == NULL) {
        return err_set(
            err, -CAIRN_EINVAL, "unknown dtype %u, expected one of cairn/dtype.h", from->dtype);
    }
    if (!shaped) {
        return writer_no_shape(from, err);
    }
    if (!dtype_bytes(from->dtype, from->rank, from->shape, &ret->bytes)) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "the bytes of its shape (rank %u) x %s overflow, expected at most 2^64 - 1",
                       from->rank,
                       dtype->name);
    }
    return 0;
}

int writer_entry_of(const struct cairn_entry *from,
                    struct quant *quant,
                    struct entry *ret,
                    struct err *err)
{
    if (from == NULL || from->path == NULL) {
        return err_set(err, -CAIRN_EINVAL, "a tensor needs an entry with a path");
    }
    *ret = (struct entry){ .path = slice_str(from->path),
                           .id = (from->flags & CAIRN_HAS_ID) != 0 ? from->id : 0,
                           .flags = from->flags,
                           .kind = ENTRY_TENSOR,
                           .dtype = from->dtype,
                           .rank = from->rank,
                           .shape = from->rank == 0 ? NULL : from->shape,
                           .element_bits = from->element_bits };
    if (from->quant != NULL) {
        *quant = (struct quant){ .scheme = quant_canonical(from->quant) };
        ret->quant = quant;
    }
    return writer_bytes(from, quant, ret, err);
}

static int writer_keep(struct cairn_writer *w, struct entry *e)
{
    return rec_keep(w->cap->r, e)
               ? 0
               : err_set(&w->cap->c->err, -CAIRN_ENOMEM, "no memory for an entry");
}

static int writer_append(struct cairn_writer *w, const struct entry *e)
{
    struct cairn_reader *component = &w->cap->r->components[w->component];
    if (component->count >= LIMIT_ENTRIES) {
        return err_set(&w->cap->c->err, -CAIRN_ELIMIT, "more than %u entries", LIMIT_ENTRIES);
    }
    struct entry *at = rec_add_entry(component);
    if (at == NULL) {
        return err_set(&w->cap->c->err, -CAIRN_ENOMEM, "no memory for an entry");
    }
    *at = *e;
    return 0;
}

/* ---- tensors ---- */

/* Before its bytes are anywhere. */
static int writer_check_tensor(struct cairn_writer *w, struct entry *e)
{
    e->digest = digest_bytes("", 0); /* right for an empty one, replaced for the others */
    e->nonfinite = (struct nonfinite){ 0 };
    return rules_entry(w->component, e, &w->cap->c->err);
}

/* Into the region, or where the parameter is that it is tied to. */
static int writer_place(struct cairn_writer *w, struct entry *e, struct source *from)
{
    struct capture *cap = w->cap;
    const struct cairn_reader *component = &cap->r->components[w->component];
    const struct entry *first =
        w->component == COMPONENT_MODEL ? tied_find(&cap->tied, component, e) : NULL;
    return first == NULL ? pack_put(cap, e, from) : tied_put(cap, e, first, from);
}

int writer_tensor(struct cairn_writer *w, struct entry *e, struct source *from)
{
    int rc = writer_check_tensor(w, e);
    if (rc == 0) {
        rc = writer_keep(w, e);
    }
    if (rc == 0) {
        rc = writer_place(w, e, from);
    }
    if (rc == 0) {
        rc = writer_append(w, e);
    }
    if (rc == 0 && w->component == COMPONENT_MODEL) {
        rc = tied_add(&w->cap->tied, &w->cap->r->components[COMPONENT_MODEL], &w->cap->c->err);
    }
    return writer_fail(w, rc, e);
}

int cairn_put(struct cairn_writer *w, const struct cairn_entry *e, const void *data)
{
    struct entry entry = { 0 };
    if (w == NULL) {
        return -CAIRN_EINVAL;
    }
    struct err *err = &w->cap->c->err;
    struct quant quant;
    int rc = writer_entry_of(e, &quant, &entry, err);
    if (rc < 0) {
        return writer_fail(w, rc, &entry);
    }
    if (data == NULL && entry.bytes > 0) {
        rc = err_set(err,
                     -CAIRN_EINVAL,
                     "a tensor of %llu bytes needs data",
                     (unsigned long long)entry.bytes);
        return writer_fail(w, rc, &entry);
    }
    rc = writer_check_bool(&entry, span_of(&entry), data, -CAIRN_EINVAL, err);
    if (rc < 0) {
        return writer_fail(w, rc, &entry);
    }
    struct source_memory from = source_of(data);
    return writer_tensor(w, &entry, &from.source);
}

int cairn_put_slot(struct cairn_writer *w, const struct cairn_entry *e, struct cairn_slot *ret)
{
    struct entry entry = { 0 };
    struct slot slot = { 0 };
    if (w == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    struct quant quant;
    int rc = writer_entry_of(e, &quant, &entry, &w->cap->c->err);
    if (rc == 0) {
        rc = writer_check_tensor(w, &entry);
    }
    if (rc == 0) {
        rc = writer_keep(w, &entry);
    }
    if (rc == 0) {
        rc = slot_place(w->cap, w->component, &entry, &slot);
    }
    if (rc == 0) {
        rc = writer_append(w, &entry);
    }
    if (rc == 0) { /* last: what is handed out comes back, even when the capture fails */
        rc = slot_hand_out(w->cap, &slot, ret);
    }
    return writer_fail(w, rc, &entry);
}

/* ---- scalars ---- */

int writer_scalar(struct cairn_writer *w, const struct entry *scalar)
{
    struct entry e = *scalar;
    if (w == NULL) {
        return -CAIRN_EINVAL;
    }
    e.bytes = e.value.bytes;
    e.digest = digest_bytes(e.value.data == NULL ? "" : e.value.data, e.value.bytes);
    int rc = rules_entry(w->component, &e, &w->cap->c->err);
    if (rc == 0) {
        rc = writer_keep(w, &e);
    }
    if (rc == 0) {
        rc = writer_append(w, &e);
    }
    return writer_fail(w, rc, &e);
}

static int writer_plain(
    struct cairn_writer *w, const char *path, enum entry_kind kind, const void *v, size_t bytes)
{
    struct entry e = { .path = slice_str(path), .kind = kind, .value = slice_of(v, bytes) };
    if (w != NULL && (path == NULL || (v == NULL && bytes > 0))) {
        return writer_fail(
            w, err_set(&w->cap->c->err, -CAIRN_EINVAL, "a scalar needs a path and a value"), &e);
    }
    return writer_scalar(w, &e);
}

/* The host is little-endian (checked in handle.c): a number's bytes are its stored form. */
int cairn_put_u64(struct cairn_writer *w, const char *path, uint64_t v)
{
    return writer_plain(w, path, ENTRY_U64, &v, sizeof v);
}

int cairn_put_i64(struct cairn_writer *w, const char *path, int64_t v)
{
    return writer_plain(w, path, ENTRY_I64, &v, sizeof v);
}

int cairn_put_f64(struct cairn_writer *w, const char *path, double v)
{
    return writer_plain(w, path, ENTRY_F64, &v, sizeof v);
}

int cairn_put_f32(struct cairn_writer *w, const char *path, float v)
{
    return writer_plain(w, path, ENTRY_F32, &v, sizeof v);
}

int cairn_put_bool(struct cairn_writer *w, const char *path, bool v)
{
    uint8_t byte = v ? 1 : 0;
    return writer_plain(w, path, ENTRY_BOOL, &byte, sizeof byte);
}

int cairn_put_str(struct cairn_writer *w, const char *path, const char *v)
{
    if (v == NULL) {
        path = NULL; /* refused below, as any missing argument */
    }
    return writer_plain(w, path, ENTRY_STRING, v, slice_str(v).bytes);
}

int cairn_put_bytes(struct cairn_writer *w, const char *path, const void *v, size_t bytes)
{
    return writer_plain(w, path, ENTRY_BYTES, v, bytes);
}

int cairn_put_null(struct cairn_writer *w, const char *path)
{
    return writer_plain(w, path, ENTRY_NULL, NULL, 0);
}

int cairn_put_id_u64(struct cairn_writer *w, const char *path, uint64_t id, uint64_t v)
{
    struct entry e = { .path = slice_str(path),
                       .id = id,
                       .flags = ENTRY_HAS_ID,
                       .kind = ENTRY_U64,
                       .value = slice_of(&v, sizeof v) };
    if (w != NULL && path == NULL) {
        return writer_fail(w, err_set(&w->cap->c->err, -CAIRN_EINVAL, "a scalar needs a path"), &e);
    }
    return writer_scalar(w, &e);
}
