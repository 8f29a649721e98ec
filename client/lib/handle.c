/* handle.c: open and close, the text of the last failure, timeouts, and the guard for forks. */
#include "lib/handle.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/call.h"
#include "lib/capture.h"
#include "lib/crew.h"
#include "lib/owner.h"
#include "lib/pending.h"
#include "record/rules.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are little-endian, and nothing here swaps bytes"
#endif

#define HANDLE_OPEN_MS 10000
#define HANDLE_TIMEOUT_MS 60000
#define HANDLE_SOCKET "/run/cairn/cairnd.sock"

/* ---- every handle of the process ---- */

static pthread_mutex_t handle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t handle_once = PTHREAD_ONCE_INIT;
static struct cairn *handle_list;

/* No thread is in the middle of a slot when the process is copied. */
static void handle_before_fork(void)
{
    (void)pthread_mutex_lock(&handle_lock);
    for (struct cairn *c = handle_list; c != NULL; c = c->next) {
        (void)pthread_mutex_lock(&c->slot_lock);
    }
}

static void handle_after_fork(void)
{
    for (struct cairn *c = handle_list; c != NULL; c = c->next) {
        (void)pthread_mutex_unlock(&c->slot_lock);
    }
    (void)pthread_mutex_unlock(&handle_lock);
}

void cl_close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

/* The socket is the parent's conversation, and the eventfd wakes its loop: the child keeps off. */
static void handle_in_child(void)
{
    for (struct cairn *c = handle_list; c != NULL; c = c->next) {
        cl_close_fd(&c->fd);
        cl_close_fd(&c->in_fd);
        cl_close_fd(&c->wake_fd);
        c->forked = true;
    }
    handle_after_fork();
}

static void handle_watch_forks(void)
{
    (void)pthread_atfork(handle_before_fork, handle_after_fork, handle_in_child);
}

static void handle_link(struct cairn *c)
{
    (void)pthread_once(&handle_once, handle_watch_forks);
    (void)pthread_mutex_lock(&handle_lock);
    c->next = handle_list;
    c->prev = &handle_list;
    if (c->next != NULL) {
        c->next->prev = &c->next;
    }
    handle_list = c;
    (void)pthread_mutex_unlock(&handle_lock);
}

static void handle_unlink(struct cairn *c)
{
    (void)pthread_mutex_lock(&handle_lock);
    *c->prev = c->next;
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    (void)pthread_mutex_unlock(&handle_lock);
}

/* ---- open ---- */

static struct cairn *handle_new(const char *socket_path, const char *run)
{
    struct cairn *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->fd = -1;
    c->in_fd = -1;
    c->wake_fd = -1;
    c->holds = 1;
    c->timeout_ms = HANDLE_TIMEOUT_MS;
    bump_init(&c->bump, 0);
    (void)pthread_mutex_init(&c->slot_lock, NULL);
    handle_link(c);
    c->socket_path = strdup(socket_path);
    c->run = run == NULL ? NULL : strdup(run);
    if (c->socket_path == NULL || (run != NULL && c->run == NULL)) {
        return cairn_close(c);
    }
    return c;
}

static const char *handle_socket(const char *given)
{
    const char *path = given == NULL ? getenv("CAIRN_SOCKET") : given;
    return path == NULL || (given == NULL && path[0] == '\0') ? HANDLE_SOCKET : path;
}

/* Ask for the run now, so that a handle that opens is one that works. */
static int handle_first_words(struct cairn *c)
{
    char *run = NULL;
    int rc = c->run == NULL ? 0 : owner_resolve(c->run, &run, &c->err);
    if (run != NULL) {
        free(c->run);
        c->run = run;
    }
    if (rc == 0) {
        c->deadline = deadline_total(HANDLE_OPEN_MS);
        rc = cl_connect(c);
    }
    if (rc == 0 && c->run != NULL) {
        union wire_msg msg = { .run_open = { .run = slice_str(c->run) } };
        union wire_msg answer;
        rc = cl_ask_once(c, WIRE_RUN_OPEN, &msg, WIRE_RUN_INFO, &answer);
    }
    return rc;
}

static int handle_open(const char *socket, const char *run, struct cairn **ret)
{
    struct cairn *c = handle_new(handle_socket(socket), run);
    if (c == NULL) {
        return -CAIRN_ENOMEM;
    }
    int rc = handle_first_words(c);
    if (rc < 0) {
        cl_drop(c);
        c->unusable = true;
    }
    *ret = c;
    return rc;
}

int cairn_open(const char *socket, const char *run, struct cairn **ret)
{
    if (ret == NULL) {
        return -CAIRN_EINVAL;
    }
    return handle_open(socket, run == NULL ? "" : run, ret);
}

int cairn_admin_open(const char *socket, struct cairn **ret)
{
    return ret == NULL ? -CAIRN_EINVAL : handle_open(socket, NULL, ret);
}

/* ---- close ---- */

void cl_release(struct cairn *c)
{
    (void)pthread_mutex_lock(&c->slot_lock);
    bool last = --c->holds == 0;
    (void)pthread_mutex_unlock(&c->slot_lock);
    if (last) {
        handle_unlink(c);
        (void)pthread_mutex_destroy(&c->slot_lock);
        free(c);
    }
}

static void handle_stop_captures(struct cairn *c)
{
    capture_close(c);
    if (c->forked) {
        drain_forget_all(c);
    }
    (void)pthread_mutex_lock(&c->slot_lock);
    cl_close_fd(&c->wake_fd);
    (void)pthread_mutex_unlock(&c->slot_lock);
}

/* A started save lives on in the daemon; records live on in this process; and so does the place of
 * a slot that somebody may be writing to. */
struct cairn *cairn_close(struct cairn *c)
{
    if (c == NULL || c->closed) { /* closed: by the callback of a capture that is cancelled here */
        return NULL;
    }
    c->closed = true;
    handle_stop_captures(c);
    pending_orphan_all(c);
    cl_drop(c);
    stream_forget(&c->stream);
    resident_gone(c, NULL);
    for (struct cairn_record *r = c->records; r != NULL; r = r->next) {
        r->c = NULL;
    }
    found_free(&c->found);
    region_cache_fini(&c->regions);
    c->crew = crew_free(c->crew);
    cl_drop_leases(c);
    wire_buf_free(&c->out);
    bump_fini(&c->bump);
    free(c->in);
    free(c->socket_path);
    free(c->run);
    cl_release(c);
    return NULL;
}

int cairn_admin_run(struct cairn *c, const char *run)
{
    char *copy = NULL;
    int rc = cl_enter(c);
    if (rc < 0) {
        return rc;
    }
    if (run == NULL) {
        return cl_invalid(c, "turn a handle to a run: no run was given");
    }
    if (c->records != NULL || c->pendings != NULL) {
        return err_set(&c->err, -CAIRN_EBUSY, "a record or a save of run '%s' is in use", c->run);
    }
    rc = owner_resolve(run, &copy, &c->err);
    if (rc < 0) {
        return rc;
    }
    free(c->run);
    c->run = copy;
    return 0;
}

/* ---- at the start of every call ---- */

struct err *cl_err(struct cairn *c)
{
    return c == NULL ? NULL : &c->err;
}

int cl_invalid(struct cairn *c, const char *text)
{
    return err_set(cl_err(c), -CAIRN_EINVAL, "%s", text);
}

int cl_enter_local(struct cairn *c)
{
    if (c == NULL || c->closed) {
        return -CAIRN_EINVAL;
    }
    if (c->forked) {
        return err_set(
            &c->err, -CAIRN_EFORK, "this handle was opened before a fork: open one in the child");
    }
    return 0;
}

int cl_enter(struct cairn *c)
{
    if (c == NULL || c->unusable) {
        return -CAIRN_EINVAL;
    }
    int rc = cl_enter_local(c);
    return rc < 0 ? rc : pending_tell(c);
}

void cl_begin(struct cairn *c, struct deadline deadline)
{
    c->deadline = deadline;
    c->lost = false;
    c->losses = 0;
    c->backoff_ms = 0;
}

int cl_enter_daemon(struct cairn *c, int timeout_ms)
{
    int rc = cl_enter(c);
    if (rc < 0) {
        return rc;
    }
    if (timeout_ms < 0) {
        return cl_invalid(c, "a timeout is not negative");
    }
    cl_begin(c, timeout_ms > 0 ? deadline_total(timeout_ms) : deadline_idle(c->timeout_ms));
    if (c->flight != NULL && tp_readable(c->fd)) {
        (void)cl_receive_flight(
            c); /* what went wrong with it is told here, or settled when needed */
        rc = pending_tell(c);
    }
    return rc;
}

int cl_enter_run(struct cairn *c, int timeout_ms)
{
    int rc = cl_enter_daemon(c, timeout_ms);
    if (rc == 0 && c->run == NULL) {
        rc = cl_invalid(c, "the handle has no run: call cairn_admin_run first");
    }
    return rc;
}

const char *cairn_error(const struct cairn *c)
{
    return c == NULL ? "" : c->err.msg;
}

int cairn_set_timeout(struct cairn *c, int timeout_ms)
{
    int rc = cl_enter(c);
    if (rc == 0 && timeout_ms <= 0) {
        rc = cl_invalid(c, "a timeout is greater than 0");
    }
    if (rc == 0) {
        c->timeout_ms = timeout_ms;
    }
    return rc;
}
