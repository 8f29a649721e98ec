/* daemon.h: a real cairnd with a data directory and a socket of its own. */
#ifndef SUPPORT_DAEMON_H
#define SUPPORT_DAEMON_H

#include <stdbool.h>

#include "support/proc.h"
#include "support/tmp.h"

struct daemon {
    struct proc proc;
    const char *args[8]; /* more options for cairnd, NULL-terminated; set after daemon_init */
    char data[TMP_PATH_BYTES + 8], log[TMP_PATH_BYTES + 16];
    char socket_dir[TMP_PATH_BYTES], socket[TMP_PATH_BYTES + 8], notify[TMP_PATH_BYTES + 8];
    int notify_fd;
    char dir[TMP_PATH_BYTES]; /* of daemon_begin */
};

/* Paths: data and log below dir. Starts nothing. */
void daemon_init(struct daemon *d, const char *dir);
/* Start and wait until it says READY. env: as in proc_spec, a failpoint for instance. */
void daemon_start(struct daemon *d, const char *const *env);
void daemon_kill(struct daemon *d); /* SIGKILL, reaped */
/* SIGTERM; returns its exit code, -1 when it did not end within 15 s (and was killed). */
int daemon_stop(struct daemon *d);
/* Kill what is left; remove the socket's directory. */
void daemon_fini(struct daemon *d);

/* All that most tests need: a directory, which has `name` in its name, and a daemon that runs in it
 * with these options (NULL, or NULL-terminated) and environment. */
void daemon_begin(struct daemon *d,
                  const char *name,
                  const char *const *options,
                  const char *const *env);
/* It stops in order, and its store is sound; then all of it goes. */
void daemon_end(struct daemon *d);

/* cairnd --fsck of a stopped store: its exit code; what it found is printed. After a SIGKILL there
 * may be what the next opening of the run clears away, and says so: with `killed` that is no
 * finding. */
int daemon_fsck(const struct daemon *d, bool killed);
/* Print the end of the daemon's log, for the reader of a failed test. */
void daemon_show_log(const struct daemon *d);

/* Path of a program of this build: CAIRND, DIGITS in the environment go first. */
const char *program_cairnd(void);
const char *program_digits(void);

#endif
