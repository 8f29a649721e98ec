/* progress.c: how far the newest save of a handle is. A reader that meets a writer looks again:
 * what is written is four numbers, without a call in between. */
#include "lib/progress.h"

#include "lib/handle.h"

/* One writer: the thread that uses the handle. */
static void
progress_write(struct progress *p, enum cairn_save_stage stage, uint64_t done, uint64_t total)
{
    (void)atomic_fetch_add(&p->turn, 1);
    atomic_store(&p->stage, stage);
    atomic_store(&p->done_bytes, done < total ? done : total);
    atomic_store(&p->total_bytes, total);
    (void)atomic_fetch_add(&p->turn, 1);
}

void progress_begin(struct progress *p, uint64_t total_bytes)
{
    progress_write(p, CAIRN_STAGE_CAPTURED, 0, total_bytes);
}

void progress_stage(struct progress *p, enum cairn_save_stage stage)
{
    uint64_t total = atomic_load(&p->total_bytes);
    bool all = stage == CAIRN_STAGE_SEALED || stage == CAIRN_STAGE_COMMITTED;
    progress_write(p, stage, all ? total : 0, total);
}

/* Chunks may have a few bytes more than the values in them: never more than all. */
void progress_sent(struct progress *p, uint64_t bytes)
{
    progress_write(
        p, CAIRN_STAGE_SENDING, atomic_load(&p->done_bytes) + bytes, atomic_load(&p->total_bytes));
}

void progress_sent_all(struct progress *p)
{
    uint64_t total = atomic_load(&p->total_bytes);
    progress_write(p, CAIRN_STAGE_SENDING, total, total);
}

int cairn_save_progress(struct cairn *c, struct cairn_progress *ret)
{
    if (c == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    if (c->forked) { /* what was being written then stays half written in this process */
        return -CAIRN_EFORK;
    }
    const struct progress *p = &c->progress;
    unsigned turn = 0;
    do {
        turn = atomic_load(&p->turn);
        *ret = (struct cairn_progress){ .stage = atomic_load(&p->stage),
                                        .done_bytes = atomic_load(&p->done_bytes),
                                        .total_bytes = atomic_load(&p->total_bytes) };
    } while (turn % 2 == 1 || turn != atomic_load(&p->turn));
    return 0;
}
