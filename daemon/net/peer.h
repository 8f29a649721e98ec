/* peer.h: who is at the other end, as the kernel says. */
#ifndef NET_PEER_H
#define NET_PEER_H

#include "net/conn.h"

/* The uid that a user namespace shows for everybody it has no number for: nobody in particular. */
#define PEER_OVERFLOW_UID 65534u

/* Errors: EIO. */
int peer_read(int fd, struct peer *ret, struct err *err);
/* Was it, when it connected, in the group, by its primary or any other group? */
enum { PEER_GROUPS_MAX = 1024 };
bool peer_in_group(int fd, const struct peer *peer, uint32_t gid);
/* A descriptor that becomes readable when the process ends; negative: none to be had. */
int peer_pidfd(const struct peer *peer);

#endif
