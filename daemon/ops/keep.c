/* keep.c: what stays of a run: its policy, asked for, set and done; and going on from an older
 * boundary. All on the run's writer, in order with the commits. */
#include "store/keep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "ops/query.h"

static uint64_t keep_now_ns(void)
{
    struct timespec now = { .tv_sec = 0 };
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- POLICY ---------------------------------------------------------------------------------- */

/* Its text lies in the query: "default" is no policy. */
static int keep_policy_set(struct query *q)
{
    struct policy policy;
    if (strcmp(q->text, "default") == 0) {
        return st_policy_put(q->run->st, NULL, &q->err);
    }
    int rc = policy_parse(slice_str(q->text), &policy, &q->err);
    return rc < 0 ? rc : st_policy_put(q->run->st, &policy, &q->err);
}

static int keep_policy_get(struct query *q)
{
    char *text = bump_alloc(&q->bump, POLICY_TEXT_BYTES);
    bool preset = false;
    if (text == NULL) {
        return err_set(&q->err, -CAIRN_ENOMEM, "tell of a policy");
    }
    int rc = st_policy_get(q->run->st, text, &preset, &q->err);
    q->msg.policy_info =
        (struct wire_policy_info){ .policy = slice_str(rc < 0 ? "" : text), .preset = preset };
    return rc;
}

static int keep_policy_set_work(struct query *q)
{
    int rc = keep_policy_set(q);
    rc = rc < 0 ? rc : keep_policy_get(q);
    if (rc == 0) {
        log_info("policy set",
                 "run=%" PRIu32 "/%s policy=\"%.*s\" uid=%" PRIu32,
                 q->name.uid,
                 q->name.name,
                 (int)q->msg.policy_info.policy.bytes,
                 (const char *)q->msg.policy_info.policy.data,
                 q->session->peer.uid);
    }
    return rc;
}

static void keep_policy_reply(struct query *q)
{
    conn_send(q->session->conn, WIRE_POLICY_INFO, q->request, &q->msg);
}

static void keep_take_text(struct query *q, struct slice text)
{
    memcpy(q->text, text.data == NULL ? "" : text.data, text.bytes);
    q->text[text.bytes] = '\0';
}

void op_policy(struct session *s, const struct frame_in *in)
{
    static const struct query_kind get = {
        .name = "POLICY", .access = ACCESS_READ, .work = keep_policy_get, .reply = keep_policy_reply
    };
    static const struct query_kind set = { .name = "POLICY",
                                           .access = ACCESS_DROP,
                                           .writes = true,
                                           .work = keep_policy_set_work,
                                           .reply = keep_policy_reply };
    const struct wire_policy *m = &in->msg->policy;
    struct query *q = query_new(s, in->frame->request, m->sets ? &set : &get, &m->run);
    if (q != NULL) {
        keep_take_text(q, m->policy);
        query_start(q);
    }
}

/* ---- KEEP ------------------------------------------------------------------------------------ */

struct keep_list {
    struct query *query;
    struct wire_kept_boundary *rows;
};

static int keep_each(void *arg, const struct st_kept *kept, struct err *err)
{
    struct keep_list *l = arg;
    struct query *q = l->query;
    struct wire_kept *to = &q->msg.kept;
    const struct keep_item *item = kept->item;
    to->bytes = kept->run_bytes;
    if (q->below != 0 && item->seq >= q->below) {
        return 0;
    }
    if (to->count == LIMIT_KEPT) {
        to->more = true;
        return 0;
    }
    l->rows[to->count++] = (struct wire_kept_boundary){ .seq = item->seq,
                                                        .step = item->step,
                                                        .created_ns = item->created_ns,
                                                        .own_bytes = kept->own_bytes,
                                                        .shared_bytes = kept->shared_bytes,
                                                        .why = item->why,
                                                        .rule = item->rule };
    return query_check(q, err);
}

/* The policy that is asked of; its labels point into the query's text. *ret_text: as it is told. */
static int keep_policy_of(struct query *q, struct policy *ret, char **ret_text)
{
    if (q->text[0] == '\0') {
        int rc = keep_policy_get(q);
        if (rc < 0) {
            return rc;
        }
        keep_take_text(q, q->msg.policy_info.policy);
    }
    *ret_text = bump_alloc(&q->bump, POLICY_TEXT_BYTES);
    int rc = policy_parse(slice_str(q->text), ret, &q->err);
    if (rc == 0 && *ret_text == NULL) {
        return err_set(&q->err, -CAIRN_ENOMEM, "tell what a policy does");
    }
    if (rc == 0) {
        (void)policy_print(ret, *ret_text);
    }
    return rc;
}

static int keep_work(struct query *q)
{
    struct policy policy;
    struct keep_list list = { .query = q };
    struct st_keep_done done;
    struct st_keep args = { .policy = &policy, .now_ns = keep_now_ns(), .dry_run = q->flag };
    char *text = NULL;
    int rc = keep_policy_of(q, &policy, &text);
    if (rc < 0) {
        return rc;
    }
    q->msg.kept = (struct wire_kept){ .policy = slice_str(text) };
    if (q->flag) {
        list.rows = calloc(LIMIT_KEPT, sizeof *list.rows);
        if (list.rows == NULL) {
            return err_set(&q->err, -CAIRN_ENOMEM, "tell what a policy does");
        }
        q->list = list.rows;
        args.each = keep_each;
        args.arg = &list;
    }
    rc = st_keep(q->run->st, &args, &done, &q->err);
    q->msg.kept.boundaries = list.rows;
    q->msg.kept.removed = done.removed_count;
    q->msg.kept.damaged = done.damaged_count;
    return rc;
}

static void keep_reply(struct query *q)
{
    conn_send(q->session->conn, WIRE_KEPT, q->request, &q->msg);
}

void op_keep(struct session *s, const struct frame_in *in)
{
    static const struct query_kind dry = { .name = "KEEP",
                                           .access = ACCESS_READ,
                                           .settle = true,
                                           .writes = true,
                                           .work = keep_work,
                                           .reply = keep_reply };
    static const struct query_kind real = { .name = "KEEP",
                                            .access = ACCESS_DROP,
                                            .settle = true,
                                            .writes = true,
                                            .work = keep_work,
                                            .reply = keep_reply };
    const struct wire_keep *m = &in->msg->keep;
    struct query *q = query_new(s, in->frame->request, m->dry_run ? &dry : &real, &m->run);
    if (q != NULL) {
        keep_take_text(q, m->policy);
        q->flag = m->dry_run;
        q->below = m->below;
        query_start(q);
    }
}

/* ---- ROLLBACK -------------------------------------------------------------------------------- */

static int rollback_work(struct query *q)
{
    struct st_list list = { .count = 0 };
    uint64_t seq = 0;
    int rc = find_select(q, &seq);
    rc = rc < 0 ? rc : st_rollback(q->run->st, seq, &q->err);
    rc = rc < 0 ? rc : st_list(q->run->st, seq, 1, &q->bump, &list, &q->err);
    if (rc < 0) {
        return rc;
    }
    if (list.count == 1) {
        q->msg.described.boundary = list.boundaries[0];
    }
    log_info("rolled back",
             "run=%" PRIu32 "/%s seq=%" PRIu64 " step=%" PRIu64 " uid=%" PRIu32,
             q->name.uid,
             q->name.name,
             seq,
             q->msg.described.boundary.step,
             q->session->peer.uid);
    return 0;
}

static void rollback_reply(struct query *q)
{
    conn_send(q->session->conn, WIRE_DESCRIBED, q->request, &q->msg);
}

void op_rollback(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = { .name = "ROLLBACK",
                                            .access = ACCESS_WRITE,
                                            .settle = true,
                                            .writes = true,
                                            .work = rollback_work,
                                            .reply = rollback_reply };
    struct query *q = query_new(s, in->frame->request, &kind, &in->msg->rollback.run);
    if (q == NULL) {
        return;
    }
    if (query_take_selector(q, in->msg->rollback.selector) < 0) {
        struct err err = q->err;
        query_refuse(q, err.code, err.msg);
        return;
    }
    query_start(q);
}

/* ---- after a commit -------------------------------------------------------------------------- */

/* One at a time for a run; a commit meanwhile has it done once more. */
struct retention {
    struct run *run;
    struct job job;
    struct st_keep_done result;
    int rc;
    struct err err;
};

static void retention_work(struct job *job)
{
    struct retention *r = CONTAINER_OF(job, struct retention, job);
    const struct st_keep args = { .now_ns = keep_now_ns() };
    r->rc = st_keep(r->run->st, &args, &r->result, &r->err);
}

static void retention_log(const struct retention *r)
{
    const struct run_name *name = &r->run->name;
    if (r->rc < 0) {
        log_warn(
            "policy not done", "run=%" PRIu32 "/%s why=\"%s\"", name->uid, name->name, r->err.msg);
    } else if (r->result.removed_count > 0 || r->result.damaged_count > 0) {
        log_info("policy done",
                 "run=%" PRIu32 "/%s removed=%" PRIu64 " damaged=%" PRIu64,
                 name->uid,
                 name->name,
                 r->result.removed_count,
                 r->result.damaged_count);
    }
}

static void retention_done(struct job *job)
{
    struct retention *r = CONTAINER_OF(job, struct retention, job);
    struct run *run = r->run;
    struct ops *ops = run->ops;
    retention_log(r);
    free(r);
    run->keeping = false;
    if (run->keep_again && !ops->stopping) {
        keep_run(run);
    } else {
        keep_round_ended(ops, run);
    }
    bool waited_for = run->waits != NULL; /* who waits holds it */
    run_put(run);
    if (waited_for) {
        run_kick(run);
    }
    ops_check_stopped(ops);
}

void keep_run(struct run *run)
{
    run->keep_again = run->keeping;
    if (run->keeping) {
        return;
    }
    struct retention *r = calloc(1, sizeof *r);
    if (r == NULL) {
        log_warn("policy not done",
                 "run=%" PRIu32 "/%s why=\"no memory\"",
                 run->name.uid,
                 run->name.name);
        return;
    }
    r->run = run;
    r->job = (struct job){ .work = retention_work, .done = retention_done };
    run->keeping = true;
    run->holds++;
    pool_submit(run->writer, &r->job);
}
