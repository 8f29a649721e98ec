/* Which entry of a damaged manifest page is it? The digest of a row covers all of it, so it does
 * not say. A boundary with a segment has a second copy of each row there: the first byte that
 * differs lies in one entry of it. Without one, what can still be decoded contradicts itself where
 * it is hit, mostly: a value does not match its digest, a shape its length. Nothing of the damaged
 * row is used but for the story. */
#include <stdlib.h>

#include "record/rules.h"
#include "store/load.h"
#include "store/row.h"

#define BLAME_FOOTER_BYTES (64u << 20) /* a story is not worth more memory */

struct blame {
    const struct boundary *boundary;
    enum component component;
    uint32_t page;
    struct key key;
    uint8_t *row; /* what is there, without its trailer */
    size_t row_bytes;
    struct err first; /* its path is where the page begins */
    struct err hit;   /* its path is the entry */
    bool sound;       /* the row is as its copy is: its digest is hit */
};

/* Copied out, as the rest takes its time. */
static int blame_read_txn(struct txn *t, void *arg, struct err *err)
{
    struct blame *b = arg;
    struct bump bump;
    struct row_component head;
    struct slice value;
    if (row_get_component(t, b->boundary, b->component, &bump, &head, NULL) == 0 &&
        b->page < head.page_count) {
        struct slice path = head.first_paths[b->page];
        (void)err_at(&b->first, b->component, path.data, path.bytes);
    }
    bump_fini(&bump);
    if (!row_peek(t, DB_COMPONENT, &b->key, &value)) {
        return err_set(err, -CAIRN_ENOENT, "no row");
    }
    b->row = malloc(value.bytes + 1);
    if (b->row == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory");
    }
    b->row_bytes = value.bytes;
    memcpy(b->row, value.data, value.bytes);
    return 0;
}

/* ---- by the copy ----------------------------------------------------------------------------- */

/* How long the row is with only its first `count` entries: they are encoded one behind the other.
 */
static size_t blame_length(const struct wire_entries *page, uint32_t count)
{
    struct wire_entries some = *page;
    struct wire_buf buf = { .data = NULL };
    some.count = count;
    size_t bytes = row_entries_encode(&some, &buf, NULL) == 0 ? buf.bytes : 0;
    wire_buf_free(&buf);
    return bytes;
}

/* The entry in which byte `at` lies; `count` when in none. */
static uint32_t blame_index(const struct wire_entries *page, size_t at)
{
    uint32_t low = 0; /* that many entries end before it */
    uint32_t high = page->count;
    if (at < blame_length(page, 0)) {
        return page->count;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (blame_length(page, middle + 1) <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void blame_compare(struct blame *b, struct slice copy)
{
    const uint8_t *sound = copy.data;
    struct bump bump;
    struct wire_entries page;
    size_t at = 0;
    while (at < copy.bytes && at < b->row_bytes && sound[at] == b->row[at]) {
        at++;
    }
    b->sound = at == copy.bytes && at == b->row_bytes;
    row_bump_init(&bump, copy.bytes);
    if (!b->sound && row_entries_decode(copy, &bump, &page, NULL) == 0) {
        uint32_t index = blame_index(&page, at);
        if (index < page.count) {
            struct slice path = page.entries[index].path;
            (void)err_at(&b->hit, b->component, path.data, path.bytes);
        }
    }
    bump_fini(&bump);
}

static int
blame_row(void *arg, enum st_db db, struct slice key, struct slice value, struct err *err)
{
    struct blame *b = arg;
    struct slice sound;
    if (db == DB_COMPONENT && slice_cmp(key, key_slice(&b->key)) == 0 &&
        row_check(db, key, value, &sound, err) == 0) {
        blame_compare(b, sound);
    }
    return 0;
}

/* The copy that the footer of a segment has of the row. */
static void blame_by_segment(const struct st_run *run, uint64_t id, struct blame *b)
{
    struct segment_reader r;
    if (segment_open(&r, &run->st->mode, run->segments_fd, id, run->id, NULL) < 0) {
        return;
    }
    if (r.footer_bytes <= BLAME_FOOTER_BYTES) {
        (void)segment_rows(&r, blame_row, b, NULL);
    }
    segment_reader_close(&r);
}

static void blame_by_copy(const struct st_load *l, struct blame *b)
{
    for (uint32_t i = 0; i < l->segment_count; i++) {
        blame_by_segment(l->run, l->segments[i].id, b);
    }
}

/* ---- by itself ------------------------------------------------------------------------------- */

/* The first entry that is no legal one. */
static void blame_by_rules(struct blame *b)
{
    struct bump bump;
    struct wire_entries page;
    row_bump_init(&bump, b->row_bytes);
    int rc = row_entries_decode(slice_of(b->row, b->row_bytes), &bump, &page, NULL);
    for (uint32_t i = 0; rc == 0 && i < page.count; i++) {
        rc = rules_entry(b->component, &page.entries[i], &b->hit);
    }
    bump_fini(&bump);
}

static int blame_tell(const struct blame *b, struct err *err)
{
    if (err == NULL || b->sound) {
        return -CAIRN_ECORRUPT;
    }
    if (b->hit.path[0] != '\0') {
        err->component = b->component;
        memcpy(err->path, b->hit.path, sizeof err->path);
        return err_wrap(err, -CAIRN_ECORRUPT, "entry '%.100s' is damaged", b->hit.path);
    }
    if (b->first.path[0] != '\0') {
        return err_wrap(
            err, -CAIRN_ECORRUPT, "an entry, of those from '%.100s' on, is damaged", b->first.path);
    }
    return -CAIRN_ECORRUPT;
}

int blame_page(const struct st_load *l, enum component component, uint32_t page, struct err *err)
{
    const struct boundary *boundary = &l->row.boundary;
    struct blame b = { .boundary = boundary, .component = component, .page = page };
    b.key = key_component(boundary->seq, boundary->rank, component, page + 1);
    if (env_read(&l->run->index, blame_read_txn, &b, NULL) == 0) {
        blame_by_copy(l, &b);
        if (!b.sound && b.hit.path[0] == '\0') {
            blame_by_rules(&b);
        }
    }
    free(b.row);
    return blame_tell(&b, err);
}
