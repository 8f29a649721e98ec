#include "arena/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/memfd.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal/ckd.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define ARENA_MOST_BYTES (UINT64_C(1) << 46)

struct arena {
    int fd;
    enum arena_use use;
    uint64_t bytes;
    uint8_t *base;
};

/* Kernels before 6.3 do not know that flag, those after it complain without it. */
static int arena_memfd(enum arena_use use)
{
    const char *name = use == ARENA_RING ? "cairn-ring" : "cairn-arena"; /* in /proc/PID/maps */
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    return fd >= 0 || errno != EINVAL ? fd : memfd_create(name, flags);
}

static int arena_errno(struct err *err, const char *what)
{
    return err_errno(err, errno, "arena: %s", what);
}

static int arena_map(struct arena *a, struct err *err)
{
    if (ftruncate(a->fd, (off_t)a->bytes) < 0) {
        return arena_errno(err, "give it its size");
    }
    if (fcntl(a->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0) {
        return arena_errno(err, "seal its size");
    }
    int access = a->use == ARENA_RING ? PROT_READ | PROT_WRITE : PROT_READ;
    void *base = mmap(NULL, a->bytes, access, MAP_SHARED | MAP_NORESERVE, a->fd, 0);
    if (base == MAP_FAILED) {
        return arena_errno(err, "map it");
    }
    a->base = base;
    (void)madvise(base, a->bytes, MADV_DONTDUMP); /* it is somebody else's model */
    (void)madvise(base, a->bytes, MADV_HUGEPAGE);
    return 0;
}

int arena_new(uint64_t bytes, enum arena_use use, struct arena **ret, struct err *err)
{
    if (bytes > ARENA_MOST_BYTES) {
        return err_set(err, -CAIRN_ELIMIT, "an arena of %" PRIu64 " bytes: too large", bytes);
    }
    struct arena *a = calloc(1, sizeof *a);
    if (a == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "arena: no memory");
    }
    a->use = use;
    a->bytes = round_up_u64(bytes, ARENA_ALIGN_BYTES);
    a->fd = arena_memfd(use);
    int rc = a->fd < 0 ? arena_errno(err, "make it") : arena_map(a, err);
    if (rc < 0) {
        (void)arena_free(a);
        return rc;
    }
    *ret = a;
    return 0;
}

struct arena *arena_free(struct arena *a)
{
    if (a == NULL) {
        return NULL;
    }
    if (a->base != NULL) {
        (void)munmap(a->base, a->bytes);
    }
    if (a->fd >= 0) {
        (void)close(a->fd);
    }
    free(a);
    return NULL;
}

int arena_fd(const struct arena *a)
{
    return a->fd;
}

uint64_t arena_bytes(const struct arena *a)
{
    return a->bytes;
}

enum arena_use arena_use(const struct arena *a)
{
    return a->use;
}

int arena_lock(struct arena *a, struct err *err)
{
    return fcntl(a->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0
               ? arena_errno(err, "seal it")
               : 0;
}

bool arena_has(const struct arena *a, uint64_t offset, uint64_t bytes)
{
    return offset <= a->bytes && bytes <= a->bytes - offset;
}

int arena_check(const struct arena *a, uint64_t offset, uint64_t bytes, struct err *err)
{
    if (!arena_has(a, offset, bytes)) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "%" PRIu64 " bytes at %" PRIu64 " are not in the arena, which has %" PRIu64,
                       bytes,
                       offset,
                       a->bytes);
    }
    off_t hole = lseek(a->fd, (off_t)offset, SEEK_HOLE);
    if (hole >= 0 && (uint64_t)hole >= offset + bytes) {
        return 0;
    }
    return err_set(err,
                   -CAIRN_EINVAL,
                   "the arena has a hole at %" PRId64 ": write what is to be saved, all of it",
                   hole < 0 ? (int64_t)offset : (int64_t)hole);
}

const uint8_t *arena_at(const struct arena *a, uint64_t offset)
{
    return a->base + offset;
}

uint8_t *arena_ring_at(struct arena *a, uint64_t offset)
{
    return a->base + offset;
}
