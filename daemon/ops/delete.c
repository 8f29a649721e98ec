/* delete.c: one boundary less. On the run's writer, so that nothing is committed meanwhile. */
#include <inttypes.h>

#include "ops/query.h"

static int delete_work(struct query *q)
{
    struct st_list list = { .count = 0 };
    uint64_t seq = 0;
    int rc = find_select(q, &seq);
    rc = rc < 0 ? rc : st_list(q->run->st, seq, 1, &q->bump, &list, &q->err);
    rc = rc < 0 ? rc : st_remove(q->run->st, &seq, 1, &q->err);
    if (rc < 0) {
        return rc;
    }
    if (list.count == 1 && list.boundaries[0].seq == seq) {
        q->msg.described.boundary = list.boundaries[0];
    }
    log_info("removed",
             "run=%" PRIu32 "/%s seq=%" PRIu64 " step=%" PRIu64 " bytes=%" PRIu64 " uid=%" PRIu32,
             q->name.uid,
             q->name.name,
             seq,
             q->msg.described.boundary.step,
             q->msg.described.boundary.bytes_new,
             q->session->peer.uid);
    return 0;
}

static void delete_reply(struct query *q)
{
    conn_send(q->session->conn, WIRE_DESCRIBED, q->request, &q->msg);
}

void op_delete(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = { .name = "DELETE",
                                            .access = ACCESS_DROP,
                                            .settle = true,
                                            .writes = true,
                                            .work = delete_work,
                                            .reply = delete_reply };
    struct query *q = query_new(s, in->frame->request, &kind, &in->msg->remove.run);
    if (q == NULL) {
        return;
    }
    if (query_take_selector(q, in->msg->remove.selector) < 0) {
        struct err err = q->err;
        query_refuse(q, err.code, err.msg);
        return;
    }
    query_start(q);
}
