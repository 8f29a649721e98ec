/* hold.h: stop a process at a failpoint, and let it go on (action hold=FIFO of internal/fault.h).
 */
#ifndef SUPPORT_HOLD_H
#define SUPPORT_HOLD_H

#include <stdbool.h>
#include <stddef.h>

struct hold {
    char path[256], go_path[260];
    int held_fd, go_fd;
};

/* Make the two FIFOs in dir, armed. Give the process CAIRN_FAILPOINT="name:hold=<path>[:nth]". */
void hold_init(struct hold *h, const char *dir, const char *name);
/* Wait until a process stands at the failpoint. */
bool hold_wait(struct hold *h, int timeout_ms);
/* Let it go on, and whoever comes later. */
void hold_release(struct hold *h);
/* After a release: hold whoever comes next (a failpoint without nth). */
void hold_arm(struct hold *h);
void hold_fini(struct hold *h);

#endif
