/* transport.c: bytes over one Unix stream socket, with deadlines. */
#include "lib/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000

int64_t cl_now_ns(void)
{
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}

struct deadline deadline_idle(int64_t idle_ms)
{
    return (struct deadline){ cl_now_ns() + idle_ms * NS_PER_MS, idle_ms * NS_PER_MS };
}

struct deadline deadline_total(int64_t total_ms)
{
    return (struct deadline){ cl_now_ns() + total_ms * NS_PER_MS, 0 };
}

void deadline_progress(struct deadline *d)
{
    if (d->idle_ns > 0) {
        d->end_ns = cl_now_ns() + d->idle_ns;
    }
}

bool deadline_passed(const struct deadline *d)
{
    return cl_now_ns() >= d->end_ns;
}

/* Milliseconds for poll, rounded up so that nobody spins through the last one. */
static int tp_left_ms(const struct deadline *d)
{
    int64_t left = (d->end_ns - cl_now_ns() + NS_PER_MS - 1) / NS_PER_MS;
    if (left <= 0) {
        return 0;
    }
    return left > INT_MAX ? INT_MAX : (int)left;
}

bool deadline_sleep(const struct deadline *d, int64_t ms)
{
    struct deadline until = deadline_total(ms);
    if (until.end_ns > d->end_ns) {
        until.end_ns = d->end_ns;
    }
    while (!deadline_passed(&until)) {
        (void)poll(NULL, 0, tp_left_ms(&until));
    }
    return !deadline_passed(d);
}

static bool tp_poll(int fd, short events, const struct deadline *d)
{
    for (;;) {
        struct pollfd p = { .fd = fd, .events = events };
        int left_ms = tp_left_ms(d);
        int count = poll(&p, 1, left_ms);
        if (count > 0) {
            return true;
        }
        if ((count == 0 && deadline_passed(d)) || (count < 0 && errno != EINTR)) {
            return false;
        }
    }
}

bool tp_readable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    return poll(&p, 1, 0) > 0;
}

bool tp_wait_readable(int fd, const struct deadline *d)
{
    return tp_poll(fd, POLLIN, d);
}

/* A Unix connect does not wait: EAGAIN means that the backlog is full just now. */
static int
tp_connect_socket(int fd, const struct sockaddr_un *to, const struct deadline *d, struct err *err)
{
    int64_t wait_ms = 1;
    while (connect(fd, (const struct sockaddr *)to, sizeof *to) < 0) {
        if (errno == EAGAIN && deadline_sleep(d, wait_ms)) {
            wait_ms = wait_ms < 100 ? wait_ms * 2 : wait_ms;
        } else if (errno == EACCES || errno == EPERM) {
            return err_errno(err, errno, "connect to '%s'", to->sun_path);
        } else if (errno != EINTR) {
            return err_set(err,
                           errno == EAGAIN ? -CAIRN_ETIMEDOUT : -CAIRN_ECONN,
                           "connect to '%s': %s (is cairnd running?)",
                           to->sun_path,
                           strerrordesc_np(errno));
        }
    }
    return 0;
}

int tp_no_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) {
        return fd;
    }
    int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int code = errno;
    (void)close(fd);
    errno = code;
    return high;
}

int tp_connect(const char *path, const struct deadline *d, int *ret_fd, struct err *err)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    if (path[0] == '\0' || strlen(path) >= sizeof to.sun_path) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "socket path '%s': 1 to %zu bytes are possible",
                       path,
                       sizeof to.sun_path - 1);
    }
    memcpy(to.sun_path, path, strlen(path) + 1);
    int fd = tp_no_standard(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) {
        return err_errno(err, errno, "make a socket");
    }
    int rc = tp_connect_socket(fd, &to, d, err);
    if (rc < 0) {
        (void)close(fd);
        return rc;
    }
    *ret_fd = fd;
    return 0;
}

/* Step over what was sent. */
static void tp_advance(struct iovec **iov, size_t *count, size_t sent)
{
    while (*count > 0 && sent >= (*iov)->iov_len) {
        sent -= (*iov)->iov_len;
        (*iov)++;
        (*count)--;
    }
    if (*count > 0) {
        (*iov)->iov_base = (char *)(*iov)->iov_base + sent;
        (*iov)->iov_len -= sent;
    }
}

/* What a call on the socket said with -1: 0 to try again, now or when the socket is ready. */
static int
tp_failed(int fd, short events, const char *what, const struct deadline *d, struct err *err)
{
    if (errno == EINTR) {
        return 0;
    }
    if (errno != EAGAIN) {
        return err_set(err, -CAIRN_ECONN, "%s the daemon: %s", what, strerrordesc_np(errno));
    }
    if (tp_poll(fd, events, d)) {
        return 0;
    }
    return err_set(err, -CAIRN_ETIMEDOUT, "%s the daemon: no progress until the deadline", what);
}

int tp_send(int fd, struct iovec *iov, size_t count, struct deadline *d, struct err *err)
{
    int rc = 0;
    tp_advance(&iov, &count, 0);
    while (rc == 0 && count > 0) {
        struct msghdr msg = { .msg_iov = iov, .msg_iovlen = count };
        ssize_t sent = sendmsg(fd, &msg, MSG_NOSIGNAL);
        if (sent >= 0) {
            deadline_progress(d);
            tp_advance(&iov, &count, (size_t)sent);
        } else {
            rc = tp_failed(fd, POLLOUT, "send to", d, err);
        }
    }
    return rc;
}

/* The one that came along, in place of the one before. There is room for no more: the kernel closes
 * the others. */
static void tp_take_fd(struct msghdr *msg, int *ret_fd)
{
    struct cmsghdr *h = CMSG_FIRSTHDR(msg);
    if (h != NULL && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS &&
        h->cmsg_len == CMSG_LEN(sizeof *ret_fd)) {
        if (*ret_fd >= 0) {
            (void)close(*ret_fd);
        }
        memcpy(ret_fd, CMSG_DATA(h), sizeof *ret_fd);
        *ret_fd = tp_no_standard(*ret_fd);
    }
}

/* Without room for control messages the kernel closes every descriptor that comes along. */
static ssize_t tp_recv_some(int fd, void *dst, size_t bytes, int *ret_fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct iovec iov = { .iov_base = dst, .iov_len = bytes };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    if (ret_fd == NULL) {
        return recv(fd, dst, bytes, 0);
    }
    msg.msg_control = control;
    msg.msg_controllen = sizeof control;
    ssize_t got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
    if (got > 0) {
        tp_take_fd(&msg, ret_fd);
    }
    return got;
}

int tp_recv(int fd, void *dst, size_t bytes, struct deadline *d, struct err *err)
{
    return tp_recv_fd(fd, dst, bytes, NULL, d, err);
}

int tp_recv_fd(int fd, void *dst, size_t bytes, int *ret_fd, struct deadline *d, struct err *err)
{
    char *at = dst;
    int rc = 0;
    while (rc == 0 && bytes > 0) {
        ssize_t got = tp_recv_some(fd, at, bytes, ret_fd);
        if (got > 0) {
            deadline_progress(d);
            at += got;
            bytes -= (size_t)got;
        } else if (got == 0) {
            rc = err_set(err, -CAIRN_ECONN, "the daemon closed the connection");
        } else {
            rc = tp_failed(fd, POLLIN, "receive from", d, err);
        }
    }
    return rc;
}
