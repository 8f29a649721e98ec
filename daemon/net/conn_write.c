/* conn_write.c: frames to bytes.
 *
 * Nothing is sent from inside conn_send: the frame waits in the queue for the loop, which sends as
 * many at once as the socket takes. So callers are never called back, and small answers share a
 * system call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/log.h"
#include "net/conn_int.h"

enum { CONN_IOV = 64 };

static size_t conn_out_bytes(const struct conn_out *out)
{
    return out->head.bytes + (out->buf == NULL ? 0 : out->buf->bytes);
}

/* A peer that asks small questions and takes no answers must not make the daemon grow: of an answer
 * of 24 bytes it is the memory that counts. */
static size_t conn_out_memory(const struct conn_out *out)
{
    return out->head.cap_bytes + sizeof *out;
}

static void conn_out_free(struct conn_out *out)
{
    wire_buf_free(&out->head);
    buf_give(out->buf);
    free(out);
}

void conn_out_free_all(struct conn *c)
{
    while (c->out != NULL) {
        struct conn_out *out = c->out;
        c->out = out->next;
        conn_out_free(out);
    }
    c->out_end = &c->out;
}

/* ---- the queue ---- */

bool conn_is_full(const struct conn *c)
{
    return c->out_bytes >= CONN_OUT_HIGH_BYTES;
}

bool conn_wait_room(struct conn *conn, void (*room)(void *arg), void *arg)
{
    if (conn_is_over(conn) || !conn_is_full(conn)) {
        return false;
    }
    conn->room = room;
    conn->room_arg = arg;
    return true;
}

void conn_end_wait(struct conn *conn)
{
    void (*room)(void *arg) = conn->room;
    conn->room = NULL;
    if (room != NULL) {
        room(conn->room_arg);
    }
}

uint64_t conn_patience_ms(const struct conn_limits *limits)
{
    return limits->output_ms + UINT64_C(2000) * CONN_SEND_BUFFER_BYTES / limits->min_rate_bytes;
}

/* Another frame is the first now. It has its bytes at the least rate (rounded up, so that who keeps
 * it lives), and what is left of the patience: a peer cannot win time by taking little at a time.
 */
static void conn_output_clock(struct conn *c)
{
    const struct conn_limits *limits = &c->set->limits;
    uint64_t full_us = (uv_now(c->set->loop) + conn_patience_ms(limits)) * 1000;
    uint64_t rate = limits->min_rate_bytes;
    if (c->out == NULL) {
        c->output_at = 0;
        return;
    }
    if (c->output_at == 0 || c->output_us > full_us) {
        c->output_us = full_us;
    }
    c->output_us += (conn_out_bytes(c->out) * UINT64_C(1000000) + rate - 1) / rate;
    c->output_at = c->output_us / 1000;
    conn_set_timer(c);
}

void conn_queue(
    struct conn *c, struct wire_buf head, struct buf *buf, void (*sent)(void *arg), void *arg)
{
    struct conn_out *out = conn_is_over(c) ? NULL : calloc(1, sizeof *out);
    if (out == NULL) {
        wire_buf_free(&head);
        buf_give(buf);
        conn_end(c, false, "no memory for an answer"); /* nothing, when it is closing anyway */
        return;
    }
    *out = (struct conn_out){ .head = head, .buf = buf, .sent = sent, .arg = arg };
    bool first = c->out == NULL;
    *c->out_end = out;
    c->out_end = &out->next;
    c->out_bytes += conn_out_memory(out);
    if (first) {
        conn_output_clock(c);
    }
    conn_watch(c);
}

void conn_send(struct conn *conn, enum wire_type type, uint32_t request, const union wire_msg *msg)
{
    struct wire_buf head = { 0 };
    struct err err = { 0 };
    if (conn_is_over(conn)) {
        return;
    }
    if (wire_encode(type, request, msg, 0, &head, &err) < 0) {
        wire_buf_free(&head);
        conn_end(conn, false, "cannot encode an answer: %s", err.msg);
        return;
    }
    conn_queue(conn, head, NULL, NULL, NULL);
}

void conn_send_data(struct conn *conn,
                    uint32_t request,
                    uint32_t chunk,
                    struct buf *buf,
                    void (*sent)(void *arg),
                    void *arg)
{
    struct wire_buf head = { 0 };
    struct err err = { 0 };
    union wire_msg msg = { .data = { .chunk = chunk } };
    if (conn_is_over(conn)) {
        buf_give(buf);
        return;
    }
    if (wire_encode(WIRE_DATA, request, &msg, buf->bytes, &head, &err) < 0) {
        wire_buf_free(&head);
        buf_give(buf);
        conn_end(conn, false, "cannot encode DATA: %s", err.msg);
        return;
    }
    conn_queue(conn, head, buf, sent, arg);
}

int conn_error_encode(uint32_t request, const struct err *err, bool closing, struct wire_buf *ret)
{
    union wire_msg msg = { .error = {
                               .code = (uint32_t)-err->code,
                               .component = err->component,
                               .path = slice_str(err->path),
                               .text = slice_str(err->msg),
                               .closing = closing,
                           } };
    int rc = wire_encode(WIRE_ERROR, request, &msg, 0, ret, NULL);
    if (rc < 0) {
        wire_buf_free(ret);
    }
    return rc;
}

void conn_refuse(struct conn *conn, uint32_t request, const struct err *err)
{
    struct wire_buf head = { 0 };
    if (conn_is_over(conn)) {
        return;
    }
    if (conn_error_encode(request, err, false, &head) < 0) {
        conn_end(conn, false, "no memory for an answer");
        return;
    }
    conn_queue(conn, head, NULL, NULL, NULL);
}

/* ---- the socket ---- */

/* What is left of the first frames, as many as fit. */
static size_t conn_gather(const struct conn *c, struct iovec iov[CONN_IOV])
{
    size_t count = 0;
    for (const struct conn_out *out = c->out; out != NULL && count + 2 <= CONN_IOV;
         out = out->next) {
        if (out->at < out->head.bytes) {
            iov[count++] = (struct iovec){ out->head.data + out->at, out->head.bytes - out->at };
        }
        if (out->buf != NULL) {
            size_t at = out->at < out->head.bytes ? 0 : out->at - out->head.bytes;
            iov[count++] = (struct iovec){ out->buf->data + at, out->buf->bytes - at };
        }
    }
    return count;
}

/* Account for bytes that went out; frames that are through leave the queue. */
static void conn_sent(struct conn *c, size_t bytes)
{
    while (c->out != NULL) {
        struct conn_out *out = c->out;
        size_t left = conn_out_bytes(out) - out->at;
        if (bytes < left) {
            out->at += bytes;
            return;
        }
        bytes -= left;
        c->out = out->next;
        if (c->out == NULL) {
            c->out_end = &c->out;
        }
        c->out_bytes -= conn_out_memory(out);
        conn_output_clock(c);
        void (*sent)(void *arg) = out->sent;
        void *arg = out->arg;
        conn_out_free(out);
        if (sent != NULL && c->sm.state != CONN_CLOSING) {
            sent(arg);
        }
        if (c->sm.state == CONN_CLOSING) {
            return;
        }
    }
}

static ssize_t conn_send_some(struct conn *c)
{
    struct iovec iov[CONN_IOV];
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = conn_gather(c, iov) };
    ssize_t sent = 0;
    do {
        sent = sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EAGAIN) {
        conn_end(c,
                 false,
                 "gone before it took its answers: %s",
                 uv_strerror(uv_translate_sys_error(errno)));
    }
    return sent;
}

/* Until the socket is full, the queue empty, or this turn's share is sent. */
void conn_flush(struct conn *c)
{
    uint64_t total = 0;
    while (c->out != NULL && c->sm.state != CONN_CLOSING && total < CONN_TURN_BYTES) {
        ssize_t sent = conn_send_some(c);
        if (sent <= 0) {
            break;
        }
        total += (uint64_t)sent;
        conn_sent(c, (size_t)sent);
    }
    if (c->sm.state == CONN_CLOSING) {
        return;
    }
    if (c->out == NULL && c->sm.state == CONN_DRAIN) {
        conn_end(c, false, "failed");
    } else if (!conn_is_full(c)) {
        conn_end_wait(c);
    }
}
