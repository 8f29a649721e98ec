/* capture_async.c: a capture that waits for its slots without blocking anybody.
 *
 * cairn_capture_async asks for the gradients and returns. Whoever fills their slots says so, from
 * any thread; the last one makes the handle's descriptor readable, and cairn_process, called by the
 * thread that owns the handle, takes the next step: asks for the rest, and when that is filled too,
 * sums up and calls back. Every start that returned 0 ends in exactly one callback, from
 * cairn_process or, cancelled, from cairn_close. A slot that failed ends it at once; those still
 * open keep their places (drain.c). Nothing here touches a socket. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/training.h"

/* ---- the descriptor ---- */

/* A full counter is readable too, so there is nothing to do about one. */
void cl_wake(struct cairn *c)
{
    uint64_t one = 1;
    if (c->wake_fd >= 0) {
        (void)!write(c->wake_fd, &one, sizeof one);
    }
}

static void async_unwake(struct cairn *c)
{
    uint64_t count = 0;
    if (c->wake_fd >= 0) {
        (void)!read(c->wake_fd, &count, sizeof count);
    }
}

/* A step may be taken: also when no slot is going to say so, because there is none, or because the
 * last one was filled before anybody listened. */
static void async_wake_if_settled(struct cairn *c)
{
    struct capture *cap = c->capture;
    if (cap != NULL && cap->done != NULL && slot_is_settled(cap)) {
        (void)pthread_mutex_lock(&c->slot_lock);
        cl_wake(c);
        (void)pthread_mutex_unlock(&c->slot_lock);
    }
}

static int async_open_fd(struct cairn *c)
{
    int fd = tp_no_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (fd < 0) {
        return err_errno(&c->err, errno, "make a descriptor for an event loop");
    }
    (void)pthread_mutex_lock(&c->slot_lock);
    c->wake_fd = fd;
    (void)pthread_mutex_unlock(&c->slot_lock);
    async_wake_if_settled(c);
    return 0;
}

int cairn_fd(struct cairn *c)
{
    int rc = cl_enter_local(c);
    if (rc == 0 && c->wake_fd < 0) {
        rc = async_open_fd(c);
    }
    return rc < 0 ? rc : c->wake_fd;
}

int cairn_events(const struct cairn *c)
{
    if (c == NULL || c->closed) {
        return -CAIRN_EINVAL;
    }
    return c->forked ? -CAIRN_EFORK : POLLIN;
}

/* ---- the steps ---- */

/* It is over, this way or that. The callback comes last: it may do anything to the handle. */
static void async_end(struct capture *cap, int rc)
{
    cairn_captured_fn *done = cap->done;
    void *arg = cap->done_arg;
    struct cairn_record *r = NULL;
    if (rc == 0) {
        rc = capture_finish(cap, &r);
    } else {
        capture_drop(cap);
    }
    done(arg, rc, r);
}

int cairn_process(struct cairn *c)
{
    int rc = cl_enter_local(c);
    if (rc < 0) {
        return rc;
    }
    async_unwake(c); /* before looking: what is done after that wakes again */
    struct capture *cap = c->capture;
    if (cap == NULL || cap->done == NULL || cap->running) {
        return 0;
    }
    rc = 1;
    while (rc > 0 && slot_is_settled(cap)) {
        rc = slot_check_all(cap);
        if (rc == 0) {
            rc = capture_step(cap);
        }
    }
    if (rc <= 0) {
        async_end(cap, rc);
    }
    return 0;
}

static int async_start(struct cairn *c,
                       const struct cairn_trainer *t,
                       uint32_t kind,
                       cairn_captured_fn *done,
                       void *arg)
{
    struct capture *cap = NULL;
    int rc = capture_enter(c);
    if (rc < 0) {
        return rc;
    }
    if (t == NULL || done == NULL) {
        return cl_invalid(c, "an asynchronous capture needs a trainer and a callback");
    }
    rc = capture_start(c, t, kind, &cap);
    if (rc < 0) {
        return rc;
    }
    cap->done = done;
    cap->done_arg = arg;
    rc = capture_step(cap);
    if (rc < 0) {
        capture_drop(cap);
        return rc;
    }
    async_wake_if_settled(c);
    return 0;
}

/* In a forked child the callback is the parent's. One that is in the middle of a step is below us
 * on the stack, which nobody may do (record.h); it is left alone. */
void capture_close(struct cairn *c)
{
    struct capture *cap = c->capture;
    if (cap == NULL || cap->running) {
        return;
    }
    cairn_captured_fn *done = cap->done;
    void *arg = cap->done_arg;
    int rc =
        err_set(&c->err, -CAIRN_ECANCELED, "the handle was closed before the capture had ended");
    capture_drop(cap);
    if (!c->forked) {
        done(arg, rc, NULL);
    }
}

/* ---- faces ---- */

int cairn_capture_async(struct cairn *c,
                        const struct cairn_trainer *t,
                        cairn_captured_fn *done,
                        void *arg)
{
    return async_start(c, t, KIND_PLAIN, done, arg);
}

int cairn_capture_async_with_dtypes(struct cairn *c,
                                    const struct cairn_trainer *t,
                                    cairn_captured_fn *done,
                                    void *arg)
{
    return async_start(c, t, KIND_DTYPES, done, arg);
}

int cairn_capture_weighted_async(struct cairn *c,
                                 const struct cairn_trainer *t,
                                 cairn_captured_fn *done,
                                 void *arg)
{
    return async_start(c, t, KIND_WEIGHTED, done, arg);
}

int cairn_capture_weighted_with_dtypes_async(struct cairn *c,
                                             const struct cairn_trainer *t,
                                             cairn_captured_fn *done,
                                             void *arg)
{
    return async_start(c, t, KIND_DTYPES | KIND_WEIGHTED, done, arg);
}

int cairn_model_state_capture_async(struct cairn *c,
                                    const struct cairn_trainer *t,
                                    cairn_captured_fn *done,
                                    void *arg)
{
    return async_start(c, t, KIND_MODEL_STATE, done, arg);
}

int cairn_model_state_capture_weighted_async(struct cairn *c,
                                             const struct cairn_trainer *t,
                                             cairn_captured_fn *done,
                                             void *arg)
{
    return async_start(c, t, KIND_MODEL_STATE | KIND_WEIGHTED, done, arg);
}
