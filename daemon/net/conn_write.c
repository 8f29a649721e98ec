/* conn_write.c: frames to bytes.
 *
 * Nothing is sent from inside conn_send: the frame waits in the queue for the loop, which sends as
 * many at once as the socket takes. So callers are never called back, and small answers share a
 * system call. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

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
    if (out->fd >= 0) {
        (void)close(out->fd);
    }
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

void conn_queue(struct conn *c, const struct conn_out *what)
{
    struct conn_out *out = malloc(sizeof *out);
    if (out != NULL) {
        *out = *what;
    }
    if (out == NULL || conn_is_over(c)) {
        struct wire_buf head = what->head;
        wire_buf_free(&head);
        buf_give(what->buf);
        if (what->fd >= 0) {
            (void)close(what->fd);
        }
        free(out);
        conn_end(c, false, "no memory for an answer"); /* nothing, when it is closing anyway */
        return;
    }
    out->next = NULL;
    out->at = 0;
    bool first = c->out == NULL;
    *c->out_end = out;
    c->out_end = &out->next;
    c->out_bytes += conn_out_memory(out);
    if (first) {
        conn_output_clock(c);
    }
    conn_watch(c);
}

static void conn_send_with(
    struct conn *conn, enum wire_type type, uint32_t request, const union wire_msg *msg, int fd)
{
    struct conn_out out = { .fd = fd };
    struct err err = { 0 };
    if (wire_encode(type, request, msg, 0, &out.head, &err) < 0) {
        wire_buf_free(&out.head);
        if (fd >= 0) {
            (void)close(fd);
        }
        conn_end(conn, false, "cannot encode an answer: %s", err.msg);
        return;
    }
    conn_queue(conn, &out);
}

void conn_send(struct conn *conn, enum wire_type type, uint32_t request, const union wire_msg *msg)
{
    if (!conn_is_over(conn)) {
        conn_send_with(conn, type, request, msg, -1);
    }
}

void conn_send_fd(
    struct conn *conn, enum wire_type type, uint32_t request, const union wire_msg *msg, int fd)
{
    if (conn_is_over(conn)) {
        return;
    }
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
        conn_end(conn, false, "no descriptor for an answer");
        return;
    }
    conn_send_with(conn, type, request, msg, copy);
}

void conn_send_data(struct conn *conn,
                    uint32_t request,
                    uint32_t chunk,
                    struct buf *buf,
                    void (*sent)(void *arg),
                    void *arg)
{
    struct conn_out out = { .buf = buf, .fd = -1, .sent = sent, .arg = arg };
    struct err err = { 0 };
    union wire_msg msg = { .data = { .chunk = chunk } };
    if (conn_is_over(conn)) {
        buf_give(buf);
        return;
    }
    if (wire_encode(WIRE_DATA, request, &msg, buf->bytes, &out.head, &err) < 0) {
        wire_buf_free(&out.head);
        buf_give(buf);
        conn_end(conn, false, "cannot encode DATA: %s", err.msg);
        return;
    }
    conn_queue(conn, &out);
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
    struct conn_out out = { .fd = -1 };
    if (conn_is_over(conn)) {
        return;
    }
    if (conn_error_encode(request, err, false, &out.head) < 0) {
        conn_end(conn, false, "no memory for an answer");
        return;
    }
    conn_queue(conn, &out);
}

/* ---- the socket ---- */

/* What is left of the first frames, as many as fit. One that brings a descriptor begins anew: the
 * descriptor goes with its first byte. */
static size_t conn_gather(const struct conn *c, struct iovec iov[CONN_IOV])
{
    size_t count = 0;
    for (const struct conn_out *out = c->out; out != NULL && count + 2 <= CONN_IOV;
         out = out->next) {
        if (out != c->out && out->fd >= 0) {
            break;
        }
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

static void conn_attach(struct msghdr *msg, char *control, size_t bytes, int fd)
{
    msg->msg_control = control;
    msg->msg_controllen = bytes;
    struct cmsghdr *h = CMSG_FIRSTHDR(msg);
    *h = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd),
                           .cmsg_level = SOL_SOCKET,
                           .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(h), &fd, sizeof fd);
}

static ssize_t conn_send_some(struct conn *c)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec iov[CONN_IOV];
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = conn_gather(c, iov) };
    ssize_t sent = 0;
    if (c->out->fd >= 0) {
        conn_attach(&msg, control, sizeof control, c->out->fd);
    }
    do {
        sent = sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent > 0 && c->out->fd >= 0) {
        (void)close(c->out->fd);
        c->out->fd = -1;
    }
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
