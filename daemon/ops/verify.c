/* verify.c: VERIFY: one boundary after the other, with what was found sent after each, so that
 * nobody holds a thread for a whole run. While it waits for its turn, and while chunks are being
 * read, the client is told every 2 s how far it is: it may take silence for a disk that hangs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ops/query.h"

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
    uint64_t seq;      /* the next to check; goes down */
    struct err failed; /* told after what was found before it */
    /* For the beat, which comes while a thread works. */
    atomic_bool working;
    atomic_uint_fast64_t steps, boundaries, chunks, bytes, findings;
    uint64_t steps_told;
};

/* ---- on a thread ---- */

static int verify_found(void *arg, const struct st_finding *f)
{
    struct verify_state *v = ((struct query *)arg)->list;
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

static void verify_publish(struct verify_state *v,
                           const struct wire_verified *sum,
                           const struct wire_verified *one)
{
    atomic_store(&v->boundaries, sum->boundary_count);
    atomic_store(&v->chunks, sum->chunk_count + one->chunk_count);
    atomic_store(&v->bytes, sum->bytes + one->bytes);
    atomic_store(&v->findings, sum->finding_count + one->finding_count);
    atomic_fetch_add(&v->steps, 1);
}

static int verify_step(void *arg, const struct wire_verified *so_far, struct err *err)
{
    struct query *q = arg;
    verify_publish(q->list, &q->msg.verified, so_far);
    return query_check(q, err);
}

static void verify_add(struct wire_verified *sum, const struct wire_verified *one)
{
    sum->boundary_count += one->boundary_count;
    sum->chunk_count += one->chunk_count;
    sum->bytes += one->bytes;
    sum->finding_count += one->finding_count;
}

/* One boundary; v->seq is the next one then, 0 after the last. A row that cannot be read is a
 * finding of its boundary, and the one before it is found by its key. */
static int verify_one(struct query *q, struct verify_state *v)
{
    struct wire_verified one = { 0 };
    const struct st_watch watch = { verify_found, verify_step, q };
    const uint64_t seq = v->seq;
    int rc = st_verify(q->run->st, seq, &watch, &one, &q->err);
    if ((rc == -CAIRN_ENOENT || rc == -CAIRN_EPRUNED) && q->flag) { /* removed meanwhile */
        one = (struct wire_verified){ 0 };
        rc = 0;
    }
    v->seq = 0;
    if (rc == 0 && q->flag) {
        rc = st_before(q->run->st, seq, &v->seq, &q->err);
    }
    verify_add(&q->msg.verified, &one);
    return rc;
}

static int verify_work(struct query *q)
{
    struct verify_state *v = q->list;
    int rc = 0;
    v->found_count = 0;
    if (v->failed.code < 0) {
        q->err = v->failed;
        return v->failed.code;
    }
    atomic_store(&v->working, true);
    if (!v->started) {
        rc = st_select(q->run->st, &q->selector, &v->seq, &q->err);
        rc = rc < 0 ? err_wrap(&q->err, rc, "run '%s@%s'", q->name.name, q->text) : 0;
        v->started = true;
    }
    rc = rc < 0 ? rc : verify_one(q, v);
    if (rc < 0 && v->found_count > 0) {
        v->failed = q->err;
        rc = 0;
    }
    q->again = v->seq != 0 || v->failed.code < 0;
    verify_publish(v, &q->msg.verified, &(struct wire_verified){ 0 });
    atomic_store(&v->working, false);
    return rc;
}

/* ---- on the loop ---- */

/* Nothing is said while the thread is at one and the same chunk. */
static void verify_beat(struct query *q)
{
    struct verify_state *v = q->list;
    uint64_t steps = atomic_load(&v->steps);
    if (atomic_load(&v->working) && steps == v->steps_told) {
        return;
    }
    v->steps_told = steps;
    union wire_msg msg = { .verified = { .boundary_count = atomic_load(&v->boundaries),
                                         .chunk_count = atomic_load(&v->chunks),
                                         .bytes = atomic_load(&v->bytes),
                                         .finding_count = atomic_load(&v->findings),
                                         .more = true } };
    conn_send(q->session->conn, WIRE_VERIFIED, q->request, &msg);
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
                                            .beat = verify_beat,
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
