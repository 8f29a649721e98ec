/* One case per rule: bytes that no encoder of ours makes, and the field that the refusal names. */
#include <string.h>

#include "raw.h"
#include "sample.h"
#include "support/case.h"
#include "wire/codec.h"

static void reject(uint32_t type, const struct raw *r, int code, const char *words)
{
    struct bump b;
    union wire_msg msg;
    struct err err = { 0 };
    bump_init(&b, 1 << 20);
    int rc = wire_decode(type, raw_slice(r), &b, &msg, &err);
    cr_assert_eq(rc, code, "%s: %d %s", words, rc, err.msg);
    cr_assert_eq(err.code, code);
    cr_assert_not_null(strstr(err.msg, words), "expected \"%s\" in \"%s\"", words, err.msg);
    cr_assert_eq(strncmp(err.msg, wire_type_limits(type)->name, 4), 0, "%s", err.msg);
    bump_fini(&b);
}

static void accept(uint32_t type, const struct raw *r)
{
    struct bump b;
    union wire_msg msg;
    struct err err = { 0 };
    bump_init(&b, 1 << 20);
    cr_assert_eq(wire_decode(type, raw_slice(r), &b, &msg, &err), 0, "%s", err.msg);
    bump_fini(&b);
}

/* HELLO with its three fields; `skip` leaves one out. */
static struct raw raw_hello(uint32_t skip)
{
    struct raw r = { .bytes = 0 };
    if (skip != 1) {
        raw_number(&r, 1, 1);
    }
    if (skip != 2) {
        raw_number(&r, 2, 1);
    }
    if (skip != 3) {
        raw_text(&r, 3, "test");
    }
    return r;
}

CASE(reject, schema_unknown_field)
{
    struct raw r = raw_hello(0);
    accept(WIRE_HELLO, &r);
    raw_number(&r, 4, 1);
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "HELLO: field 4: unknown");
    r = raw_hello(0);
    raw_number(&r, 0, 1); /* protobuf-c takes field 0 */
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "field 0: unknown");
    struct raw empty = { .bytes = 0 };
    accept(WIRE_PING, &empty);
    r = raw_hello(0);
    struct bump b;
    union wire_msg msg;
    bump_init(&b, 1 << 20); /* PING has no message at all */
    cr_assert_eq(wire_decode(WIRE_PING, raw_slice(&r), &b, &msg, NULL), -CAIRN_EPROTO);
    bump_fini(&b);
}

CASE(reject, schema_missing_field)
{
    static const char *const words[] = { "version_min: missing",
                                         "version_max: missing",
                                         "client: missing" };
    for (uint32_t i = 0; i < 3; i++) {
        struct raw r = raw_hello(i + 1);
        reject(WIRE_HELLO, &r, -CAIRN_EPROTO, words[i]);
    }
    struct raw none = { .bytes = 0 };
    reject(WIRE_HELLO, &none, -CAIRN_EPROTO, "version_min: missing");
}

CASE(reject, schema_field_twice)
{
    struct raw r = raw_hello(0);
    raw_number(&r, 1, 1);
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "version_min: given twice");
}

CASE(reject, schema_wire_type)
{
    struct raw r = raw_hello(1);
    raw_text(&r, 1, "x");
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "version_min: of another wire type");
    r = raw_hello(1);
    raw_key(&r, 1, 5);
    raw_bytes(&r, 0, "xx", 2);
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "version_min: of another wire type");
    r = raw_hello(0);
    raw_key(&r, 3, 3); /* a group */
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "client: of another wire type");
}

CASE(reject, schema_numbers)
{
    struct raw r = raw_hello(2);
    raw_number(&r, 2, UINT64_C(1) << 32); /* protobuf-c cuts it to 0 */
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "version_max: more than 32 bits");
    r = (struct raw){ .bytes = 0 };
    raw_number(&r, 1, 2);
    reject(WIRE_RUN_LIST, &r, -CAIRN_EPROTO, "all: neither 0 nor 1");
    r = (struct raw){ .bytes = 0 };
    raw_number(&r, 1, 9);
    raw_number(&r, 2, 0);
    reject(WIRE_MANIFEST, &r, -CAIRN_EPROTO, "component: a value that is not defined");
    r.data[1] = 0;
    reject(WIRE_MANIFEST, &r, -CAIRN_EPROTO, "component: a value that is not defined");
    r = (struct raw){ .bytes = 0 };
    raw_number(&r, 1, UINT64_MAX); /* -1 */
    raw_number(&r, 2, 0);
    reject(WIRE_BEGUN, &r, -CAIRN_EPROTO, "state: a value that is not defined");
    r = (struct raw){ .bytes = 0 };
    raw_number(&r, 1, 32); /* one more than the last error */
    raw_text(&r, 4, "x");
    raw_number(&r, 5, 0);
    reject(WIRE_ERROR, &r, -CAIRN_EPROTO, "code: a value that is not defined");
}

CASE(reject, schema_varints)
{
    struct raw r = raw_hello(1);
    raw_key(&r, 1, 0);
    for (int i = 0; i < 10; i++) {
        raw_byte(&r, 0xFF);
    }
    raw_byte(&r, 0x01); /* eleven bytes */
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "version_min: malformed");
    r = (struct raw){ .bytes = 0 };
    raw_number(&r, 1, 0);
    raw_key(&r, 2, 0);
    for (int i = 0; i < 9; i++) {
        raw_byte(&r, 0xFF);
    }
    raw_byte(&r, 0x02); /* a 65th bit */
    reject(WIRE_BEGUN, &r, -CAIRN_EPROTO, "seq: malformed");
    r.data[r.bytes - 1] = 0x01;
    accept(WIRE_BEGUN, &r);
    r.bytes--; /* cut */
    reject(WIRE_BEGUN, &r, -CAIRN_EPROTO, "seq: malformed");
    r = raw_hello(0);
    raw_byte(&r, 0x80); /* a key that is cut */
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "malformed");
}

CASE(reject, schema_lengths)
{
    struct raw r = raw_hello(3);
    raw_key(&r, 3, 2);
    raw_varint(&r, 5);
    raw_byte(&r, 'x');
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "client: longer than the message");
    r = raw_hello(3);
    raw_key(&r, 3, 2);
    raw_varint(&r, UINT64_MAX);
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "client: longer than the message");
}

CASE(reject, texts)
{
    static char text[2000];
    memset(text, 'x', sizeof text);
    struct raw r = raw_hello(3);
    raw_bytes(&r, 3, "a\0b", 3);
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "client: not UTF-8 without NUL");
    r = raw_hello(3);
    raw_text(&r, 3, "\xC3(");
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "client: not UTF-8 without NUL");
    r = raw_hello(3);
    raw_bytes(&r, 3, text, 255);
    accept(WIRE_HELLO, &r);
    r = raw_hello(3);
    raw_bytes(&r, 3, text, 256);
    reject(WIRE_HELLO, &r, -CAIRN_ELIMIT, "client: 256 bytes, at most 255");
    static const uint32_t runs[] = { WIRE_RUN_OPEN, WIRE_RUN_DROP, WIRE_VERIFY };
    for (size_t i = 0; i < 3; i++) {
        r = (struct raw){ .bytes = 0 };
        raw_bytes(&r, 1, text, 256);
        reject(runs[i], &r, -CAIRN_ELIMIT, "run: 256 bytes");
    }
    r = (struct raw){ .bytes = 0 };
    raw_text(&r, 1, "r");
    raw_bytes(&r, 2, text, 513);
    raw_number(&r, 3, 0);
    reject(WIRE_DESCRIBE, &r, -CAIRN_ELIMIT, "selector: 513 bytes");
    r = (struct raw){ .bytes = 0 };
    raw_number(&r, 1, 1);
    raw_bytes(&r, 4, text, 1024);
    raw_number(&r, 5, 0);
    reject(WIRE_ERROR, &r, -CAIRN_ELIMIT, "text: 1024 bytes");
}

CASE(reject, versions)
{
    struct raw r = { .bytes = 0 };
    raw_number(&r, 1, 0);
    raw_number(&r, 2, 1);
    raw_text(&r, 3, "x");
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "version_min");
    r.data[1] = 2;
    reject(WIRE_HELLO, &r, -CAIRN_EPROTO, "version_min");
}

/* ---- find, load
 * ----------------------------------------------------------------------------------- */

CASE(reject, find)
{
    struct raw base = { .bytes = 0 };
    raw_text(&base, 1, "r");
    reject(WIRE_FIND, &base, -CAIRN_EPROTO, "save_id: exactly one");
    struct raw r = base;
    raw_zeros(&r, 2, 16);
    accept(WIRE_FIND, &r);
    raw_text(&r, 4, "latest");
    reject(WIRE_FIND, &r, -CAIRN_EPROTO, "save_id: exactly one");
    r = base;
    raw_zeros(&r, 2, 15);
    reject(WIRE_FIND, &r, -CAIRN_EPROTO, "save_id: 15 bytes, expected 16");
    r = base;
    raw_zeros(&r, 2, 16);
    raw_number(&r, 5, 1);
    reject(WIRE_FIND, &r, -CAIRN_EPROTO, "max: given without need");
    r = base;
    raw_text(&r, 4, "latest");
    reject(WIRE_FIND, &r, -CAIRN_EPROTO, "max: wrong");
    struct raw with = r;
    raw_number(&with, 5, 0);
    reject(WIRE_FIND, &with, -CAIRN_ELIMIT, "max: 0");
    with = r;
    raw_number(&with, 5, 1025);
    reject(WIRE_FIND, &with, -CAIRN_ELIMIT, "max: 1025");
    with = r;
    raw_number(&with, 5, 1024);
    accept(WIRE_FIND, &with);
    raw_number(&with, 3, 0);
    reject(WIRE_FIND, &with, -CAIRN_EPROTO, "rank: wrong");
}

CASE(reject, load)
{
    static const uint32_t credits[] = { 0, 17 };
    for (size_t i = 0; i < 2; i++) {
        struct raw r = { .bytes = 0 };
        raw_number(&r, 1, 0);
        raw_number(&r, 2, 1);
        raw_number(&r, 3, credits[i]);
        reject(WIRE_LOAD, &r, -CAIRN_ELIMIT, "credits");
    }
    struct raw r = { .bytes = 0 };
    raw_number(&r, 1, 0);
    reject(WIRE_RELEASE, &r, -CAIRN_EPROTO, "credits: 0");
    raw_number(&r, 2, 0);
    reject(WIRE_CHUNK_LIST, &r, -CAIRN_EPROTO, "arena: 0");
}

/* ---- chunks, seal, boundaries
 * ---------------------------------------------------------------------- */

static struct raw raw_chunk(size_t digest_bytes)
{
    struct raw r = { .bytes = 0 };
    raw_number(&r, 1, COMPONENT_MODEL);
    raw_number(&r, 2, 0);
    raw_number(&r, 3, 100);
    raw_zeros(&r, 4, digest_bytes);
    return r;
}

CASE(reject, chunks)
{
    struct raw good = raw_chunk(16);
    struct raw bad = raw_chunk(17);
    struct raw r = { .bytes = 0 };
    raw_number(&r, 1, 0);
    raw_number(&r, 3, 0);
    raw_sub(&r, 2, &good);
    accept(WIRE_CHUNKS, &r);
    raw_sub(&r, 2, &bad);
    reject(WIRE_CHUNKS, &r, -CAIRN_EPROTO, "CHUNKS: chunks[1]: digest: 17 bytes");
    r = (struct raw){ .bytes = 0 };
    raw_number(&good, 9, 1); /* unknown, below */
    raw_number(&r, 1, 0);
    raw_number(&r, 3, 0);
    raw_sub(&r, 2, &good);
    reject(WIRE_CHUNKS, &r, -CAIRN_EPROTO, "CHUNKS: chunks[0]: field 9: unknown");
    struct raw empty = { .bytes = 0 };
    r = (struct raw){ .bytes = 0 };
    raw_number(&r, 1, 0);
    raw_number(&r, 3, 0);
    raw_sub(&r, 2, &empty);
    reject(WIRE_CHUNKS, &r, -CAIRN_EPROTO, "chunks[0]: component: missing");
}

static struct raw raw_info(uint32_t component, size_t type_bytes)
{
    static char text[300];
    struct raw r = { .bytes = 0 };
    memset(text, 't', sizeof text);
    raw_number(&r, 1, component);
    raw_bytes(&r, 2, text, type_bytes);
    for (uint32_t field = 3; field <= 6; field++) {
        raw_number(&r, field, 0);
    }
    raw_zeros(&r, 7, 16);
    return r;
}

static struct raw raw_seal(void)
{
    struct raw r = { .bytes = 0 };
    raw_zeros(&r, 2, 16);
    return r;
}

CASE(reject, seal)
{
    struct raw model = raw_info(COMPONENT_MODEL, 255);
    struct raw state = raw_info(COMPONENT_STATE, 0);
    struct raw wide = raw_info(COMPONENT_MODEL, 256);
    struct raw r = raw_seal();
    raw_sub(&r, 1, &model);
    raw_sub(&r, 1, &state);
    accept(WIRE_SEAL, &r);
    raw_sub(&r, 1, &state);
    reject(WIRE_SEAL, &r, -CAIRN_EPROTO, "components[2]: component: not in ascending order");
    r = raw_seal();
    raw_sub(&r, 1, &wide);
    reject(WIRE_SEAL, &r, -CAIRN_ELIMIT, "components[0]: type: 256 bytes");
    r = raw_seal();
    for (int i = 0; i < 9; i++) {
        raw_sub(&r, 1, &state);
    }
    reject(WIRE_SEAL, &r, -CAIRN_ELIMIT, "components: too many");
    r = (struct raw){ .bytes = 0 };
    raw_zeros(&r, 2, 0);
    reject(WIRE_SEAL, &r, -CAIRN_EPROTO, "root: 0 bytes");
}

static struct raw raw_boundary(size_t save_id_bytes, const struct raw *label, int labels)
{
    struct raw r = { .bytes = 0 };
    for (uint32_t field = 1; field <= 17; field++) {
        if (field == 4) {
            raw_zeros(&r, field, save_id_bytes);
        } else {
            raw_number(&r, field, 0);
        }
    }
    raw_zeros(&r, 18, 16);
    for (int i = 0; i < labels; i++) {
        raw_sub(&r, 19, label);
    }
    return r;
}

static struct raw raw_label(size_t name_bytes, size_t value_bytes)
{
    static char text[300];
    struct raw r = { .bytes = 0 };
    memset(text, 'l', sizeof text);
    raw_bytes(&r, 1, text, name_bytes);
    raw_bytes(&r, 2, text, value_bytes);
    return r;
}

static void reject_boundary(const struct raw *boundary, int code, const char *words)
{
    struct raw r = { .bytes = 0 };
    raw_text(&r, 1, "r");
    raw_sub(&r, 2, boundary);
    reject(WIRE_BEGIN, &r, code, words);
}

CASE(reject, boundaries)
{
    struct raw label = raw_label(64, 256);
    struct raw b = raw_boundary(16, &label, 2);
    struct raw r = { .bytes = 0 };
    raw_text(&r, 1, "r");
    raw_sub(&r, 2, &b);
    accept(WIRE_BEGIN, &r);
    b = raw_boundary(15, &label, 0);
    reject_boundary(&b, -CAIRN_EPROTO, "boundary: save_id: 15 bytes");
    label = raw_label(1, 1);
    b = raw_boundary(16, &label, 65);
    reject_boundary(&b, -CAIRN_ELIMIT, "boundary: labels: too many");
    label = raw_label(65, 0);
    b = raw_boundary(16, &label, 1);
    reject_boundary(&b, -CAIRN_ELIMIT, "boundary: labels[0]: name: 65 bytes");
    label = raw_label(1, 257);
    b = raw_boundary(16, &label, 1);
    reject_boundary(&b, -CAIRN_ELIMIT, "boundary: labels[0]: value: 257 bytes");
    b.bytes -= 1; /* cut inside the label */
    reject_boundary(&b, -CAIRN_EPROTO, "boundary: labels: longer than the message");
}

/* ---- entries
 * --------------------------------------------------------------------------------------- */

enum raw_entry_field {
    RAW_PATH = 1,
    RAW_KIND = 2,
    RAW_TRAINABLE = 4,
    RAW_DTYPE = 5,
    RAW_RANK = 6,
    RAW_SHAPE = 7,
    RAW_BYTES = 8,
    RAW_VALUE = 9,
    RAW_CHUNK = 10,
    RAW_OFFSET = 11,
    RAW_DIGEST = 12
};

/* A U8 tensor [4] with its value inside, without the fields whose bits are in `skip`. */
static struct raw raw_entry(unsigned skip)
{
    struct raw r = { .bytes = 0 };
    static const struct {
        uint32_t field;
        uint64_t value;
    } numbers[] = { { RAW_KIND, ENTRY_TENSOR },
                    { RAW_TRAINABLE, 1 },
                    { RAW_DTYPE, 27 },
                    { RAW_RANK, 1 },
                    { RAW_BYTES, 4 } };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if ((skip >> numbers[i].field & 1) == 0) {
            raw_number(&r, numbers[i].field, numbers[i].value);
        }
    }
    static const struct {
        uint32_t field;
        size_t bytes;
        const char *data;
    } texts[] = { { RAW_PATH, 1, "p" },
                  { RAW_SHAPE, 1, "\4" },
                  { RAW_VALUE, 4, "abcd" },
                  { RAW_DIGEST, 16, "0123456789abcdef" } };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if ((skip >> texts[i].field & 1) == 0) {
            raw_bytes(&r, texts[i].field, texts[i].data, texts[i].bytes);
        }
    }
    return r;
}

static struct raw raw_page(const struct raw *entry)
{
    struct raw r = { .bytes = 0 };
    struct raw first = raw_entry(0);
    raw_number(&r, 1, COMPONENT_MODEL);
    raw_number(&r, 2, 0);
    raw_sub(&r, 3, &first);
    raw_sub(&r, 3, entry);
    return r;
}

static void reject_entry(const struct raw *entry, int code, const char *words)
{
    char whole[128] = "ENTRIES: entries[1]: ";
    struct raw page = raw_page(entry);
    strncat(whole, words, sizeof whole - strlen(whole) - 1);
    reject(WIRE_ENTRIES, &page, code, whole);
}

CASE(reject, entry_fields)
{
    struct raw e = raw_entry(0);
    struct raw page = raw_page(&e);
    accept(WIRE_ENTRIES, &page);
    static const struct {
        uint32_t field;
        const char *words;
    } needed[] = { { RAW_PATH, "path: missing" },           { RAW_KIND, "kind: missing" },
                   { RAW_TRAINABLE, "trainable: missing" }, { RAW_RANK, "rank: missing" },
                   { RAW_BYTES, "bytes: missing" },         { RAW_DIGEST, "digest: missing" },
                   { RAW_DTYPE, "dtype: missing" },         { RAW_VALUE, "first_chunk: missing" } };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        e = raw_entry(1u << needed[i].field);
        reject_entry(&e, -CAIRN_EPROTO, needed[i].words);
    }
    e = raw_entry(0);
    raw_number(&e, 18, 1);
    reject_entry(&e, -CAIRN_EPROTO, "field 18: unknown");
    e = raw_entry(1u << RAW_DTYPE);
    raw_number(&e, RAW_DTYPE, 15);
    reject_entry(&e, -CAIRN_EPROTO, "dtype: a value that is not defined");
    e = raw_entry(1u << RAW_KIND);
    raw_number(&e, RAW_KIND, 10);
    reject_entry(&e, -CAIRN_EPROTO, "kind: a value that is not defined");
    e = raw_entry(0);
    raw_key(&e, 3, 1); /* fixed64 without its eight bytes */
    raw_byte(&e, 1);
    reject_entry(&e, -CAIRN_EPROTO, "id: cut short");
    e = raw_entry(1u << RAW_DIGEST);
    raw_zeros(&e, RAW_DIGEST, 15);
    reject_entry(&e, -CAIRN_EPROTO, "digest: 15 bytes");
}

CASE(reject, entry_paths)
{
    struct raw e = raw_entry(1u << RAW_PATH);
    raw_text(&e, RAW_PATH, "");
    reject_entry(&e, -CAIRN_EPROTO, "path: empty");
    e = raw_entry(1u << RAW_PATH);
    raw_bytes(&e, RAW_PATH, "a\0", 2);
    reject_entry(&e, -CAIRN_EPROTO, "path: not UTF-8");
    e = raw_entry(1u << RAW_PATH);
    raw_text(&e, RAW_PATH, "\xED\xA0\x80");
    reject_entry(&e, -CAIRN_EPROTO, "path: not UTF-8");
}

CASE(reject, entry_shapes)
{
    struct raw e = raw_entry(1u << RAW_SHAPE); /* rank 1 without a dimension */
    reject_entry(&e, -CAIRN_EPROTO, "rank: not the number of dimensions");
    e = raw_entry(1u << RAW_RANK);
    raw_number(&e, RAW_RANK, 2);
    reject_entry(&e, -CAIRN_EPROTO, "rank: not the number of dimensions");
    e = raw_entry(1u << RAW_SHAPE);
    raw_bytes(&e, RAW_SHAPE, "\x84", 1); /* a varint that is cut */
    reject_entry(&e, -CAIRN_EPROTO, "shape: malformed");
    e = raw_entry(0);
    raw_bytes(&e, RAW_SHAPE, "\4", 1);
    reject_entry(&e, -CAIRN_EPROTO, "shape: given twice");
    e = raw_entry(1u << RAW_SHAPE);
    raw_number(&e, RAW_SHAPE, 4); /* not packed */
    reject_entry(&e, -CAIRN_EPROTO, "shape: of another wire type");
    e = raw_entry(1u << RAW_SHAPE | 1u << RAW_RANK);
    raw_zeros(&e, RAW_SHAPE, 33);
    raw_number(&e, RAW_RANK, 33);
    reject_entry(&e, -CAIRN_ELIMIT, "shape: too many");
    e = raw_entry(1u << RAW_KIND);
    raw_number(&e, RAW_KIND, ENTRY_BYTES);
    reject_entry(&e, -CAIRN_EPROTO, "dtype: given without need");
    e = raw_entry(1u << RAW_KIND | 1u << RAW_DTYPE);
    raw_number(&e, RAW_KIND, ENTRY_BYTES);
    reject_entry(&e, -CAIRN_EPROTO, "rank: not the number of dimensions");
}

CASE(reject, entry_places)
{
    struct raw e = raw_entry(1u << RAW_VALUE);
    raw_text(&e, RAW_VALUE, "abc");
    reject_entry(&e, -CAIRN_EPROTO, "value: not as long");
    e = raw_entry(1u << RAW_BYTES | 1u << RAW_VALUE);
    raw_number(&e, RAW_BYTES, 0);
    struct raw page = raw_page(&e);
    accept(WIRE_ENTRIES, &page);
    raw_text(&e, RAW_VALUE, ""); /* nothing is written as nothing */
    reject_entry(&e, -CAIRN_EPROTO, "value: not as long");
    e = raw_entry(0);
    raw_number(&e, RAW_CHUNK, 0);
    reject_entry(&e, -CAIRN_EPROTO, "first_chunk: given without need");
    e = raw_entry(0);
    raw_number(&e, RAW_OFFSET, 0);
    reject_entry(&e, -CAIRN_EPROTO, "offset_bytes: given without need");
    e = raw_entry(1u << RAW_VALUE);
    raw_number(&e, RAW_CHUNK, 0);
    page = raw_page(&e);
    accept(WIRE_ENTRIES, &page);
}

CASE(reject, unknown_types_and_long_messages)
{
    struct bump b;
    union wire_msg msg;
    struct err err = { 0 };
    static uint8_t big[65537];
    bump_init(&b, 1 << 20);
    cr_assert_eq(wire_decode(6, slice_of(NULL, 0), &b, &msg, &err), -CAIRN_EPROTO);
    cr_assert_eq(wire_decode(WIRE_HELLO, slice_of(big, sizeof big), &b, &msg, &err), -CAIRN_EPROTO);
    bump_fini(&b);
}

/* A message that unpacks to more than the caller allows. */
CASE(reject, over_the_cap)
{
    struct raw e = raw_entry(0);
    struct raw page = raw_page(&e);
    struct bump b;
    union wire_msg msg;
    struct err err = { 0 };
    for (size_t cap = 0; cap < 700; cap += 50) {
        bump_init(&b, cap);
        cr_assert_eq(wire_decode(WIRE_ENTRIES, raw_slice(&page), &b, &msg, &err), -CAIRN_ELIMIT);
        bump_fini(&b);
    }
    bump_init(&b, wire_bump_cap((uint32_t)page.bytes));
    cr_assert_eq(wire_decode(WIRE_ENTRIES, raw_slice(&page), &b, &msg, &err), 0);
    bump_fini(&b);
}
