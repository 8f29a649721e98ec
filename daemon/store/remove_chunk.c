/* What of the payload goes with boundaries: chunks that no other one refers to, segments without a
 * chunk. Noted in the transaction, given up after it.
 *
 * That nothing refers to a chunk is known from all rows of ref in their order, not from one that is
 * not found: a key that has rotted hides its row from a search, and what it says would be lost. A
 * row of ref that does not match its digest ends the removal; nothing is freed then. */
#include <stdlib.h>

#include "internal/ckd.h"
#include "store/remove.h"

/* ---- what they refer to ---------------------------------------------------------------------- */

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

static int remove_add(struct remove *r, const struct chunk_ref *ref, struct err *err)
{
    void *list = r->chunks;
    int rc = remove_grow(&list, r->chunk_count, &r->chunk_cap, sizeof *r->chunks, err);
    r->chunks = list;
    if (rc == 0) {
        r->chunks[r->chunk_count++] = (struct remove_chunk){ .segment = ref->segment,
                                                             .index = ref->segment_index,
                                                             .bytes = ref->chunk.bytes,
                                                             .digest = ref->chunk.digest };
    }
    return rc;
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
        const struct chunk_ref *ref = &row.chunks[i];
        struct key own = key_ref(ref->segment, ref->segment_index, r->row.boundary.seq);
        rc = (*count)++ < r->row.boundary.chunk_count
                 ? remove_add(r, ref, err)
                 : err_set(err, -CAIRN_ECORRUPT, "its components have more chunks than it has");
        rc = rc < 0 ? rc : row_del(t, DB_REF, &own, err);
    }
    bump_fini(&b);
    return rc;
}

static int remove_add_segment(struct remove *r, uint64_t segment, struct err *err)
{
    void *list = r->segments;
    int rc = remove_grow(&list, r->segment_count, &r->segment_cap, sizeof *r->segments, err);
    r->segments = list;
    if (rc == 0) {
        r->segments[r->segment_count++] = (struct remove_segment){ .id = segment };
    }
    return rc;
}

int remove_refs(struct txn *t, struct remove *r, struct err *err)
{
    const struct boundary *b = &r->row.boundary;
    uint32_t count = 0;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < r->row.segment_count; i++) {
        rc = remove_add_segment(r, r->row.segments[i], err);
    }
    for (uint32_t i = 0; rc == 0 && i < b->component_count; i++) {
        rc = remove_component(t, r, &b->components[i], &count, err);
    }
    return rc;
}

/* ---- who else refers to it ------------------------------------------------------------------- */

static int remove_segment_cmp(const void *a, const void *b)
{
    const struct remove_segment *x = a;
    const struct remove_segment *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int remove_chunk_cmp(const void *a, const void *b)
{
    const struct remove_chunk *x = a;
    const struct remove_chunk *y = b;
    if (x->segment != y->segment) {
        return x->segment < y->segment ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

/* Sorts a list and leaves each item once; returns how many. */
static size_t
remove_sort(void *list, size_t count, size_t bytes, int (*cmp)(const void *, const void *))
{
    uint8_t *at = list;
    size_t kept = 0;
    if (count > 0) {
        qsort(list, count, bytes, cmp);
    }
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || cmp(at + (kept - 1) * bytes, at + i * bytes) != 0) {
            memmove(at + kept++ * bytes, at + i * bytes, bytes);
        }
    }
    return kept;
}

static void remove_still_used(struct remove *r, const struct key_parts *ref)
{
    const struct remove_segment in = { .id = ref->segment };
    const struct remove_chunk at = { .segment = ref->segment, .index = ref->index };
    struct remove_segment *segment =
        bsearch(&in, r->segments, r->segment_count, sizeof in, remove_segment_cmp);
    struct remove_chunk *chunk =
        segment == NULL ? NULL
                        : bsearch(&at, r->chunks, r->chunk_count, sizeof at, remove_chunk_cmp);
    if (segment != NULL) {
        segment->used = true;
    }
    if (chunk != NULL) {
        chunk->used = true;
    }
}

static int remove_look(struct txn *t, struct remove *r, struct err *err)
{
    struct row_cursor c;
    struct key_parts ref;
    int rc = row_cursor_open(&c, t, DB_REF, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_seek(&c, NULL, err); rc == 0; rc = row_next(&c, err)) {
        if (key_parse(DB_REF, c.key, &ref)) {
            remove_still_used(r, &ref);
        }
    }
    row_cursor_close(&c);
    r->refs_damaged = rc == -CAIRN_ECORRUPT;
    return r->refs_damaged
               ? err_wrap(err, rc, "nothing is removed, as who refers to which chunk is uncertain")
               : (rc == -CAIRN_ENOENT ? 0 : rc);
}

/* ---- what goes ------------------------------------------------------------------------------- */

/* In a segment that stays its row moves from `chunk` to `hole`. One that does not say any more
 * where it lies leaves its place as it is until the segment goes. */
static int
remove_chunk(struct txn *t, const struct remove *r, struct remove_chunk *c, struct err *err)
{
    struct row_chunk row;
    const struct remove_segment in = { .id = c->segment };
    const struct remove_segment *segment =
        bsearch(&in, r->segments, r->segment_count, sizeof in, remove_segment_cmp);
    struct key key = key_chunk(c->segment, c->index);
    struct key digest = key_digest(c->digest.byte, c->bytes, c->segment, c->index);
    int rc = 0;
    if (segment != NULL && segment->used &&
        row_get_chunk(t, c->segment, c->index, &row, NULL) == 0 && row.bytes == c->bytes) {
        c->offset = row.offset;
        c->hole = true;
        rc = hole_put(t, &key, &row, err);
    }
    rc = rc < 0 ? rc : row_del(t, DB_CHUNK, &key, err);
    return rc < 0 ? rc : row_del(t, DB_DIGEST, &digest, err);
}

int remove_chunks(struct txn *t, struct remove *r, struct err *err)
{
    r->chunk_count = remove_sort(r->chunks, r->chunk_count, sizeof *r->chunks, remove_chunk_cmp);
    r->segment_count =
        remove_sort(r->segments, r->segment_count, sizeof *r->segments, remove_segment_cmp);
    int rc = r->segment_count > 0 ? remove_look(t, r, err) : 0;
    for (size_t i = 0; rc == 0 && i < r->chunk_count; i++) {
        struct remove_chunk *c = &r->chunks[i];
        if (!c->used) {
            uint64_t bytes = round_up_u64(c->bytes, SEGMENT_PAGE_BYTES);
            r->summary.bytes -= bytes < r->summary.bytes ? bytes : r->summary.bytes;
            rc = remove_chunk(t, r, c, err);
        }
    }
    return rc;
}
