/* bump.h: a capped bump allocator. Everything that one message unpacks to lives here and goes at
 * once. Never frees single objects; fails (NULL) when the cap is reached, so a small hostile
 * message cannot grow (protobuf-c turns 1 MiB of empty sub-messages into 71 MB otherwise). */
#ifndef WIRE_BUMP_H
#define WIRE_BUMP_H

#include <stdbool.h>
#include <stddef.h>

struct bump_block;
struct bump {
    struct bump_block *head; /* blocks, newest first */
    size_t used_bytes;       /* handed out, with alignment */
    size_t cap_bytes;
    bool exhausted; /* a request was refused: tells ELIMIT from a bad message */
};

void bump_init(struct bump *b, size_t cap_bytes);
void *bump_alloc(struct bump *b,
                 size_t bytes);  /* 16-byte aligned; NULL: over the cap, or no memory */
void bump_reset(struct bump *b); /* everything handed out is gone; keeps one block */
void bump_fini(struct bump *b);  /* idempotent */

#endif
