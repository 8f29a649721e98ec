/* The files: what is left over, what is damaged, and whether a footer says what the index says. */
#include <inttypes.h>

#include "store/fsck.h"

struct seg_check {
    struct fsck *f;
    struct txn *txn;
    uint64_t id;
    uint64_t row_count; /* that the boundary of this segment has */
    uint64_t different;
};

static void seg_count(struct seg_check *s, struct slice value)
{
    struct bump b;
    struct row_boundary row;
    row_bump_init(&b, value.bytes);
    if (row_boundary_decode(value, &b, &row, NULL) == 0) {
        const struct boundary *boundary = &row.boundary;
        s->row_count = 3 + 3 * (uint64_t)boundary->chunk_count + boundary->label_count;
        for (uint32_t i = 0; i < boundary->component_count; i++) {
            s->row_count += 1 + (uint64_t)boundary->components[i].page_count;
        }
    }
    bump_fini(&b);
}

static int seg_row(void *arg, enum st_db db, struct slice key, struct slice value, struct err *err)
{
    struct seg_check *s = arg;
    struct key_parts parts;
    struct slice sound;
    struct slice indexed = { .bytes = 0 };
    struct key copy = { .bytes = key.bytes };
    (void)err;
    if (!key_parse(db, key, &parts) || key.bytes > sizeof copy.data ||
        row_check(db, key, value, &sound, NULL) < 0) {
        s->different++;
        return 0;
    }
    memcpy(copy.data, key.data, key.bytes);
    if (db == DB_BOUNDARY) {
        seg_count(s, sound);
    }
    int rc = row_get(s->txn, db, &copy, &indexed, NULL);
    /* A label may have been set to another value since. */
    bool same = rc == 0 && (db == DB_LABEL || slice_cmp(indexed, sound) == 0);
    s->different += same ? 0 : 1;
    return 0;
}

static int seg_file(struct fsck *f, struct txn *t, uint64_t id, struct err *err)
{
    struct segment_reader r;
    struct seg_check s = { .f = f, .txn = t, .id = id };
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
    return s.row_count == r.row_count ? 0
                                      : fsck_say(f,
                                                 "segment %016" PRIx64 ": its footer has %" PRIu64
                                                 " rows, its boundary %" PRIu64,
                                                 id,
                                                 r.row_count,
                                                 s.row_count);
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
