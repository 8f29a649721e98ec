/* rules_companion.c: entries of the small components that a kind brings with it. */
#include "record/dtype.h"
#include "record/rules_int.h"

static uint64_t rules_u64_of(const struct entry *e)
{
    const uint8_t *byte = e->value.data;
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) {
        value = value << 8 | byte[i];
    }
    return value;
}

/* DTYPES: one storage dtype per floating parameter. */
static int rules_dtypes(const struct entry *e, struct err *err)
{
    bool path_ok = slice_cmp(e->path, slice_str("trainable")) == 0 ||
                   slice_cmp(e->path, slice_str("frozen")) == 0;
    if (e->kind != ENTRY_U64 || (e->flags & ENTRY_HAS_ID) == 0 || !path_ok) {
        return err_set(err,
                       -CAIRN_EDTYPES,
                       "a dtype record holds u64 entries with an id, named trainable or frozen");
    }
    uint64_t code = rules_u64_of(e);
    const struct dtype *d = code > UINT32_MAX ? NULL : dtype_find((uint32_t)code);
    if (d == NULL || (d->category != DTYPE_FLOAT && d->category != DTYPE_QUANT)) {
        return err_set(err,
                       -CAIRN_EDTYPES,
                       "parameter %llu: %llu is no floating dtype",
                       (unsigned long long)e->id,
                       (unsigned long long)code);
    }
    return 0;
}

/* WINDOW: four scalars, by name. What their values may be is the library's business. */
static int rules_window(const struct entry *e, struct err *err)
{
    static const struct {
        const char *path;
        enum entry_kind kind;
    } fields[] = {
        { "dtype", ENTRY_U64 },
        { "loss_scale", ENTRY_F64 },
        { "microbatches", ENTRY_U64 },
        { "total_weight", ENTRY_F64 },
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (slice_cmp(e->path, slice_str(fields[i].path)) == 0 && e->kind == fields[i].kind) {
            return 0;
        }
    }
    return err_set(err,
                   -CAIRN_EWINDOW,
                   "a window holds dtype (u64), loss_scale (f64), microbatches (u64) and "
                   "total_weight (f64)");
}

int rules_companion(enum component component, const struct entry *e, struct err *err)
{
    if (component == COMPONENT_DTYPES) {
        return rules_dtypes(e, err);
    }
    return component == COMPONENT_WINDOW ? rules_window(e, err) : 0;
}
