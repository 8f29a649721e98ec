/* find.c: which boundaries there are, and what one consists of. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/query.h"

/* What protobuf puts around a boundary, and around all; the longest seq. */
enum { FIND_FRAME_BYTES = 64, FIND_SEQ_BYTES = 10, DESCRIBE_TRIES = 4 };

int find_select(struct query *q, uint64_t *ret_seq)
{
    int rc = st_select(q->run->st, &q->selector, ret_seq, &q->err);
    return rc < 0 ? err_wrap(&q->err, rc, "run '%s@%s'", q->name.name, q->text) : 0;
}

/* ---- FIND
 * ---------------------------------------------------------------------------------------- */

/* As many of them as one FOUND holds, one at least: labels can make boundaries large. */
static void find_cut(struct st_list *list)
{
    const size_t most = wire_type_limits(WIRE_FOUND)->message_max_bytes - FIND_FRAME_BYTES;
    size_t bytes = list->damaged_count * (size_t)FIND_SEQ_BYTES;
    uint32_t fit = 0;
    for (; fit < list->count; fit++) {
        bytes += wire_boundary_bytes(&list->boundaries[fit]) + FIND_FRAME_BYTES;
        if (bytes > most && fit > 0) {
            break;
        }
    }
    if (fit == list->count) {
        return;
    }
    list->count = fit;
    while (list->damaged_count > 0 &&
           list->damaged[list->damaged_count - 1] < list->boundaries[fit - 1].seq) {
        list->damaged_count--; /* behind the cut */
    }
}

static int find_work(struct query *q)
{
    struct st_list list = { .count = 0 };
    uint64_t seq = 0;
    int rc = find_select(q, &seq);
    rc = rc < 0 ? rc : st_list(q->run->st, seq, q->max, &q->bump, &list, &q->err);
    if (rc < 0) {
        return rc;
    }
    find_cut(&list);
    q->msg.found = (struct wire_found){ .boundaries = list.boundaries,
                                        .count = list.count,
                                        .damaged = list.damaged,
                                        .damaged_count = list.damaged_count };
    return 0;
}

static void find_reply(struct query *q)
{
    conn_send(q->session->conn, WIRE_FOUND, q->request, &q->msg);
}

static int find_id_work(struct query *q)
{
    struct row_save row = { 0 };
    int rc = st_save_state(q->run->st, q->save_id, q->rank, &row, &q->err);
    q->msg.found = (struct wire_found){ .state = row.state, .seq = row.seq };
    return rc;
}

/* Memory first, then the store: an upload leaves memory only after the store has it, so one of the
 * two knows. The store's word counts: a BEGIN that only repeats a save looks like one under way. */
static void find_id_before(struct query *q)
{
    q->in_memory = upload_find(q->run, q->save_id, q->rank);
}

static void find_id_reply(struct query *q)
{
    if (q->msg.found.state == SAVE_NONE) {
        q->msg.found.state = q->in_memory;
    }
    find_reply(q);
}

void op_find(struct session *s, const struct frame_in *in)
{
    static const struct query_kind by_selector = { .name = "FIND",
                                                   .access = ACCESS_READ,
                                                   .settle = true,
                                                   .work = find_work,
                                                   .reply = find_reply };
    static const struct query_kind by_id = { .name = "FIND",
                                             .access = ACCESS_READ,
                                             .missing_ok = true,
                                             .before = find_id_before,
                                             .work = find_id_work,
                                             .reply = find_id_reply };
    const struct wire_find *find = &in->msg->find;
    struct query *q =
        query_new(s, in->frame->request, find->by_save_id ? &by_id : &by_selector, &find->run);
    if (q == NULL) {
        return;
    }
    memcpy(q->save_id, find->save_id, sizeof q->save_id);
    q->rank = find->rank;
    q->max = find->max;
    if (!find->by_save_id && query_take_selector(q, find->selector) < 0) {
        struct err err = q->err;
        query_refuse(q, err.code, err.msg);
        return;
    }
    query_start(q);
}

/* ---- DESCRIBE
 * ------------------------------------------------------------------------------------- */

/* Removed between the two steps? Then the selector names another one by now, or none. */
static int describe_work(struct query *q)
{
    uint64_t seq = 0;
    int rc = -CAIRN_EPRUNED;
    for (int i = 0; i < DESCRIBE_TRIES && rc == -CAIRN_EPRUNED; i++) {
        q->err = (struct err){ 0 };
        rc = find_select(q, &seq);
        rc = rc < 0 ? rc : st_load_open(q->run->st, seq, &q->load, &q->err);
    }
    return rc;
}

static void describe_reply(struct query *q)
{
    struct session *s = q->session;
    union wire_msg msg = { .described = { .boundary = *st_load_boundary(q->load) } };
    if (q->flag) {
        struct load *load = load_new(s, q->run, q->load);
        if (load == NULL) {
            (void)err_set(&q->err, -CAIRN_ENOMEM, "no memory for a load");
            session_refuse(s, q->request, &q->err);
            return;
        }
        q->load = NULL;
        if (s->load != NULL) {
            load_release(s->load);
        }
        s->load = load;
        msg.described.resident = resident_is_for(s, load);
    }
    conn_send(s->conn, WIRE_DESCRIBED, q->request, &msg);
}

void op_describe(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = { .name = "DESCRIBE",
                                            .access = ACCESS_READ,
                                            .settle = true,
                                            .work = describe_work,
                                            .reply = describe_reply };
    const struct wire_describe *describe = &in->msg->describe;
    struct err err = { 0 };
    if (s->load != NULL && s->load->streaming) {
        (void)err_set(&err, -CAIRN_EPROTO, "DESCRIBE while a load is under way");
        session_fail(s, in->frame->request, &err);
        return;
    }
    struct query *q = query_new(s, in->frame->request, &kind, &describe->run);
    if (q == NULL) {
        return;
    }
    q->flag = describe->pin;
    if (query_take_selector(q, describe->selector) < 0) {
        err = q->err;
        query_refuse(q, err.code, err.msg);
        return;
    }
    query_start(q);
}

/* ---- MANIFEST
 * ------------------------------------------------------------------------------------- */

static int manifest_work(struct query *q)
{
    return st_load_page(q->pinned->st, q->component, q->page, &q->bump, &q->msg.entries, &q->err);
}

static void manifest_reply(struct query *q)
{
    conn_send(q->session->conn, WIRE_ENTRIES, q->request, &q->msg);
}

void op_manifest(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = {
        .name = "MANIFEST", .access = ACCESS_READ, .work = manifest_work, .reply = manifest_reply
    };
    struct err err = { 0 };
    if (s->load == NULL) {
        (void)err_set(
            &err, -CAIRN_EINVAL, "MANIFEST without a pinned boundary: DESCRIBE with pin first");
        session_refuse(s, in->frame->request, &err);
        return;
    }
    struct query *q = query_new(s, in->frame->request, &kind, NULL);
    if (q != NULL) {
        q->pinned = s->load;
        q->pinned->users++;
        q->component = in->msg->manifest.component;
        q->page = in->msg->manifest.page;
        query_start(q);
    }
}
