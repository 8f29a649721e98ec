/* chunks.h: verified chunks in private memory, for who reads another entry of one of them next. */
#ifndef LIB_CHUNKS_H
#define LIB_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "internal/limits.h"

struct chunk_buf {
    uint8_t *data; /* allocated when first needed */
    uint32_t chunk;
    bool valid;
    bool consumed; /* its last byte was handed out: the first to be reused */
    uint64_t used_at;
};

struct chunk_bufs {
    struct chunk_buf bufs[LIMIT_WINDOW_CHUNKS];
    uint64_t clock;
};

/* NULL: it is not there. */
struct chunk_buf *chunk_find(struct chunk_bufs *c, uint32_t chunk);
/* A buffer to receive into: one that was read to its end, else a new one, else the one that was not
 * used for longest. NULL: no memory. */
struct chunk_buf *chunk_take(struct chunk_bufs *c);
/* It holds this chunk now. */
void chunk_put(struct chunk_bufs *c, struct chunk_buf *buf, uint32_t chunk, bool valid);
void chunk_forget(struct chunk_bufs *c);

#endif
