#include <cairn/record.h>

#include "record/digest.h"
#include "record/rules.h"
#include "sample.h"
#include "support/case.h"

static const uint64_t seven = 7;

static void
entry_refused(enum component component, const struct entry *e, int code, const char *word)
{
    struct err err = { 0 };
    cr_assert_eq(rules_entry(component, e, &err), code, "%s: %s", word, err.msg);
    cr_assert_not_null(strstr(err.msg, word), "%s", err.msg);
    cr_assert_eq(err.component, component);
}

static void entry_accepted(enum component component, const struct entry *e)
{
    struct err err = { 0 };
    cr_assert_eq(rules_entry(component, e, &err), 0, "%s", err.msg);
}

CASE(rules_entry, E32_paths)
{
    static char path[LIMIT_PATH_BYTES + 1];
    memset(path, 'p', sizeof path);
    struct entry e = sample_tensor("a/~ .\xF0\x9F\x98\x80");
    entry_accepted(COMPONENT_MODEL, &e);
    e.path = slice_of(path, LIMIT_PATH_BYTES);
    entry_accepted(COMPONENT_MODEL, &e);
    e.path = slice_of(path, LIMIT_PATH_BYTES + 1);
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "4097");
    e.path = slice_of(NULL, 0);
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "path");
    e.path = slice_of("a\0b", 3);
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "UTF-8");
    e.path = slice_str("\xFF");
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "UTF-8");
}

/* E19: ids are plain numbers, 0 and the largest included. */
CASE(rules_entry, E19_ids_and_flags)
{
    struct entry e = sample_tensor("w");
    e.flags = ENTRY_HAS_ID | ENTRY_TRAINABLE;
    e.id = 0;
    entry_accepted(COMPONENT_GRADIENTS, &e);
    e.id = UINT64_MAX;
    entry_accepted(COMPONENT_GRADIENTS, &e);
    e.flags = ENTRY_TRAINABLE;
    entry_refused(COMPONENT_GRADIENTS, &e, -CAIRN_EINVAL, "id");
    e.id = 0;
    e.flags = 4;
    entry_refused(COMPONENT_GRADIENTS, &e, -CAIRN_EINVAL, "flags");
}

CASE(rules_entry, E30_kinds)
{
    struct entry e = sample_tensor("w");
    e.kind = (enum entry_kind)0;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "kind");
    e.kind = ENTRY_KIND_NR;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "kind");
    e = sample_tensor("w");
    e.dtype = 15;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "dtype 15");
    e.dtype = 0;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "dtype 0");
}

/* E8: shapes that are easily confused, each with its length. */
CASE(rules_entry, E8_shapes)
{
    static const uint64_t dims[33] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                       1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    static const uint64_t zero[] = { 0 };
    static const uint64_t hole[] = { 3, 0, 2 };
    struct entry e = sample_tensor("w");
    e.value.bytes = e.bytes = 4;
    sample_redigest(&e);
    e.shape = dims;
    static const uint32_t ranks[] = { 0, 1, 8, 16, 32 };
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        e.rank = ranks[i];
        entry_accepted(COMPONENT_MODEL, &e);
    }
    e.rank = 33;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "rank 33");
    e.rank = 1;
    e.shape = zero;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "expected 0");
    e.value = slice_of(NULL, 0);
    e.bytes = 0;
    sample_redigest(&e);
    entry_accepted(COMPONENT_MODEL, &e); /* [0]: no bytes, digest of nothing */
    e.rank = 3;
    e.shape = hole;
    entry_accepted(COMPONENT_MODEL, &e);
    e.rank = 0;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "expected 4");
}

/* E9: nothing overflows, nothing is left over. */
CASE(rules_entry, E9_lengths)
{
    static const uint64_t huge[] = { UINT64_C(1) << 32, UINT64_C(1) << 32 };
    static const uint64_t big[] = { UINT64_C(1) << 31, UINT64_C(1) << 30 };
    static const uint64_t gone[] = { UINT64_C(1) << 32, 0, UINT64_C(1) << 32 };
    struct entry e = sample_tensor("w");
    e.shape = huge;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "overflow");
    e.shape = big;
    e.dtype = CAIRN_F64;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "overflow");
    e.dtype = CAIRN_OPAQUE;
    e.shape = huge;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "overflow");
    e.dtype = CAIRN_F32;
    e.shape = gone;
    e.rank = 3;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "overflow");
    e = sample_tensor("w");
    e.bytes = e.value.bytes = 23;
    sample_redigest(&e);
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "expected 24");
    e = sample_tensor("w");
    e.dtype = CAIRN_OPAQUE; /* its length is its own affair */
    e.bytes = e.value.bytes = 5;
    sample_redigest(&e);
    entry_accepted(COMPONENT_MODEL, &e);
}

static struct entry entry_scalar(enum entry_kind kind, const void *data, size_t bytes)
{
    struct entry e = sample_scalar("s", &seven);
    e.kind = kind;
    e.value = slice_of(data, bytes);
    e.bytes = bytes;
    sample_redigest(&e);
    return e;
}

CASE(rules_entry, scalars)
{
    static const uint8_t bytes[LIMIT_SCALAR_BYTES + 1];
    static const struct {
        enum entry_kind kind;
        size_t bytes;
    } fixed[] = {
        { ENTRY_I64, 8 }, { ENTRY_U64, 8 },  { ENTRY_F64, 8 },
        { ENTRY_F32, 4 }, { ENTRY_BOOL, 1 }, { ENTRY_NULL, 0 },
    };
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        struct entry e = entry_scalar(fixed[i].kind, bytes, fixed[i].bytes);
        entry_accepted(COMPONENT_STATE, &e);
        e = entry_scalar(fixed[i].kind, bytes, fixed[i].bytes + 1);
        entry_refused(COMPONENT_STATE, &e, -CAIRN_EINVAL, "expected");
    }
    struct entry e = entry_scalar(ENTRY_BYTES, bytes, LIMIT_SCALAR_BYTES);
    entry_accepted(COMPONENT_STATE, &e);
    e = entry_scalar(ENTRY_BYTES, bytes, LIMIT_SCALAR_BYTES + 1);
    entry_refused(COMPONENT_STATE, &e, -CAIRN_ELIMIT, "at most");
    e = entry_scalar(ENTRY_STRING, "", 0);
    entry_accepted(COMPONENT_STATE, &e);
    e = entry_scalar(ENTRY_STRING, "a\0b", 3);
    entry_refused(COMPONENT_STATE, &e, -CAIRN_EINVAL, "UTF-8");
    e = entry_scalar(ENTRY_STRING, "\xC3", 1);
    entry_refused(COMPONENT_STATE, &e, -CAIRN_EINVAL, "UTF-8");
    e = sample_scalar("s", &seven);
    e.dtype = CAIRN_U64;
    entry_refused(COMPONENT_STATE, &e, -CAIRN_EINVAL, "scalar");
    e = sample_scalar("s", &seven);
    e.rank = 1;
    entry_refused(COMPONENT_STATE, &e, -CAIRN_EINVAL, "scalar");
    e = sample_scalar("s", &seven);
    e.value = slice_of(NULL, 0);
    entry_refused(COMPONENT_STATE, &e, -CAIRN_EINVAL, "in its entry");
}

/* E11: a BOOL is 0 or 1, other layouts of bools keep their bytes. */
CASE(rules_entry, E11_bools)
{
    static const uint64_t three[] = { 3 };
    static const uint8_t good[] = { 0, 1, 1 };
    static const uint8_t bad[] = { 0, 2, 1 };
    static const uint8_t wide[12] = { 7 };
    struct entry e = sample_tensor("mask");
    e.dtype = CAIRN_BOOL;
    e.rank = 1;
    e.shape = three;
    e.bytes = 3;
    e.value = slice_of(good, 3);
    sample_redigest(&e);
    entry_accepted(COMPONENT_MODEL, &e);
    e.value = slice_of(bad, 3);
    sample_redigest(&e);
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "neither 0 nor 1");
    e.dtype = CAIRN_BOOL_U8;
    entry_accepted(COMPONENT_MODEL, &e);
    e.dtype = CAIRN_BOOL_U32;
    e.bytes = 12;
    e.value = slice_of(wide, 12);
    sample_redigest(&e);
    entry_accepted(COMPONENT_MODEL, &e);
    e = entry_scalar(ENTRY_BOOL, bad + 1, 1);
    entry_refused(COMPONENT_STATE, &e, -CAIRN_EINVAL, "neither 0 nor 1");
}

CASE(rules_entry, values)
{
    static const uint8_t big[LIMIT_INLINE_COMPONENT_BYTES + 1];
    static const uint64_t dims[] = { sizeof big };
    struct entry e = sample_tensor("w");
    e.digest.byte[15] ^= 1;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_ECORRUPT, "digest");
    cr_assert(e.value.bytes == e.bytes);
    e = sample_tensor("w");
    e.value.bytes = 8;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "as long");
    e = sample_tensor("w");
    e.first_chunk = 1;
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_EINVAL, "chunk");
    e = sample_tensor("w");
    e.dtype = CAIRN_U8;
    e.rank = 1;
    e.shape = dims;
    e.bytes = sizeof big;
    e.value = slice_of(big, sizeof big);
    sample_redigest(&e);
    entry_refused(COMPONENT_MODEL, &e, -CAIRN_ELIMIT, "inside an entry");
    e.value = slice_of(NULL, 0); /* in chunks: rules_place looks at that */
    entry_accepted(COMPONENT_MODEL, &e);
}

CASE(rules_entry, failures_name_the_entry)
{
    struct err err = { 0 };
    struct entry e = sample_tensor("layers.3.weight");
    e.dtype = 99;
    cr_assert_lt(rules_entry(COMPONENT_MODEL, &e, &err), 0);
    cr_assert_eq(err.component, COMPONENT_MODEL);
    cr_assert_str_eq(err.path, "layers.3.weight");
}

CASE(rules_entry, D1_dtype_record)
{
    uint64_t code = CAIRN_BF16;
    struct entry e = sample_scalar("trainable", &code);
    e.flags = ENTRY_HAS_ID;
    e.id = 9;
    entry_accepted(COMPONENT_DTYPES, &e);
    e.path = slice_str("frozen");
    entry_accepted(COMPONENT_DTYPES, &e);
    e.path = slice_str("else");
    entry_refused(COMPONENT_DTYPES, &e, -CAIRN_EDTYPES, "frozen");
    e.path = slice_str("frozen");
    e.flags = 0;
    e.id = 0;
    entry_refused(COMPONENT_DTYPES, &e, -CAIRN_EDTYPES, "id");
    static const uint64_t bad[] = { CAIRN_I64,     CAIRN_BOOL, 15, UINT64_C(1) << 32 | CAIRN_F32,
                                    CAIRN_F8_E5M2, CAIRN_QINT8 };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        e = sample_scalar("frozen", &bad[i]);
        e.flags = ENTRY_HAS_ID;
        entry_refused(COMPONENT_DTYPES, &e, -CAIRN_EDTYPES, "no dtype of a parameter");
    }
    code = CAIRN_QFLOAT;
    e = sample_scalar("frozen", &code);
    e.flags = ENTRY_HAS_ID;
    entry_accepted(COMPONENT_DTYPES, &e);
}

CASE(rules_entry, W1_window)
{
    static const char *const floats[] = { "loss_scale", "total_weight" };
    static const char *const numbers[] = { "dtype", "microbatches" };
    for (size_t i = 0; i < 2; i++) {
        static const uint64_t f32 = CAIRN_F32;
        struct entry e = sample_scalar(numbers[i], &f32);
        entry_accepted(COMPONENT_WINDOW, &e);
        e.kind = ENTRY_F64;
        entry_refused(COMPONENT_WINDOW, &e, -CAIRN_EWINDOW, "window");
        e = sample_scalar(floats[i], &seven);
        entry_refused(COMPONENT_WINDOW, &e, -CAIRN_EWINDOW, "window");
        e.kind = ENTRY_F64;
        entry_accepted(COMPONENT_WINDOW, &e);
    }
    struct entry e = sample_scalar("momentum", &seven);
    entry_refused(COMPONENT_WINDOW, &e, -CAIRN_EWINDOW, "window");
    e = sample_scalar("dtype", &seven);
    entry_refused(COMPONENT_WINDOW, &e, -CAIRN_EWINDOW, "F32 or F64");
}

/* u32 dtype, u32 rank, and 8 bytes for each dimension. */
CASE(rules_entry, F13_contract)
{
    uint32_t words[4] = { CAIRN_BF16, 1, 10, 0 };
    struct entry e = { .path = slice_str("param"), .id = 9, .flags = ENTRY_HAS_ID };
    e.kind = ENTRY_BYTES;
    e.bytes = sizeof words;
    e.value = slice_of(words, sizeof words);
    sample_redigest(&e);
    entry_accepted(COMPONENT_CONTRACT, &e);
    static const uint32_t bad[] = { 0, CAIRN_F8_E5M2, CAIRN_I32, CAIRN_BOOL, CAIRN_QINT8, 15 };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        words[0] = bad[i];
        sample_redigest(&e);
        entry_refused(COMPONENT_CONTRACT, &e, -CAIRN_EINVAL, "no dtype of a parameter");
    }
    words[0] = CAIRN_QFLOAT;
    static const uint32_t ranks[] = { 0, 2, 257, UINT32_C(1) << 24 | 1, UINT32_MAX };
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        words[1] = ranks[i];
        sample_redigest(&e);
        entry_refused(COMPONENT_CONTRACT, &e, -CAIRN_EINVAL, "named param");
    }
    words[1] = 1;
    sample_redigest(&e);
    e.path = slice_str("parameter");
    entry_refused(COMPONENT_CONTRACT, &e, -CAIRN_EINVAL, "named param");
}

CASE(rules_whole, W15_F13_what_is_needed_is_named)
{
    static const char *const needed[] = { "dtype", "loss_scale", "microbatches", "total_weight" };
    static const uint64_t f32 = CAIRN_F32;
    struct err err = { 0 };
    uint32_t fields = 0;
    for (size_t i = 0; i < 4; i++) {
        struct entry e = sample_scalar(needed[i], &f32);
        e.kind = i % 2 == 1 ? ENTRY_F64 : ENTRY_U64;
        cr_assert_eq(rules_whole(COMPONENT_WINDOW, fields, &err), -CAIRN_EWINDOW);
        cr_assert_str_eq(err.path, needed[i]);
        fields |= rules_fields_of(COMPONENT_WINDOW, &e);
        e.flags = ENTRY_HAS_ID; /* of a parameter: not the window's */
        cr_assert_eq(rules_fields_of(COMPONENT_WINDOW, &e), 0);
    }
    cr_assert_eq(rules_whole(COMPONENT_WINDOW, fields, &err), 0);
    cr_assert_eq(rules_whole(COMPONENT_CONTRACT, fields, &err), -CAIRN_EINVAL);
    cr_assert_str_eq(err.path, "version");
    struct entry version = sample_scalar("version", &f32);
    fields = rules_fields_of(COMPONENT_CONTRACT, &version);
    cr_assert_eq(rules_whole(COMPONENT_CONTRACT, fields, &err), 0, "a base may be missing");
    cr_assert_eq(rules_whole(COMPONENT_DTYPES, 0, &err), 0, "no parameters");
}

/* ---- order: E17 (a key twice), E19 (ids as unsigned numbers)
 * -------------------------------------- */

static struct entry entry_key(const char *path, bool has_id, uint64_t id)
{
    return (struct entry){ .path = slice_str(path),
                           .flags = has_id ? ENTRY_HAS_ID : 0,
                           .id = has_id ? id : 0 };
}

static void entry_ordered(enum component component, const struct entry *e, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int cmp = entry_cmp(component, &e[i], &e[j]);
            int want = (i > j) - (i < j);
            cr_assert_eq((cmp > 0) - (cmp < 0), want, "component %d: %zu, %zu", component, i, j);
        }
    }
}

CASE(entry_cmp, E19_orders)
{
    const struct entry by_path[] = {
        entry_key("a", true, 9),  entry_key("a.b", false, 0), entry_key("a/b", true, 1),
        entry_key("aa", true, 0), entry_key("b", false, 0),   entry_key("\xC3\xA9", true, 5),
    };
    const struct entry by_id[] = {
        entry_key("a", false, 0),
        entry_key("b", false, 0),
        entry_key("z", true, 0),
        entry_key("a", true, 1),
        entry_key("b", true, 1),
        entry_key("a", true, 0x00FFFFFFFFFFFFFF),
        entry_key("a", true, UINT64_C(1) << 63),
        entry_key("a", true, UINT64_MAX),
    };
    static const enum component paths[] = {
        COMPONENT_MODEL, COMPONENT_SCHEDULER, COMPONENT_STATE, COMPONENT_WINDOW
    };
    static const enum component ids[] = { COMPONENT_OPTIMIZER,
                                          COMPONENT_GRADIENTS,
                                          COMPONENT_DTYPES };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        entry_ordered(paths[i], by_path, sizeof by_path / sizeof by_path[0]);
    }
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        entry_ordered(ids[i], by_id, sizeof by_id / sizeof by_id[0]);
    }
}

CASE(entry_cmp, E17_the_same_key_twice)
{
    struct entry a = entry_key("w", true, 1);
    struct entry b = entry_key("w", true, 2);
    cr_assert_eq(entry_cmp(COMPONENT_MODEL, &a, &b), 0);
    cr_assert_neq(entry_cmp(COMPONENT_GRADIENTS, &a, &b), 0);
    b.id = 1;
    cr_assert_eq(entry_cmp(COMPONENT_GRADIENTS, &a, &b), 0);
    a.flags |= ENTRY_TRAINABLE; /* no part of a key */
    cr_assert_eq(entry_cmp(COMPONENT_GRADIENTS, &a, &b), 0);
}
