/* stale.h: how much of what is trained has changed since the parent. */
#ifndef STORE_STALE_H
#define STORE_STALE_H

#include "store/manifest.h"
#include "store/row.h"
#include "store/save.h"

/* Fills trainable_bytes, trainable_new_bytes and warnings of *b, whose parent_seq and components
 * are there. What cannot be read of the parent is not compared: then all is new. */
void stale_measure(struct txn *t,
                   const struct st_save *s,
                   const struct st_manifest *m,
                   struct boundary *b);

#endif
