/* resident.c: the last committed record of a run, as long as it lies in an arena: the next trainer
 * of the same uid need not read it from the disk.
 *
 * It is noted with its commit, and lives with its trainer at no cost: the arena is lent anyway.
 * When the trainer has gone, its memory is kept, at most so much in all (--resident-bytes, what was
 * used last goes last), until the next commit of the run, or until somebody wants to be lent what
 * it takes. While somebody reads it, it counts as lent, to the uid whose it is. Nobody vouches for
 * what is in it: its trainer could write there until it died, and may have begun the next capture.
 * Who reads it checks the digests, which come from the store, and goes to the disk where they do
 * not match. It can only be read: it was sealed against new writable mappings. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/ops_int.h"

#define RESIDENT_CHUNK_BYTES (UINT64_C(1) << 20)
#define RESIDENT_CHUNKS_LEAST 64u
/* Each is a descriptor and a mapping of the daemon's. */
#define RESIDENT_MOST 256u

struct resident {
    struct ops *ops;
    struct run_name name;
    struct lent *lent; /* in whose arena it lies: held */
    uint64_t seq;
    struct digest root;
    uint64_t *offsets; /* of each chunk in the arena */
    uint32_t chunk_count;
    unsigned readers;
    bool listed; /* false: dropped, and stays until its last reader has gone */
    struct resident *next;
};

bool resident_keeps(const struct lent *l)
{
    return l->session == NULL && l->resident != NULL && l->holds == 1 && l->resident->readers == 0;
}

/* ---- the end ---- */

static void resident_free(struct resident *r)
{
    struct lent *l = r->lent;
    l->resident = NULL;
    free(r->offsets);
    free(r);
    arena_put(l);
}

static void resident_drop(struct resident *r, enum log_level level, const char *why)
{
    struct resident **at = &r->ops->residents;
    while (*at != r) {
        at = &(*at)->next;
    }
    *at = r->next;
    r->listed = false;
    LOG_AT(level,
           "resident record dropped",
           "run=%" PRIu32 "/%s seq=%" PRIu64 " bytes=%" PRIu64 " readers=%u why=\"%s\"",
           r->name.uid,
           r->name.name,
           r->seq,
           arena_bytes(r->lent->arena),
           r->readers,
           why);
    if (r->readers == 0) {
        resident_free(r);
    }
}

static struct resident *resident_of_run(const struct ops *ops, const struct run_name *name)
{
    struct resident *r = ops->residents;
    while (r != NULL && (r->name.uid != name->uid || strcmp(r->name.name, name->name) != 0)) {
        r = r->next;
    }
    return r;
}

void resident_drop_run(struct ops *ops, const struct run_name *name)
{
    struct resident *r = resident_of_run(ops, name);
    if (r != NULL) {
        resident_drop(r, LOG_LEVEL_INFO, "its run is dropped");
    }
}

void resident_drop_all(struct ops *ops)
{
    while (ops->residents != NULL) {
        resident_drop(ops->residents, LOG_LEVEL_DEBUG, "the daemon is stopping");
    }
}

/* ---- room ---- */

/* The one that was not used for longest, and that somebody can do without. */
static struct resident *resident_last(struct ops *ops, const uint32_t *uid)
{
    struct resident *last = NULL;
    for (struct resident *r = ops->residents; r != NULL; r = r->next) {
        bool wanted = uid == NULL || r->lent->uid == *uid;
        last = wanted && r->readers == 0 && resident_keeps(r->lent) ? r : last;
    }
    return last;
}

bool resident_make_room(struct ops *ops, const uint32_t *uid)
{
    struct resident *r = resident_last(ops, uid);
    if (r == NULL) {
        return false;
    }
    resident_drop(r, LOG_LEVEL_INFO, "its memory is wanted for an arena");
    return true;
}

static bool resident_too_much(const struct ops *ops)
{
    uint64_t bytes = 0;
    unsigned count = 0;
    for (const struct lent *l = ops->lents; l != NULL; l = l->next) {
        bytes += resident_keeps(l) ? arena_bytes(l->arena) : 0;
        count += resident_keeps(l);
    }
    return bytes > ops->options.resident_bytes || count > RESIDENT_MOST;
}

/* What is being read is lent: it counts as that, and goes for nobody. */
static void resident_trim(struct ops *ops)
{
    struct resident *r = resident_last(ops, NULL);
    while (r != NULL && resident_too_much(ops)) {
        resident_drop(r, LOG_LEVEL_INFO, "more would stay than may (--resident-bytes)");
        r = resident_last(ops, NULL);
    }
}

void resident_given_back(struct lent *l)
{
    const struct resident *r = l->resident;
    if (!resident_keeps(l) || !r->listed) {
        return;
    }
    if (l->closed) {
        resident_drop(l->resident, LOG_LEVEL_DEBUG, "its arena was given back");
        return;
    }
    if (arena_bytes(l->arena) > l->ops->options.resident_bytes) { /* others need not go for it */
        resident_drop(l->resident, LOG_LEVEL_INFO, "its arena is larger than --resident-bytes");
        return;
    }
    log_info("resident record stays",
             "run=%" PRIu32 "/%s seq=%" PRIu64 " bytes=%" PRIu64,
             r->name.uid,
             r->name.name,
             r->seq,
             arena_bytes(l->arena));
    resident_trim(l->ops);
}

void resident_unread(struct resident *r)
{
    if (--r->readers > 0) {
        return;
    }
    if (r->listed) {
        resident_trim(r->ops);
    } else {
        resident_free(r);
    }
}

/* ---- the beginning ---- */

/* The places are the daemon's own memory: chunks may share bytes, so that there can be any number
 * of them in an arena. What a library packs has no more than this. */
static bool resident_is_packed(const struct upload *u)
{
    return u->boundary.chunk_count <=
           arena_bytes(u->arena->arena) / RESIDENT_CHUNK_BYTES + RESIDENT_CHUNKS_LEAST;
}

static struct resident *resident_new(struct upload *u)
{
    struct resident *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    *r = (struct resident){ .ops = u->ops,
                            .name = u->name,
                            .lent = u->arena,
                            .seq = u->boundary.seq,
                            .root = u->boundary.root,
                            .offsets = u->chunk_offsets,
                            .chunk_count = u->boundary.chunk_count,
                            .listed = true,
                            .next = u->ops->residents };
    u->chunk_offsets = NULL;
    u->ops->residents = r;
    u->arena->holds++;
    u->arena->resident = r;
    return r;
}

/* An arena has one: where two runs are saved from it, the later has written over the earlier. */
void resident_commit(struct upload *u)
{
    struct resident *before = resident_of_run(u->ops, &u->name);
    if (before != NULL && before->seq >= u->boundary.seq) {
        return; /* it was committed before */
    }
    if (before != NULL) {
        resident_drop(before, LOG_LEVEL_DEBUG, "a newer one is committed");
    }
    struct resident *there = u->arena == NULL ? NULL : u->arena->resident;
    if (there != NULL && there->listed) {
        resident_drop(there, LOG_LEVEL_DEBUG, "another run was saved from its arena");
    }
    if (u->arena == NULL || u->arena->resident != NULL || u->arena->closed || u->ops->stopping ||
        u->ops->options.resident_bytes == 0 || !resident_is_packed(u)) {
        return;
    }
    if (resident_new(u) == NULL) {
        log_warn("no resident record",
                 "run=%" PRIu32 "/%s why=\"no memory\"",
                 u->name.uid,
                 u->name.name);
    }
}

void resident_overwritten(const struct upload *u)
{
    struct resident *r = u->arena == NULL ? NULL : u->arena->resident;
    if (r != NULL && r->listed && !digest_equal(&r->root, &u->boundary.root)) {
        resident_drop(r, LOG_LEVEL_DEBUG, "its trainer saves something else from its arena");
    }
}

/* ---- reading ---- */

/* Is it what a load has pinned? */
static bool resident_is(const struct resident *r, const struct load *l)
{
    const struct boundary *b = st_load_boundary(l->st);
    return r->seq == b->seq && digest_equal(&r->root, &b->root) &&
           r->chunk_count == st_load_chunk_count(l->st) && r->name.uid == l->run->name.uid &&
           strcmp(r->name.name, l->run->name.name) == 0;
}

/* What the session has pinned is the last of its run, in memory that the connection of a trainer of
 * the same uid has left: nobody is to write there any more. */
static struct resident *resident_find(const struct session *s, const struct load *l)
{
    struct resident *r = resident_of_run(s->ops, &l->run->name);
    bool is_it =
        r != NULL && resident_is(r, l) && r->lent->session == NULL && r->lent->uid == s->peer.uid;
    return is_it ? r : NULL;
}

bool resident_is_for(const struct session *s, const struct load *l)
{
    return resident_find(s, l) != NULL;
}

const uint64_t *resident_offsets(const struct session *s, uint32_t arena, struct err *err)
{
    const struct lent *l = arena_find(s, arena);
    if (l != NULL && l->read != NULL && resident_is(l->read, s->load)) {
        return l->read->offsets;
    }
    (void)err_set(err,
                  -CAIRN_EINVAL,
                  "CHUNK_LIST with arena %" PRIu32 ": it is not the one that RESIDENT has lent for "
                  "the pinned boundary",
                  arena);
    return NULL;
}

/* To the front: it goes last. */
static void resident_use(struct resident *r)
{
    struct resident **at = &r->ops->residents;
    while (*at != r) {
        at = &(*at)->next;
    }
    *at = r->next;
    r->next = r->ops->residents;
    r->ops->residents = r;
    r->readers++;
}

/* NULL, and *err says why. */
static struct lent *resident_lend(struct session *s, struct resident *r, struct err *err)
{
    if (s->ops->stopping) {
        (void)err_set(err, -CAIRN_ECANCELED, "the daemon is stopping: connect again");
        return NULL;
    }
    if (r == NULL) {
        (void)err_set(err, -CAIRN_ENOENT, "RESIDENT: the pinned boundary is not in memory");
        return NULL;
    }
    if (arena_check_count(s, err) < 0) {
        return NULL;
    }
    struct lent *l = calloc(1, sizeof *l);
    if (l == NULL) {
        (void)err_set(err, -CAIRN_ENOMEM, "RESIDENT: no memory");
        return NULL;
    }
    l->arena = r->lent->arena;
    l->read = r;
    l->mapped = true; /* by its trainer: it is sealed for all others */
    arena_enlist(l, s);
    resident_use(r);
    return l;
}

void op_resident(struct session *s, const struct frame_in *in)
{
    struct err err = { 0 };
    struct load *load = load_of(s, in, "RESIDENT");
    if (load == NULL) {
        return;
    }
    struct lent *l = resident_lend(s, resident_find(s, load), &err);
    if (l == NULL) {
        session_refuse(s, in->frame->request, &err);
        return;
    }
    log_info("load from memory",
             "run=%" PRIu32 "/%s seq=%" PRIu64 " uid=%" PRIu32 " conn=%" PRIu64 " bytes=%" PRIu64,
             l->read->name.uid,
             l->read->name.name,
             l->read->seq,
             s->peer.uid,
             conn_id(s->conn),
             arena_bytes(l->arena));
    union wire_msg msg = { .arena = { .arena = l->id, .bytes = arena_bytes(l->arena) } };
    conn_send_fd(s->conn, WIRE_ARENA, in->frame->request, &msg, arena_fd(l->arena));
}
