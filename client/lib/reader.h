/* reader.h: what the calls that read a loaded record share (reader.c, part.c). */
#ifndef LIB_READER_H
#define LIB_READER_H

#include "cairn/record.h"

#include "record/record.h"

/* The recorded entry that has the key of `want`; it is as `want` says. Errors: EINVAL, ENOENT,
 * EMISMATCH. */
int reader_look(const struct cairn_reader *r,
                const struct cairn_entry *want,
                const struct entry **ret);
/* A part of its bytes, verified, to dst. Errors: ECORRUPT, ECONN, ... */
int reader_copy(const struct cairn_reader *r, const struct entry *e, struct span part, void *dst);
/* An entry as the public headers show it. */
void reader_show(const struct entry *e, struct cairn_entry *ret);

#endif
