/* The fields that few entries and components have: there and back, and what is refused. */
#include <cairn/record.h>

#include "raw.h"
#include "record/digest.h"
#include "record/finite.h"
#include "record/quant.h"
#include "sample.h"
#include "support/case.h"
#include "wire/codec.h"

static struct wire_buf rare_buf;
static struct bump rare_bump;

static struct slice rare_message(void)
{
    return slice_of(rare_buf.data + FRAME_PREFIX_BYTES, rare_buf.bytes - FRAME_PREFIX_BYTES);
}

static void rare_there(uint32_t type, const union wire_msg *msg, union wire_msg *ret)
{
    struct err err = { 0 };
    rare_buf.bytes = 0;
    cr_assert_eq(wire_encode(type, 1, msg, 0, &rare_buf, &err), 0, "%s", err.msg);
    bump_fini(&rare_bump);
    bump_init(&rare_bump, wire_bump_cap((uint32_t)rare_message().bytes));
    cr_assert_eq(wire_decode(type, rare_message(), &rare_bump, ret, &err), 0, "%s", err.msg);
}

static void rare_done(void)
{
    wire_buf_free(&rare_buf);
    bump_fini(&rare_bump);
}

static void rare_same(const struct entry *a, const struct entry *b)
{
    cr_assert_eq(a->storage_dtype, b->storage_dtype);
    cr_assert_eq(a->element_bits, b->element_bits);
    cr_assert(nonfinite_equal(&a->nonfinite, &b->nonfinite));
    cr_assert_eq(a->quant == NULL, b->quant == NULL);
    if (a->quant != NULL) {
        const struct cairn_quant_bytes *x = &a->quant->bytes;
        const struct cairn_quant_bytes *y = &b->quant->bytes;
        cr_assert(quant_equal(&a->quant->scheme, &b->quant->scheme));
        cr_assert(x->values == y->values && x->block_scales == y->block_scales &&
                  x->global_scale == y->global_scale);
    }
}

/* What they mean is not the codec's business: any numbers come back as they were. */
CASE(codec_rare, entries)
{
    static const struct quant quants[] = {
        { { .value = CAIRN_Q8F, .store = CAIRN_QUANT_NATIVE, .mode = CAIRN_QUANT_LOOKUP },
          { UINT64_MAX, 0, 1 } },
        { { .value = CAIRN_QE2M1,
            .store = CAIRN_QUANT_PACKED_NATIVE,
            .packed_dim = UINT32_MAX,
            .mode = CAIRN_QUANT_SYMMETRIC,
            .global_dtype = CAIRN_OPAQUE,
            .block_dtype = CAIRN_F8_E8M0FNU,
            .block_rank = 5,
            .block = { 255, 1, 0, 128, 2 } },
          { 0, UINT64_MAX, 3 } },
    };
    struct entry e[5];
    for (size_t i = 0; i < 5; i++) {
        e[i] = sample_tensor("w");
    }
    e[0].quant = &quants[0];
    e[1].storage_dtype = CAIRN_OPAQUE;
    e[2].quant = &quants[1];
    e[2].element_bits = UINT32_MAX;
    e[2].storage_dtype = CAIRN_F64;
    e[3].element_bits = 1;
    e[3].nonfinite = (struct nonfinite){ UINT64_MAX, 1 };
    e[4].nonfinite.inf = 7;
    union wire_msg out;
    const union wire_msg in = { .entries = {
                                    .component = COMPONENT_MODEL, .entries = e, .count = 5 } };
    rare_there(WIRE_ENTRIES, &in, &out);
    size_t bytes = 4; /* component and page */
    for (size_t i = 0; i < 5; i++) {
        rare_same(&e[i], &out.entries.entries[i]);
        bytes += wire_entry_bytes(&e[i]);
    }
    cr_assert_eq(rare_message().bytes, bytes);
    rare_done();
}

/* A page full of schemes as short as they come: legal, so it must fit the cap. */
CASE(codec_rare, a_page_of_the_smallest_schemes)
{
    static struct entry entries[LIMIT_ENTRIES_PER_PAGE];
    static const struct quant quant = {
        { .value = CAIRN_Q8F, .store = CAIRN_QUANT_NATIVE, .mode = CAIRN_QUANT_SYMMETRIC }, { 0 }
    };
    for (size_t i = 0; i < LIMIT_ENTRIES_PER_PAGE; i++) {
        entries[i] = (struct entry){ .path = slice_str("p"),
                                     .kind = ENTRY_TENSOR,
                                     .dtype = CAIRN_QFLOAT,
                                     .digest = digest_bytes("", 0),
                                     .quant = &quant };
    }
    union wire_msg out;
    const union wire_msg in = { .entries = { .component = COMPONENT_MODEL,
                                             .entries = entries,
                                             .count = LIMIT_ENTRIES_PER_PAGE } };
    rare_there(WIRE_ENTRIES, &in, &out);
    rare_same(&entries[0], &out.entries.entries[LIMIT_ENTRIES_PER_PAGE - 1]);
    rare_done();
}

CASE(codec_rare, config_and_counts_of_a_component)
{
    struct boundary b = sample_boundary();
    struct component_info infos[2] = { b.components[0], b.components[1] };
    infos[1].has_config = true;
    infos[1].config = sample_digest(200);
    infos[1].nonfinite = (struct nonfinite){ 3, UINT64_MAX };
    union wire_msg out;
    const union wire_msg in = {
        .seal = { .components = infos, .component_count = 2, .root = sample_digest(9) }
    };
    rare_there(WIRE_SEAL, &in, &out);
    cr_assert_not(out.seal.components[0].has_config);
    cr_assert(out.seal.components[1].has_config);
    cr_assert(digest_equal(&out.seal.components[1].config, &infos[1].config));
    cr_assert_not(nonfinite_any(&out.seal.components[0].nonfinite));
    cr_assert(nonfinite_equal(&out.seal.components[1].nonfinite, &infos[1].nonfinite));
    rare_done();
}

/* ---- refused ---- */

static void rare_entry(struct raw *r)
{
    static const uint8_t digest[16] = { 1 };
    r->bytes = 0;
    raw_text(r, 1, "w");
    raw_number(r, 2, ENTRY_TENSOR);
    raw_number(r, 4, 0);
    raw_number(r, 5, CAIRN_QFLOAT);
    raw_number(r, 6, 0);
    raw_number(r, 8, 0);
    raw_bytes(r, 12, digest, sizeof digest);
}

static void rare_refused(const struct raw *entry, const char *words)
{
    struct raw page = { .bytes = 0 };
    struct bump b;
    union wire_msg msg;
    struct err err = { 0 };
    raw_number(&page, 1, COMPONENT_MODEL);
    raw_number(&page, 2, 0);
    raw_sub(&page, 3, entry);
    bump_init(&b, 1 << 20);
    int rc = wire_decode(WIRE_ENTRIES, raw_slice(&page), &b, &msg, &err);
    bump_fini(&b);
    if (words == NULL) {
        cr_assert_eq(rc, 0, "%s", err.msg);
        return;
    }
    cr_assert_eq(rc, -CAIRN_EPROTO, "%s: %s", words, err.msg);
    cr_assert_not_null(strstr(err.msg, words), "expected \"%s\" in \"%s\"", words, err.msg);
    cr_assert_not_null(strstr(err.msg, "entries[0]: "), "%s", err.msg);
}

CASE(codec_rare, refused_fields)
{
    struct raw e;
    rare_entry(&e);
    rare_refused(&e, NULL);
    raw_number(&e, 13, 15);
    rare_refused(&e, "storage_dtype: a value that is not defined");
    rare_entry(&e);
    raw_number(&e, 15, 0);
    rare_refused(&e, "element_bits: 0");
    rare_entry(&e);
    raw_number(&e, 15, UINT64_C(1) << 32);
    rare_refused(&e, "element_bits: more than 32 bits");
    rare_entry(&e);
    raw_number(&e, 15, 4);
    raw_number(&e, 15, 4);
    rare_refused(&e, "element_bits: given twice");
    rare_entry(&e);
    raw_number(&e, 16, 0);
    rare_refused(&e, "nan: 0");
    rare_entry(&e);
    raw_number(&e, 17, 0);
    rare_refused(&e, "inf: 0");
}

enum rare_field { RARE_VALUE = 1, RARE_STORE, RARE_DIM, RARE_MODE, RARE_GLOBAL, RARE_SCALE };

/* A scheme with all its numbers; `skip` leaves one out, and `set` gives it another value. */
static void rare_scheme(struct raw *e, uint32_t skip, uint32_t set, uint64_t to)
{
    static const uint64_t values[] = { 0, 4, 3, 0, 1, 2, 4, 0, 12, 12, 4 };
    struct raw q = { .bytes = 0 };
    for (uint32_t field = 1; field <= 10; field++) {
        if (field == 7 || field == skip) {
            continue;
        }
        raw_number(&q, field, field == set ? to : values[field]);
    }
    if (skip != 7) {
        raw_text(&q, 7, "\2");
    }
    rare_entry(e);
    raw_sub(e, 14, &q);
}

CASE(codec_rare, refused_schemes)
{
    struct raw e;
    rare_scheme(&e, 0, 0, 0);
    rare_refused(&e, NULL);
    static const struct {
        uint32_t field;
        const char *words;
    } missing[] = {
        { RARE_VALUE, "quant: value: missing" },
        { RARE_STORE, "quant: store: missing" },
        { RARE_DIM, "packed_dim: missing" },
        { RARE_MODE, "quant: mode: missing" },
        { RARE_GLOBAL, NULL },
        { RARE_SCALE, "block: given without need" },
        { 7, "block: missing" },
        { 8, "quant: value_bytes: missing" },
        { 9, "quant: block_scale_bytes: missing" },
        { 10, "quant: global_scale_bytes: missing" },
    };
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        rare_scheme(&e, missing[i].field, 0, 0);
        rare_refused(&e, missing[i].words);
    }
    static const struct {
        uint32_t field;
        uint64_t value;
        const char *words;
    } wrong[] = {
        { RARE_VALUE, 10, "quant: value: a value that is not defined" },
        { RARE_VALUE, 0, "quant: value: a value that is not defined" },
        { RARE_STORE, 4, "quant: store: a value that is not defined" },
        { RARE_STORE, 1, "packed_dim: given without need" },
        { RARE_MODE, 3, "quant: mode: a value that is not defined" },
        { RARE_GLOBAL, 15, "quant: global_scale: a value that is not defined" },
        { RARE_SCALE, 0, "quant: block_scale: a value that is not defined" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        rare_scheme(&e, 0, wrong[i].field, wrong[i].value);
        rare_refused(&e, wrong[i].words);
    }
}

CASE(codec_rare, refused_blocks_and_configs)
{
    static const size_t lengths[] = { 0, 6 };
    for (size_t i = 0; i < 2; i++) {
        struct raw e;
        struct raw q = { .bytes = 0 };
        rare_scheme(&e, 7, 0, 0);
        rare_entry(&e);
        raw_number(&q, 1, 1);
        raw_number(&q, 2, 1);
        raw_number(&q, 4, 1);
        raw_number(&q, 6, 2);
        raw_zeros(&q, 7, lengths[i]);
        for (uint32_t field = 8; field <= 10; field++) {
            raw_number(&q, field, 0);
        }
        raw_sub(&e, 14, &q);
        rare_refused(&e, "extents, expected 1 to 5");
    }
    struct raw info = { .bytes = 0 };
    struct raw seal = { .bytes = 0 };
    struct bump b;
    union wire_msg msg;
    struct err err = { 0 };
    raw_number(&info, 1, COMPONENT_MODEL);
    raw_text(&info, 2, "");
    for (uint32_t field = 3; field <= 6; field++) {
        raw_number(&info, field, 0);
    }
    raw_zeros(&info, 7, 16);
    raw_zeros(&info, 8, 15);
    raw_sub(&seal, 1, &info);
    raw_zeros(&seal, 2, 16);
    bump_init(&b, 1 << 20);
    cr_assert_eq(wire_decode(WIRE_SEAL, raw_slice(&seal), &b, &msg, &err), -CAIRN_EPROTO);
    cr_assert_not_null(strstr(err.msg, "config: 15 bytes"), "%s", err.msg);
    bump_fini(&b);
}

CASE(codec_rare, refused_counts_of_a_boundary)
{
    static const char *const words[] = { "boundary: nan: 0",
                                         "boundary: inf: 0",
                                         "boundary: not_finite: false" };
    for (uint32_t i = 0; i < 3; i++) {
        struct raw boundary = { .bytes = 0 };
        struct raw begin = { .bytes = 0 };
        union wire_msg msg;
        struct bump b;
        struct err err = { 0 };
        for (uint32_t field = 1; field <= 18; field++) {
            if (field == 4 || field == 18) {
                raw_zeros(&boundary, field, 16);
            } else {
                raw_number(&boundary, field, 0);
            }
        }
        raw_number(&boundary, 21 + i, 0);
        raw_text(&begin, 1, "r");
        raw_sub(&begin, 2, &boundary);
        bump_init(&b, 1 << 20);
        cr_assert_eq(wire_decode(WIRE_BEGIN, raw_slice(&begin), &b, &msg, &err), -CAIRN_EPROTO);
        cr_assert_not_null(strstr(err.msg, words[i]), "%s", err.msg);
        bump_fini(&b);
    }
}

static void rare_delete_is_refused(size_t run_bytes, size_t selector_bytes, const char *words)
{
    struct err err = { 0 };
    union wire_msg out;
    struct bump b;
    struct raw r = { .bytes = 0 };
    char letters[600];
    memset(letters, 'a', sizeof letters);
    raw_bytes(&r, 1, letters, run_bytes);
    raw_bytes(&r, 2, letters, selector_bytes);
    bump_init(&b, wire_bump_cap((uint32_t)r.bytes));
    cr_assert_eq(wire_decode(WIRE_DELETE, slice_of(r.data, r.bytes), &b, &out, &err),
                 -CAIRN_ELIMIT);
    cr_assert_not_null(strstr(err.msg, words), "%s", err.msg);
    bump_fini(&b);
}

CASE(codec_rare, names_of_a_removal_have_their_limits)
{
    rare_delete_is_refused(256, 1, "run: 256 bytes");
    rare_delete_is_refused(255, 513, "selector: 513 bytes");
}
