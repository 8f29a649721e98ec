/* upload_clock.c: how long an upload may take. Its clock runs while it waits for its client, and
 * stands still while it is us who are waited for: a job of ours is under way, or there is no buffer
 * free. Two limits: nothing comes for the idle time; and all the waiting together, which is paid
 * for with the bytes that have come, whatever was announced. */
#include <inttypes.h>

#include "ops/ops_int.h"

enum { UPLOAD_GRACE_MS = 30000 };

/* When the last bytes of a frame of this upload came that is not whole yet; 0: there is none. */
static uint64_t upload_heard_ms(const struct upload *u)
{
    uint64_t heard_ms = 0;
    const struct frame *f = conn_frame(u->session->conn, &heard_ms);
    bool ours = f != NULL && f->request == u->request &&
                (f->type == WIRE_CHUNKS || f->type == WIRE_ENTRIES || f->type == WIRE_DATA);
    return ours ? heard_ms : 0;
}

/* When it is over; which of the two limits that is. */
static uint64_t upload_end(const struct upload *u, bool *ret_idle)
{
    const struct ops_options *o = &u->ops->options;
    uint64_t grace_ms = o->idle_ms > UPLOAD_GRACE_MS ? o->idle_ms : UPLOAD_GRACE_MS;
    uint64_t allowed_ms = grace_ms + u->arrived_bytes * 1000 / o->min_rate_bytes;
    uint64_t left_ms = allowed_ms > u->waited_ms ? allowed_ms - u->waited_ms : 0;
    uint64_t total_end = u->waits_since_ms + left_ms;
    uint64_t idle_end = u->progress_ms + o->idle_ms;
    *ret_idle = idle_end <= total_end;
    return *ret_idle ? idle_end : total_end;
}

static void upload_expire(struct upload *u, bool idle)
{
    struct err err = { 0 };
    (void)err_set(&err,
                  -CAIRN_ETIMEDOUT,
                  "upload of run '%s' step %" PRIu64 " %s after %" PRIu64 " ms with %" PRIu32
                  " of %" PRIu32 " chunks: save it again",
                  u->name.name,
                  u->boundary.step,
                  idle ? "made no progress and was aborted" : "took too long and was aborted",
                  uv_now(u->ops->loop) - u->begin_ms,
                  u->next_chunk,
                  u->boundary.chunk_count);
    upload_fail(u, &err);
}

/* The timer may be early, never late: progress moves the end away without touching it. */
static void upload_timer(uv_timer_t *timer)
{
    struct upload *u = timer->data;
    uint64_t now = uv_now(u->ops->loop);
    uint64_t heard_ms = upload_heard_ms(u);
    bool idle = false;
    u->progress_ms = heard_ms > u->progress_ms ? heard_ms : u->progress_ms;
    uint64_t end = upload_end(u, &idle);
    if (now < end) {
        (void)uv_timer_start(timer, upload_timer, end - now, 0);
    } else {
        upload_expire(u, idle);
    }
}

void upload_clock(struct upload *u)
{
    bool waits = u->state == UPLOAD_RECEIVING && u->jobs == 0 && !u->no_buffer;
    bool idle = false;
    uint64_t now = uv_now(u->ops->loop);
    if (waits == u->waits) {
        return;
    }
    u->waits = waits;
    if (waits) {
        u->waits_since_ms = now;
        u->progress_ms = now;
        uint64_t end = upload_end(u, &idle);
        (void)uv_timer_start(&u->timer, upload_timer, end > now ? end - now : 0, 0);
    } else {
        u->waited_ms += now - u->waits_since_ms;
        (void)uv_timer_stop(&u->timer);
    }
}

void upload_arrived(struct upload *u, const struct frame *f)
{
    u->arrived_bytes += f->message_bytes + f->payload_bytes;
    u->progress_ms = uv_now(u->ops->loop);
}
