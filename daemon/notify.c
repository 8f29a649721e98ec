#include "notify.h"

#include <string.h>

#include <systemd/sd-daemon.h>

#include "base/log.h"

static void ntf_check(int rc)
{
    if (rc < 0) {
        char why[LOG_QUOTE_BYTES];
        const char *text = uv_strerror(rc);
        log_warn("systemd could not be told",
                 "error=%s",
                 log_quote(why, sizeof why, text, strlen(text)));
    }
}

static void ntf_feed(uv_timer_t *timer)
{
    (void)timer;
    ntf_check(sd_notify(0, "WATCHDOG=1"));
}

void ntf_open(struct notify *n, uv_loop_t *loop)
{
    uint64_t usec = 0;
    int rc = sd_watchdog_enabled(0, &usec);
    n->watched = rc > 0;
    ntf_check(rc);
    if (n->watched) {
        uint64_t ms = usec / 1000 / 3 + 1; /* two may be late */
        (void)uv_timer_init(loop, &n->watchdog);
        (void)uv_timer_start(&n->watchdog, ntf_feed, ms, ms);
    }
}

void ntf_ready(const char *status)
{
    ntf_check(sd_notifyf(0, "READY=1\nSTATUS=%s", status));
}

void ntf_stopping(const char *status)
{
    ntf_check(sd_notifyf(0, "STOPPING=1\nSTATUS=%s", status));
}

void ntf_close(struct notify *n)
{
    if (n->watched) {
        n->watched = 0;
        uv_close((uv_handle_t *)&n->watchdog, NULL);
    }
}
