/* listener.h: the socket that trainers connect to: the one that systemd hands over, or our own. */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

#include "internal/err.h"

struct listener_options {
    const char *path; /* unused when a socket was handed over */
    mode_t mode;      /* 0660 */
    int64_t group;    /* gid of the socket file; -1: leave it */
};

struct listener;
/* Our own: a stale socket file is removed, a live one is refused with the pid of its owner, and so
 * is anything that is no socket. The file has mode and group before anybody can connect.
 * Errors: EINVAL the path, or what was handed over; EBUSY somebody listens there; EACCES; EIO. */
int lsn_open(const struct listener_options *options, struct listener **ret, struct err *err);
int lsn_fd(const struct listener *lsn);
const char *lsn_path(const struct listener *lsn);
bool lsn_activated(const struct listener *lsn);
/* Unlinks the file if it is still ours, and not systemd's. NULL is allowed. Returns NULL. */
struct listener *lsn_close(struct listener *lsn);

#endif
