/* call.h: questions and answers on a handle's connection.
 *
 * Two ways to fail. A refusal is an answer: the code and the text are the daemon's, the connection
 * stays. Damage (no connection, a deadline in mid-frame, a broken frame) drops the connection; the
 * next question makes a new one. cl_again says whether asking again may help. */
#ifndef LIB_CALL_H
#define LIB_CALL_H

#include "lib/handle.h"

/* Connected and greeted. One attempt. */
int cl_connect(struct cairn *c);
/* The same, on a connection that the daemon has not ended, with no stream and no stale pin in the
 * way. */
int cl_ready(struct cairn *c);
/* After a failure: was it the connection's, and is there time? Then waits a little; true: try
 * again. */
bool cl_again(struct cairn *c);
/* Close the connection. Everything that the daemon held for it is gone. */
void cl_drop(struct cairn *c);
/* Damage: drop, and remember that asking again may help. Returns c->err.code. */
int cl_lose(struct cairn *c);

uint32_t cl_next_request(struct cairn *c);
/* Send one frame. Errors: damage; EINVAL a message over its limit (nothing was sent). */
int cl_send(struct cairn *c, uint32_t type, uint32_t request, const union wire_msg *msg);
/* The same with a chunk's bytes behind the message. */
int cl_send_payload(struct cairn *c, uint32_t request, uint32_t chunk, const struct iovec *payload);

struct cl_answer {
    struct frame frame;
    union wire_msg msg; /* lives until the next receive */
};
/* Receive the next frame that answers `request`; frames of a save in flight are taken care of on
 * the way. An ERROR becomes its code. With payload, the caller must take it next (cl_payload). */
int cl_receive(struct cairn *c, uint32_t request, struct cl_answer *ret);
/* The next frame must be of this type. */
int cl_receive_type(struct cairn *c, uint32_t request, uint32_t type, struct cl_answer *ret);
int cl_payload(struct cairn *c, void *dst, uint64_t bytes);
/* Receive one frame of the save in flight. Only when nothing else can come. */
int cl_receive_flight(struct cairn *c);

/* Ready, ask, take the one answer; again when the connection is lost. For questions that may be
 * asked twice. */
int cl_ask(struct cairn *c,
           uint32_t type,
           const union wire_msg *msg,
           uint32_t answer_type,
           union wire_msg *ret);
/* One attempt of it on a connection that is ready. */
int cl_ask_once(struct cairn *c,
                uint32_t type,
                const union wire_msg *msg,
                uint32_t answer_type,
                union wire_msg *ret);

/* The daemon's own words. */
void cl_refusal(const struct wire_error *e, struct err *ret);
/* A frame that may not come here: damage. */
int cl_unexpected(struct cairn *c, const struct frame *f, const char *during);

#endif
