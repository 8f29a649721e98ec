#include "store/held.h"

#include <inttypes.h>

int held_add(struct held *h, struct st_run *run, uint64_t seq, struct err *err)
{
    (void)pthread_mutex_lock(&run->lock);
    bool removing = seq != 0 && run->removing == seq;
    if (!removing) {
        *h = (struct held){ .run = run, .seq = seq, .next = run->held };
        run->held = h;
    }
    (void)pthread_mutex_unlock(&run->lock);
    return removing
               ? err_set(err, -CAIRN_EBUSY, "seq %" PRIu64 " is just being removed: ask again", seq)
               : 0;
}

void held_drop(struct held *h)
{
    struct st_run *run = h->run;
    if (run == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&run->lock);
    struct held **at = &run->held;
    while (*at != h) {
        at = &(*at)->next;
    }
    *at = h->next;
    (void)pthread_mutex_unlock(&run->lock);
    *h = (struct held){ .run = NULL };
}

int held_remove_begin(struct st_run *run, uint64_t seq, struct err *err)
{
    (void)pthread_mutex_lock(&run->lock);
    const struct held *h = run->held;
    while (h != NULL && h->seq != seq) {
        h = h->next;
    }
    if (h == NULL) {
        run->removing = seq;
    }
    (void)pthread_mutex_unlock(&run->lock);
    return h == NULL ? 0
                     : err_set(err,
                               -CAIRN_EBUSY,
                               "seq %" PRIu64 " is being read: remove it when that has ended",
                               seq);
}

void held_remove_end(struct st_run *run)
{
    (void)pthread_mutex_lock(&run->lock);
    run->removing = 0;
    (void)pthread_mutex_unlock(&run->lock);
}
