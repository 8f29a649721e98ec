#include "record/record.h"

static const char *record_name(const char *const *names, size_t count, uint32_t number)
{
    return number < count && names[number] != NULL ? names[number] : "?";
}

#define RECORD_COUNT(names) (sizeof(names) / sizeof(names)[0])

const char *component_name(uint32_t component)
{
    static const char *const names[COMPONENT_NR] = {
        [COMPONENT_MODEL] = "model",         [COMPONENT_OPTIMIZER] = "optimizer",
        [COMPONENT_SCHEDULER] = "scheduler", [COMPONENT_GRADIENTS] = "gradients",
        [COMPONENT_STATE] = "state",         [COMPONENT_DTYPES] = "dtypes",
        [COMPONENT_WINDOW] = "window",       [COMPONENT_CONTRACT] = "contract",
    };
    return record_name(names, RECORD_COUNT(names), component);
}

const char *entry_kind_name(uint32_t kind)
{
    static const char *const names[ENTRY_KIND_NR] = {
        [ENTRY_TENSOR] = "tensor", [ENTRY_I64] = "i64",     [ENTRY_U64] = "u64",
        [ENTRY_F64] = "f64",       [ENTRY_F32] = "f32",     [ENTRY_BOOL] = "bool",
        [ENTRY_STRING] = "string", [ENTRY_BYTES] = "bytes", [ENTRY_NULL] = "null",
    };
    return record_name(names, RECORD_COUNT(names), kind);
}

const char *precision_name(uint32_t precision)
{
    static const char *const names[] = {
        [PRECISION_NATIVE] = "native",
        [PRECISION_FULL] = "full",
        [PRECISION_HALF] = "half",
        [PRECISION_DOUBLE] = "double",
    };
    return record_name(names, RECORD_COUNT(names), precision);
}

const char *save_state_name(uint32_t state)
{
    static const char *const names[] = {
        [SAVE_NONE] = "none",           [SAVE_RECEIVING] = "receiving", [SAVE_SEALED] = "sealed",
        [SAVE_COMMITTED] = "committed", [SAVE_PRUNED] = "pruned",       [SAVE_UNKNOWN] = "unknown",
    };
    return record_name(names, RECORD_COUNT(names), state);
}

const char *kind_name(uint32_t kind)
{
    static const char *const names[] = {
        [KIND_PLAIN] = "plain",
        [KIND_DTYPES] = "dtypes",
        [KIND_WEIGHTED] = "weighted",
        [KIND_DTYPES | KIND_WEIGHTED] = "weighted+dtypes",
        [KIND_MODEL_STATE] = "model-state",
        [KIND_MODEL_STATE | KIND_WEIGHTED] = "model-state+weighted",
    };
    return record_name(names, RECORD_COUNT(names), kind);
}
