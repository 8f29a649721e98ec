/* rules_entry.c: one entry by itself, and the order of entries. */
#include <cairn/record.h>

#include "record/digest.h"
#include "record/dtype.h"
#include "record/finite.h"
#include "record/rules.h"
#include "record/rules_int.h"

static bool rules_keyed_by_id(enum component component)
{
    return component == COMPONENT_OPTIMIZER || component == COMPONENT_GRADIENTS ||
           component == COMPONENT_DTYPES || component == COMPONENT_CONTRACT;
}

int entry_cmp(enum component component, const struct entry *a, const struct entry *b)
{
    if (rules_keyed_by_id(component)) {
        bool a_has = (a->flags & ENTRY_HAS_ID) != 0;
        bool b_has = (b->flags & ENTRY_HAS_ID) != 0;
        if (a_has != b_has) {
            return a_has ? 1 : -1;
        }
        if (a_has && a->id != b->id) {
            return a->id > b->id ? 1 : -1;
        }
    }
    return slice_cmp(a->path, b->path);
}

int rules_gradients(enum component component,
                    const struct entry *before,
                    const struct entry *e,
                    struct err *err)
{
    bool one = (e->flags & before->flags & ENTRY_HAS_ID) != 0 && e->id == before->id;
    if (component != COMPONENT_GRADIENTS || !one || e->kind != ENTRY_TENSOR ||
        before->kind != ENTRY_TENSOR) {
        return 0;
    }
    (void)err_set(err,
                  -CAIRN_EEXIST,
                  "gradients: parameter %llu has two gradients",
                  (unsigned long long)e->id);
    return err_at(err, component, e->path.data, e->path.bytes);
}

static int rules_key(const struct entry *e, struct err *err)
{
    if (e->path.bytes == 0 || e->path.bytes > LIMIT_PATH_BYTES) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "path of %zu bytes, expected 1 to %u",
                       e->path.bytes,
                       LIMIT_PATH_BYTES);
    }
    if (!utf8_ok(e->path)) {
        return err_set(err, -CAIRN_EINVAL, "the path is not UTF-8 without NUL");
    }
    if ((e->flags & ~(uint32_t)ENTRY_FLAGS_KNOWN) != 0) {
        return err_set(err, -CAIRN_EINVAL, "unknown flags %#x", e->flags);
    }
    if ((e->flags & ENTRY_HAS_ID) == 0 && e->id != 0) {
        return err_set(err, -CAIRN_EINVAL, "an id without the flag that says so");
    }
    return 0;
}

static int rules_scalar(const struct entry *e, struct err *err)
{
    static const uint64_t fixed[ENTRY_KIND_NR] = {
        [ENTRY_I64] = 8, [ENTRY_U64] = 8, [ENTRY_F64] = 8, [ENTRY_F32] = 4, [ENTRY_BOOL] = 1,
    };
    if (e->dtype != 0 || e->rank != 0) {
        return err_set(err, -CAIRN_EINVAL, "a scalar has no dtype and no shape");
    }
    if (e->storage_dtype != 0 || e->element_bits != 0 || e->quant != NULL ||
        nonfinite_any(&e->nonfinite)) {
        return err_set(err, -CAIRN_EINVAL, "a scalar with what only tensors have");
    }
    if (e->value.bytes != e->bytes) {
        return err_set(err, -CAIRN_EINVAL, "a scalar's value is in its entry");
    }
    if (e->kind != ENTRY_STRING && e->kind != ENTRY_BYTES) {
        return rules_length(e, fixed[e->kind], err);
    }
    if (e->bytes > LIMIT_SCALAR_BYTES) {
        return err_set(err,
                       -CAIRN_ELIMIT,
                       "a %s of %llu bytes, at most %u",
                       entry_kind_name(e->kind),
                       (unsigned long long)e->bytes,
                       LIMIT_SCALAR_BYTES);
    }
    if (e->kind == ENTRY_STRING && !utf8_ok(e->value)) {
        return err_set(err, -CAIRN_EINVAL, "a string that is not UTF-8 without NUL");
    }
    return 0;
}

/* A bool is a byte that is 0 or 1; other values would come back as something that is not a bool. */
static bool rules_bools_ok(const struct entry *e)
{
    bool checked = e->kind == ENTRY_BOOL || (e->kind == ENTRY_TENSOR && e->dtype == CAIRN_BOOL);
    return !checked || dtype_bad_bool(e->value.data, e->value.bytes) == e->value.bytes;
}

static int rules_value(const struct entry *e, struct err *err)
{
    if (e->value.bytes != 0 && e->value.bytes != e->bytes) {
        return err_set(err, -CAIRN_EINVAL, "the value is not as long as the entry says");
    }
    if (e->value.bytes != e->bytes) {
        return 0; /* in chunks: rules_place */
    }
    if (e->bytes > LIMIT_INLINE_COMPONENT_BYTES) {
        return err_set(err,
                       -CAIRN_ELIMIT,
                       "%llu bytes inside an entry, at most %u",
                       (unsigned long long)e->bytes,
                       LIMIT_INLINE_COMPONENT_BYTES);
    }
    if (e->first_chunk != 0 || e->offset_bytes != 0) {
        return err_set(err, -CAIRN_EINVAL, "a chunk, although the value is in the entry");
    }
    if (!rules_bools_ok(e)) {
        return err_set(err, -CAIRN_EINVAL, "a bool that is neither 0 nor 1");
    }
    struct digest digest = digest_bytes(e->value.data, e->value.bytes);
    if (!digest_equal(&digest, &e->digest)) {
        return err_set(err, -CAIRN_ECORRUPT, "the digest is not that of the value");
    }
    return 0;
}

int rules_entry(enum component component, const struct entry *e, struct err *err)
{
    int rc = rules_key(e, err);
    if (rc == 0 && (e->kind < ENTRY_TENSOR || e->kind >= ENTRY_KIND_NR)) {
        rc = err_set(err, -CAIRN_EINVAL, "unknown kind %u", (unsigned)e->kind);
    }
    if (rc == 0) {
        rc = e->kind == ENTRY_TENSOR ? rules_tensor(e, err) : rules_scalar(e, err);
    }
    rc = rc < 0 ? rc : rules_value(e, err);
    rc = rc < 0 ? rc : rules_companion(component, e, err);
    if (rc < 0) {
        (void)err_at(err, component, e->path.data, e->path.bytes);
    }
    return rc;
}
