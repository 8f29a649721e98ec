/* From each boundary to everything that must be there for it. */
#include <inttypes.h>
#include <stdlib.h>

#include "record/digest.h"
#include "store/fsck.h"
#include "store/mark.h"

static int bound_keep(struct fsck *f, const struct boundary *b, struct err *err)
{
    if (f->boundary_count == f->boundary_cap) {
        size_t cap = f->boundary_cap == 0 ? 64 : 2 * f->boundary_cap;
        struct fsck_boundary *kept = realloc(f->boundaries, cap * sizeof *kept);
        if (kept == NULL) {
            return err_set(err, -CAIRN_ENOMEM, "check %zu boundaries", cap);
        }
        f->boundaries = kept;
        f->boundary_cap = cap;
    }
    struct fsck_boundary *to = &f->boundaries[f->boundary_count++];
    *to = (struct fsck_boundary){ .seq = b->seq, .step = b->step, .rank = b->rank };
    memcpy(to->save_id, b->save_id, sizeof to->save_id);
    for (uint32_t i = 0; i < b->component_count; i++) {
        if (b->components[i].component < COMPONENT_NR) {
            to->page_count[b->components[i].component] = b->components[i].page_count + 1;
        }
    }
    f->summary.boundary_count++;
    return 0;
}

/* The newest of the line that was not abandoned, so far: the last to come is that of the run. */
static int bound_line(struct fsck *f, struct txn *t, const struct boundary *b, struct err *err)
{
    unsigned marks = 0;
    int rc = mark_get(t, b->seq, &marks, err);
    if (rc < 0 || (marks & MARK_ABANDONED) != 0) {
        return rc;
    }
    f->summary.latest_seq = b->seq;
    f->summary.latest_step = b->step;
    f->summary.latest_ns = b->created_ns;
    if (b->parent_seq >= b->seq || b->parent_seq < f->previous_seq) {
        rc = fsck_say(f,
                      "boundary seq %" PRIu64 " names seq %" PRIu64
                      " as the one before it, that was seq %" PRIu64,
                      b->seq,
                      b->parent_seq,
                      f->previous_seq);
    }
    f->previous_seq = b->seq;
    return rc;
}

static int bound_segments(struct fsck *f, const struct row_boundary *row)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < row->segment_count; i++) {
        struct segment_file *file = fsck_segment(f, row->segments[i]);
        if (file == NULL) {
            rc = fsck_say(f,
                          "boundary seq %" PRIu64 " needs segment %016" PRIx64 ", which is missing",
                          row->boundary.seq,
                          row->segments[i]);
        } else {
            file->named = true;
        }
    }
    return rc;
}

static int bound_saveid(struct fsck *f, struct txn *t, const struct boundary *b)
{
    struct row_save save;
    struct err why = { .code = 0 };
    struct key key = key_saveid(b->save_id, b->rank);
    bool there = false;
    int rc = fsck_need(f, t, DB_SAVEID, &key, NULL, &there);
    if (rc < 0 || !there) {
        return rc;
    }
    if (row_get_save(t, b->save_id, b->rank, &save, &why) < 0) {
        return fsck_say(f, "%s", why.msg);
    }
    if (save.state == SAVE_COMMITTED && save.seq == b->seq && digest_equal(&save.root, &b->root)) {
        return 0;
    }
    return fsck_say(f,
                    "the save id of boundary seq %" PRIu64 " says %s, seq %" PRIu64
                    ", or another root",
                    b->seq,
                    save_state_name(save.state),
                    save.seq);
}

static int bound_labels(struct fsck *f, struct txn *t, const struct boundary *b)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < b->label_count; i++) {
        struct key key = key_label(b->seq, b->labels[i].name);
        bool there = false;
        rc = fsck_need(f, t, DB_LABEL, &key, NULL, &there);
    }
    return rc;
}

static int bound_ref_cmp(const void *a, const void *b)
{
    const struct chunk_ref *x = a;
    const struct chunk_ref *y = b;
    if (x->segment != y->segment) {
        return x->segment < y->segment ? -1 : 1;
    }
    return (x->segment_index > y->segment_index) - (x->segment_index < y->segment_index);
}

/* Several chunks of a boundary may be one in the store: it has one row of ref then. */
struct bound_refs {
    struct chunk_ref *list;
    size_t count;
};

static int
bound_chunks(struct fsck *f, struct txn *t, const struct boundary *b, const struct bound_refs *refs)
{
    int rc = 0;
    if (refs->count > 0) {
        qsort(refs->list, refs->count, sizeof *refs->list, bound_ref_cmp);
    }
    for (size_t i = 0; rc == 0 && i < refs->count; i++) {
        const struct chunk_ref *r = &refs->list[i];
        struct key chunk = key_chunk(r->segment, r->segment_index);
        struct key ref = key_ref(r->segment, r->segment_index, b->seq);
        bool there = false;
        if (i > 0 && bound_ref_cmp(r - 1, r) == 0) {
            continue;
        }
        rc = fsck_need(f, t, DB_CHUNK, &chunk, NULL, &there);
        rc = rc < 0 ? rc : fsck_need(f, t, DB_REF, &ref, NULL, &there);
        f->ref_count += there ? 1 : 0;
    }
    return rc;
}

static int bound_add_refs(struct bound_refs *refs, const struct row_component *row, struct err *err)
{
    size_t count = refs->count + row->chunk_count;
    struct chunk_ref *list = reallocarray(refs->list, count + 1, sizeof *list);
    if (list == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "check %zu chunks", count);
    }
    if (row->chunk_count > 0) {
        memcpy(list + refs->count, row->chunks, row->chunk_count * sizeof *list);
    }
    *refs = (struct bound_refs){ .list = list, .count = count };
    return 0;
}

static int bound_component(struct fsck *f,
                           struct txn *t,
                           const struct boundary *b,
                           const struct component_info *info,
                           struct bound_refs *refs,
                           struct err *err)
{
    int rc = 0;
    for (uint32_t page = 0; rc == 0 && page <= info->page_count; page++) {
        struct key key = key_component(b->seq, b->rank, info->component, page);
        bool there = false;
        rc = fsck_need(f, t, DB_COMPONENT, &key, NULL, &there);
    }
    struct bump bump;
    struct row_component row;
    struct err why = { .code = 0 };
    int got = row_get_component(t, b, info->component, &bump, &row, &why);
    if (rc == 0 && got == 0) {
        rc = bound_add_refs(refs, &row, err);
    }
    bump_fini(&bump);
    return rc;
}

static int bound_row(
    struct fsck *f, struct txn *t, const struct key_parts *key, struct slice value, struct err *err)
{
    struct bump bump;
    struct row_boundary row;
    struct bound_refs refs = { .list = NULL };
    struct err why = { .code = 0 };
    const struct boundary *b = &row.boundary;
    row_bump_init(&bump, value.bytes);
    int rc = row_boundary_decode(value, &bump, &row, &why);
    if (rc < 0 || b->seq != key->seq) {
        rc = fsck_say(f, "row boundary seq %" PRIu64 " does not decode: %s", key->seq, why.msg);
        goto out;
    }
    struct key step = key_step(b->step, b->seq);
    bool there = false;
    rc = bound_keep(f, b, err);
    rc = rc < 0 ? rc : bound_line(f, t, b, err);
    rc = rc < 0 ? rc : bound_segments(f, &row);
    rc = rc < 0 ? rc : fsck_need(f, t, DB_STEP, &step, NULL, &there);
    rc = rc < 0 ? rc : bound_saveid(f, t, b);
    rc = rc < 0 ? rc : bound_labels(f, t, b);
    for (uint32_t i = 0; rc == 0 && i < b->component_count; i++) {
        rc = bound_component(f, t, b, &b->components[i], &refs, err);
    }
    rc = rc < 0 ? rc : bound_chunks(f, t, b, &refs);
out:
    free(refs.list);
    bump_fini(&bump);
    return rc;
}

int fsck_boundaries(struct fsck *f, struct err *err)
{
    return fsck_walk(f, DB_BOUNDARY, bound_row, err);
}
