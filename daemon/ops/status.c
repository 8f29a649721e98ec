/* status.c: STATUS: how the daemon is, and what needs a hand. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "ops/ops_int.h"

#define STATUS_ATTENTION 16u

struct status_notes {
    char text[STATUS_ATTENTION][256];
    struct slice slice[STATUS_ATTENTION];
    uint32_t count;
};

static void status_note(struct status_notes *n, const char *fmt, ...) ERR_PRINTF(2, 3);
static void status_note(struct status_notes *n, const char *fmt, ...)
{
    if (n->count == STATUS_ATTENTION) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(n->text[n->count], sizeof n->text[0], fmt, args);
    va_end(args);
    n->slice[n->count] = slice_str(n->text[n->count]);
    n->count++;
}

static int status_count_run(void *arg, const struct st_run_row *row)
{
    (void)row;
    (*(uint64_t *)arg)++;
    return 0;
}

/* On a thread: the catalogue and the file system may block. */
static int status_work(struct query *q)
{
    struct wire_status_info *info = &q->msg.status_info;
    const char *why = "";
    info->data_dir = slice_str(st_dir(q->session->ops->st));
    info->io_mode = slice_str(st_io_mode(q->session->ops->st, &why));
    info->io_why = slice_str(why);
    int rc =
        st_space(q->session->ops->st, &info->disk_free_bytes, &info->disk_total_bytes, &q->err);
    if (rc < 0) {
        return rc;
    }
    return st_runs(q->session->ops->st, UINT32_MAX, status_count_run, &info->run_count, &q->err);
}

static void status_attention(const struct ops *ops,
                             const struct wire_status_info *info,
                             struct status_notes *notes)
{
    for (const struct run *run = ops->runs; run != NULL; run = run->next) {
        if (run->state == RUN_READY && st_run_poisoned(run->st)) {
            status_note(notes,
                        "run %" PRIu32 "/%s is read-only after a failed write: check the disk, "
                        "restart cairnd, then `cairn verify %s`",
                        run->name.uid,
                        run->name.name,
                        run->name.name);
        }
    }
    if (info->disk_free_bytes < info->disk_total_bytes / 20) {
        status_note(notes,
                    "the disk of %.*s is nearly full (%" PRIu64 " MiB free): free some space or "
                    "drop runs",
                    (int)info->data_dir.bytes,
                    (const char *)info->data_dir.data,
                    info->disk_free_bytes >> 20);
    }
}

static void status_reply(struct query *q)
{
    const struct ops *ops = q->session->ops;
    struct wire_status_info *info = &q->msg.status_info;
    struct status_notes notes = { .count = 0 };
    info->server = slice_str(ops->options.server);
    info->pid = (uint64_t)getpid();
    info->uptime_ms = uv_now(ops->loop) - ops->start_ms;
    info->open_run_count = ops->run_count;
    info->connection_count = ops->conns == NULL ? 0 : conn_set_count(ops->conns);
    info->upload_count = ops->upload_count;
    info->pool_bytes = buf_pool_bytes(ops->write_bufs);
    info->pool_used_bytes = buf_pool_used_bytes(ops->write_bufs);
    info->committed_count = ops->committed_count;
    info->failed_count = ops->failed_count;
    status_attention(ops, info, &notes);
    info->attention = notes.slice;
    info->attention_count = notes.count;
    conn_send(q->session->conn, WIRE_STATUS_INFO, q->request, &q->msg);
}

void op_status(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = { .name = "STATUS",
                                            .work = status_work,
                                            .reply = status_reply };
    struct query *q = query_new(s, in->frame->request, &kind, NULL);
    if (q != NULL) {
        query_start(q);
    }
}
