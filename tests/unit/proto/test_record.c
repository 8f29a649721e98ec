#include "record/record.h"
#include "support/case.h"

CASE(record, names)
{
    cr_assert_str_eq(component_name(COMPONENT_NONE), "?");
    cr_assert_str_eq(component_name(COMPONENT_MODEL), "model");
    cr_assert_str_eq(component_name(COMPONENT_OPTIMIZER), "optimizer");
    cr_assert_str_eq(component_name(COMPONENT_SCHEDULER), "scheduler");
    cr_assert_str_eq(component_name(COMPONENT_GRADIENTS), "gradients");
    cr_assert_str_eq(component_name(COMPONENT_STATE), "state");
    cr_assert_str_eq(component_name(COMPONENT_DTYPES), "dtypes");
    cr_assert_str_eq(component_name(COMPONENT_WINDOW), "window");
    cr_assert_str_eq(component_name(COMPONENT_CONTRACT), "contract");
    cr_assert_str_eq(component_name(COMPONENT_NR), "?");
    cr_assert_str_eq(component_name(UINT32_MAX), "?");
    cr_assert_str_eq(entry_kind_name(ENTRY_TENSOR), "tensor");
    cr_assert_str_eq(entry_kind_name(ENTRY_NULL), "null");
    cr_assert_str_eq(entry_kind_name(0), "?");
    cr_assert_str_eq(entry_kind_name(ENTRY_KIND_NR), "?");
    cr_assert_str_eq(precision_name(PRECISION_NATIVE), "native");
    cr_assert_str_eq(precision_name(PRECISION_DOUBLE), "double");
    cr_assert_str_eq(precision_name(4), "?");
    cr_assert_str_eq(save_state_name(SAVE_NONE), "none");
    cr_assert_str_eq(save_state_name(SAVE_UNKNOWN), "unknown");
    cr_assert_str_eq(save_state_name(6), "?");
}

CASE(record, kind_names)
{
    cr_assert_str_eq(kind_name(KIND_PLAIN), "plain");
    cr_assert_str_eq(kind_name(KIND_DTYPES), "dtypes");
    cr_assert_str_eq(kind_name(KIND_WEIGHTED), "weighted");
    cr_assert_str_eq(kind_name(KIND_DTYPES | KIND_WEIGHTED), "weighted+dtypes");
    cr_assert_str_eq(kind_name(KIND_MODEL_STATE), "model-state");
    cr_assert_str_eq(kind_name(KIND_MODEL_STATE | KIND_DTYPES), "?");
    cr_assert_str_eq(kind_name(8), "?");
}
