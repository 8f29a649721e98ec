/* load.c: a pinned boundary of one connection, and the frames about it. Its chunks are read and
 * sent by load_read.c. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/ops_int.h"

struct load *load_new(struct session *s, struct run *run, struct st_load *st)
{
    struct load *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return NULL;
    }
    l->ops = s->ops;
    l->session = s;
    l->run = run;
    run->holds++;
    l->st = st;
    l->reading_tail = &l->reading_head;
    s->ops->load_count++;
    return l;
}

static void load_close_work(struct job *job)
{
    struct load *l = CONTAINER_OF(job, struct load, job);
    l->st = st_load_close(l->st);
}

static void load_close_done(struct job *job)
{
    struct load *l = CONTAINER_OF(job, struct load, job);
    struct ops *ops = l->ops;
    run_put(l->run);
    free(l);
    ops->load_count--;
    ops_check_stopped(ops);
}

void load_maybe_close(struct load *l)
{
    if (l->session == NULL && l->reading_head == NULL && l->users == 0) {
        l->job = (struct job){ .work = load_close_work, .done = load_close_done };
        load_give_ring(l);
        pool_submit(l->ops->queries, &l->job);
    }
}

void load_release(struct load *l)
{
    l->session->load = NULL;
    l->session = NULL;
    l->streaming = false;
    load_maybe_close(l);
}

void load_unuse(struct load *l)
{
    l->users--;
    load_maybe_close(l);
}

void load_stop(struct load *l, const struct err *err)
{
    log_warn("load failed",
             "run=%" PRIu32 "/%s seq=%" PRIu64 " uid=%" PRIu32 " error=%s why=\"%s\"",
             l->run->name.uid,
             l->run->name.name,
             st_load_boundary(l->st)->seq,
             l->session->peer.uid,
             cairn_error_name(err->code),
             err->msg);
    l->streaming = false;
    conn_refuse(l->session->conn, l->request, err);
}

/* ---- the frames ---- */

struct load *load_of(struct session *s, const struct frame_in *in, const char *what)
{
    struct err err = { 0 };
    if (s->load == NULL) {
        (void)err_set(
            &err, -CAIRN_EINVAL, "%s without a pinned boundary: DESCRIBE with pin first", what);
        session_refuse(s, in->frame->request, &err);
        return NULL;
    }
    return s->load;
}

/* A slot for each credit, all of it there: where a hole is, the daemon would pay for the page. */
static int load_check_ring(struct lent *ring, uint32_t slots, struct err *err)
{
    uint64_t bytes = slots * (uint64_t)LIMIT_CHUNK_BYTES;
    if (bytes <= ring->whole_bytes) {
        return 0;
    }
    int rc = arena_check(ring->arena, 0, bytes, err);
    if (rc == 0) {
        ring->whole_bytes = bytes;
    }
    return rc;
}

static int load_take_ring(struct session *s, const struct wire_load *w, struct err *err)
{
    struct load *l = s->load;
    if (w->arena == 0) {
        return 0;
    }
    struct lent *ring = arena_hold(s, w->arena, ARENA_RING, err);
    if (ring == NULL || load_check_ring(ring, w->credits, err) < 0) {
        arena_put(ring);
        return err->code;
    }
    l->ring = ring;
    l->ring_slots = w->credits;
    return 0;
}

void op_load(struct session *s, const struct frame_in *in)
{
    const struct wire_load *w = &in->msg->load;
    struct load *l = load_of(s, in, "LOAD");
    struct err err = { 0 };
    if (l == NULL) {
        return;
    }
    uint32_t count = st_load_chunk_count(l->st);
    if (l->streaming || s->upload != NULL) {
        (void)err_set(&err, -CAIRN_EPROTO, "LOAD while another transfer is under way");
        session_fail(s, in->frame->request, &err);
        return;
    }
    if (w->first_chunk > count || w->chunk_count > count - w->first_chunk) {
        (void)err_set(&err,
                      -CAIRN_EINVAL,
                      "LOAD of chunks %" PRIu32 "+%" PRIu32 " of a boundary of %" PRIu32,
                      w->first_chunk,
                      w->chunk_count,
                      count);
        session_refuse(s, in->frame->request, &err);
        return;
    }
    if (s->ops->stopping) {
        (void)err_set(&err, -CAIRN_ECANCELED, "the daemon is stopping: connect again");
        session_refuse(s, in->frame->request, &err);
        return;
    }
    if (load_take_ring(s, w, &err) < 0) {
        session_refuse(s, in->frame->request, &err);
        return;
    }
    l->request = in->frame->request;
    l->streaming = true;
    l->aborted = false;
    l->err.code = 0;
    l->sent = 0;
    l->first = w->first_chunk;
    l->next = w->first_chunk;
    l->end = w->first_chunk + w->chunk_count;
    l->credits = w->credits;
    load_pump(l);
}

void op_release(struct session *s, const struct frame_in *in)
{
    struct load *l = s->load;
    uint32_t more = in->msg->release.credits;
    struct err err = { 0 };
    if (l == NULL || !l->streaming || l->request != in->frame->request) {
        return; /* crossed the end of the stream */
    }
    /* What is not sent cannot be released: into a ring, not even once too often. */
    uint32_t most = l->ring == NULL ? LIMIT_WINDOW_CHUNKS : l->ring_slots;
    if (more > most || l->credits + l->reading + more > most) {
        (void)err_set(&err, -CAIRN_EPROTO, "RELEASE makes more than %" PRIu32 " credits", most);
        session_fail(s, in->frame->request, &err);
        return;
    }
    l->credits += more;
    load_pump(l);
}

void op_close(struct session *s, const struct frame_in *in)
{
    struct err err = { 0 };
    if (s->load != NULL && s->load->streaming) {
        (void)err_set(&err, -CAIRN_EPROTO, "CLOSE while a load is under way: ABORT first");
        session_fail(s, in->frame->request, &err);
        return;
    }
    if (s->load != NULL) {
        load_release(s->load);
    }
    conn_send(s->conn, WIRE_DONE, in->frame->request, in->msg);
}

void op_chunk_list(struct session *s, const struct frame_in *in)
{
    struct load *l = load_of(s, in, "CHUNK_LIST");
    uint32_t first = in->msg->chunk_list.first;
    uint32_t arena = in->msg->chunk_list.arena;
    const uint64_t *offsets = NULL;
    struct err err = { 0 };
    if (l == NULL) {
        return;
    }
    uint32_t total = st_load_chunk_count(l->st);
    if (first > total) {
        (void)err_set(&err, -CAIRN_EINVAL, "CHUNK_LIST from %" PRIu32 " of %" PRIu32, first, total);
        session_refuse(s, in->frame->request, &err);
        return;
    }
    if (arena != 0 && (offsets = resident_offsets(s, arena, &err)) == NULL) {
        session_refuse(s, in->frame->request, &err);
        return;
    }
    uint32_t count = total - first < LIMIT_CHUNKS_PER_PAGE ? total - first : LIMIT_CHUNKS_PER_PAGE;
    struct chunk *chunks = calloc((size_t)count + 1, sizeof *chunks);
    if (chunks == NULL) {
        (void)err_set(&err, -CAIRN_ENOMEM, "no memory for a chunk list");
        session_refuse(s, in->frame->request, &err);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        chunks[i] = *st_load_chunk(l->st, first + i);
    }
    union wire_msg msg = { .chunks = { .first = first,
                                       .chunks = chunks,
                                       .count = count,
                                       .more = first + count < total,
                                       .offsets = offsets == NULL ? NULL : offsets + first } };
    conn_send(s->conn, WIRE_CHUNKS, in->frame->request, &msg);
    free(chunks);
}
