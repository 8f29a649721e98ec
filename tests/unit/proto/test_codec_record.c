/* The messages that carry parts of a record, with awkward values. */
#include <cairn/record.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal/ckd.h"
#include "record/digest.h"
#include "record/dtype.h"
#include "record/finite.h"
#include "record/rules.h"
#include "sample.h"
#include "support/case.h"
#include "wire/codec.h"

static struct wire_buf codec_buf;
static struct bump codec_bump;

static struct slice codec_message(void)
{
    return slice_of(codec_buf.data + FRAME_PREFIX_BYTES, codec_buf.bytes - FRAME_PREFIX_BYTES);
}

static void codec_there(uint32_t type, const union wire_msg *msg, union wire_msg *ret)
{
    struct err err = { 0 };
    codec_buf.bytes = 0;
    cr_assert_eq(wire_encode(type, 1, msg, 0, &codec_buf, &err), 0, "%s", err.msg);
    bump_fini(&codec_bump);
    bump_init(&codec_bump, wire_bump_cap((uint32_t)codec_message().bytes));
    cr_assert_eq(wire_decode(type, codec_message(), &codec_bump, ret, &err), 0, "%s", err.msg);
}

static void codec_done(void)
{
    wire_buf_free(&codec_buf);
    bump_fini(&codec_bump);
}

static void codec_same_slice(struct slice a, struct slice b)
{
    cr_assert_eq(slice_cmp(a, b), 0);
}

static void codec_same_info(const struct component_info *a, const struct component_info *b)
{
    cr_assert_eq(a->component, b->component);
    codec_same_slice(a->type, b->type);
    cr_assert_eq(a->entry_count, b->entry_count);
    cr_assert_eq(a->bytes, b->bytes);
    cr_assert_eq(a->chunk_count, b->chunk_count);
    cr_assert_eq(a->page_count, b->page_count);
    cr_assert(digest_equal(&a->digest, &b->digest));
}

static void codec_same_boundary(const struct boundary *a, const struct boundary *b)
{
    cr_assert(a->seq == b->seq && a->parent_seq == b->parent_seq && a->step == b->step);
    cr_assert_eq(memcmp(a->save_id, b->save_id, 16), 0);
    cr_assert(a->kind == b->kind && a->precision == b->precision && a->exact == b->exact);
    cr_assert(a->rank == b->rank && a->world == b->world && a->local_parts == b->local_parts);
    cr_assert(a->created_ns == b->created_ns && a->entry_count == b->entry_count);
    cr_assert(a->payload_bytes == b->payload_bytes && a->stored_bytes == b->stored_bytes);
    cr_assert(a->chunk_count == b->chunk_count && a->bytes_new == b->bytes_new);
    cr_assert(a->bytes_shared == b->bytes_shared && digest_equal(&a->root, &b->root));
    cr_assert(nonfinite_equal(&a->nonfinite, &b->nonfinite) && a->not_finite == b->not_finite);
    cr_assert(a->trainable_bytes == b->trainable_bytes && a->warnings == b->warnings);
    cr_assert_eq(a->trainable_new_bytes, b->trainable_new_bytes);
    cr_assert_eq(a->label_count, b->label_count);
    for (uint32_t i = 0; i < a->label_count; i++) {
        codec_same_slice(a->labels[i].name, b->labels[i].name);
        codec_same_slice(a->labels[i].value, b->labels[i].value);
    }
    cr_assert_eq(a->component_count, b->component_count);
    for (uint32_t i = 0; i < a->component_count; i++) {
        codec_same_info(&a->components[i], &b->components[i]);
    }
}

CASE(codec_record, boundaries)
{
    struct boundary b = sample_boundary();
    union wire_msg out;
    union wire_msg in = { .begin = { slice_str("digits"), b } };
    codec_there(WIRE_BEGIN, &in, &out);
    codec_same_slice(out.begin.run, slice_str("digits"));
    codec_same_boundary(&b, &out.begin.boundary);
    in = (union wire_msg){ .committed = { b } };
    codec_there(WIRE_COMMITTED, &in, &out);
    codec_same_boundary(&b, &out.committed.boundary);
    in = (union wire_msg){ .described = { .boundary = b } };
    codec_there(WIRE_DESCRIBED, &in, &out);
    codec_same_boundary(&b, &out.described.boundary);
    cr_assert_not(out.described.resident);
    in.described.resident = true;
    codec_there(WIRE_DESCRIBED, &in, &out);
    cr_assert(out.described.resident);
    in = (union wire_msg){ .seal = { b.components, b.component_count, sample_digest(9) } };
    codec_there(WIRE_SEAL, &in, &out);
    cr_assert_eq(out.seal.component_count, 2);
    codec_same_info(&b.components[0], &out.seal.components[0]);
    codec_same_info(&b.components[1], &out.seal.components[1]);
    cr_assert(digest_equal(&out.seal.root, &in.seal.root));
    codec_done();
}

CASE(codec_record, found)
{
    struct boundary list[3] = { sample_boundary(), sample_begin(), { .root = sample_digest(1) } };
    union wire_msg out;
    union wire_msg in = { .found = { .boundaries = list, .count = 3 } };
    codec_there(WIRE_FOUND, &in, &out);
    cr_assert(out.found.count == 3 && out.found.state == SAVE_NONE);
    size_t bytes = 0;
    for (int i = 0; i < 3; i++) {
        codec_same_boundary(&list[i], &out.found.boundaries[i]);
        bytes += wire_boundary_bytes(&list[i]);
    }
    cr_assert_eq(codec_message().bytes, bytes + 4); /* state and seq */
    static const uint64_t damaged[] = { UINT64_MAX, 300, 1 };
    in = (union wire_msg){
        .found = { .boundaries = list, .count = 1, .damaged = damaged, .damaged_count = 3 }
    };
    codec_there(WIRE_FOUND, &in, &out);
    cr_assert(out.found.count == 1 && out.found.damaged_count == 3);
    cr_assert_eq(memcmp(out.found.damaged, damaged, sizeof damaged), 0);
    in = (union wire_msg){ .found = { .state = SAVE_COMMITTED, .seq = UINT64_MAX } };
    codec_there(WIRE_FOUND, &in, &out);
    cr_assert(out.found.state == SAVE_COMMITTED && out.found.seq == UINT64_MAX);
    cr_assert_eq(out.found.count, 0);
    codec_done();
}

/* As many of the smallest labels as there may be: the worst ratio of memory to bytes that is legal.
 */
CASE(codec_record, found_at_its_fullest)
{
    static struct boundary list[LIMIT_FIND];
    static struct label labels[LIMIT_LABELS];
    static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    for (size_t i = 0; i < LIMIT_LABELS; i++) {
        labels[i] = (struct label){ slice_of(&names[i], 1), slice_of(NULL, 0) };
    }
    for (size_t i = 0; i < LIMIT_FIND; i++) {
        list[i] = (struct boundary){ .labels = labels, .label_count = LIMIT_LABELS };
    }
    union wire_msg out;
    union wire_msg in = { .found = { .boundaries = list, .count = LIMIT_FIND } };
    codec_there(WIRE_FOUND, &in, &out);
    cr_assert_eq(out.found.boundaries[LIMIT_FIND - 1].label_count, LIMIT_LABELS);
    codec_done();
}

CASE(codec_record, chunks)
{
    static struct chunk chunks[LIMIT_CHUNKS_PER_PAGE];
    for (uint32_t i = 0; i < LIMIT_CHUNKS_PER_PAGE; i++) {
        chunks[i] = (struct chunk){ .component = (enum component)(1 + i % 8),
                                    .flags = i % 4,
                                    .bytes = LIMIT_CHUNK_BYTES - i,
                                    .digest = sample_digest((uint8_t)i) };
    }
    union wire_msg out;
    union wire_msg in = { .chunks = { .first = 1048575,
                                      .chunks = chunks,
                                      .count = LIMIT_CHUNKS_PER_PAGE,
                                      .more = true } };
    codec_there(WIRE_CHUNKS, &in, &out);
    cr_assert_null(out.chunks.offsets);
    cr_assert(out.chunks.first == 1048575 && out.chunks.more);
    cr_assert_eq(out.chunks.count, LIMIT_CHUNKS_PER_PAGE);
    for (uint32_t i = 0; i < LIMIT_CHUNKS_PER_PAGE; i++) {
        const struct chunk *c = &out.chunks.chunks[i];
        cr_assert(c->component == chunks[i].component && c->flags == chunks[i].flags);
        cr_assert(c->bytes == chunks[i].bytes && digest_equal(&c->digest, &chunks[i].digest));
    }
    static const uint64_t offsets[] = { 4096, UINT64_MAX };
    in = (union wire_msg){ .chunks = { .chunks = chunks, .count = 2, .offsets = offsets } };
    codec_there(WIRE_CHUNKS, &in, &out);
    cr_assert(out.chunks.offsets[0] == 4096 && out.chunks.offsets[1] == UINT64_MAX);
    in = (union wire_msg){ .chunks = { 0 } };
    codec_there(WIRE_CHUNKS, &in, &out);
    cr_assert(out.chunks.count == 0 && !out.chunks.more);
    codec_done();
}

/* ---- entries
 * ------------------------------------------------------------------------------------- */

static void codec_same_entry(const struct entry *a, const struct entry *b)
{
    codec_same_slice(a->path, b->path);
    cr_assert(a->id == b->id && a->flags == b->flags && a->kind == b->kind);
    cr_assert(a->dtype == b->dtype && a->rank == b->rank && a->bytes == b->bytes);
    for (uint32_t i = 0; i < a->rank; i++) {
        cr_assert_eq(a->shape[i], b->shape[i]);
    }
    cr_assert(a->first_chunk == b->first_chunk && a->offset_bytes == b->offset_bytes);
    codec_same_slice(a->value, b->value);
    cr_assert(digest_equal(&a->digest, &b->digest));
}

static void codec_entries(const struct entry *entries, uint32_t count)
{
    union wire_msg out;
    union wire_msg in = {
        .entries = { .component = COMPONENT_MODEL, .page = 3, .entries = entries, .count = count }
    };
    codec_there(WIRE_ENTRIES, &in, &out);
    cr_assert(out.entries.component == COMPONENT_MODEL && out.entries.page == 3);
    cr_assert_eq(out.entries.count, count);
    size_t bytes = 4; /* component and page */
    for (uint32_t i = 0; i < count; i++) {
        codec_same_entry(&entries[i], &out.entries.entries[i]);
        bytes += wire_entry_bytes(&entries[i]);
    }
    cr_assert_eq(codec_message().bytes, bytes);
}

static struct entry
codec_bits(const char *path, enum entry_kind kind, const void *bits, size_t bytes)
{
    struct entry e = {
        .path = slice_str(path), .kind = kind, .bytes = bytes, .value = slice_of(bits, bytes)
    };
    sample_redigest(&e);
    return e;
}

CASE(codec_record, entries_scalars)
{
    static const uint64_t snan64 = 0x7FF0000000000001;
    static const uint64_t minus0 = 0x8000000000000000;
    static const uint64_t denormal = 1;
    static const uint64_t most = UINT64_MAX;
    static const uint32_t snan32 = 0x7F800001;
    static const uint32_t minus0f = 0x80000000;
    const struct entry entries[] = {
        codec_bits("nan", ENTRY_F64, &snan64, 8),
        codec_bits("minus zero", ENTRY_F64, &minus0, 8),
        codec_bits("denormal", ENTRY_F64, &denormal, 8),
        codec_bits("most", ENTRY_U64, &most, 8),
        codec_bits("minus one", ENTRY_I64, &most, 8),
        codec_bits("nan32", ENTRY_F32, &snan32, 4),
        codec_bits("minus zero 32", ENTRY_F32, &minus0f, 4),
        codec_bits("true", ENTRY_BOOL, "\1", 1),
        codec_bits("false", ENTRY_BOOL, "\0", 1),
        codec_bits("empty string", ENTRY_STRING, "", 0),
        codec_bits("string", ENTRY_STRING, "\xF0\x9F\x98\x80", 4),
        codec_bits("bytes with NUL", ENTRY_BYTES, "a\0b", 3),
        codec_bits("no bytes", ENTRY_BYTES, "", 0),
        codec_bits("null", ENTRY_NULL, "", 0),
    };
    codec_entries(entries, sizeof entries / sizeof entries[0]);
    codec_done();
}

CASE(codec_record, entries_shapes)
{
    static const uint64_t zero[] = { 0 };
    static const uint64_t one[] = { 1 };
    static const uint64_t hole[] = { 3, 0, 2 };
    static const uint64_t sixteen[16] = { 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, UINT64_MAX };
    static const struct {
        uint32_t rank;
        const uint64_t *shape;
    } rows[] = { { 0, NULL }, { 1, zero }, { 1, one }, { 3, hole }, { 16, sixteen } };
    struct entry entries[5];
    for (size_t i = 0; i < 5; i++) {
        entries[i] = sample_tensor("t");
        entries[i].rank = rows[i].rank;
        entries[i].shape = rows[i].shape;
        entries[i].flags = (uint32_t)i % 4;
        entries[i].id = (entries[i].flags & ENTRY_HAS_ID) == 0 ? 0 : i == 1 ? 0 : UINT64_MAX;
    }
    entries[1].value = slice_of(NULL, 0);
    entries[1].bytes = 0;
    codec_entries(entries, 5);
    codec_done();
}

CASE(codec_record, entries_in_chunks)
{
    struct entry entries[3];
    for (uint32_t i = 0; i < 3; i++) {
        entries[i] = sample_tensor("t");
        entries[i].value = slice_of(NULL, 0);
        entries[i].first_chunk = i == 2 ? LIMIT_CHUNKS - 1 : 0;
        entries[i].offset_bytes = i * 64;
    }
    codec_entries(entries, 3);
    codec_done();
}

CASE(codec_record, every_dtype)
{
    struct entry entries[64];
    uint32_t count = 0;
    for (uint32_t code = 0; code < 100; code++) {
        if (dtype_find(code) != NULL) {
            entries[count] = sample_tensor("t");
            entries[count++].dtype = code;
        }
    }
    cr_assert_eq(count, 35);
    codec_entries(entries, count);
    codec_done();
}

/* The largest entry that there may be fits a message whatever is in it already. */
CASE(codec_record, one_large_entry_fits)
{
    static uint8_t value[LIMIT_SCALAR_BYTES];
    static char path[LIMIT_PATH_BYTES + 1];
    static uint64_t shape[LIMIT_RANK];
    memset(path, 'p', LIMIT_PATH_BYTES);
    for (size_t i = 0; i < LIMIT_RANK; i++) {
        shape[i] = UINT64_MAX;
    }
    struct entry big = sample_tensor(path);
    big.value = slice_of(value, sizeof value);
    big.bytes = sizeof value;
    big.rank = LIMIT_RANK;
    big.shape = shape;
    big.flags = ENTRY_HAS_ID;
    big.id = 1;
    codec_entries(&big, 1);
    /* A page is cut before LIMIT_ENTRIES_BYTES; then this one still goes in. */
    cr_assert_lt(wire_entry_bytes(&big) + 16, wire_type_limits(WIRE_ENTRIES)->message_max_bytes);
    static struct entry page[64];
    uint32_t count = 0;
    size_t bytes = 0;
    while (bytes + wire_entry_bytes(&big) <= LIMIT_ENTRIES_BYTES) {
        bytes += wire_entry_bytes(&big);
        page[count++] = big;
    }
    codec_entries(page, count);
    cr_assert_geq(count, 14);
    codec_done();
}

/* 4096 of the smallest entries: the worst ratio of memory to bytes that is legal. */
CASE(codec_record, a_full_page_of_tiny_entries)
{
    static struct entry page[LIMIT_ENTRIES_PER_PAGE];
    for (size_t i = 0; i < LIMIT_ENTRIES_PER_PAGE; i++) {
        page[i] = codec_bits("p", ENTRY_NULL, "", 0);
    }
    codec_entries(page, LIMIT_ENTRIES_PER_PAGE);
    codec_done();
}

CASE(codec_record, too_much_does_not_encode)
{
    static uint8_t value[LIMIT_SCALAR_BYTES];
    static struct entry page[20];
    struct err err = { 0 };
    for (size_t i = 0; i < 20; i++) {
        page[i] = codec_bits("p", ENTRY_BYTES, value, sizeof value);
    }
    union wire_msg in = { .entries = {
                              .component = COMPONENT_STATE, .entries = page, .count = 20 } };
    cr_assert_eq(wire_encode(WIRE_ENTRIES, 1, &in, 0, &codec_buf, &err), -CAIRN_EINVAL);
    cr_assert_eq(codec_buf.bytes, 0);
    cr_assert_not_null(strstr(err.msg, "ENTRIES"));
    codec_done();
}

/* What one side sends, the other side's rules accept. */
CASE(codec_record, decoded_entries_keep_the_rules)
{
    struct entry e = sample_tensor("w");
    union wire_msg out;
    union wire_msg in = { .entries = { .component = COMPONENT_MODEL, .entries = &e, .count = 1 } };
    codec_there(WIRE_ENTRIES, &in, &out);
    cr_assert_eq(rules_entry(COMPONENT_MODEL, &out.entries.entries[0], NULL), 0);
    codec_done();
}

/* Damaged bytes are refused or decode to something else, and never run outside the message (the
 * sanitizers look). */
CASE(codec_record, damaged_messages)
{
    unsigned seed = 99173;
    unsigned state = seed;
    struct entry entries[3] = { sample_tensor("one"),
                                sample_tensor("two"),
                                sample_tensor("three") };
    struct boundary b = sample_boundary();
    const union wire_msg in[2] = {
        { .entries = { .component = COMPONENT_MODEL, .entries = entries, .count = 3 } },
        { .described = { b } },
    };
    static const uint32_t types[2] = { WIRE_ENTRIES, WIRE_DESCRIBED };
    unsigned refused = 0;
    for (unsigned round = 0; round < 40000; round++) {
        union wire_msg out;
        unsigned which = round % 2;
        codec_buf.bytes = 0;
        cr_assert_eq(wire_encode(types[which], 1, &in[which], 0, &codec_buf, NULL), 0);
        struct slice message = codec_message();
        uint8_t *copy = malloc(message.bytes);
        cr_assert_not_null(copy);
        memcpy(copy, message.data, message.bytes);
        for (unsigned n = 1 + (unsigned)rand_r(&state) % 3; n > 0; n--) {
            copy[(size_t)rand_r(&state) % message.bytes] = (uint8_t)rand_r(&state);
        }
        size_t bytes =
            rand_r(&state) % 4 == 0 ? (size_t)rand_r(&state) % message.bytes : message.bytes;
        uint8_t *exact = malloc(bytes + 1);
        cr_assert_not_null(exact);
        memcpy(exact, copy, bytes);
        bump_fini(&codec_bump);
        bump_init(&codec_bump, wire_bump_cap((uint32_t)bytes));
        struct err err = { 0 };
        if (wire_decode(types[which], slice_of(exact, bytes), &codec_bump, &out, &err) < 0) {
            refused++;
            cr_assert_neq(err.msg[0], '\0', "seed %u round %u", seed, round);
        }
        free(exact);
        free(copy);
    }
    cr_assert_gt(refused, 10000);
    codec_done();
}
