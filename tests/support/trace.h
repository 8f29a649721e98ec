/* trace.h: the phases that processes pass, as they pass them (CAIRN_TRACE of internal/fault.h, into
 * a FIFO). What a process has written before a SIGKILL is there to be read after it, in order. */
#ifndef SUPPORT_TRACE_H
#define SUPPORT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct trace_line {
    pid_t pid;
    char program[32], name[32];
    uint64_t ns; /* when it was read */
};

struct trace {
    char path[256];
    int fd;
    size_t used;
    char text[65536];
};

void trace_init(struct trace *t, const char *dir);
/* The next line; false: none came in time (0 ms: none is there now). */
bool trace_next(struct trace *t, uint64_t timeout_ns, struct trace_line *ret);
void trace_fini(struct trace *t);

#endif
