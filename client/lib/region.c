/* region.c: growing ranges of memory for captured records. */
#include "lib/region.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal/ckd.h"
#include "lib/pages.h"

#define REGION_STEP_BYTES (UINT64_C(64) << 20)
#define REGION_MOST_BYTES (UINT64_C(1) << 40)
#define REGION_LEAST_BYTES (UINT64_C(1) << 30)

void lease_put(struct lease *lease)
{
    if (lease != NULL && atomic_fetch_sub(&lease->holds, 1) == 1) {
        free(lease);
    }
}

/* Address space costs nothing until it is written to, but a limit may be set on it: take less then.
 */
static int region_reserve(struct region *r, struct err *err)
{
    for (uint64_t bytes = REGION_MOST_BYTES; bytes >= REGION_LEAST_BYTES; bytes /= 2) {
        void *base = pages_reserve(bytes);
        if (base != NULL) {
            r->base = base;
            r->reserved_bytes = bytes;
            pages_advise(r->base, r->reserved_bytes);
            return 0;
        }
    }
    return err_errno(err, ENOMEM, "reserve address space for a record");
}

int region_new(struct region **ret, struct err *err)
{
    struct region *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory for a region");
    }
    int rc = region_reserve(r, err);
    if (rc < 0) {
        free(r);
        return rc;
    }
    r->owner = getpid();
    *ret = r;
    return 0;
}

/* ---- touching ---- */

static void *region_toucher(void *arg)
{
    struct region *r = arg;
    for (uint64_t at = 0; at < r->touch_bytes && !atomic_load(&r->stop); at += REGION_STEP_BYTES) {
        uint64_t left = r->touch_bytes - at;
        uint64_t bytes = left < REGION_STEP_BYTES ? left : REGION_STEP_BYTES;
        if (!pages_touch(r->base + at, bytes)) {
            break;
        }
    }
    return NULL;
}

/* No signal handler of the program may run on a thread that it knows nothing of. */
void region_touch(struct region *r, uint64_t bytes)
{
    sigset_t all;
    sigset_t before;
    if (r->touching || r->owner != getpid()) {
        return;
    }
    r->touch_bytes = bytes < r->ready_bytes ? bytes : r->ready_bytes;
    atomic_store(&r->stop, false);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r->touching = pthread_create(&r->toucher, NULL, region_toucher, r) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void region_stop_touching(struct region *r)
{
    if (r->touching) {
        atomic_store(&r->stop, true);
        (void)pthread_join(r->toucher, NULL);
        r->touching = false;
    }
}

/* In a forked child the range is not ours, and may be somebody else's by now; and no thread is. */
struct region *region_free(struct region *r)
{
    if (r != NULL) {
        if (r->owner == getpid()) {
            region_stop_touching(r);
            (void)munmap(r->base, r->reserved_bytes);
        }
        lease_put(r->lease);
        free(r);
    }
    return NULL;
}

/* ---- shared and private ---- */

int region_unshare(struct region *r, struct err *err)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    uint64_t bytes = r->ready_bytes;
    region_stop_touching(r);
    if (bytes > 0 && mmap(r->base, bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED) {
        return err_errno(err, errno, "memory for a record");
    }
    lease_put(r->lease);
    r->lease = NULL;
    r->shared_bytes = 0;
    r->ready_bytes = 0;
    pages_advise(r->base, r->reserved_bytes);
    return 0;
}

int region_share(struct region *r, int fd, uint64_t bytes, struct lease *lease, struct err *err)
{
    if (bytes > r->reserved_bytes) {
        return err_set(
            err, -CAIRN_ENOMEM, "an arena is larger than the address space for a record");
    }
    int rc = region_unshare(r, err);
    if (rc < 0) {
        return rc;
    }
    int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
    if (mmap(r->base, bytes, PROT_READ | PROT_WRITE, flags, fd, 0) == MAP_FAILED) {
        return err_errno(err, errno, "map an arena");
    }
    r->ready_bytes = bytes;
    r->shared_bytes = bytes;
    r->lease = lease;
    pages_advise(r->base, r->reserved_bytes);
    return 0;
}

int region_ready(struct region *r, uint64_t bytes, struct err *err)
{
    r->used_bytes = bytes > r->used_bytes ? bytes : r->used_bytes;
    if (bytes <= r->ready_bytes) {
        return 0;
    }
    if (bytes > r->reserved_bytes) {
        return err_set(err,
                       -CAIRN_ELIMIT,
                       "a record of more than %llu bytes does not fit the address space",
                       (unsigned long long)r->reserved_bytes);
    }
    uint64_t generous = round_up_u64(bytes, REGION_STEP_BYTES);
    uint64_t exact = round_up_u64(bytes, PAGES_HUGE_BYTES);
    uint64_t wanted = generous <= r->reserved_bytes ? generous : r->reserved_bytes;
    uint8_t *from = r->base + r->ready_bytes;
    if (mprotect(from, wanted - r->ready_bytes, PROT_READ | PROT_WRITE) < 0) {
        wanted = exact;
        if (mprotect(from, wanted - r->ready_bytes, PROT_READ | PROT_WRITE) < 0) {
            return err_errno(
                err, errno, "memory for a record of %llu bytes", (unsigned long long)bytes);
        }
    }
    r->ready_bytes = wanted;
    return 0;
}

int region_take(struct region_cache *cache, struct region **ret, struct err *err)
{
    struct region **best = NULL;
    for (size_t i = 0; i < REGION_CACHE; i++) {
        struct region **at = &cache->free[i];
        if (*at != NULL && (best == NULL || (*at)->ready_bytes > (*best)->ready_bytes)) {
            best = at;
        }
    }
    if (best == NULL) {
        return region_new(ret, err);
    }
    *ret = *best;
    *best = NULL;
    return 0;
}

struct region *region_give(struct region_cache *cache, struct region *r)
{
    for (size_t i = 0; i < REGION_CACHE && r != NULL; i++) {
        struct region *kept = cache->free[i];
        if (kept == NULL || kept->ready_bytes < r->ready_bytes) {
            cache->free[i] = r;
            r = kept;
        }
    }
    return region_free(r);
}

void region_cache_fini(struct region_cache *cache)
{
    for (size_t i = 0; i < REGION_CACHE; i++) {
        cache->free[i] = region_free(cache->free[i]);
    }
}
