/* site.h: the library at a real daemon: a run "demo", its handle, and a trainer. */
#ifndef INTEGRATION_SITE_H
#define INTEGRATION_SITE_H

#include "../unit/client/job.h"
#include "support/daemon.h"

struct site {
    char dir[TMP_PATH_BYTES];
    struct daemon d;
    struct cairn *c;
    struct job job;
};

/* Everything up, the job still empty. */
void site_up(struct site *s);
/* Everything down: all that was said is on the disk and whole. */
void site_down(struct site *s);

/* Capture the job plainly and save it as this step. */
void site_save(struct site *s, uint64_t step, struct cairn_boundary *ret);
/* Restore into a job of the same shapes and other bytes; then they are the same bytes. */
void site_check(struct site *s, const char *selector);

#endif
