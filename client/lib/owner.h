/* owner.h: names of runs, from what people write to what the wire has. */
#ifndef LIB_OWNER_H
#define LIB_OWNER_H

#include "internal/err.h"

/* "RUN" stays, "USER/RUN" and "UID/RUN" become "UID/RUN"; *ret is malloc'ed.
 * Errors: EINVAL the name, or no such user; ENOMEM. May block on a name service. */
int owner_resolve(const char *run, char **ret, struct err *err);

#endif
