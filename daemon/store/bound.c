#include "store/bound.h"

#include <stdlib.h>

struct bound_walk {
    const struct bound *b;
    bound_row_fn *each;
    void *arg;
    struct wire_buf buf; /* the value being encoded */
};

static int bound_give(struct bound_walk *w, enum st_db db, const struct key *key, struct err *err)
{
    return w->each(w->arg, db, key, slice_of(w->buf.data, w->buf.bytes), err);
}

static int bound_row(struct bound_walk *w, struct err *err)
{
    const struct boundary *boundary = w->b->boundary;
    const struct row_boundary row = { .boundary = *boundary,
                                      .segments = w->b->segments,
                                      .segment_count = w->b->segment_count };
    struct key key = key_boundary(boundary->seq);
    w->buf.bytes = 0;
    int rc = row_boundary_encode(&row, &w->buf, err);
    return rc < 0 ? rc : bound_give(w, DB_BOUNDARY, &key, err);
}

/* ---- components ------------------------------------------------------------------------------ */

static void bound_refs(const struct bound *b, enum component component, struct chunk_ref *ret_refs)
{
    const struct check *c = &b->manifest->check;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->chunk_count; i++) {
        if (c->chunks[i].component == component) {
            ret_refs[count++] = (struct chunk_ref){ .index = i,
                                                    .segment = b->chunks[i].segment,
                                                    .segment_index = b->chunks[i].index,
                                                    .chunk = c->chunks[i] };
        }
    }
}

static void
bound_paths(const struct st_manifest *m, enum component component, struct slice *ret_paths)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->page_count; i++) {
        const struct manifest_page *page = &m->pages[i];
        if (page->component == component) {
            ret_paths[count++] = slice_of(page->first_path, page->first_path_bytes);
        }
    }
}

static int bound_head(struct bound_walk *w, const struct component_info *info, struct err *err)
{
    const struct boundary *boundary = w->b->boundary;
    struct chunk_ref *refs = calloc(info->chunk_count + 1, sizeof *refs);
    struct slice *paths = calloc(info->page_count + 1, sizeof *paths);
    if (refs == NULL || paths == NULL) {
        free(refs);
        free(paths);
        return err_set(err, -CAIRN_ENOMEM, "list chunks");
    }
    bound_refs(w->b, info->component, refs);
    bound_paths(w->b->manifest, info->component, paths);
    const struct row_component row = { .info = *info,
                                       .chunks = refs,
                                       .chunk_count = info->chunk_count,
                                       .first_paths = paths,
                                       .page_count = info->page_count };
    w->buf.bytes = 0;
    int rc = row_component_encode(&row, &w->buf, err);
    free(refs);
    free(paths);
    struct key key = key_component(boundary->seq, boundary->rank, info->component, 0);
    return rc < 0 ? rc : bound_give(w, DB_COMPONENT, &key, err);
}

static int bound_component(struct bound_walk *w, const struct component_info *info, struct err *err)
{
    const struct boundary *boundary = w->b->boundary;
    const struct st_manifest *m = w->b->manifest;
    int rc = bound_head(w, info, err);
    for (uint32_t i = 0; rc == 0 && i < m->page_count; i++) {
        const struct manifest_page *page = &m->pages[i];
        if (page->component == info->component) {
            struct key key =
                key_component(boundary->seq, boundary->rank, info->component, page->page + 1);
            rc = w->each(w->arg, DB_COMPONENT, &key, slice_of(page->data, page->bytes), err);
        }
    }
    return rc;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* One that is new: what it is, and how it is found. */
static int bound_chunk(struct bound_walk *w, const struct save_chunk *c, struct err *err)
{
    const struct row_chunk row = { .offset = c->offset, .bytes = c->bytes, .digest = c->digest };
    struct key key = key_chunk(c->segment, c->index);
    struct key digest = key_digest(c->digest.byte, c->bytes, c->segment, c->index);
    w->buf.bytes = 0;
    int rc = row_chunk_encode(&row, &w->buf, err);
    rc = rc < 0 ? rc : bound_give(w, DB_CHUNK, &key, err);
    return rc < 0 ? rc : w->each(w->arg, DB_DIGEST, &digest, slice_of(NULL, 0), err);
}

static int bound_chunks(struct bound_walk *w, struct err *err)
{
    uint32_t count = w->b->manifest->check.chunk_count;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        const struct save_chunk *c = &w->b->chunks[i];
        struct key ref = key_ref(c->segment, c->index, w->b->boundary->seq);
        rc = c->shared ? 0 : bound_chunk(w, c, err);
        if (rc == 0 && !c->repeated) {
            rc = w->each(w->arg, DB_REF, &ref, slice_of(NULL, 0), err);
        }
    }
    return rc;
}

/* ---- ways to find it ------------------------------------------------------------------------- */

static int bound_indexes(struct bound_walk *w, struct err *err)
{
    const struct boundary *boundary = w->b->boundary;
    const struct row_save save = { .state = SAVE_COMMITTED,
                                   .seq = boundary->seq,
                                   .root = boundary->root };
    struct key step = key_step(boundary->step, boundary->seq);
    struct key id = key_saveid(boundary->save_id, boundary->rank);
    int rc = w->each(w->arg, DB_STEP, &step, slice_of(NULL, 0), err);
    w->buf.bytes = 0;
    rc = rc < 0 ? rc : row_save_encode(&save, &w->buf, err);
    rc = rc < 0 ? rc : bound_give(w, DB_SAVEID, &id, err);
    for (uint32_t i = 0; rc == 0 && i < boundary->label_count; i++) {
        struct key label = key_label(boundary->seq, boundary->labels[i].name);
        rc = w->each(w->arg, DB_LABEL, &label, boundary->labels[i].value, err);
    }
    return rc;
}

int bound_rows(const struct bound *b, bound_row_fn *each, void *arg, struct err *err)
{
    struct bound_walk w = { .b = b, .each = each, .arg = arg };
    int rc = bound_row(&w, err);
    for (uint32_t i = 0; rc == 0 && i < b->boundary->component_count; i++) {
        rc = bound_component(&w, &b->boundary->components[i], err);
    }
    rc = rc < 0 ? rc : bound_chunks(&w, err);
    rc = rc < 0 ? rc : bound_indexes(&w, err);
    wire_buf_free(&w.buf);
    return rc;
}
