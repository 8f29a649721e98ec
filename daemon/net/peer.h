/* peer.h: who is at the other end, as the kernel says. */
#ifndef NET_PEER_H
#define NET_PEER_H

#include "net/conn.h"

/* The uid that a user namespace shows for everybody it has no number for: nobody in particular. */
#define PEER_OVERFLOW_UID 65534u

/* Errors: EIO. */
int peer_read(int fd, struct peer *ret, struct err *err);
/* A descriptor that becomes readable when the process ends; negative: none to be had. */
int peer_pidfd(const struct peer *peer);

#endif
