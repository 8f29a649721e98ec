/* Payload of a boundary: every chunk is read once if its entries lie together, as they mostly do.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal/fault.h"
#include "store/rc.h"
#include "store/verify.h"

#define VERIFY_ITEMS 65536u
#define VERIFY_TEXT_BYTES ((size_t)16 << 20)

int verify_init_chunks(struct verify *v, struct err *err)
{
    v->states = calloc(1, v->load->chunk_count + (size_t)1);
    v->buffer = file_buffer(LIMIT_CHUNK_BYTES);
    v->items = malloc(VERIFY_ITEMS * sizeof *v->items);
    v->text = malloc(VERIFY_TEXT_BYTES);
    v->held = UINT32_MAX;
    if (v->states == NULL || v->buffer == NULL || v->items == NULL || v->text == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "verify a boundary");
    }
    return 0;
}

int verify_chunk(struct verify *v, uint32_t index, struct err *err)
{
    const struct chunk *chunk = &v->load->chunks[index];
    if (v->held == index || v->states[index] == VERIFY_LOST) {
        return 0;
    }
    v->held = UINT32_MAX;
    int rc = verify_step(v, err);
    if (rc < 0) {
        return rc;
    }
    fault_point("verify_chunk");
    struct err why = { .code = 0 };
    rc = st_load_read(v->load, index, v->buffer, &why);
    if (rc_is_trouble(rc)) {
        return err_set(err, rc, "%s", why.msg);
    }
    if (rc < 0) {
        v->states[index] = VERIFY_LOST;
        return verify_say(v, chunk->component, slice_of(NULL, 0), why.msg);
    }
    v->held = index;
    if (v->states[index] == VERIFY_UNREAD) {
        struct digest found = digest_bytes(v->buffer, chunk->bytes);
        v->states[index] = digest_equal(&found, &chunk->digest) ? VERIFY_GOOD : VERIFY_BAD;
        v->result->chunk_count++;
        v->result->bytes += chunk->bytes;
    }
    return 0;
}

int verify_chunk_once(struct verify *v, uint32_t index, struct err *err)
{
    return v->states[index] == VERIFY_UNREAD ? verify_chunk(v, index, err) : 0;
}

int verify_queue(struct verify *v, enum component component, const struct entry *e, struct err *err)
{
    int rc = v->item_count == VERIFY_ITEMS || VERIFY_TEXT_BYTES - v->text_bytes < e->path.bytes
                 ? verify_flush(v, err)
                 : 0;
    if (rc < 0) {
        return rc;
    }
    v->items[v->item_count++] = (struct verify_item){ .component = component,
                                                      .chunk = e->first_chunk,
                                                      .offset_bytes = e->offset_bytes,
                                                      .bytes = e->bytes,
                                                      .digest = e->digest,
                                                      .path_at = v->text_bytes,
                                                      .path_bytes = e->path.bytes };
    memcpy(v->text + v->text_bytes, e->path.data, e->path.bytes);
    v->text_bytes += e->path.bytes;
    return 0;
}

static int verify_item_cmp(const void *a, const void *b)
{
    const struct verify_item *x = a;
    const struct verify_item *y = b;
    if (x->chunk != y->chunk) {
        return x->chunk < y->chunk ? -1 : 1;
    }
    return (x->offset_bytes > y->offset_bytes) - (x->offset_bytes < y->offset_bytes);
}

static int verify_item(struct verify *v, const struct verify_item *item)
{
    char text[160];
    struct slice path = slice_of(v->text + item->path_at, item->path_bytes);
    const struct load_extent *e = &v->load->extents[item->chunk];
    uint64_t segment = v->load->segments[e->segment].id;
    if (v->states[item->chunk] == VERIFY_LOST) {
        (void)snprintf(text,
                       sizeof text,
                       "chunk %u in segment %016" PRIx64 " cannot be read",
                       item->chunk,
                       segment);
        return verify_say(v, item->component, path, text);
    }
    struct digest found = digest_bytes(v->buffer + item->offset_bytes, (size_t)item->bytes);
    if (digest_equal(&found, &item->digest)) {
        return 0;
    }
    (void)snprintf(text,
                   sizeof text,
                   "its bytes in chunk %u, segment %016" PRIx64 ", do not match its digest",
                   item->chunk,
                   segment);
    return verify_say(v, item->component, path, text);
}

int verify_flush(struct verify *v, struct err *err)
{
    int rc = 0;
    qsort(v->items, v->item_count, sizeof *v->items, verify_item_cmp);
    for (uint32_t i = 0; rc == 0 && i < v->item_count; i++) {
        rc = verify_chunk(v, v->items[i].chunk, err);
        rc = rc < 0 ? rc : verify_item(v, &v->items[i]);
    }
    v->item_count = 0;
    v->text_bytes = 0;
    return rc;
}
