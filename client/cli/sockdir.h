/* sockdir.h: the directory of a private daemon's sockets. It lives as long as `cairn exec` or the
 * daemon does: both hold a lock in it, and what a killed one left behind goes with the next start.
 */
#ifndef CLI_SOCKDIR_H
#define CLI_SOCKDIR_H

struct sockdir {
    char path[80]; /* 0700 */
    int lock_fd;   /* close-on-exec: the daemon gets it without; -1: there is no directory */
};

/* Make one, in $XDG_RUNTIME_DIR or /tmp, and remove those in which nobody lives any more.
 * Returns 0, or -1 with errno; path then says what was tried. sockdir_remove in both cases. */
int sockdir_make(struct sockdir *d);
/* Remove it with the sockets in it. Returns 0, or -1 with errno. */
int sockdir_remove(struct sockdir *d);

/* The names of what may be in it, beside the lock. */
#define SOCKDIR_SOCKET "cairnd.sock"
#define SOCKDIR_NOTIFY "notify"

#endif
