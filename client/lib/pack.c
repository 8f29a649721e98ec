/* pack.c: the bytes of a capture on their way into the region: copied, digested, looked at for NaN
 * and Inf, padded, in one pass.
 *
 * While a component is under way, the value of each of its tensors points to its bytes in the
 * region with a length of 0; pack_end turns that into what struct entry means. */
#include <stdlib.h>

#include "internal/ckd.h"
#include "lib/capture.h"
#include "lib/crew.h"
#include "record/digest.h"
#include "record/finite.h"

static struct layout_chunk *pack_chunk(struct capture *cap, uint32_t index)
{
    return layout_chunk_at(cap->r->layout, index);
}

static uint8_t *pack_chunk_data(struct capture *cap, uint32_t index)
{
    return cap->r->region->base + pack_chunk(cap, index)->region_offset;
}

static int pack_place(struct capture *cap, struct entry *e, uint8_t **ret)
{
    struct err *err = &cap->c->err;
    struct layout *l = cap->r->layout;
    uint64_t offset = 0;
    bool trainable = (e->flags & ENTRY_TRAINABLE) != 0;
    int rc = layout_place(l, e->bytes, trainable, &e->first_chunk, &e->offset_bytes, &offset, err);
    if (rc == 0) {
        uint64_t end = round_up_u64(layout_region_bytes(l), LIMIT_PAGE_BYTES);
        rc = region_ready(cap->r->region, end, err);
    }
    if (rc == 0) {
        *ret = cap->r->region->base + offset;
        e->value = slice_of(*ret, 0);
    }
    return rc;
}

/* Chunks are padded with zeros to whole pages: regions are reused and hold older bytes. */
static void pack_pad(struct capture *cap, uint32_t index)
{
    uint32_t bytes = pack_chunk(cap, index)->chunk.bytes;
    uint64_t padded = round_up_u64(bytes, LIMIT_PAGE_BYTES);
    memset(pack_chunk_data(cap, index) + bytes, 0, padded - bytes);
}

/* ---- tensors with chunks of their own ----------------------------------------------------------
 */

static uint32_t pack_own_count(const struct entry *e)
{
    return (uint32_t)((e->bytes + LIMIT_CHUNK_BYTES - 1) / LIMIT_CHUNK_BYTES);
}

int pack_own_sum(struct capture *cap, struct entry *e)
{
    uint32_t count = pack_own_count(e);
    struct chunk *chunks = calloc((size_t)count + 1, sizeof *chunks);
    if (chunks == NULL) {
        return err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory for the chunks of a tensor");
    }
    e->nonfinite = (struct nonfinite){ 0 };
    for (uint32_t i = 0; i < count; i++) {
        const struct layout_chunk *own = pack_chunk(cap, e->first_chunk + i);
        chunks[i] = own->chunk;
        nonfinite_sum(&e->nonfinite, &own->nonfinite);
    }
    e->digest = digest_of_chunks(chunks, count);
    free(chunks);
    return 0;
}

/* Pieces that need not be done in order, by as many threads as the handle has. */
static void pack_run(struct capture *cap, crew_fn *work, void *arg, uint32_t pieces)
{
    if (cap->c->crew != NULL && pieces > 1) {
        crew_run(cap->c->crew, work, arg, pieces);
        return;
    }
    for (uint32_t i = 0; i < pieces; i++) {
        work(arg, i, cap->hash);
    }
}

/* The i-th chunk of an entry, from where its bytes come next. */
static void pack_take_own(
    struct capture *cap, const struct entry *e, uint32_t i, struct source *from, struct hasher *h)
{
    uint32_t index = e->first_chunk + i;
    struct layout_chunk *own = pack_chunk(cap, index);
    const struct source_look look = { .a = h, .dtype = e->dtype, .count = &own->nonfinite };
    own->nonfinite = (struct nonfinite){ 0 };
    hasher_start(h);
    source_take_all(&look, pack_chunk_data(cap, index), from, own->chunk.bytes);
    own->chunk.digest = hasher_end(h);
    pack_pad(cap, index);
}

struct pack_share {
    struct capture *cap;
    const struct entry *e;
    const uint8_t *data; /* of the whole entry */
};

static void pack_take_share(void *arg, uint32_t i, struct hasher *h)
{
    struct pack_share *s = arg;
    struct source_memory from = source_of(s->data + i * (uint64_t)LIMIT_CHUNK_BYTES);
    pack_take_own(s->cap, s->e, i, &from.source, h);
}

static int pack_put_own(struct capture *cap, struct entry *e, struct source *from)
{
    uint32_t count = pack_own_count(e);
    struct pack_share share = { .cap = cap, .e = e, .data = source_data(from) };
    if (share.data != NULL) {
        pack_run(cap, pack_take_share, &share, count);
    }
    for (uint32_t i = 0; share.data == NULL && i < count; i++) { /* it gives its bytes in order */
        pack_take_own(cap, e, i, from, cap->hash);
    }
    return pack_own_sum(cap, e);
}

/* ---- shared chunks ---- */

static int pack_mark_late(struct capture *cap, uint32_t index, uint32_t own_dtype)
{
    if (index >= cap->late_room) {
        uint32_t room = (index + 1) * 2;
        struct late *late = realloc(cap->late, room * sizeof *late);
        if (late == NULL) {
            return err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory for a slot");
        }
        memset(late + cap->late_room, 0, (room - cap->late_room) * sizeof *late);
        cap->late = late;
        cap->late_room = room;
    }
    cap->late[index] = (struct late){ .is = true, .own_dtype = own_dtype };
    return 0;
}

static void pack_close(struct capture *cap, struct pack *p)
{
    if (p->open) {
        struct chunk *chunk = &pack_chunk(cap, p->chunk)->chunk;
        chunk->digest = hasher_end(p->hash); /* not the last word of a late one */
        pack_pad(cap, p->chunk);
        p->open = false;
    }
}

/* The shared chunk that the entry was placed in, filled with zeros up to the entry. */
static struct pack *pack_open(struct capture *cap, const struct entry *e)
{
    struct pack *p = &cap->packs[(e->flags & ENTRY_TRAINABLE) != 0];
    if (!p->open || p->chunk != e->first_chunk) {
        pack_close(cap, p);
        p->chunk = e->first_chunk;
        p->bytes = 0;
        p->open = true;
        hasher_start(p->hash);
    }
    uint8_t *gap = pack_chunk_data(cap, p->chunk) + p->bytes;
    memset(gap, 0, e->offset_bytes - p->bytes);
    hasher_add(p->hash, gap, e->offset_bytes - p->bytes);
    p->bytes = e->offset_bytes + (uint32_t)e->bytes;
    return p;
}

void pack_look_small(struct capture *cap, struct entry *e, const void *data)
{
    const struct source_look look = { .a = cap->hash, .dtype = e->dtype, .count = &e->nonfinite };
    e->nonfinite = (struct nonfinite){ 0 };
    if (e->bytes <= SOURCE_BLOCK_BYTES) {
        e->digest = digest_bytes(data, e->bytes);
        finite_add(e->dtype, data, e->bytes, &e->nonfinite);
    } else {
        hasher_start(cap->hash);
        source_look_all(&look, data, e->bytes);
        e->digest = hasher_end(cap->hash);
    }
}

/* Small ones are hashed in one go, right after the copy; the others block by block. */
static void pack_put_shared(struct capture *cap, struct entry *e, uint8_t *to, struct source *from)
{
    struct pack *p = pack_open(cap, e);
    const struct source_look look = {
        .a = cap->hash, .b = p->hash, .dtype = e->dtype, .count = &e->nonfinite
    };
    if (e->bytes <= SOURCE_BLOCK_BYTES) {
        from->take(from, to, e->bytes);
        pack_look_small(cap, e, to);
        hasher_add(p->hash, to, e->bytes);
    } else {
        e->nonfinite = (struct nonfinite){ 0 };
        hasher_start(cap->hash);
        source_take_all(&look, to, from, e->bytes);
        e->digest = hasher_end(cap->hash);
    }
}

/* ---- one entry, one component, the end ---- */

int pack_put(struct capture *cap, struct entry *e, struct source *from)
{
    uint8_t *to = NULL;
    if (e->bytes == 0) {
        e->digest = digest_bytes("", 0);
        return 0;
    }
    int rc = pack_place(cap, e, &to);
    if (rc != 0) {
        return rc;
    }
    if (e->bytes >= LIMIT_OWN_CHUNK_BYTES) {
        return pack_put_own(cap, e, from);
    }
    pack_put_shared(cap, e, to, from);
    return 0;
}

int pack_reserve(struct capture *cap, struct entry *e, void **ret)
{
    uint8_t *to = NULL;
    int rc = pack_place(cap, e, &to);
    bool own = e->bytes >= LIMIT_OWN_CHUNK_BYTES;
    uint32_t count = own ? pack_own_count(e) : 1;
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        rc = pack_mark_late(cap, e->first_chunk + i, own ? e->dtype : 0);
    }
    if (rc < 0) {
        return rc;
    }
    if (!own) {
        (void)pack_open(cap, e); /* what its hasher says from here on is not used */
    }
    *ret = to;
    return 0;
}

/* A value that lies in the region, into its entry. */
static int pack_take_value(struct capture *cap, struct entry *e)
{
    void *copy = rec_copy(cap->r, e->value.data, e->bytes);
    if (copy == NULL) {
        return err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory for a value");
    }
    e->value = slice_of(copy, e->bytes);
    e->first_chunk = 0;
    e->offset_bytes = 0;
    return 0;
}

/* A component without chunks keeps its values in its entries. */
static int pack_take_values(struct capture *cap, struct cairn_reader *component)
{
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < component->count; i++) {
        struct entry *e = &component->entries[i];
        if (e->kind == ENTRY_TENSOR && e->bytes > 0) {
            rc = pack_take_value(cap, e);
        }
    }
    return rc;
}

static void pack_drop_pointers(struct cairn_reader *component)
{
    for (uint64_t i = 0; i < component->count; i++) {
        struct entry *e = &component->entries[i];
        if (e->kind == ENTRY_TENSOR) {
            e->value = slice_of(NULL, 0);
        }
    }
}

int pack_end(struct capture *cap, struct cairn_reader *component)
{
    bool is_inline = false;
    uint32_t before = layout_chunk_count(cap->r->layout);
    for (int i = 0; i < 2; i++) {
        pack_close(cap, &cap->packs[i]);
    }
    layout_end(cap->r->layout, &is_inline);
    if (!is_inline) {
        pack_drop_pointers(component);
        return 0;
    }
    for (uint32_t i = layout_chunk_count(cap->r->layout); i < before && i < cap->late_room; i++) {
        cap->late[i].is = false;
    }
    return pack_take_values(cap, component);
}

static void pack_finish_chunk(void *arg, uint32_t index, struct hasher *h)
{
    struct capture *cap = arg;
    struct layout_chunk *late = pack_chunk(cap, index);
    const struct source_look look = { .a = h,
                                      .dtype = cap->late[index].own_dtype,
                                      .count = &late->nonfinite };
    if (cap->late[index].is) {
        pack_pad(cap, index);
        late->nonfinite = (struct nonfinite){ 0 };
        hasher_start(h);
        source_look_all(&look, pack_chunk_data(cap, index), late->chunk.bytes);
        late->chunk.digest = hasher_end(h);
    }
}

void pack_finish_late(struct capture *cap)
{
    uint32_t chunks = layout_chunk_count(cap->r->layout);
    pack_run(cap, pack_finish_chunk, cap, chunks < cap->late_room ? chunks : cap->late_room);
}

int pack_init(struct capture *cap)
{
    cap->hash = hasher_new();
    cap->packs[0].hash = hasher_new();
    cap->packs[1].hash = hasher_new();
    if (cap->hash == NULL || cap->packs[0].hash == NULL || cap->packs[1].hash == NULL) {
        return err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory for a capture");
    }
    return 0;
}

void pack_fini(struct capture *cap)
{
    cap->hash = hasher_free(cap->hash);
    for (int i = 0; i < 2; i++) {
        cap->packs[i].hash = hasher_free(cap->packs[i].hash);
        cap->packs[i].open = false;
    }
    free(cap->late);
    cap->late = NULL;
    cap->late_room = 0;
}
