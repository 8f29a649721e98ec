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
