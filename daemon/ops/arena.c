/* arena.c: memory lent to sessions. A lent arena is held by its session, by the uploads whose
 * chunks lie in it (so what was sealed outlives its trainer), by the load that reads into it, and
 * by the record that stays in it (resident.c).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/ops_int.h"

/* What a library wants: four for saves, a ring, and one to read from. */
enum { ARENA_PER_SESSION = 6 };

struct lent *arena_find(const struct session *s, uint32_t id)
{
    struct lent *l = s->ops->lents;
    while (l != NULL && (l->session != s || l->id != id)) {
        l = l->next;
    }
    return l;
}

/* What is wrong with it; NULL: nothing. */
static const char *arena_wrong(const struct lent *l, enum arena_use use)
{
    if (l == NULL) {
        return "none of this connection's";
    }
    if (l->read != NULL) {
        return "it is lent for reading only, nothing else";
    }
    if (!l->mapped) {
        return "ARENA_MAPPED has not come yet";
    }
    if (arena_use(l->arena) != use) {
        return use == ARENA_RING ? "it is for saves, not a ring" : "it is a ring, for loads only";
    }
    return NULL;
}

struct lent *arena_hold(struct session *s, uint32_t id, enum arena_use use, struct err *err)
{
    struct lent *l = arena_find(s, id);
    const char *wrong = arena_wrong(l, use);
    if (wrong != NULL) {
        (void)err_set(err, -CAIRN_EINVAL, "arena %" PRIu32 ": %s", id, wrong);
        return NULL;
    }
    l->holds++;
    return l;
}

void arena_put(struct lent *l)
{
    if (l == NULL) {
        return;
    }
    if (--l->holds > 0) {
        resident_given_back(l);
        return;
    }
    struct lent **at = &l->ops->lents;
    while (*at != l) {
        at = &(*at)->next;
    }
    *at = l->next;
    if (l->read != NULL) {
        resident_unread(l->read);
    } else {
        l->arena = arena_free(l->arena);
    }
    free(l);
}

/* An upload or a load may use it still. */
static void arena_give_back(struct lent *l)
{
    l->session = NULL;
    arena_put(l);
}

static struct lent *arena_any(const struct session *s)
{
    struct lent *l = s->ops->lents;
    while (l != NULL && l->session != s) {
        l = l->next;
    }
    return l;
}

/* One by one from the start: with each, others may go. */
void arena_put_all(struct session *s)
{
    for (struct lent *l = arena_any(s); l != NULL; l = arena_any(s)) {
        arena_give_back(l);
    }
}

/* ---- who has how much ---- */

static void arena_add(struct arena_sums *sums, const struct lent *l, bool own)
{
    uint64_t bytes = arena_bytes(l->arena);
    if (resident_keeps(l)) {
        sums->kept_bytes += bytes;
        sums->uid_kept_bytes += own ? bytes : 0;
        sums->kept_count++;
        return;
    }
    sums->all_bytes += bytes;
    sums->uid_bytes += own ? bytes : 0;
    sums->count++;
    sums->rings += arena_use(l->arena) == ARENA_RING;
}

/* One user may have three quarters of it, root all. */
struct arena_sums arena_sum(const struct session *s)
{
    uint64_t most = s->ops->options.arena_bytes;
    struct arena_sums sums = { .share_bytes = s->peer.uid == 0 ? most : most / 4 * 3 };
    for (const struct lent *l = s->ops->lents; l != NULL; l = l->next) {
        sums.session_count += l->session == s;
        if (l->read == NULL) {
            arena_add(&sums, l, l->uid == s->peer.uid);
        }
    }
    return sums;
}

int arena_check_count(const struct session *s, struct err *err)
{
    return arena_sum(s).session_count < ARENA_PER_SESSION
               ? 0
               : err_set(err,
                         -CAIRN_ELIMIT,
                         "%d arenas for one connection are enough",
                         ARENA_PER_SESSION);
}

/* So much more of it: what resident records keep, goes first. */
static void arena_make_room(const struct session *s, uint64_t bytes)
{
    uint64_t most = s->ops->options.arena_bytes;
    struct arena_sums sums = arena_sum(s);
    /* What is lent is not taken away: without need nothing goes. */
    bool more = sums.uid_bytes <= sums.share_bytes - bytes && sums.all_bytes <= most - bytes;
    while (more) {
        sums = arena_sum(s);
        uint64_t uid_bytes = sums.uid_bytes + sums.uid_kept_bytes;
        uint64_t all_bytes = sums.all_bytes + sums.kept_bytes;
        if (uid_bytes > sums.share_bytes - bytes) {
            more = resident_make_room(s->ops, &s->peer.uid);
        } else {
            more = all_bytes > most - bytes && resident_make_room(s->ops, NULL);
        }
    }
}

static int arena_check_quota(const struct session *s, uint64_t bytes, struct err *err)
{
    uint64_t most = s->ops->options.arena_bytes;
    struct arena_sums sums = arena_sum(s);
    if (most == 0) {
        return err_set(err, -CAIRN_ENOTSUP, "this daemon lends no arenas (--arena-bytes is 0)");
    }
    if (arena_check_count(s, err) < 0) {
        return err->code;
    }
    if (bytes > sums.share_bytes) {
        return err_set(err,
                       -CAIRN_ELIMIT,
                       "an arena of %" PRIu64 " bytes: one user may have %" PRIu64
                       " in all (three quarters of --arena-bytes)",
                       bytes,
                       sums.share_bytes);
    }
    arena_make_room(s, bytes);
    sums = arena_sum(s);
    sums.uid_bytes += sums.uid_kept_bytes;
    sums.all_bytes += sums.kept_bytes;
    if (sums.uid_bytes > sums.share_bytes - bytes || sums.all_bytes > most - bytes) {
        return err_set(err,
                       -CAIRN_EBUSY,
                       "an arena of %" PRIu64 " bytes: uid %" PRIu32 " has %" PRIu64 " of %" PRIu64
                       ", all users have %" PRIu64 " of %" PRIu64 " (--arena-bytes)",
                       bytes,
                       s->peer.uid,
                       sums.uid_bytes,
                       sums.share_bytes,
                       sums.all_bytes,
                       most);
    }
    return 0;
}

static bool arena_for_saves(const struct session *s)
{
    const struct lent *l = s->ops->lents;
    while (l != NULL && (l->session != s || arena_use(l->arena) != ARENA_SAVE)) {
        l = l->next;
    }
    return l != NULL;
}

const char *arena_why_not(const struct session *s, bool chunks)
{
    if (!chunks) {
        return "all of it is small";
    }
    switch (s->arena_refused) {
    case 0:
        break;
    case -CAIRN_ENOTSUP:
        return "this daemon lends no arenas";
    case -CAIRN_EBUSY:
        return "an arena was refused: what may be lent is used up";
    case -CAIRN_ELIMIT:
        return "an arena was refused: over the limit of one user or connection";
    default:
        return "an arena could not be made";
    }
    if (!s->arena_asked) {
        return "its connection has asked for no arena yet";
    }
    return arena_for_saves(s) ? "it lies in none of the arenas of its connection"
                              : "its connection has given its arenas back";
}

/* ---- the frames ---- */

void arena_enlist(struct lent *l, struct session *s)
{
    l->ops = s->ops;
    l->session = s;
    l->uid = s->peer.uid;
    l->id = ++s->last_arena;
    l->holds = 1;
    l->next = s->ops->lents;
    s->ops->lents = l;
}

/* NULL, and *err says why. */
static struct lent *
arena_lend(struct session *s, const struct wire_arena_open *asked, struct err *err)
{
    enum arena_use use = asked->ring ? ARENA_RING : ARENA_SAVE;
    if (arena_check_quota(s, asked->bytes, err) < 0) {
        return NULL;
    }
    struct lent *l = calloc(1, sizeof *l);
    if (l == NULL) {
        (void)err_set(err, -CAIRN_ENOMEM, "arena: no memory");
        return NULL;
    }
    if (arena_new(asked->bytes, use, &l->arena, err) < 0) {
        free(l);
        return NULL;
    }
    arena_enlist(l, s);
    return l;
}

void op_arena_open(struct session *s, const struct frame_in *in)
{
    struct err err = { 0 };
    struct lent *l = NULL;
    if (s->ops->stopping) {
        (void)err_set(&err, -CAIRN_ECANCELED, "the daemon is stopping: connect again");
    } else {
        l = arena_lend(s, &in->msg->arena_open, &err);
    }
    if (!in->msg->arena_open.ring) {
        s->arena_asked = true;
        s->arena_refused = l == NULL ? err.code : 0;
    }
    if (l == NULL) {
        session_refuse(s, in->frame->request, &err);
        return;
    }
    union wire_msg msg = { .arena = { .arena = l->id, .bytes = arena_bytes(l->arena) } };
    conn_send_fd(s->conn, WIRE_ARENA, in->frame->request, &msg, arena_fd(l->arena));
}

void op_arena_mapped(struct session *s, const struct frame_in *in)
{
    struct err err = { 0 };
    struct lent *l = arena_find(s, in->msg->arena_ref.arena);
    if (l == NULL || l->mapped) {
        (void)err_set(&err, -CAIRN_EPROTO, "ARENA_MAPPED of no arena that waits for it");
        session_fail(s, in->frame->request, &err);
        return;
    }
    if (arena_lock(l->arena, &err) < 0) {
        session_refuse(s, in->frame->request, &err);
        return;
    }
    l->mapped = true;
    conn_send(s->conn, WIRE_DONE, in->frame->request, in->msg);
}

void op_arena_close(struct session *s, const struct frame_in *in)
{
    struct err err = { 0 };
    struct lent *l = arena_find(s, in->msg->arena_ref.arena);
    if (l == NULL) {
        (void)err_set(&err, -CAIRN_EPROTO, "ARENA_CLOSE of no arena of this connection");
        session_fail(s, in->frame->request, &err);
        return;
    }
    l->closed = true;
    arena_give_back(l);
    conn_send(s->conn, WIRE_DONE, in->frame->request, in->msg);
}
