/* private.h: a cairnd of one's own: found, given a socket and a data directory, started, heard when
 * it is ready. What to do when it ends is not decided here (exec.c). */
#ifndef CLI_PRIVATE_H
#define CLI_PRIVATE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "sockdir.h"

struct private_daemon {
    const char *who; /* begins what is said on stderr: "cairn exec", "cairn bench" */
    char *binary, *data, *log;
    struct sockdir dir; /* with both sockets */
    char socket[96];    /* for CAIRN_SOCKET */
    char notify[96];
    int notify_fd; /* readable: ask private_ready */
    pid_t pid;     /* 0: not running */
    int log_fd;
    off_t log_start; /* of the latest start */
    bool recorded;   /* the data directory names the socket */
};

#define PRIVATE_NONE                                                                               \
    {                                                                                              \
        .dir = { .lock_fd = -1 }, .notify_fd = -1, .log_fd = -1                                    \
    }

/* Find the program, make the directories and the notify socket. Of *p only who is read. Says on
 * stderr what is wrong. Returns 0 or -1; private_fini in both cases. */
int private_init(struct private_daemon *p, const char *data);
/* Start it; it dies with us. mask: the signal mask for it. Returns 0 or -1 with errno. */
int private_spawn(struct private_daemon *p, const sigset_t *mask);
/* Read what it told; true when it said that it is ready. Never blocks. */
bool private_ready(struct private_daemon *p);
/* Name the socket in the data directory, for a second `cairn exec`; and no longer. */
void private_record(struct private_daemon *p);
void private_forget(struct private_daemon *p);
/* Print the end of what it logged since its latest start on stderr. */
void private_log_tail(const struct private_daemon *p);
/* Remove sockets and directory; the data stays. */
void private_fini(struct private_daemon *p);

#endif
