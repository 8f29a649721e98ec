/* conn_int.h: what the files of a connection share.
 *
 *   conn.c        states, deadlines, pausing, the end
 *   conn_read.c   bytes to frames
 *   conn_write.c  frames to bytes
 *   conn_set.c    accepting, limits, the set
 *
 * Happy path: HEAD (24 bytes) -> MESSAGE -> [ASK -> PAYLOAD or DISCARD] -> handler -> HEAD. Nothing
 * is read beyond the piece that is wanted, so a pause leaves everything else in the kernel, where
 * it holds the peer back. Failure: conn_fail queues an ERROR and goes to DRAIN, which only writes;
 * everything ends in CLOSING, where the handles close; the last one to close tells the session and
 * frees. Nothing is freed earlier, so every function here may be called from inside a handler. */
#ifndef NET_CONN_INT_H
#define NET_CONN_INT_H

#include <stdbool.h>

#include "base/sm.h"
#include "net/conn.h"

enum { CONN_TURN_BYTES = 1 << 20, CONN_OUT_HIGH_BYTES = 1 << 20, CONN_DISCARD_BYTES = 64 << 10 };
/* As asked for; the kernel doubles it, and says that there is room when most of it is. */
enum { CONN_SEND_BUFFER_BYTES = 1 << 20 };

enum conn_state {
    CONN_HEAD,    /* between frames, or in a prefix */
    CONN_MESSAGE, /* in the protobuf part */
    CONN_ASK,     /* payload is next, and has no place yet */
    CONN_PAYLOAD, /* into a buffer */
    CONN_DISCARD, /* payload that nobody wants */
    CONN_DRAIN,   /* failed: what is queued goes out, nothing is read */
    CONN_CLOSING, /* handles are closing */
    CONN_NR
};

struct conn_out { /* one queued frame */
    struct conn_out *next;
    struct wire_buf head; /* prefix and message */
    size_t at;            /* bytes of head and payload that are sent */
    struct buf *buf;      /* NULL: no payload */
    int fd;               /* goes with the first byte; -1: none */
    void (*sent)(void *arg);
    void *arg;
};

struct conn {
    struct conn_set *set;
    struct conn *next, **prev;
    struct sm sm;
    uint64_t id, opened_ms;
    struct peer peer;
    void *session;
    int fd, pidfd; /* pidfd -1: none to be had */
    uv_poll_t poll, pid_poll;
    uv_timer_t timer;
    unsigned holds; /* handles that are not closed yet */
    int events;     /* what poll is started with */
    bool reading;   /* READABLE is among them */
    unsigned pauses;
    char reason[512]; /* why it ends */
    bool quiet;       /* an end that is nobody's concern */

    /* the frame under way */
    uint8_t prefix[FRAME_PREFIX_BYTES];
    struct frame frame;
    uint8_t *message;
    struct buf *buf;
    uint64_t got;     /* bytes of the piece that the state is about */
    uint64_t took_ms; /* when the last of them came, in loop time */

    /* output, in order */
    struct conn_out *out, **out_end;
    size_t out_bytes;        /* of memory: heads and what is around them; payload is the pool's */
    void (*room)(void *arg); /* who waits for out_bytes to fall; NULL: nobody */
    void *room_arg;

    /* deadlines in loop time, 0: none */
    uint64_t hello_at, frame_at, output_at, drain_at;
    uint64_t output_us;     /* output_at, exactly: small frames take less than 1 ms */
    uint64_t frame_left_ms; /* the frame's clock while it stands still */
    uint64_t timer_at;
};

struct conn_set {
    uv_loop_t *loop;
    struct conn_limits limits;
    const struct conn_handler *handler;
    void *ctx;
    struct conn *conns;
    uint32_t count;
    uint64_t last_id;
    int listen_fd, reserve_fd; /* reserve: given up to refuse somebody when descriptors run out */
    uv_poll_t poll;
    uv_timer_t retry;
    unsigned handles; /* of poll and retry, not closed yet */
    bool stopped;
    void (*empty)(void *ctx);
    void *empty_ctx;
    uint8_t discard[CONN_DISCARD_BYTES];
};

/* conn.c */
int conn_new(struct conn_set *set,
             int fd,
             const struct peer *peer,
             struct err *err);           /* owns fd if 0 */
bool conn_is_over(const struct conn *c); /* DRAIN or CLOSING */
/* Close now; `quiet`: an end that is nobody's concern, logged at debug level. */
void conn_end(struct conn *c, bool quiet, const char *fmt, ...) ERR_PRINTF(3, 4);
void conn_watch(struct conn *c);     /* set poll and clocks to what the state wants */
void conn_set_timer(struct conn *c); /* a deadline came or moved nearer */

/* conn_read.c */
void conn_read(struct conn *c);
void conn_ask(struct conn *c);
/* "in DATA at byte 17 of 8388650", "between frames". */
const char *conn_where(const struct conn *c, char *ret, size_t ret_bytes);

/* conn_write.c */
void conn_flush(struct conn *c);
/* How long all frames together may take beyond what they have by the least rate: what the socket
 * holds is part of it, because whether the peer reads shows only when that has room again. */
uint64_t conn_patience_ms(const struct conn_limits *limits);
/* Is so much in the queue that nothing may come to it but what is on its way already? */
bool conn_is_full(const struct conn *c);
/* Takes *what (head, buf, fd, sent, arg); a closed connection gives them back at once. */
void conn_queue(struct conn *c, const struct conn_out *what);
void conn_out_free_all(struct conn *c);
int conn_error_encode(uint32_t request, const struct err *err, bool closing, struct wire_buf *ret);

/* conn_set.c */
void conn_set_left(struct conn *c); /* it is gone from the set; maybe the set is empty now */

#endif
