/* query.c: a question on its way: its run is opened, what was sealed before it ends, a thread works
 * the answer out, the loop sends it. While it is under way its connection is not read: one question
 * at a time per connection, which also bounds what a client can pile up. */
#include <stdlib.h>

#include "ops/ops_int.h"

static void query_free(struct query *q)
{
    struct session *s = q->session;
    struct ops *ops = s->ops;
    if (q->run != NULL) {
        run_put(q->run);
    }
    if (q->pinned != NULL) {
        load_unuse(q->pinned);
    }
    (void)st_load_close(q->load);
    bump_fini(&q->bump);
    free(q->list);
    free(q);
    ops->query_count--;
    s->busy--;
    if (s->conn != NULL) {
        conn_resume(s->conn);
    }
    session_maybe_free(s);
    ops_check_stopped(ops);
}

static void query_answer(struct query *q)
{
    struct session *s = q->session;
    if (s->conn == NULL) {
        return;
    }
    if (q->rc < 0) {
        session_refuse(s, q->request, &q->err);
    } else {
        q->kind->reply(q);
    }
}

static void query_end(struct query *q)
{
    query_answer(q);
    query_free(q);
}

void query_refuse(struct query *q, int code, const char *text)
{
    q->rc = err_set(&q->err, code, "%s", text);
    query_end(q);
}

static void query_work(struct job *job)
{
    struct query *q = CONTAINER_OF(job, struct query, job);
    q->rc = q->kind->work(q);
}

static void query_done(struct job *job);

static void query_submit(struct query *q)
{
    struct ops *ops = q->session->ops;
    q->job = (struct job){ .work = query_work, .done = query_done };
    q->again = false;
    if (q->kind->before != NULL) {
        q->kind->before(q);
    }
    pool_submit(q->kind->checks ? ops->checks : ops->queries, &q->job);
}

static void query_done(struct job *job)
{
    struct query *q = CONTAINER_OF(job, struct query, job);
    if (q->rc == 0 && q->again && q->session->conn != NULL && !q->session->ops->stopping) {
        query_answer(q);
        query_submit(q);
        return;
    }
    query_end(q);
}

static void query_settled(struct run_wait *wait)
{
    query_submit(CONTAINER_OF(wait, struct query, wait));
}

static void query_run_ready(struct run_wish *wish, struct run *run, const struct err *err)
{
    struct query *q = CONTAINER_OF(wish, struct query, wish);
    q->run = run;
    if (run == NULL) {
        q->err = *err;
        q->rc = err->code == -CAIRN_ENOENT && q->kind->missing_ok ? 0 : err->code;
        query_end(q);
        return;
    }
    q->wait.settled = query_settled;
    if (q->kind->settle) {
        run_settle(run, &q->wait);
    } else {
        query_submit(q);
    }
}

/* Copy the selector's text, then parse the copy: its label points into it. */
int query_take_selector(struct query *q, struct slice text)
{
    if (text.bytes > LIMIT_SELECTOR_BYTES) {
        return err_set(&q->err,
                       -CAIRN_EINVAL,
                       "selector of %zu bytes, at most %u",
                       text.bytes,
                       LIMIT_SELECTOR_BYTES);
    }
    memcpy(q->text, text.data == NULL ? "" : text.data, text.bytes);
    q->text[text.bytes] = '\0';
    return selector_parse(slice_of(q->text, text.bytes), &q->selector, &q->err);
}

struct query *query_new(struct session *s,
                        uint32_t request,
                        const struct query_kind *kind,
                        const struct slice *run)
{
    struct err err = { 0 };
    struct query *q = NULL;
    if (s->ops->stopping) {
        (void)err_set(&err, -CAIRN_ECANCELED, "the daemon is stopping: connect again");
    } else if ((q = calloc(1, sizeof *q)) == NULL) {
        (void)err_set(&err, -CAIRN_ENOMEM, "%s: no memory", kind->name);
    } else if (run != NULL) {
        (void)access_check(s, *run, kind->access, &q->name, &err);
    }
    if (q == NULL || err.code != 0) {
        free(q);
        session_refuse(s, request, &err);
        return NULL;
    }
    q->kind = kind;
    q->session = s;
    q->request = request;
    bump_init(&q->bump, 64u << 20);
    s->busy++;
    s->ops->query_count++;
    conn_pause(s->conn);
    return q;
}

void query_start(struct query *q)
{
    if (q->name.name[0] == '\0') {
        query_submit(q);
        return;
    }
    q->wish = (struct run_wish){ .ready = query_run_ready };
    run_get(q->session->ops, &q->name, &q->wish);
}
