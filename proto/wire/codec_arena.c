/* codec_arena.c: the messages about memory that both sides see. */
#include "wire/codec_int.h"

int codec_arena_open_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__ArenaOpen *m = pb;
    ret->arena_open = (struct wire_arena_open){ m->bytes, m->has_ring && m->ring };
    return m->bytes == 0 ? codec_refuse(c, "bytes", "0") : 0;
}

void *codec_arena_open_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__ArenaOpen *pb = codec_new(b, &cairn__arena_open__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->bytes = msg->arena_open.bytes;
    pb->has_ring = msg->arena_open.ring;
    pb->ring = msg->arena_open.ring;
    return pb;
}

int codec_arena_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Arena *m = pb;
    ret->arena = (struct wire_arena){ .arena = m->arena, .bytes = m->bytes };
    return m->arena == 0 ? codec_refuse(c, "arena", "0") : 0;
}

void *codec_arena_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Arena *pb = codec_new(b, &cairn__arena__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->arena = msg->arena.arena;
    pb->bytes = msg->arena.bytes;
    return pb;
}

/* ARENA_MAPPED and ARENA_CLOSE. */
int codec_arena_ref_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__ArenaRef *m = pb;
    (void)c;
    ret->arena_ref.arena = m->arena;
    return 0;
}

void *codec_arena_ref_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__ArenaRef *pb = codec_new(b, &cairn__arena_ref__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->arena = msg->arena_ref.arena;
    return pb;
}
