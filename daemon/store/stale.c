/* Did the training go on? How much of what is trained is not as it was in the boundary before. A
 * trainer that captures the same tensors again and again, as its copy is not refreshed, is told so
 * while it can be mended.
 *
 * Trainable chunks are compared by what they refer to: one that the parent refers to, too, has not
 * changed. A model that is so small that it has no chunks is compared as a whole. */
#include "store/stale.h"

#include "record/digest.h"

static const struct component_info *stale_model(const struct boundary *b)
{
    for (uint32_t i = 0; i < b->component_count; i++) {
        if (b->components[i].component == COMPONENT_MODEL) {
            return &b->components[i];
        }
    }
    return NULL;
}

static bool stale_refers(struct txn *t, const struct save_chunk *c, uint64_t seq)
{
    struct slice value;
    struct key key = key_ref(c->segment, c->index, seq);
    return row_get(t, DB_REF, &key, &value, NULL) == 0;
}

static void
stale_chunks(struct txn *t, const struct st_save *s, const struct check *check, struct boundary *b)
{
    for (uint32_t i = 0; i < check->chunk_count; i++) {
        const struct chunk *chunk = &check->chunks[i];
        if (chunk->component != COMPONENT_MODEL || (chunk->flags & CHUNK_TRAINABLE) == 0) {
            continue;
        }
        bool same = s->chunks[i].shared && stale_refers(t, &s->chunks[i], b->parent_seq);
        b->trainable_bytes += chunk->bytes;
        b->trainable_new_bytes += same ? 0 : chunk->bytes;
    }
}

void stale_measure(struct txn *t,
                   const struct st_save *s,
                   const struct st_manifest *m,
                   struct boundary *b)
{
    struct bump bump;
    struct row_boundary parent;
    b->trainable_bytes = m->check.trainable_value_bytes;
    b->trainable_new_bytes = m->check.trainable_value_bytes;
    stale_chunks(t, s, &m->check, b);
    bool known = row_get_boundary(t, b->parent_seq, &bump, &parent, NULL) == 0;
    const struct component_info *is = stale_model(b);
    const struct component_info *was = known ? stale_model(&parent.boundary) : NULL;
    if (is != NULL && was != NULL && digest_equal(&is->digest, &was->digest)) {
        b->trainable_new_bytes = 0;
    }
    if (known && b->trainable_bytes > 0 && b->trainable_new_bytes == 0 &&
        b->step != parent.boundary.step) {
        b->warnings |= WARNING_STALE;
    }
    bump_fini(&bump);
}
