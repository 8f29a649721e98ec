/* check_ids.h: at the commit, do the pending gradients belong to the parameters that the record
 * itself has, and are they floating? Asked of the kinds that an update continues from by
 * themselves: weighted (parameters of the model) and model state (of the contract). Of the others
 * the client asks, as its caller may allow strangers there. */
#ifndef STORE_CHECK_IDS_H
#define STORE_CHECK_IDS_H

#include "internal/err.h"
#include "record/record.h"

/* 8 bytes for an entry that takes many times that in the staged manifest, which is limited. */
struct check_ids {
    uint64_t *ids; /* owned */
    uint64_t count, room;
};

struct check_members {
    struct check_ids parameters, gradients;
    bool nameless; /* a gradient without an id */
};

void check_members_fini(struct check_members *m); /* idempotent */
/* An entry of a record of this kind. Errors: EINVAL a gradient that is not floating; ENOMEM. */
int check_members_add(struct check_members *m,
                      uint32_t kind,
                      enum component component,
                      const struct entry *e,
                      struct err *err);
/* All entries are in. Errors: EINVAL. */
int check_members_end(struct check_members *m, struct err *err);

#endif
