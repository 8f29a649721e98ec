/* key.h: the keys of the databases. Integers are big-endian, so that keys sort as numbers do. */
#ifndef STORE_KEY_H
#define STORE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "internal/slice.h"

/* The databases of a run's index, and of the catalogue. The numbers are in segment footers: they
 * never change. */
enum st_db {
    DB_META = 1,
    DB_BOUNDARY = 2,
    DB_COMPONENT = 3,
    DB_CHUNK = 4,
    DB_DIGEST = 5,
    DB_REF = 6,
    DB_STEP = 7,
    DB_SAVEID = 8,
    DB_LABEL = 9,
    DB_PIN = 10,
    DB_MARK = 11,
    DB_PRUNED = 12,    /* save ids that are PRUNED, in the order of what they named */
    DB_HOLE = 13,      /* places to give back */
    DB_CATALOGUE = 14, /* the only one of the catalogue: a row per run */
    DB_NR
};
#define DB_INDEX_NR DB_CATALOGUE /* one more than the last of an index */

struct key {
    uint8_t data[160];
    size_t bytes;
};

static inline struct slice key_slice(const struct key *k)
{
    return slice_of(k->data, k->bytes);
}

/* Big-endian integers in bytes; keys, fixed-size values and segment pages share them. */
void put_be32(uint8_t *at, uint32_t value);
void put_be64(uint8_t *at, uint64_t value);
uint32_t get_be32(const void *at);
uint64_t get_be64(const void *at);

struct key key_meta(const char *name);
struct key key_boundary(uint64_t seq);
struct key key_component(uint64_t seq, uint32_t rank, uint32_t component, uint32_t page);
struct key key_chunk(uint64_t segment, uint32_t index);
struct key key_digest(const uint8_t digest[16], uint32_t bytes, uint64_t segment, uint32_t index);
struct key key_ref(uint64_t segment, uint32_t index, uint64_t seq);
struct key key_step(uint64_t step, uint64_t seq);
struct key key_saveid(const uint8_t save_id[16], uint32_t rank);
struct key key_pruned(uint64_t seq, uint32_t rank);
struct key key_label(uint64_t seq, struct slice name); /* pins and marks: the name may be empty */
struct key key_run(uint32_t uid, struct slice name);

/* The parts of a key, in order. False when the length is wrong for its database. */
struct key_parts {
    uint64_t seq, segment, step;
    uint32_t rank, component, page, index, bytes, uid;
    const uint8_t *id; /* 16 bytes: digest or save id */
    struct slice name;
};
bool key_parse(enum st_db db, struct slice key, struct key_parts *ret);

#define KEY_TEXT_BYTES 200
/* "component seq 12 rank 0 optimizer page 3", for people. */
void key_text(enum st_db db, struct slice key, char ret_text[KEY_TEXT_BYTES]);
const char *key_db_name(enum st_db db);

#endif
