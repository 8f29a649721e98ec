/* fault.h: named places where a test may stop, hold or kill the process, and a trace of phases.
 *
 * Compiled in only with -DCAIRN_FAILPOINTS (CMake option of the same name, off in a release).
 * CAIRN_FAILPOINT="name:action[:nth],..." arms: action is `kill` (SIGKILL to itself), `hold=FIFO`
 * (opens FIFO for writing, which waits for the test's reader, then for the test's end of it: see
 * proto/base/fault.c), `eio`, `enospc` (fault_error returns that errno). nth counts from 1; without
 * it every passage acts. CAIRN_TRACE=FILE appends one line "<pid> <program> <name>\n" per passage,
 * so that a SIGKILL can be attributed to the phase whose line came last. */
#ifndef INTERNAL_FAULT_H
#define INTERNAL_FAULT_H

#ifdef CAIRN_FAILPOINTS
/* Trace `name`, and act if it is armed with kill or hold. */
void fault_point(const char *name);
/* The same; returns the errno to pretend (EIO, ENOSPC) or 0. */
int fault_error(const char *name);
#else
static inline void fault_point(const char *name)
{
    (void)name;
}
static inline int fault_error(const char *name)
{
    (void)name;
    return 0;
}
#endif

#endif
