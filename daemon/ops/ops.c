/* ops.c: start and stop of what frames do. */
#include <stdlib.h>

#include "ops/ops_int.h"

static void ops_inbox_closed(struct inbox *inbox)
{
    struct ops *ops = CONTAINER_OF(inbox, struct ops, inbox);
    ops->inbox_open = false;
    ops->stopped(ops->stopped_ctx);
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
    ops->queries = pool_new("cairn-query", 2, &ops->inbox);
    ops->reads = pool_new("cairn-read", 2, &ops->inbox);
    ops->checks = pool_new("cairn-check", 1, &ops->inbox);
    ops->write_bufs = buf_pool_new(options->pool_bytes);
    ops->read_bufs = buf_pool_new(options->read_pool_bytes);
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
        ops->upload_count > 0 || !ops->inbox_open || ops->stopped == NULL) {
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
    run_close_all(ops);
    ops_check_stopped(ops);
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
