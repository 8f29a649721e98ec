/* ops_int.h: what the files of ops share. Loop thread only, but for the work functions of jobs.
 *
 *   session   one connection's view: at most one upload, one pinned load, one query at a time
 *   run       an open run: its writer, its uploads in the order of their BEGIN, who waits for it
 *   lent      an arena that a session has; outlives it while an upload or a load uses it
 *   resident  the last committed record of a run, while it lies in a lent arena
 *   upload    a part under way; outlives its session once it is sealed
 *   load      a pinned boundary and its stream
 *   query     anything that is asked, worked out on a thread, and answered
 */
#ifndef OPS_OPS_INT_H
#define OPS_OPS_INT_H

#include <assert.h>
#include <stdatomic.h>

#include "arena/arena.h"
#include "base/log.h"
#include "internal/container.h"
#include "internal/fault.h"
#include "ops/ops.h"
#include "record/digest.h"

struct session;
struct lent;
struct resident;
struct upload;
struct load;
struct run;

struct ops {
    uv_loop_t *loop;
    struct st *st;
    struct ops_options options;
    const struct conn_set *conns;
    struct inbox inbox;
    struct pool *queries; /* find, describe, manifest, list, open and close of runs */
    struct pool *reads;   /* payload of loads */
    struct pool *checks;  /* verify: long, so apart */
    struct buf_pool *write_bufs, *read_bufs;
    struct bump scratch; /* one frame's plain structs */
    struct bump peek;    /* a DATA message, looked at before its payload comes */
    struct run *runs;    /* the open ones, newest use first */
    struct session *sessions;
    unsigned run_count;
    struct lent *lents;         /* newest first */
    struct resident *residents; /* last use first */
    uint64_t start_ms, committed_count, failed_count, upload_count;
    unsigned query_count, load_count; /* under way */
    uv_timer_t beat;                  /* while questions are under way that say how far they are */
    unsigned beat_count;
    uv_timer_t keep_timer;
    struct keep_round *round; /* all runs, one after the other; NULL: none is under way */
    bool stopping, inbox_open;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

/* Called whenever something ended: says `stopped` when nothing is left. */
void ops_check_stopped(struct ops *ops);

/* ---- who may do what (access.c) ---- */
enum access { ACCESS_READ, ACCESS_WRITE, ACCESS_DROP };
struct run_name {
    uint32_t uid;
    char name[LIMIT_RUN_NAME_BYTES + 1];
};
/* Parse "RUN" (the peer's own) or "UID/RUN" and check the right. EINVAL, EACCES. */
int access_check(const struct session *s,
                 struct slice text,
                 enum access want,
                 struct run_name *ret,
                 struct err *err);

/* ---- runs (run.c, run_wait.c) ---- */
enum run_state { RUN_OPENING, RUN_READY, RUN_CLOSING };

/* A wish for a run, embedded in whoever has it. `ready` is called once, on the loop, maybe before
 * run_get returns: run is held (run_put gives it back), or NULL with err. */
struct run_wish {
    void (*ready)(struct run_wish *wish, struct run *run, const struct err *err);
    bool create;
    uint32_t uid; /* who asks: has a share of the open runs */
    struct run_wish *next;
};

/* A question that must not overtake what was sealed before it. */
struct run_wait {
    void (*settled)(struct run_wait *wait);
    bool kept; /* also for what its policy removes after a commit */
    uint64_t ticket;
    struct run_wait *next;
};

struct run {
    struct ops *ops;
    struct run_name name;
    enum run_state state;
    struct st_run *st;
    struct pool *writer;   /* segments and commits, one thread */
    struct pool *digester; /* digests behind the writes, one thread */
    unsigned holds;
    uint32_t holder;         /* uid that took it when nobody held it */
    struct run_wish *wishes; /* waiting for OPENING or CLOSING to end; first come, first served */
    struct upload *uploads;  /* in the order of BEGIN */
    struct run_wait *waits;  /* as they came */
    uint64_t seal_count;
    bool drop;                /* unlink after closing */
    bool keeping, keep_again; /* its policy is being done; once more after that */
    void (*dropped)(void *arg, int rc, const struct err *err);
    void *dropped_arg;
    struct run *next;
    struct job job; /* open or close */
    bool open_create;
    int rc;
    struct err err;
};

/* EBUSY: every open run is held, or the share of the uid that asks (run_share) is. */
void run_get(struct ops *ops, const struct run_name *name, struct run_wish *wish);
void run_put(struct run *run);
/* Call wait->settled when all that is sealed by now has ended, and with wait->kept the run's policy
 * is not being done; maybe at once. */
void run_settle(struct run *run, struct run_wait *wait);
/* An upload of the run ended or moved: next commit, waiting questions. */
void run_kick(struct run *run);
/* Close (dropping it) a run that only the caller holds; gives the hold back. EBUSY else. EPOISONED:
 * it is latched, and must outlive the latch. */
int run_drop(struct run *run,
             void (*dropped)(void *arg, int rc, const struct err *err),
             void *arg,
             struct err *err);
void run_close_all(struct ops *ops);

/* ---- policies (keep.c) ---- */
/* Have the run's policy done, on its writer. The caller holds the run. */
void keep_run(struct run *run);
/* ---- keep_round.c ---- */
void keep_rounds_init(struct ops *ops);
/* It was done; there will be a next one, if the round waits for this. */
void keep_round_ended(struct ops *ops, const struct run *run);

/* ---- arenas (arena.c) ---- */
struct lent {
    struct ops *ops;
    struct session *session; /* NULL once that has given it back */
    struct arena *arena;
    uint32_t uid, id; /* id: on its connection */
    unsigned holds;
    bool mapped;               /* by the trainer, and locked since */
    bool closed;               /* its trainer said that it does not want it any more */
    uint64_t whole_bytes;      /* so many from its start have no hole, and never will */
    struct resident *resident; /* what lies in it, and holds it, or NULL */
    struct resident *read;     /* lent for reading this, whose arena it is; NULL: on its own */
    struct lent *next;
};
/* Hold an arena of this session. NULL: EINVAL, there is none, not yet, or it is for another use. */
struct lent *arena_hold(struct session *s, uint32_t id, enum arena_use use, struct err *err);
void arena_put(struct lent *lent); /* NULL is allowed */
void arena_put_all(struct session *s);
/* The session has its end of it from now on; the answer is still to be sent. */
void arena_enlist(struct lent *l, struct session *s);
/* That of this session, or NULL. */
struct lent *arena_find(const struct session *s, uint32_t id);
/* How many that session has. ELIMIT: it may have no more. */
int arena_check_count(const struct session *s, struct err *err);
/* What is lent now, and to whom: those that were given back but are still in use count too. What
 * only a resident record keeps is summed up by itself. */
struct arena_sums {
    uint64_t all_bytes, uid_bytes; /* to all; to the session's uid */
    uint64_t share_bytes;          /* so much that uid may have */
    unsigned count, rings;         /* to all; of these, for loads */
    unsigned session_count;
    uint64_t kept_bytes, uid_kept_bytes; /* by resident records; of those, of that uid */
    unsigned kept_count;
};
struct arena_sums arena_sum(const struct session *s);
/* Why the session's save comes inline, for the log. `chunks`: it has payload at all. */
const char *arena_why_not(const struct session *s, bool chunks);

/* ---- resident records (resident.c) ---- */
/* An upload is committed, and is the last of its run: it stays where it lies, if it lies in an
 * arena. */
void resident_commit(struct upload *u);
/* The arena of this upload has other bytes by now than what was committed from it. */
void resident_overwritten(const struct upload *u);
/* Nothing of the run is there any more. */
void resident_drop_run(struct ops *ops, const struct run_name *name);
void resident_drop_all(struct ops *ops);
/* An arena was given back: what lies in it is kept, as far as there is room, or goes with it. */
void resident_given_back(struct lent *l);
/* Make room for what is to be lent: drop what nobody reads, of one uid or (NULL) of all, last used
 * first. False: there is nothing. */
bool resident_make_room(struct ops *ops, const uint32_t *uid);
/* Does only a resident record keep it, that nobody is reading? */
bool resident_keeps(const struct lent *l);
/* May the session have the boundary that it has pinned from memory? */
bool resident_is_for(const struct session *s, const struct load *l);
/* Where the chunks of the pinned boundary lie in that arena. NULL: EINVAL. */
const uint64_t *resident_offsets(const struct session *s, uint32_t arena, struct err *err);
/* One reader less. */
void resident_unread(struct resident *r);

/* ---- sessions (session.c) ---- */
struct session {
    struct ops *ops;
    struct conn *conn; /* NULL once the connection is gone */
    struct peer peer;
    bool greeted;
    struct upload *upload;
    struct load *load;
    bool ignoring; /* frames of a refused upload are still coming */
    uint32_t ignored_request;
    struct buf_user write_user, read_user;
    uint32_t last_arena;
    int arena_refused; /* the last ARENA_OPEN was, with this code; 0: it was granted */
    bool arena_asked;
    struct query *queries; /* under way */
    unsigned busy;         /* those, and what else needs the session */
    struct session *next, **prev;
};

/* Refuse a request: ERROR on the wire, one line in the log. The connection stays. */
void session_refuse(struct session *s, uint32_t request, const struct err *err);
/* The peer broke the protocol: ERROR, then the connection goes. */
void session_fail(struct session *s, uint32_t request, const struct err *err);
void session_maybe_free(struct session *s);

/* One row per message type that a client may send (table in session.c). */
struct frame_in {
    const struct frame *frame;
    const union wire_msg *msg;
    struct buf *buf;
};
typedef void op_fn(struct session *s, const struct frame_in *in);
op_fn op_pin, op_unpin, op_label, op_pin_list, op_policy, op_keep, op_usage, op_rollback, op_delete,
    op_hello, op_ping, op_run_open, op_run_list, op_run_drop, op_arena_open, op_arena_mapped,
    op_arena_close, op_begin, op_chunks, op_entries, op_data, op_seal, op_abort, op_find,
    op_describe, op_manifest, op_chunk_list, op_resident, op_close, op_load, op_release, op_verify,
    op_status;

/* ---- uploads (upload*.c) ---- */
enum upload_state {
    UPLOAD_WISHING,   /* waiting for its run */
    UPLOAD_BEGINNING, /* the writer looks the save id up and allocates */
    UPLOAD_RECEIVING,
    UPLOAD_SEALING, /* whole and ours; the helper checks its manifest */
    UPLOAD_SEALED,  /* waits for digests and for its turn */
    UPLOAD_COMMITTING,
    UPLOAD_FAILED, /* waits for its jobs, then for the writer to unlink */
    UPLOAD_NR
};

struct upload {
    struct ops *ops;
    struct session *session; /* NULL once nobody waits for the answer */
    uint32_t request;
    struct peer peer;
    struct run_name name;
    struct run *run;
    enum upload_state state;
    struct boundary boundary;
    struct bump bump; /* labels of the boundary */
    struct st_manifest *manifest;
    struct st_save *save;
    struct row_save known;
    struct lent *arena;      /* in which its chunks lie; NULL: they come as DATA */
    const char *inline_why;  /* why they do; static */
    uint64_t *chunk_offsets; /* of each in the arena; NULL without one */
    uint32_t next_chunk, digested_chunks;
    unsigned jobs, writing; /* writing: chunks among them that are not on the disk yet */
    atomic_bool cancelled;  /* tells jobs on other threads to skip */
    bool paused;            /* its connection is not read until BEGUN */
    uint64_t seal_ticket;   /* SEAL has come: goes on without its session */
    struct wire_seal seal;
    uint64_t begin_ms;
    /* upload_clock.c */
    bool no_buffer; /* its chunk has no place yet */
    bool waits;     /* for its client: the clock runs */
    uint64_t progress_ms, waits_since_ms, waited_ms, arrived_bytes;
    uv_timer_t timer;
    struct run_wish wish;
    struct job job; /* begin, seal, commit, abort */
    int rc;
    struct err err;
    struct upload *next;
};

void upload_move(struct upload *u, enum upload_state to);
/* After whatever may have changed who waits for whom: state, jobs, no_buffer. */
void upload_clock(struct upload *u);
/* A whole frame of it has come. */
void upload_arrived(struct upload *u, const struct frame *f);
/* After its manifest has grown. ELIMIT: alone more than one uid may stage. EBUSY: with what else is
 * staged, by its uid or by all. */
int upload_check_staged(const struct upload *u, struct err *err);
/* The upload that a frame belongs to, in the state to take it; else the connection ends. */
struct upload *upload_of(struct session *s, const struct frame_in *in, const char *what);
/* Refuse what was fed: the run is named in front. */
void upload_refuse(struct upload *u, struct err *err);
/* Read its connection again (paused by BEGIN). */
void upload_unpause(struct upload *u);
/* Refuse it towards its session, log, and have everything undone. */
void upload_fail(struct upload *u, const struct err *err);
/* The session is gone: an unsealed upload is aborted, a sealed one goes on alone. */
void upload_orphan(struct upload *u, const char *reason);
void upload_job_ended(struct upload *u);
/* Its turn has come (head of the run's line, sealed, digested): commit. */
void upload_try_commit(struct upload *u);
void upload_free(struct upload *u);
/* What memory knows of a save id; NONE: ask the store. */
enum save_state upload_find(const struct run *run, const uint8_t save_id[16], uint32_t rank);
/* Without DATA: its chunks lie in its arena, and are written a few at a time. */
void upload_pump(struct upload *u);
enum conn_payload upload_payload(struct session *s,
                                 const struct frame *f,
                                 struct slice message,
                                 struct buf **ret_buf);

/* ---- loads (load.c, load_read.c) ---- */
struct load {
    struct ops *ops;
    struct session *session; /* NULL once the connection is gone or the pin was replaced */
    struct run *run;
    struct st_load *st;
    uint32_t request;
    bool streaming, aborted;
    struct lent *ring; /* chunks are read into it; NULL: into buffers, and go as DATA */
    uint32_t ring_slots;
    uint32_t first, next, end, credits, sent; /* chunks: to read next, behind the last; sent */
    uint32_t reading;                         /* reads under way, ... */
    struct read_slot *reading_head, **reading_tail; /* ... in order */
    unsigned users;                                 /* queries that look into it on their threads */
    struct job job;                                 /* close */
    struct err err;                                 /* why its stream ends; code 0: it goes on */
};
struct load *load_new(struct session *s, struct run *run, struct st_load *st);
/* The pinned boundary; without one the request, a `what`, is refused. */
struct load *load_of(struct session *s, const struct frame_in *in, const char *what);
void load_release(struct load *l); /* unpin; frees when its reads and users have ended */
void load_unuse(struct load *l);
void load_maybe_close(struct load *l); /* free it, if nobody has it and no read is under way */
void load_give_ring(struct load *l);   /* its reads have ended */
void load_pump(struct load *l);        /* read, send, end: whatever can go on */
/* End the stream with ERROR. Reads may be under way only if the connection ends, too. */
void load_stop(struct load *l, const struct err *err);

#endif
