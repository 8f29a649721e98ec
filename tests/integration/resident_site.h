/* resident_site.h: trainers by hand (support/hand.h) that leave their last record in memory, and
 * who loads it. */
#ifndef INTEGRATION_RESIDENT_SITE_H
#define INTEGRATION_RESIDENT_SITE_H

#include "cairn/admin.h"

#include "support/daemon.h"
#include "support/hand.h"

enum { SITE_ARENA_BYTES = 4 << 20 }; /* of hand_open */

/* A trainer comes, and saves what hand_fill makes of the seed. */
void trainer_saves(struct hand *h, const struct daemon *d, const char *run, uint8_t seed);
/* The same, in an arena of another size. */
void trainer_saves_in(
    struct hand *h, const struct daemon *d, const char *run, uint8_t seed, uint64_t arena_bytes);
/* And goes at once; what it leaves is known to the daemon when this returns: so many records, of
 * all runs, stay in memory then. */
void trainer_leaves(const struct daemon *d, const char *run, uint8_t seed, unsigned stay);
struct cairn_status status_of(const struct daemon *d);
/* Until so many records stay: the daemon learns of an end in its own time. */
void wait_stay(const struct daemon *d, unsigned count);

/* All that the run has on the disk is zeros from now on. */
void rot(const struct daemon *d, const char *run);

/* How the newest boundary of a run loads. */
struct loaded {
    bool resident_at_load, resident_at_end;
    unsigned warnings; /* of the restore */
    int rc;            /* of the restore */
};
/* Whatever rc: no byte that is handed out is another than hand_fill makes of the seed. */
struct loaded load(const struct daemon *d, const char *run, uint8_t seed);
/* It must load from memory to its end, or from the disk from the start. */
void loads_from_memory(const struct daemon *d, const char *run, uint8_t seed);
void loads_from_disk(const struct daemon *d, const char *run, uint8_t seed);

/* A client by hand that has pinned the newest boundary of the run; was it told that it may have it
 * from memory? */
bool reader_pins(struct hand *h, const struct daemon *d, const char *run);
/* RESIDENT, and the ARENA that answers it: number and descriptor are in h, mapped for reading. */
void reader_asks(struct hand *h);

#endif
