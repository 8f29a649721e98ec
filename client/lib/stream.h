/* stream.h: payload of the pinned boundary, chunk by chunk.
 *
 * A restore, which reads all, streams in put order. What else is read starts over at its chunk,
 * with little read ahead until it turns out to go on in order. A chunk that an entry fills goes
 * straight to where the entry is wanted, and is verified on the way; one that entries share is
 * kept, verified, until its last one was read. */
#ifndef LIB_STREAM_H
#define LIB_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/chunks.h"
#include "record/record.h"

struct cairn;
struct cairn_record;

struct stream {
    const struct cairn_record *record; /* whose chunks the buffers hold */
    bool active;
    uint32_t request;
    bool in_ring;              /* its chunks come into the ring */
    uint32_t first, next, end; /* chunks: the first of all, those that are to come */
    uint32_t credits;
    uint32_t ahead; /* how many chunks to ask for at once; 0: all that follow */
    uint32_t owed;  /* credits to give back */
    bool resumed;   /* the connection was lost: ask for as much as before */
    struct chunk_bufs bufs;
};

/* What the call under way is going to read, where it knows. */
struct stream_plan {
    bool all; /* the whole record, in put order */
    uint32_t
        until; /* from where it is now every chunk before this one, and then none; 0: who knows */
};

/* A chunk that has come. */
struct stream_chunk {
    struct chunk_buf *buf; /* NULL: it went straight to its place */
    uint8_t *data;
    bool valid; /* false: it came damaged */
};

/* The chunk, to dst, or, NULL, to where it can be looked at until the next one is asked for.
 * `needed`: how many in a row are wanted for certain. Makes the connection anew when it is lost.
 * Errors: EPRUNED, ECONN, ETIMEDOUT, ENOMEM. */
int stream_chunk(struct cairn *c,
                 struct cairn_record *r,
                 uint32_t index,
                 uint32_t needed,
                 uint8_t *dst,
                 struct stream_chunk *ret);

/* A span of the bytes of an entry that lies in chunks, at least one, into dst, which is not to be
 * used when it fails. Chunks that it has nothing of are not asked for; those that it has a part of
 * are verified whole, and kept for a while. Errors: ECORRUPT, and those of stream_chunk. */
int stream_read(
    struct cairn *c, struct cairn_record *r, const struct entry *e, struct span span, void *dst);
/* End the stream under way, so that other requests may be made. */
int stream_stop(struct cairn *c);
/* The connection is gone: what is in the window stays good. */
void stream_dropped(struct stream *s);
/* The record is gone. */
void stream_forget(struct stream *s);

#endif
