/* stream.c: payload of the pinned boundary, chunk by chunk.
 *
 * A chunk comes as DATA, or lies in the ring when FILLED comes, or lies in the memory that it was
 * saved from (resident.h). It is copied once, to where the caller wants it or into a buffer for
 * later, and hashed on the way. */
#include "lib/stream.h"

#include <stdio.h>

#include "internal/fault.h"
#include "lib/call.h"
#include "lib/pending.h"
#include "record/digest.h"

/* Reads in a row before the whole rest is asked for at once. */
#define STREAM_AHEAD_MOST 256u

void stream_dropped(struct stream *s)
{
    s->active = false;
    s->owed = 0;
}

void stream_forget(struct stream *s)
{
    chunk_forget(&s->bufs);
    *s = (struct stream){ 0 };
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
    if (a.frame.type == WIRE_FILLED && s->in_ring) {
        return 0;
    }
    if (a.frame.type != WIRE_DATA) {
        return cl_unexpected(c, &a.frame, "the end of a load");
    }
    struct chunk_buf *buf = chunk_take(&s->bufs);
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

/* How many chunks to ask for: what will be read, if that is known; all that follow for who reads in
 * order, else what is needed, doubled with every read that goes on where the last one ended. */
static uint32_t stream_span(struct cairn *c, uint32_t index, uint32_t needed, uint32_t rest)
{
    struct stream *s = &c->stream;
    if (c->plan.until > index) {
        return c->plan.until - index;
    }
    if ((index == 0 && c->plan.all) || (index == s->end && s->ahead >= STREAM_AHEAD_MOST)) {
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
    uint32_t span = stream_span(c, index, needed, r->boundary.chunk_count - index);
    rc = ring_open(c, span);
    if (rc < 0) {
        return rc;
    }
    s->in_ring = c->ring.base != NULL;
    s->credits = s->in_ring ? c->ring.slots : LIMIT_WINDOW_CHUNKS;
    union wire_msg msg = { .load = { .first_chunk = index,
                                     .chunk_count = span,
                                     .credits = s->credits,
                                     .arena = s->in_ring ? c->ring.arena : 0 } };
    s->request = cl_next_request(c);
    rc = cl_send(c, WIRE_LOAD, s->request, &msg);
    if (rc == 0) {
        s->active = true;
        s->first = index;
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
    if (++s->owed < s->credits / 4 || s->next == s->end) {
        return 0;
    }
    union wire_msg msg = { .release = { .credits = s->owed } };
    s->owed = 0;
    return cl_send(c, WIRE_RELEASE, s->request, &msg);
}

/* The bytes of the chunk that comes next, to dst. */
static int stream_take(struct cairn *c, uint8_t *dst, uint32_t bytes, struct digest *ret)
{
    struct stream *s = &c->stream;
    if (!s->in_ring) {
        int rc = cl_payload(c, dst, bytes);
        if (rc == 0) {
            *ret = digest_bytes(dst, bytes);
        }
        return rc;
    }
    *ret = ring_take(&c->ring, (s->next - s->first) % s->credits, dst, bytes);
    return 0;
}

/* The frame that the next chunk comes with, or in. */
static int stream_frame(struct cairn *c, const struct chunk *chunk)
{
    struct stream *s = &c->stream;
    struct cl_answer a;
    int rc = cl_receive_type(c, s->request, s->in_ring ? WIRE_FILLED : WIRE_DATA, &a);
    if (rc < 0) {
        s->active = false;
        return rc;
    }
    bool right = s->in_ring ? a.msg.filled.chunk == s->next
                            : a.msg.data.chunk == s->next && a.frame.payload_bytes == chunk->bytes;
    return right ? 0 : cl_unexpected(c, &a.frame, "a load");
}

static int stream_end(struct cairn *c)
{
    struct cl_answer a;
    c->stream.active = false;
    return cl_receive_type(c, c->stream.request, WIRE_LOADED, &a);
}

/* The next chunk of the stream, to dst; NULL: into a buffer. */
static int stream_receive(struct cairn *c,
                          const struct cairn_record *r,
                          uint8_t *dst,
                          struct stream_chunk *ret)
{
    struct stream *s = &c->stream;
    const struct chunk *chunk = &r->chunks[s->next];
    struct digest digest;
    int rc = stream_frame(c, chunk);
    if (rc < 0) {
        return rc;
    }
    ret->buf = dst == NULL ? chunk_take(&s->bufs) : NULL;
    ret->data = dst == NULL && ret->buf != NULL ? ret->buf->data : dst;
    if (ret->data == NULL) {
        cl_drop(c);
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory for a chunk");
    }
    rc = stream_take(c, ret->data, chunk->bytes, &digest);
    if (rc < 0) {
        return rc;
    }
    ret->valid = digest_equal(&digest, &chunk->digest);
    if (ret->buf != NULL) {
        chunk_put(&s->bufs, ret->buf, s->next, ret->valid);
    }
    s->next++;
    rc = stream_release(c);
    return rc == 0 && s->next == s->end ? stream_end(c) : rc;
}

/* Can the stream under way come to this chunk soon? */
static bool stream_comes_to(const struct stream *s, uint32_t index)
{
    return s->active && index >= s->next && index < s->end && index - s->next < LIMIT_WINDOW_CHUNKS;
}

static int stream_chunk_once(struct cairn *c,
                             struct cairn_record *r,
                             uint32_t index,
                             uint32_t needed,
                             uint8_t *dst,
                             struct stream_chunk *ret)
{
    struct stream *s = &c->stream;
    int rc = 0;
    fault_point("restore");
    if (!stream_comes_to(s, index)) {
        rc = stream_start(c, r, index, needed);
    }
    while (rc == 0 && s->next < index) {
        rc = stream_receive(c, r, NULL, ret);
    }
    return rc < 0 ? rc : stream_receive(c, r, dst, ret);
}

/* Out of memory that the daemon has kept. False: from the disk. */
static bool stream_from_memory(
    struct cairn *c, struct cairn_record *r, uint32_t index, uint8_t *dst, struct stream_chunk *ret)
{
    struct chunk_bufs *bufs = &c->stream.bufs;
    struct chunk_buf *buf = r->resident && dst == NULL ? chunk_take(bufs) : NULL;
    uint8_t *to = buf != NULL ? buf->data : dst;
    if (!r->resident || to == NULL || !resident_take(c, r, index, to)) {
        return false;
    }
    if (buf != NULL) {
        chunk_put(bufs, buf, index, true);
    }
    *ret = (struct stream_chunk){ .buf = buf, .data = to, .valid = true };
    return true;
}

int stream_chunk(struct cairn *c,
                 struct cairn_record *r,
                 uint32_t index,
                 uint32_t needed,
                 uint8_t *dst,
                 struct stream_chunk *ret)
{
    int rc = 0;
    struct chunk_buf *buf = chunk_find(&c->stream.bufs, index);
    if (buf != NULL && dst != NULL) {
        memcpy(dst, buf->data, r->chunks[index].bytes);
        buf->consumed = true;
    }
    if (buf != NULL) {
        *ret = (struct stream_chunk){ .buf = buf, .data = buf->data, .valid = true };
        return 0;
    }
    if (stream_from_memory(c, r, index, dst, ret)) {
        return 0;
    }
    do {
        rc = stream_chunk_once(c, r, index, needed, dst, ret);
        c->stream.resumed = rc < 0; /* go on as before on the next connection */
    } while (rc < 0 && cl_again(c));
    return rc;
}
