/* fake.c: the daemon of the library's unit tests. */
#include <cairn/error.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake_int.h"

/* ---- dispatch ---- */

static struct fake_fault *fake_fault_of(struct fake *f, uint32_t type, unsigned nth)
{
    for (size_t i = 0; i < sizeof f->faults / sizeof f->faults[0]; i++) {
        struct fake_fault *fault = &f->faults[i];
        if (fault->act != FAKE_NOTHING && fault->type == type && fault->nth == nth) {
            return fault;
        }
    }
    return NULL;
}

static void fake_keep_chunk(struct fake_boundary *b, const struct fake_in *in)
{
    b->chunk_bytes[b->chunk_count] = (uint32_t)in->frame.payload_bytes;
    b->chunks[b->chunk_count] = malloc(in->frame.payload_bytes);
    memcpy(b->chunks[b->chunk_count++], in->payload, in->frame.payload_bytes);
}

static void fake_upload_part(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    if (in->frame.request == c->ignored_request) {
        return;
    }
    if (c->upload == NULL || c->upload_request != in->frame.request) {
        fake_bad(f, c, "a part of no upload");
    } else if (in->frame.type == WIRE_SEAL) {
        fake_seal(f, c, in->frame.request, &in->msg, in->act);
    } else if (in->frame.type != WIRE_DATA) {
        fake_store_frame(c->upload, in->frame.type, in->message);
    } else if (in->msg.data.chunk != c->upload->chunk_count) {
        fake_bad(f, c, "DATA out of order");
    } else {
        fake_keep_chunk(c->upload, in);
    }
}

static void fake_hello(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    union wire_msg msg = { .welcome = { .version = WIRE_VERSION_MAX,
                                        .server = slice_str("fake"),
                                        .chunk_bytes = LIMIT_CHUNK_BYTES,
                                        .entries_per_page = LIMIT_ENTRIES_PER_PAGE,
                                        .window_chunks = LIMIT_WINDOW_CHUNKS,
                                        .idle_ms = 30000 } };
    fake_reply(f, c, WIRE_WELCOME, in->frame.request, msg);
}

static void fake_run_open(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    union wire_msg msg = { .run_info = { .run = in->msg.run_open.run } };
    fake_reply(f, c, WIRE_RUN_INFO, in->frame.request, msg);
}

/* This daemon's payload comes on the socket, where it can be looked at. */
static void fake_op_arena_open(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    fake_refuse(f, c, in->frame.request, CAIRN_ENOTSUP, false);
}

static void fake_op_begin(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    if (c->loading || c->held != NULL) {
        fake_bad(f, c, "BEGIN during another transfer");
    } else {
        fake_begin(f, c, in->frame.request, &in->msg);
    }
}

static void fake_op_find(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    fake_find(f, c, in->frame.request, &in->msg.find);
}

static void fake_op_describe(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    fake_describe(f, c, in->frame.request, &in->msg.describe);
}

static void fake_op_manifest(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    fake_page(f, c, in->frame.request, WIRE_ENTRIES, &in->msg);
}

static void fake_op_chunk_list(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    fake_page(f, c, in->frame.request, WIRE_CHUNKS, &in->msg);
}

static void fake_op_load(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    fake_load(f, c, in->frame.request, &in->msg.load);
}

static void fake_op_release(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    c->load_credits += in->msg.release.credits;
    fake_pump(f, c);
}

static void fake_op_abort(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    fake_abort(f, c, in->frame.request);
}

static void fake_op_close(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    c->pinned = NULL;
    fake_reply(f, c, WIRE_DONE, in->frame.request, (union wire_msg){ 0 });
}

static void fake_op_run_drop(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    fake_reply(f, c, WIRE_DONE, in->frame.request, (union wire_msg){ 0 });
}

static void fake_op_verify(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    union wire_msg msg = { .verified = { .boundary_count = f->count } };
    fake_reply(f, c, WIRE_VERIFIED, in->frame.request, msg);
}

static void fake_dispatch(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    static void (*const ops[FAKE_TYPES])(struct fake *, struct fake_conn *, struct fake_in *) = {
        [WIRE_HELLO] = fake_hello,
        [WIRE_RUN_OPEN] = fake_run_open,
        [WIRE_RUN_DROP] = fake_op_run_drop,
        [WIRE_VERIFY] = fake_op_verify,
        [WIRE_ARENA_OPEN] = fake_op_arena_open,
        [WIRE_ARENA_CLOSE] = fake_op_arena_close,
        [WIRE_RESIDENT] = fake_op_resident,
        [WIRE_BEGIN] = fake_op_begin,
        [WIRE_CHUNKS] = fake_upload_part,
        [WIRE_ENTRIES] = fake_upload_part,
        [WIRE_DATA] = fake_upload_part,
        [WIRE_SEAL] = fake_upload_part,
        [WIRE_FIND] = fake_op_find,
        [WIRE_DESCRIBE] = fake_op_describe,
        [WIRE_MANIFEST] = fake_op_manifest,
        [WIRE_CHUNK_LIST] = fake_op_chunk_list,
        [WIRE_LOAD] = fake_op_load,
        [WIRE_RELEASE] = fake_op_release,
        [WIRE_ABORT] = fake_op_abort,
        [WIRE_CLOSE] = fake_op_close,
    };
    if (in->frame.type >= FAKE_TYPES || ops[in->frame.type] == NULL) {
        fake_bad(f, c, "a frame that it does not know");
    } else {
        ops[in->frame.type](f, c, in);
    }
}

/* True when the fault took the frame. */
static bool fake_misbehave(struct fake *f,
                           struct fake_conn *c,
                           const struct frame *fr,
                           const struct fake_fault *fault)
{
    static const char garbage[64] = "this is not a frame at all, whatever it looks like";
    switch (fault->act) {
    case FAKE_CLOSE:
        fake_boundary_free(c->upload);
        fake_close(c);
        return true;
    case FAKE_REFUSE:
    case FAKE_REFUSE_CLOSING:
        fake_boundary_free(c->upload);
        c->upload = NULL;
        c->ignored_request = fr->request;
        fake_refuse(f, c, fr->request, (int)fault->code, fault->act == FAKE_REFUSE_CLOSING);
        return true;
    case FAKE_SILENCE:
        return true;
    case FAKE_GARBAGE:
        (void)fake_write(c->fd, garbage, sizeof garbage);
        return true;
    case FAKE_CLOSE_AFTER:
    case FAKE_HOLD:
    case FAKE_NOTHING:
    default:
        return false;
    }
}

static void fake_take(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    struct err err = { 0 };
    bump_reset(&f->bump);
    if (wire_decode(in->frame.type, in->message, &f->bump, &in->msg, &err) < 0) {
        fake_bad(f, c, err.msg);
        return;
    }
    unsigned nth = ++f->seen[in->frame.type];
    const struct fake_fault *fault = fake_fault_of(f, in->frame.type, nth);
    in->act = fault == NULL ? FAKE_NOTHING : fault->act;
    if (fault == NULL || !fake_misbehave(f, c, &in->frame, fault)) {
        fake_dispatch(f, c, in);
    }
}

static void fake_gone(struct fake_conn *c)
{
    fake_boundary_free(c->upload);
    fake_close(c);
}

static void fake_frame(struct fake *f, struct fake_conn *c)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    struct fake_in in = { .act = FAKE_NOTHING };
    struct err err = { 0 };
    if (!fake_read(c->fd, prefix, sizeof prefix)) {
        fake_gone(c);
        return;
    }
    if (frame_decode(prefix, &in.frame, &err) < 0) {
        fake_bad(f, c, err.msg);
        return;
    }
    uint8_t *message = malloc(in.frame.message_bytes + 1);
    in.payload = malloc(in.frame.payload_bytes + 1);
    if (fake_read(c->fd, message, in.frame.message_bytes) &&
        fake_read(c->fd, in.payload, in.frame.payload_bytes)) {
        in.message = slice_of(message, in.frame.message_bytes);
        fake_take(f, c, &in);
    } else {
        fake_gone(c);
    }
    free(message);
    free(in.payload);
}

/* ---- the thread ---- */

static void fake_accept(struct fake *f)
{
    int fd = accept4(f->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    for (int i = 0; i < FAKE_CONNS; i++) {
        if (f->conns[i].fd < 0 && fd >= 0) {
            f->conns[i] = (struct fake_conn){ .fd = fd };
            f->connections++;
            return;
        }
    }
    (void)close(fd);
}

/* A prefix that promises a message which does not come; or no prefix. */
static void fake_spoil(struct fake *f, const struct fake_conn *c, const struct fake_boundary *b)
{
    struct err err = { 0 };
    union wire_msg msg = { .committed = { .boundary = b->row } };
    f->out.bytes = 0;
    if (wire_encode(WIRE_COMMITTED, c->held_request, &msg, 0, &f->out, &err) < 0) {
        abort();
    }
    if (f->held_code == FAKE_HELD_GARBAGE) {
        memset(f->out.data, 'x', f->out.bytes);
    }
    (void)fake_write(c->fd, f->out.data, FRAME_PREFIX_BYTES + 2);
}

static void fake_release_held(struct fake *f)
{
    for (int i = 0; i < FAKE_CONNS; i++) {
        struct fake_conn *c = &f->conns[i];
        if (c->fd >= 0 && c->held != NULL) {
            struct fake_boundary *b = c->held;
            c->held = NULL;
            if (f->held_code < 0) {
                fake_spoil(f, c, b);
            } else if (f->held_code != 0) {
                fake_refuse(f, c, c->held_request, f->held_code, false);
            } else {
                fake_committed(f, c, c->held_request, b);
            }
        }
    }
    uint64_t one = 1;
    (void)!write(f->released_fd, &one, sizeof one);
}

/* False: the test wants it to end. */
static bool fake_woken(struct fake *f)
{
    uint64_t word = 0;
    (void)!read(f->wake_fd, &word, sizeof word);
    if (!atomic_load(&f->release)) {
        return false;
    }
    atomic_store(&f->release, false);
    fake_release_held(f);
    return true;
}

static void fake_serve(struct fake *f, const struct pollfd *fds)
{
    for (int i = 0; i < FAKE_CONNS; i++) {
        if (fds[i].revents != 0 && f->conns[i].fd == fds[i].fd) {
            fake_frame(f, &f->conns[i]);
        }
    }
}

static void *fake_main(void *arg)
{
    struct fake *f = arg;
    for (;;) {
        struct pollfd fds[FAKE_CONNS + 2] = { { .fd = f->wake_fd, .events = POLLIN },
                                              { .fd = f->listen_fd, .events = POLLIN } };
        for (int i = 0; i < FAKE_CONNS; i++) {
            fds[i + 2] = (struct pollfd){ .fd = f->conns[i].fd, .events = POLLIN };
        }
        if (poll(fds, FAKE_CONNS + 2, -1) < 0) {
            continue;
        }
        if (fds[0].revents != 0 && !fake_woken(f)) {
            return NULL;
        }
        if (fds[1].revents != 0) {
            fake_accept(f);
        }
        fake_serve(f, fds + 2);
    }
}

void fake_resume(struct fake *f)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", f->path);
    f->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    f->wake_fd = eventfd(0, EFD_CLOEXEC);
    f->released_fd = eventfd(0, EFD_CLOEXEC);
    if (bind(f->listen_fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(f->listen_fd, 8) < 0 ||
        pthread_create(&f->thread, NULL, fake_main, f) != 0) {
        abort();
    }
    f->running = true;
}

void fake_start(struct fake *f)
{
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/cairn-fake-XXXXXX");
    if (mkdtemp(f->dir) == NULL) {
        abort();
    }
    (void)snprintf(f->path, sizeof f->path, "%s/socket", f->dir);
    for (int i = 0; i < FAKE_CONNS; i++) {
        f->conns[i].fd = -1;
    }
    bump_init(&f->bump, SIZE_MAX / 2);
    fake_resume(f);
}

static void fake_wake(struct fake *f)
{
    uint64_t one = 1;
    (void)!write(f->wake_fd, &one, sizeof one);
}

void fake_pause(struct fake *f)
{
    if (!f->running) {
        return;
    }
    fake_wake(f);
    (void)pthread_join(f->thread, NULL);
    f->running = false;
    for (int i = 0; i < FAKE_CONNS; i++) {
        fake_boundary_free(f->conns[i].upload);
        fake_close(&f->conns[i]);
    }
    (void)close(f->listen_fd);
    (void)close(f->wake_fd);
    (void)close(f->released_fd);
    (void)unlink(f->path);
}

void fake_stop(struct fake *f)
{
    fake_pause(f);
    for (uint64_t i = 0; i < f->count; i++) {
        fake_boundary_free(f->boundaries[i]);
    }
    bump_fini(&f->bump);
    wire_buf_free(&f->out);
    (void)rmdir(f->dir);
}

void fake_release(struct fake *f)
{
    uint64_t word = 0;
    atomic_store(&f->release, true);
    fake_wake(f);
    (void)!read(f->released_fd, &word, sizeof word);
}

void fake_forget_newest(struct fake *f)
{
    fake_boundary_free(f->boundaries[--f->count]);
}

unsigned fake_seen(struct fake *f, uint32_t type)
{
    return atomic_load(&f->seen[type]);
}
