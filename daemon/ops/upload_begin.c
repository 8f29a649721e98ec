/* upload_begin.c: BEGIN: which save this is, whether it is a new one, and space for it. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/ops_int.h"
#include "record/rules.h"
#include "wire/keep.h"

static void upload_begin_work(struct job *job)
{
    struct upload *u = CONTAINER_OF(job, struct upload, job);
    fault_point("begin");
    u->rc = st_save_state(u->run->st, u->boundary.save_id, u->boundary.rank, &u->known, &u->err);
    if (u->rc == 0 && u->known.state == SAVE_NONE && !atomic_load(&u->cancelled)) {
        u->rc = st_save_begin(u->run->st, &u->boundary, &u->save, &u->err);
    }
}

static void
upload_send_begun(struct session *s, uint32_t request, enum save_state state, uint64_t seq)
{
    union wire_msg msg = { .begun = { .state = state, .seq = seq } };
    conn_send(s->conn, WIRE_BEGUN, request, &msg);
}

/* The save id was used before: that is an answer, not a new upload. */
static void upload_answer_known(struct upload *u)
{
    struct session *s = u->session;
    struct err err = { 0 };
    if (u->known.state == SAVE_UNKNOWN) {
        (void)err_set(&err,
                      -CAIRN_EUNKNOWN,
                      "the commit of this save failed in its sync: restart the "
                      "daemon and verify run '%s'",
                      u->name.name);
    } else if (!digest_equal(&u->known.root, &u->boundary.root)) {
        (void)err_set(&err,
                      -CAIRN_ECONFLICT,
                      "run '%s': this save id is boundary seq %" PRIu64
                      " with other content: save under "
                      "a new id",
                      u->name.name,
                      u->known.seq);
    }
    if (err.code != 0) {
        upload_fail(u, &err);
        return;
    }
    upload_send_begun(s, u->request, u->known.state, u->known.seq);
    u->state = UPLOAD_FAILED; /* nothing was begun: just leave */
    upload_free(u);
}

static void upload_begin_done(struct job *job)
{
    struct upload *u = CONTAINER_OF(job, struct upload, job);
    u->jobs--;
    if (u->state == UPLOAD_FAILED) {
        upload_job_ended(u);
        return;
    }
    struct session *s = u->session;
    upload_unpause(u);
    if (u->rc < 0) {
        upload_fail(u, &u->err);
    } else if (u->known.state != SAVE_NONE) {
        upload_answer_known(u);
    } else {
        upload_move(u, UPLOAD_RECEIVING);
        u->begin_ms = uv_now(u->ops->loop);
        upload_clock(u);
        upload_send_begun(s, u->request, SAVE_RECEIVING, 0);
    }
}

enum save_state upload_find(const struct run *run, const uint8_t save_id[16], uint32_t rank)
{
    for (const struct upload *u = run->uploads; u != NULL; u = u->next) {
        if (u->state != UPLOAD_FAILED && u->boundary.rank == rank &&
            memcmp(u->boundary.save_id, save_id, sizeof u->boundary.save_id) == 0) {
            return u->seal_ticket != 0 ? SAVE_SEALED : SAVE_RECEIVING;
        }
    }
    return SAVE_NONE;
}

/* The session that waited for a sealed save until now is told that it does not any more. */
static void upload_displace(struct upload *sealed, const struct upload *by)
{
    struct err err = { 0 };
    struct session *s = sealed->session;
    if (s == NULL) {
        return;
    }
    (void)err_set(&err,
                  -CAIRN_ESUPERSEDED,
                  "a newer BEGIN (pid %" PRId32
                  ") of the same save of run '%s' waits for its commit "
                  "now: ask for the save id",
                  by->peer.pid,
                  by->name.name);
    s->upload = NULL;
    sealed->session = NULL;
    if (s->conn != NULL) {
        session_refuse(s, sealed->request, &err);
    }
}

/* The same save, sealed already: this session now waits for its end. */
static void upload_attach(struct upload *sealed, struct upload *u)
{
    struct session *s = u->session;
    struct err err = { 0 };
    upload_unpause(u);
    if (!digest_equal(&sealed->boundary.root, &u->boundary.root)) {
        (void)err_set(&err,
                      -CAIRN_ECONFLICT,
                      "run '%s': this save id is being committed with other "
                      "content: save under a new id",
                      u->name.name);
        upload_fail(u, &err);
        return;
    }
    upload_displace(sealed, u);
    sealed->session = s;
    sealed->request = u->request;
    s->upload = sealed;
    u->session = NULL;
    upload_send_begun(s, sealed->request, SAVE_SEALED, 0);
    u->state = UPLOAD_FAILED;
    upload_free(u);
}

/* Older uploads of the same rank that this BEGIN makes pointless: the same save again, or one of a
 * process that has been replaced. Returns the sealed one with the same id, if there is one. */
static struct upload *upload_supersede(struct upload *u)
{
    struct err err = { 0 };
    struct upload *next = NULL;
    (void)err_set(&err,
                  -CAIRN_ESUPERSEDED,
                  "a newer process (pid %" PRId32 ") of rank %" PRIu32 " began a save of run '%s'",
                  u->peer.pid,
                  u->boundary.rank,
                  u->name.name);
    for (struct upload *o = u->run->uploads; o != NULL; o = next) {
        bool same_id = memcmp(o->boundary.save_id, u->boundary.save_id, 16) == 0;
        next = o->next;
        if (o == u || o->state == UPLOAD_FAILED || o->boundary.rank != u->boundary.rank) {
            continue;
        }
        if (o->seal_ticket != 0 && same_id) {
            return o;
        }
        if (o->seal_ticket == 0 &&
            (same_id || (o->peer.uid == u->peer.uid && o->peer.pid != u->peer.pid))) {
            upload_fail(o, &err);
        }
    }
    return NULL;
}

/* A sealed save whose client has gone keeps a descriptor, its metadata and its bytes on the disk
 * until those begun before it have ended, and one that trickles may take long to: so many may wait
 * for it. Whose client is there, is one of a limited number of connections. */
static int upload_check_left(const struct upload *u, struct err *err)
{
    unsigned left = 0;
    for (const struct upload *o = u->run->uploads; o != NULL; o = o->next) {
        left += o->peer.uid == u->peer.uid && o->seal_ticket != 0 && o->session == NULL &&
                o->state != UPLOAD_FAILED;
    }
    return left < LIMIT_LEFT_SAVES
               ? 0
               : err_set(err,
                         -CAIRN_EBUSY,
                         "run '%s': %u sealed saves of uid %" PRIu32
                         ", whose clients have gone, wait for one that was begun before them: try "
                         "again when that has ended",
                         u->name.name,
                         left,
                         u->peer.uid);
}

static void upload_run_ready(struct run_wish *wish, struct run *run, const struct err *err)
{
    struct upload *u = CONTAINER_OF(wish, struct upload, wish);
    u->run = run;
    u->jobs--;
    if (u->state == UPLOAD_FAILED) {
        upload_job_ended(u);
        return;
    }
    if (run == NULL) {
        upload_fail(u, err);
        return;
    }
    struct upload **at = &run->uploads;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = u;
    upload_move(u, UPLOAD_BEGINNING);
    struct upload *sealed = upload_supersede(u);
    if (sealed != NULL) {
        upload_attach(sealed, u);
        return;
    }
    struct err busy = { 0 };
    if (upload_check_left(u, &busy) < 0) {
        upload_fail(u, &busy);
        return;
    }
    u->job = (struct job){ .work = upload_begin_work, .done = upload_begin_done };
    u->jobs++;
    pool_submit(run->writer, &u->job);
}

/* The announced boundary outlives the frame: its labels move into the upload's bump. */
static int upload_keep_boundary(struct upload *u, const struct boundary *b)
{
    u->boundary = *b;
    u->boundary.labels = keep_labels(&u->bump, b->labels, b->label_count);
    u->boundary.components = NULL; /* SEAL brings them, into the manifest */
    u->boundary.component_count = 0;
    return u->boundary.labels == NULL ? -CAIRN_ENOMEM : 0;
}

/* Its chunks lie in an arena of this session, if it says so. */
static int upload_take_arena(struct upload *u, uint32_t arena, struct err *err)
{
    if (arena == 0) {
        u->inline_why = arena_why_not(u->session, u->boundary.chunk_count > 0);
        return 0;
    }
    u->chunk_offsets = calloc(u->boundary.chunk_count + (size_t)1, sizeof *u->chunk_offsets);
    if (u->chunk_offsets == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "begin a save: no memory");
    }
    u->arena = arena_hold(u->session, arena, ARENA_SAVE, err);
    if (u->arena == NULL) {
        return err->code;
    }
    resident_overwritten(u);
    return 0;
}

static struct upload *upload_new(struct session *s,
                                 uint32_t request,
                                 const struct run_name *name,
                                 const struct wire_begin *begin,
                                 struct err *err)
{
    struct upload *u = calloc(1, sizeof *u);
    if (u == NULL) {
        (void)err_set(err, -CAIRN_ENOMEM, "begin a save: no memory");
        return NULL;
    }
    u->ops = s->ops;
    u->session = s;
    u->request = request;
    u->peer = s->peer;
    u->name = *name;
    bump_init(&u->bump, LIMIT_LABELS * 512 + COMPONENT_NR * 512 + 4096);
    int rc = upload_keep_boundary(u, &begin->boundary);
    if (rc < 0 || st_manifest_new(&u->boundary, &u->manifest, err) < 0) {
        rc = err_set(err, -CAIRN_ENOMEM, "begin a save: no memory");
    }
    if (rc == 0) {
        rc = upload_take_arena(u, begin->arena, err);
    }
    if (rc < 0) {
        u->manifest = st_manifest_free(u->manifest);
        free(u->chunk_offsets);
        bump_fini(&u->bump);
        free(u);
        return NULL;
    }
    (void)uv_timer_init(s->ops->loop, &u->timer);
    u->timer.data = u;
    s->ops->upload_count++;
    return u;
}

void op_begin(struct session *s, const struct frame_in *in)
{
    const struct wire_begin *begin = &in->msg->begin;
    struct run_name name;
    struct err err = { 0 };
    uint32_t request = in->frame->request;
    if (s->upload != NULL || (s->load != NULL && s->load->streaming)) {
        (void)err_set(&err,
                      -CAIRN_EPROTO,
                      "BEGIN while %s on this connection is under way",
                      s->upload != NULL ? "another save" : "a load");
        session_fail(s, request, &err);
        return;
    }
    if (s->ops->stopping) {
        (void)err_set(&err, -CAIRN_ECANCELED, "the daemon is stopping: connect again");
    } else if (access_check(s, begin->run, ACCESS_WRITE, &name, &err) == 0 &&
               rules_begin(&begin->boundary, &err) == 0) {
        s->upload = upload_new(s, request, &name, begin, &err);
    }
    if (s->upload == NULL) {
        s->ignoring = true;
        s->ignored_request = request;
        session_refuse(s, request, &err);
        return;
    }
    struct upload *u = s->upload;
    conn_pause(s->conn);
    u->paused = true;
    u->wish = (struct run_wish){ .ready = upload_run_ready, .create = true, .uid = s->peer.uid };
    u->jobs++;
    run_get(s->ops, &name, &u->wish);
}
