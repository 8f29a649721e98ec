#include "store/held.h"

#include <inttypes.h>

/* Under the run's lock. */
static bool held_removing(const struct st_run *run, uint64_t seq)
{
    uint32_t i = 0;
    while (i < run->removing_count && run->removing[i] != seq) {
        i++;
    }
    return i < run->removing_count;
}

int held_add(struct held *h, struct st_run *run, uint64_t seq, struct err *err)
{
    (void)pthread_mutex_lock(&run->lock);
    bool removing = held_removing(run, seq);
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

int held_remove_begin(struct st_run *run, const uint64_t *seqs, uint32_t count, struct err *err)
{
    (void)pthread_mutex_lock(&run->lock);
    run->removing = seqs;
    run->removing_count = count;
    const struct held *h = run->held;
    while (h != NULL && !held_removing(run, h->seq)) {
        h = h->next;
    }
    uint64_t seq = h == NULL ? 0 : h->seq;
    run->removing_count = h == NULL ? count : 0;
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
    run->removing = NULL;
    run->removing_count = 0;
    (void)pthread_mutex_unlock(&run->lock);
}
