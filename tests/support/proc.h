/* proc.h: child processes that a test starts, watches and kills. A child dies with the test. What
 * cannot be done at all (no memory, no such program) fails the test at once. */
#ifndef SUPPORT_PROC_H
#define SUPPORT_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

uint64_t now_ns(void); /* CLOCK_MONOTONIC */

struct proc {
    pid_t pid; /* 0: none is running */
    int pidfd, out_fd;
    int status; /* of the last one, as waitpid tells it */
};

struct proc_spec {
    const char *const *argv; /* argv[0] is the program's path; NULL-terminated */
    const char *const *env;  /* "NAME=value" beside the test's own, NULL-terminated; or NULL */
    const char *log_path;    /* standard error (and output without pipe_out) is appended here */
    bool pipe_out;           /* standard output to proc_line */
};

void proc_start(struct proc *ret, const struct proc_spec *spec);
/* Wait for its end; true when it has ended and was reaped, or none was running. */
bool proc_wait(struct proc *p, int timeout_ms);
void proc_signal(const struct proc *p, int signo);
/* SIGKILL and reap. */
void proc_kill(struct proc *p);
/* Exit code of the last one; 128 + signal when a signal ended it. */
int proc_exit(const struct proc *p);
/* The next line of its standard output, without the newline; false: none came in time, or no more.
 */
bool proc_line(struct proc *p, int timeout_ms, char *ret, size_t ret_bytes);
/* The last line it writes before it ends; false: it wrote none or did not end in time. */
bool proc_last_line(struct proc *p, int timeout_ms, char *ret, size_t ret_bytes);

/* Run a program to its end, print what it says, and count the lines with each of these texts
 * (NULL-terminated) into ret_counts. Returns its exit code. */
int proc_say(const struct proc_spec *spec,
             int timeout_ms,
             const char *const *texts,
             unsigned *ret_counts);

/* poll() for input on one descriptor; true when there is some (or the other side is gone). */
bool wait_input(int fd, int timeout_ms);

#endif
