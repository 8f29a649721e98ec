/* peer.h: a client that speaks the wire by hand, well or badly. Failures that a test does not ask
 * for end the process with a message. */
#ifndef SUPPORT_PEER_H
#define SUPPORT_PEER_H

#include "wire/codec.h"

struct peer_client {
    int fd;
    int in_fd; /* the last that came along with a frame, which who takes it sets to -1; -1: none */
    struct wire_buf out;
    struct bump bump; /* what the last answer points into */
    uint8_t *message;
};

void peer_connect(struct peer_client *p, const char *socket_path);
void peer_close(struct peer_client *p);
/* HELLO and its WELCOME. */
void peer_hello(struct peer_client *p);
/* False when the daemon has closed meanwhile. */
bool peer_send_raw(struct peer_client *p, const void *data, size_t bytes);
bool peer_send(struct peer_client *p,
               enum wire_type type,
               uint32_t request,
               const union wire_msg *msg,
               struct slice payload);
/* BEGIN of a part with one packed model chunk of 1 MiB of zeros (request 7), and CHUNKS for it;
 * waits for BEGUN. The save id begins with `id`. */
enum { PEER_CHUNK_BYTES = 1 << 20, PEER_UPLOAD = 7 };
void peer_begin(struct peer_client *p, const char *run, uint8_t id);
/* BEGIN of a part in which nothing is (request 7), and its SEAL; save id as above. */
enum save_state peer_begin_empty(struct peer_client *p, const char *run, uint8_t id);
void peer_seal_empty(struct peer_client *p, uint8_t id);
/* The next frame; payload is read and dropped. False: closed, or nothing within timeout_ms. */
bool peer_recv(struct peer_client *p, int timeout_ms, struct frame *ret, union wire_msg *ret_msg);
/* The next frame must be this one; 20 s for it to come. */
void peer_expect(struct peer_client *p,
                 enum wire_type type,
                 uint32_t request,
                 union wire_msg *ret_msg);
/* The next frame must be an ERROR of this request, with this code and these words in it. */
void peer_expect_error(struct peer_client *p, uint32_t request, uint32_t code, const char *words);
/* All that was sent before has been seen, and nothing of it is answered by anything else. */
void peer_ping(struct peer_client *p);
/* Wait until the daemon closes; what it still sends is dropped. */
bool peer_closed(struct peer_client *p, int timeout_ms);

#endif
