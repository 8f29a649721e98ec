/* load.c: a pinned boundary of one connection, and the stream of its chunks.
 *
 * Reads run ahead on the read pool, at most as many as the client has given credits for. They go
 * into a ring that the client has mapped, in turn, and FILLED says that one is there; or, without a
 * ring, into buffers, as many as the connection may hold, and out as DATA. Both in order; the
 * client verifies what it gets. A stream ends when its last read has: from then on the ring is the
 * client's. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/ops_int.h"

struct read_slot {
    struct job job;
    struct load *load;
    struct buf *buf; /* NULL: it goes into the ring */
    uint8_t *data;
    uint32_t index;
    bool finished;
    int rc;
    struct err err;
    struct read_slot *next;
};

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

static void load_give_ring(struct load *l)
{
    arena_put(l->ring);
    l->ring = NULL;
}

static void load_maybe_close(struct load *l)
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

/* ---- reading ---- */

static void load_read_work(struct job *job)
{
    struct read_slot *slot = (struct read_slot *)job;
    fault_point("load_read");
    slot->rc = st_load_read(slot->load->st, slot->index, slot->data, &slot->err);
}

static void load_send(struct load *l, struct read_slot *slot)
{
    union wire_msg msg = { .filled = { .chunk = slot->index } };
    if (slot->buf == NULL) {
        conn_send(l->session->conn, WIRE_FILLED, l->request, &msg);
    } else {
        slot->buf->bytes = st_load_chunk(l->st, slot->index)->bytes;
        conn_send_data(l->session->conn, l->request, slot->index, slot->buf, NULL, NULL);
        slot->buf = NULL;
    }
    l->sent++;
}

/* The first of the reads under way is done: send it, unless nobody wants it any more. */
static void load_send_head(struct load *l)
{
    struct read_slot *slot = l->reading_head;
    l->reading_head = slot->next;
    if (l->reading_head == NULL) {
        l->reading_tail = &l->reading_head;
    }
    if (l->streaming && !l->aborted && l->err.code == 0) {
        if (slot->rc == 0) {
            load_send(l, slot);
        } else {
            l->err = slot->err;
        }
    }
    buf_give(slot->buf);
    free(slot);
}

static void load_read_done(struct job *job)
{
    struct read_slot *slot = (struct read_slot *)job;
    struct load *l = slot->load;
    slot->finished = true;
    while (l->reading_head != NULL && l->reading_head->finished) {
        load_send_head(l);
    }
    load_pump(l);
    load_maybe_close(l);
}

/* Where the next chunk is to be read to. False: called again when a buffer comes back. */
static bool load_take_place(struct load *l, struct buf **ret_buf, uint8_t **ret)
{
    *ret_buf = NULL;
    if (l->ring != NULL) {
        uint64_t slot = (l->next - l->first) % l->ring_slots;
        *ret = arena_ring_at(l->ring->arena, slot * LIMIT_CHUNK_BYTES);
        return true;
    }
    *ret_buf = buf_take(l->ops->read_bufs, &l->session->read_user);
    *ret = *ret_buf == NULL ? NULL : (*ret_buf)->data;
    return *ret_buf != NULL;
}

static bool load_start_read(struct load *l)
{
    struct buf *buf = NULL;
    uint8_t *data = NULL;
    if (!load_take_place(l, &buf, &data)) {
        return false;
    }
    struct read_slot *slot = calloc(1, sizeof *slot);
    if (slot == NULL) {
        (void)err_set(&l->err, -CAIRN_ENOMEM, "no memory to read a chunk");
        buf_give(buf); /* may have this load asked again: not before its stream has its end */
        return false;
    }
    slot->job = (struct job){ .work = load_read_work, .done = load_read_done };
    slot->load = l;
    slot->buf = buf;
    slot->data = data;
    slot->index = l->next++;
    *l->reading_tail = slot;
    l->reading_tail = &slot->next;
    l->credits--;
    pool_submit(l->ops->reads, &slot->job);
    return true;
}

static void load_end(struct load *l)
{
    union wire_msg msg = { .loaded = { .chunk_count = l->sent, .aborted = l->aborted } };
    load_give_ring(l);
    if (l->err.code != 0) {
        load_stop(l, &l->err);
        return;
    }
    l->streaming = false;
    conn_send(l->session->conn, WIRE_LOADED, l->request, &msg);
}

void load_pump(struct load *l)
{
    while (l->streaming && !l->aborted && l->err.code == 0 && l->credits > 0 && l->next < l->end &&
           load_start_read(l)) {
    }
    bool over = l->aborted || l->err.code != 0 || l->next == l->end;
    if (l->streaming && l->reading_head == NULL && over) {
        load_end(l);
    }
}

/* ---- the frames ---- */

/* The pinned boundary, idle; else the request is refused. */
static struct load *load_of(struct session *s, const struct frame_in *in, const char *what)
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
    uint32_t most = l->ring == NULL ? LIMIT_WINDOW_CHUNKS : l->ring_slots;
    if (more > most || l->credits + more > most) {
        (void)err_set(&err, -CAIRN_EPROTO, "RELEASE makes more than %" PRIu32 " credits", most);
        session_fail(s, in->frame->request, &err);
        return;
    }
    l->credits += more;
    load_pump(l);
}

void op_close(struct session *s, const struct frame_in *in)
{
    if (s->load != NULL) {
        load_release(s->load);
    }
    conn_send(s->conn, WIRE_DONE, in->frame->request, in->msg);
}

void op_chunk_list(struct session *s, const struct frame_in *in)
{
    struct load *l = load_of(s, in, "CHUNK_LIST");
    uint32_t first = in->msg->chunk_list.first;
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
                                       .more = first + count < total } };
    conn_send(s->conn, WIRE_CHUNKS, in->frame->request, &msg);
    free(chunks);
}
