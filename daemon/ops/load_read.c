/* load_read.c: the stream of chunks of a pinned boundary.
 *
 * Reads run ahead on the read pool, at most as many as the client has given credits for, and a few
 * at a time: the pool serves everybody in the order of asking. They go
 * into a ring that the client has mapped, in turn, and FILLED says that one is there; or, without a
 * ring, into buffers, as many as the connection may hold, and out as DATA. Both in order; the
 * client verifies what it gets. A stream ends when its last read has: from then on the ring is the
 * client's. */
#include <stdlib.h>

#include "ops/ops_int.h"

/* As many as the pool has threads: more would only keep others waiting. */
enum { LOAD_READING = 2 };

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
    l->reading--;
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
    l->reading++;
    pool_submit(l->ops->reads, &slot->job);
    return true;
}

void load_give_ring(struct load *l)
{
    arena_put(l->ring);
    l->ring = NULL;
}

static void load_end(struct load *l)
{
    union wire_msg msg = { .loaded = { .chunk_count = l->sent, .aborted = l->aborted } };
    load_give_ring(l);
    if (l->err.code != 0 && !l->aborted) { /* ABORT is answered in either case */
        load_stop(l, &l->err);
        return;
    }
    l->streaming = false;
    conn_send(l->session->conn, WIRE_LOADED, l->request, &msg);
}

void load_pump(struct load *l)
{
    while (l->streaming && !l->aborted && l->err.code == 0 && l->credits > 0 && l->next < l->end &&
           l->reading < LOAD_READING && load_start_read(l)) {
    }
    bool over = l->aborted || l->err.code != 0 || l->next == l->end;
    if (l->streaming && l->reading_head == NULL && over) {
        load_end(l);
    }
}
