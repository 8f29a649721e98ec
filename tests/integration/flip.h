/* flip.h: what is stored of a run, byte by byte: the rows of its index and the bytes of a segment,
 * each of which can be changed behind the back of whoever looks, and put back. */
#ifndef INTEGRATION_FLIP_H
#define INTEGRATION_FLIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"
#include "store/key.h"

enum { FLIP_PATH_BYTES = 1024, FLIP_KEY_BYTES = 512, FLIP_ENTRY_BYTES = 64 };

/* ---- rows ------------------------------------------------------------------------------------ */

struct flip_row {
    enum st_db db;
    const char *db_name;
    struct key_parts key_parts; /* points into key */
    uint8_t *key, *value;
    size_t key_bytes, value_bytes; /* the value with its trailer */
};

struct flip_rows {
    char dir[FLIP_PATH_BYTES];
    struct flip_row *rows;
    size_t count;
};

/* Copy all rows of the LMDB environment in `dir`, which nobody in this process has open. */
void flip_rows_read(struct flip_rows *r, const char *dir, bool catalogue);
void flip_rows_free(struct flip_rows *r);

/* One change: of byte `at` of the value, or of the key; then the row is at another place, on top of
 * the one that was there. */
struct flip {
    const struct flip_row *row;
    size_t at;
    bool in_key;
    uint8_t mask;
};
static inline size_t flip_end(const struct flip *f)
{
    return f->in_key ? f->row->key_bytes : f->row->value_bytes;
}
/* Another process may have the environment open. */
void flip_apply(const struct flip_rows *r, const struct flip *f);
void flip_undo(const struct flip_rows *r, const struct flip *f);

/* The entry of a manifest page in which byte `at` of the row lies, and where in it. */
enum flip_in { FLIP_IN_NO_ENTRY, FLIP_IN_ENTRY, FLIP_IN_PATH, FLIP_IN_VALUE };
enum flip_in flip_entry_at(const struct flip_row *row, size_t at, char ret_path[FLIP_ENTRY_BYTES]);

/* ---- segments -------------------------------------------------------------------------------- */

/* Change a byte of a file; the same once more undoes it. */
void flip_file(const char *path, uint64_t at, uint8_t mask);

/* What the bytes from..to-1 of a segment are. */
enum flip_what {
    FLIP_PAGE,   /* its first, its last */
    FLIP_VALUE,  /* of an entry */
    FLIP_GAP,    /* between two entries of a chunk */
    FLIP_FOOTER, /* copies of rows */
    FLIP_PADDING /* up to the next page; nothing covers it, and nothing reads it */
};
struct flip_range {
    enum flip_what what;
    uint64_t from, to;
    enum component component;    /* of a value, of a gap */
    char path[FLIP_ENTRY_BYTES]; /* of a value */
};
struct flip_ranges {
    struct flip_range list[64];
    size_t count;
};
/* Of the segment of boundary `seq`, by the rows of its run; together they are the file. */
void flip_ranges_read(struct flip_ranges *r,
                      const struct flip_rows *rows,
                      uint64_t seq,
                      const char *segment_path);

#endif
