/* What a manifest refuses. */
#include <cairn/record.h>
#include <stdlib.h>

#include "fixture.h"
#include "store/manifest.h"

/* Feed a spoiled record; the refusal must come, with this code and text. */
static void refused(struct rec *r, int code, const char *text)
{
    struct st_manifest *m = NULL;
    struct err err = { .code = 0 };
    int rc = rec_manifest(r, &m, &err);
    cr_assert_eq(rc, code, "%d: %s", rc, err.msg);
    cr_assert_not_null(strstr(err.msg, text), "%s", err.msg);
    cr_assert_eq(st_manifest_seal(m, r->infos, r->info_count, &r->b.root, &err), -CAIRN_EINVAL);
    m = st_manifest_free(m);
    (void)rec_free(r);
}

CASE(manifest, takes_a_sound_record)
{
    struct st_manifest *m = NULL;
    struct err err = { .code = 0 };
    struct rec *r = rec_small(1, 1);
    cr_assert_eq(rec_manifest(r, &m, &err), 0, "%s", err.msg);
    cr_assert_eq(st_manifest_chunk_count(m), 2);
    cr_assert_not_null(st_manifest_chunk(m, 1));
    cr_assert_null(st_manifest_chunk(m, 2));
    m = st_manifest_free(m);
    (void)rec_free(r);
}

CASE(manifest, refuses_entries_out_of_order)
{
    struct rec *r = rec_small(1, 1);
    struct entry first = r->entries[COMPONENT_MODEL][0];
    r->entries[COMPONENT_MODEL][0] = r->entries[COMPONENT_MODEL][1];
    r->entries[COMPONENT_MODEL][1] = first;
    refused(r, -CAIRN_EINVAL, "out of order");
}

CASE(manifest, E17_refuses_a_path_that_is_there_twice)
{
    struct rec *r = rec_new(1, 1);
    rec_floats(r, COMPONENT_MODEL, "w", 100);
    rec_floats(r, COMPONENT_MODEL, "w", 100);
    rec_build(r);
    refused(r, -CAIRN_EINVAL, "twice");
}

CASE(manifest, refuses_other_counts)
{
    struct rec *r = rec_small(1, 1);
    r->infos[0].entry_count++;
    refused(r, -CAIRN_EINVAL, "entries announced");
    r = rec_small(1, 1);
    r->infos[1].bytes++;
    refused(r, -CAIRN_EINVAL, "bytes announced");
    r = rec_small(1, 1);
    r->infos[1].chunk_count++;
    refused(r, -CAIRN_EINVAL, "chunks announced");
    r = rec_small(1, 1);
    r->infos[4].page_count++;
    refused(r, -CAIRN_EINVAL, "pages announced");
    r = rec_small(1, 1);
    r->b.entry_count++;
    refused(r, -CAIRN_EINVAL, "boundary: 6 entries announced, 5 found");
    r = rec_small(1, 1);
    r->b.stored_bytes += 4096;
    refused(r, -CAIRN_EINVAL, "stored bytes announced");
}

/* A model with a NaN, in a tensor that the store's records make trainable. */
static struct rec *counted(void)
{
    struct rec *r = rec_small(1, 1);
    r->entries[COMPONENT_MODEL][0].nonfinite.nan = 1;
    r->infos[0].nonfinite.nan = 1;
    return r;
}

CASE(manifest, V7_refuses_other_counts_of_nan_and_inf)
{
    struct rec *r = counted();
    r->infos[0].nonfinite.nan = 0;
    refused(r, -CAIRN_EINVAL, "model: 0 NaN announced, 1 found");
    r = counted();
    r->infos[0].nonfinite.inf = 2;
    refused(r, -CAIRN_EINVAL, "model: 2 Inf announced, 0 found");
    r = counted();
    r->entries[COMPONENT_MODEL][0].nonfinite.inf = UINT64_MAX;
    refused(r, -CAIRN_EINVAL, "cannot be among");
}

CASE(manifest, V3_is_not_finite_by_its_entries)
{
    struct st_manifest *m = NULL;
    struct err err = { .code = 0 };
    struct rec *r = counted();
    cr_assert_eq(rec_manifest(r, &m, &err), 0, "%s", err.msg);
    cr_assert(m->check.not_finite && m->check.nonfinite.nan == 1 && m->check.nonfinite.inf == 0);
    m = st_manifest_free(m);
    (void)rec_free(r);
}

CASE(manifest, N11_R02_R15_refuses_a_missing_component)
{
    struct rec *r = rec_small(1, 1);
    r->infos[3] = r->infos[4];
    r->info_count = 4;
    refused(r, -CAIRN_EINVAL, "gradients is missing");
}

CASE(manifest, refuses_a_wrong_digest)
{
    struct rec *r = rec_small(1, 1);
    r->infos[1].digest.byte[3] ^= 1;
    r->b.root = digest_root(&r->b, r->infos, r->info_count);
    refused(r, -CAIRN_ECORRUPT, "component optimizer");
    r = rec_small(1, 1);
    r->b.root.byte[0] ^= 1;
    refused(r, -CAIRN_ECORRUPT, "root");
    /* One flag of one entry is not what was digested. */
    r = rec_small(1, 1);
    r->entries[COMPONENT_STATE][0].flags = ENTRY_HAS_ID;
    refused(r, -CAIRN_ECORRUPT, "component state");
}

CASE(manifest, refuses_a_chunk_that_nobody_uses)
{
    /* Two tensors of the same bytes, both said to lie in the first one's chunk. */
    struct rec *r = rec_new(1, 1);
    rec_floats(r, COMPONENT_MODEL, "a", LIMIT_CHUNK_BYTES / 4);
    rec_floats(r, COMPONENT_MODEL, "b", LIMIT_CHUNK_BYTES / 4);
    memcpy(r->values[COMPONENT_MODEL][1], r->values[COMPONENT_MODEL][0], LIMIT_CHUNK_BYTES);
    rec_build(r);
    r->entries[COMPONENT_MODEL][1].first_chunk = 0;
    refused(r, -CAIRN_EINVAL, "no entry lies in chunk 1");
}

CASE(manifest, refuses_a_place_in_other_chunks)
{
    struct rec *r = rec_new(1, 1);
    rec_floats(r, COMPONENT_MODEL, "a", 2 * LIMIT_CHUNK_BYTES / 4);
    rec_floats(r, COMPONENT_MODEL, "b", LIMIT_CHUNK_BYTES / 4);
    rec_build(r);
    r->entries[COMPONENT_MODEL][1].first_chunk = 0;
    refused(r, -CAIRN_ECORRUPT, "digest");
}

CASE(manifest, refuses_more_chunks_than_announced)
{
    struct st_manifest *m = NULL;
    struct err err = { .code = 0 };
    struct rec *r = rec_big(1, 1, 2);
    const struct chunk *c = &layout_chunk_at(r->layout, 0)->chunk;
    cr_assert_eq(st_manifest_new(&r->b, &m, &err), 0);
    cr_assert_eq(st_manifest_chunks(m, 0, c, 1, &err), 0);
    cr_assert_eq(st_manifest_chunks(m, 1, c, 1, &err), 0);
    cr_assert_eq(st_manifest_chunks(m, 2, c, 1, &err), -CAIRN_EINVAL);
    m = st_manifest_free(m);
    cr_assert_eq(st_manifest_new(&r->b, &m, &err), 0);
    cr_assert_eq(st_manifest_chunks(m, 1, c, 1, &err), -CAIRN_EINVAL);
    m = st_manifest_free(m);
    (void)rec_free(r);
}

/* ---- gradients and parameters ---- */

static struct entry member(enum entry_kind kind, const char *path, uint64_t id, uint32_t flags)
{
    static const uint8_t scalar[8] = { CAIRN_F32 }; /* dtype F32, rank 0 */
    bool tensor = kind == ENTRY_TENSOR;
    struct entry e = { .path = slice_str(path),
                       .id = id,
                       .flags = flags,
                       .kind = kind,
                       .dtype = tensor ? CAIRN_F32 : 0,
                       .bytes = tensor ? 4 : 8,
                       .value = slice_of(scalar, tensor ? 4 : 8) };
    e.digest = digest_bytes(e.value.data, e.value.bytes);
    return e;
}

CASE(manifest, W10_E15_refuses_gradients_that_are_not_floating)
{
    static const uint32_t others[] = {
        CAIRN_I32, CAIRN_U32, CAIRN_BOOL_U32, CAIRN_C32, CAIRN_QINT32
    };
    static const uint32_t kinds[] = { KIND_WEIGHTED, KIND_MODEL_STATE };
    for (size_t i = 0; i < 2 * sizeof others / sizeof others[0]; i++) {
        struct entry gradient = member(ENTRY_TENSOR, "g", 5, ENTRY_HAS_ID);
        const struct wire_entries page = { .component = COMPONENT_GRADIENTS,
                                           .entries = &gradient,
                                           .count = 1 };
        const struct boundary b = { .kind = kinds[i % 2], .entry_count = 1 };
        struct err err = { .code = 0 };
        struct check c;
        gradient.dtype = others[i / 2];
        check_init(&c, &b);
        cr_assert_eq(check_entries(&c, &page, &err), -CAIRN_EINVAL, "%zu", i);
        cr_assert_not_null(strstr(err.msg, "gradient 'g' (id 5) is"), "%s", err.msg);
        cr_assert_str_eq(err.path, "g");
        check_fini(&c);
    }
}

/* Model, gradients and contract of one entry each; what the end says. */
static int member_check(uint32_t kind, uint64_t gradient, uint32_t flags, struct err *err)
{
    const struct entry model = member(ENTRY_TENSOR, "w", 5, ENTRY_HAS_ID);
    const struct entry pending = member(ENTRY_TENSOR, "g", gradient, flags);
    const struct entry contract = member(ENTRY_BYTES, "param", 6, ENTRY_HAS_ID);
    const struct wire_entries pages[] = {
        { .component = COMPONENT_MODEL, .entries = &model, .count = 1 },
        { .component = COMPONENT_GRADIENTS, .entries = &pending, .count = 1 },
        { .component = COMPONENT_CONTRACT, .entries = &contract, .count = 1 },
    };
    const struct boundary b = { .kind = kind, .entry_count = 3 };
    struct digest root = { { 0 } };
    struct check c;
    check_init(&c, &b);
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        cr_assert_eq(check_entries(&c, &pages[i], err), 0, "%s", err->msg);
    }
    int rc = check_end(&c, NULL, 0, &root, err);
    check_fini(&c);
    return rc;
}

CASE(manifest, E13_refuses_gradients_of_no_parameter_of_the_record)
{
    const struct {
        uint32_t kind;
        uint64_t gradient;
        uint32_t flags;
        const char *word; /* NULL: not for this reason */
    } cases[] = {
        { KIND_PLAIN, 7, ENTRY_HAS_ID, NULL },
        { KIND_DTYPES, 7, ENTRY_HAS_ID, NULL },
        { KIND_WEIGHTED, 5, ENTRY_HAS_ID, NULL },
        { KIND_WEIGHTED, 6, ENTRY_HAS_ID, "parameter 6 belongs to no" },
        { KIND_WEIGHTED, 0, 0, "no parameter id" },
        { KIND_WEIGHTED | KIND_DTYPES, UINT64_MAX, ENTRY_HAS_ID, "belongs to no" },
        { KIND_MODEL_STATE, 6, ENTRY_HAS_ID, NULL },
        { KIND_MODEL_STATE, 5, ENTRY_HAS_ID, "parameter 5 belongs to no" },
        { KIND_MODEL_STATE | KIND_WEIGHTED, 5, ENTRY_HAS_ID, "parameter 5 belongs to no" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { .code = 0 };
        cr_assert_eq(member_check(cases[i].kind, cases[i].gradient, cases[i].flags, &err),
                     -CAIRN_EINVAL);
        bool is_it = strstr(err.msg, "pending gradient") != NULL;
        cr_assert_eq(is_it, cases[i].word != NULL, "%zu: %s", i, err.msg);
        cr_assert(!is_it || strstr(err.msg, cases[i].word) != NULL, "%zu: %s", i, err.msg);
    }
}
