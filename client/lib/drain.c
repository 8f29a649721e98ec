/* drain.c: captures that were given up while slots of theirs were still open.
 *
 * Somebody's copy may be on its way into such a slot, from a device, and can be neither stopped nor
 * outrun: so its place stays until the caller says that it is done. The record has left its handle
 * by then, and each of these captures holds the handle itself, which may be closed meanwhile; the
 * thread that says "done" last frees both. */
#include <stdlib.h>

#include "lib/capture.h"

static void drain_free(struct capture *cap)
{
    capture_fini(cap);
    (void)cairn_record_free(cap->r);
    free(cap);
}

void capture_drop(struct capture *cap)
{
    struct cairn *c = cap->c;
    (void)pthread_mutex_lock(&c->slot_lock);
    c->capture = NULL;
    bool open = cap->open_count > 0;
    if (open) {
        rec_orphan(cap->r);
        pack_fini(cap);
        cap->next = c->draining;
        c->draining = cap; /* and is theirs who fill its slots, once the lock is free */
        c->holds++;
    }
    (void)pthread_mutex_unlock(&c->slot_lock);
    if (!open) {
        capture_abort(cap);
        free(cap);
    }
}

struct capture *drain_find(const struct cairn *c, uint64_t serial)
{
    struct capture *cap = c->draining;
    while (cap != NULL && cap->serial != serial) {
        cap = cap->next;
    }
    return cap;
}

static void drain_take(struct cairn *c, struct capture *cap)
{
    (void)pthread_mutex_lock(&c->slot_lock);
    struct capture **at = &c->draining;
    while (*at != cap) {
        at = &(*at)->next;
    }
    *at = cap->next;
    (void)pthread_mutex_unlock(&c->slot_lock);
    drain_free(cap);
}

void drain_end(struct capture *cap)
{
    struct cairn *c = cap->c;
    drain_take(c, cap);
    cl_release(c);
}

void drain_forget_all(struct cairn *c)
{
    while (c->draining != NULL) {
        drain_take(c, c->draining);
        (void)pthread_mutex_lock(&c->slot_lock);
        c->holds--; /* there is another one: the caller's */
        (void)pthread_mutex_unlock(&c->slot_lock);
    }
}
