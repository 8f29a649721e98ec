/* region.h: where the payload of a captured record lives: one range of address space that grows.
 *
 * Address space is reserved once and made writable in steps, so a region never moves and nobody has
 * to know the size of a record beforehand. A handle keeps free regions: memory that was touched
 * before is far cheaper to write to than new memory. */
#ifndef LIB_REGION_H
#define LIB_REGION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "internal/err.h"

struct region {
    uint8_t *base;
    uint64_t reserved_bytes;
    uint64_t ready_bytes; /* writable, from the base */
    pid_t owner;          /* not mapped in a forked child */
};

#define REGION_CACHE 2
struct region_cache {
    struct region *free[REGION_CACHE];
};

int region_new(struct region **ret, struct err *err);
struct region *region_free(struct region *r);
/* Make at least the first `bytes` writable. Errors: ELIMIT, ENOMEM. */
int region_ready(struct region *r, uint64_t bytes, struct err *err);

/* The largest free region, or a new one. */
int region_take(struct region_cache *cache, struct region **ret, struct err *err);
/* Keep it for the next capture, or free the smallest. Takes r; returns NULL. */
struct region *region_give(struct region_cache *cache, struct region *r);
void region_cache_fini(struct region_cache *cache);

#endif
