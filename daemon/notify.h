/* notify.h: what systemd is told (nothing, when nobody asked): ready, status, stopping, alive. */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <uv.h>

struct notify {
    uv_timer_t watchdog; /* fed from the loop: a loop that hangs feeds nothing */
    int watched;
};

/* Starts feeding the watchdog if WatchdogSec= is set. */
void ntf_open(struct notify *n, uv_loop_t *loop);
void ntf_ready(const char *status);
void ntf_stopping(const char *status);
void ntf_close(struct notify *n);

#endif
