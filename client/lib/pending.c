/* pending.c: saves that were started and not waited for yet.
 *
 * At most one of them is in flight: sealed, its COMMITTED on its way on the connection. When that
 * connection is lost the save is settled by its save id, sent again if need be: the record is kept
 * until the end for that. Only the daemon decides: it commits, or it refuses, and then the record
 * goes back to the caller. A deadline, a lost or a broken connection decide nothing. */
#include "lib/pending.h"

#include <stdlib.h>

#include "lib/call.h"

/* ---- the list, oldest first ---- */

static void pending_link(struct cairn *c, struct cairn_pending *p)
{
    struct cairn_pending **at = &c->pendings;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    p->c = c;
    p->prev = at;
    *at = p;
}

static void pending_free(struct cairn_pending *p)
{
    if (p->c != NULL) {
        *p->prev = p->next;
        if (p->next != NULL) {
            p->next->prev = p->prev;
        }
        if (p->c->flight == p) {
            p->c->flight = NULL;
        }
    }
    (void)cairn_record_free(p->record);
    free(p);
}

/* ---- how they end ---- */

/* The record of one that failed is kept, for who waits. */
static void pending_end(struct cairn_pending *p)
{
    p->done = true;
    if (p->c->flight == p) {
        p->c->flight = NULL;
    }
    progress_stage(&p->c->progress, p->err.code == 0 ? CAIRN_STAGE_COMMITTED : CAIRN_STAGE_FAILED);
    if (!p->starting && p->err.code == 0) {
        p->record = cairn_record_free(p->record);
    }
}

static void pending_committed(struct cairn_pending *p, const struct boundary *b)
{
    rec_public(b, &p->boundary);
    pending_end(p);
}

void pending_take(struct cairn *c, uint32_t type, const union wire_msg *msg)
{
    struct cairn_pending *p = c->flight;
    if (type == WIRE_COMMITTED) {
        pending_committed(p, &msg->committed.boundary);
        return;
    }
    if (type != WIRE_ERROR) {
        (void)err_set(
            &p->err, -CAIRN_EPROTO, "the daemon answered a save with frame type %u", type);
    } else if (msg->error.closing || msg->error.code == CAIRN_ECANCELED) {
        cl_drop(c); /* to be settled on another connection */
        return;
    } else {
        cl_refusal(&msg->error, &p->err);
    }
    pending_end(p);
}

void pending_lost(struct cairn *c)
{
    if (c->flight != NULL) {
        progress_stage(&c->progress, CAIRN_STAGE_CAPTURED);
    }
    c->flight = NULL;
}

int pending_tell(struct cairn *c)
{
    for (struct cairn_pending *p = c->pendings; p != NULL; p = p->next) {
        if (p->done && p->err.code < 0 && !p->told) {
            p->told = true;
            c->err = p->err;
            return err_wrap(&c->err, p->err.code, "a save that was started before has failed");
        }
    }
    return 0;
}

void pending_orphan_all(struct cairn *c)
{
    for (struct cairn_pending *p = c->pendings; p != NULL; p = p->next) {
        if (!p->done) {
            (void)err_set(&p->err, -CAIRN_ECONN, "the handle was closed before the save had ended");
            pending_end(p);
        }
        p->c = NULL;
    }
    c->pendings = NULL;
}

/* ---- waiting
 * ---------------------------------------------------------------------------------------------------
 */

/* One attempt to have it sealed, on a connection that is not the flight's. Then it is in flight. */
static int pending_resend(struct cairn_pending *p)
{
    struct cairn *c = p->c;
    int rc = upload_attempt(c, &p->upload);
    if (rc == 0 && p->upload.committed) {
        pending_committed(p, &p->upload.boundary);
    } else if (rc == 0) {
        c->flight = p;
    } else if (c->fd >= 0) { /* the daemon's own refusal */
        p->err = c->err;
        pending_end(p);
        rc = 0;
    }
    return rc;
}

/* Is there something to do for it without waiting, or within the deadline? */
static bool pending_may_go_on(struct cairn_pending *p)
{
    struct cairn *c = p->c;
    return c->flight != p || tp_wait_readable(c->fd, &c->deadline);
}

static int pending_step(struct cairn_pending *p)
{
    return p->c->flight == p ? cl_receive_flight(p->c) : pending_resend(p);
}

/* Nothing is broken, it only takes long: the connection stays. */
static int pending_late(struct cairn *c)
{
    return err_set(&c->err, -CAIRN_ETIMEDOUT, "a save that was started before is still under way");
}

static int pending_finish(struct cairn_pending *p)
{
    struct cairn *c = p->c;
    int rc = 0;
    do {
        rc = 0;
        while (rc == 0 && !p->done) {
            rc = pending_may_go_on(p) ? pending_step(p) : pending_late(c);
        }
    } while (rc < 0 && cl_again(c));
    return rc;
}

int pending_settle(struct cairn *c)
{
    int rc = 0;
    for (struct cairn_pending *p = c->pendings; rc == 0 && p != NULL; p = p->next) {
        rc = p->done ? 0 : pending_finish(p);
    }
    return rc;
}

/* ---- start and wait
 * ------------------------------------------------------------------------------------------------
 */

/* SEAL is on its way; the daemon says that it has everything. */
static int pending_confirm(struct cairn_pending *p)
{
    struct cairn *c = p->c;
    union wire_msg answer;
    union wire_msg msg = { .find = { .run = slice_str(c->run), .by_save_id = true } };
    memcpy(msg.find.save_id, p->record->boundary.save_id, sizeof msg.find.save_id);
    c->flight = p;
    int rc = cl_ask_once(c, WIRE_FIND, &msg, WIRE_FOUND, &answer);
    if (rc < 0 || p->done) {
        return rc;
    }
    if (answer.found.state != SAVE_SEALED && answer.found.state != SAVE_COMMITTED) {
        c->flight = NULL;
        return err_set(&c->err, -CAIRN_EPROTO, "the daemon did not keep a save that was sealed");
    }
    progress_stage(&c->progress, CAIRN_STAGE_SEALED);
    return 0;
}

static int pending_start_once(struct cairn_pending *p)
{
    struct cairn *c = p->c;
    int rc = upload_attempt(c, &p->upload);
    if (rc == 0 && p->upload.committed) {
        pending_committed(p, &p->upload.boundary);
        return 0;
    }
    return rc < 0 ? rc : pending_confirm(p);
}

/* A failure found here is the caller's answer, and the record stays his. */
static int pending_give_back(struct cairn_pending *p, int rc)
{
    struct cairn *c = p->c;
    if (p->done) {
        c->err = p->err;
        rc = p->err.code;
    }
    p->record = NULL;
    pending_free(p);
    progress_stage(&c->progress, CAIRN_STAGE_FAILED);
    return err_wrap(&c->err, rc, "start a save");
}

int pending_start(struct cairn *c,
                  struct cairn_record **r,
                  struct cairn_record *sent,
                  struct cairn_pending **ret)
{
    struct cairn_pending *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory to start a save");
    }
    pending_link(c, p);
    p->record = *r;
    p->starting = true;
    p->upload = (struct upload){ .record = sent, .until = UPLOAD_SEALED };
    int rc = 0;
    do {
        rc = pending_start_once(p);
    } while (rc < 0 && cl_again(c));
    if (rc < 0 || p->err.code < 0) {
        return pending_give_back(p, rc);
    }
    p->starting = false;
    if (p->done) {
        p->record = cairn_record_free(p->record);
    }
    *r = NULL;
    *ret = p;
    return 0;
}

/* However short the caller's time. */
#define PENDING_MESSAGE_MS 1000

int pending_take_frame(struct cairn *c)
{
    struct deadline least = deadline_total(PENDING_MESSAGE_MS);
    if (c->deadline.end_ns < least.end_ns) {
        c->deadline = least;
    }
    return cl_receive_flight(c);
}

static int pending_busy(struct cairn *c, const char *why)
{
    return err_set(&c->err, -CAIRN_EBUSY, "the save is still under way%s", why);
}

/* One step towards its end, not beyond `until`. */
static int pending_wait_step(struct cairn_pending *p, const struct deadline *until)
{
    struct cairn *c = p->c;
    c->deadline = *until;
    if (c->flight == p && !tp_wait_readable(c->fd, until)) {
        return pending_busy(c, "");
    }
    if (c->flight != p && deadline_passed(until)) {
        return pending_busy(c, ": its connection was lost, and to settle it takes time");
    }
    int rc = c->flight == p ? pending_take_frame(c) : pending_resend(p);
    if (rc == 0) {
        return 0;
    }
    c->deadline = *until;
    bool again = c->lost && cl_again(c);
    if (!again && deadline_passed(until)) {
        return pending_busy(c, ": its connection was lost");
    }
    return again ? 0 : rc;
}

static int pending_wait(struct cairn_pending *p, int timeout_ms)
{
    struct deadline until = deadline_total(timeout_ms);
    struct cairn *c = p->c;
    int rc = 0;
    cl_begin(c, until);
    while (rc == 0 && !p->done) {
        rc = pending_wait_step(p, &until);
    }
    return rc;
}

/* It is decided: what came of it, to the caller. */
static int pending_result(struct cairn_pending *p,
                          struct cairn_boundary *ret,
                          struct cairn_record **ret_record)
{
    int rc = p->err.code;
    if (rc < 0 && p->c != NULL) {
        p->c->err = p->err;
    }
    if (rc == 0 && ret != NULL) {
        *ret = p->boundary;
    }
    if (rc < 0 && ret_record != NULL) {
        *ret_record = p->record;
        p->record = NULL;
    }
    return rc;
}

int cairn_save_wait(struct cairn_pending **p,
                    int timeout_ms,
                    struct cairn_boundary *ret,
                    struct cairn_record **ret_record)
{
    if (p == NULL || *p == NULL) {
        return -CAIRN_EINVAL;
    }
    struct cairn *c = (*p)->c;
    int rc = 0;
    if (timeout_ms < 0) {
        rc = cl_invalid(c, "a timeout is not negative");
    } else if (c != NULL && c->forked) {
        rc = cl_enter(c);
    } else if (c != NULL && !(*p)->done) {
        rc = pending_wait(*p, timeout_ms);
    }
    if (rc < 0) {
        return rc; /* undecided: it stays */
    }
    rc = pending_result(*p, ret, ret_record);
    pending_free(*p);
    *p = NULL;
    return rc;
}
