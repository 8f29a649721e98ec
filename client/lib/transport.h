/* transport.h: bytes over one Unix stream socket, with deadlines. Knows no frame.
 *
 * A deadline is a moment of the monotonic clock. One that counts idleness moves on with every byte
 * that is sent or received; one that counts in total does not. */
#ifndef LIB_TRANSPORT_H
#define LIB_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "internal/err.h"

struct deadline {
    int64_t end_ns;
    int64_t idle_ns; /* progress moves the end to now + idle_ns; 0: nothing moves it */
};

int64_t cl_now_ns(void);
struct deadline deadline_idle(int64_t idle_ms);
struct deadline deadline_total(int64_t total_ms);
void deadline_progress(struct deadline *d);
bool deadline_passed(const struct deadline *d);
/* Sleep, but not beyond the deadline: false when that has passed. */
bool deadline_sleep(const struct deadline *d, int64_t ms);

/* The same descriptor (close-on-exec), or another instead of it, that is none of the standard ones:
 * when the caller has closed one of those, a message that is printed must not end up here. -1 and
 * errno: fd was -1, or there is no other. */
int tp_no_standard(int fd);
/* The socket is non-blocking and close-on-exec, and never one of the standard streams.
 * Errors: EINVAL path too long; ECONN nobody listens; EACCES; ETIMEDOUT. */
int tp_connect(const char *path, const struct deadline *d, int *ret_fd, struct err *err);
/* Send all of it; changes iov. Errors: ECONN, ETIMEDOUT. */
int tp_send(int fd, struct iovec *iov, size_t count, struct deadline *d, struct err *err);
/* Receive exactly so many bytes; descriptors that come along are closed. Errors: ECONN, ETIMEDOUT.
 */
int tp_recv(int fd, void *dst, size_t bytes, struct deadline *d, struct err *err);
/* The same; the descriptor that comes along (close-on-exec) is in *ret_fd, which was -1, or holds
 * what came before and is then closed. Also after a failure. */
int tp_recv_fd(int fd, void *dst, size_t bytes, int *ret_fd, struct deadline *d, struct err *err);
/* Is there something to read (or an end), now? */
bool tp_readable(int fd);
/* Wait until there is; false: the deadline passed. */
bool tp_wait_readable(int fd, const struct deadline *d);

#endif
