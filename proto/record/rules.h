/* rules.h: what makes an entry, a chunk list and a boundary legal. Pure; no I/O, no allocation.
 * Both sides call these: the library before it sends, the daemon before it believes. */
#ifndef RECORD_RULES_H
#define RECORD_RULES_H

#include "internal/err.h"
#include "record/record.h"

/* [A-Za-z0-9][A-Za-z0-9._-]{0,127} */
bool run_name_ok(struct slice name);
/* UTF-8 (no surrogates, no overlong forms, <= U+10FFFF) without NUL. */
bool utf8_ok(struct slice text);
/* [A-Za-z0-9_.-]{1,64} */
bool label_name_ok(struct slice name);
/* Labels: legal names and values, no name twice, count within the limit. */
int rules_labels(const struct label *labels, uint32_t count, struct err *err);

/* Order of entries inside a component; 0 means the same key, which is an error there.
 * Model, scheduler, state and WINDOW: by path. Optimizer, gradients, DTYPES, CONTRACT: entries
 * without id first, then by id as unsigned number, then by path. */
int entry_cmp(enum component component, const struct entry *a, const struct entry *b);

/* Two gradients of one parameter, one behind the other in their order: an update would have to
 * guess. Scalars beside a gradient are no gradients. Errors: EEXIST. */
int rules_gradients(enum component component,
                    const struct entry *before,
                    const struct entry *e,
                    struct err *err);

/* One entry by itself: path, flags, kind, dtype known, rank, byte length == shape x dtype without
 * overflow, quantization scheme and its regions, counts of NaN and Inf that its dtype and shape
 * can have, BOOL bytes, scalar sizes, inline value within limits, digest of an inline value. */
int rules_entry(enum component component, const struct entry *e, struct err *err);

/* Is a small component whole? The fields that its entries were, each a bit, and whether none that
 * it needs is missing; others need none. Errors: EWINDOW, EINVAL; they name the field. */
uint32_t rules_fields_of(enum component component, const struct entry *e);
int rules_whole(enum component component, uint32_t fields, struct err *err);

/* Does its dtype follow from the precision of the record and from the dtype that the trainer had?
 * Under NATIVE no entry has a storage dtype, and never a sibling of a quantized tensor. */
int rules_precision(enum component component,
                    const struct entry *e,
                    enum precision precision,
                    struct err *err);

/* Where the entry claims to lie: chunks exist, belong to its component, have the same trainable
 * flag, are packed or not as the size says, are long enough; own chunks: lengths exactly
 * ceil-split, and the digest of their digests is the entry's. */
int rules_place(enum component component,
                const struct entry *e,
                const struct chunk *chunks,
                uint32_t chunk_count,
                struct err *err);

/* One chunk by itself. */
int rules_chunk(const struct chunk *c, uint32_t index, struct err *err);

/* BEGIN's boundary: limits, world == 1 && rank == 0 && local_parts == 1 (else ENOTSUP), kind and
 * precision known, NATIVE exact, labels. */
int rules_begin(const struct boundary *b, struct err *err);

/* The companions that a kind must have: a bit per component that must be present. */
uint32_t rules_components_of(uint32_t kind);

#endif
