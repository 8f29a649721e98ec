/* conn_read.c: bytes to frames.
 *
 * Each state wants one piece: where its bytes go is conn_target, what follows when it is whole is
 * conn_piece. Limits are checked on the prefix, before anything is allocated for what it announces.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "net/conn_int.h"

enum { CONN_FDS_MAX = 16 };

/* ---- recvmsg ---- */

/* Descriptors that came along are closed at once. Returns how many there were; when the kernel had
 * to drop some, it has closed those itself. */
static unsigned conn_close_rights(struct msghdr *msg)
{
    unsigned count = (msg->msg_flags & MSG_CTRUNC) != 0;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h != NULL; h = CMSG_NXTHDR(msg, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        size_t fds = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < fds; i++) {
            int fd = -1;
            memcpy(&fd, CMSG_DATA(h) + i * sizeof fd, sizeof fd);
            (void)close(fd);
            count++;
        }
    }
    return count;
}

/* Bytes received; 0: nothing more now, or the connection is over. */
static size_t conn_recv(struct conn *c, void *data, size_t bytes)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * CONN_FDS_MAX)];
    struct iovec iov = { .iov_base = data, .iov_len = bytes };
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    char where[128];
    ssize_t got = 0;
    do {
        got = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        if (errno != EAGAIN) {
            conn_end(c,
                     false,
                     "recvmsg %s: %s",
                     conn_where(c, where, sizeof where),
                     uv_strerror(uv_translate_sys_error(errno)));
        }
        return 0;
    }
    if (conn_close_rights(&msg) > 0) {
        struct err err = { 0 };
        (void)err_set(&err, -CAIRN_EPROTO, "descriptors came with a frame: none is expected, ever");
        conn_fail(c, 0, &err);
        return 0;
    }
    if (got == 0) {
        bool between = c->sm.state == CONN_HEAD && c->got == 0;
        conn_end(c, between, "closed by the peer %s", conn_where(c, where, sizeof where));
    }
    return (size_t)got;
}

/* ---- pieces ---- */

const char *conn_where(const struct conn *c, char *ret, size_t ret_bytes)
{
    const struct wire_type_limits *type = NULL;
    switch ((enum conn_state)c->sm.state) {
    case CONN_HEAD:
        if (c->got == 0) {
            (void)snprintf(ret, ret_bytes, "between frames");
        } else {
            (void)snprintf(ret, ret_bytes, "at byte %" PRIu64 " of a prefix", c->got);
        }
        break;
    case CONN_MESSAGE:
    case CONN_ASK:
    case CONN_PAYLOAD:
    case CONN_DISCARD:
        type = wire_type_limits(c->frame.type);
        (void)snprintf(ret,
                       ret_bytes,
                       "in %s, request %" PRIu32 ", at byte %" PRIu64 " of %" PRIu64 " of its %s",
                       type == NULL ? "?" : type->name,
                       c->frame.request,
                       c->got,
                       c->sm.state == CONN_MESSAGE ? c->frame.message_bytes
                                                   : c->frame.payload_bytes,
                       c->sm.state == CONN_MESSAGE ? "message" : "payload");
        break;
    case CONN_DRAIN:
    case CONN_CLOSING:
    case CONN_NR:
        (void)snprintf(ret, ret_bytes, "while closing");
        break;
    }
    return ret;
}

/* Where the next bytes go, and how many are wanted. */
static uint8_t *conn_target(struct conn *c, uint64_t *ret_want)
{
    switch ((enum conn_state)c->sm.state) {
    case CONN_HEAD:
        *ret_want = FRAME_PREFIX_BYTES - c->got;
        return c->prefix + c->got;
    case CONN_MESSAGE:
        *ret_want = c->frame.message_bytes - c->got;
        return c->message + c->got;
    case CONN_PAYLOAD:
        *ret_want = c->frame.payload_bytes - c->got;
        return c->buf->data + c->got;
    case CONN_DISCARD:
        *ret_want = c->frame.payload_bytes - c->got;
        *ret_want = *ret_want < CONN_DISCARD_BYTES ? *ret_want : CONN_DISCARD_BYTES;
        return c->set->discard;
    case CONN_ASK:
    case CONN_DRAIN:
    case CONN_CLOSING:
    case CONN_NR:
        break;
    }
    *ret_want = 0;
    return NULL;
}

static void conn_dispatch(struct conn *c)
{
    struct frame frame = c->frame;
    struct slice message = slice_of(c->message, frame.message_bytes);
    uint8_t *message_memory = c->message;
    struct buf *buf = c->buf;
    if (buf != NULL) {
        buf->bytes = (uint32_t)frame.payload_bytes;
    }
    c->message = NULL;
    c->buf = NULL;
    c->got = 0;
    c->frame_at = 0;
    sm_move(&c->sm, CONN_HEAD);
    c->set->handler->frame(c->session, &frame, message, buf);
    free(message_memory);
}

/* May be called again and again until the session knows where the payload goes. */
void conn_ask(struct conn *c)
{
    struct buf *buf = NULL;
    struct slice message = slice_of(c->message, c->frame.message_bytes);
    enum conn_payload answer = c->set->handler->payload(c->session, &c->frame, message, &buf);
    if (c->sm.state != CONN_ASK) {
        buf_give(buf); /* it was closed meanwhile */
        return;
    }
    switch (answer) {
    case CONN_PAYLOAD_TAKE:
        c->buf = buf;
        sm_move(&c->sm, CONN_PAYLOAD);
        break;
    case CONN_PAYLOAD_DISCARD:
        sm_move(&c->sm, CONN_DISCARD);
        break;
    case CONN_PAYLOAD_WAIT:
        c->pauses++;
        break;
    }
}

const struct frame *conn_frame(const struct conn *conn, uint64_t *ret_took_ms)
{
    if (conn->sm.state != CONN_MESSAGE && conn->sm.state != CONN_PAYLOAD) {
        return NULL;
    }
    *ret_took_ms = conn->took_ms;
    return &conn->frame;
}

void conn_discard(struct conn *conn)
{
    struct buf *buf = conn->buf;
    if (conn->sm.state == CONN_PAYLOAD) {
        conn->buf = NULL;
        sm_move(&conn->sm, CONN_DISCARD);
        buf_give(buf);
    }
}

/* The prefix is whole: check it, make room for the message. */
static void conn_begin_message(struct conn *c)
{
    struct err err = { 0 };
    const struct conn_limits *limits = &c->set->limits;
    if (frame_decode(c->prefix, &c->frame, &err) < 0) {
        conn_fail(c, 0, &err);
        return;
    }
    if (c->frame.message_bytes > 0) {
        c->message = malloc(c->frame.message_bytes);
        if (c->message == NULL) {
            (void)err_set(&err,
                          -CAIRN_ENOMEM,
                          "no memory for a message of %" PRIu32 " bytes",
                          c->frame.message_bytes);
            conn_fail(c, c->frame.request, &err);
            return;
        }
    }
    uint64_t bytes = c->frame.message_bytes + c->frame.payload_bytes;
    c->frame_at += bytes * 1000 / limits->min_rate_bytes;
    sm_move(&c->sm, CONN_MESSAGE);
}

static void conn_message_whole(struct conn *c)
{
    if (c->frame.payload_bytes == 0) {
        conn_dispatch(c);
        return;
    }
    sm_move(&c->sm, CONN_ASK);
    conn_ask(c);
}

/* A piece is whole: what now? */
static void conn_piece(struct conn *c)
{
    c->got = 0;
    switch ((enum conn_state)c->sm.state) {
    case CONN_HEAD:
        conn_begin_message(c);
        if (c->sm.state == CONN_MESSAGE && c->frame.message_bytes == 0) {
            conn_message_whole(c);
        }
        break;
    case CONN_MESSAGE:
        conn_message_whole(c);
        break;
    case CONN_PAYLOAD:
    case CONN_DISCARD:
        conn_dispatch(c);
        break;
    case CONN_ASK:
    case CONN_DRAIN:
    case CONN_CLOSING:
    case CONN_NR:
        break;
    }
}

static bool conn_piece_is_whole(const struct conn *c)
{
    switch ((enum conn_state)c->sm.state) {
    case CONN_HEAD:
        return c->got == FRAME_PREFIX_BYTES;
    case CONN_MESSAGE:
        return c->got == c->frame.message_bytes;
    case CONN_PAYLOAD:
    case CONN_DISCARD:
        return c->got == c->frame.payload_bytes;
    case CONN_ASK:
    case CONN_DRAIN:
    case CONN_CLOSING:
    case CONN_NR:
        break;
    }
    return false;
}

/* The clock of a frame starts with its first byte. */
static void conn_took(struct conn *c, size_t bytes)
{
    if (c->sm.state == CONN_HEAD && c->got == 0) {
        c->frame_at = uv_now(c->set->loop) + c->set->limits.frame_ms;
        conn_set_timer(c);
    }
    c->got += bytes;
    c->took_ms = uv_now(c->set->loop);
    if (conn_piece_is_whole(c)) {
        conn_piece(c);
    }
}

void conn_read(struct conn *c)
{
    uint64_t left = CONN_TURN_BYTES;
    while (left > 0 && c->pauses == 0 && !conn_is_over(c) && !conn_is_full(c)) {
        uint64_t want = 0;
        uint8_t *data = conn_target(c, &want);
        size_t got = conn_recv(c, data, want < left ? want : left);
        if (got == 0) {
            break;
        }
        left -= got;
        conn_took(c, got);
    }
}
