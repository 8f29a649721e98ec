/* rules_companion.c: entries of the small components that some kinds carry beside the five. */
#include <string.h>

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

/* CONTRACT: what each parameter is, by id, and two scalars beside them. */
static int rules_contract(const struct entry *e, struct err *err)
{
    uint8_t rank[4] = { 0 };
    if ((e->flags & ENTRY_HAS_ID) == 0) {
        bool version = slice_cmp(e->path, slice_str("version")) == 0 && e->kind == ENTRY_U64;
        bool base =
            slice_cmp(e->path, slice_str("base")) == 0 && e->kind == ENTRY_BYTES && e->bytes == 16;
        return version || base ? 0
                               : err_set(err,
                                         -CAIRN_EINVAL,
                                         "a contract holds version (u64), base (16 bytes) and "
                                         "entries with an id");
    }
    bool long_enough = e->kind == ENTRY_BYTES && e->bytes >= 8;
    if (long_enough) {
        memcpy(rank, (const uint8_t *)e->value.data + 4, sizeof rank);
    }
    uint64_t dimensions = rank[0]; /* of 32 at most, so the other bytes are 0 */
    if (slice_cmp(e->path, slice_str("param")) != 0 || !long_enough || rank[1] != 0 ||
        rank[2] != 0 || rank[3] != 0 || dimensions > LIMIT_RANK || e->bytes != 8 + 8 * dimensions) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "parameter %llu of a contract is dtype and rank (4 bytes each) and "
                       "its dimensions (8 bytes each), named param",
                       (unsigned long long)e->id);
    }
    return 0;
}

int rules_companion(enum component component, const struct entry *e, struct err *err)
{
    switch (component) {
    case COMPONENT_DTYPES:
        return rules_dtypes(e, err);
    case COMPONENT_WINDOW:
        return rules_window(e, err);
    case COMPONENT_CONTRACT:
        return rules_contract(e, err);
    case COMPONENT_NONE:
    case COMPONENT_MODEL:
    case COMPONENT_OPTIMIZER:
    case COMPONENT_SCHEDULER:
    case COMPONENT_GRADIENTS:
    case COMPONENT_STATE:
    case COMPONENT_NR:
    default:
        return 0;
    }
}
