/* busy.c: how many captured records a handle has in memory.
 *
 * Two: one that is being saved, one that is captured meanwhile. A third would be new memory, cold
 * and as large as a record, while the trainer waits for it; so its capture waits for the first to
 * be durable, or is refused, as the caller likes. Records that the caller merely keeps are his to
 * free: nothing waits for them. Copies in another precision are not counted: they come and go with
 * a save. */
#include "lib/call.h"
#include "lib/capture.h"
#include "lib/pending.h"

static bool busy_counts(const struct cairn_record *r)
{
    return !r->loaded && r->region != NULL;
}

static bool busy_is_full(const struct cairn *c)
{
    size_t held = 0;
    for (const struct cairn_record *r = c->records; r != NULL; r = r->next) {
        held += busy_counts(r);
        held -= busy_counts(r) && r->converted != NULL;
    }
    return held >= REGION_CACHE;
}

/* What the daemon has said already, without waiting for more of it. */
static void busy_look(struct cairn *c)
{
    cl_begin(c, deadline_total(0));
    while (c->flight != NULL && busy_is_full(c) && tp_readable(c->fd) &&
           pending_take_frame(c) == 0) {
    }
}

static int busy_refuse(struct cairn *c)
{
    const char *why =
        c->flight != NULL ? "one of them is being saved: wait for it" : "save or free one of them";
    return err_set(&c->err,
                   -CAIRN_EBUSY,
                   "%u captured records of this handle are in memory already; %s",
                   REGION_CACHE,
                   why);
}

/* No connection is made: what was lost is settled by the next call that talks to the daemon. */
static int busy_wait(struct cairn *c)
{
    cl_begin(c, deadline_idle(c->timeout_ms));
    while (c->flight != NULL && busy_is_full(c)) {
        if (!tp_wait_readable(c->fd, &c->deadline)) {
            return err_set(&c->err,
                           -CAIRN_ETIMEDOUT,
                           "a capture waited %d ms for the memory of the save before it",
                           c->timeout_ms);
        }
        (void)cl_receive_flight(c);
    }
    return pending_tell(c); /* of the save that was waited for */
}

int busy_make_room(struct cairn *c)
{
    busy_look(c);
    if (!busy_is_full(c)) {
        return 0;
    }
    return c->refuse_busy ? busy_refuse(c) : busy_wait(c);
}

int cairn_set_busy(struct cairn *c, bool refuse)
{
    int rc = cl_enter_local(c);
    if (rc == 0) {
        c->refuse_busy = refuse;
    }
    return rc;
}
