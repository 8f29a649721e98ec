/* server.c: start and stop, in order.
 *
 *   start   store -> ops -> listener -> connections -> READY
 *   stop    no new connections -> ops (commits in flight end, the rest is aborted) -> connections
 *           -> handles of our own -> the loop is empty -> ops, store freed
 *
 * A start that fails stops what was started, the same way. */
#include "server.h"

#include <sys/resource.h>

#include "base/log.h"
#include "net/listener.h"
#include "notify.h"
#include "ops/ops.h"
#include "signals.h"

enum { SRV_STOP_MS = 10000, SRV_HELLO_MS = 10000, SRV_OUTPUT_MS = 30000 };

struct server {
    const struct conf *conf;
    uv_loop_t loop;
    struct signals signals;
    struct notify notify;
    uv_timer_t deadline; /* of stopping */
    struct st *st;
    struct ops *ops;
    struct listener *lsn;
    struct conn_set *set;
    bool stopping, hung;
    const char *waiting_for; /* while stopping */
};

/* ---- stop ---- */

static void srv_hung(uv_timer_t *timer)
{
    struct server *s = timer->data;
    log_error("stopping takes too long",
              "waiting_for=\"%s\" connections=%u after_ms=%d: gives up",
              s->waiting_for,
              s->set == NULL ? 0 : conn_set_count(s->set),
              SRV_STOP_MS);
    if (s->ops != NULL) {
        ops_log_busy(s->ops);
    }
    s->hung = true;
    uv_stop(&s->loop);
}

static void srv_connections_closed(void *ctx)
{
    struct server *s = ctx;
    s->waiting_for = "the loop's last handles";
    s->set = conn_set_free(s->set);
    sig_close(&s->signals);
    ntf_close(&s->notify);
    /* The deadline goes on, but does not keep the loop alive by itself. */
    uv_unref((uv_handle_t *)&s->deadline);
}

static void srv_ops_stopped(void *ctx)
{
    struct server *s = ctx;
    s->waiting_for = "connections to close";
    if (s->set == NULL) {
        srv_connections_closed(s);
        return;
    }
    conn_set_close_all(s->set, "the daemon is stopping: connect again");
    conn_set_close(s->set, srv_connections_closed, s);
}

static void srv_stop(struct server *s)
{
    s->stopping = true;
    s->waiting_for = "saves and loads to end";
    (void)uv_timer_start(&s->deadline, srv_hung, SRV_STOP_MS, 0);
    if (s->set != NULL) {
        conn_set_stop_accept(s->set);
    }
    s->lsn = lsn_close(s->lsn);
    if (s->ops != NULL) {
        ops_stop(s->ops, srv_ops_stopped, s);
    } else {
        srv_ops_stopped(s);
    }
}

static void srv_signalled(void *ctx, const char *name)
{
    struct server *s = ctx;
    if (s->stopping) {
        log_info("stopping already", "signal=%s waiting_for=\"%s\"", name, s->waiting_for);
        return;
    }
    log_info("stopping", "signal=%s", name);
    ntf_stopping("finishing commits, closing runs");
    srv_stop(s);
}

/* ---- start ---- */

/* Runs, segments and connections each hold descriptors: take all that we may have. */
static void srv_raise_fd_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int srv_check_policy(const struct conf *conf, struct err *err)
{
    struct policy policy;
    int rc = conf->keep_default[0] == '\0'
                 ? 0
                 : policy_parse(slice_str(conf->keep_default), &policy, err);
    return rc < 0 ? err_wrap(err, rc, "--keep-default") : 0;
}

static int srv_start_ops(struct server *s, struct err *err)
{
    const struct conf *conf = s->conf;
    const struct st_options st_options = {
        .reserve_bytes = conf->reserve_bytes,
        .min_free_percent = (unsigned)conf->min_free_percent,
        .force_buffered = conf->buffered,
        .keep_default = conf->keep_default[0] == '\0' ? NULL : conf->keep_default,
    };
    const struct ops_options options = {
        .server = "cairnd " CAIRN_VERSION,
        .open_runs = (unsigned)conf->open_runs,
        .idle_ms = conf->idle_ms,
        .min_rate_bytes = conf->min_rate_bytes,
        .pool_bytes = conf->pool_bytes,
        .read_pool_bytes = conf->read_pool_bytes,
        .arena_bytes = conf->arena_bytes,
        .resident_bytes = conf->resident_bytes,
        .metadata_bytes = conf->metadata_bytes,
        .allow_root_trainers = conf->allow_root_trainers,
        .read_group = conf->read_group,
        .keep_interval_ms = conf->keep_interval_ms,
    };
    int rc = srv_check_policy(conf, err);
    rc = rc < 0 ? rc : st_open(conf->data, &st_options, &s->st, err);
    return rc < 0 ? rc : ops_new(&s->loop, s->st, &options, &s->ops, err);
}

static int srv_start_net(struct server *s, struct err *err)
{
    const struct conf *conf = s->conf;
    const struct listener_options options = { .path = conf->socket,
                                              .mode = (mode_t)conf->socket_mode,
                                              .group = conf->socket_group };
    struct conn_set_options set_options = {
        .limits = { .hello_ms = SRV_HELLO_MS,
                    .frame_ms = conf->idle_ms,
                    .output_ms = SRV_OUTPUT_MS,
                    .min_rate_bytes = conf->min_rate_bytes,
                    .connections = (uint32_t)conf->max_connections,
                    .connections_per_uid = (uint32_t)conf->max_connections_per_uid },
        .handler = ops_handler(),
        .ctx = s->ops,
    };
    int rc = lsn_open(&options, &s->lsn, err);
    if (rc == 0) {
        set_options.listen_fd = lsn_fd(s->lsn);
        rc = conn_set_new(&s->loop, &set_options, &s->set, err);
    }
    if (rc == 0) {
        ops_set_connections(s->ops, s->set);
    }
    return rc;
}

static void srv_say_ready(const struct server *s)
{
    char status[256];
    const char *why = "";
    const char *mode = st_io_mode(s->st, &why);
    log_info("serving",
             "version=" CAIRN_VERSION " data=\"%s\" socket=\"%s\" handed_over=%s io=%s%s%s%s",
             s->conf->data,
             lsn_path(s->lsn),
             lsn_activated(s->lsn) ? "yes" : "no",
             mode,
             why[0] == '\0' ? "" : " why=\"",
             why,
             why[0] == '\0' ? "" : "\"");
    (void)snprintf(status, sizeof status, "serving %.200s (%s)", s->conf->data, mode);
    ntf_ready(status);
}

static int srv_start(struct server *s, struct err *err)
{
    srv_raise_fd_limit();
    int rc = srv_start_ops(s, err);
    if (rc == 0) {
        rc = srv_start_net(s, err);
    }
    if (rc == 0) {
        srv_say_ready(s);
    }
    return rc;
}

/* ---- the whole ---- */

static int srv_serve(struct server *s)
{
    struct err err = { 0 };
    (void)uv_timer_init(&s->loop, &s->deadline);
    s->deadline.data = s;
    ntf_open(&s->notify, &s->loop);
    int rc = sig_open(&s->signals, &s->loop, srv_signalled, s);
    rc = rc < 0 ? err_set(&err, -CAIRN_EINTERNAL, "catch signals: %s", uv_strerror(rc))
                : srv_start(s, &err);
    if (rc < 0) {
        log_error("cannot start", "error=%s why=\"%s\"", cairn_error_name(rc), err.msg);
        srv_stop(s);
    }
    (void)uv_run(&s->loop, UV_RUN_DEFAULT);
    return rc < 0 || s->hung ? 1 : 0;
}

static int srv_free(struct server *s)
{
    uv_close((uv_handle_t *)&s->deadline, NULL);
    (void)uv_run(&s->loop, UV_RUN_DEFAULT);
    s->ops = ops_free(s->ops);
    s->st = st_close(s->st);
    int rc = uv_loop_close(&s->loop);
    if (rc < 0) {
        log_error("handles were left open", "error=\"%s\"", uv_strerror(rc));
    }
    return rc < 0 ? 1 : 0;
}

int server_run(const struct conf *conf)
{
    struct server s = { .conf = conf };
    int rc = uv_loop_init(&s.loop);
    if (rc < 0) {
        log_error("cannot start", "no event loop: %s", uv_strerror(rc));
        return 1;
    }
    int code = srv_serve(&s);
    if (s.hung) {
        return code; /* threads are still at it: freeing under them would only crash */
    }
    code |= srv_free(&s);
    log_info("stopped", "code=%d", code);
    return code;
}
