/* The files: what is left over, what is damaged, and whether a footer says what the index says. */
#include <inttypes.h>

#include "record/digest.h"
#include "store/fsck.h"

struct seg_check {
    struct txn *txn;
    bool removed;       /* its boundary was: others refer to chunks of it */
    uint64_t row_count; /* that its boundary has, but for those of chunks */
    uint64_t chunk_limit;
    uint64_t count[DB_NR]; /* rows that were met */
    uint64_t different;
};

static void seg_boundary(struct seg_check *s, const struct key_parts *key, struct slice value)
{
    struct bump b;
    struct row_boundary row;
    struct slice indexed;
    struct key at = key_boundary(key->seq);
    s->removed = row_get(s->txn, DB_BOUNDARY, &at, &indexed, NULL) == -CAIRN_ENOENT;
    row_bump_init(&b, value.bytes);
    if (row_boundary_decode(value, &b, &row, NULL) == 0) {
        const struct boundary *boundary = &row.boundary;
        s->chunk_limit = boundary->chunk_count;
        s->row_count = 3 + (uint64_t)boundary->label_count;
        for (uint32_t i = 0; i < boundary->component_count; i++) {
            s->row_count += 1 + (uint64_t)boundary->components[i].page_count;
        }
    }
    bump_fini(&b);
}

/* A chunk may have been proved since. */
static bool
seg_same_chunk(const struct seg_check *s, const struct key_parts *key, struct slice value)
{
    struct bump b;
    struct row_chunk was;
    struct row_chunk is;
    row_bump_init(&b, value.bytes);
    bool same = row_chunk_decode(value, &b, &was, NULL) == 0 &&
                row_get_chunk(s->txn, key->segment, key->index, &is, NULL) == 0 &&
                is.offset == was.offset && is.bytes == was.bytes &&
                digest_equal(&is.digest, &was.digest);
    bump_fini(&b);
    return same;
}

/* Does the index say the same, as far as it still has to? */
static bool seg_same(const struct seg_check *s,
                     enum st_db db,
                     const struct key *key,
                     const struct key_parts *parts,
                     struct slice value)
{
    struct slice indexed = { .bytes = 0 };
    int rc = row_get(s->txn, db, key, &indexed, NULL);
    if (s->removed && (db != DB_CHUNK || rc == -CAIRN_ENOENT)) {
        return true;
    }
    if (db == DB_CHUNK) {
        return seg_same_chunk(s, parts, value);
    }
    /* A label may have been set to another value since. */
    return rc == 0 && (db == DB_LABEL || slice_cmp(indexed, value) == 0);
}

static int seg_row(void *arg, enum st_db db, struct slice key, struct slice value, struct err *err)
{
    struct seg_check *s = arg;
    struct key_parts parts;
    struct slice sound;
    struct key copy = { .bytes = key.bytes };
    (void)err;
    if (!key_parse(db, key, &parts) || key.bytes > sizeof copy.data ||
        row_check(db, key, value, &sound, NULL) < 0) {
        s->different++;
        return 0;
    }
    memcpy(copy.data, key.data, key.bytes);
    if (db == DB_BOUNDARY) {
        seg_boundary(s, &parts, sound);
    }
    s->count[db]++;
    s->different += seg_same(s, db, &copy, &parts, sound) ? 0 : 1;
    return 0;
}

/* Each chunk has its digest and its ref; what is shared with others has a ref alone. */
static bool seg_complete(const struct seg_check *s, uint64_t row_count)
{
    uint64_t chunks = s->count[DB_CHUNK];
    uint64_t refs = s->count[DB_REF];
    return chunks > 0 && s->count[DB_DIGEST] == chunks && refs >= chunks &&
           refs <= s->chunk_limit && row_count == s->row_count + 2 * chunks + refs;
}

static int seg_file(struct fsck *f, struct txn *t, uint64_t id, struct err *err)
{
    struct segment_reader r;
    struct seg_check s = { .txn = t };
    struct err why = { .code = 0 };
    int rc = segment_open(&r, &f->st->mode, f->run->segments_fd, id, f->run->id, &why);
    if (rc == 0) {
        rc = segment_rows(&r, seg_row, &s, &why);
        segment_reader_close(&r);
    }
    if (rc < 0) {
        return fsck_say_err(f, rc, &why, err);
    }
    if (s.different > 0) {
        return fsck_say(f,
                        "segment %016" PRIx64 ": %" PRIu64
                        " rows of its footer are not those of the index",
                        id,
                        s.different);
    }
    return seg_complete(&s, r.row_count)
               ? 0
               : fsck_say(f,
                          "segment %016" PRIx64 ": the %" PRIu64
                          " rows of its footer are not all that its boundary has",
                          id,
                          r.row_count);
}

int fsck_segments(struct txn *t, void *arg, struct err *err)
{
    struct fsck *f = arg;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < f->segments.count; i++) {
        const struct segment_file *file = &f->segments.files[i];
        if (file->temporary) {
            rc = fsck_say_leftover(f, "temporary segment", file->id);
        } else if (!file->named) {
            rc = fsck_say_leftover(f, "unnamed segment", file->id);
        } else {
            rc = seg_file(f, t, file->id, err);
        }
    }
    return rc;
}
