/* reader.c: what a component's fit and get callbacks call. Looking never talks to the daemon;
 * reading payload does (stream.c). */
#include "lib/reader.h"

#include "lib/capture.h"
#include "lib/describe.h"
#include "record/digest.h"
#include "record/dtype.h"
#include "record/quant.h"

static struct err *reader_err(const struct cairn_reader *r)
{
    return cl_err(r->record->c);
}

static int reader_missing(const struct cairn_reader *r, const struct entry *key)
{
    struct err *err = reader_err(r);
    (void)err_set(err,
                  -CAIRN_ENOENT,
                  "%s: no entry '%.*s' (id %llu) in the record",
                  component_name(r->component),
                  cl_shown(key->path),
                  (const char *)key->path.data,
                  (unsigned long long)key->id);
    (void)err_at(err, r->component, key->path.data, key->path.bytes);
    return -CAIRN_ENOENT;
}

/* ---- tensors ---- */

/* Nothing is ever requantized: another scheme is another tensor. */
static bool reader_fits_rare(const struct entry *recorded, const struct entry *wanted)
{
    if (recorded->element_bits != wanted->element_bits ||
        (recorded->quant == NULL) != (wanted->quant == NULL)) {
        return false;
    }
    return recorded->quant == NULL || quant_equal(&recorded->quant->scheme, &wanted->quant->scheme);
}

static bool reader_fits(const struct entry *recorded, const struct entry *wanted)
{
    return recorded->kind == wanted->kind && recorded->dtype == wanted->dtype &&
           recorded->bytes == wanted->bytes && recorded->flags == wanted->flags &&
           recorded->id == wanted->id && reader_fits_rare(recorded, wanted) &&
           shape_same(recorded->rank, recorded->shape, wanted->rank, wanted->shape);
}

static int reader_mismatch(const struct cairn_reader *r,
                           const struct entry *recorded,
                           const struct entry *wanted)
{
    struct err *err = reader_err(r);
    struct describe is = { .bytes = 0 };
    struct describe want = { .bytes = 0 };
    describe_entry(&is, recorded);
    describe_entry(&want, wanted);
    (void)err_set(err,
                  -CAIRN_EMISMATCH,
                  "%s '%.*s': recorded %s, wanted %s",
                  component_name(r->component),
                  cl_shown(recorded->path),
                  (const char *)recorded->path.data,
                  is.text,
                  want.text);
    (void)err_at(err, r->component, recorded->path.data, recorded->path.bytes);
    return -CAIRN_EMISMATCH;
}

/* Bytes with the right digest that are no bools are there when another client wrote them: the
 * daemon does not look into chunks. */
static int reader_check_bool(const struct cairn_reader *r,
                             const struct entry *e,
                             struct span part,
                             const void *dst)
{
    struct err *err = reader_err(r);
    int rc = writer_check_bool(e, part, dst, -CAIRN_ECORRUPT, err);
    return rc < 0 ? cl_about_entry(err, r->component, e) : 0;
}

int reader_copy(const struct cairn_reader *r, const struct entry *e, struct span part, void *dst)
{
    struct cairn_record *record = r->record;
    if (part.bytes == 0) {
        return 0;
    }
    if (e->value.bytes > 0) { /* verified when it was loaded */
        memcpy(dst, (const uint8_t *)e->value.data + part.offset_bytes, part.bytes);
        return 0;
    }
    if (record->c == NULL) {
        return -CAIRN_ECONN; /* its handle was closed */
    }
    int rc = cl_enter_daemon(record->c, 0);
    rc = rc < 0 ? rc : stream_read(record->c, record, e, part, dst);
    return rc < 0 ? rc : reader_check_bool(r, e, part, dst);
}

int reader_look(const struct cairn_reader *r,
                const struct cairn_entry *want,
                const struct entry **ret)
{
    struct entry wanted;
    struct quant quant;
    if (r == NULL || want == NULL) {
        return -CAIRN_EINVAL;
    }
    int rc = writer_entry_of(want, &quant, &wanted, reader_err(r));
    if (rc < 0) {
        return rc;
    }
    const struct entry *e = rec_find(r, &wanted);
    if (e == NULL) {
        return reader_missing(r, &wanted);
    }
    *ret = e;
    return reader_fits(e, &wanted) ? 0 : reader_mismatch(r, e, &wanted);
}

int cairn_get(const struct cairn_reader *r, const struct cairn_entry *want, void *dst)
{
    const struct entry *e = NULL;
    int rc = reader_look(r, want, &e);
    return rc < 0 || dst == NULL ? rc : reader_copy(r, e, span_of(e), dst);
}

void reader_show(const struct entry *e, struct cairn_entry *ret)
{
    *ret = (struct cairn_entry){ .path = e->path.data,
                                 .id = e->id,
                                 .flags = e->flags,
                                 .dtype = e->dtype,
                                 .rank = e->rank,
                                 .kind = e->kind,
                                 .shape = e->shape,
                                 .bytes = e->bytes,
                                 .quant = e->quant == NULL ? NULL : &e->quant->scheme,
                                 .element_bits = e->element_bits,
                                 .storage_dtype = e->storage_dtype,
                                 .nan_count = e->nonfinite.nan,
                                 .inf_count = e->nonfinite.inf };
}

int cairn_entry_at(const struct cairn_reader *r, uint64_t index, struct cairn_entry *ret)
{
    if (r == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    if (index >= r->count) {
        return -CAIRN_ENOENT;
    }
    reader_show(&r->entries[index], ret);
    return 0;
}

/* ---- scalars ---- */

static int reader_scalar(const struct cairn_reader *r, const struct entry *key, struct slice *ret)
{
    if (r == NULL || key->path.data == NULL) {
        return -CAIRN_EINVAL;
    }
    const struct entry *e = rec_find(r, key);
    if (e == NULL) {
        return reader_missing(r, key);
    }
    if (e->kind != key->kind) {
        return reader_mismatch(r, e, key);
    }
    *ret = e->value;
    return 0;
}

static int
reader_number(const struct cairn_reader *r, const char *path, enum entry_kind kind, void *ret)
{
    struct entry key = { .path = slice_str(path), .kind = kind };
    struct slice value = { 0 };
    if (ret == NULL) {
        return -CAIRN_EINVAL;
    }
    int rc = reader_scalar(r, &key, &value);
    if (rc == 0) {
        memcpy(ret, value.data, value.bytes); /* its length was checked against its kind */
    }
    return rc;
}

int cairn_get_u64(const struct cairn_reader *r, const char *path, uint64_t *ret)
{
    return reader_number(r, path, ENTRY_U64, ret);
}

int cairn_get_i64(const struct cairn_reader *r, const char *path, int64_t *ret)
{
    return reader_number(r, path, ENTRY_I64, ret);
}

int cairn_get_f64(const struct cairn_reader *r, const char *path, double *ret)
{
    return reader_number(r, path, ENTRY_F64, ret);
}

int cairn_get_f32(const struct cairn_reader *r, const char *path, float *ret)
{
    return reader_number(r, path, ENTRY_F32, ret);
}

int cairn_get_bool(const struct cairn_reader *r, const char *path, bool *ret)
{
    uint8_t byte = 0;
    int rc = reader_number(r, path, ENTRY_BOOL, ret == NULL ? NULL : &byte);
    if (rc == 0) {
        *ret = byte != 0;
    }
    return rc;
}

int cairn_get_str(const struct cairn_reader *r, const char *path, const char **ret)
{
    struct entry key = { .path = slice_str(path), .kind = ENTRY_STRING };
    struct slice value = { 0 };
    if (ret == NULL) {
        return -CAIRN_EINVAL;
    }
    int rc = reader_scalar(r, &key, &value);
    if (rc == 0) {
        *ret = value.bytes == 0 ? "" : value.data;
    }
    return rc;
}

int cairn_get_bytes(const struct cairn_reader *r,
                    const char *path,
                    const void **ret,
                    size_t *ret_bytes)
{
    struct entry key = { .path = slice_str(path), .kind = ENTRY_BYTES };
    struct slice value = { 0 };
    if (ret == NULL || ret_bytes == NULL) {
        return -CAIRN_EINVAL;
    }
    int rc = reader_scalar(r, &key, &value);
    if (rc == 0) {
        *ret = value.bytes == 0 ? "" : value.data;
        *ret_bytes = value.bytes;
    }
    return rc;
}

int cairn_get_id_u64(const struct cairn_reader *r, const char *path, uint64_t id, uint64_t *ret)
{
    struct entry key = {
        .path = slice_str(path), .id = id, .flags = ENTRY_HAS_ID, .kind = ENTRY_U64
    };
    struct slice value = { 0 };
    if (ret == NULL) {
        return -CAIRN_EINVAL;
    }
    int rc = reader_scalar(r, &key, &value);
    if (rc == 0) {
        memcpy(ret, value.data, sizeof *ret);
    }
    return rc;
}
