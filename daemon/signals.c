#include "signals.h"

#include <signal.h>

#include "base/log.h"

static void sig_stop(uv_signal_t *handle, int number)
{
    struct signals *s = handle->data;
    s->stop(s->ctx, number == SIGTERM ? "SIGTERM" : "SIGINT");
}

static void sig_reload(uv_signal_t *handle, int number)
{
    (void)handle;
    (void)number;
    log_info("SIGHUP",
             "nothing to reload: options come from the command line, configuration files "
             "come with a later release");
}

int sig_open(struct signals *s,
             uv_loop_t *loop,
             void (*stop)(void *ctx, const char *name),
             void *ctx)
{
    s->stop = stop;
    s->ctx = ctx;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)uv_signal_init(loop, &s->term);
    (void)uv_signal_init(loop, &s->interrupt);
    (void)uv_signal_init(loop, &s->hangup);
    s->open = 1;
    s->term.data = s;
    s->interrupt.data = s;
    s->hangup.data = s;
    int rc = uv_signal_start(&s->term, sig_stop, SIGTERM);
    if (rc == 0) {
        rc = uv_signal_start(&s->interrupt, sig_stop, SIGINT);
    }
    if (rc == 0) {
        rc = uv_signal_start(&s->hangup, sig_reload, SIGHUP);
    }
    return rc;
}

void sig_close(struct signals *s)
{
    if (s->open) {
        s->open = 0;
        uv_close((uv_handle_t *)&s->term, NULL);
        uv_close((uv_handle_t *)&s->interrupt, NULL);
        uv_close((uv_handle_t *)&s->hangup, NULL);
    }
}
