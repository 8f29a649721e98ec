/* verify.h: the inside of a check of one boundary. */
#ifndef STORE_VERIFY_H
#define STORE_VERIFY_H

#include "store/check.h"
#include "store/load.h"

/* An entry inside a shared chunk, waiting until that chunk is read. */
struct verify_item {
    enum component component;
    uint32_t chunk, offset_bytes;
    uint64_t bytes;
    struct digest digest;
    size_t path_at, path_bytes; /* in verify.text */
};

enum verify_state { VERIFY_UNREAD, VERIFY_GOOD, VERIFY_BAD, VERIFY_LOST };

struct verify {
    struct st_run *run;
    struct st_load *load;
    uint64_t seq;
    const struct st_watch *watch;
    struct wire_verified *result;
    struct check check;
    uint8_t *states; /* enum verify_state of each chunk */
    uint8_t *buffer; /* one chunk */
    uint32_t held;   /* which; UINT32_MAX: none */
    bool incomplete; /* something could not be fed to check: its sums mean nothing */
    struct verify_item *items;
    uint32_t item_count;
    uint8_t *text;
    size_t text_bytes;
};

int verify_say(struct verify *v, enum component component, struct slice path, const char *text);
/* Say how far it is; negative: nobody wants the rest. */
int verify_step(struct verify *v, struct err *err);
/* The finding that `why` tells. Trouble of this process is none: it comes back, in err. */
int verify_say_err(struct verify *v, int rc, const struct err *why, struct err *err);

/* ---- verify_chunk.c ---- */
/* Read a chunk into v->buffer (if it is not there) and, the first time, compare its digest. */
int verify_chunk(struct verify *v, uint32_t index, struct err *err);
/* The same, unless it was compared before: then the buffer may hold another. */
int verify_chunk_once(struct verify *v, uint32_t index, struct err *err);
/* Queue an entry of a shared chunk. */
int verify_queue(struct verify *v,
                 enum component component,
                 const struct entry *e,
                 struct err *err);
/* Check what is queued, chunk by chunk. */
int verify_flush(struct verify *v, struct err *err);
int verify_init_chunks(struct verify *v, struct err *err);

#endif
