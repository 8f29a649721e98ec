/* status.c: STATUS: how the daemon is, and what needs a hand. Of runs, root is told of everybody's,
 * anybody else of their own. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ops/query.h"

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

static bool status_tells(const struct session *s, uint32_t owner)
{
    return s->peer.uid == 0 || s->peer.uid == owner;
}

static int status_run(void *arg, const struct st_run_row *row)
{
    struct query *q = arg;
    q->msg.status_info.run_count += row->run.boundary_count > 0;
    if (row->poisoned) {
        status_note(q->list,
                    "run %" PRIu32 "/%.*s is read-only after a failed write: check the disk, "
                    "restart cairnd, then `cairn verify %" PRIu32 "/%.*s`",
                    row->uid,
                    (int)row->name.bytes,
                    (const char *)row->name.data,
                    row->uid,
                    (int)row->name.bytes,
                    (const char *)row->name.data);
    }
    return 0;
}

/* On a thread: the catalogue and the file system may block. */
static int status_work(struct query *q)
{
    struct wire_status_info *info = &q->msg.status_info;
    const struct session *s = q->session;
    const char *why = "";
    q->list = calloc(1, sizeof(struct status_notes));
    if (q->list == NULL) {
        return err_set(&q->err, -CAIRN_ENOMEM, "STATUS: no memory");
    }
    info->data_dir = slice_str(st_dir(s->ops->st));
    info->io_mode = slice_str(st_io_mode(s->ops->st, &why));
    info->io_why = slice_str(why);
    int rc = st_space(s->ops->st, &info->disk_free_bytes, &info->disk_total_bytes, &q->err);
    if (rc < 0) {
        return rc;
    }
    uint32_t whose = s->peer.uid == 0 ? UINT32_MAX : s->peer.uid;
    return st_runs(s->ops->st, whose, status_run, q, &q->err);
}

static void status_disk(const struct wire_status_info *info, struct status_notes *notes)
{
    if (info->disk_free_bytes < info->disk_total_bytes / 20) {
        status_note(notes,
                    "the disk of %.*s is nearly full (%" PRIu64 " MiB free): free some space or "
                    "drop runs",
                    (int)info->data_dir.bytes,
                    (const char *)info->data_dir.data,
                    info->disk_free_bytes >> 20);
    }
}

static void status_arenas(const struct session *s, struct wire_status_info *info)
{
    struct arena_sums sums = arena_sum(s);
    info->arena_bytes = s->ops->options.arena_bytes;
    info->arena_share_bytes = sums.share_bytes;
    info->arena_lent_bytes = sums.all_bytes;
    info->arena_own_bytes = sums.uid_bytes;
    info->arena_count = sums.count;
    info->ring_count = sums.rings;
    info->resident_bytes = s->ops->options.resident_bytes;
    info->resident_kept_bytes = sums.kept_bytes;
    info->resident_count = sums.kept_count;
}

static void status_reply(struct query *q)
{
    const struct ops *ops = q->session->ops;
    struct wire_status_info *info = &q->msg.status_info;
    struct status_notes *notes = q->list;
    info->server = slice_str(ops->options.server);
    info->pid = (uint64_t)getpid();
    info->uptime_ms = uv_now(ops->loop) - ops->start_ms;
    for (const struct run *run = ops->runs; run != NULL; run = run->next) {
        info->open_run_count += status_tells(q->session, run->name.uid);
    }
    info->connection_count = ops->conns == NULL ? 0 : conn_set_count(ops->conns);
    info->upload_count = ops->upload_count;
    info->pool_bytes = buf_pool_bytes(ops->write_bufs);
    info->pool_used_bytes = buf_pool_used_bytes(ops->write_bufs);
    info->committed_count = ops->committed_count;
    info->failed_count = ops->failed_count;
    status_arenas(q->session, info);
    status_disk(info, notes);
    info->attention = notes->slice;
    info->attention_count = notes->count;
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
