/* keep.h: parts of a message that outlive it, copied into a bump of their keeper. NULL: the bump's
 * cap is reached, or there is no memory. */
#ifndef WIRE_KEEP_H
#define WIRE_KEEP_H

#include "record/record.h"
#include "wire/bump.h"

/* The bytes, and a NUL behind them. */
char *keep_text(struct bump *bump, struct slice from);
/* Labels with their texts; not NULL for a count of 0. */
const struct label *keep_labels(struct bump *bump, const struct label *from, uint32_t count);

#endif
