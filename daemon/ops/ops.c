/* ops.c: start and stop of what frames do. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/query.h"

static void ops_beat_closed(uv_handle_t *handle)
{
    struct ops *ops = CONTAINER_OF(handle, struct ops, beat);
    ops->stopped(ops->stopped_ctx);
}

static void ops_keep_timer_closed(uv_handle_t *handle)
{
    struct ops *ops = CONTAINER_OF(handle, struct ops, keep_timer);
    uv_close((uv_handle_t *)&ops->beat, ops_beat_closed);
}

static void ops_inbox_closed(struct inbox *inbox)
{
    struct ops *ops = CONTAINER_OF(inbox, struct ops, inbox);
    uv_close((uv_handle_t *)&ops->keep_timer, ops_keep_timer_closed);
}

int ops_new(uv_loop_t *loop,
            struct st *st,
            const struct ops_options *options,
            struct ops **ret,
            struct err *err)
{
    struct ops *ops = calloc(1, sizeof *ops);
    if (ops == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory for the daemon's state");
    }
    ops->loop = loop;
    ops->st = st;
    ops->options = *options;
    ops->start_ms = uv_now(loop);
    bump_init(&ops->scratch, 0);
    bump_init(&ops->peek, 0);
    if (inbox_init(&ops->inbox, loop) < 0) {
        free(ops);
        return err_set(err, -CAIRN_ENOMEM, "no wake-up handle for the loop");
    }
    ops->inbox_open = true;
    query_beats_init(ops);
    keep_rounds_init(ops);
    ops->queries = pool_new("cairn-query", 2, &ops->inbox);
    ops->reads = pool_new("cairn-read", 2, &ops->inbox);
    ops->checks = pool_new("cairn-check", 1, &ops->inbox);
    ops->write_bufs = buf_pool_new(options->pool_bytes, BUF_SHARE_WRITE);
    ops->read_bufs = buf_pool_new(options->read_pool_bytes, BUF_SHARE_READ);
    *ret = ops;
    if (ops->queries == NULL || ops->reads == NULL || ops->checks == NULL ||
        ops->write_bufs == NULL || ops->read_bufs == NULL) {
        /* The caller stops and frees: the inbox can only be closed through the loop. */
        return err_set(err,
                       -CAIRN_ENOMEM,
                       "no memory for buffers (pool %llu bytes, read pool %llu)",
                       (unsigned long long)options->pool_bytes,
                       (unsigned long long)options->read_pool_bytes);
    }
    return 0;
}

void ops_set_connections(struct ops *ops, const struct conn_set *set)
{
    ops->conns = set;
}

void ops_check_stopped(struct ops *ops)
{
    if (!ops->stopping || ops->runs != NULL || ops->query_count > 0 || ops->load_count > 0 ||
        ops->upload_count > 0 || ops->round != NULL || !ops->inbox_open || ops->stopped == NULL) {
        return;
    }
    ops->inbox_open = false;
    inbox_close(&ops->inbox, ops_inbox_closed);
}

static void ops_stop_session(struct session *s, const struct err *err)
{
    if (s->upload != NULL && s->upload->seal_ticket == 0) {
        upload_fail(s->upload, err);
    }
    if (s->load != NULL && s->load->streaming) {
        load_stop(s->load, err);
    }
    if (s->load != NULL) {
        load_release(s->load);
    }
    query_cancel_all(s);
    if (s->conn != NULL) {
        conn_end_wait(s->conn); /* a query that waits for its peer to read */
    }
}

void ops_stop(struct ops *ops, void (*stopped)(void *ctx), void *ctx)
{
    struct err err = { 0 };
    (void)err_set(
        &err, -CAIRN_ECANCELED, "the daemon is stopping: connect again and repeat the save");
    ops->stopping = true;
    ops->stopped = stopped;
    ops->stopped_ctx = ctx;
    struct session *next = NULL;
    for (struct session *s = ops->sessions; s != NULL; s = next) {
        next = s->next;
        ops_stop_session(s, &err);
    }
    resident_drop_all(ops);
    run_close_all(ops);
    ops_check_stopped(ops);
}

static void ops_log_uploads(const struct run *run)
{
    static const char *const states[UPLOAD_NR] = {
        [UPLOAD_WISHING] = "begins",
        [UPLOAD_BEGINNING] = "begins",
        [UPLOAD_RECEIVING] = "is received",
        [UPLOAD_SEALING] = "is checked",
        [UPLOAD_SEALED] = "waits for its commit",
        [UPLOAD_COMMITTING] = "commits",
        [UPLOAD_FAILED] = "is undone",
    };
    for (const struct upload *u = run->uploads; u != NULL; u = u->next) {
        log_error("save has not ended",
                  "run=%" PRIu32 "/%s step=%" PRIu64 " uid=%" PRIu32 " pid=%" PRId32
                  " what=\"%s\" chunks=%" PRIu32 "/%" PRIu32 " age_ms=%" PRIu64,
                  run->name.uid,
                  run->name.name,
                  u->boundary.step,
                  u->peer.uid,
                  u->peer.pid,
                  states[u->state],
                  u->next_chunk,
                  u->boundary.chunk_count,
                  u->begin_ms == 0 ? 0 : uv_now(run->ops->loop) - u->begin_ms);
    }
}

void ops_log_busy(const struct ops *ops)
{
    static const char *const states[] = {
        [RUN_OPENING] = "opens", [RUN_READY] = "is in use", [RUN_CLOSING] = "closes"
    };
    for (const struct run *run = ops->runs; run != NULL; run = run->next) {
        log_error("run is not closed",
                  "run=%" PRIu32 "/%s what=\"%s\" users=%u",
                  run->name.uid,
                  run->name.name,
                  states[run->state],
                  run->holds);
        ops_log_uploads(run);
    }
}

struct ops *ops_free(struct ops *ops)
{
    if (ops == NULL) {
        return NULL;
    }
    (void)pool_free(ops->queries);
    (void)pool_free(ops->reads);
    (void)pool_free(ops->checks);
    (void)buf_pool_free(ops->write_bufs);
    (void)buf_pool_free(ops->read_bufs);
    bump_fini(&ops->scratch);
    bump_fini(&ops->peek);
    free(ops);
    return NULL;
}
