/* upload_commit.c: the end of a good upload. Boundaries of one run commit in the order in which
 * they were begun; a failed one steps aside. */
#include <inttypes.h>

#include "ops/ops_int.h"

static void upload_commit_work(struct job *job)
{
    struct upload *u = CONTAINER_OF(job, struct upload, job);
    u->rc = st_save_commit(&u->save, u->manifest, &u->boundary, &u->err);
}

static void upload_warn(const struct upload *u)
{
    if ((u->boundary.warnings & WARNING_STALE) != 0) {
        log_warn("stale",
                 "run=%" PRIu32 "/%s seq=%" PRIu64 " step=%" PRIu64
                 " text=\"nothing of what is trained changed since seq %" PRIu64
                 ": does the trainer capture a copy that is not refreshed?\"",
                 u->name.uid,
                 u->name.name,
                 u->boundary.seq,
                 u->boundary.step,
                 u->boundary.parent_seq);
    }
}

static void upload_commit_done(struct job *job)
{
    struct upload *u = CONTAINER_OF(job, struct upload, job);
    u->jobs--;
    if (u->rc < 0) {
        upload_fail(u, &u->err);
        return;
    }
    u->ops->committed_count++;
    resident_commit(u);
    log_info("committed",
             "run=%" PRIu32 "/%s seq=%" PRIu64 " step=%" PRIu64 " kind=%s bytes=%" PRIu64
             " shared=%" PRIu64 " entries=%" PRIu64 " path=%s%s%s%s ms=%" PRIu64,
             u->name.uid,
             u->name.name,
             u->boundary.seq,
             u->boundary.step,
             kind_name(u->boundary.kind),
             u->boundary.payload_bytes,
             u->boundary.bytes_shared,
             u->boundary.entry_count,
             u->arena != NULL ? "arena" : "inline",
             u->arena != NULL ? "" : " why=\"",
             u->arena != NULL ? "" : u->inline_why,
             u->arena != NULL ? "" : "\"",
             uv_now(u->ops->loop) - u->begin_ms);
    upload_warn(u);
    if (u->session != NULL && u->session->conn != NULL) {
        union wire_msg msg = { .committed = { .boundary = u->boundary } };
        fault_point("acknowledge");
        conn_send(u->session->conn, WIRE_COMMITTED, u->request, &msg);
    }
    keep_run(u->run);
    upload_free(u);
}

void upload_try_commit(struct upload *u)
{
    while (u != NULL && u->state == UPLOAD_FAILED) {
        u = u->next;
    }
    if (u == NULL || u->state != UPLOAD_SEALED || u->digested_chunks != u->boundary.chunk_count) {
        return;
    }
    upload_move(u, UPLOAD_COMMITTING);
    u->jobs++;
    u->job = (struct job){ .work = upload_commit_work, .done = upload_commit_done };
    pool_submit(u->run->writer, &u->job);
}
