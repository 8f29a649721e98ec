/* list.c: runs: is it there, which are there, what it takes, away with it. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/query.h"

/* ---- RUN_OPEN ----------------------------------------------------------------------------------
 */

static int run_open_work(struct query *q)
{
    (void)q;
    return 0;
}

static void
list_run_info(struct wire_run_info *ret, const struct run_name *name, const struct row_run *row)
{
    *ret = (struct wire_run_info){
        .uid = name->uid,
        .run = slice_str(name->name),
        .exists = row->boundary_count > 0, /* a BEGIN that came to nothing leaves an empty one */
        .boundary_count = row->boundary_count,
        .latest_seq = row->latest_seq,
        .latest_step = row->latest_step,
        .latest_ns = row->latest_ns,
        .bytes = row->bytes,
    };
}

static void run_open_reply(struct query *q)
{
    union wire_msg msg = { .run_info = { .uid = q->name.uid, .run = slice_str(q->name.name) } };
    if (q->run != NULL) {
        struct row_run row;
        st_run_row(q->run->st, &row);
        list_run_info(&msg.run_info, &q->name, &row);
        msg.run_info.poisoned = st_run_poisoned(q->run->st);
    }
    conn_send(q->session->conn, WIRE_RUN_INFO, q->request, &msg);
}

void op_run_open(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = { .name = "RUN_OPEN",
                                            .access = ACCESS_READ,
                                            .missing_ok = true,
                                            .work = run_open_work,
                                            .reply = run_open_reply };
    struct query *q = query_new(s, in->frame->request, &kind, &in->msg->run_open.run);
    if (q != NULL) {
        query_start(q);
    }
}

/* ---- RUN_LIST ----------------------------------------------------------------------------------
 */

/* Sent in one go: not much of what may wait for the peer to read. */
enum { LIST_ROWS = 64 };

struct list_row {
    struct run_name name;
    struct row_run row;
    bool poisoned;
};

static int list_each(void *arg, const struct st_run_row *row)
{
    struct query *q = arg;
    struct list_row *rows = q->list;
    if ((q->list_count & (q->list_count + 1)) == 0) { /* 0, 1, 3, 7, ...: grow to the next power */
        rows = realloc(rows, ((size_t)q->list_count + 1) * 2 * sizeof *rows);
        if (rows == NULL) {
            return err_set(&q->err,
                           -CAIRN_ENOMEM,
                           "list runs: no memory for %" PRIu32 " of them",
                           q->list_count);
        }
        q->list = rows;
    }
    struct list_row *to = &rows[q->list_count++];
    to->name.uid = row->uid;
    memcpy(to->name.name, row->name.data, row->name.bytes);
    to->name.name[row->name.bytes] = '\0';
    to->row = row->run;
    to->poisoned = row->poisoned;
    return 0;
}

/* The rows are read once, and then sent as the peer takes them. */
static int list_work(struct query *q)
{
    uint32_t uid = q->flag ? UINT32_MAX : q->session->peer.uid;
    int rc = q->list == NULL ? st_runs(q->session->ops->st, uid, list_each, q, &q->err) : 0;
    q->again = rc == 0 && q->list_count - q->list_sent > LIST_ROWS;
    return rc;
}

static void list_reply(struct query *q)
{
    const struct list_row *rows = q->list;
    union wire_msg done = { 0 };
    uint32_t end = q->again ? q->list_sent + LIST_ROWS : q->list_count;
    for (; q->list_sent < end; q->list_sent++) {
        const struct list_row *row = &rows[q->list_sent];
        union wire_msg msg;
        list_run_info(&msg.run_info, &row->name, &row->row);
        msg.run_info.poisoned = row->poisoned;
        conn_send(q->session->conn, WIRE_RUN_INFO, q->request, &msg);
    }
    if (!q->again) {
        conn_send(q->session->conn, WIRE_DONE, q->request, &done);
    }
}

void op_run_list(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = { .name = "RUN_LIST",
                                            .work = list_work,
                                            .reply = list_reply };
    struct err err = { 0 };
    if (in->msg->run_list.all && s->peer.uid != 0) {
        (void)err_set(&err, -CAIRN_EACCES, "only root may list everybody's runs");
        session_refuse(s, in->frame->request, &err);
        return;
    }
    struct query *q = query_new(s, in->frame->request, &kind, NULL);
    if (q != NULL) {
        q->flag = in->msg->run_list.all;
        query_start(q);
    }
}

/* ---- USAGE -------------------------------------------------------------------------------------
 */

static int usage_work(struct query *q)
{
    struct st_usage usage = { .segment_bytes = 0 };
    int rc = st_usage(q->run->st, &usage, &q->err);
    q->msg.usage_info = (struct wire_usage_info){ .segment_bytes = usage.segment_bytes,
                                                  .unnamed_bytes = usage.unnamed_bytes,
                                                  .index_bytes = usage.index_bytes };
    return rc;
}

static void usage_reply(struct query *q)
{
    conn_send(q->session->conn, WIRE_USAGE_INFO, q->request, &q->msg);
}

void op_usage(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = {
        .name = "USAGE", .access = ACCESS_READ, .work = usage_work, .reply = usage_reply
    };
    struct query *q = query_new(s, in->frame->request, &kind, &in->msg->usage.run);
    if (q != NULL) {
        query_start(q);
    }
}

/* ---- RUN_DROP ----------------------------------------------------------------------------------
 */

struct list_drop {
    struct session *session;
    uint32_t request;
};

static void drop_done(void *arg, int rc, const struct err *err)
{
    struct list_drop *d = arg;
    struct session *s = d->session;
    union wire_msg msg = { 0 };
    if (s->conn != NULL && rc < 0) {
        session_refuse(s, d->request, err);
    } else if (s->conn != NULL) {
        conn_send(s->conn, WIRE_DONE, d->request, &msg);
    }
    free(d);
    s->busy--;
    session_maybe_free(s);
}

static void drop_reply(struct query *q)
{
    struct session *s = q->session;
    struct list_drop *d = calloc(1, sizeof *d);
    if (d == NULL) {
        q->rc = err_set(&q->err, -CAIRN_ENOMEM, "drop a run: no memory");
    } else {
        *d = (struct list_drop){ s, q->request };
        s->busy++;
        q->rc = run_drop(q->run, drop_done, d, &q->err);
    }
    if (q->rc < 0) {
        s->busy -= d != NULL;
        free(d);
        session_refuse(s, q->request, &q->err);
        return;
    }
    log_info(
        "run dropped", "run=%" PRIu32 "/%s uid=%" PRIu32, q->name.uid, q->name.name, s->peer.uid);
    q->run = NULL; /* its hold went with it */
}

void op_run_drop(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = { .name = "RUN_DROP",
                                            .access = ACCESS_DROP,
                                            .settle = true,
                                            .kept = true, /* or who saved last had to wait */
                                            .work = run_open_work,
                                            .reply = drop_reply };
    struct query *q = query_new(s, in->frame->request, &kind, &in->msg->run_drop.run);
    if (q != NULL) {
        query_start(q);
    }
}
