/* codec_load.c: FIND to RELEASE. */
#include "wire/codec_int.h"

int codec_find_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Find *m = pb;
    struct wire_find *find = &ret->find;
    int rc = codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &find->run);
    if (rc < 0) {
        return rc;
    }
    if (m->has_save_id == m->has_selector) {
        return codec_refuse(c, "save_id", "exactly one of save_id and selector is given");
    }
    find->by_save_id = m->has_save_id != 0;
    find->rank = m->has_rank ? m->rank : 0;
    if (find->by_save_id) {
        return m->has_max ? codec_refuse(c, "max", "given without need")
                          : codec_fixed(c, "save_id", m->save_id, find->save_id);
    }
    if (m->has_rank || !m->has_max) {
        return codec_refuse(c, m->has_rank ? "rank" : "max", "wrong with a selector");
    }
    if (m->max == 0 || m->max > LIMIT_FIND) {
        return err_set(c->err, -CAIRN_ELIMIT, "max: %u, expected 1 to %u", m->max, LIMIT_FIND);
    }
    find->max = m->max;
    return codec_text(c, "selector", m->selector, LIMIT_SELECTOR_BYTES, &find->selector);
}

void *codec_find_to(struct bump *b, const union wire_msg *msg)
{
    const struct wire_find *from = &msg->find;
    Cairn__Find *pb = codec_new(b, &cairn__find__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(from->run);
    pb->has_save_id = from->by_save_id;
    pb->save_id = codec_bin_of(from->save_id, sizeof from->save_id);
    pb->has_rank = from->by_save_id;
    pb->rank = from->rank;
    pb->has_selector = !from->by_save_id;
    pb->selector = codec_bin(from->selector);
    pb->has_max = !from->by_save_id;
    pb->max = from->max;
    return pb;
}

int codec_found_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Found *m = pb;
    struct boundary *boundaries = codec_array(c, m->n_boundaries, sizeof *boundaries);
    if (boundaries == NULL) {
        return c->bump->exhausted ? -CAIRN_ELIMIT : -CAIRN_ENOMEM;
    }
    for (size_t i = 0; i < m->n_boundaries; i++) {
        int rc = codec_boundary_from(c, m->boundaries[i], &boundaries[i]);
        if (rc < 0) {
            return err_wrap(c->err, rc, "boundaries[%zu]", i);
        }
    }
    ret->found = (struct wire_found){
        .state = (enum save_state)m->state,
        .seq = m->seq,
        .boundaries = boundaries,
        .count = (uint32_t)m->n_boundaries,
        .damaged = m->damaged,
        .damaged_count = (uint32_t)m->n_damaged,
    };
    return 0;
}

void *codec_found_to(struct bump *b, const union wire_msg *msg)
{
    const struct wire_found *from = &msg->found;
    Cairn__Found *pb = codec_new(b, &cairn__found__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->state = (Cairn__SaveState)from->state;
    pb->seq = from->seq;
    union { /* packing does not write */
        const uint64_t *in;
        uint64_t *out;
    } damaged = { .in = from->damaged };
    pb->n_damaged = from->damaged_count;
    pb->damaged = damaged.out;
    pb->n_boundaries = from->count;
    pb->boundaries = codec_list(b, from->count);
    for (uint32_t i = 0; pb->boundaries != NULL && i < from->count; i++) {
        pb->boundaries[i] = codec_boundary_to(b, &from->boundaries[i]);
        if (pb->boundaries[i] == NULL) {
            return NULL;
        }
    }
    return pb->boundaries == NULL ? NULL : pb;
}

int codec_delete_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Delete *m = pb;
    int rc = codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &ret->remove.run);
    return rc < 0 ? rc
                  : codec_text(
                        c, "selector", m->selector, LIMIT_SELECTOR_BYTES, &ret->remove.selector);
}

void *codec_delete_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Delete *pb = codec_new(b, &cairn__delete__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(msg->remove.run);
    pb->selector = codec_bin(msg->remove.selector);
    return pb;
}

int codec_describe_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Describe *m = pb;
    ret->describe.pin = m->pin != 0;
    int rc = codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &ret->describe.run);
    return rc < 0 ? rc
                  : codec_text(
                        c, "selector", m->selector, LIMIT_SELECTOR_BYTES, &ret->describe.selector);
}

void *codec_describe_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Describe *pb = codec_new(b, &cairn__describe__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(msg->describe.run);
    pb->selector = codec_bin(msg->describe.selector);
    pb->pin = msg->describe.pin;
    return pb;
}

int codec_described_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Described *m = pb;
    ret->described.resident = m->has_resident && m->resident;
    return codec_boundary_from(c, m->boundary, &ret->described.boundary);
}

void *codec_described_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Described *pb = codec_new(b, &cairn__described__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->has_resident = msg->described.resident;
    pb->resident = msg->described.resident;
    pb->boundary = codec_boundary_to(b, &msg->described.boundary);
    return pb->boundary == NULL ? NULL : pb;
}

int codec_manifest_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Manifest *m = pb;
    (void)c;
    ret->manifest = (struct wire_manifest){ (enum component)m->component, m->page };
    return 0;
}

void *codec_manifest_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Manifest *pb = codec_new(b, &cairn__manifest__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->component = (Cairn__Component)msg->manifest.component;
    pb->page = msg->manifest.page;
    return pb;
}

int codec_chunk_list_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__ChunkList *m = pb;
    ret->chunk_list = (struct wire_chunk_list){ m->first, m->has_arena ? m->arena : 0 };
    return m->has_arena && m->arena == 0 ? codec_refuse(c, "arena", "0") : 0;
}

void *codec_chunk_list_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__ChunkList *pb = codec_new(b, &cairn__chunk_list__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->first = msg->chunk_list.first;
    pb->has_arena = msg->chunk_list.arena != 0;
    pb->arena = msg->chunk_list.arena;
    return pb;
}

int codec_load_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Load *m = pb;
    ret->load = (struct wire_load){
        m->first_chunk, m->chunk_count, m->credits, m->has_arena ? m->arena : 0
    };
    if (m->has_arena && m->arena == 0) {
        return codec_refuse(c, "arena", "0");
    }
    if (m->credits == 0 || m->credits > LIMIT_WINDOW_CHUNKS) {
        return err_set(c->err,
                       -CAIRN_ELIMIT,
                       "credits: %u, expected 1 to %u",
                       m->credits,
                       LIMIT_WINDOW_CHUNKS);
    }
    return 0;
}

void *codec_load_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Load *pb = codec_new(b, &cairn__load__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->first_chunk = msg->load.first_chunk;
    pb->chunk_count = msg->load.chunk_count;
    pb->credits = msg->load.credits;
    pb->has_arena = msg->load.arena != 0;
    pb->arena = msg->load.arena;
    return pb;
}

int codec_filled_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Filled *m = pb;
    (void)c;
    ret->filled.chunk = m->chunk;
    return 0;
}

void *codec_filled_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Filled *pb = codec_new(b, &cairn__filled__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->chunk = msg->filled.chunk;
    return pb;
}

int codec_loaded_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Loaded *m = pb;
    (void)c;
    ret->loaded = (struct wire_loaded){ m->chunk_count, m->aborted != 0 };
    return 0;
}

void *codec_loaded_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Loaded *pb = codec_new(b, &cairn__loaded__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->chunk_count = msg->loaded.chunk_count;
    pb->aborted = msg->loaded.aborted;
    return pb;
}

int codec_release_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Release *m = pb;
    ret->release.credits = m->credits;
    return m->credits == 0 ? codec_refuse(c, "credits", "0") : 0;
}

void *codec_release_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Release *pb = codec_new(b, &cairn__release__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->credits = msg->release.credits;
    return pb;
}
