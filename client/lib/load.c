/* load.c: fetch the manifest of one boundary, believe nothing of it before its digests match.
 *
 * DESCRIBE pins the boundary and brings its row; MANIFEST brings its entries page by page,
 * CHUNK_LIST its chunks. Whatever does not add up is ECORRUPT, with the component and the path. */
#include <stdlib.h>

#include "internal/fault.h"
#include "lib/call.h"
#include "lib/pending.h"
#include "record/digest.h"
#include "record/finite.h"
#include "record/rules.h"
#include "record/selector.h"
#include "wire/keep.h"

/* ---- the row
 * ------------------------------------------------------------------------------------------------
 */

static int load_no_memory(struct cairn_record *r)
{
    return err_set(&r->c->err, -CAIRN_ENOMEM, "no memory for a manifest");
}

static int load_corrupt(struct cairn_record *r, enum component component, const char *what)
{
    (void)err_set(&r->c->err,
                  -CAIRN_ECORRUPT,
                  "run '%s' seq %llu: %s%s%s",
                  r->c->run,
                  (unsigned long long)r->boundary.seq,
                  component == COMPONENT_NONE ? "" : component_name(component),
                  component == COMPONENT_NONE ? "" : ": ",
                  what);
    return err_at(&r->c->err, component, NULL, 0);
}

static int load_labels(struct cairn_record *r, const struct boundary *b)
{
    r->boundary.labels = keep_labels(&r->bump, b->labels, b->label_count);
    return r->boundary.labels == NULL ? load_no_memory(r) : 0;
}

static int load_infos(struct cairn_record *r, const struct boundary *b)
{
    uint32_t present = 0;
    if (b->component_count >= COMPONENT_NR) {
        return load_corrupt(r, COMPONENT_NONE, "too many components");
    }
    for (uint32_t i = 0; i < b->component_count; i++) {
        const struct component_info *info = &b->components[i];
        uint32_t bit = 1u << info->component;
        if (info->component <= COMPONENT_NONE || info->component >= COMPONENT_NR ||
            bit <= present) {
            return load_corrupt(r, COMPONENT_NONE, "its components are out of order");
        }
        struct cairn_reader *reader = &r->components[info->component];
        present |= bit;
        reader->present = true;
        reader->type = rec_copy(r, info->type.data, info->type.bytes);
        if (reader->type == NULL) {
            return load_no_memory(r);
        }
        r->infos[i] = *info;
        r->infos[i].type = slice_of(reader->type, info->type.bytes);
    }
    if (present != rules_components_of(b->kind)) {
        return load_corrupt(r, COMPONENT_NONE, "its components are not those of its kind");
    }
    r->boundary.components = r->infos;
    return 0;
}

/* Of a later release, whose meaning nobody here can guess: not damaged, so not ECORRUPT. */
static int load_kind(struct cairn_record *r, uint32_t kind)
{
    if ((kind & ~(uint32_t)KINDS_KNOWN) == 0) {
        return 0;
    }
    return err_set(&r->c->err,
                   -CAIRN_ENOTSUP,
                   "run '%s' seq %llu: it is of kind %#x, of which this library (version %s) knows "
                   "the bits %#x only: use a newer libcairn",
                   r->c->run,
                   (unsigned long long)r->boundary.seq,
                   kind,
                   CAIRN_VERSION,
                   (unsigned)KINDS_KNOWN);
}

static int load_row(struct cairn_record *r, const struct boundary *b)
{
    r->boundary = *b;
    int rc = load_kind(r, b->kind);
    rc = rc < 0 ? rc : load_infos(r, b);
    return rc < 0 ? rc : load_labels(r, b);
}

/* ---- the chunks
 * ------------------------------------------------------------------------------------------------
 */

static int load_chunk_page(struct cairn_record *r, const struct wire_chunks *page, uint32_t first)
{
    struct err why = { 0 };
    if (page->first != first || page->count == 0 || page->count > r->boundary.chunk_count - first) {
        return load_corrupt(r, COMPONENT_NONE, "its list of chunks has holes");
    }
    for (uint32_t i = 0; i < page->count; i++) {
        if (rules_chunk(&page->chunks[i], first + i, &why) < 0) {
            return load_corrupt(r, page->chunks[i].component, why.msg);
        }
        r->chunks[first + i] = page->chunks[i];
    }
    if (resident_arena(r->c, r) != 0) {
        resident_place(r->c, page);
    }
    return 0;
}

/* From the daemon; without their places in memory where it will not say those. */
static int load_ask_chunks(struct cairn_record *r, uint32_t first, union wire_msg *ret)
{
    union wire_msg msg = { .chunk_list = { .first = first, .arena = resident_arena(r->c, r) } };
    int rc = cl_ask_once(r->c, WIRE_CHUNK_LIST, &msg, WIRE_CHUNKS, ret);
    if (rc < 0 && msg.chunk_list.arena != 0 && r->c->fd >= 0) {
        resident_forget(r->c, r->c->err.msg);
        msg.chunk_list.arena = 0;
        rc = cl_ask_once(r->c, WIRE_CHUNK_LIST, &msg, WIRE_CHUNKS, ret);
    }
    return rc;
}

static int load_chunks(struct cairn_record *r)
{
    uint32_t count = r->boundary.chunk_count;
    int rc = 0;
    if (count > LIMIT_CHUNKS) {
        return load_corrupt(r, COMPONENT_NONE, "too many chunks");
    }
    r->chunks = calloc((size_t)count + 1, sizeof *r->chunks);
    if (r->chunks == NULL) {
        return load_no_memory(r);
    }
    for (uint32_t first = 0; rc == 0 && first < count;) {
        union wire_msg answer;
        rc = load_ask_chunks(r, first, &answer);
        if (rc == 0) {
            rc = load_chunk_page(r, &answer.chunks, first);
            first += answer.chunks.count;
        }
    }
    return rc;
}

/* ---- the entries
 * -----------------------------------------------------------------------------------------------
 */

static int load_bad_entry(struct cairn_record *r,
                          const struct cairn_reader *reader,
                          const struct entry *e,
                          const char *what)
{
    (void)load_corrupt(r, reader->component, what);
    (void)err_wrap(&r->c->err,
                   -CAIRN_ECORRUPT,
                   "entry '%.*s'",
                   cl_shown(e->path),
                   e->path.bytes == 0 ? "" : (const char *)e->path.data);
    return err_at(&r->c->err, reader->component, e->path.data, e->path.bytes);
}

static int load_entry(struct cairn_record *r, struct cairn_reader *reader, const struct entry *from)
{
    struct err why = { 0 };
    const struct entry *last = reader->count == 0 ? NULL : &reader->entries[reader->count - 1];
    if (last != NULL && entry_cmp(reader->component, last, from) >= 0) {
        return load_bad_entry(r, reader, from, "it is out of order");
    }
    if ((last != NULL && rules_gradients(reader->component, last, from, &why) < 0) ||
        rules_entry(reader->component, from, &why) < 0 ||
        rules_precision(reader->component, from, r->boundary.precision, &why) < 0) {
        return load_bad_entry(r, reader, from, why.msg);
    }
    if (from->bytes > 0 && from->value.bytes == 0 &&
        rules_place(reader->component, from, r->chunks, r->boundary.chunk_count, &why) < 0) {
        return load_bad_entry(r, reader, from, why.msg);
    }
    struct entry *e = rec_add_entry(reader);
    if (e == NULL) {
        return load_no_memory(r);
    }
    *e = *from;
    return rec_keep(r, e) ? 0 : load_no_memory(r);
}

static int
load_page(struct cairn_record *r, struct cairn_reader *reader, uint32_t page, uint64_t entry_count)
{
    union wire_msg answer;
    union wire_msg msg = { .manifest = { .component = reader->component, .page = page } };
    fault_point("load");
    int rc = cl_ask_once(r->c, WIRE_MANIFEST, &msg, WIRE_ENTRIES, &answer);
    const struct wire_entries *entries = &answer.entries;
    if (rc == -CAIRN_EPROTO) { /* says which entry of the page, not of which */
        (void)err_wrap(&r->c->err, rc, "%s, page %u", component_name(reader->component), page);
        return err_at(&r->c->err, reader->component, NULL, 0);
    }
    if (rc < 0) {
        return rc;
    }
    if (entries->component != reader->component || entries->page != page || entries->count == 0 ||
        entries->count > entry_count - reader->count) {
        return load_corrupt(
            r, reader->component, "its pages do not hold the entries that were counted");
    }
    for (uint32_t i = 0; rc == 0 && i < entries->count; i++) {
        rc = load_entry(r, reader, &entries->entries[i]);
    }
    return rc;
}

static int load_component(struct cairn_record *r, const struct component_info *recorded)
{
    struct cairn_reader *reader = &r->components[recorded->component];
    struct component_info info = *recorded;
    int rc =
        info.entry_count > LIMIT_ENTRIES ? load_corrupt(r, info.component, "too many entries") : 0;
    for (uint32_t page = 0; rc == 0 && reader->count < info.entry_count; page++) {
        rc = load_page(r, reader, page, info.entry_count);
    }
    if (rc < 0) {
        return rc;
    }
    struct component_info summed = { .component = info.component };
    rc = rec_sum(reader, &summed, &r->c->err);
    if (rc == 0 && !digest_equal(&summed.digest, &info.digest)) {
        rc = load_corrupt(r, info.component, "its metadata does not match its digest");
    } else if (rc == 0 && summed.bytes != info.bytes) {
        rc = load_corrupt(r, info.component, "its bytes are not those that were counted");
    } else if (rc == 0 && !nonfinite_equal(&summed.nonfinite, &info.nonfinite)) {
        rc = load_corrupt(r, info.component, "its NaN and Inf are not those that were counted");
    }
    return rc;
}

/* ---- the sums
 * --------------------------------------------------------------------------------------------------
 */

static int load_sums(struct cairn_record *r)
{
    const struct boundary *b = &r->boundary;
    uint64_t entries = 0;
    uint64_t bytes = 0;
    uint64_t chunks = 0;
    struct nonfinite nonfinite = { 0 };
    for (uint32_t i = 0; i < b->component_count; i++) {
        nonfinite_sum(&nonfinite, &b->components[i].nonfinite);
        entries += b->components[i].entry_count;
        bytes += b->components[i].bytes;
        chunks += b->components[i].chunk_count;
    }
    if (entries != b->entry_count || bytes != b->payload_bytes || chunks != b->chunk_count ||
        !nonfinite_equal(&nonfinite, &b->nonfinite)) {
        return load_corrupt(r, COMPONENT_NONE, "its sums are not those of its components");
    }
    struct digest root = digest_root(b, b->components, b->component_count);
    if (!digest_equal(&root, &b->root)) {
        return load_corrupt(r, COMPONENT_NONE, "it does not match its root digest");
    }
    return 0;
}

static int load_all(struct cairn_record *r, const char *selector)
{
    struct cairn *c = r->c;
    bool resident = false;
    union wire_msg answer;
    union wire_msg msg = {
        .describe = { .run = slice_str(c->run), .selector = slice_str(selector), .pin = true }
    };
    fault_point("load");
    int rc = cl_ask_once(c, WIRE_DESCRIBE, &msg, WIRE_DESCRIBED, &answer);
    if (rc == 0) {
        c->pinned = r;
        c->unpin = false;
        resident = answer.described.resident;
        rc = load_row(r, &answer.described.boundary);
    }
    if (rc == 0) {
        rc = load_sums(r);
    }
    if (rc == 0 && resident && r->boundary.chunk_count > 0 &&
        r->boundary.chunk_count <= LIMIT_CHUNKS) {
        rc = resident_open(c, r);
    }
    if (rc == 0) {
        rc = load_chunks(r);
    }
    for (uint32_t i = 0; rc == 0 && i < r->boundary.component_count; i++) {
        rc = load_component(r, &r->infos[i]);
    }
    if (rc == 0 && rec_not_finite(r) != r->boundary.not_finite) {
        rc = load_corrupt(
            r, COMPONENT_NONE, "its entries do not say whether it is finite as it does");
    }
    return rc;
}

static int load_once(struct cairn *c, const char *selector, struct cairn_record **ret)
{
    int rc = cl_ready(c);
    if (rc < 0) {
        return rc;
    }
    struct cairn_record *r = rec_new(c);
    if (r == NULL) {
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory for a record");
    }
    r->loaded = true;
    rc = load_all(r, selector);
    if (rc < 0) {
        (void)cairn_record_free(r);
        return rc;
    }
    *ret = r;
    return 0;
}

int cairn_load(struct cairn *c, const char *selector, int timeout_ms, struct cairn_record **ret)
{
    struct selector parsed;
    int rc = cl_enter_run(c, timeout_ms);
    if (rc < 0) {
        return rc;
    }
    if (selector == NULL || ret == NULL) {
        return cl_invalid(c, "load needs a selector and a place for the record");
    }
    rc = selector_parse(slice_str(selector), &parsed, &c->err);
    if (rc < 0) {
        return rc;
    }
    do {
        rc = load_once(c, selector, ret);
    } while (rc < 0 && cl_again(c));
    return rc < 0 ? err_wrap(&c->err, rc, "load %s@%s", c->run, selector) : 0;
}
