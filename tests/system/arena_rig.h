/* arena_rig.h: trainers in processes of their own (retry_trainer), and what the daemon holds of
 * the memory that it lends. */
#ifndef SYSTEM_ARENA_RIG_H
#define SYSTEM_ARENA_RIG_H

#include "support/daemon.h"

enum { RIG_MS = 60000, RIG_WORDS = 8 };

/* A retry_trainer with these words (NULL-terminated) and one variable more, or NULL; its log is
 * trainer.log of d->dir. */
void rig_start(struct proc *ret,
               const struct daemon *d,
               const char *variable,
               const char *const *words);
/* Its next line begins so. */
void rig_says(struct proc *p, const char *start);
/* It has ended, so: see proc_exit. */
void rig_ended(struct proc *p, int code);

struct holdings {
    unsigned maps, descriptors; /* of memory that is lent */
    uint64_t shmem_kib;         /* mapped, of all that is shared */
};
struct holdings holdings(const struct daemon *d);
/* It comes to hold what it held. It learns of a death in its own time, and is asked until it has.
 */
void holdings_again(const struct daemon *d, const struct holdings *start);

#endif
