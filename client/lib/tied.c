#include "lib/tied.h"

#include <stdlib.h>

#include "lib/training.h"
#include "record/digest.h"
#include "record/dtype.h"

void tied_fini(struct tied *t)
{
    free(t->at);
    *t = (struct tied){ .at = NULL };
}

/* Ids are random or count up: the multiplication spreads both. */
static uint32_t tied_hash(const struct tied *t, const struct entry *e)
{
    uint64_t key = e->id * 2 + ((e->flags & ENTRY_TRAINABLE) != 0);
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & (t->room - 1);
}

static bool tied_same_key(const struct entry *a, const struct entry *b)
{
    return a->id == b->id && a->flags == b->flags;
}

/* Where the key is, or where it would be. */
static uint32_t
tied_place(const struct tied *t, const struct cairn_reader *model, const struct entry *e)
{
    uint32_t at = tied_hash(t, e);
    while (t->at[at] != 0 && !tied_same_key(&model->entries[t->at[at] - 1], e)) {
        at = (at + 1) & (t->room - 1);
    }
    return at;
}

const struct entry *
tied_find(const struct tied *t, const struct cairn_reader *model, const struct entry *e)
{
    if (t->room == 0 || (e->flags & ENTRY_HAS_ID) == 0) {
        return NULL;
    }
    uint32_t index = t->at[tied_place(t, model, e)];
    const struct entry *first = index == 0 ? NULL : &model->entries[index - 1];
    return first != NULL && ties_differ_in_form(first, e) == NULL ? first : NULL;
}

static int tied_grow(struct tied *t, const struct cairn_reader *model, struct err *err)
{
    struct tied larger = { .room = t->room == 0 ? 64 : t->room * 2, .count = t->count };
    if (t->count * 2 < t->room) {
        return 0;
    }
    larger.at = calloc(larger.room, sizeof *larger.at);
    if (larger.at == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory to find tied parameters");
    }
    for (uint32_t i = 0; i < t->room; i++) {
        if (t->at[i] != 0) {
            larger.at[tied_place(&larger, model, &model->entries[t->at[i] - 1])] = t->at[i];
        }
    }
    free(t->at);
    *t = larger;
    return 0;
}

int tied_add(struct tied *t, const struct cairn_reader *model, struct err *err)
{
    const struct entry *e = &model->entries[model->count - 1];
    if ((e->flags & ENTRY_HAS_ID) == 0 || e->bytes == 0) {
        return 0;
    }
    int rc = tied_grow(t, model, err);
    if (rc < 0) {
        return rc;
    }
    uint32_t at = tied_place(t, model, e);
    if (t->at[at] == 0) {
        t->at[at] = (uint32_t)model->count;
        t->count++;
    }
    return 0;
}

/* ---- the same bytes? ---- */

static struct digest
tied_digest(struct capture *cap, struct source *from, uint8_t *scratch, uint64_t bytes)
{
    const struct source_look look = { .a = cap->hash };
    hasher_start(cap->hash);
    while (bytes > 0) {
        uint64_t block = bytes < SOURCE_BLOCK_BYTES ? bytes : SOURCE_BLOCK_BYTES;
        source_take_all(&look, scratch, from, block);
        bytes -= block;
    }
    return hasher_end(cap->hash);
}

/* Digests as of an entry like this: of the bytes, or of those of its chunks. */
static bool
tied_equal(struct capture *cap, const struct entry *first, struct source *from, uint8_t *scratch)
{
    if (first->bytes < LIMIT_OWN_CHUNK_BYTES) {
        struct digest d = tied_digest(cap, from, scratch, first->bytes);
        return digest_equal(&d, &first->digest);
    }
    bool equal = true;
    uint64_t left = first->bytes;
    for (uint32_t i = first->first_chunk; equal && left > 0; i++) {
        const struct chunk *chunk = &layout_chunk_at(cap->r->layout, i)->chunk;
        struct digest d = tied_digest(cap, from, scratch, chunk->bytes);
        equal = digest_equal(&d, &chunk->digest);
        left -= chunk->bytes;
    }
    return equal;
}

int tied_put(struct capture *cap, struct entry *e, const struct entry *first, struct source *from)
{
    uint8_t *scratch = malloc(SOURCE_BLOCK_BYTES);
    if (scratch == NULL) {
        return err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory to compare tied parameters");
    }
    bool equal = tied_equal(cap, first, from, scratch);
    free(scratch);
    if (!equal) {
        return ties_refuse(first, e, "values", &cap->c->err);
    }
    e->digest = first->digest;
    e->nonfinite = first->nonfinite;
    e->first_chunk = first->first_chunk;
    e->offset_bytes = first->offset_bytes;
    e->value = first->value;
    return 0;
}
