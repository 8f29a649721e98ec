/* codec_save.c: BEGIN to COMMITTED. Manifest pages are in codec_entry.c. */
#include "wire/codec_int.h"

int codec_begin_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Begin *m = pb;
    int rc = codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &ret->begin.run);
    ret->begin.arena = m->has_arena ? m->arena : 0;
    if (rc == 0 && m->has_arena && m->arena == 0) {
        rc = codec_refuse(c, "arena", "0: leave it out");
    }
    return rc < 0 ? rc : codec_boundary_from(c, m->boundary, &ret->begin.boundary);
}

void *codec_begin_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Begin *pb = codec_new(b, &cairn__begin__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(msg->begin.run);
    pb->has_arena = msg->begin.arena != 0;
    pb->arena = msg->begin.arena;
    pb->boundary = codec_boundary_to(b, &msg->begin.boundary);
    return pb->boundary == NULL ? NULL : pb;
}

int codec_begun_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Begun *m = pb;
    (void)c;
    ret->begun = (struct wire_begun){ (enum save_state)m->state, m->seq };
    return 0;
}

void *codec_begun_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Begun *pb = codec_new(b, &cairn__begun__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->state = (Cairn__SaveState)msg->begun.state;
    pb->seq = msg->begun.seq;
    return pb;
}

int codec_chunks_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Chunks *m = pb;
    struct chunk *chunks = codec_array(c, m->n_chunks, sizeof *chunks);
    if (chunks == NULL) {
        return c->bump->exhausted ? -CAIRN_ELIMIT : -CAIRN_ENOMEM;
    }
    for (size_t i = 0; i < m->n_chunks; i++) {
        int rc = codec_chunk_from(c, m->chunks[i], &chunks[i]);
        if (rc < 0) {
            return err_wrap(c->err, rc, "chunks[%zu]", i);
        }
    }
    if (m->n_offsets != 0 && m->n_offsets != m->n_chunks) {
        return codec_refuse(c, "offsets", "one for each chunk, or none");
    }
    ret->chunks = (struct wire_chunks){
        .first = m->first,
        .chunks = chunks,
        .count = (uint32_t)m->n_chunks,
        .more = m->more != 0,
        .offsets = m->n_offsets == 0 ? NULL : m->offsets,
    };
    return 0;
}

void *codec_chunks_to(struct bump *b, const union wire_msg *msg)
{
    const struct wire_chunks *from = &msg->chunks;
    Cairn__Chunks *pb = codec_new(b, &cairn__chunks__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    Cairn__Chunk *chunks = bump_alloc(b, from->count * sizeof *chunks);
    pb->chunks = codec_list(b, from->count);
    if (chunks == NULL || pb->chunks == NULL) {
        return NULL;
    }
    pb->first = from->first;
    pb->more = from->more;
    pb->n_chunks = from->count;
    if (from->offsets != NULL) {
        pb->offsets = bump_alloc(b, from->count * sizeof *pb->offsets);
        if (pb->offsets == NULL) {
            return NULL;
        }
        memcpy(pb->offsets, from->offsets, from->count * sizeof *pb->offsets);
        pb->n_offsets = from->count;
    }
    for (uint32_t i = 0; i < from->count; i++) {
        codec_chunk_to(&from->chunks[i], &chunks[i]);
        pb->chunks[i] = &chunks[i];
    }
    return pb;
}

int codec_data_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Data *m = pb;
    (void)c;
    ret->data.chunk = m->chunk;
    return 0;
}

void *codec_data_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Data *pb = codec_new(b, &cairn__data__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->chunk = msg->data.chunk;
    return pb;
}

int codec_seal_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Seal *m = pb;
    ret->seal.component_count = (uint32_t)m->n_components;
    int rc = codec_infos_from(c, m->components, m->n_components, &ret->seal.components);
    return rc < 0 ? rc : codec_fixed(c, "root", m->root, ret->seal.root.byte);
}

void *codec_seal_to(struct bump *b, const union wire_msg *msg)
{
    const struct wire_seal *from = &msg->seal;
    Cairn__Seal *pb = codec_new(b, &cairn__seal__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->n_components = from->component_count;
    pb->components = codec_infos_to(b, from->components, from->component_count);
    pb->root = codec_bin_of(from->root.byte, sizeof from->root.byte);
    return pb->components == NULL ? NULL : pb;
}

int codec_committed_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Committed *m = pb;
    return codec_boundary_from(c, m->boundary, &ret->committed.boundary);
}

void *codec_committed_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Committed *pb = codec_new(b, &cairn__committed__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->boundary = codec_boundary_to(b, &msg->committed.boundary);
    return pb->boundary == NULL ? NULL : pb;
}
