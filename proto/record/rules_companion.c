/* rules_companion.c: entries of the small components that some kinds carry beside the five. */
#include <string.h>

#include "record/dtype.h"
#include "record/rules.h"
#include "record/rules_int.h"

/* What WINDOW and CONTRACT hold by name. */
static const struct rules_field {
    enum component component;
    const char *path;
    enum entry_kind kind;
    bool needed;
} rules_fields[] = {
    { COMPONENT_WINDOW, "dtype", ENTRY_U64, true },
    { COMPONENT_WINDOW, "loss_scale", ENTRY_F64, true },
    { COMPONENT_WINDOW, "microbatches", ENTRY_U64, true },
    { COMPONENT_WINDOW, "total_weight", ENTRY_F64, true },
    { COMPONENT_CONTRACT, "version", ENTRY_U64, true },
    { COMPONENT_CONTRACT, "base", ENTRY_BYTES, false },
};
#define RULES_FIELD_COUNT (sizeof rules_fields / sizeof rules_fields[0])

static const struct rules_field *rules_field_of(enum component component, const struct entry *e)
{
    for (size_t i = 0; i < RULES_FIELD_COUNT; i++) {
        const struct rules_field *f = &rules_fields[i];
        if (f->component == component && f->kind == e->kind &&
            slice_cmp(e->path, slice_str(f->path)) == 0) {
            return f;
        }
    }
    return NULL;
}

static uint64_t rules_number_of(const struct entry *e, unsigned bytes)
{
    const uint8_t *byte = e->value.data;
    uint64_t value = 0;
    for (unsigned i = bytes; i > 0; i--) {
        value = value << 8 | byte[i - 1];
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
    uint64_t code = rules_number_of(e, sizeof code);
    if (!dtype_param_ok(code)) {
        return err_set(err,
                       -CAIRN_EDTYPES,
                       "parameter %llu: %s (code %llu) is no dtype of a parameter "
                       "(" DTYPE_PARAM_NAMES ")",
                       (unsigned long long)e->id,
                       dtype_name(code > UINT32_MAX ? 0 : (uint32_t)code),
                       (unsigned long long)code);
    }
    return 0;
}

/* WINDOW: four scalars, by name. What the values of three of them may be is the library's business.
 */
static int rules_window(const struct entry *e, struct err *err)
{
    const struct rules_field *f = rules_field_of(COMPONENT_WINDOW, e);
    if (f == NULL) {
        return err_set(err,
                       -CAIRN_EWINDOW,
                       "a window holds dtype (u64), loss_scale (f64), microbatches (u64) and "
                       "total_weight (f64)");
    }
    uint64_t value = rules_number_of(e, sizeof value);
    if (strcmp(f->path, "dtype") == 0 && !dtype_window_ok(value)) {
        return err_set(err,
                       -CAIRN_EWINDOW,
                       "a window sums in F32 or F64, not in dtype %llu",
                       (unsigned long long)value);
    }
    return 0;
}

/* CONTRACT: what stands beside the parameters. */
static int rules_contract_field(const struct entry *e, struct err *err)
{
    if (rules_field_of(COMPONENT_CONTRACT, e) == NULL ||
        (e->kind == ENTRY_BYTES && e->bytes != 16)) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "a contract holds version (u64), base (16 bytes) and entries with an id");
    }
    return 0;
}

/* CONTRACT: what each parameter is, by id. */
static int rules_contract(const struct entry *e, struct err *err)
{
    uint64_t dtype_and_rank = 0;
    if ((e->flags & ENTRY_HAS_ID) == 0) {
        return rules_contract_field(e, err);
    }
    bool long_enough = e->kind == ENTRY_BYTES && e->bytes >= sizeof dtype_and_rank;
    if (long_enough) {
        dtype_and_rank = rules_number_of(e, sizeof dtype_and_rank);
    }
    uint64_t rank = dtype_and_rank >> 32;
    if (slice_cmp(e->path, slice_str("param")) != 0 || !long_enough || rank > LIMIT_RANK ||
        e->bytes != 8 + 8 * rank) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "parameter %llu of a contract is dtype and rank (4 bytes each) and "
                       "its dimensions (8 bytes each), named param",
                       (unsigned long long)e->id);
    }
    uint32_t dtype = (uint32_t)dtype_and_rank;
    if (!dtype_param_ok(dtype)) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "parameter %llu of a contract: %s (code %u) is no dtype of a parameter "
                       "(" DTYPE_PARAM_NAMES ")",
                       (unsigned long long)e->id,
                       dtype_name(dtype),
                       dtype);
    }
    return 0;
}

uint32_t rules_fields_of(enum component component, const struct entry *e)
{
    const struct rules_field *f =
        (e->flags & ENTRY_HAS_ID) != 0 ? NULL : rules_field_of(component, e);
    return f == NULL ? 0 : 1u << (f - rules_fields);
}

int rules_whole(enum component component, uint32_t fields, struct err *err)
{
    for (size_t i = 0; i < RULES_FIELD_COUNT; i++) {
        const struct rules_field *f = &rules_fields[i];
        if (f->component == component && f->needed && (fields >> i & 1u) == 0) {
            (void)err_set(err,
                          component == COMPONENT_WINDOW ? -CAIRN_EWINDOW : -CAIRN_EINVAL,
                          "%s: its %s (%s) is missing",
                          component_name(component),
                          f->path,
                          entry_kind_name(f->kind));
            return err_at(err, component, f->path, strlen(f->path));
        }
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
