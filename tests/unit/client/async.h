/* async.h: a trainer whose tensors all go through slots, and what became of its captures. */
#ifndef CLIENT_ASYNC_H
#define CLIENT_ASYNC_H

#include <pthread.h>

#include "ground.h"

/* What the callback of an asynchronous capture was told. */
struct ended {
    struct cairn *c;
    unsigned calls;
    int rc;
    struct cairn_record *r;
    char text[512];               /* cairn_error, then */
    void (*then)(struct ended *); /* called by the callback, last; NULL: nothing */
    void *then_arg;
};

/* A job with tensors in every size class, all of them by slots that put leaves open. Slots are
 * handed out in this order. */
enum {
    SLOT_GRADIENTS = 0,
    SLOT_MODEL = 2,
    SLOT_OPTIMIZER = 6,
    SLOT_STATE = 8,
    SLOT_COUNT = 9,
};
void async_job(struct job *j);
/* Captured synchronously: the same tensors, filled by put itself. */
struct cairn_record *async_reference(struct ground *g, uint32_t kind);

void async_captured(void *arg, int rc, struct cairn_record *r);
/* Begin the capture of this kind; *e is what the callback gets. */
int async_begin(struct ground *g, uint32_t kind, struct ended *e);
/* Fill slots [from, to) in this thread. */
void async_fill(const struct job *j, size_t from, size_t to);
/* As an event loop does it: wait for the descriptor, process. */
void async_turn(struct cairn *c);
/* Would the loop be woken now? */
bool async_is_awake(struct cairn *c);
/* Fill and process to the end. */
void async_to_end(struct ground *g, const struct ended *e);

/* Two threads that fill slots [from, to), last ones first: one the even, one the odd. */
struct fillers {
    struct filler {
        const struct job *job;
        size_t from, to, odd;
        unsigned refused;
        pthread_t thread;
    } half[2];
};
void fillers_start(struct fillers *f, const struct job *j, size_t from, size_t to);
void fillers_join(struct fillers *f);

/* The same entries, sums and chunks, to the byte. */
void async_check_same(struct cairn_record *a, struct cairn_record *b);

#endif
