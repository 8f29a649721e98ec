/* From each other row back to the boundary or the chunk that it is about. */
#include <inttypes.h>

#include "internal/ckd.h"
#include "record/digest.h"
#include "store/fsck.h"

static int rows_dangling(struct fsck *f, const char *what, uint64_t seq)
{
    return fsck_say(f, "a row of %s is about seq %" PRIu64 ", which is no boundary", what, seq);
}

static int rows_component(
    struct fsck *f, struct txn *t, const struct key_parts *key, struct slice value, struct err *err)
{
    const struct fsck_boundary *b = fsck_find(f, key->seq);
    (void)t;
    (void)value;
    (void)err;
    if (b == NULL) {
        return rows_dangling(f, "component", key->seq);
    }
    if (key->rank != b->rank || key->component >= COMPONENT_NR ||
        key->page >= b->page_count[key->component]) {
        return fsck_say(f,
                        "boundary seq %" PRIu64
                        " has no page %u of %s of rank %u, yet there is one",
                        key->seq,
                        key->page,
                        component_name(key->component),
                        key->rank);
    }
    return 0;
}

static int
rows_chunk_place(struct fsck *f, const struct key_parts *key, const struct row_chunk *row)
{
    int rc = 0;
    uint64_t after =
        f->last_chunk.segment == key->segment ? f->last_chunk.end : SEGMENT_FIRST_CHUNK;
    if (row->bytes == 0 || row->bytes > LIMIT_CHUNK_BYTES || row->offset < after ||
        row->offset % SEGMENT_PAGE_BYTES != 0) {
        rc = fsck_say(f,
                      "chunk %u of segment %016" PRIx64 ": %u bytes at %" PRIu64
                      " are no place after %" PRIu64,
                      key->index,
                      key->segment,
                      row->bytes,
                      row->offset,
                      after);
    }
    f->last_chunk.segment = key->segment;
    f->last_chunk.end = row->offset + row->bytes;
    return rc;
}

/* Does some boundary use this chunk? */
static int
rows_chunk_used(struct fsck *f, struct txn *t, const struct key_parts *key, struct err *err)
{
    struct row_cursor c;
    struct key_parts ref;
    struct key from = key_ref(key->segment, key->index, 0);
    struct err why = { .code = 0 };
    int rc = row_cursor_open(&c, t, DB_REF, &why);
    if (rc < 0) {
        return fsck_say_err(f, rc, &why, err);
    }
    int at = row_seek(&c, &from, NULL);
    bool used = row_stands(&c, at) && key_parse(DB_REF, c.key, &ref) &&
                ref.segment == key->segment && ref.index == key->index;
    row_cursor_close(&c);
    return used ? 0
                : fsck_say(f,
                           "no boundary refers to chunk %u of segment %016" PRIx64,
                           key->index,
                           key->segment);
}

static int rows_chunk(
    struct fsck *f, struct txn *t, const struct key_parts *key, struct slice value, struct err *err)
{
    struct row_chunk row;
    struct err why = { .code = 0 };
    struct bump b;
    bool there = false;
    row_bump_init(&b, value.bytes);
    int rc = row_chunk_decode(value, &b, &row, &why);
    bump_fini(&b);
    if (rc < 0) {
        return fsck_say(f,
                        "chunk %u of segment %016" PRIx64 " does not decode: %s",
                        key->index,
                        key->segment,
                        why.msg);
    }
    f->summary.bytes += round_up_u64(row.bytes, SEGMENT_PAGE_BYTES);
    rc = rows_chunk_place(f, key, &row);
    if (rc == 0 && fsck_segment(f, key->segment) == NULL) {
        rc = fsck_say(
            f, "chunk %u is in segment %016" PRIx64 ", which is missing", key->index, key->segment);
    }
    struct key digest = key_digest(row.digest.byte, row.bytes, key->segment, key->index);
    rc = rc < 0 ? rc : fsck_need(f, t, DB_DIGEST, &digest, NULL, &there);
    return rc < 0 ? rc : rows_chunk_used(f, t, key, err);
}

static int rows_digest(
    struct fsck *f, struct txn *t, const struct key_parts *key, struct slice value, struct err *err)
{
    struct row_chunk row;
    struct err why = { .code = 0 };
    (void)value;
    (void)err;
    if (row_get_chunk(t, key->segment, key->index, &row, &why) < 0) {
        return fsck_say(f, "a row of digest names a chunk: %s", why.msg);
    }
    if (row.bytes != key->bytes || memcmp(row.digest.byte, key->id, sizeof row.digest.byte) != 0) {
        return fsck_say(f,
                        "a row of digest names chunk %u of segment %016" PRIx64
                        ", which has another digest",
                        key->index,
                        key->segment);
    }
    return 0;
}

static int rows_ref(
    struct fsck *f, struct txn *t, const struct key_parts *key, struct slice value, struct err *err)
{
    struct key chunk = key_chunk(key->segment, key->index);
    bool there = false;
    (void)value;
    (void)err;
    if (fsck_find(f, key->seq) == NULL) {
        return rows_dangling(f, "ref", key->seq);
    }
    return fsck_need(f, t, DB_CHUNK, &chunk, NULL, &there);
}

static int rows_step(
    struct fsck *f, struct txn *t, const struct key_parts *key, struct slice value, struct err *err)
{
    const struct fsck_boundary *b = fsck_find(f, key->seq);
    (void)t;
    (void)value;
    (void)err;
    if (b == NULL) {
        return rows_dangling(f, "step", key->seq);
    }
    return b->step == key->step
               ? 0
               : fsck_say(f,
                          "seq %" PRIu64 " is indexed as step %" PRIu64 ", it is step %" PRIu64,
                          key->seq,
                          key->step,
                          b->step);
}

static int rows_saveid(
    struct fsck *f, struct txn *t, const struct key_parts *key, struct slice value, struct err *err)
{
    struct row_save save;
    struct err why = { .code = 0 };
    struct bump bump;
    (void)err;
    row_bump_init(&bump, value.bytes);
    int rc = row_save_decode(value, &bump, &save, &why);
    bump_fini(&bump);
    if (rc < 0) {
        return fsck_say(f, "a row of saveid does not decode: %s", why.msg);
    }
    const struct fsck_boundary *b = fsck_find(f, save.seq);
    if (save.state == SAVE_PRUNED) {
        struct key pruned = key_pruned(save.seq, key->rank);
        bool there = false;
        return b == NULL ? fsck_need(f, t, DB_PRUNED, &pruned, NULL, &there)
                         : fsck_say(f,
                                    "a save id says that seq %" PRIu64 " was removed; it is there",
                                    save.seq);
    }
    if (save.state != SAVE_COMMITTED || b == NULL) {
        return b == NULL ? rows_dangling(f, "saveid", save.seq)
                         : fsck_say(f,
                                    "a save id of seq %" PRIu64 " is in state %s",
                                    save.seq,
                                    save_state_name(save.state));
    }
    return memcmp(b->save_id, key->id, sizeof b->save_id) == 0 && b->rank == key->rank
               ? 0
               : fsck_say(f, "a save id names seq %" PRIu64 ", which has another", save.seq);
}

static int rows_pruned(
    struct fsck *f, struct txn *t, const struct key_parts *key, struct slice value, struct err *err)
{
    struct row_save save = { .seq = 0 };
    (void)err;
    f->pruned_count++;
    int rc = value.bytes == ROW_SAVE_ID_BYTES ? row_get_save(t, value.data, key->rank, &save, NULL)
                                              : -CAIRN_ECORRUPT;
    return rc == 0 && save.state == SAVE_PRUNED && save.seq == key->seq
               ? 0
               : fsck_say(f,
                          "seq %" PRIu64 " is said to be removed, its save id does not say so",
                          key->seq);
}

static int rows_named(
    struct fsck *f, struct txn *t, const struct key_parts *key, struct slice value, struct err *err)
{
    (void)t;
    (void)value;
    (void)err;
    return fsck_find(f, key->seq) != NULL ? 0 : rows_dangling(f, "label, pin or mark", key->seq);
}

/* Nothing is left of it. */
static int rows_hole(
    struct fsck *f, struct txn *t, const struct key_parts *key, struct slice value, struct err *err)
{
    struct slice chunk;
    struct key at = key_chunk(key->segment, key->index);
    (void)value;
    (void)err;
    return row_get(t, DB_CHUNK, &at, &chunk, NULL) == -CAIRN_ENOENT
               ? 0
               : fsck_say(f,
                          "chunk %u of segment %016" PRIx64 " is there, and said to be removed",
                          key->index,
                          key->segment);
}

/* Its rows were read when the run was opened; here only their trailers are looked at. */
static int rows_meta(
    struct fsck *f, struct txn *t, const struct key_parts *key, struct slice value, struct err *err)
{
    (void)f;
    (void)t;
    (void)key;
    (void)value;
    (void)err;
    return 0;
}

static int rows_count_refs(struct txn *t, void *arg, struct err *err)
{
    return row_count(t, DB_REF, arg, err);
}

int fsck_rows(struct fsck *f, struct err *err)
{
    static const struct {
        enum st_db db;
        fsck_row_fn *row;
    } walks[] = {
        { DB_META, rows_meta },     { DB_COMPONENT, rows_component },
        { DB_CHUNK, rows_chunk },   { DB_DIGEST, rows_digest },
        { DB_REF, rows_ref },       { DB_STEP, rows_step },
        { DB_SAVEID, rows_saveid }, { DB_PRUNED, rows_pruned },
        { DB_LABEL, rows_named },   { DB_PIN, rows_named },
        { DB_MARK, rows_named },    { DB_HOLE, rows_hole },
    };
    uint64_t refs = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof walks / sizeof walks[0]; i++) {
        rc = fsck_walk(f, walks[i].db, walks[i].row, err);
    }
    rc = rc < 0 ? rc : env_read(&f->run->index, rows_count_refs, &refs, err);
    if (rc == 0 && refs != f->ref_count) {
        rc = fsck_say(f,
                      "there are %" PRIu64 " rows of ref, boundaries use %" PRIu64 " chunks",
                      refs,
                      f->ref_count);
    }
    if (rc == 0 && f->pruned_count > STORE_PRUNED_IDS) {
        rc = fsck_say(f,
                      "%" PRIu64 " save ids of removed boundaries are kept, at most %u should be",
                      f->pruned_count,
                      STORE_PRUNED_IDS);
    }
    return rc;
}
