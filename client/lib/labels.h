/* labels.h: labels as callers write them. */
#ifndef LIB_LABELS_H
#define LIB_LABELS_H

#include "lib/handle.h"

/* "name=value", NULL-terminated (NULL: none), copied into the bump. One more than there may be is
 * taken, for the rules to refuse. Errors: EINVAL, ENOMEM. */
int labels_take(struct cairn *c,
                struct bump *bump,
                const char *const *texts,
                const struct label **ret,
                uint32_t *ret_count);

#endif
