/* raw.h: damage a closed store behind its back. */
#ifndef TEST_STORE_RAW_H
#define TEST_STORE_RAW_H

#include "fixture.h"
#include "store/key.h"

/* Change the bytes of the nth row (from 0) of a database, below the trailer's protection. */
void raw_flip(const struct fix *f, enum st_db db, unsigned nth, size_t byte);
void raw_delete(const struct fix *f, enum st_db db, unsigned nth);
/* The same, but it can be put back. */
struct raw_row {
    enum st_db db;
    uint8_t key[160];
    size_t key_bytes;
    void *value;
    size_t value_bytes;
};
struct raw_row raw_take(const struct fix *f, enum st_db db, unsigned nth);
void raw_give(const struct fix *f, struct raw_row *row);
/* A sound row, that is with a right trailer. */
void raw_put(const struct fix *f, enum st_db db, const struct key *key, struct slice value);
/* Rows of `step` about boundaries that are not there, in one transaction. */
void raw_put_steps(const struct fix *f, unsigned count);
void raw_drop(const struct fix *f, enum st_db db); /* the whole database */
unsigned raw_count(const struct fix *f, enum st_db db);
/* The same in the catalogue. */
void raw_put_catalogue(
    const struct fix *f, uint32_t uid, const char *name, struct slice value, bool sound);

/* Files: flip a bit at an offset (negative: from the end); flip in every place that has `text`. */
void raw_flip_file(const char *path, long long offset);
unsigned raw_flip_text(const char *path, const char *text);
void raw_truncate(const char *path, long long by);
void raw_segment_path(const struct fix *f, unsigned id, char ret_path[1024]);

#endif
