/* upload.c: the life of a part under way, from BEGIN to its end.
 *
 * Happy path: WISHING for the run, BEGINNING (the writer looks the save id up and allocates space),
 * RECEIVING, SEALING (from here on it survives its trainer; the helper checks the manifest),
 * SEALED, COMMITTING, gone.
 * Else: FAILED. Its session is told, jobs on other threads are asked to skip, and when the last has
 * ended the writer unlinks what there is. Until then it keeps its place in the run's line, but
 * steps aside for those behind it. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/query.h"

#define BIT(state) (1u << (state))

static const unsigned upload_next[UPLOAD_NR] = {
    [UPLOAD_WISHING] = BIT(UPLOAD_BEGINNING) | BIT(UPLOAD_FAILED),
    [UPLOAD_BEGINNING] = BIT(UPLOAD_RECEIVING) | BIT(UPLOAD_FAILED),
    [UPLOAD_RECEIVING] = BIT(UPLOAD_SEALING) | BIT(UPLOAD_FAILED),
    [UPLOAD_SEALING] = BIT(UPLOAD_SEALED) | BIT(UPLOAD_FAILED),
    [UPLOAD_SEALED] = BIT(UPLOAD_COMMITTING) | BIT(UPLOAD_FAILED),
    [UPLOAD_COMMITTING] = BIT(UPLOAD_FAILED),
    [UPLOAD_FAILED] = 0,
};

void upload_move(struct upload *u, enum upload_state to)
{
    assert(upload_next[u->state] & BIT(to));
    u->state = to;
}

static void upload_unlink(struct upload *u)
{
    for (struct upload **at = &u->run->uploads; *at != NULL; at = &(*at)->next) {
        if (*at == u) {
            *at = u->next;
            return;
        }
    }
}

static void upload_closed(uv_handle_t *handle)
{
    struct upload *u = handle->data;
    struct ops *ops = u->ops;
    free(u);
    ops->upload_count--;
    ops_check_stopped(ops);
}

void upload_free(struct upload *u)
{
    struct run *run = u->run;
    if (u->session != NULL) {
        u->session->upload = NULL;
        u->session = NULL;
    }
    u->manifest = st_manifest_free(u->manifest);
    arena_put(u->arena);
    free(u->chunk_offsets);
    bump_fini(&u->bump);
    if (run != NULL) {
        upload_unlink(u);
        run_kick(run);
        run_put(run);
    }
    uv_close((uv_handle_t *)&u->timer, upload_closed);
}

static void upload_abort_work(struct job *job)
{
    struct upload *u = CONTAINER_OF(job, struct upload, job);
    u->save = st_save_abort(u->save);
}

static void upload_abort_done(struct job *job)
{
    struct upload *u = CONTAINER_OF(job, struct upload, job);
    upload_free(u);
}

/* A job of this upload has ended: a failed one goes when the last has. */
void upload_job_ended(struct upload *u)
{
    if (u->state != UPLOAD_FAILED || u->jobs > 0) {
        return;
    }
    if (u->save == NULL) {
        upload_free(u);
        return;
    }
    u->job = (struct job){ .work = upload_abort_work, .done = upload_abort_done };
    pool_submit(u->run->writer, &u->job);
}

void upload_unpause(struct upload *u)
{
    if (u->paused && u->session != NULL && u->session->conn != NULL) {
        conn_resume(u->session->conn);
    }
    u->paused = false;
}

/* What its client still sends is thrown away, from this very byte on. */
static void upload_leave_session(struct upload *u)
{
    struct session *s = u->session;
    u->session = NULL;
    s->upload = NULL;
    s->ignoring = true;
    s->ignored_request = u->request;
    if (s->conn == NULL) {
        return;
    }
    query_pause_reading(s);
    conn_discard(s->conn);
    if (u->no_buffer) {
        buf_leave(u->ops->write_bufs, &s->write_user);
        conn_resume(s->conn);
    }
}

/* From any state but FAILED. The wish, and the jobs that are under way, call back. */
static void upload_give_up(struct upload *u)
{
    atomic_store(&u->cancelled, true);
    upload_move(u, UPLOAD_FAILED);
    u->ops->failed_count++;
    upload_clock(u);
    upload_unpause(u);
    if (u->session != NULL) {
        upload_leave_session(u);
    }
    upload_job_ended(u);
}

void upload_fail(struct upload *u, const struct err *err)
{
    log_warn("save failed",
             "run=%" PRIu32 "/%s step=%" PRIu64 " uid=%" PRIu32 " error=%s why=\"%s\"",
             u->name.uid,
             u->name.name,
             u->boundary.step,
             u->peer.uid,
             cairn_error_name(err->code),
             err->msg);
    if (u->session != NULL && u->session->conn != NULL) {
        conn_refuse(u->session->conn, u->request, err);
    }
    upload_give_up(u);
}

void upload_orphan(struct upload *u, const char *reason)
{
    if (u->seal_ticket != 0) {
        u->session->upload = NULL;
        u->session = NULL;
        return;
    }
    log_warn("upload aborted",
             "run=%" PRIu32 "/%s step=%" PRIu64 " uid=%" PRIu32 " chunks=%" PRIu32 "/%" PRIu32
             " why=\"%s\"",
             u->name.uid,
             u->name.name,
             u->boundary.step,
             u->peer.uid,
             u->next_chunk,
             u->boundary.chunk_count,
             reason);
    upload_give_up(u);
}
