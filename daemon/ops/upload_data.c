/* upload_data.c: what streams into an upload: chunk descriptors, manifest pages, payload.
 *
 * A chunk is received into a buffer of the pool, written by the run's writer, then digested by the
 * helper behind it, and only then given back: what is stored is what was hashed. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/ops_int.h"

struct chunk_job {
    struct job job;
    struct upload *upload;
    struct buf *buf;
    uint32_t index;
    struct digest digest;
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

void op_chunks(struct session *s, const struct frame_in *in)
{
    const struct wire_chunks *c = &in->msg->chunks;
    struct upload *u = upload_of(s, in, "CHUNKS");
    struct err err = { 0 };
    if (u != NULL && (st_manifest_chunks(u->manifest, c->first, c->chunks, c->count, &err) < 0 ||
                      upload_check_staged(u, &err) < 0)) {
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

static void chunk_digest_work(struct job *job)
{
    struct chunk_job *c = (struct chunk_job *)job;
    if (!atomic_load(&c->upload->cancelled)) {
        c->digest = digest_bytes(c->buf->data, c->buf->bytes);
    }
}

static void chunk_digest_done(struct job *job)
{
    struct chunk_job *c = (struct chunk_job *)job;
    struct upload *u = c->upload;
    struct err err = { 0 };
    const struct chunk *chunk = st_manifest_chunk(u->manifest, c->index);
    bool equal = digest_equal(&c->digest, &chunk->digest);
    uint32_t component = chunk->component;
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
                      "chunk %" PRIu32 " (%s) does not match its digest: it was "
                      "damaged on its way, save again",
                      index,
                      component_name(component));
        (void)err_at(&err, component, NULL, 0);
        upload_refuse(u, &err);
        return;
    }
    u->digested_chunks++;
    run_kick(u->run);
}

static void chunk_write_work(struct job *job)
{
    struct chunk_job *c = (struct chunk_job *)job;
    if (!atomic_load(&c->upload->cancelled)) {
        c->rc = st_save_write(c->upload->save, c->index, c->buf->data, c->buf->bytes, &c->err);
    }
}

static void chunk_write_done(struct job *job)
{
    struct chunk_job *c = (struct chunk_job *)job;
    struct upload *u = c->upload;
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
    c->job = (struct job){ .work = chunk_digest_work, .done = chunk_digest_done };
    pool_submit(u->run->digester, &c->job);
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
    struct chunk_job *c = in->buf == NULL ? NULL : calloc(1, sizeof *c);
    if (c == NULL) {
        (void)err_set(&err,
                      in->buf == NULL ? -CAIRN_EPROTO : -CAIRN_ENOMEM,
                      in->buf == NULL ? "DATA without payload" : "no memory for a chunk");
        buf_give(in->buf);
        upload_refuse(u, &err);
        return;
    }
    c->job = (struct job){ .work = chunk_write_work, .done = chunk_write_done };
    c->upload = u;
    c->buf = in->buf;
    c->index = u->next_chunk++;
    u->jobs++;
    upload_clock(u);
    pool_submit(u->run->writer, &c->job);
}
