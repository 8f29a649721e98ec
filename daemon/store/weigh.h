/* weigh.h: how much of the payload each boundary of a run has for itself, and what goes with it. */
#ifndef STORE_WEIGH_H
#define STORE_WEIGH_H

#include "store/env.h"
#include "store/keep.h"

struct weigh {
    struct weigh_chunk {
        uint64_t bytes; /* on the disk; 0: unknown, or held by a damaged boundary */
        uint32_t users; /* items that refer to it and have not gone */
    } * chunks;
    size_t chunk_count, chunk_cap;
    uint32_t *uses; /* chunks of item i: uses[first[i]] to uses[first[i + 1] - 1] */
    size_t *first;
    uint64_t *rows; /* of each item: payload that is in its rows */
    size_t count;
    uint64_t bytes; /* of all, each chunk once */
};

/* `rows` of each item, and the rows of ref. weigh_free follows in every case. */
int weigh_init(struct weigh *w, size_t count, struct err *err);
int weigh_read(struct weigh *w, struct txn *t, const struct keep_item *items, struct err *err);
/* What only this one refers to. */
uint64_t weigh_own(const struct weigh *w, size_t index);
/* What others refer to as well. */
uint64_t weigh_shared(const struct weigh *w, size_t index);
/* It goes: that much is free then. The `release` of a keep_plan; arg is the weigh. */
uint64_t weigh_release(void *arg, size_t index);
void weigh_free(struct weigh *w);

#endif
