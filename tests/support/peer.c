#include "support/peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "record/digest.h"
#include "support/proc.h"

enum { PEER_WAIT_MS = 20000 };

static void peer_die(const char *what)
{
    perror(what);
    abort();
}

void peer_connect(struct peer_client *p, const char *socket_path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    *p = (struct peer_client){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), .in_fd = -1 };
    (void)snprintf(addr.sun_path, sizeof addr.sun_path, "%s", socket_path);
    if (p->fd < 0 || connect(p->fd, (struct sockaddr *)&addr, sizeof addr) < 0) {
        peer_die("peer: connect");
    }
    bump_init(&p->bump, 64u << 20);
}

void peer_close(struct peer_client *p)
{
    (void)close(p->fd);
    if (p->in_fd >= 0) {
        (void)close(p->in_fd);
    }
    wire_buf_free(&p->out);
    bump_fini(&p->bump);
    free(p->message);
}

bool peer_send_raw(struct peer_client *p, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t n = send(p->fd, at, bytes, MSG_NOSIGNAL);
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
            return false;
        }
        if (n < 0 && errno != EINTR) {
            peer_die("peer: send");
        }
        if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        }
    }
    return true;
}

bool peer_send(struct peer_client *p,
               enum wire_type type,
               uint32_t request,
               const union wire_msg *msg,
               struct slice payload)
{
    struct err err = { 0 };
    p->out.bytes = 0;
    if (wire_encode(type, request, msg, payload.bytes, &p->out, &err) < 0) {
        (void)fprintf(stderr, "peer: encode: %s\n", err.msg);
        abort();
    }
    return peer_send_raw(p, p->out.data, p->out.bytes) &&
           peer_send_raw(p, payload.data, payload.bytes);
}

static ssize_t peer_read_some(struct peer_client *p, void *ret, size_t bytes)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec iov = { .iov_base = ret, .iov_len = bytes };
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
    };
    ssize_t got = recvmsg(p->fd, &msg, MSG_CMSG_CLOEXEC);
    struct cmsghdr *h = got > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
    if (h != NULL && h->cmsg_type == SCM_RIGHTS) {
        if (p->in_fd >= 0) {
            (void)close(p->in_fd);
        }
        memcpy(&p->in_fd, CMSG_DATA(h), sizeof p->in_fd);
    }
    return got;
}

static bool peer_read(struct peer_client *p, int timeout_ms, void *ret, size_t bytes)
{
    char *to = ret;
    while (bytes > 0) {
        if (!wait_input(p->fd, timeout_ms)) {
            return false;
        }
        ssize_t n = peer_read_some(p, to, bytes);
        if (n <= 0) {
            return false;
        }
        to += n;
        bytes -= (size_t)n;
    }
    return true;
}

bool peer_recv(struct peer_client *p, int timeout_ms, struct frame *ret, union wire_msg *ret_msg)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    uint8_t sink[65536];
    struct err err = { 0 };
    if (!peer_read(p, timeout_ms, prefix, sizeof prefix)) {
        return false;
    }
    if (frame_decode(prefix, ret, &err) < 0) {
        (void)fprintf(stderr, "peer: the daemon sent a bad frame: %s\n", err.msg);
        abort();
    }
    p->message = realloc(p->message, (size_t)ret->message_bytes + 1);
    if (p->message == NULL || !peer_read(p, timeout_ms, p->message, ret->message_bytes)) {
        return false;
    }
    for (uint64_t left = ret->payload_bytes; left > 0;) {
        size_t part = left < sizeof sink ? (size_t)left : sizeof sink;
        if (!peer_read(p, timeout_ms, sink, part)) {
            return false;
        }
        left -= part;
    }
    bump_reset(&p->bump);
    if (wire_decode(ret->type, slice_of(p->message, ret->message_bytes), &p->bump, ret_msg, &err) <
        0) {
        (void)fprintf(stderr, "peer: the daemon sent a bad message: %s\n", err.msg);
        abort();
    }
    return true;
}

bool peer_closed(struct peer_client *p, int timeout_ms)
{
    char sink[65536];
    uint64_t end = now_ns() + (uint64_t)timeout_ms * 1000000;
    while (now_ns() < end && wait_input(p->fd, timeout_ms)) {
        if (recv(p->fd, sink, sizeof sink, 0) <= 0) {
            return true;
        }
    }
    return false;
}

void peer_expect(struct peer_client *p,
                 enum wire_type type,
                 uint32_t request,
                 union wire_msg *ret_msg)
{
    struct frame f = { 0 };
    if (!peer_recv(p, PEER_WAIT_MS, &f, ret_msg)) {
        (void)fprintf(stderr, "peer: no frame came, expected type %d\n", (int)type);
        abort();
    }
    if (f.type != type || f.request != request) {
        bool error = f.type == WIRE_ERROR;
        (void)fprintf(stderr,
                      "peer: type %u of request %u instead of %d of %u%s%.*s\n",
                      f.type,
                      f.request,
                      (int)type,
                      request,
                      error ? ": " : "",
                      error ? (int)ret_msg->error.text.bytes : 0,
                      error ? (const char *)ret_msg->error.text.data : "");
        abort();
    }
}

void peer_expect_error(struct peer_client *p, uint32_t request, uint32_t code, const char *words)
{
    union wire_msg msg;
    peer_expect(p, WIRE_ERROR, request, &msg);
    const struct slice text = msg.error.text;
    if (msg.error.code != code || memmem(text.data, text.bytes, words, strlen(words)) == NULL) {
        (void)fprintf(stderr,
                      "peer: error %u instead of %u with '%s': %.*s\n",
                      msg.error.code,
                      code,
                      words,
                      (int)text.bytes,
                      (const char *)text.data);
        abort();
    }
}

void peer_ping(struct peer_client *p)
{
    enum { PING = 90 };
    union wire_msg msg = { 0 };
    if (!peer_send(p, WIRE_PING, PING, &msg, (struct slice){ 0 })) {
        peer_die("peer: ping");
    }
    peer_expect(p, WIRE_DONE, PING, &msg);
}

void peer_hello(struct peer_client *p)
{
    union wire_msg msg = { .hello = { WIRE_VERSION_MIN, WIRE_VERSION_MAX, slice_str("peer") } };
    struct frame f;
    if (!peer_send(p, WIRE_HELLO, 1, &msg, (struct slice){ 0 }) || !peer_recv(p, 10000, &f, &msg) ||
        f.type != WIRE_WELCOME) {
        (void)fprintf(stderr, "peer: no WELCOME\n");
        abort();
    }
}

void peer_begin(struct peer_client *p, const char *run, uint8_t id)
{
    uint8_t *zeros = calloc(1, PEER_CHUNK_BYTES);
    struct component_info infos[5] = { 0 };
    union wire_msg msg;
    struct frame f = { 0 };
    if (zeros == NULL) {
        peer_die("peer: begin");
    }
    const struct chunk chunk = {
        COMPONENT_MODEL, CHUNK_PACKED, PEER_CHUNK_BYTES, digest_bytes(zeros, PEER_CHUNK_BYTES)
    };
    free(zeros);
    for (uint32_t i = 0; i < 5; i++) {
        infos[i].component = (enum component)(i + 1);
    }
    msg.begin = (struct wire_begin){ .run = slice_str(run),
                                     .boundary = { .world = 1,
                                                   .local_parts = 1,
                                                   .exact = true,
                                                   .save_id = { id },
                                                   .entry_count = 1,
                                                   .chunk_count = 1,
                                                   .payload_bytes = PEER_CHUNK_BYTES,
                                                   .stored_bytes = PEER_CHUNK_BYTES,
                                                   .root = { { 1 } },
                                                   .components = infos } };
    (void)peer_send(p, WIRE_BEGIN, PEER_UPLOAD, &msg, (struct slice){ 0 });
    if (!peer_recv(p, 20000, &f, &msg) || f.type != WIRE_BEGUN) {
        (void)fprintf(stderr,
                      "peer: no BEGUN but type %u: %.*s\n",
                      f.type,
                      (int)msg.error.text.bytes,
                      (const char *)msg.error.text.data);
        abort();
    }
    msg.chunks = (struct wire_chunks){ .chunks = &chunk, .count = 1 };
    (void)peer_send(p, WIRE_CHUNKS, PEER_UPLOAD, &msg, (struct slice){ 0 });
}

static void peer_empty(uint8_t id, struct boundary *b, struct component_info infos[5])
{
    *b = (struct boundary){ .world = 1, .local_parts = 1, .exact = true, .save_id = { id } };
    for (uint32_t i = 0; i < 5; i++) {
        infos[i] = (struct component_info){ .component = (enum component)(i + 1) };
        struct component_digest *digest =
            component_digest_new(infos[i].component, (struct slice){ 0 });
        infos[i].digest = component_digest_end(digest);
        (void)component_digest_free(digest);
    }
    b->root = digest_root(b, infos, 5);
}

enum save_state peer_begin_empty(struct peer_client *p, const char *run, uint8_t id)
{
    struct component_info infos[5];
    union wire_msg msg = { .begin = { .run = slice_str(run) } };
    peer_empty(id, &msg.begin.boundary, infos);
    (void)peer_send(p, WIRE_BEGIN, PEER_UPLOAD, &msg, (struct slice){ 0 });
    peer_expect(p, WIRE_BEGUN, PEER_UPLOAD, &msg);
    return msg.begun.state;
}

void peer_seal_empty(struct peer_client *p, uint8_t id)
{
    struct component_info infos[5];
    struct boundary b;
    peer_empty(id, &b, infos);
    const union wire_msg msg = { .seal = { infos, 5, b.root } };
    (void)peer_send(p, WIRE_SEAL, PEER_UPLOAD, &msg, (struct slice){ 0 });
}
