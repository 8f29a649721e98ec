#include "record/digest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "record/quant.h"

bool digest_equal(const struct digest *a, const struct digest *b)
{
    return memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

struct digest digest_of_chunks(const struct chunk *chunks, uint32_t count)
{
    struct hasher state;
    hasher_start(&state);
    for (uint32_t i = 0; i < count; i++) {
        hasher_add(&state, chunks[i].digest.byte, sizeof chunks[i].digest.byte);
    }
    return hasher_end(&state);
}

/* ---- canonical byte strings: integers little-endian, texts after their length -------------------
 */

static uint8_t *digest_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        *at++ = (uint8_t)(value >> (8 * i));
    }
    return at;
}

static uint8_t *digest_u64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        *at++ = (uint8_t)(value >> (8 * i));
    }
    return at;
}

static uint8_t *digest_put(uint8_t *at, const void *data, size_t bytes)
{
    memcpy(at, data, bytes);
    return at + bytes;
}

static void digest_text(struct hasher *state, struct slice text)
{
    uint8_t length[4];
    (void)digest_u32(length, (uint32_t)text.bytes);
    hasher_add(state, length, sizeof length);
    hasher_add(state, text.data, text.bytes);
}

/* What few entries and components have is appended with a tag, and only when it is there: a record
 * without any of it has the digests that it always had. A tag is the number of the field in
 * cairn.proto with the highest bit set, which nothing that may follow there (the length of a path,
 * a count of entries, the number of a component) can have. */
#define DIGEST_TAG 0x80000000u
#define DIGEST_CONFIG (DIGEST_TAG | 8u)
#define DIGEST_STORAGE_DTYPE (DIGEST_TAG | 13u)
#define DIGEST_QUANT (DIGEST_TAG | 14u)
#define DIGEST_ELEMENT_BITS (DIGEST_TAG | 15u)

static void digest_pair(struct hasher *state, uint32_t tag, uint32_t value)
{
    uint8_t bytes[8];
    (void)digest_u32(digest_u32(bytes, tag), value);
    hasher_add(state, bytes, sizeof bytes);
}

static void digest_quant(struct hasher *state, const struct quant *q)
{
    uint8_t bytes[8 * 4 + LIMIT_BLOCK_RANK + 3 * 8];
    const struct cairn_quant *s = &q->scheme;
    uint8_t *at = digest_u32(bytes, DIGEST_QUANT);
    at = digest_u32(at, s->value);
    at = digest_u32(at, s->store);
    at = digest_u32(at, s->packed_dim);
    at = digest_u32(at, s->mode);
    at = digest_u32(at, s->global_dtype);
    at = digest_u32(at, s->block_dtype);
    at = digest_u32(at, s->block_rank);
    assert(s->block_rank <= LIMIT_BLOCK_RANK);
    at = digest_put(at, s->block, s->block_rank);
    at = digest_u64(at, q->bytes.values);
    at = digest_u64(at, q->bytes.block_scales);
    at = digest_u64(at, q->bytes.global_scale);
    hasher_add(state, bytes, (size_t)(at - bytes));
}

/* Counts of NaN and Inf are in no digest: they follow from the bytes, which are, and a record keeps
 * the digests that it had before anybody counted. That they arrive as they were sent is seen by
 * their sums: of a component, and of the boundary. */
static void digest_rare(struct hasher *state, const struct entry *e)
{
    if (e->storage_dtype != 0) {
        digest_pair(state, DIGEST_STORAGE_DTYPE, e->storage_dtype);
    }
    if (e->quant != NULL) {
        digest_quant(state, e->quant);
    }
    if (e->element_bits != 0) {
        digest_pair(state, DIGEST_ELEMENT_BITS, e->element_bits);
    }
}

struct component_digest {
    struct hasher state;
    uint64_t entry_count;
};

struct component_digest *component_digest_new(enum component component, struct slice type)
{
    struct component_digest *d = aligned_alloc(alignof(struct component_digest), sizeof *d);
    if (d == NULL) {
        return NULL;
    }
    d->entry_count = 0;
    uint8_t head[12];
    hasher_start(&d->state);
    (void)digest_u32(digest_put(head, "CRN1comp", 8), (uint32_t)component);
    hasher_add(&d->state, head, sizeof head);
    digest_text(&d->state, type);
    return d;
}

void component_digest_entry(struct component_digest *d, const struct entry *e)
{
    uint8_t fixed[4 + 8 + 4 + 4 + 4 + 8 * LIMIT_RANK + 8 + 16];
    uint8_t *at = digest_u32(fixed, e->flags);
    at = digest_u64(at, e->id);
    at = digest_u32(at, (uint32_t)e->kind);
    at = digest_u32(at, e->dtype);
    at = digest_u32(at, e->rank);
    assert(e->rank <= LIMIT_RANK);
    for (uint32_t i = 0; i < e->rank; i++) {
        at = digest_u64(at, e->shape[i]);
    }
    at = digest_u64(at, e->bytes);
    at = digest_put(at, e->digest.byte, sizeof e->digest.byte);
    digest_text(&d->state, e->path);
    hasher_add(&d->state, fixed, (size_t)(at - fixed));
    digest_rare(&d->state, e);
    d->entry_count++;
}

struct digest component_digest_end(struct component_digest *d)
{
    uint8_t count[8];
    (void)digest_u64(count, d->entry_count);
    hasher_add(&d->state, count, sizeof count);
    return hasher_end(&d->state);
}

struct component_digest *component_digest_free(struct component_digest *d)
{
    free(d);
    return NULL;
}

static void digest_component(struct hasher *state, const struct component_info *info)
{
    uint8_t head[4];
    uint8_t tail[8 + 8 + 16];
    (void)digest_u32(head, (uint32_t)info->component);
    uint8_t *at = digest_u64(tail, info->entry_count);
    at = digest_u64(at, info->bytes);
    (void)digest_put(at, info->digest.byte, sizeof info->digest.byte);
    hasher_add(state, head, sizeof head);
    digest_text(state, info->type);
    hasher_add(state, tail, sizeof tail);
    if (info->has_config) {
        uint8_t tag[4];
        (void)digest_u32(tag, DIGEST_CONFIG);
        hasher_add(state, tag, sizeof tag);
        hasher_add(state, info->config.byte, sizeof info->config.byte);
    }
}

struct digest
digest_root(const struct boundary *b, const struct component_info *infos, uint32_t count)
{
    uint8_t head[8 + 8 + 16 + 6 * 4];
    uint8_t *at = digest_put(head, "CRN1root", 8);
    at = digest_u64(at, b->step);
    at = digest_put(at, b->save_id, sizeof b->save_id);
    at = digest_u32(at, b->kind);
    at = digest_u32(at, (uint32_t)b->precision);
    at = digest_u32(at, b->exact ? 1 : 0);
    at = digest_u32(at, b->rank);
    at = digest_u32(at, b->world);
    at = digest_u32(at, count);
    struct hasher state;
    hasher_start(&state);
    hasher_add(&state, head, (size_t)(at - head));
    for (uint32_t i = 0; i < count; i++) {
        digest_component(&state, &infos[i]);
    }
    return hasher_end(&state);
}

uint64_t digest_row(struct slice key, struct slice value)
{
    struct hasher state;
    hasher_start(&state);
    hasher_add(&state, key.data, key.bytes);
    hasher_add(&state, value.data, value.bytes);
    return hasher_end_64(&state);
}

void digest_hex(const struct digest *d, char ret_text[33])
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof d->byte; i++) {
        ret_text[2 * i] = hex[d->byte[i] >> 4];
        ret_text[2 * i + 1] = hex[d->byte[i] & 15];
    }
    ret_text[32] = '\0';
}
