#include "store/weigh.h"

#include <stdlib.h>

#include "internal/ckd.h"
#include "store/row.h"
#include "store/segment.h"

int weigh_init(struct weigh *w, size_t count, struct err *err)
{
    *w = (struct weigh){ .count = count };
    w->first = calloc(count + 1, sizeof *w->first);
    w->rows = calloc(count + 1, sizeof *w->rows);
    return w->first != NULL && w->rows != NULL ? 0 : err_set(err, -CAIRN_ENOMEM, "weigh a run");
}

void weigh_free(struct weigh *w)
{
    free(w->chunks);
    free(w->uses);
    free(w->first);
    free(w->rows);
    *w = (struct weigh){ .count = 0 };
}

/* ---- who refers to what ---------------------------------------------------------------------- */

/* The rows of ref in order: those of one chunk follow each other. */
struct weigh_walk {
    struct weigh *w;
    const struct keep_item *items;
    struct txn *txn;
    bool fill;        /* second time: there is room for every use */
    bool any;         /* a chunk was met */
    uint64_t segment; /* the last one */
    uint32_t index;
    size_t chunk; /* its place in the list */
};

static int weigh_by_seq(const void *key, const void *item)
{
    const uint64_t *seq = key;
    const struct keep_item *at = item;
    return *seq < at->seq ? -1 : *seq > at->seq;
}

static int weigh_add_chunk(struct weigh_walk *walk, struct err *err)
{
    struct weigh *w = walk->w;
    struct row_chunk row;
    if (w->chunk_count == w->chunk_cap) {
        size_t cap = w->chunk_cap == 0 ? 256 : 2 * w->chunk_cap;
        struct weigh_chunk *chunks = reallocarray(w->chunks, cap, sizeof *chunks);
        if (chunks == NULL) {
            return err_set(err, -CAIRN_ENOMEM, "weigh %zu chunks", w->chunk_count);
        }
        w->chunks = chunks;
        w->chunk_cap = cap;
    }
    int rc = row_get_chunk(walk->txn, walk->segment, walk->index, &row, NULL);
    w->chunks[w->chunk_count++] =
        (struct weigh_chunk){ .bytes = rc == 0 ? round_up_u64(row.bytes, SEGMENT_PAGE_BYTES) : 0 };
    return 0;
}

static int weigh_ref(struct weigh_walk *walk, const struct key_parts *ref, struct err *err)
{
    struct weigh *w = walk->w;
    int rc = 0;
    if (!walk->any || ref->segment != walk->segment || ref->index != walk->index) {
        walk->chunk += walk->any ? 1 : 0;
        walk->any = true;
        walk->segment = ref->segment;
        walk->index = ref->index;
        rc = walk->fill ? 0 : weigh_add_chunk(walk, err);
    }
    const struct keep_item *item =
        bsearch(&ref->seq, walk->items, w->count, sizeof *walk->items, weigh_by_seq);
    if (rc < 0 || item == NULL) {
        return rc;
    }
    size_t i = (size_t)(item - walk->items);
    if (walk->fill) {
        w->uses[w->first[i]++] = (uint32_t)walk->chunk;
    } else {
        w->first[i]++; /* a count, for now */
        w->chunks[walk->chunk].users++;
        w->chunks[walk->chunk].bytes = item->damaged ? 0 : w->chunks[walk->chunk].bytes;
    }
    return 0;
}

static int weigh_refs(struct weigh_walk *walk, struct err *err)
{
    struct row_cursor c;
    struct key_parts ref;
    int rc = row_cursor_open(&c, walk->txn, DB_REF, err);
    if (rc < 0) {
        return rc;
    }
    rc = row_seek(&c, NULL, err);
    while (row_stands(&c, rc)) {
        rc = key_parse(DB_REF, c.key, &ref) ? weigh_ref(walk, &ref, err) : 0;
        if (rc < 0) {
            break;
        }
        rc = row_next(&c, err);
    }
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

/* Counts become places: first[i] is where the uses of item i begin; returns how many there are. */
static size_t weigh_places(struct weigh *w)
{
    size_t sum = 0;
    for (size_t i = 0; i <= w->count; i++) {
        size_t count = i < w->count ? w->first[i] : 0;
        w->first[i] = sum;
        sum += count;
    }
    return sum;
}

/* Filling moved each place to the end of its item's uses, which is where the next one's begin. */
static void weigh_places_back(struct weigh *w)
{
    for (size_t i = w->count; i > 0; i--) {
        w->first[i] = w->first[i - 1];
    }
    w->first[0] = 0;
}

static void weigh_sum(struct weigh *w, const struct keep_item *items)
{
    w->bytes = 0;
    for (size_t i = 0; i < w->chunk_count; i++) {
        w->bytes += w->chunks[i].users > 0 ? w->chunks[i].bytes : 0;
    }
    for (size_t i = 0; i < w->count; i++) {
        w->rows[i] = items[i].damaged ? 0 : w->rows[i];
        w->bytes += w->rows[i];
    }
}

int weigh_read(struct weigh *w, struct txn *t, const struct keep_item *items, struct err *err)
{
    struct weigh_walk walk = { .w = w, .items = items, .txn = t };
    int rc = weigh_refs(&walk, err);
    if (rc < 0) {
        return rc;
    }
    size_t uses = weigh_places(w);
    w->uses = calloc(uses + 1, sizeof *w->uses);
    if (w->uses == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "weigh %zu uses of chunks", uses);
    }
    walk = (struct weigh_walk){ .w = w, .items = items, .txn = t, .fill = true };
    rc = weigh_refs(&walk, err);
    weigh_places_back(w);
    weigh_sum(w, items);
    return rc;
}

/* ---- what it comes to ------------------------------------------------------------------------ */

uint64_t weigh_own(const struct weigh *w, size_t index)
{
    uint64_t bytes = w->rows[index];
    for (size_t u = w->first[index]; u < w->first[index + 1]; u++) {
        const struct weigh_chunk *chunk = &w->chunks[w->uses[u]];
        bytes += chunk->users == 1 ? chunk->bytes : 0;
    }
    return bytes;
}

uint64_t weigh_shared(const struct weigh *w, size_t index)
{
    uint64_t bytes = 0;
    for (size_t u = w->first[index]; u < w->first[index + 1]; u++) {
        const struct weigh_chunk *chunk = &w->chunks[w->uses[u]];
        bytes += chunk->users > 1 ? chunk->bytes : 0;
    }
    return bytes;
}

uint64_t weigh_release(void *arg, size_t index)
{
    struct weigh *w = arg;
    uint64_t bytes = weigh_own(w, index);
    for (size_t u = w->first[index]; u < w->first[index + 1]; u++) {
        w->chunks[w->uses[u]].users--;
    }
    return bytes;
}
