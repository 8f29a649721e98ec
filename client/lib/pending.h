/* pending.h: saves that were started and not waited for yet. */
#ifndef LIB_PENDING_H
#define LIB_PENDING_H

#include "lib/rec.h"
#include "lib/upload.h"

struct cairn_pending {
    struct cairn *c; /* NULL once the handle is closed */
    struct cairn_pending *next, **prev;
    struct cairn_record *record; /* kept until it is committed: to be sent again, or given back */
    struct upload upload;
    bool starting; /* the record still is the caller's */
    bool done;
    bool told; /* its failure was returned by some call */
    struct err err;
    struct cairn_boundary boundary;
};

/* A frame of the flight's request came (COMMITTED or ERROR). */
void pending_take(struct cairn *c, uint32_t type, const union wire_msg *msg);
/* Receive what has begun to come on the flight's connection: it has a second at least to come
 * whole. Errors: the connection's. */
int pending_take_frame(struct cairn *c);
/* The connection of the flight is gone: it must be settled by its save id. */
void pending_lost(struct cairn *c);
/* Wait until no save of this handle is under way, settling what was lost. 0 also when one failed:
 * that is told by pending_tell. Errors: the connection's. */
int pending_settle(struct cairn *c);
/* The failure of a save that nobody was told of; 0: there is none. */
int pending_tell(struct cairn *c);
void pending_orphan_all(struct cairn *c);
/* Send `sent`, which is *r or hangs on it, until it is sealed. Takes *r on success. */
int pending_start(struct cairn *c,
                  struct cairn_record **r,
                  struct cairn_record *sent,
                  struct cairn_pending **ret);

#endif
