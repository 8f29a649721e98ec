/* fake.c: the daemon of the library's unit tests. */
#include "fake.h"

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

/* ---- frames
 * ---------------------------------------------------------------------------------------- */

static bool fake_read(int fd, void *dst, size_t bytes)
{
    char *at = dst;
    while (bytes > 0) {
        ssize_t got = recv(fd, at, bytes, 0);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return false;
        }
        at += got > 0 ? got : 0;
        bytes -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool fake_write(int fd, const void *src, size_t bytes)
{
    const char *at = src;
    while (bytes > 0) {
        ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return false;
        }
        at += sent > 0 ? sent : 0;
        bytes -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static void fake_close(struct fake_conn *c)
{
    if (c->fd >= 0) {
        (void)close(c->fd);
    }
    *c = (struct fake_conn){ .fd = -1 };
}

static void fake_send(struct fake *f,
                      struct fake_conn *c,
                      uint32_t type,
                      uint32_t request,
                      union wire_msg *msg,
                      uint8_t *payload,
                      uint64_t payload_bytes)
{
    struct err err = { 0 };
    if (f->mangle != NULL) {
        f->mangle(f, type, msg, payload);
    }
    f->out.bytes = 0;
    if (wire_encode(type, request, msg, payload_bytes, &f->out, &err) < 0 ||
        !fake_write(c->fd, f->out.data, f->out.bytes) ||
        (payload_bytes > 0 && !fake_write(c->fd, payload, payload_bytes))) {
        fake_close(c);
    }
}

static void
fake_reply(struct fake *f, struct fake_conn *c, uint32_t type, uint32_t request, union wire_msg msg)
{
    fake_send(f, c, type, request, &msg, NULL, 0);
}

static void
fake_refuse(struct fake *f, struct fake_conn *c, uint32_t request, int code, bool closing)
{
    fake_reply(f,
               c,
               WIRE_ERROR,
               request,
               (union wire_msg){ .error = { .code = (uint32_t)code,
                                            .component = COMPONENT_MODEL,
                                            .path = slice_str("layer.weight"),
                                            .text = slice_str("the fake refuses"),
                                            .closing = closing } });
    if (closing) {
        fake_close(c);
    }
}

static void fake_bad(struct fake *f, struct fake_conn *c, const char *why)
{
    (void)fprintf(stderr, "fake: %s\n", why);
    f->bad++;
    fake_close(c);
}

/* ---- what is stored
 * ---------------------------------------------------------------------------------- */

static void fake_boundary_free(struct fake_boundary *b)
{
    if (b == NULL) {
        return;
    }
    for (size_t i = 0; i < b->frame_count; i++) {
        free(b->frames[i].message);
    }
    for (uint32_t i = 0; i < b->chunk_count; i++) {
        free(b->chunks[i]);
    }
    free(b->frames);
    free(b->chunks);
    free(b->chunk_bytes);
    bump_fini(&b->bump);
    free(b);
}

/* A deep copy: the message encoded again, decoded into memory that stays. */
static void fake_keep(struct fake *f, struct bump *bump, uint32_t type, union wire_msg *msg)
{
    struct err err = { 0 };
    f->out.bytes = 0;
    if (wire_encode(type, 1, msg, 0, &f->out, &err) < 0) {
        abort();
    }
    size_t bytes = f->out.bytes - FRAME_PREFIX_BYTES;
    uint8_t *copy = bump_alloc(bump, bytes + 1);
    memcpy(copy, f->out.data + FRAME_PREFIX_BYTES, bytes);
    if (wire_decode(type, slice_of(copy, bytes), bump, msg, &err) < 0) {
        abort();
    }
}

static struct fake_boundary *fake_newest(struct fake *f)
{
    for (uint64_t i = f->count; i > 0; i--) {
        if (!f->boundaries[i - 1]->removed) {
            return f->boundaries[i - 1];
        }
    }
    return NULL;
}

static struct fake_boundary *fake_by_id(struct fake *f, const uint8_t id[16])
{
    for (uint64_t i = 0; i < f->count; i++) {
        if (memcmp(f->boundaries[i]->row.save_id, id, 16) == 0) {
            return f->boundaries[i];
        }
    }
    return NULL;
}

static struct fake_boundary *fake_select(struct fake *f, struct slice selector)
{
    char text[64] = { 0 };
    unsigned long long seq = 0;
    memcpy(
        text, selector.bytes == 0 ? "" : selector.data, selector.bytes < 63 ? selector.bytes : 63);
    if (sscanf(text, "seq:%llu", &seq) == 1) {
        bool there = seq >= 1 && seq <= f->count && !f->boundaries[seq - 1]->removed;
        return there ? f->boundaries[seq - 1] : NULL;
    }
    return fake_newest(f);
}

/* ---- saving
 * ------------------------------------------------------------------------------------------- */

static void fake_begin(struct fake *f, struct fake_conn *c, uint32_t request, union wire_msg *msg)
{
    struct fake_boundary *known = fake_by_id(f, msg->begin.boundary.save_id);
    if (known != NULL) {
        if (memcmp(&known->row.root, &msg->begin.boundary.root, sizeof known->row.root) != 0) {
            fake_refuse(f, c, request, CAIRN_ECONFLICT, false);
            return;
        }
        enum save_state state = known->removed ? SAVE_PRUNED : SAVE_COMMITTED;
        fake_reply(f,
                   c,
                   WIRE_BEGUN,
                   request,
                   (union wire_msg){ .begun = { .state = state, .seq = known->row.seq } });
        return;
    }
    fake_boundary_free(c->upload);
    c->upload = calloc(1, sizeof *c->upload);
    c->upload_request = request;
    bump_init(&c->upload->bump, SIZE_MAX / 2);
    fake_keep(f, &c->upload->bump, WIRE_BEGIN, msg);
    c->upload->row = msg->begin.boundary;
    c->upload->chunks = calloc(c->upload->row.chunk_count + 1, sizeof *c->upload->chunks);
    c->upload->chunk_bytes = calloc(c->upload->row.chunk_count + 1, sizeof *c->upload->chunk_bytes);
    fake_reply(f, c, WIRE_BEGUN, request, (union wire_msg){ .begun = { .state = SAVE_RECEIVING } });
}

static void fake_store_frame(struct fake_boundary *b, uint32_t type, struct slice message)
{
    b->frames = realloc(b->frames, (b->frame_count + 1) * sizeof *b->frames);
    struct fake_frame *frame = &b->frames[b->frame_count++];
    *frame = (struct fake_frame){ type, malloc(message.bytes + 1), (uint32_t)message.bytes };
    memcpy(frame->message, message.data, message.bytes);
}

static void
fake_committed(struct fake *f, struct fake_conn *c, uint32_t request, const struct fake_boundary *b)
{
    fake_reply(
        f, c, WIRE_COMMITTED, request, (union wire_msg){ .committed = { .boundary = b->row } });
}

static void fake_seal(
    struct fake *f, struct fake_conn *c, uint32_t request, union wire_msg *msg, enum fake_act act)
{
    struct fake_boundary *b = c->upload;
    fake_keep(f, &b->bump, WIRE_SEAL, msg);
    if (b->chunk_count != b->row.chunk_count ||
        memcmp(&msg->seal.root, &b->row.root, sizeof b->row.root) != 0) {
        fake_bad(f, c, "SEAL of something else than was begun");
        return;
    }
    b->row.components = msg->seal.components;
    b->row.component_count = msg->seal.component_count;
    b->row.seq = f->count + 1;
    b->row.created_ns = 1;
    b->sealed = true;
    f->boundaries[f->count++] = b;
    c->upload = NULL;
    if (act == FAKE_CLOSE_AFTER) {
        fake_close(c);
    } else if (act == FAKE_HOLD) {
        c->held = b;
        c->held_request = request;
    } else {
        fake_committed(f, c, request, b);
    }
}

/* ---- loading
 * ------------------------------------------------------------------------------------------- */

static void
fake_find(struct fake *f, struct fake_conn *c, uint32_t request, const struct wire_find *find)
{
    struct boundary rows[FAKE_BOUNDARIES];
    union wire_msg msg = { .found = { .boundaries = rows } };
    if (find->by_save_id) {
        const struct fake_boundary *b = fake_by_id(f, find->save_id);
        bool held = b != NULL && c->held == b;
        msg.found.state = b == NULL ? SAVE_NONE : held ? SAVE_SEALED : SAVE_COMMITTED;
        msg.found.seq = b == NULL || held ? 0 : b->row.seq;
        fake_reply(f, c, WIRE_FOUND, request, msg);
        return;
    }
    const struct fake_boundary *b = fake_select(f, find->selector);
    if (b == NULL) {
        fake_refuse(f, c, request, CAIRN_ENOENT, false);
        return;
    }
    for (uint64_t seq = b->row.seq; seq > 0 && msg.found.count < find->max; seq--) {
        if (!f->boundaries[seq - 1]->removed) {
            rows[msg.found.count] = f->boundaries[seq - 1]->row;
            rows[msg.found.count++].components = NULL;
            rows[msg.found.count - 1].component_count = 0;
        }
    }
    fake_reply(f, c, WIRE_FOUND, request, msg);
}

/* A page as it was stored: the one that the question names. */
static void fake_page(struct fake *f,
                      struct fake_conn *c,
                      uint32_t request,
                      uint32_t type,
                      const union wire_msg *question)
{
    struct fake_boundary *b = c->pinned;
    union wire_msg msg = { 0 };
    struct err err = { 0 };
    for (size_t i = 0; b != NULL && i < b->frame_count; i++) {
        struct slice message = slice_of(b->frames[i].message, b->frames[i].bytes);
        struct bump bump;
        bump_init(&bump, SIZE_MAX / 2);
        bool right =
            b->frames[i].type == type && wire_decode(type, message, &bump, &msg, &err) == 0;
        right =
            right && (type == WIRE_CHUNKS ? msg.chunks.first == question->chunk_list.first
                                          : msg.entries.component == question->manifest.component &&
                                                msg.entries.page == question->manifest.page);
        if (right) {
            fake_reply(f, c, type, request, msg);
        }
        bump_fini(&bump);
        if (right) {
            return;
        }
    }
    fake_refuse(f, c, request, CAIRN_EINVAL, false);
}

static void fake_pump(struct fake *f, struct fake_conn *c)
{
    while (c->loading && c->load_credits > 0 && c->load_next < c->load_end) {
        uint32_t i = c->load_next++;
        c->load_credits--;
        uint8_t *copy = malloc(c->pinned->chunk_bytes[i]);
        memcpy(copy, c->pinned->chunks[i], c->pinned->chunk_bytes[i]);
        union wire_msg msg = { .data = { .chunk = i } };
        fake_send(f, c, WIRE_DATA, c->load_request, &msg, copy, c->pinned->chunk_bytes[i]);
        free(copy);
    }
    if (c->loading && c->load_next == c->load_end) {
        c->loading = false;
        fake_reply(f, c, WIRE_LOADED, c->load_request, (union wire_msg){ .loaded = { 0 } });
    }
}

static void
fake_load(struct fake *f, struct fake_conn *c, uint32_t request, const struct wire_load *load)
{
    if (c->pinned == NULL || c->loading || c->upload != NULL || c->held != NULL) {
        fake_bad(f, c, "LOAD out of order");
        return;
    }
    c->loading = true;
    c->load_request = request;
    c->load_next = load->first_chunk;
    c->load_end = load->first_chunk + load->chunk_count;
    c->load_credits = load->credits;
    fake_pump(f, c);
}

static void fake_describe(struct fake *f,
                          struct fake_conn *c,
                          uint32_t request,
                          const struct wire_describe *describe)
{
    struct fake_boundary *b = fake_select(f, describe->selector);
    if (c->loading) {
        fake_bad(f, c, "DESCRIBE during a load");
    } else if (b == NULL) {
        fake_refuse(f, c, request, CAIRN_ENOENT, false);
    } else {
        c->pinned = b;
        fake_reply(
            f, c, WIRE_DESCRIBED, request, (union wire_msg){ .described = { .boundary = b->row } });
    }
}

static void fake_abort(struct fake *f, struct fake_conn *c, uint32_t request)
{
    if (c->loading) {
        c->loading = false;
        fake_reply(
            f, c, WIRE_LOADED, c->load_request, (union wire_msg){ .loaded = { .aborted = true } });
        return;
    }
    fake_reply(f, c, WIRE_DONE, request, (union wire_msg){ 0 });
}

/* ---- dispatch
 * ------------------------------------------------------------------------------------------ */

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

static void fake_upload_part(struct fake *f,
                             struct fake_conn *c,
                             const struct frame *fr,
                             struct slice message,
                             uint8_t *payload,
                             union wire_msg *msg,
                             enum fake_act act)
{
    if (fr->request == c->ignored_request) {
        return;
    }
    if (c->upload == NULL || c->upload_request != fr->request) {
        fake_bad(f, c, "a part of no upload");
    } else if (fr->type == WIRE_SEAL) {
        fake_seal(f, c, fr->request, msg, act);
    } else if (fr->type != WIRE_DATA) {
        fake_store_frame(c->upload, fr->type, message);
    } else if (msg->data.chunk != c->upload->chunk_count) {
        fake_bad(f, c, "DATA out of order");
    } else {
        struct fake_boundary *b = c->upload;
        b->chunk_bytes[b->chunk_count] = (uint32_t)fr->payload_bytes;
        b->chunks[b->chunk_count] = malloc(fr->payload_bytes);
        memcpy(b->chunks[b->chunk_count++], payload, fr->payload_bytes);
    }
}

static void fake_dispatch(struct fake *f,
                          struct fake_conn *c,
                          const struct frame *fr,
                          struct slice message,
                          uint8_t *payload,
                          union wire_msg *msg,
                          enum fake_act act)
{
    union wire_msg none = { 0 };
    switch (fr->type) {
    case WIRE_HELLO:
        fake_reply(f,
                   c,
                   WIRE_WELCOME,
                   fr->request,
                   (union wire_msg){ .welcome = { .version = WIRE_VERSION_MAX,
                                                  .server = slice_str("fake"),
                                                  .chunk_bytes = LIMIT_CHUNK_BYTES,
                                                  .entries_per_page = LIMIT_ENTRIES_PER_PAGE,
                                                  .window_chunks = LIMIT_WINDOW_CHUNKS,
                                                  .idle_ms = 30000 } });
        break;
    case WIRE_RUN_OPEN:
        fake_reply(f,
                   c,
                   WIRE_RUN_INFO,
                   fr->request,
                   (union wire_msg){ .run_info = { .run = msg->run_open.run } });
        break;
    case WIRE_BEGIN:
        if (c->loading || c->held != NULL) {
            fake_bad(f, c, "BEGIN during another transfer");
        } else {
            fake_begin(f, c, fr->request, msg);
        }
        break;
    case WIRE_CHUNKS:
    case WIRE_ENTRIES:
    case WIRE_DATA:
    case WIRE_SEAL:
        fake_upload_part(f, c, fr, message, payload, msg, act);
        break;
    case WIRE_FIND:
        fake_find(f, c, fr->request, &msg->find);
        break;
    case WIRE_DESCRIBE:
        fake_describe(f, c, fr->request, &msg->describe);
        break;
    case WIRE_MANIFEST:
        fake_page(f, c, fr->request, WIRE_ENTRIES, msg);
        break;
    case WIRE_CHUNK_LIST:
        fake_page(f, c, fr->request, WIRE_CHUNKS, msg);
        break;
    case WIRE_LOAD:
        fake_load(f, c, fr->request, &msg->load);
        break;
    case WIRE_RELEASE:
        c->load_credits += msg->release.credits;
        fake_pump(f, c);
        break;
    case WIRE_ABORT:
        fake_abort(f, c, fr->request);
        break;
    case WIRE_CLOSE:
        c->pinned = NULL;
        fake_reply(f, c, WIRE_DONE, fr->request, none);
        break;
    default:
        fake_bad(f, c, "a frame that it does not know");
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

static void fake_frame(struct fake *f, struct fake_conn *c)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    struct frame fr;
    struct err err = { 0 };
    union wire_msg msg;
    if (!fake_read(c->fd, prefix, sizeof prefix)) {
        fake_boundary_free(c->upload);
        fake_close(c);
        return;
    }
    if (frame_decode(prefix, &fr, &err) < 0) {
        fake_bad(f, c, err.msg);
        return;
    }
    uint8_t *message = malloc(fr.message_bytes + 1);
    uint8_t *payload = malloc(fr.payload_bytes + 1);
    bool whole =
        fake_read(c->fd, message, fr.message_bytes) && fake_read(c->fd, payload, fr.payload_bytes);
    bump_reset(&f->bump);
    if (!whole) {
        fake_boundary_free(c->upload);
        fake_close(c);
    } else if (wire_decode(fr.type, slice_of(message, fr.message_bytes), &f->bump, &msg, &err) <
               0) {
        fake_bad(f, c, err.msg);
    } else {
        unsigned nth = ++f->seen[fr.type];
        const struct fake_fault *fault = fake_fault_of(f, fr.type, nth);
        if (fault == NULL || !fake_misbehave(f, c, &fr, fault)) {
            fake_dispatch(f,
                          c,
                          &fr,
                          slice_of(message, fr.message_bytes),
                          payload,
                          &msg,
                          fault == NULL ? FAKE_NOTHING : fault->act);
        }
    }
    free(message);
    free(payload);
}

/* ---- the thread
 * ----------------------------------------------------------------------------------------- */

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

static void fake_release_held(struct fake *f)
{
    for (int i = 0; i < FAKE_CONNS; i++) {
        struct fake_conn *c = &f->conns[i];
        if (c->fd >= 0 && c->held != NULL) {
            struct fake_boundary *b = c->held;
            c->held = NULL;
            if (f->held_code != 0) {
                fake_refuse(f, c, c->held_request, f->held_code, false);
            } else {
                fake_committed(f, c, c->held_request, b);
            }
        }
    }
    uint64_t one = 1;
    (void)!write(f->released_fd, &one, sizeof one);
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
        if (fds[0].revents != 0) {
            uint64_t word = 0;
            (void)!read(f->wake_fd, &word, sizeof word);
            if (!atomic_load(&f->release)) {
                return NULL;
            }
            atomic_store(&f->release, false);
            fake_release_held(f);
        }
        if (fds[1].revents != 0) {
            fake_accept(f);
        }
        for (int i = 0; i < FAKE_CONNS; i++) {
            if (fds[i + 2].revents != 0 && f->conns[i].fd == fds[i + 2].fd) {
                fake_frame(f, &f->conns[i]);
            }
        }
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
