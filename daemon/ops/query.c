/* query.c: a question on its way: its run is opened, what was sealed before it ends, a thread works
 * the answer out, the loop sends it. While it is under way its connection is not read: one question
 * at a time per connection, which also bounds what a client can pile up. Unless the connection has
 * an upload that is not sealed: that must go on, for its own deadline and because the question may
 * wait for a save that waits for it. Then the connection is read, and another question is refused.
 *
 * It is cancelled when its connection goes, or the daemon is to stop: wherever it waits or works,
 * it ends at the next step (ECANCELED, if the peer is still there). */
#include "ops/query.h"

#include <stdlib.h>

enum { QUERY_BEAT_MS = 2000 };

/* ---- how far they are ---- */

static void query_beat_session(struct session *s)
{
    for (struct query *q = s->queries; q != NULL; q = q->next) {
        if (q->kind->beat != NULL && s->conn != NULL && !q->parked) {
            q->kind->beat(q);
        }
    }
}

static void query_beat(uv_timer_t *timer)
{
    struct ops *ops = CONTAINER_OF(timer, struct ops, beat);
    for (struct session *s = ops->sessions; s != NULL; s = s->next) {
        query_beat_session(s);
    }
}

void query_beats_init(struct ops *ops)
{
    (void)uv_timer_init(ops->loop, &ops->beat);
}

static void query_enlist(struct query *q)
{
    struct session *s = q->session;
    struct ops *ops = s->ops;
    q->next = s->queries;
    s->queries = q;
    s->busy++;
    ops->query_count++;
    if (q->kind->beat != NULL && ops->beat_count++ == 0) {
        (void)uv_timer_start(&ops->beat, query_beat, QUERY_BEAT_MS, QUERY_BEAT_MS);
    }
}

static void query_delist(struct query *q)
{
    struct session *s = q->session;
    struct ops *ops = s->ops;
    struct query **at = &s->queries;
    while (*at != q) {
        at = &(*at)->next;
    }
    *at = q->next;
    s->busy--;
    ops->query_count--;
    if (q->kind->beat != NULL && --ops->beat_count == 0) {
        (void)uv_timer_stop(&ops->beat);
    }
}

/* ---- reading meanwhile ---- */

static bool query_is_beside_upload(const struct session *s)
{
    return s->upload != NULL && s->upload->seal_ticket == 0;
}

void query_pause_reading(struct session *s)
{
    for (struct query *q = s->queries; q != NULL && s->conn != NULL; q = q->next) {
        if (!q->pauses) {
            q->pauses = true;
            conn_pause(s->conn);
        }
    }
}

/* ---- the end ---- */

int query_check(const struct query *q, struct err *err)
{
    return atomic_load(&q->cancelled)
               ? err_set(err, -CAIRN_ECANCELED, "the daemon is stopping: connect again")
               : 0;
}

void query_cancel_all(struct session *s)
{
    for (struct query *q = s->queries; q != NULL; q = q->next) {
        atomic_store(&q->cancelled, true);
    }
}

static void query_free(struct query *q)
{
    struct session *s = q->session;
    struct ops *ops = s->ops;
    const bool pauses = q->pauses;
    query_delist(q);
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
    if (pauses && s->conn != NULL) {
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

/* ---- on its way ---- */

static void query_work(struct job *job)
{
    struct query *q = CONTAINER_OF(job, struct query, job);
    q->rc = query_check(q, &q->err);
    q->rc = q->rc < 0 ? q->rc : q->kind->work(q);
}

static void query_done(struct job *job);

static void query_submit(struct query *q)
{
    struct ops *ops = q->session->ops;
    q->parked = false;
    q->rc = query_check(q, &q->err);
    if (q->rc < 0) {
        query_end(q);
        return;
    }
    q->job = (struct job){ .work = query_work, .done = query_done };
    q->again = false;
    if (q->kind->before != NULL) {
        q->kind->before(q);
    }
    pool_submit(q->kind->writes   ? q->run->writer
                : q->kind->checks ? ops->checks
                                  : ops->queries,
                &q->job);
}

/* More follows what was sent, now that the peer has taken it; or nobody wants it any more. */
static void query_go_on(void *arg)
{
    query_submit(arg);
}

static void query_done(struct job *job)
{
    struct query *q = CONTAINER_OF(job, struct query, job);
    if (q->rc < 0 || !q->again) {
        query_end(q);
        return;
    }
    query_answer(q);
    q->parked = !atomic_load(&q->cancelled) && conn_wait_room(q->session->conn, query_go_on, q);
    if (!q->parked) {
        query_go_on(q);
    }
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
    q->wait.kept = q->kind->kept;
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
    } else if (query_is_beside_upload(s) && s->queries != NULL) {
        (void)err_set(&err,
                      -CAIRN_EBUSY,
                      "%s: beside an upload one question at a time, wait for the answer to the one "
                      "before",
                      kind->name);
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
    atomic_init(&q->cancelled, false);
    query_enlist(q);
    if (!query_is_beside_upload(s)) {
        query_pause_reading(s);
    }
    return q;
}

void query_start(struct query *q)
{
    if (q->name.name[0] == '\0') {
        query_submit(q);
        return;
    }
    q->wish = (struct run_wish){ .ready = query_run_ready, .uid = q->session->peer.uid };
    run_get(q->session->ops, &q->name, &q->wish);
}
