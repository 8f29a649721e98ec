/* verify.c: VERIFY: one boundary after the other, with what was found and how far it is sent after
 * each, so that a client sees progress and nobody holds a thread for a whole run unseen. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ops/ops_int.h"

#define VERIFY_FINDINGS 64u /* told per boundary; the rest is counted */

struct verify_found {
    uint64_t seq;
    uint32_t component;
    char path[256];
    char text[512];
};

struct verify_state {
    struct verify_found found[VERIFY_FINDINGS];
    uint32_t found_count;
    bool started;
    uint64_t seq; /* the next to check; goes down */
};

static int verify_each(void *arg, const struct st_finding *f)
{
    struct verify_state *v = arg;
    if (v->found_count < VERIFY_FINDINGS) {
        struct verify_found *to = &v->found[v->found_count++];
        to->seq = f->seq;
        to->component = f->component;
        (void)snprintf(to->path,
                       sizeof to->path,
                       "%.*s",
                       (int)f->path.bytes,
                       f->path.data == NULL ? "" : (const char *)f->path.data);
        (void)snprintf(to->text, sizeof to->text, "%s", f->text);
    }
    return 0;
}

/* The boundary before seq, or 0. */
static int verify_next(struct query *q, uint64_t seq, uint64_t *ret_seq)
{
    const struct boundary *rows = NULL;
    uint32_t count = 0;
    *ret_seq = 0;
    if (!q->flag) {
        return 0;
    }
    int rc = st_list(q->run->st, seq, 2, &q->bump, &rows, &count, &q->err);
    if (rc == 0 && count == 2) {
        *ret_seq = rows[1].seq;
    }
    bump_reset(&q->bump);
    return rc;
}

static int verify_work(struct query *q)
{
    struct verify_state *v = q->list;
    struct wire_verified one = { 0 };
    struct wire_verified *sum = &q->msg.verified;
    int rc = 0;
    v->found_count = 0;
    if (!v->started) {
        rc = st_select(q->run->st, &q->selector, &v->seq, &q->err);
        v->started = true;
    }
    if (rc < 0) {
        return err_wrap(&q->err, rc, "run '%s@%s'", q->name.name, q->text);
    }
    uint64_t seq = v->seq;
    rc = st_verify(q->run->st, seq, verify_each, v, &one, &q->err);
    if (rc == 0) {
        rc = verify_next(q, seq, &v->seq);
    }
    sum->boundary_count += one.boundary_count;
    sum->chunk_count += one.chunk_count;
    sum->bytes += one.bytes;
    sum->finding_count += one.finding_count;
    sum->more = v->seq != 0;
    q->again = q->flag && v->seq != 0;
    return rc;
}

static void verify_reply(struct query *q)
{
    const struct verify_state *v = q->list;
    for (uint32_t i = 0; i < v->found_count; i++) {
        const struct verify_found *f = &v->found[i];
        union wire_msg msg = { .finding = {
                                   f->seq, f->component, slice_str(f->path), slice_str(f->text) } };
        log_error("damage found",
                  "run=%" PRIu32 "/%s seq=%" PRIu64 " component=%s path=\"%s\" what=\"%s\"",
                  q->name.uid,
                  q->name.name,
                  f->seq,
                  component_name(f->component),
                  f->path,
                  f->text);
        conn_send(q->session->conn, WIRE_FINDING, q->request, &msg);
    }
    q->msg.verified.more = q->again;
    conn_send(q->session->conn, WIRE_VERIFIED, q->request, &q->msg);
}

void op_verify(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = { .name = "VERIFY",
                                            .access = ACCESS_READ,
                                            .settle = true,
                                            .checks = true,
                                            .work = verify_work,
                                            .reply = verify_reply };
    const struct wire_verify *w = &in->msg->verify;
    struct query *q = query_new(s, in->frame->request, &kind, &w->run);
    if (q == NULL) {
        return;
    }
    q->flag = w->whole_run;
    q->list = calloc(1, sizeof(struct verify_state));
    int rc = q->list == NULL ? err_set(&q->err, -CAIRN_ENOMEM, "verify: no memory") : 0;
    if (rc == 0) {
        rc = query_take_selector(q, w->whole_run ? slice_str("latest") : w->selector);
    }
    if (rc < 0) {
        struct err err = q->err;
        query_refuse(q, err.code, err.msg);
        return;
    }
    query_start(q);
}
