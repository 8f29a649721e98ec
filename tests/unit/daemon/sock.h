/* sock.h: sockets in a directory of a test's own, below /tmp: their paths must be short. */
#ifndef DAEMON_SOCK_H
#define DAEMON_SOCK_H

#include <stddef.h>

struct sock_dir {
    char dir[64];
    char path[96]; /* DIR/s */
};
void sock_dir_make(struct sock_dir *d);
void sock_dir_remove(struct sock_dir *d); /* with what is in it */
int sock_listen(const char *path);        /* bind and listen, plainly */
int sock_connect(const char *path);       /* blocking; -1: errno says why */

#endif
