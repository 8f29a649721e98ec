/* fake_serve.c: frames of the fake daemon, what it has stored, and how it answers. */
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
#include "record/finite.h"

/* ---- frames ---- */

bool fake_read(int fd, void *dst, size_t bytes)
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

bool fake_write(int fd, const void *src, size_t bytes)
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

void fake_close(struct fake_conn *c)
{
    if (c->fd >= 0) {
        (void)close(c->fd);
    }
    *c = (struct fake_conn){ .fd = -1 };
}

static void fake_send(struct fake *f,
                      struct fake_conn *c,
                      const struct frame *fr,
                      union wire_msg *msg,
                      uint8_t *payload)
{
    struct err err = { 0 };
    if (f->mangle != NULL) {
        f->mangle(f, fr->type, msg, payload);
    }
    f->out.bytes = 0;
    if (wire_encode(fr->type, fr->request, msg, fr->payload_bytes, &f->out, &err) < 0 ||
        !fake_write(c->fd, f->out.data, f->out.bytes) ||
        !fake_write(c->fd, payload, fr->payload_bytes)) {
        fake_close(c);
    }
}

void fake_reply(
    struct fake *f, struct fake_conn *c, uint32_t type, uint32_t request, union wire_msg msg)
{
    struct frame fr = { .type = (uint16_t)type, .request = request };
    fake_send(f, c, &fr, &msg, NULL);
}

void fake_refuse(struct fake *f, struct fake_conn *c, uint32_t request, int code, bool closing)
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

void fake_bad(struct fake *f, struct fake_conn *c, const char *why)
{
    (void)fprintf(stderr, "fake: %s\n", why);
    f->bad++;
    fake_close(c);
}

/* ---- what is stored ---- */

void fake_boundary_free(struct fake_boundary *b)
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
    memcpy(
        text, selector.bytes == 0 ? "" : selector.data, selector.bytes < 63 ? selector.bytes : 63);
    if (strncmp(text, "seq:", 4) == 0) {
        uint64_t seq = strtoull(text + 4, NULL, 10);
        bool there = seq >= 1 && seq <= f->count && !f->boundaries[seq - 1]->removed;
        return there ? f->boundaries[seq - 1] : NULL;
    }
    return fake_newest(f);
}

/* ---- saving ---- */

void fake_begin(struct fake *f, struct fake_conn *c, uint32_t request, union wire_msg *msg)
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

void fake_store_frame(struct fake_boundary *b, uint32_t type, struct slice message)
{
    b->frames = realloc(b->frames, (b->frame_count + 1) * sizeof *b->frames);
    struct fake_frame *frame = &b->frames[b->frame_count++];
    *frame = (struct fake_frame){ type, malloc(message.bytes + 1), (uint32_t)message.bytes };
    memcpy(frame->message, message.data, message.bytes);
}

void fake_committed(struct fake *f,
                    struct fake_conn *c,
                    uint32_t request,
                    const struct fake_boundary *b)
{
    fake_reply(
        f, c, WIRE_COMMITTED, request, (union wire_msg){ .committed = { .boundary = b->row } });
}

/* What a daemon says of NaN and Inf, out of the entries. */
static void fake_count(struct fake_boundary *b)
{
    for (size_t i = 0; i < b->frame_count; i++) {
        union wire_msg msg;
        struct err err = { 0 };
        struct slice message = slice_of(b->frames[i].message, b->frames[i].bytes);
        if (b->frames[i].type != WIRE_ENTRIES) {
            continue;
        }
        if (wire_decode(WIRE_ENTRIES, message, &b->bump, &msg, &err) < 0) {
            abort();
        }
        for (uint32_t at = 0; at < msg.entries.count; at++) {
            const struct entry *e = &msg.entries.entries[at];
            nonfinite_sum(&b->row.nonfinite, &e->nonfinite);
            b->row.not_finite = b->row.not_finite || finite_spoils(msg.entries.component, e);
        }
    }
}

void fake_seal(
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
    fake_count(b);
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

/* ---- loading ---- */

void fake_find(struct fake *f, struct fake_conn *c, uint32_t request, const struct wire_find *find)
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
void fake_page(struct fake *f,
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
        if (right && type == WIRE_CHUNKS) {
            fake_say_places(f, question->chunk_list.arena, &bump, &msg.chunks);
        }
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

void fake_pump(struct fake *f, struct fake_conn *c)
{
    while (c->loading && c->load_credits > 0 && c->load_next < c->load_end) {
        uint32_t i = c->load_next++;
        c->load_credits--;
        uint8_t *copy = malloc(c->pinned->chunk_bytes[i]);
        memcpy(copy, c->pinned->chunks[i], c->pinned->chunk_bytes[i]);
        union wire_msg msg = { .data = { .chunk = i } };
        struct frame fr = { .type = WIRE_DATA,
                            .request = c->load_request,
                            .payload_bytes = c->pinned->chunk_bytes[i] };
        fake_send(f, c, &fr, &msg, copy);
        free(copy);
    }
    if (c->loading && c->load_next == c->load_end) {
        c->loading = false;
        fake_reply(f, c, WIRE_LOADED, c->load_request, (union wire_msg){ .loaded = { 0 } });
    }
}

void fake_load(struct fake *f, struct fake_conn *c, uint32_t request, const struct wire_load *load)
{
    if (c->pinned == NULL || c->loading || c->upload != NULL || c->held != NULL) {
        fake_bad(f, c, "LOAD out of order");
        return;
    }
    atomic_fetch_add(&f->asked_chunks, load->chunk_count);
    c->loading = true;
    c->load_request = request;
    c->load_next = load->first_chunk;
    c->load_end = load->first_chunk + load->chunk_count;
    c->load_credits = load->credits;
    fake_pump(f, c);
}

void fake_describe(struct fake *f,
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
        bool resident = describe->pin && f->resident != FAKE_RESIDENT_NONE;
        fake_reply(f,
                   c,
                   WIRE_DESCRIBED,
                   request,
                   (union wire_msg){ .described = { .boundary = b->row, .resident = resident } });
    }
}

void fake_abort(struct fake *f, struct fake_conn *c, uint32_t request)
{
    if (c->loading) {
        c->loading = false;
        fake_reply(
            f, c, WIRE_LOADED, c->load_request, (union wire_msg){ .loaded = { .aborted = true } });
        return;
    }
    fake_reply(f, c, WIRE_DONE, request, (union wire_msg){ 0 });
}
