#include "store/key.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "record/digest.h"
#include "record/record.h"

void put_be32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

void put_be64(uint8_t *at, uint64_t value)
{
    put_be32(at, (uint32_t)(value >> 32));
    put_be32(at + 4, (uint32_t)value);
}

uint32_t get_be32(const void *at)
{
    const uint8_t *b = at;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
}

uint64_t get_be64(const void *at)
{
    return (uint64_t)get_be32(at) << 32 | get_be32((const uint8_t *)at + 4);
}

static void key_add_bytes(struct key *k, const void *data, size_t bytes)
{
    assert(bytes <= sizeof k->data - k->bytes);
    if (bytes > 0) {
        memcpy(k->data + k->bytes, data, bytes);
    }
    k->bytes += bytes;
}

static void key_add_u32(struct key *k, uint32_t value)
{
    uint8_t be[4];
    put_be32(be, value);
    key_add_bytes(k, be, sizeof be);
}

static void key_add_u64(struct key *k, uint64_t value)
{
    uint8_t be[8];
    put_be64(be, value);
    key_add_bytes(k, be, sizeof be);
}

struct key key_meta(const char *name)
{
    struct key k = { .bytes = 0 };
    key_add_bytes(&k, name, strlen(name));
    return k;
}

struct key key_boundary(uint64_t seq)
{
    struct key k = { .bytes = 0 };
    key_add_u64(&k, seq);
    return k;
}

struct key key_component(uint64_t seq, uint32_t rank, uint32_t component, uint32_t page)
{
    struct key k = key_boundary(seq);
    uint8_t id = (uint8_t)component;
    key_add_u32(&k, rank);
    key_add_bytes(&k, &id, 1);
    key_add_u32(&k, page);
    return k;
}

struct key key_chunk(uint64_t segment, uint32_t index)
{
    struct key k = key_boundary(segment);
    key_add_u32(&k, index);
    return k;
}

struct key key_digest(const uint8_t digest[16], uint32_t bytes, uint64_t segment, uint32_t index)
{
    struct key k = { .bytes = 0 };
    key_add_bytes(&k, digest, 16);
    key_add_u32(&k, bytes);
    key_add_u64(&k, segment);
    key_add_u32(&k, index);
    return k;
}

struct key key_ref(uint64_t segment, uint32_t index, uint64_t seq)
{
    struct key k = key_chunk(segment, index);
    key_add_u64(&k, seq);
    return k;
}

struct key key_step(uint64_t step, uint64_t seq)
{
    struct key k = key_boundary(step);
    key_add_u64(&k, seq);
    return k;
}

struct key key_saveid(const uint8_t save_id[16], uint32_t rank)
{
    struct key k = { .bytes = 0 };
    key_add_bytes(&k, save_id, 16);
    key_add_u32(&k, rank);
    return k;
}

struct key key_pruned(uint64_t seq, uint32_t rank)
{
    struct key k = key_boundary(seq);
    key_add_u32(&k, rank);
    return k;
}

struct key key_label(uint64_t seq, struct slice name)
{
    struct key k = key_boundary(seq);
    key_add_bytes(&k, name.data, name.bytes);
    return k;
}

struct key key_run(uint32_t uid, struct slice name)
{
    struct key k = { .bytes = 0 };
    key_add_u32(&k, uid);
    key_add_bytes(&k, name.data, name.bytes);
    return k;
}

/* What a key of each database consists of; `exact` false: a name follows. */
static const struct {
    const char *name;
    size_t bytes;
    bool exact;
} key_shape[DB_NR] = {
    [DB_META] = { "meta", 0, false },           [DB_BOUNDARY] = { "boundary", 8, true },
    [DB_COMPONENT] = { "component", 17, true }, [DB_CHUNK] = { "chunk", 12, true },
    [DB_DIGEST] = { "digest", 32, true },       [DB_REF] = { "ref", 20, true },
    [DB_STEP] = { "step", 16, true },           [DB_SAVEID] = { "saveid", 20, true },
    [DB_LABEL] = { "label", 8, false },         [DB_PIN] = { "pin", 8, false },
    [DB_MARK] = { "mark", 8, false },           [DB_PRUNED] = { "pruned", 12, true },
    [DB_HOLE] = { "hole", 12, true },           [DB_CATALOGUE] = { "run", 5, false },
};

const char *key_db_name(enum st_db db)
{
    return db > 0 && db < DB_NR ? key_shape[db].name : "?";
}

static bool key_shape_ok(enum st_db db, struct slice key)
{
    if (db == 0 || db >= DB_NR) {
        return false;
    }
    return key_shape[db].exact ? key.bytes == key_shape[db].bytes
                               : key.bytes >= key_shape[db].bytes;
}

static bool key_parse_run(struct slice key, struct key_parts *ret)
{
    if (key.bytes < 5 || key.bytes > 4 + LIMIT_RUN_NAME_BYTES) {
        return false;
    }
    const uint8_t *at = key.data;
    *ret = (struct key_parts){ .uid = get_be32(at), .name = slice_of(at + 4, key.bytes - 4) };
    return true;
}

bool key_parse(enum st_db db, struct slice key, struct key_parts *ret)
{
    const uint8_t *at = key.data;
    if (!key_shape_ok(db, key)) {
        return false;
    }
    *ret = (struct key_parts){ .seq = 0 };
    switch (db) {
    case DB_META:
        ret->name = key;
        break;
    case DB_BOUNDARY:
        ret->seq = get_be64(at);
        break;
    case DB_COMPONENT:
        ret->seq = get_be64(at);
        ret->rank = get_be32(at + 8);
        ret->component = at[12];
        ret->page = get_be32(at + 13);
        break;
    case DB_CHUNK:
    case DB_HOLE:
    case DB_REF:
        ret->segment = get_be64(at);
        ret->index = get_be32(at + 8);
        ret->seq = db == DB_REF ? get_be64(at + 12) : 0;
        break;
    case DB_DIGEST:
        ret->id = at;
        ret->bytes = get_be32(at + 16);
        ret->segment = get_be64(at + 20);
        ret->index = get_be32(at + 28);
        break;
    case DB_SAVEID:
        ret->id = at;
        ret->rank = get_be32(at + 16);
        break;
    case DB_PRUNED:
        ret->seq = get_be64(at);
        ret->rank = get_be32(at + 8);
        break;
    case DB_STEP:
        ret->step = get_be64(at);
        ret->seq = get_be64(at + 8);
        break;
    case DB_LABEL:
    case DB_PIN:
    case DB_MARK:
        ret->seq = get_be64(at);
        ret->name = slice_of(at + 8, key.bytes - 8);
        break;
    case DB_CATALOGUE:
        return key_parse_run(key, ret);
    case DB_NR:
        return false;
    }
    return true;
}

/* A digest or a save id, and the number behind it. */
static int key_text_id(enum st_db db, const struct key_parts *p, char *ret_text, size_t bytes)
{
    char hex[33];
    struct digest d;
    memcpy(d.byte, p->id, sizeof d.byte);
    digest_hex(&d, hex);
    return db == DB_DIGEST ? snprintf(ret_text,
                                      bytes,
                                      "%s bytes %u segment %016" PRIx64 " index %u",
                                      hex,
                                      p->bytes,
                                      p->segment,
                                      p->index)
                           : snprintf(ret_text, bytes, "%s rank %u", hex, p->rank);
}

static int key_text_name(enum st_db db, const struct key_parts *p, char *ret_text, size_t bytes)
{
    int name_bytes = (int)(p->name.bytes < 128 ? p->name.bytes : 128);
    const char *name = name_bytes == 0 ? "" : p->name.data;
    if (db == DB_CATALOGUE) {
        return snprintf(ret_text, bytes, "uid %" PRIu32 " '%.*s'", p->uid, name_bytes, name);
    }
    return db == DB_META
               ? snprintf(ret_text, bytes, "'%.*s'", name_bytes, name)
               : snprintf(ret_text, bytes, "seq %" PRIu64 " '%.*s'", p->seq, name_bytes, name);
}

static int key_text_numbers(enum st_db db, const struct key_parts *p, char *ret_text, size_t bytes)
{
    if (db == DB_COMPONENT) {
        const char *component = component_name(p->component);
        return snprintf(ret_text,
                        bytes,
                        "seq %" PRIu64 " rank %u %s page %u",
                        p->seq,
                        p->rank,
                        component,
                        p->page);
    }
    if (db == DB_CHUNK || db == DB_HOLE || db == DB_REF) {
        int n = snprintf(ret_text, bytes, "segment %016" PRIx64 " index %u", p->segment, p->index);
        return db != DB_REF || n < 0
                   ? n
                   : snprintf(ret_text + n, bytes - (size_t)n, " seq %" PRIu64, p->seq);
    }
    if (db == DB_PRUNED) {
        return snprintf(ret_text, bytes, "seq %" PRIu64 " rank %u", p->seq, p->rank);
    }
    if (db == DB_STEP) {
        return snprintf(ret_text, bytes, "step %" PRIu64 " seq %" PRIu64, p->step, p->seq);
    }
    return snprintf(ret_text, bytes, "seq %" PRIu64, p->seq);
}

static void key_text_body(enum st_db db, const struct key_parts *p, char *ret_text, size_t bytes)
{
    int n;
    if (p->id != NULL) {
        n = key_text_id(db, p, ret_text, bytes);
    } else if (!key_shape[db].exact) {
        n = key_text_name(db, p, ret_text, bytes);
    } else {
        n = key_text_numbers(db, p, ret_text, bytes);
    }
    if (n < 0) {
        ret_text[0] = '\0';
    }
}

void key_text(enum st_db db, struct slice key, char ret_text[KEY_TEXT_BYTES])
{
    struct key_parts parts;
    int n = snprintf(ret_text, KEY_TEXT_BYTES, "%s ", key_db_name(db));
    assert(n > 0 && n < KEY_TEXT_BYTES);
    if (key_parse(db, key, &parts)) {
        key_text_body(db, &parts, ret_text + n, KEY_TEXT_BYTES - (size_t)n);
    } else {
        (void)snprintf(ret_text + n, KEY_TEXT_BYTES - (size_t)n, "key of %zu bytes", key.bytes);
    }
}
