/* region.h: where the payload of a captured record lives: one range of address space that grows.
 *
 * Address space is reserved once and made writable in steps, so a region never moves and nobody has
 * to know the size of a record beforehand. Its beginning may be an arena, memory that the daemon
 * sees too; what does not fit into that is private. A handle keeps free regions: memory that was
 * touched before is far cheaper to write to than new memory. */
#ifndef LIB_REGION_H
#define LIB_REGION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "internal/err.h"

/* An arena that the daemon has lent to a connection. Held by its handle and by the region. */
struct lease {
    uint64_t connection;
    uint32_t id; /* on that connection */
    atomic_uint holds;
};
void lease_put(struct lease *lease); /* NULL is allowed */

struct region {
    uint8_t *base;
    uint64_t reserved_bytes;
    uint64_t ready_bytes;  /* writable, from the base */
    uint64_t used_bytes;   /* the most that was ever asked for */
    uint64_t shared_bytes; /* of an arena, from the base; 0: all is private */
    struct lease *lease;   /* of that arena */
    pid_t owner;           /* not mapped in a forked child */
    pthread_t toucher;     /* touches its pages, while `touching` */
    bool touching;
    atomic_bool stop;
    uint64_t touch_bytes;
};

#define REGION_CACHE 2
struct region_cache {
    struct region *free[REGION_CACHE];
};

int region_new(struct region **ret, struct err *err);
struct region *region_free(struct region *r);
/* Make at least the first `bytes` writable. Errors: ELIMIT, ENOMEM. */
int region_ready(struct region *r, uint64_t bytes, struct err *err);

/* Its beginning is this memory from now on; what was in the region is gone. Takes the lease if it
 * returns 0. Errors: ENOMEM. */
int region_share(struct region *r, int fd, uint64_t bytes, struct lease *lease, struct err *err);
/* All of it is private from now on, and what was in it is gone. Errors: ENOMEM. */
int region_unshare(struct region *r, struct err *err);
/* Have a thread touch the first so many bytes, that are writable, so that who writes to them does
 * not wait for memory. Nothing in them changes. Without threads, nothing happens. */
void region_touch(struct region *r, uint64_t bytes);

/* The largest free region, or a new one. */
int region_take(struct region_cache *cache, struct region **ret, struct err *err);
/* Keep it for the next capture, or free the smallest. Takes r; returns NULL. */
struct region *region_give(struct region_cache *cache, struct region *r);
void region_cache_fini(struct region_cache *cache);

#endif
