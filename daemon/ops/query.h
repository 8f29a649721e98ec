/* query.h: anything that is asked, worked out on a thread, and answered. */
#ifndef OPS_QUERY_H
#define OPS_QUERY_H

#include "ops/ops_int.h"

struct query_kind {
    const char *name;
    enum access access;
    bool settle;                     /* wait for what was sealed before ... */
    bool kept;                       /* ... and for what its policy removes after it */
    bool missing_ok;                 /* a run that is not there is no error: reply with run NULL */
    bool checks;                     /* on the pool for long checks */
    bool writes;                     /* on the writer of its run, in order with the commits */
    void (*before)(struct query *q); /* on the loop, before work; NULL: nothing */
    void (*beat)(struct query *q);   /* on the loop, every 2 s until the end: how far it is, for a
                                        connection that is there; NULL: it is not long */
    int (*work)(struct query *q);    /* on a thread; returns 0 or negative with q->err set */
    void (*reply)(struct query *q);  /* on the loop, after success, connection there; when work has
                                        set `again`, work follows once more */
};
struct query {
    const struct query_kind *kind;
    struct session *session;
    uint32_t request;
    struct run_name name;
    struct run *run;
    struct run_wish wish;
    struct run_wait wait;
    struct job job;
    struct bump bump;
    atomic_bool cancelled; /* the connection has gone, or the daemon is stopping */
    bool parked;           /* until the peer has taken what was sent */
    bool pauses;           /* its connection is not read */
    int rc;
    struct err err;
    struct query *next; /* of the session */
    /* in */
    char text[LIMIT_POLICY_BYTES + 1]; /* of a selector, or a policy */
    struct selector selector;
    uint8_t save_id[16];
    uint32_t rank, max, page;
    uint64_t below;
    enum component component;
    enum save_state in_memory; /* FIND: what is under way under the save id */
    bool flag;                 /* by_save_id, pin, all, whole_run: as the kind means it */
    struct load *pinned;       /* MANIFEST: used by this query */
    /* out */
    bool again;
    struct st_load *load;
    void *list; /* the kind's own, freed with the query */
    uint32_t list_count, list_sent;
    union wire_msg msg;
};
/* NULL: refused already (memory, rights, name). `run` is unused by kinds that need none. */
struct query *query_new(struct session *s,
                        uint32_t request,
                        const struct query_kind *kind,
                        const struct slice *run);
void query_start(struct query *q);
/* The session's upload is sealed, or gone: from now on its connection waits for what it asks. */
void query_pause_reading(struct session *s);
int query_take_selector(struct query *q, struct slice text); /* copy, parse; EINVAL in q->err */
int find_select(struct query *q, uint64_t *ret_seq); /* any thread: what its selector names */
/* Any thread: ECANCELED in *err when nobody wants its answer any more. */
int query_check(const struct query *q, struct err *err);
/* Have what a session has asked end as soon as it can. */
void query_cancel_all(struct session *s);
void query_beats_init(struct ops *ops);
/* End it with an error instead of starting it. */
void query_refuse(struct query *q, int code, const char *text);

#endif
