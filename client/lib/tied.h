/* tied.h: a parameter that a model puts under several paths is stored once.
 *
 * The first of them lies in the region; the others are compared with it, without a copy, and lie
 * where it lies. Those that are put by slot have places of their own: what they hold is not known
 * when their place is given. */
#ifndef LIB_TIED_H
#define LIB_TIED_H

#include "lib/rec.h"
#include "lib/source.h"

struct capture;

/* Entries of the model by id and trainable flag: a hash table of their indices, in put order. */
struct tied {
    uint32_t *at; /* index + 1; 0: free */
    uint32_t room, count;
};

void tied_fini(struct tied *t);
/* The entry that this one is tied to and shaped like; NULL: none. */
const struct entry *
tied_find(const struct tied *t, const struct cairn_reader *model, const struct entry *e);
/* The last entry of the model may be found from now on. Errors: ENOMEM. */
int tied_add(struct tied *t, const struct cairn_reader *model, struct err *err);
/* Give e the place, the digest and the counts of `first`, if the bytes from there are the same.
 * Errors: EINVAL they are not; ENOMEM. */
int tied_put(struct capture *cap, struct entry *e, const struct entry *first, struct source *from);

#endif
