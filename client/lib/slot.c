/* slot.c: tensors whose bytes the caller writes into the record itself. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/capture.h"
#include "record/digest.h"

/* ---- handing out ---- */

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

int slot_place(struct capture *cap, enum component component, struct entry *e, struct slot *ret)
{
    *ret = (struct slot){ .component = component };
    if (e->bytes == 0) {
        e->digest = digest_bytes("", 0);
    } else {
        int rc = pack_reserve(cap, e, &ret->region_dst);
        if (rc < 0) {
            return rc;
        }
    }
    ret->dst = ret->region_dst;
    if (e->bytes <= LIMIT_INLINE_COMPONENT_BYTES) {
        ret->dst = bump_alloc(&cap->r->bump, e->bytes);
        if (ret->dst == NULL) {
            return err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory for a slot");
        }
    }
    ret->key = *e;
    return 0;
}

int slot_hand_out(struct capture *cap, const struct slot *slot, struct cairn_slot *ret)
{
    (void)pthread_mutex_lock(&cap->c->slot_lock);
    int rc = slot_grow(cap);
    if (rc == 0) {
        cap->slots[cap->slot_count++] = *slot;
        cap->open_count++;
        *ret = (struct cairn_slot){ .dst = slot->dst,
                                    .dst_bytes = slot->key.bytes,
                                    .cookie = (uint64_t)cap->serial << 32 | cap->slot_count };
    }
    (void)pthread_mutex_unlock(&cap->c->slot_lock);
    return rc;
}

/* ---- done ---- */

static struct capture *slot_capture(const struct cairn *c, uint64_t serial)
{
    return c->capture != NULL && c->capture->serial == serial ? c->capture : drain_find(c, serial);
}

static bool slot_mark(struct capture *cap, uint64_t index, int rc)
{
    if (cap == NULL || index < 1 || index > cap->slot_count || cap->slots[index - 1].done) {
        return false;
    }
    struct slot *slot = &cap->slots[index - 1];
    slot->done = true;
    slot->rc = rc > 0 ? -CAIRN_EINVAL : rc;
    cap->open_count--;
    cap->failed_count += slot->rc < 0;
    return true;
}

int cairn_slot_done(struct cairn *c, const struct cairn_slot *s, int rc)
{
    struct capture *drained = NULL;
    if (c == NULL || s == NULL) {
        return -CAIRN_EINVAL;
    }
    if (c->forked) {
        return -CAIRN_EFORK;
    }
    (void)pthread_mutex_lock(&c->slot_lock);
    struct capture *cap = slot_capture(c, s->cookie >> 32);
    bool marked = slot_mark(cap, s->cookie & UINT32_MAX, rc);
    if (marked && cap != c->capture && cap->open_count == 0) {
        drained = cap;
    } else if (marked && (cap->open_count == 0 || rc != 0)) {
        cl_wake(c);
    }
    (void)pthread_mutex_unlock(&c->slot_lock);
    if (drained != NULL) {
        drain_end(drained);
    }
    return marked ? 0 : -CAIRN_EINVAL;
}

/* ---- looking ---- */

bool slot_is_settled(struct capture *cap)
{
    (void)pthread_mutex_lock(&cap->c->slot_lock);
    bool settled = cap->open_count == 0 || cap->failed_count > 0;
    (void)pthread_mutex_unlock(&cap->c->slot_lock);
    return settled;
}

/* The first that failed, else the first that is open, as it is at this moment. Another thread may
 * say "done" then: its word, and what it wrote before it, is seen whole or not at all. */
static bool slot_first_bad(struct capture *cap, struct slot *ret)
{
    const struct slot *bad = NULL;
    (void)pthread_mutex_lock(&cap->c->slot_lock);
    bool any = cap->open_count + cap->failed_count > 0;
    for (uint32_t i = 0; any && i < cap->slot_count; i++) {
        const struct slot *slot = &cap->slots[i];
        if (slot->rc < 0) {
            bad = slot;
            break;
        }
        bad = bad == NULL && !slot->done ? slot : bad;
    }
    if (bad != NULL) {
        *ret = *bad;
    }
    (void)pthread_mutex_unlock(&cap->c->slot_lock);
    return bad != NULL;
}

static int slot_wrong(struct err *err, const struct slot *slot, int code, const char *what)
{
    const struct entry *e = &slot->key;
    char id[32] = "";
    if ((e->flags & ENTRY_HAS_ID) != 0) {
        (void)snprintf(id, sizeof id, " (id %llu)", (unsigned long long)e->id);
    }
    (void)err_set(err,
                  code,
                  "%s: the slot of '%.*s'%s %s",
                  component_name(slot->component),
                  cl_shown(e->path),
                  (const char *)e->path.data,
                  id,
                  what);
    return err_at(err, slot->component, e->path.data, e->path.bytes);
}

int slot_check_all(struct capture *cap)
{
    struct err *err = &cap->c->err;
    struct slot bad;
    char what[128];
    if (!slot_first_bad(cap, &bad)) {
        return 0;
    }
    if (bad.done) {
        (void)snprintf(
            what, sizeof what, "was not filled: the copy failed, %s", cairn_strerror(bad.rc));
        return slot_wrong(err, &bad, bad.rc, what);
    }
    return slot_wrong(err,
                      &bad,
                      -CAIRN_ESYNC,
                      "was still open when the capture ended: fill it before, or capture "
                      "asynchronously");
}

int slot_check_failed(struct capture *cap)
{
    (void)pthread_mutex_lock(&cap->c->slot_lock);
    bool failed = cap->failed_count > 0;
    (void)pthread_mutex_unlock(&cap->c->slot_lock);
    return failed ? slot_check_all(cap) : 0;
}

/* ---- all are done ---- */

static int slot_check_value(struct capture *cap, const struct slot *slot)
{
    const struct entry *e = &slot->key;
    int rc = writer_check_bool(e, span_of(e), slot->dst, -CAIRN_EINVAL, &cap->c->err);
    return rc < 0 ? cl_about_entry(&cap->c->err, slot->component, e) : 0;
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
        pack_look_small(cap, e, slot->dst);
    }
}

int slot_finish_all(struct capture *cap)
{
    int rc = slot_check_all(cap);
    for (uint32_t i = 0; rc == 0 && i < cap->slot_count; i++) {
        rc = slot_check_value(cap, &cap->slots[i]);
    }
    for (uint32_t i = 0; rc == 0 && i < cap->slot_count; i++) {
        slot_settle(cap, &cap->slots[i]);
    }
    if (rc == 0) {
        pack_finish_late(cap);
    }
    for (uint32_t i = 0; rc == 0 && i < cap->slot_count; i++) {
        struct slot *slot = &cap->slots[i];
        if (slot->key.bytes >= LIMIT_OWN_CHUNK_BYTES) {
            rc = pack_own_sum(cap, rec_find(&cap->r->components[slot->component], &slot->key));
        }
    }
    return rc;
}
