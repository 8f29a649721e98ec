#include "net/peer.h"

#include <errno.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

int peer_read(int fd, struct peer *ret, struct err *err)
{
    struct ucred cred = { 0 };
    socklen_t bytes = sizeof cred;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &bytes) < 0) {
        return err_errno(err, errno, "ask the kernel who the peer is");
    }
    *ret = (struct peer){ .uid = cred.uid, .gid = cred.gid, .pid = cred.pid };
    return 0;
}

int peer_pidfd(const struct peer *peer)
{
    if (peer->pid <= 0) {
        return -1;
    }
    return pidfd_open(peer->pid, 0); /* always close-on-exec */
}

bool peer_in_group(int fd, const struct peer *peer, uint32_t gid)
{
    gid_t groups[PEER_GROUPS_MAX];
    socklen_t bytes = sizeof groups;
    if (peer->gid == gid) {
        return true;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) < 0) {
        return false; /* more groups than anybody has: the safe answer */
    }
    for (size_t i = 0; i < bytes / sizeof groups[0]; i++) {
        if (groups[i] == gid) {
            return true;
        }
    }
    return false;
}
