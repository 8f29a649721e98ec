/* fake.h: a daemon of one thread that keeps boundaries in memory, and misbehaves as told.
 *
 * It speaks the real codec and the order of messages of PROTOCOL.md. Faults are a list: what
 * happens at the nth frame of a type. A mangle hook changes what it sends. */
#ifndef CLIENT_FAKE_H
#define CLIENT_FAKE_H

#include <pthread.h>
#include <stdatomic.h>

#include "wire/codec.h"

enum fake_act {
    FAKE_NOTHING,
    FAKE_CLOSE,       /* close without looking at the frame */
    FAKE_CLOSE_AFTER, /* do what the frame asks, then close instead of answering */
    FAKE_REFUSE,      /* ERROR with `code`; an upload is forgotten */
    FAKE_REFUSE_CLOSING,
    FAKE_SILENCE, /* do nothing at all */
    FAKE_HOLD,    /* SEAL only: commit, but answer when fake_release is called */
    FAKE_GARBAGE  /* answer with bytes that are no frame */
};

struct fake_fault {
    uint32_t type;
    unsigned nth; /* from 1; counted over all connections */
    enum fake_act act;
    uint32_t code;
};

/* Instead of a code for a held save: it is committed, but half of the answer, or none, can be read.
 */
enum { FAKE_HELD_HALF = -1, FAKE_HELD_GARBAGE = -2 };

#define FAKE_BOUNDARIES 64
#define FAKE_CONNS 8
#define FAKE_TYPES 128

struct fake_frame {
    uint32_t type;
    uint8_t *message;
    uint32_t bytes;
};

struct fake_boundary {
    struct bump bump;
    struct boundary row;
    struct fake_frame *frames; /* CHUNKS and ENTRIES as they came */
    size_t frame_count;
    uint8_t **chunks;
    uint32_t *chunk_bytes;
    uint32_t chunk_count;
    bool sealed, removed;
};

struct fake_conn {
    int fd;
    struct fake_boundary *upload;
    uint32_t upload_request, ignored_request;
    struct fake_boundary *pinned;
    uint32_t load_request, load_next, load_end, load_credits;
    bool loading;
    uint32_t held_request; /* COMMITTED to be sent by fake_release */
    struct fake_boundary *held;
};

/* Is the payload in memory too, and what is wrong with that? */
enum fake_resident {
    FAKE_RESIDENT_NONE,
    FAKE_RESIDENT_GOOD,
    FAKE_RESIDENT_REFUSED,   /* it is said to be, and RESIDENT is refused */
    FAKE_RESIDENT_NO_FD,     /* ARENA comes without its descriptor */
    FAKE_RESIDENT_UNSEALED,  /* it may be cut off */
    FAKE_RESIDENT_SHORT,     /* it is shorter than ARENA says */
    FAKE_RESIDENT_NO_PLACES, /* CHUNKS has no offsets */
    FAKE_RESIDENT_OUTSIDE,   /* one chunk is said to lie behind its end */
    FAKE_RESIDENT_DAMAGED    /* one chunk is another */
};

struct fake {
    char dir[64], path[80];
    int listen_fd, wake_fd;
    pthread_t thread;
    bool running;
    struct fake_fault faults[8];
    /* Runs in the fake's thread before a message is sent; payload NULL unless DATA. */
    void (*mangle)(struct fake *f, uint32_t type, union wire_msg *msg, uint8_t *payload);
    unsigned knob;                /* for the hook */
    atomic_uint seen[FAKE_TYPES]; /* frames received, by type */
    atomic_uint asked_chunks;     /* by LOAD */
    atomic_uint connections, bad; /* bad: frames that a client may not send like that */
    enum fake_resident resident;
    uint32_t resident_chunk; /* that one */
    atomic_bool release;
    int released_fd; /* eventfd: the answer is sent */
    int held_code;   /* a held save fails with this when it is released; 0: it is committed; or
                        FAKE_HELD_ */
    struct fake_conn conns[FAKE_CONNS];
    struct fake_boundary *boundaries[FAKE_BOUNDARIES]; /* index = seq - 1 */
    uint64_t count;
    struct bump bump;
    struct wire_buf out;
};

void fake_start(struct fake *f);
void fake_stop(struct fake *f); /* joins, frees, removes the socket */
/* Stop answering, and be gone; what was stored stays for fake_resume. */
void fake_pause(struct fake *f);
void fake_resume(struct fake *f);
/* Answer what was held; back when it is sent. */
void fake_release(struct fake *f);
/* The newest boundary was never committed. Only while it is paused. */
void fake_forget_newest(struct fake *f);
unsigned fake_seen(struct fake *f, uint32_t type);

#endif
