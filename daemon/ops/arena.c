/* arena.c: memory lent to sessions. A lent arena is held by its session, and by the uploads whose
 * chunks lie in it: so what was sealed outlives its trainer. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/ops_int.h"

enum { ARENA_PER_SESSION = 4 };

static struct lent *arena_find(const struct session *s, uint32_t id)
{
    struct lent *l = s->arenas;
    while (l != NULL && l->id != id) {
        l = l->next;
    }
    return l;
}

struct lent *arena_hold(struct session *s, uint32_t id, struct err *err)
{
    struct lent *l = arena_find(s, id);
    if (l == NULL || !l->mapped) {
        (void)err_set(err,
                      -CAIRN_EINVAL,
                      "arena %" PRIu32 ": %s",
                      id,
                      l == NULL ? "none of this connection's" : "ARENA_MAPPED has not come yet");
        return NULL;
    }
    l->holds++;
    return l;
}

void arena_put(struct lent *l)
{
    if (l == NULL || --l->holds > 0) {
        return;
    }
    l->ops->arena_bytes -= arena_bytes(l->arena);
    l->user->bytes -= arena_bytes(l->arena);
    if (--l->user->arenas == 0) {
        struct arena_user **at = &l->ops->arena_users;
        while (*at != l->user) {
            at = &(*at)->next;
        }
        *at = l->user->next;
        free(l->user);
    }
    l->arena = arena_free(l->arena);
    free(l);
}

void arena_put_all(struct session *s)
{
    while (s->arenas != NULL) {
        struct lent *l = s->arenas;
        s->arenas = l->next;
        arena_put(l);
    }
}

/* ---- who has how much ---- */

static struct arena_user *arena_user_of(struct ops *ops, uint32_t uid)
{
    struct arena_user *u = ops->arena_users;
    while (u != NULL && u->uid != uid) {
        u = u->next;
    }
    if (u == NULL && (u = calloc(1, sizeof *u)) != NULL) {
        u->uid = uid;
        u->next = ops->arena_users;
        ops->arena_users = u;
    }
    return u;
}

static void arena_user_drop_empty(struct ops *ops)
{
    struct arena_user *u = ops->arena_users; /* a new one is the first */
    if (u != NULL && u->arenas == 0) {
        ops->arena_users = u->next;
        free(u);
    }
}

/* One user may have three quarters of it, root all. */
static int arena_check_quota(const struct session *s,
                             const struct arena_user *user,
                             uint64_t bytes,
                             struct err *err)
{
    const struct ops *ops = s->ops;
    uint64_t most = ops->options.arena_bytes;
    uint64_t share = s->peer.uid == 0 ? most : most / 4 * 3;
    unsigned count = 0;
    for (const struct lent *l = s->arenas; l != NULL; l = l->next) {
        count++;
    }
    if (most == 0) {
        return err_set(err, -CAIRN_ENOTSUP, "this daemon lends no arenas (--arena-bytes is 0)");
    }
    if (count == ARENA_PER_SESSION) {
        return err_set(err, -CAIRN_ELIMIT, "%d arenas for one connection are enough", count);
    }
    if (bytes > share) {
        return err_set(err,
                       -CAIRN_ELIMIT,
                       "an arena of %" PRIu64 " bytes: one user may have %" PRIu64
                       " in all (three quarters of --arena-bytes)",
                       bytes,
                       share);
    }
    if (user->bytes > share - bytes || ops->arena_bytes > most - bytes) {
        return err_set(err,
                       -CAIRN_EBUSY,
                       "an arena of %" PRIu64 " bytes: uid %" PRIu32 " has %" PRIu64 " of %" PRIu64
                       ", all users have %" PRIu64 " of %" PRIu64 " (--arena-bytes)",
                       bytes,
                       s->peer.uid,
                       user->bytes,
                       share,
                       ops->arena_bytes,
                       most);
    }
    return 0;
}

/* ---- the frames ---- */

/* NULL, and *err says why. */
static struct lent *arena_lend(struct session *s, uint64_t bytes, struct err *err)
{
    struct arena_user *user = arena_user_of(s->ops, s->peer.uid);
    struct lent *l = calloc(1, sizeof *l);
    if (user == NULL || l == NULL) {
        (void)err_set(err, -CAIRN_ENOMEM, "arena: no memory");
        goto fail;
    }
    if (arena_check_quota(s, user, bytes, err) < 0 || arena_new(bytes, &l->arena, err) < 0) {
        goto fail;
    }
    l->ops = s->ops;
    l->user = user;
    l->id = ++s->last_arena;
    l->holds = 1;
    l->next = s->arenas;
    s->arenas = l;
    user->arenas++;
    user->bytes += arena_bytes(l->arena);
    s->ops->arena_bytes += arena_bytes(l->arena);
    return l;

fail:
    free(l);
    arena_user_drop_empty(s->ops);
    return NULL;
}

void op_arena_open(struct session *s, const struct frame_in *in)
{
    struct err err = { 0 };
    struct lent *l = NULL;
    if (s->ops->stopping) {
        (void)err_set(&err, -CAIRN_ECANCELED, "the daemon is stopping: connect again");
    } else {
        l = arena_lend(s, in->msg->arena_open.bytes, &err);
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
    struct lent *l = arena_find(s, in->msg->arena_mapped.arena);
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
    struct lent **at = &s->arenas;
    while (*at != NULL && (*at)->id != in->msg->arena_close.arena) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        (void)err_set(&err, -CAIRN_EPROTO, "ARENA_CLOSE of no arena of this connection");
        session_fail(s, in->frame->request, &err);
        return;
    }
    struct lent *l = *at;
    *at = l->next;
    arena_put(l);
    conn_send(s->conn, WIRE_DONE, in->frame->request, in->msg);
}
