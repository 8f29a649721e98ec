/* ring.h: memory that the daemon lends for loads: it reads chunks from the disk straight into it.
 *
 * A ring has slots of one chunk each, used in turn (PROTOCOL.md, "Loads into a ring"). It is taken
 * for the first load that is large enough to be worth it, and stays as long as the connection: the
 * first touch of its memory is dearer than reading into it. Without one, chunks travel on the
 * socket. */
#ifndef LIB_RING_H
#define LIB_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/digest.h"

struct cairn;

struct ring {
    uint8_t *base; /* NULL: none */
    uint64_t bytes;
    uint32_t arena; /* its number on the connection */
    uint32_t slots;
    struct hasher *hasher;
    uint64_t refused; /* the connection on which there is none to be had */
    pid_t owner;      /* not mapped in a forked child */
};

/* Have a ring for a load of so many chunks, if it is worth it and the daemon lends one: else there
 * is none, which is no error. On a connection that is ready.   Errors: ECONN, ETIMEDOUT. */
int ring_open(struct cairn *c, uint32_t chunk_count);
/* Copy from a slot, and digest what was copied. */
struct digest ring_take(struct ring *r, uint64_t slot, void *dst, uint32_t bytes);
/* The connection is gone, and the ring with it. */
void ring_dropped(struct ring *r);

#endif
