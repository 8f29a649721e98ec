/* rules_place.c: where an entry's bytes lie among the chunks. */
#include "record/digest.h"
#include "record/rules.h"

/* A chunk that may hold bytes of this entry: right component, right half, shared or not. */
static int rules_chunk_fits(enum component component,
                            const struct entry *e,
                            const struct chunk *chunk,
                            bool packed,
                            struct err *err)
{
    if (chunk->component != component) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "its chunk belongs to component %s",
                       component_name((uint32_t)chunk->component));
    }
    if (((chunk->flags & CHUNK_TRAINABLE) != 0) != ((e->flags & ENTRY_TRAINABLE) != 0)) {
        return err_set(err, -CAIRN_EINVAL, "trainable and frozen entries share no chunk");
    }
    if (((chunk->flags & CHUNK_PACKED) != 0) != packed) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       packed ? "a small tensor in a chunk that is not shared"
                              : "a tensor of 4 MiB or more in a shared chunk");
    }
    return 0;
}

static int rules_own_lengths(enum component component,
                             const struct entry *e,
                             const struct chunk *chunks,
                             uint32_t count,
                             struct err *err)
{
    uint64_t left = e->bytes;
    for (uint32_t i = 0; i < count; i++) {
        int rc = rules_chunk_fits(component, e, &chunks[i], false, err);
        if (rc < 0) {
            return rc;
        }
        uint64_t part = left > LIMIT_CHUNK_BYTES ? LIMIT_CHUNK_BYTES : left;
        if (chunks[i].bytes != part) {
            return err_set(err,
                           -CAIRN_EINVAL,
                           "its part %u has %u bytes, expected %llu",
                           i,
                           chunks[i].bytes,
                           (unsigned long long)part);
        }
        left -= part;
    }
    return 0;
}

static int rules_place_own(enum component component,
                           const struct entry *e,
                           const struct chunk *chunks,
                           uint32_t chunk_count,
                           struct err *err)
{
    uint64_t count = e->bytes / LIMIT_CHUNK_BYTES + (e->bytes % LIMIT_CHUNK_BYTES != 0);
    if (e->offset_bytes != 0) {
        return err_set(err, -CAIRN_EINVAL, "an offset into chunks of its own");
    }
    if (count > chunk_count - e->first_chunk) {
        return err_set(err, -CAIRN_EINVAL, "it needs chunks that there are not");
    }
    const struct chunk *own = chunks + e->first_chunk;
    int rc = rules_own_lengths(component, e, own, (uint32_t)count, err);
    if (rc < 0) {
        return rc;
    }
    struct digest digest = digest_of_chunks(own, (uint32_t)count);
    if (!digest_equal(&digest, &e->digest)) {
        return err_set(err, -CAIRN_ECORRUPT, "the digest is not that of its chunks");
    }
    return 0;
}

static int rules_place_packed(enum component component,
                              const struct entry *e,
                              const struct chunk *chunk,
                              struct err *err)
{
    int rc = rules_chunk_fits(component, e, chunk, true, err);
    if (rc < 0) {
        return rc;
    }
    if (e->offset_bytes % LIMIT_PACK_ALIGN_BYTES != 0) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "offset %u is not a multiple of %u",
                       e->offset_bytes,
                       LIMIT_PACK_ALIGN_BYTES);
    }
    if (e->offset_bytes + e->bytes > chunk->bytes) {
        return err_set(err, -CAIRN_EINVAL, "it reaches past the end of its chunk");
    }
    return 0;
}

static int rules_place_chunks(enum component component,
                              const struct entry *e,
                              const struct chunk *chunks,
                              uint32_t chunk_count,
                              struct err *err)
{
    if (e->first_chunk >= chunk_count) {
        return err_set(
            err, -CAIRN_EINVAL, "chunk %u, but there are %u", e->first_chunk, chunk_count);
    }
    if (e->bytes >= LIMIT_OWN_CHUNK_BYTES) {
        return rules_place_own(component, e, chunks, chunk_count, err);
    }
    return rules_place_packed(component, e, &chunks[e->first_chunk], err);
}

int rules_place(enum component component,
                const struct entry *e,
                const struct chunk *chunks,
                uint32_t chunk_count,
                struct err *err)
{
    if (e->value.bytes == e->bytes) {
        return 0; /* empty, or inside the entry */
    }
    int rc = rules_place_chunks(component, e, chunks, chunk_count, err);
    if (rc < 0) {
        (void)err_at(err, component, e->path.data, e->path.bytes);
    }
    return rc;
}
