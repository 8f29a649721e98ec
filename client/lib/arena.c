/* arena.c: memory that the daemon lends, so that payload need not travel on the socket.
 *
 * How large an arena must be is known when a record has been captured: so the first record of a
 * handle is private memory and goes as DATA (unless the caller said cairn_warm), and after it is
 * saved its region, empty then, is backed by an arena for those to come. An arena belongs to one
 * connection. When that is lost, what was captured is sent as DATA, and the next capture gets
 * private memory again: the daemon may still be reading the arena. */
#include <stdio.h>
#include <stdlib.h>

#include "internal/ckd.h"
#include "lib/call.h"
#include "lib/rec.h"

/* What a record may grow until its arena is too small: a sixteenth, and what packing wants. */
#define ARENA_SLACK_BYTES (UINT64_C(32) << 20)

static bool arena_is_ours(const struct cairn *c, const struct lease *lease)
{
    return lease != NULL && c->fd >= 0 && lease->connection == c->connection;
}

uint32_t cl_arena_of(const struct cairn *c, const struct region *r, uint64_t bytes)
{
    bool whole = round_up_u64(bytes, LIMIT_PAGE_BYTES) <= r->shared_bytes;
    return whole && arena_is_ours(c, r->lease) ? r->lease->id : 0;
}

int cl_part_from_arena(struct cairn *c, struct region *r)
{
    return r->lease == NULL || arena_is_ours(c, r->lease) ? 0 : region_unshare(r, &c->err);
}

void cl_drop_leases(struct cairn *c)
{
    for (size_t i = 0; i < HANDLE_LEASES; i++) {
        lease_put(c->leases[i]);
        c->leases[i] = NULL;
    }
}

/* ---- asking the daemon ---- */

int cl_arena_say(struct cairn *c, uint32_t type, uint32_t id)
{
    union wire_msg answer;
    union wire_msg msg = { .arena_ref = { .arena = id } };
    return cl_ask_once(c, type, &msg, WIRE_DONE, &answer);
}

/* No region has it any more: nor need the daemon. */
static int arena_close_unused(struct cairn *c)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < HANDLE_LEASES; i++) {
        struct lease *lease = c->leases[i];
        if (lease == NULL || atomic_load(&lease->holds) > 1) {
            continue;
        }
        if (arena_is_ours(c, lease)) {
            rc = cl_arena_say(c, WIRE_ARENA_CLOSE, lease->id);
        }
        lease_put(lease);
        c->leases[i] = NULL;
    }
    return rc;
}

static struct lease **arena_free_lease(struct cairn *c)
{
    for (size_t i = 0; i < HANDLE_LEASES; i++) {
        if (c->leases[i] == NULL) {
            return &c->leases[i];
        }
    }
    return NULL;
}

/* The descriptor that came with the answer. */
static int arena_map(struct cairn *c, struct region *r, const struct wire_arena *a)
{
    struct lease **at = arena_free_lease(c);
    if (c->in_fd < 0 || at == NULL) {
        return err_set(&c->err, -CAIRN_EPROTO, "an arena came without its descriptor");
    }
    struct lease *lease = calloc(1, sizeof *lease);
    if (lease == NULL) {
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory for an arena");
    }
    lease->id = a->arena;
    lease->connection = c->connection;
    atomic_store(&lease->holds, 2);
    int rc = region_share(r, c->in_fd, a->bytes, lease, &c->err);
    if (rc < 0) {
        free(lease);
        return rc;
    }
    *at = lease;
    rc = cl_arena_say(c, WIRE_ARENA_MAPPED, a->arena);
    if (rc < 0) {
        lease->connection = 0; /* nothing can be saved from it */
    }
    return rc;
}

/* What cannot be used goes back at once: the daemon counts it as lent, and lends no other instead.
 * The descriptor is not needed in either case. */
static int arena_take(struct cairn *c, struct region *r, const struct wire_arena *a)
{
    int rc = arena_map(c, r, a);
    cl_close_fd(&c->in_fd);
    if (rc < 0 && c->fd >= 0) {
        (void)cl_arena_say(c, WIRE_ARENA_CLOSE, a->arena);
    }
    return rc;
}

static int arena_ask(struct cairn *c, struct region *r)
{
    union wire_msg answer;
    uint64_t want = r->used_bytes + r->used_bytes / 16 + ARENA_SLACK_BYTES;
    union wire_msg msg = { .arena_open = { .bytes = want } };
    if (arena_free_lease(c) == NULL) {
        return -CAIRN_ELIMIT;
    }
    int rc = cl_ask_once(c, WIRE_ARENA_OPEN, &msg, WIRE_ARENA, &answer);
    if (rc == -CAIRN_ENOTSUP || rc == -CAIRN_ELIMIT || rc == -CAIRN_EPROTO) {
        c->arena_refused = c->connection; /* it will not be otherwise next time */
    }
    return rc < 0 ? rc : arena_take(c, r, &answer.arena);
}

/* ---- between two saves ---- */

static bool arena_may_tend(const struct cairn *c)
{
    return c->fd >= 0 && c->flight == NULL && !c->stream.active && c->arena_busy != c->connection &&
           c->arena_refused != c->connection;
}

void cl_tend_arenas(struct cairn *c)
{
    struct err before = c->err;
    for (size_t i = 0; i < REGION_CACHE && arena_may_tend(c); i++) {
        struct region *r = c->regions.free[i];
        if (r == NULL || r->used_bytes == 0 || cl_arena_of(c, r, r->used_bytes) != 0) {
            continue;
        }
        if (r->lease != NULL && region_unshare(r, &c->err) < 0) {
            break;
        }
        if (arena_close_unused(c) < 0 || arena_ask(c, r) < 0) {
            c->arena_busy = c->connection;
            (void)snprintf(c->arena_why, sizeof c->arena_why, "%s", c->err.msg);
            c->arena_why_connection = c->connection;
            break;
        }
        c->arena_why[0] = '\0';
    }
    c->err = before;
    c->lost = false;
}

void cl_tend_arenas_anew(struct cairn *c)
{
    c->arena_busy = 0;
    cl_tend_arenas(c);
}

/* ---- what came of it ---- */

struct arena_tally {
    unsigned shared;
    uint64_t shared_bytes;
};

static void arena_tally_add(const struct cairn *c, struct arena_tally *t, const struct region *r)
{
    if (r != NULL && r->shared_bytes > 0 && arena_is_ours(c, r->lease)) {
        t->shared++;
        t->shared_bytes += r->shared_bytes;
    }
}

static struct arena_tally arena_tally(const struct cairn *c)
{
    struct arena_tally t = { 0 };
    for (size_t i = 0; i < REGION_CACHE; i++) {
        arena_tally_add(c, &t, c->regions.free[i]);
    }
    for (const struct cairn_record *r = c->records; r != NULL; r = r->next) {
        arena_tally_add(c, &t, r->region);
    }
    return t;
}

/* Why there are not more of them. */
static const char *arena_lack(const struct cairn *c)
{
    if (c->fd < 0) {
        return "there is no connection to the daemon";
    }
    if (c->arena_why[0] != '\0' && c->arena_why_connection == c->connection) {
        return c->arena_why;
    }
    return "not asked for yet on this connection (cairn_warm, or a save)";
}

const char *cairn_memory(struct cairn *c)
{
    if (cl_enter_local(c) < 0) {
        return "";
    }
    struct arena_tally t = arena_tally(c);
    const char *why = t.shared >= REGION_CACHE ? "" : arena_lack(c);
    (void)snprintf(c->memory,
                   sizeof c->memory,
                   "%u of %u arenas, %llu MiB%s%s",
                   t.shared,
                   t.shared > REGION_CACHE ? t.shared : REGION_CACHE,
                   (unsigned long long)(t.shared_bytes >> 20),
                   why[0] == '\0' ? "" : "; no more: ",
                   why);
    return c->memory;
}
