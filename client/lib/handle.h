/* handle.h: what a handle is, for every file of the library. */
#ifndef LIB_HANDLE_H
#define LIB_HANDLE_H

#include <pthread.h>

#include "cairn/admin.h"
#include "cairn/training.h"

#include "internal/err.h"
#include "internal/slice.h"
#include "lib/progress.h"
#include "lib/region.h"
#include "lib/resident.h"
#include "lib/ring.h"
#include "lib/stream.h"
#include "lib/transport.h"
#include "wire/codec.h"

struct capture;
struct crew;

#define HANDLE_LEASES 4u

/* Labels of the boundaries that the last list has, in its order (find.c). */
struct found {
    struct found_row {
        const struct label *labels;
        uint32_t count;
    } * rows;
    size_t count;
    struct bump bump; /* their text */
};

struct cairn {
    char *socket_path;
    char *run;      /* NULL: an administrator's handle that was not turned to a run yet */
    struct err err; /* of the last failure */
    int timeout_ms;
    bool unusable;    /* open failed: only cairn_error and cairn_close */
    bool forked;      /* this is the child */
    bool refuse_busy; /* captures do not wait for memory (busy.c) */

    /* The connection (call.c). */
    int fd;                   /* -1: none */
    uint64_t connection;      /* which one this is, of all in the process, from 1 */
    int in_fd;                /* the descriptor that came last and was not taken; -1: none */
    uint32_t last_request;    /* of this connection */
    bool lost;                /* the last failure was the connection's: asking again may help */
    int64_t backoff_ms;       /* before the next attempt to connect */
    unsigned losses;          /* connections lost during the call under way */
    struct deadline deadline; /* of the call under way */
    struct wire_buf out;
    uint8_t *in;
    size_t in_bytes;
    struct bump bump; /* of the last message received */

    /* What the daemon holds for this connection. */
    struct cairn_pending *flight; /* a sealed save whose COMMITTED has not come */
    struct cairn_record *pinned;
    bool unpin; /* its record is gone: CLOSE before the next request */
    struct stream_plan plan;
    struct stream stream;
    struct ring ring;
    struct resident resident; /* outlives the connection */

    /* What the handle holds. */
    struct found found;
    struct cairn_record *records;
    struct cairn_pending *pendings;
    struct progress progress; /* of the newest save; any thread may read it */
    struct region_cache regions;
    struct crew *crew;                   /* helps captures to copy; NULL: nobody */
    struct lease *leases[HANDLE_LEASES]; /* arenas that were lent to it (arena.c) */
    uint64_t arena_refused;              /* the connection on which the daemon lends none */
    uint64_t arena_busy;                 /* the same, until the next save begins */
    char arena_why[512];                 /* why the last arena that was asked for did not come */
    uint64_t arena_why_connection;       /* on which that was said */
    char memory[640];                    /* cairn_memory's sentence */
    bool closed;                         /* its memory stays for slots that are open */
    pthread_mutex_t slot_lock;           /* slots may be done by any thread */
    struct capture *capture;             /* under way; this and the next three: under slot_lock */
    struct capture *draining;            /* given up, but slots of theirs are still open */
    unsigned holds; /* the owner's, until it is closed, and one for each of draining */
    int wake_fd;    /* eventfd for the owner's loop; -1: nobody asked for it */
    uint32_t capture_count;

    struct cairn *next; /* every handle of the process, for fork */
    struct cairn **prev;
};

/* ---- handle.c ---------------------------------------------------------------------------------
 */

/* Close it, if there is one: -1 from then on. */
void cl_close_fd(int *fd);
/* At the start of every public call: is the handle usable? Also tells of a started save that
 * failed and that nobody waited for. Errors: EINVAL, EFORK, that save's. */
int cl_enter(struct cairn *c);
/* The same, for calls that need no daemon: a handle that did not open will do. Does not tell of a
 * save. Errors: EINVAL, EFORK. */
int cl_enter_local(struct cairn *c);
/* The same, for calls that talk to the daemon; sets the deadline: timeout_ms in total, or, with 0,
 * the handle's without progress. */
int cl_enter_daemon(struct cairn *c, int timeout_ms);
/* The same, for calls about the handle's run. */
int cl_enter_run(struct cairn *c, int timeout_ms);
/* Talking to the daemon begins, with this deadline. */
void cl_begin(struct cairn *c, struct deadline deadline);
/* One hold less; the last one frees. Any thread. */
void cl_release(struct cairn *c);
/* NULL-tolerant: where a failure is told when there may be no handle (a record outlives it). */
struct err *cl_err(struct cairn *c);
int cl_invalid(struct cairn *c, const char *text);
/* How much of a path a message shows, for "%.*s": the rest of the sentence must fit too. */
#define CL_SHOWN_BYTES 100
static inline int cl_shown(struct slice path)
{
    return path.bytes > CL_SHOWN_BYTES ? CL_SHOWN_BYTES : (int)path.bytes;
}

/* ---- about.c ---- */

/* Say which component and entry a failure is about, in err's fields and in front of its sentence:
 * "model 'w' (id 7): ...". What the sentence itself names is not named again; `id` NULL: it has
 * none, or nobody knows. Returns err's code. */
int cl_about(struct err *err, uint32_t component, struct slice path, const uint64_t *id);
int cl_about_entry(struct err *err, uint32_t component, const struct entry *e);
/* Put "WHAT COMPONENT: " in front, or "WHAT: " where the sentence names the component. */
int cl_during(struct err *err, int rc, const char *what, uint32_t component);

/* ---- capture_async.c ---- */

/* The loop that waits for the handle's descriptor has something to do. Under slot_lock. */
void cl_wake(struct cairn *c);

/* ---- arena.c ---- */

/* Between two saves: give back arenas that no region needs any more, and have the free regions
 * backed by new ones. Only on a connection that is there and idle; tells nothing: without arenas
 * payload travels on the socket. */
void cl_tend_arenas(struct cairn *c);
/* The same when a save begins, or memory is asked for: what was refused before is asked again. */
void cl_tend_arenas_anew(struct cairn *c);
/* The arena of this connection that has the first `bytes` of the region; 0: none. */
uint32_t cl_arena_of(const struct cairn *c, const struct region *r, uint64_t bytes);
/* Before a region is written to: an arena of a connection that was lost may still be read by the
 * daemon, for a save that nobody knows the end of. Errors: ENOMEM. */
int cl_part_from_arena(struct cairn *c, struct region *r);
void cl_drop_leases(struct cairn *c);
/* ARENA_MAPPED or ARENA_CLOSE, and its DONE. */
int cl_arena_say(struct cairn *c, uint32_t type, uint32_t id);

/* ---- find.c ---- */
void found_free(struct found *f);

#endif
