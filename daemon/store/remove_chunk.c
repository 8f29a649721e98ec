/* What of the payload goes with a boundary: chunks that no other one refers to, segments without a
 * chunk. Noted in the transaction, given up after it. */
#include <stdlib.h>

#include "internal/ckd.h"
#include "store/remove.h"
#include "store/segment.h"

/* Does a row of chunk or ref begin with this segment (and this index, unless `any`)? */
static int remove_names(struct txn *t,
                        enum st_db db,
                        const struct key_parts *chunk,
                        bool any,
                        bool *ret,
                        struct err *err)
{
    struct row_cursor c;
    struct key_parts at;
    struct key from = db == DB_REF ? key_ref(chunk->segment, chunk->index, 0)
                                   : key_chunk(chunk->segment, chunk->index);
    int rc = row_cursor_open(&c, t, db, err);
    if (rc < 0) {
        return rc;
    }
    rc = row_seek(&c, &from, err);
    bool stands = row_stands(&c, rc);
    *ret = stands && key_parse(db, c.key, &at) && at.segment == chunk->segment &&
           (any || at.index == chunk->index);
    row_cursor_close(&c);
    return stands || rc == -CAIRN_ENOENT ? 0 : rc;
}

/* Room for one more of a list. */
static int remove_grow(void **list, size_t count, size_t *cap, size_t bytes, struct err *err)
{
    if (count < *cap) {
        return 0;
    }
    size_t more = *cap == 0 ? 64 : 2 * *cap;
    void *grown = reallocarray(*list, more, bytes);
    if (grown == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "remove a boundary");
    }
    *list = grown;
    *cap = more;
    return 0;
}

/* Where it lies, unless its row does not say so any more: then the place stays as it is until the
 * segment goes. */
static int
remove_hole(struct txn *t, struct remove *r, const struct chunk_ref *ref, struct err *err)
{
    struct row_chunk row;
    int rc = row_get_chunk(t, ref->segment, ref->segment_index, &row, NULL);
    if (rc < 0 || row.bytes != ref->chunk.bytes) {
        return 0;
    }
    void *list = r->holes;
    rc = remove_grow(&list, r->hole_count, &r->hole_cap, sizeof *r->holes, err);
    r->holes = list;
    if (rc == 0) {
        r->holes[r->hole_count++] = (struct remove_hole){ .segment = ref->segment,
                                                          .offset = row.offset,
                                                          .bytes = row.bytes };
    }
    return rc;
}

static int
remove_chunk(struct txn *t, struct remove *r, const struct chunk_ref *ref, struct err *err)
{
    bool used = false;
    const struct chunk *c = &ref->chunk;
    const struct key_parts at = { .segment = ref->segment, .index = ref->segment_index };
    struct key chunk = key_chunk(ref->segment, ref->segment_index);
    struct key digest = key_digest(c->digest.byte, c->bytes, ref->segment, ref->segment_index);
    struct key own = key_ref(ref->segment, ref->segment_index, r->row.boundary.seq);
    int rc = row_del(t, DB_REF, &own, err);
    rc = rc < 0 ? rc : remove_names(t, DB_REF, &at, false, &used, err);
    if (rc < 0 || used) {
        return rc;
    }
    rc = remove_hole(t, r, ref, err);
    rc = rc < 0 ? rc : row_del(t, DB_CHUNK, &chunk, err);
    return rc < 0 ? rc : row_del(t, DB_DIGEST, &digest, err);
}

static int remove_component(struct txn *t,
                            struct remove *r,
                            const struct component_info *info,
                            uint32_t *count,
                            struct err *err)
{
    struct bump b;
    struct row_component row;
    int rc = row_get_component(t, &r->row.boundary, info->component, &b, &row, err);
    rc = row_damage(rc, component_name(info->component), err);
    for (uint32_t i = 0; rc == 0 && i < row.chunk_count; i++) {
        rc = (*count)++ < r->row.boundary.chunk_count
                 ? remove_chunk(t, r, &row.chunks[i], err)
                 : err_set(err, -CAIRN_ECORRUPT, "its components have more chunks than it has");
    }
    bump_fini(&b);
    return rc;
}

int remove_chunks(struct txn *t, struct remove *r, struct err *err)
{
    const struct boundary *b = &r->row.boundary;
    uint32_t count = 0;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < b->component_count; i++) {
        rc = remove_component(t, r, &b->components[i], &count, err);
    }
    return rc;
}

static int remove_gone(struct remove *r, uint64_t segment, struct err *err)
{
    void *list = r->gone;
    int rc = remove_grow(&list, r->gone_count, &r->gone_cap, sizeof *r->gone, err);
    r->gone = list;
    if (rc == 0) {
        r->gone[r->gone_count++] = segment;
    }
    return rc;
}

/* A ref counts as well as a chunk: the row of its chunk may be lost. */
int remove_segments(struct txn *t, struct remove *r, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < r->row.segment_count; i++) {
        const struct key_parts first = { .segment = r->row.segments[i] };
        bool chunk = false;
        bool ref = false;
        rc = remove_names(t, DB_CHUNK, &first, true, &chunk, err);
        rc = rc < 0 ? rc : remove_names(t, DB_REF, &first, true, &ref, err);
        if (rc == 0 && !chunk && !ref) {
            rc = remove_gone(r, first.segment, err);
        }
    }
    return rc;
}
