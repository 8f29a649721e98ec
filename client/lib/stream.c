/* stream.c: payload of the pinned boundary, chunk by chunk, through a window of buffers. */
#include "lib/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "internal/fault.h"
#include "lib/call.h"
#include "lib/pending.h"
#include "record/digest.h"

#define STREAM_HUGE_BYTES (2u << 20)
/* Reads in a row before the whole rest is asked for at once. */
#define STREAM_AHEAD_MOST 256u

void stream_dropped(struct stream *s)
{
    s->active = false;
    s->owed = 0;
}

void stream_forget(struct stream *s)
{
    for (uint32_t i = 0; i < LIMIT_WINDOW_CHUNKS; i++) {
        free(s->bufs[i].data);
    }
    *s = (struct stream){ 0 };
}

/* ---- the window ---- */

static struct stream_buf *stream_find(struct stream *s, uint32_t chunk)
{
    for (uint32_t i = 0; i < LIMIT_WINDOW_CHUNKS; i++) {
        if (s->bufs[i].valid && s->bufs[i].chunk == chunk) {
            s->bufs[i].used_at = ++s->clock;
            return &s->bufs[i];
        }
    }
    return NULL;
}

static bool stream_better(const struct stream_buf *a, const struct stream_buf *b)
{
    bool a_free = !a->valid || a->consumed;
    bool b_free = !b->valid || b->consumed;
    if (a_free != b_free) {
        return a_free;
    }
    return a->used_at < b->used_at;
}

static bool stream_allocate(struct stream_buf *buf)
{
    buf->data = aligned_alloc(STREAM_HUGE_BYTES, LIMIT_CHUNK_BYTES);
    if (buf->data != NULL) {
        (void)madvise(buf->data, LIMIT_CHUNK_BYTES, MADV_HUGEPAGE); /* cheaper to touch first */
    }
    return buf->data != NULL;
}

/* A buffer to receive into: one that was read to its end, else a new one, else the one that was not
 * used for longest. NULL: no memory. */
static struct stream_buf *stream_take_buf(struct stream *s)
{
    struct stream_buf *best = NULL;
    struct stream_buf *unborn = NULL;
    for (uint32_t i = 0; i < LIMIT_WINDOW_CHUNKS; i++) {
        struct stream_buf *buf = &s->bufs[i];
        if (buf->data == NULL) {
            unborn = unborn == NULL ? buf : unborn;
        } else if (best == NULL || stream_better(buf, best)) {
            best = buf;
        }
    }
    bool best_free = best != NULL && (!best->valid || best->consumed);
    if (!best_free && unborn != NULL && stream_allocate(unborn)) {
        best = unborn;
    }
    if (best != NULL) {
        best->valid = false;
        best->consumed = false;
    }
    return best;
}

/* ---- ending a stream ---- */

enum stream_left { STREAM_MORE, STREAM_ABORTED, STREAM_CROSSED };

/* One more frame of a stream that nobody wants any more. An ERROR ends it as LOADED does. */
static int stream_discard(struct cairn *c, enum stream_left *ret)
{
    struct stream *s = &c->stream;
    struct cl_answer a;
    int rc = cl_receive(c, s->request, &a);
    if (rc < 0 || a.frame.type == WIRE_LOADED) {
        *ret = rc == 0 && a.msg.loaded.aborted ? STREAM_ABORTED : STREAM_CROSSED;
        return c->fd >= 0 ? 0 : rc;
    }
    if (a.frame.type != WIRE_DATA) {
        return cl_unexpected(c, &a.frame, "the end of a load");
    }
    struct stream_buf *buf = stream_take_buf(s);
    if (buf == NULL) {
        cl_drop(c); /* no memory to read it away: the next call connects again */
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory for a chunk");
    }
    return cl_payload(c, buf->data, a.frame.payload_bytes);
}

/* ABORT is answered by the end of the stream; when it crossed that end, by a DONE too. */
int stream_stop(struct cairn *c)
{
    struct stream *s = &c->stream;
    struct cl_answer a;
    union wire_msg none = { 0 };
    enum stream_left left = STREAM_MORE;
    if (!s->active) {
        return 0;
    }
    s->active = false;
    int rc = cl_send(c, WIRE_ABORT, s->request, &none);
    while (rc == 0 && left == STREAM_MORE) {
        rc = stream_discard(c, &left);
    }
    return rc < 0 || left == STREAM_ABORTED ? rc : cl_receive_type(c, s->request, WIRE_DONE, &a);
}

/* ---- beginning one ---- */

/* The boundary that this record is of, pinned on this connection. */
static int stream_pin(struct cairn *c, struct cairn_record *r)
{
    char selector[32];
    union wire_msg answer;
    if (c->pinned == r) {
        return 0;
    }
    (void)snprintf(selector, sizeof selector, "seq:%llu", (unsigned long long)r->boundary.seq);
    union wire_msg msg = {
        .describe = { .run = slice_str(c->run), .selector = slice_str(selector), .pin = true }
    };
    int rc = cl_ask_once(c, WIRE_DESCRIBE, &msg, WIRE_DESCRIBED, &answer);
    if (rc == -CAIRN_ENOENT) {
        return err_set(&c->err,
                       -CAIRN_EPRUNED,
                       "run '%s' seq %llu was removed while it was read",
                       c->run,
                       (unsigned long long)r->boundary.seq);
    }
    if (rc < 0) {
        return rc;
    }
    c->pinned = r;
    c->unpin = false;
    if (!digest_equal(&answer.described.boundary.root, &r->boundary.root)) {
        return err_set(&c->err,
                       -CAIRN_ECORRUPT,
                       "run '%s' seq %llu is another boundary than the one that was loaded",
                       c->run,
                       (unsigned long long)r->boundary.seq);
    }
    return 0;
}

/* How many chunks to ask for: all that follow for who reads in order, else what is needed, doubled
 * with every read that goes on where the last one ended. */
static uint32_t stream_span(struct stream *s, uint32_t index, uint32_t needed, uint32_t rest)
{
    if (index == 0 || (index == s->end && s->ahead >= STREAM_AHEAD_MOST)) {
        s->ahead = UINT32_MAX;
    } else if (index == s->end && s->ahead > 0) {
        s->ahead = s->ahead > STREAM_AHEAD_MOST ? s->ahead : s->ahead * 2;
    } else if (!s->resumed) {
        s->ahead = needed;
    }
    uint32_t span = s->ahead > needed ? s->ahead : needed;
    s->resumed = false;
    return span < rest ? span : rest;
}

static int stream_start(struct cairn *c, struct cairn_record *r, uint32_t index, uint32_t needed)
{
    struct stream *s = &c->stream;
    int rc = cl_ready(c);
    while (rc == 0 && c->flight != NULL) {
        rc = cl_receive_flight(c); /* one transfer at a time on a connection */
        rc = rc == 0 ? cl_ready(c) : rc;
    }
    if (rc == 0) {
        rc = stream_pin(c, r);
    }
    if (rc < 0) {
        return rc;
    }
    uint32_t span = stream_span(s, index, needed, r->boundary.chunk_count - index);
    union wire_msg msg = {
        .load = { .first_chunk = index, .chunk_count = span, .credits = LIMIT_WINDOW_CHUNKS }
    };
    s->request = cl_next_request(c);
    rc = cl_send(c, WIRE_LOAD, s->request, &msg);
    if (rc == 0) {
        s->active = true;
        s->next = index;
        s->end = index + span;
        s->owed = 0;
    }
    return rc;
}

/* ---- receiving ---- */

/* Give credits back, some at a time: the daemon reads ahead with the others meanwhile. */
static int stream_release(struct cairn *c)
{
    struct stream *s = &c->stream;
    if (++s->owed < LIMIT_WINDOW_CHUNKS / 4 || s->next == s->end) {
        return 0;
    }
    union wire_msg msg = { .release = { .credits = s->owed } };
    s->owed = 0;
    return cl_send(c, WIRE_RELEASE, s->request, &msg);
}

static int stream_corrupt(struct cairn *c,
                          const struct cairn_record *r,
                          const struct entry *e,
                          const char *what)
{
    enum component component = r->chunks[e->first_chunk].component;
    (void)err_set(&c->err,
                  -CAIRN_ECORRUPT,
                  "run '%s' seq %llu: %s '%.*s': %s does not match its digest",
                  c->run,
                  (unsigned long long)r->boundary.seq,
                  component_name(component),
                  cl_shown(e->path),
                  (const char *)e->path.data,
                  what);
    return err_at(&c->err, component, e->path.data, e->path.bytes);
}

/* The entry whose bytes in a damaged chunk are not its own: the reader may have asked for another
 * in the same chunk. NULL: none, it is the bytes between them. */
static const struct entry *
stream_hit(const struct cairn_record *r, uint32_t index, const uint8_t *chunk)
{
    const struct cairn_reader *reader = &r->components[r->chunks[index].component];
    for (uint64_t i = 0; i < reader->count; i++) {
        const struct entry *e = &reader->entries[i];
        if (e->value.bytes == e->bytes || e->first_chunk != index) {
            continue;
        }
        struct digest digest = digest_bytes(chunk + e->offset_bytes, e->bytes);
        if (!digest_equal(&digest, &e->digest)) {
            return e;
        }
    }
    return NULL;
}

/* The next chunk of the stream, into the window. One that is damaged is not valid there. */
static int stream_receive(struct cairn *c, const struct cairn_record *r, struct stream_buf **ret)
{
    struct stream *s = &c->stream;
    const struct chunk *chunk = &r->chunks[s->next];
    struct cl_answer a;
    int rc = cl_receive_type(c, s->request, WIRE_DATA, &a);
    if (rc < 0) {
        s->active = false;
        return rc;
    }
    if (a.msg.data.chunk != s->next || a.frame.payload_bytes != chunk->bytes) {
        return cl_unexpected(c, &a.frame, "a load");
    }
    struct stream_buf *buf = stream_take_buf(s);
    if (buf == NULL) {
        cl_drop(c);
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory for a chunk");
    }
    rc = cl_payload(c, buf->data, chunk->bytes);
    if (rc < 0) {
        return rc;
    }
    struct digest digest = digest_bytes(buf->data, chunk->bytes);
    buf->chunk = s->next++;
    buf->valid = digest_equal(&digest, &chunk->digest);
    buf->used_at = ++s->clock;
    *ret = buf;
    rc = stream_release(c);
    if (rc == 0 && s->next == s->end) {
        s->active = false;
        rc = cl_receive_type(c, s->request, WIRE_LOADED, &a);
    }
    return rc;
}

/* The chunk in the window, from there or from the daemon. Not valid: it came damaged. */
static int stream_chunk(struct cairn *c,
                        struct cairn_record *r,
                        uint32_t index,
                        uint32_t needed,
                        struct stream_buf **ret)
{
    struct stream *s = &c->stream;
    int rc = 0;
    *ret = stream_find(s, index);
    if (*ret != NULL) {
        return 0;
    }
    fault_point("restore");
    if (!s->active || index < s->next || index >= s->end ||
        index - s->next >= LIMIT_WINDOW_CHUNKS) {
        rc = stream_start(c, r, index, needed);
    }
    while (rc == 0 && s->next <= index) {
        rc = stream_receive(c, r, ret);
    }
    return rc;
}

static int stream_chunk_again(struct cairn *c,
                              struct cairn_record *r,
                              uint32_t index,
                              uint32_t needed,
                              struct stream_buf **ret)
{
    int rc = 0;
    do {
        rc = stream_chunk(c, r, index, needed, ret);
        c->stream.resumed = rc < 0; /* go on as before on the next connection */
    } while (rc < 0 && cl_again(c));
    return rc;
}

/* ---- entries ---- */

static int
stream_read_own(struct cairn *c, struct cairn_record *r, const struct entry *e, uint8_t *dst)
{
    uint32_t count = (uint32_t)((e->bytes + LIMIT_CHUNK_BYTES - 1) / LIMIT_CHUNK_BYTES);
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        struct stream_buf *buf = NULL;
        uint32_t index = e->first_chunk + i;
        rc = stream_chunk_again(c, r, index, count - i, &buf);
        if (rc == 0 && !buf->valid) {
            rc = stream_corrupt(c, r, e, "a chunk of it");
        }
        if (rc == 0) {
            memcpy(dst, buf->data, r->chunks[index].bytes);
            dst += r->chunks[index].bytes;
            buf->consumed = true;
        }
    }
    return rc;
}

static int
stream_read_packed(struct cairn *c, struct cairn_record *r, const struct entry *e, void *dst)
{
    struct stream_buf *buf = NULL;
    int rc = stream_chunk_again(c, r, e->first_chunk, 1, &buf);
    if (rc < 0) {
        return rc;
    }
    if (!buf->valid) {
        const struct entry *hit = stream_hit(r, e->first_chunk, buf->data);
        return hit == NULL ? stream_corrupt(c, r, e, "the chunk that holds it")
                           : stream_corrupt(c, r, hit, "what its chunk holds of it");
    }
    const uint8_t *from = buf->data + e->offset_bytes;
    struct digest digest = digest_bytes(from, e->bytes);
    if (!digest_equal(&digest, &e->digest)) {
        return stream_corrupt(c, r, e, "what the chunk holds of it");
    }
    memcpy(dst, from, e->bytes);
    buf->consumed = e->offset_bytes + e->bytes == r->chunks[e->first_chunk].bytes;
    return 0;
}

int stream_read(struct cairn *c, struct cairn_record *r, const struct entry *e, void *dst)
{
    if (c->stream.record != r) {
        int rc = stream_stop(c);
        stream_forget(&c->stream);
        c->stream.record = r;
        if (rc < 0 && !c->lost) {
            return rc;
        }
        c->lost = false;
    }
    return e->bytes >= LIMIT_OWN_CHUNK_BYTES ? stream_read_own(c, r, e, dst)
                                             : stream_read_packed(c, r, e, dst);
}
