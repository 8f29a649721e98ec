/* pages.c: address space for huge pages, and pages that are there before they are needed. */
#include "lib/pages.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "internal/ckd.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* The kernel puts a mapping anywhere; a huge page is possible where address and offset agree. */
void *pages_reserve(uint64_t bytes)
{
    uint64_t more = bytes + PAGES_HUGE_BYTES;
    uint8_t *at = mmap(NULL, more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        return NULL;
    }
    uint64_t before = round_up_u64((uintptr_t)at, PAGES_HUGE_BYTES) - (uintptr_t)at;
    if (before > 0) {
        (void)munmap(at, before);
    }
    (void)munmap(at + before + bytes, PAGES_HUGE_BYTES - before);
    return at + before;
}

void pages_advise(void *base, uint64_t bytes)
{
    (void)madvise(base, bytes, MADV_DONTFORK);
    (void)madvise(base, bytes, MADV_HUGEPAGE);
}

/* Shared memory has small pages where the system does not say otherwise
 * (transparent_hugepage/shmem_enabled is "never" by default): asked for directly it makes them huge
 * all the same (madvise(2), MADV_COLLAPSE, Linux 6.1). */
bool pages_touch(void *base, uint64_t bytes)
{
    int rc = 0;
    do {
        rc = madvise(base, bytes, MADV_POPULATE_WRITE);
    } while (rc < 0 && errno == EINTR);
    if (rc < 0) {
        return false;
    }
    (void)madvise(base, bytes, MADV_COLLAPSE);
    return true;
}

void pages_read_ahead(void *base, uint64_t from, uint64_t to)
{
    uint64_t first = from / PAGES_HUGE_BYTES * PAGES_HUGE_BYTES;
    if (to > first) {
        (void)madvise((uint8_t *)base + first, to - first, MADV_POPULATE_READ);
    }
}
