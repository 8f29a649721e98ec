/* slot.c: tensors whose bytes the caller writes into the record itself. */
#include <stdlib.h>

#include "lib/capture.h"
#include "record/digest.h"

static int slot_grow(struct capture *cap)
{
    if (cap->slot_count < cap->slot_room) {
        return 0;
    }
    uint32_t room = cap->slot_room == 0 ? 64 : cap->slot_room * 2;
    struct slot *slots = realloc(cap->slots, room * sizeof *slots);
    if (slots == NULL) {
        return err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory for a slot");
    }
    cap->slots = slots;
    cap->slot_room = room;
    return 0;
}

static int slot_append(struct capture *cap, const struct slot *slot, struct cairn_slot *ret)
{
    (void)pthread_mutex_lock(&cap->c->slot_lock);
    int rc = slot_grow(cap);
    if (rc == 0) {
        cap->slots[cap->slot_count++] = *slot;
        *ret = (struct cairn_slot){ .dst = slot->dst,
                                    .dst_bytes = slot->key.bytes,
                                    .cookie = (uint64_t)cap->serial << 32 | cap->slot_count };
    }
    (void)pthread_mutex_unlock(&cap->c->slot_lock);
    return rc;
}

int slot_add(struct capture *cap, enum component component, struct entry *e, struct cairn_slot *ret)
{
    struct slot slot = { .component = component };
    if (e->bytes == 0) {
        e->digest = digest_bytes("", 0);
    } else {
        int rc = pack_reserve(cap, e, &slot.region_dst);
        if (rc < 0) {
            return rc;
        }
    }
    slot.dst = slot.region_dst;
    if (e->bytes <= LIMIT_INLINE_COMPONENT_BYTES) {
        slot.dst = bump_alloc(&cap->r->bump, e->bytes);
        if (slot.dst == NULL) {
            return err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory for a slot");
        }
    }
    slot.key = *e;
    return slot_append(cap, &slot, ret);
}

int cairn_slot_done(struct cairn *c, const struct cairn_slot *s, int rc)
{
    if (c == NULL || s == NULL) {
        return -CAIRN_EINVAL;
    }
    int result = -CAIRN_EINVAL;
    (void)pthread_mutex_lock(&c->slot_lock);
    struct capture *cap = c->capture;
    uint64_t index = s->cookie & UINT32_MAX;
    if (cap != NULL && s->cookie >> 32 == cap->serial && index >= 1 && index <= cap->slot_count &&
        !cap->slots[index - 1].done) {
        cap->slots[index - 1].done = true;
        cap->slots[index - 1].rc = rc > 0 ? -CAIRN_EINVAL : rc;
        result = 0;
    }
    (void)pthread_mutex_unlock(&c->slot_lock);
    return result;
}

/* Another thread may say "done" at this moment: its word, and what it wrote before it, is seen
 * whole or not at all. */
static int slot_check(struct capture *cap, const struct slot *slot)
{
    struct err *err = &cap->c->err;
    (void)pthread_mutex_lock(&cap->c->slot_lock);
    bool done = slot->done;
    int rc = slot->rc;
    (void)pthread_mutex_unlock(&cap->c->slot_lock);
    if (!done) {
        rc = err_set(err, -CAIRN_ESYNC, "a slot was still open when the capture ended");
    } else if (rc < 0) {
        rc = err_set(err, rc, "the copy into a slot failed: %s", cairn_strerror(rc));
    } else {
        return writer_check_bool(&slot->key, slot->dst, err);
    }
    (void)err_at(err, slot->component, slot->key.path.data, slot->key.path.bytes);
    return rc;
}

/* The bytes go where the entry says that they are. */
static void slot_settle(struct capture *cap, const struct slot *slot)
{
    struct entry *e = rec_find(&cap->r->components[slot->component], &slot->key);
    if (e->value.bytes > 0) {
        e->value = slice_of(slot->dst, e->bytes);
    } else if (slot->dst != slot->region_dst && e->bytes > 0) {
        memcpy(slot->region_dst, slot->dst, e->bytes);
    }
    if (e->bytes < LIMIT_OWN_CHUNK_BYTES) {
        e->digest = digest_bytes(slot->dst, e->bytes);
    }
}

int slot_finish_all(struct capture *cap)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < cap->slot_count; i++) {
        rc = slot_check(cap, &cap->slots[i]);
    }
    for (uint32_t i = 0; rc == 0 && i < cap->slot_count; i++) {
        slot_settle(cap, &cap->slots[i]);
    }
    pack_finish_late(cap);
    for (uint32_t i = 0; rc == 0 && i < cap->slot_count; i++) {
        struct slot *slot = &cap->slots[i];
        if (slot->key.bytes >= LIMIT_OWN_CHUNK_BYTES) {
            rc = pack_own_digest(cap, rec_find(&cap->r->components[slot->component], &slot->key));
        }
    }
    return rc;
}
