/* session.c: one connection's view of the daemon. Decodes a frame, checks that it may come now, and
 * hands it to its op: dispatch is the table below. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/query.h"

static const struct {
    op_fn *run;
    bool before_hello;
    bool part_of_upload; /* carries the request id of its BEGIN; ignored after a refusal */
} session_ops[] = {
    [WIRE_HELLO] = { op_hello, true, false },
    [WIRE_PING] = { op_ping, false, false },
    [WIRE_RUN_OPEN] = { op_run_open, false, false },
    [WIRE_RUN_LIST] = { op_run_list, false, false },
    [WIRE_RUN_DROP] = { op_run_drop, false, false },
    [WIRE_ARENA_OPEN] = { op_arena_open, false, false },
    [WIRE_ARENA_MAPPED] = { op_arena_mapped, false, false },
    [WIRE_ARENA_CLOSE] = { op_arena_close, false, false },
    [WIRE_BEGIN] = { op_begin, false, false },
    [WIRE_CHUNKS] = { op_chunks, false, true },
    [WIRE_ENTRIES] = { op_entries, false, true },
    [WIRE_DATA] = { op_data, false, true },
    [WIRE_SEAL] = { op_seal, false, true },
    [WIRE_ABORT] = { op_abort, false, true },
    [WIRE_DELETE] = { op_delete, false, false },
    [WIRE_PIN] = { op_pin, false, false },
    [WIRE_UNPIN] = { op_unpin, false, false },
    [WIRE_LABEL] = { op_label, false, false },
    [WIRE_PIN_LIST] = { op_pin_list, false, false },
    [WIRE_POLICY] = { op_policy, false, false },
    [WIRE_KEEP] = { op_keep, false, false },
    [WIRE_USAGE] = { op_usage, false, false },
    [WIRE_ROLLBACK] = { op_rollback, false, false },
    [WIRE_FIND] = { op_find, false, false },
    [WIRE_DESCRIBE] = { op_describe, false, false },
    [WIRE_MANIFEST] = { op_manifest, false, false },
    [WIRE_CHUNK_LIST] = { op_chunk_list, false, false },
    [WIRE_RESIDENT] = { op_resident, false, false },
    [WIRE_CLOSE] = { op_close, false, false },
    [WIRE_LOAD] = { op_load, false, false },
    [WIRE_RELEASE] = { op_release, false, false },
    [WIRE_VERIFY] = { op_verify, false, false },
    [WIRE_STATUS] = { op_status, false, false },
};

void session_refuse(struct session *s, uint32_t request, const struct err *err)
{
    log_info("refused",
             "conn=%" PRIu64 " uid=%" PRIu32 " error=%s why=\"%s\"",
             conn_id(s->conn),
             s->peer.uid,
             cairn_error_name(err->code),
             err->msg);
    conn_refuse(s->conn, request, err);
}

void session_fail(struct session *s, uint32_t request, const struct err *err)
{
    conn_fail(s->conn, request, err); /* logged with the connection's end */
}

static void session_resume_write(struct buf_user *user)
{
    struct session *s = CONTAINER_OF(user, struct session, write_user);
    if (s->conn != NULL) {
        conn_resume(s->conn);
    }
}

static void session_resume_read(struct buf_user *user)
{
    struct session *s = CONTAINER_OF(user, struct session, read_user);
    if (s->load != NULL) {
        load_pump(s->load);
    }
}

static void *session_opened(void *ctx, struct conn *conn, const struct peer *peer)
{
    struct ops *ops = ctx;
    struct session *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->ops = ops;
    s->conn = conn;
    s->peer = *peer;
    s->write_user = (struct buf_user){ .uid = peer->uid, .resume = session_resume_write };
    s->read_user = (struct buf_user){ .uid = peer->uid, .resume = session_resume_read };
    s->next = ops->sessions;
    s->prev = &ops->sessions;
    if (s->next != NULL) {
        s->next->prev = &s->next;
    }
    ops->sessions = s;
    return s;
}

void session_maybe_free(struct session *s)
{
    if (s->conn == NULL && s->busy == 0) {
        *s->prev = s->next;
        if (s->next != NULL) {
            s->next->prev = s->prev;
        }
        struct ops *ops = s->ops;
        free(s);
        ops_check_stopped(ops);
    }
}

static void session_closed(void *session, const char *reason)
{
    struct session *s = session;
    s->conn = NULL;
    query_cancel_all(s);
    if (s->upload != NULL) {
        upload_orphan(s->upload, reason);
    }
    if (s->load != NULL) {
        load_release(s->load);
    }
    arena_put_all(s);
    buf_user_gone(s->ops->write_bufs, &s->write_user);
    buf_user_gone(s->ops->read_bufs, &s->read_user);
    session_maybe_free(s);
}

/* May this frame come now? Order damage ends the connection. */
static bool session_accepts(struct session *s, const struct frame *f)
{
    struct err err = { 0 };
    if (f->type >= sizeof session_ops / sizeof session_ops[0] || session_ops[f->type].run == NULL) {
        (void)err_set(
            &err, -CAIRN_EPROTO, "frame type %u does not go from client to daemon", f->type);
    } else if (s->greeted == session_ops[f->type].before_hello) {
        (void)err_set(
            &err, -CAIRN_EPROTO, s->greeted ? "HELLO came twice" : "the first frame must be HELLO");
    } else {
        return true;
    }
    session_fail(s, f->request, &err);
    return false;
}

static bool session_ignores(const struct session *s, const struct frame *f)
{
    return s->ignoring && f->request == s->ignored_request && session_ops[f->type].part_of_upload;
}

static enum conn_payload
session_payload(void *session, const struct frame *f, struct slice message, struct buf **ret_buf)
{
    struct session *s = session;
    if (!s->greeted || session_ignores(s, f)) {
        return CONN_PAYLOAD_DISCARD;
    }
    return upload_payload(s, f, message, ret_buf);
}

static void
session_frame(void *session, const struct frame *f, struct slice message, struct buf *buf)
{
    struct session *s = session;
    struct err err = { 0 };
    union wire_msg msg;
    if (!session_accepts(s, f) || session_ignores(s, f)) {
        buf_give(buf);
        return;
    }
    s->ignoring = s->ignoring && session_ops[f->type].part_of_upload;
    struct bump *bump = &s->ops->scratch;
    bump->cap_bytes = wire_bump_cap(f->message_bytes);
    if (wire_decode(f->type, message, bump, &msg, &err) < 0) {
        buf_give(buf);
        session_fail(s, f->request, &err);
    } else {
        struct frame_in in = { f, &msg, buf };
        session_ops[f->type].run(s, &in);
    }
    bump_reset(bump);
}

const struct conn_handler *ops_handler(void)
{
    static const struct conn_handler handler = {
        .opened = session_opened,
        .payload = session_payload,
        .frame = session_frame,
        .closed = session_closed,
    };
    return &handler;
}

void op_hello(struct session *s, const struct frame_in *in)
{
    const struct wire_hello *hello = &in->msg->hello;
    struct err err = { 0 };
    if (hello->version_min > WIRE_VERSION_MAX || hello->version_max < WIRE_VERSION_MIN) {
        (void)err_set(&err,
                      -CAIRN_EVERSION,
                      "client speaks versions %" PRIu32 "..%" PRIu32
                      ", this daemon (%s) %u..%u: use a client of the same release",
                      hello->version_min,
                      hello->version_max,
                      s->ops->options.server,
                      WIRE_VERSION_MIN,
                      WIRE_VERSION_MAX);
        session_fail(s, in->frame->request, &err);
        return;
    }
    s->greeted = true;
    conn_greeted(s->conn);
    union wire_msg msg = { .welcome = {
                               .version = hello->version_max < WIRE_VERSION_MAX ? hello->version_max
                                                                                : WIRE_VERSION_MAX,
                               .server = slice_str(s->ops->options.server),
                               .chunk_bytes = LIMIT_CHUNK_BYTES,
                               .entries_per_page = LIMIT_ENTRIES_PER_PAGE,
                               .window_chunks = LIMIT_WINDOW_CHUNKS,
                               .idle_ms = s->ops->options.idle_ms,
                           } };
    conn_send(s->conn, WIRE_WELCOME, in->frame->request, &msg);
}

void op_ping(struct session *s, const struct frame_in *in)
{
    conn_send(s->conn, WIRE_DONE, in->frame->request, in->msg);
}

/* Ends an upload (DONE) or a stream (LOADED); with neither there is nothing to end, which is fine:
 * the abort crossed the end. */
void op_abort(struct session *s, const struct frame_in *in)
{
    if (s->load != NULL && s->load->streaming) {
        s->load->aborted = true;
        load_pump(s->load);
        return;
    }
    if (s->upload != NULL && s->upload->seal_ticket == 0) {
        upload_orphan(s->upload, "aborted by the client");
        s->ignoring = true;
        s->ignored_request = in->frame->request;
    }
    conn_send(s->conn, WIRE_DONE, in->frame->request, in->msg);
}
