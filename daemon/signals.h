/* signals.h: TERM and INT stop, HUP will reload, PIPE is nothing. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <uv.h>

struct signals {
    uv_signal_t term, interrupt, hangup;
    void (*stop)(void *ctx, const char *name); /* on the loop; for every signal, also the second */
    void *ctx;
    int open;
};

/* A libuv code. */
int sig_open(struct signals *s,
             uv_loop_t *loop,
             void (*stop)(void *ctx, const char *name),
             void *ctx);
void sig_close(struct signals *s); /* idempotent */

#endif
