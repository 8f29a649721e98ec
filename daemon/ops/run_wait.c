/* run_wait.c: what waits for the saves of a run: questions, for what was sealed before them to end;
 * and the next save, for its turn to commit. */
#include "ops/ops_int.h"

static bool run_settled(const struct run *run, const struct run_wait *wait)
{
    if (wait->kept && run->keeping) {
        return false;
    }
    for (const struct upload *u = run->uploads; u != NULL; u = u->next) {
        if (u->seal_ticket != 0 && u->seal_ticket <= wait->ticket) {
            return false;
        }
    }
    return true;
}

void run_settle(struct run *run, struct run_wait *wait)
{
    wait->ticket = run->seal_count;
    if (run_settled(run, wait)) {
        wait->settled(wait);
        return;
    }
    struct run_wait **at = &run->waits;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    wait->next = NULL;
    *at = wait;
}

void run_kick(struct run *run)
{
    struct run_wait **at = &run->waits;
    struct run_wait *settled = NULL;
    struct run_wait **end = &settled;
    while (*at != NULL) {
        struct run_wait *wait = *at;
        if (run_settled(run, wait)) {
            *at = wait->next;
            wait->next = NULL;
            *end = wait;
            end = &wait->next;
        } else {
            at = &wait->next;
        }
    }
    while (settled != NULL) {
        struct run_wait *next = settled->next;
        settled->settled(settled);
        settled = next;
    }
    if (run->uploads != NULL) {
        upload_try_commit(run->uploads);
    }
}
