/* stream.h: payload of the pinned boundary, chunk by chunk, through a window of buffers.
 *
 * Reading in put order streams; a read elsewhere starts over at its chunk, with little read ahead
 * until it turns out to go on in order. A chunk is verified before anybody sees a byte of it. */
#ifndef LIB_STREAM_H
#define LIB_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "internal/limits.h"

struct cairn;
struct cairn_record;
struct entry;

struct stream_buf {
    uint8_t *data; /* allocated when first needed */
    uint32_t chunk;
    bool valid;
    bool consumed; /* its last byte was handed out: the first to be reused */
    uint64_t used_at;
};

struct stream {
    const struct cairn_record *record; /* whose chunks the buffers hold */
    bool active;
    uint32_t request;
    uint32_t next, end; /* chunks that are to come */
    uint32_t ahead;     /* how many chunks to ask for at once; 0: all that follow */
    uint32_t owed;      /* credits to give back */
    bool resumed;       /* the connection was lost: ask for as much as before */
    uint64_t clock;
    struct stream_buf bufs[LIMIT_WINDOW_CHUNKS];
};

/* The bytes of an entry that lies in chunks, verified, into dst; makes the connection anew when it
 * is lost. Errors: ECORRUPT, EPRUNED, ECONN, ETIMEDOUT. */
int stream_read(struct cairn *c, struct cairn_record *r, const struct entry *e, void *dst);
/* End the stream under way, so that other requests may be made. */
int stream_stop(struct cairn *c);
/* The connection is gone: what is in the window stays good. */
void stream_dropped(struct stream *s);
/* The record is gone. */
void stream_forget(struct stream *s);

#endif
