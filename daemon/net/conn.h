/* conn.h: one client connection: frames in, frames out, deadlines, the peer. Loop thread only.
 *
 * What a frame means is not known here: a handler, given by the server, is told. Order of a frame:
 * prefix and message are read (limits before anything), then, if there is payload, `payload` says
 * where it goes, then `frame` gets the whole. At most 1 MiB is read per connection and loop turn.
 * Deadlines: HELLO within 10 s; a started frame within 30 s plus its bytes at the minimum rate, the
 * time while we pause not counted; each frame that we send, too, within its bytes at the minimum
 * rate, and 30 s that all of them share: a frame that takes longer uses them up, faster ones fill
 * them up again. Broken deadlines, broken frames and the end of the peer's process (pidfd) close
 * the connection with a reason that is logged once, with age and uid. While 1 MiB of answers wait
 * in memory, the connection is not read. */
#ifndef NET_CONN_H
#define NET_CONN_H

#include <uv.h>

#include "internal/err.h"
#include "net/buf.h"
#include "wire/codec.h"

struct conn;

struct peer {
    uint32_t uid, gid;
    int32_t pid; /* 0: in a namespace where it has no number for us */
};

enum conn_payload { CONN_PAYLOAD_TAKE, CONN_PAYLOAD_WAIT, CONN_PAYLOAD_DISCARD };

struct conn_handler {
    /* A session for a new connection; NULL refuses it (no memory). */
    void *(*opened)(void *ctx, struct conn *conn, const struct peer *peer);
    /* Payload is about to come. TAKE: into *ret_buf (the conn owns it until `frame`). WAIT: reading
     * pauses until conn_resume, then `payload` is asked again. DISCARD: read and thrown away. */
    enum conn_payload (*payload)(void *session,
                                 const struct frame *f,
                                 struct slice message,
                                 struct buf **ret_buf);
    /* A whole frame. `message` is valid during the call; `buf` (NULL without payload or when it was
     * discarded) now belongs to the session. */
    void (*frame)(void *session, const struct frame *f, struct slice message, struct buf *buf);
    /* Always from the loop, never from inside of a conn_ function: until it is called, those may be
     * used and do nothing. The connection is gone (for whatever reason, also after conn_close).
     * Exactly once; `conn` must not be used any more. `reason` is static or lives during the call.
     */
    void (*closed)(void *session, const char *reason);
};

struct conn_limits {
    uint64_t hello_ms, frame_ms, output_ms; /* 10 s, 30 s, 30 s */
    uint64_t min_rate_bytes; /* per second: stretches frame_ms and output_ms for long frames */
    uint32_t connections, connections_per_uid;
};

/* Queue a frame. Encoding failures (no memory) close the connection. */
void conn_send(struct conn *conn, enum wire_type type, uint32_t request, const union wire_msg *msg);
/* Queue a frame whose first byte comes with a descriptor, which stays the caller's. No descriptor
 * left for the copy closes the connection, like any other encoding failure. */
void conn_send_fd(
    struct conn *conn, enum wire_type type, uint32_t request, const union wire_msg *msg, int fd);
/* Queue DATA with buf->bytes of payload; buf is given back when it has been sent (or dropped), and
 * then `sent(arg)` is called if the connection still lives. */
void conn_send_data(struct conn *conn,
                    uint32_t request,
                    uint32_t chunk,
                    struct buf *buf,
                    void (*sent)(void *arg),
                    void *arg);
/* Queue ERROR from err for a request; the connection stays. */
void conn_refuse(struct conn *conn, uint32_t request, const struct err *err);
/* Queue ERROR with closing set, then close when it is flushed (or after 1 s). Nothing more is read.
 */
void conn_fail(struct conn *conn, uint32_t request, const struct err *err);
void conn_close(struct conn *conn, const char *reason);
/* Pause and resume reading, counted. While paused the frame deadline does not run. */
void conn_pause(struct conn *conn);
void conn_resume(struct conn *conn);
/* For who has more to say than one answer: false, there is room for it. True: too much waits to be
 * taken, `room(arg)` will be called once, from the loop, when there is room again, or when the
 * connection is gone (after `closed`). One at a time. */
bool conn_wait_room(struct conn *conn, void (*room)(void *arg), void *arg);
/* Who waits for room is called now. */
void conn_end_wait(struct conn *conn);
/* The first frame was a good HELLO: the HELLO deadline ends. */
void conn_greeted(struct conn *conn);
/* Is the peer in this group, by its primary or any other? */
bool conn_peer_in_group(const struct conn *conn, uint32_t gid);
/* The frame whose message or payload is being read, and when (loop time) its last bytes came. NULL:
 * none is. */
const struct frame *conn_frame(const struct conn *conn, uint64_t *ret_took_ms);
/* Nobody wants the payload any more that is being read: its buffer is given back now, what is still
 * to come of it is thrown away, and `frame` is called without it. Else nothing. */
void conn_discard(struct conn *conn);
uint64_t conn_id(const struct conn *conn); /* for the log: 1, 2, 3, ... */

/* ---- the set of connections, owned by the server ---- */
struct conn_set; /* accepts on a listening fd */
struct conn_set_options {
    int listen_fd; /* borrowed until conn_set_stop_accept */
    struct conn_limits limits;
    const struct conn_handler *handler;
    void *ctx; /* of handler->opened */
};
int conn_set_new(uv_loop_t *loop,
                 const struct conn_set_options *options,
                 struct conn_set **ret,
                 struct err *err);
void conn_set_stop_accept(struct conn_set *set);
/* Each gets an ERROR (ECANCELED, the reason), and closes when that is flushed, or after 1 s. */
void conn_set_close_all(struct conn_set *set, const char *reason);
/* After stop_accept: `empty` is called once, when no connection is left and all handles are
 * closed; maybe before this returns.
 */
void conn_set_close(struct conn_set *set, void (*empty)(void *ctx), void *ctx);
struct conn_set *conn_set_free(struct conn_set *set); /* after `empty` */
uint32_t conn_set_count(const struct conn_set *set);

#endif
