/* upload_data.c: what streams into an upload: chunk descriptors, manifest pages, payload.
 *
 * A chunk is received into a buffer of the pool, or lies in the client's arena. It is written by
 * the run's writer, then digested by the helper behind it, and only then given back: what is stored
 * is what was hashed. In an arena its bytes may change between the two; that is damage, and
 * refused. A chunk that the run holds already, by its digest, is neither written nor looked at:
 * what the client's digest names is what is there. */
#include <inttypes.h>
#include <stdlib.h>

#include "internal/ckd.h"
#include "ops/ops_int.h"

/* Chunks of an arena that the writer has before it: enough that the disk never waits for the loop.
 */
enum { UPLOAD_WRITING = 4 };

struct chunk_job {
    struct job job;
    struct upload *upload;
    struct buf *buf; /* NULL: it lies in the arena */
    const uint8_t *data;
    uint32_t index;
    struct chunk chunk; /* as announced; the manifest's may move while more are */
    struct digest digest;
    bool padded; /* with zeros, to whole pages */
    bool shared; /* the run holds it already: what lies here is not looked at */
    int rc;
    struct err err;
};

struct upload *upload_of(struct session *s, const struct frame_in *in, const char *what)
{
    struct upload *u = s->upload;
    struct err err = { 0 };
    if (u == NULL || u->state != UPLOAD_RECEIVING || u->request != in->frame->request) {
        (void)err_set(&err, -CAIRN_EPROTO, "%s outside of an upload", what);
        buf_give(in->buf);
        session_fail(s, in->frame->request, &err);
        return NULL;
    }
    upload_arrived(u, in->frame);
    return u;
}

void upload_refuse(struct upload *u, struct err *err)
{
    (void)err_wrap(err, err->code, "run '%s'", u->name.name);
    upload_fail(u, err);
}

static uint64_t chunk_padded_bytes(uint32_t bytes)
{
    return round_up_u64(bytes, LIMIT_PAGE_BYTES);
}

/* Where the chunks lie, each on a page: the manifest has checked their numbers. */
static int upload_take_offsets(struct upload *u, const struct wire_chunks *c, struct err *err)
{
    if ((c->offsets != NULL) != (u->arena != NULL)) {
        return err_set(err,
                       -CAIRN_EPROTO,
                       "CHUNKS %s offsets in a save %s an arena",
                       c->offsets != NULL ? "with" : "without",
                       u->arena != NULL ? "from" : "without");
    }
    for (uint32_t i = 0; c->offsets != NULL && i < c->count; i++) {
        if (c->offsets[i] % LIMIT_PAGE_BYTES != 0 ||
            !arena_has(u->arena->arena, c->offsets[i], chunk_padded_bytes(c->chunks[i].bytes))) {
            return err_set(err,
                           -CAIRN_EPROTO,
                           "CHUNKS: chunk %" PRIu32 " at %" PRIu64
                           " is not on a page inside of its arena of %" PRIu64 " bytes",
                           c->first + i,
                           c->offsets[i],
                           arena_bytes(u->arena->arena));
        }
        u->chunk_offsets[c->first + i] = c->offsets[i];
    }
    return 0;
}

void op_chunks(struct session *s, const struct frame_in *in)
{
    const struct wire_chunks *c = &in->msg->chunks;
    struct upload *u = upload_of(s, in, "CHUNKS");
    struct err err = { 0 };
    if (u != NULL && (st_manifest_chunks(u->manifest, c->first, c->chunks, c->count, &err) < 0 ||
                      upload_take_offsets(u, c, &err) < 0 || upload_check_staged(u, &err) < 0)) {
        upload_refuse(u, &err);
    }
}

void op_entries(struct session *s, const struct frame_in *in)
{
    struct upload *u = upload_of(s, in, "ENTRIES");
    struct err err = { 0 };
    if (u != NULL && (st_manifest_entries(u->manifest, &in->msg->entries, &err) < 0 ||
                      upload_check_staged(u, &err) < 0)) {
        upload_refuse(u, &err);
    }
}

/* With zeros: a buffer is by us, an arena by its client. */
static bool chunk_is_padded(const struct chunk_job *c)
{
    for (uint64_t i = c->chunk.bytes; i < chunk_padded_bytes(c->chunk.bytes); i++) {
        if (c->data[i] != 0) {
            return false;
        }
    }
    return true;
}

static void chunk_digest_work(struct job *job)
{
    struct chunk_job *c = (struct chunk_job *)job;
    if (!atomic_load(&c->upload->cancelled)) {
        c->digest = digest_bytes(c->data, c->chunk.bytes);
        c->padded = chunk_is_padded(c);
    }
}

/* Digested, or shared. */
static void chunk_digest_done(struct job *job)
{
    struct chunk_job *c = (struct chunk_job *)job;
    struct upload *u = c->upload;
    struct err err = { 0 };
    bool equal = c->shared || (c->padded && digest_equal(&c->digest, &c->chunk.digest));
    const char *why = c->buf == NULL ? "it was changed in the arena after its capture"
                                     : "it was damaged on its way";
    uint32_t component = c->chunk.component;
    buf_give(c->buf);
    uint32_t index = c->index;
    free(c);
    u->jobs--;
    if (u->state == UPLOAD_FAILED) {
        upload_job_ended(u);
        return;
    }
    upload_clock(u);
    if (!equal) {
        (void)err_set(&err,
                      -CAIRN_ECORRUPT,
                      "chunk %" PRIu32 " (%s) does not match its digest: %s, save again",
                      index,
                      component_name(component),
                      why);
        (void)err_at(&err, component, NULL, 0);
        upload_refuse(u, &err);
        return;
    }
    u->digested_chunks++;
    run_kick(u->run);
}

static void chunk_write(struct chunk_job *c)
{
    struct upload *u = c->upload;
    uint64_t bytes = chunk_padded_bytes(c->chunk.bytes);
    if (c->buf != NULL) {
        memset(c->buf->data + c->chunk.bytes, 0, bytes - c->chunk.bytes);
    } else {
        c->rc = arena_check(u->arena->arena, u->chunk_offsets[c->index], bytes, &c->err);
    }
    if (c->rc == 0) {
        c->rc = st_save_write(u->save, c->index, &c->chunk, c->data, &c->err);
    }
}

static void chunk_write_work(struct job *job)
{
    struct chunk_job *c = (struct chunk_job *)job;
    struct upload *u = c->upload;
    if (atomic_load(&u->cancelled)) {
        return;
    }
    c->rc = st_save_share(u->save, c->index, &c->chunk, &c->shared, &c->err);
    if (c->rc == 0 && !c->shared) {
        chunk_write(c);
    }
}

static void chunk_write_done(struct job *job)
{
    struct chunk_job *c = (struct chunk_job *)job;
    struct upload *u = c->upload;
    u->writing--;
    if (c->rc < 0 && u->state != UPLOAD_FAILED) {
        upload_fail(u, &c->err); /* the store has named the run */
    }
    if (u->state == UPLOAD_FAILED) {
        buf_give(c->buf);
        free(c);
        u->jobs--;
        upload_job_ended(u);
        return;
    }
    if (c->shared) {
        chunk_digest_done(&c->job);
    } else {
        c->job = (struct job){ .work = chunk_digest_work, .done = chunk_digest_done };
        pool_submit(u->run->digester, &c->job);
    }
    upload_pump(u);
}

/* The next chunk, received or in the arena. False: no memory. */
static bool chunk_submit(struct upload *u, struct buf *buf)
{
    struct chunk_job *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return false;
    }
    c->job = (struct job){ .work = chunk_write_work, .done = chunk_write_done };
    c->upload = u;
    c->buf = buf;
    c->index = u->next_chunk++;
    c->chunk = *st_manifest_chunk(u->manifest, c->index);
    c->data = buf != NULL ? buf->data : arena_at(u->arena->arena, u->chunk_offsets[c->index]);
    u->jobs++;
    u->writing++;
    pool_submit(u->run->writer, &c->job);
    return true;
}

void upload_pump(struct upload *u)
{
    struct err err = { 0 };
    while (u->arena != NULL && u->seal_ticket != 0 && u->state != UPLOAD_FAILED &&
           u->writing < UPLOAD_WRITING && st_manifest_chunk(u->manifest, u->next_chunk) != NULL) {
        if (!chunk_submit(u, NULL)) {
            (void)err_set(&err, -CAIRN_ENOMEM, "no memory for a chunk");
            upload_refuse(u, &err);
        }
    }
}

enum conn_payload
upload_payload(struct session *s, const struct frame *f, struct slice message, struct buf **ret_buf)
{
    struct upload *u = s->upload;
    union wire_msg msg;
    struct err err = { 0 };
    if (u == NULL || u->state != UPLOAD_RECEIVING || u->request != f->request) {
        return CONN_PAYLOAD_DISCARD; /* op_data says what is wrong with it */
    }
    u->no_buffer = false; /* asked again: it is out of the line */
    struct bump *bump = &s->ops->peek;
    bump->cap_bytes = wire_bump_cap(f->message_bytes);
    int rc = wire_decode(f->type, message, bump, &msg, &err);
    bump_reset(bump);
    if (rc < 0) {
        return CONN_PAYLOAD_DISCARD; /* decoded again, and refused, in session_frame */
    }
    const struct chunk *chunk = st_manifest_chunk(u->manifest, msg.data.chunk);
    if (u->arena != NULL) {
        (void)err_set(&err, -CAIRN_EPROTO, "DATA in a save from an arena");
        upload_refuse(u, &err);
        return CONN_PAYLOAD_DISCARD;
    }
    if (msg.data.chunk != u->next_chunk || chunk == NULL || chunk->bytes != f->payload_bytes) {
        (void)err_set(&err,
                      -CAIRN_EPROTO,
                      "DATA: expected chunk %" PRIu32 " of %" PRIu32 " bytes, got chunk %" PRIu32
                      " of %" PRIu64,
                      u->next_chunk,
                      chunk == NULL ? 0 : chunk->bytes,
                      msg.data.chunk,
                      f->payload_bytes);
        upload_refuse(u, &err);
        return CONN_PAYLOAD_DISCARD;
    }
    *ret_buf = buf_take(s->ops->write_bufs, &s->write_user);
    u->no_buffer = *ret_buf == NULL;
    upload_clock(u);
    return *ret_buf == NULL ? CONN_PAYLOAD_WAIT : CONN_PAYLOAD_TAKE;
}

void op_data(struct session *s, const struct frame_in *in)
{
    if (in->buf == NULL && s->ignoring && in->frame->request == s->ignored_request) {
        return; /* refused between its prefix and its end */
    }
    struct upload *u = upload_of(s, in, "DATA");
    struct err err = { 0 };
    if (u == NULL) {
        return;
    }
    if (in->buf == NULL || !chunk_submit(u, in->buf)) {
        (void)err_set(&err,
                      in->buf == NULL ? -CAIRN_EPROTO : -CAIRN_ENOMEM,
                      in->buf == NULL ? "DATA without payload" : "no memory for a chunk");
        buf_give(in->buf);
        upload_refuse(u, &err);
        return;
    }
    upload_clock(u);
}
