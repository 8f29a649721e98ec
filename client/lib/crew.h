/* crew.h: threads that help to copy and digest. They sleep between two tasks, and no signal handler
 * of the program runs on them. */
#ifndef LIB_CREW_H
#define LIB_CREW_H

#include <stdint.h>

#include "internal/err.h"
#include "record/digest.h"

struct crew;
/* One piece of a task; pieces run at the same time, each with a hasher of its own. */
typedef void crew_fn(void *arg, uint32_t piece, struct hasher *hasher);

/* So many threads beside the caller's, at least 1. Errors: ENOMEM, also when the system starts no
 * more threads. */
int crew_new(unsigned helpers, struct crew **ret, struct err *err);
/* NULL is allowed. In a forked child, where no thread is, only memory is freed. Returns NULL. */
struct crew *crew_free(struct crew *crew);
/* All pieces from 0 on, each once, by whoever is free; the caller is one of them. Returns when all
 * are done. One task at a time. */
void crew_run(struct crew *crew, crew_fn *work, void *arg, uint32_t pieces);

#endif
