/* conn_fixture.h: connections over a real listening socket and a real loop, a handler that notes
 * what it is told, and clients in the same process that never block: while they wait, the loop
 * turns. Whatever goes wrong in here fails the test. */
#ifndef DAEMON_CONN_FIXTURE_H
#define DAEMON_CONN_FIXTURE_H

#include <stdbool.h>

#include "net/conn.h"
#include "sock.h"

enum { FX_SESSIONS = 16 };

struct fixture;
struct fx_session { /* of a connection, as the handler sees it */
    struct fixture *fx;
    struct conn *conn; /* NULL once closed */
    struct peer peer;
    unsigned frames, payloads, closes;
    struct frame last;
    uint32_t sum;    /* of the last frame's message bytes */
    struct buf *buf; /* of the last DATA: the test gives it back */
    struct buf_user user;
    char reason[512];
};

struct fixture {
    uv_loop_t loop;
    struct sock_dir dir;
    int listen_fd;
    struct conn_limits limits; /* change before fx_start */
    struct conn_set *set;
    struct buf_pool *pool;
    struct fx_session sessions[FX_SESSIONS]; /* in the order of accepting */
    unsigned opened;
    bool empty;
    /* what the handler does */
    bool refuse_session;
    enum conn_payload answer;
    void (*on_frame)(struct fx_session *s, const struct frame *f); /* NULL: only note it */
    void (*on_payload)(struct fx_session *s);
};

void fx_init(struct fixture *fx);
void fx_start(struct fixture *fx);
/* Close what is open, and check that nothing is left. */
void fx_end(struct fixture *fx);

/* A client that is accepted when this returns; or one that just connects. */
int fx_connect(struct fixture *fx);
int fx_connect_only(struct fixture *fx);
void fx_until(struct fixture *fx, bool (*done)(void *arg), void *arg);
void fx_for_ms(struct fixture *fx, uint64_t ms); /* turn the loop for so long */
/* All of it, turning the loop while the socket is full. */
void fx_send(struct fixture *fx, int fd, const void *data, size_t bytes);
size_t fx_send_some(int fd, const void *data, size_t bytes); /* what fits now */
void fx_send_frame(
    struct fixture *fx, int fd, const struct frame *f, const void *message, const void *payload);
void fx_ping(struct fixture *fx, int fd, uint32_t request);
/* The next frame that the daemon sends, its payload behind its message. */
struct frame fx_recv(struct fixture *fx, int fd, uint8_t *message, size_t message_bytes);
/* It is an ERROR of this code with this in its text. */
void fx_expect_error(struct fixture *fx, int fd, int code, const char *text, bool closing);
void fx_expect_closed(struct fixture *fx, int fd); /* end of file or reset, nothing before */
void fx_until_frames(struct fixture *fx, struct fx_session *s, unsigned frames);
void fx_until_closed(struct fixture *fx, struct fx_session *s);

#endif
