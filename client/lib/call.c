/* call.c: frames on a handle's connection: asked, answered, refused, lost. */
#include "lib/call.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/pending.h"

#define CALL_BACKOFF_MS 5
#define CALL_BACKOFF_MOST_MS 500
/* A daemon that dies of what it is asked for must not be asked for ever. */
#define CALL_LOSSES 16

/* Connections of the process have different numbers: an arena is known by its. */
static atomic_uint_fast64_t call_connections;

/* ---- losing a connection ---- */

void cl_drop(struct cairn *c)
{
    cl_close_fd(&c->fd);
    cl_close_fd(&c->in_fd);
    c->pinned = NULL;
    c->unpin = false;
    stream_dropped(&c->stream);
    ring_dropped(&c->ring);
    pending_lost(c);
}

int cl_lose(struct cairn *c)
{
    cl_drop(c);
    c->losses++;
    c->lost = c->err.code == -CAIRN_ECONN;
    return c->err.code;
}

bool cl_again(struct cairn *c)
{
    bool again = c->lost && c->losses < CALL_LOSSES && deadline_sleep(&c->deadline, c->backoff_ms);
    c->lost = false;
    c->backoff_ms = c->backoff_ms == 0 ? CALL_BACKOFF_MS : c->backoff_ms * 2;
    if (c->backoff_ms > CALL_BACKOFF_MOST_MS) {
        c->backoff_ms = CALL_BACKOFF_MOST_MS;
    }
    return again;
}

int cl_unexpected(struct cairn *c, const struct frame *f, const char *during)
{
    const struct wire_type_limits *limits = wire_type_limits(f->type);
    int rc = err_set(&c->err,
                     -CAIRN_EPROTO,
                     "%s: the daemon sent %s of request %u",
                     during,
                     limits == NULL ? "?" : limits->name,
                     f->request);
    cl_drop(c);
    return rc;
}

/* ---- receiving ---- */

static int call_grow(struct cairn *c, size_t bytes)
{
    if (bytes <= c->in_bytes) {
        return 0;
    }
    uint8_t *in = realloc(c->in, bytes);
    if (in == NULL) {
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory for a message of %zu bytes", bytes);
    }
    c->in = in;
    c->in_bytes = bytes;
    return 0;
}

/* Prefix and message of the next frame. After a failure the stream of frames is out of step. */
static int call_frame(struct cairn *c, struct cl_answer *ret)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    struct frame *f = &ret->frame;
    int rc = tp_recv_fd(c->fd, prefix, sizeof prefix, &c->in_fd, &c->deadline, &c->err);
    if (rc == 0) {
        rc = frame_decode(prefix, f, &c->err);
    }
    if (rc == 0) {
        rc = call_grow(c, f->message_bytes);
    }
    if (rc == 0) {
        rc = tp_recv(c->fd, c->in, f->message_bytes, &c->deadline, &c->err);
    }
    if (rc != 0) {
        return rc;
    }
    bump_reset(&c->bump);
    c->bump.cap_bytes = wire_bump_cap(f->message_bytes);
    return wire_decode(f->type, slice_of(c->in, f->message_bytes), &c->bump, &ret->msg, &c->err);
}

void cl_refusal(const struct wire_error *e, struct err *ret)
{
    bool known = e->code >= 1 && e->code <= (uint32_t)CAIRN_EINTERNAL;
    (void)err_set(ret,
                  known ? -(int)e->code : -CAIRN_EINTERNAL,
                  "%.*s",
                  (int)e->text.bytes,
                  e->text.bytes == 0 ? "" : (const char *)e->text.data);
    (void)cl_about(ret, e->component, e->path, NULL);
}

/* A daemon that is stopping says ECANCELED: its successor may say more. */
static int call_refused(struct cairn *c, const struct wire_error *e)
{
    bool stopping = e->code == CAIRN_ECANCELED;
    cl_refusal(e, &c->err);
    int rc = c->err.code;
    if (e->closing || stopping) {
        cl_drop(c);
    }
    if (stopping) {
        c->losses++;
        c->lost = true;
    }
    return rc;
}

static bool call_is_of_flight(const struct cairn *c, const struct frame *f)
{
    return c->flight != NULL && f->request == c->flight->upload.request;
}

int cl_receive(struct cairn *c, uint32_t request, struct cl_answer *ret)
{
    for (;;) {
        if (c->fd < 0) { /* the save in flight ended with the connection */
            c->lost = true;
            return err_set(&c->err, -CAIRN_ECONN, "the daemon closed the connection");
        }
        if (call_frame(c, ret) < 0) {
            return cl_lose(c);
        }
        const struct wire_error *e = &ret->msg.error;
        bool is_error = ret->frame.type == WIRE_ERROR;
        if (call_is_of_flight(c, &ret->frame)) {
            pending_take(c, ret->frame.type, &ret->msg);
        } else if (is_error && (e->closing || ret->frame.request == request)) {
            return call_refused(c, e);
        } else if (is_error || ret->frame.request != request) {
            return cl_unexpected(c, &ret->frame, "waiting for another answer");
        } else {
            return 0;
        }
    }
}

int cl_receive_type(struct cairn *c, uint32_t request, uint32_t type, struct cl_answer *ret)
{
    int rc = cl_receive(c, request, ret);
    if (rc == 0 && ret->frame.type != type) {
        const struct wire_type_limits *limits = wire_type_limits(type);
        return cl_unexpected(c, &ret->frame, limits == NULL ? "?" : limits->name);
    }
    return rc;
}

int cl_receive_flight(struct cairn *c)
{
    struct cl_answer a = { 0 };
    if (call_frame(c, &a) < 0) {
        return cl_lose(c);
    }
    if (call_is_of_flight(c, &a.frame)) {
        pending_take(c, a.frame.type, &a.msg);
        return 0;
    }
    if (a.frame.type == WIRE_ERROR) {
        return call_refused(c, &a.msg.error);
    }
    return cl_unexpected(c, &a.frame, "waiting for a save to be committed");
}

int cl_payload(struct cairn *c, void *dst, uint64_t bytes)
{
    return tp_recv(c->fd, dst, bytes, &c->deadline, &c->err) < 0 ? cl_lose(c) : 0;
}

/* ---- sending ---- */

uint32_t cl_next_request(struct cairn *c)
{
    return ++c->last_request;
}

/* A daemon that closes says why first: its last words explain a failed send better than EPIPE. */
static int call_last_words(struct cairn *c)
{
    struct err sending = c->err;
    struct cl_answer a = { 0 };
    while (sending.code == -CAIRN_ECONN && tp_readable(c->fd) && call_frame(c, &a) == 0 &&
           a.frame.payload_bytes == 0) {
        if (a.frame.type == WIRE_ERROR) {
            int rc = call_refused(c, &a.msg.error);
            cl_drop(c);
            return rc;
        }
    }
    c->err = sending;
    return cl_lose(c);
}

static int call_send(struct cairn *c, struct iovec *iov, size_t count)
{
    return tp_send(c->fd, iov, count, &c->deadline, &c->err) < 0 ? call_last_words(c) : 0;
}

int cl_send(struct cairn *c, uint32_t type, uint32_t request, const union wire_msg *msg)
{
    c->out.bytes = 0;
    int rc = wire_encode(type, request, msg, 0, &c->out, &c->err);
    if (rc < 0) {
        return rc;
    }
    struct iovec iov = { .iov_base = c->out.data, .iov_len = c->out.bytes };
    return call_send(c, &iov, 1);
}

int cl_send_payload(struct cairn *c, uint32_t request, uint32_t chunk, const struct iovec *payload)
{
    union wire_msg msg = { .data = { .chunk = chunk } };
    c->out.bytes = 0;
    int rc = wire_encode(WIRE_DATA, request, &msg, payload->iov_len, &c->out, &c->err);
    if (rc < 0) {
        return rc;
    }
    struct iovec iov[] = { { .iov_base = c->out.data, .iov_len = c->out.bytes }, *payload };
    return call_send(c, iov, 2);
}

/* ---- connecting ---- */

static int call_greet(struct cairn *c)
{
    struct cl_answer a = { 0 };
    union wire_msg hello = { .hello = { .version_min = WIRE_VERSION_MIN,
                                        .version_max = WIRE_VERSION_MAX,
                                        .client = slice_str("libcairn " CAIRN_VERSION) } };
    uint32_t request = cl_next_request(c);
    int rc = cl_send(c, WIRE_HELLO, request, &hello);
    if (rc == 0) {
        rc = cl_receive_type(c, request, WIRE_WELCOME, &a);
    }
    if (rc < 0) {
        return rc;
    }
    const struct wire_welcome *w = &a.msg.welcome;
    if (w->version < WIRE_VERSION_MIN || w->version > WIRE_VERSION_MAX ||
        w->chunk_bytes < LIMIT_CHUNK_BYTES || w->entries_per_page < LIMIT_ENTRIES_PER_PAGE ||
        w->window_chunks < LIMIT_WINDOW_CHUNKS) {
        rc = err_set(&c->err,
                     -CAIRN_EVERSION,
                     "%.*s speaks version %u with chunks of %u bytes, which this library does not",
                     (int)w->server.bytes,
                     w->server.bytes == 0 ? "the daemon" : (const char *)w->server.data,
                     w->version,
                     w->chunk_bytes);
        cl_drop(c);
    }
    return rc;
}

int cl_connect(struct cairn *c)
{
    if (c->fd >= 0) {
        return 0;
    }
    int rc = tp_connect(c->socket_path, &c->deadline, &c->fd, &c->err);
    if (rc < 0) {
        c->lost = rc == -CAIRN_ECONN;
        return rc;
    }
    c->last_request = 0;
    c->connection = atomic_fetch_add(&call_connections, 1) + 1;
    return call_greet(c);
}

static int call_unpin(struct cairn *c)
{
    union wire_msg none = { 0 };
    union wire_msg answer;
    c->unpin = false;
    return cl_ask_once(c, WIRE_CLOSE, &none, WIRE_DONE, &answer);
}

/* Nothing was asked, and yet there is something to read: the end, or the words before it. Found out
 * before a question is sent, it costs no question that may not be asked twice. */
static bool call_is_stale(const struct cairn *c)
{
    return c->fd >= 0 && !c->stream.active && c->flight == NULL && tp_readable(c->fd);
}

int cl_ready(struct cairn *c)
{
    if (call_is_stale(c)) {
        cl_drop(c);
    }
    int rc = cl_connect(c);
    if (rc == 0) {
        rc = stream_stop(c);
    }
    if (rc == 0 && c->unpin) {
        rc = call_unpin(c);
    }
    if (rc == 0) {
        rc = resident_give_back(c);
    }
    return rc;
}

/* ---- asking
 * ------------------------------------------------------------------------------------------------
 */

int cl_ask_once(struct cairn *c,
                uint32_t type,
                const union wire_msg *msg,
                uint32_t answer_type,
                union wire_msg *ret)
{
    struct cl_answer a = { 0 };
    uint32_t request = cl_next_request(c);
    int rc = cl_send(c, type, request, msg);
    if (rc == 0) {
        rc = cl_receive_type(c, request, answer_type, &a);
    }
    if (rc == 0) {
        *ret = a.msg;
    }
    return rc;
}

int cl_ask(struct cairn *c,
           uint32_t type,
           const union wire_msg *msg,
           uint32_t answer_type,
           union wire_msg *ret)
{
    int rc = 0;
    do {
        rc = cl_ready(c);
        if (rc == 0) {
            rc = cl_ask_once(c, type, msg, answer_type, ret);
        }
    } while (rc < 0 && cl_again(c));
    return rc;
}
