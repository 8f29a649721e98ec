/* resident.h: payload of a loaded record, in memory that the record was saved from: read instead of
 * the disk, where the daemon has kept it (PROTOCOL.md, "Loads from memory").
 *
 * Nothing in it is believed: each chunk is copied and its copy digested, and at the first one that
 * does not match all that follows comes from the disk, which is where the digests are from. So
 * there is no failure here that a caller would have to know of. A handle has one such mapping at a
 * time, of the record that it loaded last. */
#ifndef LIB_RESIDENT_H
#define LIB_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cairn;
struct cairn_record;
struct wire_chunks;

struct resident {
    struct cairn_record *record; /* of this one; NULL: there is none */
    uint8_t *base;               /* not written to */
    uint64_t bytes;
    uint64_t *offsets; /* of each chunk */
    bool *taken;       /* each of them, at least once */
    uint32_t left;     /* chunks that were not yet */
    struct hasher *hasher;
    pid_t owner;         /* not mapped in a forked child */
    uint32_t arena;      /* to be given back; 0: nothing is */
    uint64_t connection; /* on which it was lent */
    char why[200];       /* why the last one was given up in its middle; "": it was not */
};

/* Have the payload of the pinned boundary from memory, if it can be had: else that is no error.
 * Errors: damage of the connection. */
int resident_open(struct cairn *c, struct cairn_record *r);
/* The arena to ask for offsets in; 0: this record has none. */
uint32_t resident_arena(const struct cairn *c, const struct cairn_record *r);
/* The descriptors of some chunks, with their places: those that cannot be right are given up for.
 */
void resident_place(struct cairn *c, const struct wire_chunks *page);
/* Copy a chunk of this record to dst, if it is there and as it should be. False: take it from the
 * disk. */
bool resident_take(struct cairn *c, struct cairn_record *r, uint32_t index, void *dst);
/* A restore has ended: a mapping of which all was taken is not needed any more. (Not before: a
 * chunk may be wanted twice.) */
void resident_finish(struct cairn *c, const struct cairn_record *r);
/* Go on without it, and remember why. */
void resident_forget(struct cairn *c, const char *why);
/* The record is gone, or the handle (NULL: whichever record). */
void resident_gone(struct cairn *c, const struct cairn_record *r);
/* On a connection that is ready: what is not mapped any more goes back to the daemon. */
int resident_give_back(struct cairn *c);

#endif
