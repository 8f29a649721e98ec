/* A boundary held readable. One read transaction copies out where everything lies; payload is then
 * read from the segments alone, so that nothing in the index is held up by a slow reader. */
#include "store/load.h"

#include <inttypes.h>
#include <stdlib.h>

#include "internal/ckd.h"
#include "record/digest.h"
#include "record/finite.h"
#include "store/note.h"
#include "store/row.h"
#include "store/walk.h"

struct load_open {
    struct st_load *load;
    uint64_t seq;
};

static int load_damaged(enum component component, const char *what, struct err *err)
{
    (void)err_set(err, -CAIRN_ECORRUPT, "component %s: %s", component_name(component), what);
    (void)err_at(err, component, "", 0);
    return -CAIRN_ECORRUPT;
}

/* ---- what the rows say ----------------------------------------------------------------------- */

static uint32_t load_segment_at(struct st_load *l, uint64_t id)
{
    uint32_t i = 0;
    while (i < l->segment_count && l->segments[i].id != id) {
        i++;
    }
    return i;
}

static int
load_chunk(struct txn *t, struct st_load *l, const struct chunk_ref *ref, struct err *err)
{
    struct row_chunk row;
    uint32_t segment = load_segment_at(l, ref->segment);
    if (ref->index >= l->chunk_count || l->chunks[ref->index].bytes != 0 ||
        segment == l->segment_count) {
        return load_damaged(
            ref->chunk.component, "its list of chunks does not fit the boundary", err);
    }
    int rc = row_get_chunk(t, ref->segment, ref->segment_index, &row, err);
    if (rc < 0) {
        rc = row_damage(rc, "chunk of a boundary", err);
        return err_wrap(
            err, rc, "component %s: chunk %u", component_name(ref->chunk.component), ref->index);
    }
    if (row.bytes != ref->chunk.bytes || !digest_equal(&row.digest, &ref->chunk.digest) ||
        row.offset % SEGMENT_PAGE_BYTES != 0) {
        return load_damaged(ref->chunk.component, "the row of a chunk is another chunk's", err);
    }
    l->chunks[ref->index] = ref->chunk;
    l->extents[ref->index] = (struct load_extent){ .offset = row.offset,
                                                   .segment = segment,
                                                   .segment_index = ref->segment_index };
    return 0;
}

static int
load_component(struct txn *t, struct st_load *l, const struct component_info *info, struct err *err)
{
    struct bump b;
    struct row_component row;
    const struct boundary *boundary = &l->row.boundary;
    int rc = row_get_component(t, boundary, info->component, &b, &row, err);
    rc = row_damage(rc, component_name(info->component), err);
    if (rc == 0 && (row.chunk_count != info->chunk_count || row.page_count != info->page_count ||
                    !digest_equal(&row.info.digest, &info->digest) ||
                    !nonfinite_equal(&row.info.nonfinite, &info->nonfinite))) {
        rc = load_damaged(info->component, "its first row does not fit the boundary's", err);
    }
    for (uint32_t i = 0; rc == 0 && i < row.chunk_count; i++) {
        rc = row.chunks[i].chunk.component == info->component
                 ? load_chunk(t, l, &row.chunks[i], err)
                 : load_damaged(info->component, "a chunk of another component", err);
    }
    bump_fini(&b);
    if (rc < 0) {
        (void)err_at(err, info->component, "", 0);
    }
    return rc;
}

static int load_tables(struct st_load *l, struct err *err)
{
    l->chunk_count = l->row.boundary.chunk_count;
    l->segment_count = l->row.segment_count;
    l->chunks = calloc(l->chunk_count + (size_t)1, sizeof *l->chunks);
    l->extents = calloc(l->chunk_count + (size_t)1, sizeof *l->extents);
    l->segments = calloc(l->segment_count + (size_t)1, sizeof *l->segments);
    if (l->chunks == NULL || l->extents == NULL || l->segments == NULL) {
        l->segment_count = 0;
        return err_set(err, -CAIRN_ENOMEM, "load a boundary of %u chunks", l->chunk_count);
    }
    for (uint32_t i = 0; i < l->segment_count; i++) {
        l->segments[i] = (struct load_segment){ .id = l->row.segments[i], .file.fd = -1 };
    }
    return 0;
}

/* Removed between the answer to a selector and now? ENOENT would mean that there never was one, and
 * a trainer would start anew. */
static int load_missing(struct txn *t, const struct load_open *o, struct err *err)
{
    uint64_t next_seq = 0;
    uint64_t next_segment = 0;
    int rc = walk_missing(t, o->seq, err);
    if (rc != -CAIRN_ENOENT || meta_get_progress(t, &next_seq, &next_segment, NULL) < 0 ||
        o->seq == 0 || o->seq >= next_seq) {
        return rc;
    }
    return err_set(err, -CAIRN_EPRUNED, "seq %" PRIu64 " has been removed", o->seq);
}

static int load_open_txn(struct txn *t, void *arg, struct err *err)
{
    struct load_open *o = arg;
    struct st_load *l = o->load;
    const struct boundary *b = &l->row.boundary;
    int rc = row_get_boundary(t, o->seq, &l->bump, &l->row, err);
    rc = rc == -CAIRN_ENOENT ? load_missing(t, o, err) : rc;
    rc = rc < 0 ? rc : note_read(t, &l->row.boundary, &l->notes, err);
    rc = rc < 0 ? rc : load_tables(l, err);
    uint64_t chunks = 0;
    for (uint32_t i = 0; rc == 0 && i < b->component_count; i++) {
        chunks += b->components[i].chunk_count;
        rc = load_component(t, l, &b->components[i], err);
    }
    if (rc == 0 && chunks != l->chunk_count) {
        rc = err_set(err,
                     -CAIRN_ECORRUPT,
                     "seq %" PRIu64 ": %u chunks, its components have %" PRIu64,
                     o->seq,
                     l->chunk_count,
                     chunks);
    }
    return rc;
}

/* ---- open and close -------------------------------------------------------------------------- */

static int load_open_segments(struct st_load *l, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < l->segment_count; i++) {
        char name[SEGMENT_NAME_BYTES];
        segment_name(l->segments[i].id, false, name);
        rc = file_open(&l->segments[i].file, &l->run->st->mode, l->run->segments_fd, name, err);
    }
    return row_damage(rc, "segment of a boundary", err);
}

int st_load_open(struct st_run *run, uint64_t seq, struct st_load **ret, struct err *err)
{
    struct st_load *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "load a boundary");
    }
    struct load_open open = { .load = l, .seq = seq };
    l->run = run;
    bump_init(&l->notes, NOTE_BUMP_BYTES);
    int rc = held_add(&l->held, run, seq, err);
    rc = rc < 0 ? rc : env_read(&run->index, load_open_txn, &open, err);
    rc = rc < 0 ? rc : load_open_segments(l, err);
    if (rc < 0) {
        (void)st_load_close(l);
        return run_wrap(run, rc, err);
    }
    *ret = l;
    return 0;
}

struct st_load *st_load_close(struct st_load *load)
{
    if (load != NULL) {
        for (uint32_t i = 0; i < load->segment_count; i++) {
            file_close(&load->segments[i].file);
        }
        held_drop(&load->held); /* from here on the files may be written anew */
        free(load->segments);
        free(load->extents);
        free(load->chunks);
        bump_fini(&load->bump);
        bump_fini(&load->notes);
        free(load);
    }
    return NULL;
}

const struct boundary *st_load_boundary(const struct st_load *load)
{
    return &load->row.boundary;
}

uint32_t st_load_chunk_count(const struct st_load *load)
{
    return load->chunk_count;
}

const struct chunk *st_load_chunk(const struct st_load *load, uint32_t index)
{
    return index < load->chunk_count ? &load->chunks[index] : NULL;
}

/* ---- pages ----------------------------------------------------------------------------------- */

struct load_page {
    const struct st_load *load;
    enum component component;
    uint32_t page;
    struct bump *bump;
    struct wire_entries *entries;
    bool damaged; /* there is a row, and it does not match its digest */
};

static int load_page_txn(struct txn *t, void *arg, struct err *err)
{
    struct load_page *p = arg;
    const struct boundary *b = &p->load->row.boundary;
    struct slice value;
    struct key key = key_component(b->seq, b->rank, p->component, p->page + 1);
    int rc = row_get(t, DB_COMPONENT, &key, &value, err);
    p->damaged = rc == -CAIRN_ECORRUPT;
    if (rc < 0) {
        return row_damage(rc, component_name(p->component), err);
    }
    rc = row_entries_decode(value, p->bump, p->entries, err);
    row_forget(value);
    if (rc < 0) {
        return rc == -CAIRN_ENOMEM || p->bump->exhausted
                   ? err_set(err, -CAIRN_ENOMEM, "a manifest page does not fit the memory for it")
                   : row_undecodable(DB_COMPONENT, key_slice(&key), err);
    }
    if (p->entries->component != p->component || p->entries->page != p->page) {
        return row_undecodable(DB_COMPONENT, key_slice(&key), err);
    }
    return 0;
}

static const struct component_info *load_info(const struct st_load *load, enum component component)
{
    const struct boundary *b = &load->row.boundary;
    for (uint32_t i = 0; i < b->component_count; i++) {
        if (b->components[i].component == component) {
            return &b->components[i];
        }
    }
    return NULL;
}

int st_load_page(struct st_load *load,
                 enum component component,
                 uint32_t page,
                 struct bump *bump,
                 struct wire_entries *ret,
                 struct err *err)
{
    const struct component_info *info = load_info(load, component);
    struct load_page p = {
        .load = load, .component = component, .page = page, .bump = bump, .entries = ret
    };
    if (info == NULL || page >= info->page_count) {
        return err_set(
            err, -CAIRN_ENOENT, "component %s has no page %u", component_name(component), page);
    }
    int rc = env_read(&load->run->index, load_page_txn, &p, err);
    rc = p.damaged ? blame_page(load, component, page, err) : rc;
    if (rc < 0) {
        (void)run_wrap(load->run, rc, err);
        if (err != NULL && err->component == COMPONENT_NONE) {
            (void)err_at(err, component, "", 0);
        }
    }
    return rc;
}

/* ---- payload --------------------------------------------------------------------------------- */

int st_load_read(struct st_load *load, uint32_t index, void *data, struct err *err)
{
    if (index >= load->chunk_count) {
        return err_set(err, -CAIRN_EINVAL, "there is no chunk %u", index);
    }
    const struct load_extent *e = &load->extents[index];
    const struct load_segment *s = &load->segments[e->segment];
    size_t bytes = (size_t)round_up_u64(load->chunks[index].bytes, SEGMENT_PAGE_BYTES);
    int rc = file_read(&s->file, e->offset, data, bytes, err);
    if (rc < 0) {
        rc = err_wrap(err,
                      rc,
                      "run '%s': chunk %u: segment %016" PRIx64,
                      load->run->claim.name,
                      index,
                      s->id);
        (void)err_at(err, load->chunks[index].component, "", 0);
    }
    return rc;
}
