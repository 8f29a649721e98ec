/* arena.h: memory that a trainer writes and the daemon reads: a memfd that the daemon makes and
 * lends.
 *
 * What keeps the daemon safe from it are seals. From the start it cannot shrink or grow. Once the
 * trainer has its mapping, arena_lock forbids every other writable mapping and with it every way to
 * take pages out again (fcntl(2), F_SEAL_FUTURE_WRITE): so a page that is there stays there, and
 * reading it cannot fault. A page that is not there (a hole) would be made, and paid for, by who
 * reads it: arena_check refuses it. The trainer may go on writing at any time: nothing that is read
 * here is to be believed before it was digested. */
#ifndef ARENA_ARENA_H
#define ARENA_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "internal/err.h"

#define ARENA_ALIGN_BYTES (UINT64_C(2) << 20)

struct arena;
/* Of at least so many bytes, rounded up to whole huge pages, all holes. Costs no memory yet.
 * Errors: ELIMIT too large; EBUSY no descriptors; ENOMEM; ENOTSUP the kernel has no such seals. */
int arena_new(uint64_t bytes, struct arena **ret, struct err *err);
struct arena *arena_free(struct arena *a);
int arena_fd(const struct arena *a); /* stays the arena's */
uint64_t arena_bytes(const struct arena *a);
/* The trainer has its mapping. Errors: EIO. */
int arena_lock(struct arena *a, struct err *err);
/* Is the whole range inside? */
bool arena_has(const struct arena *a, uint64_t offset, uint64_t bytes);
/* And is all of it there? Any thread. Errors: EINVAL, naming the first hole. */
int arena_check(const struct arena *a, uint64_t offset, uint64_t bytes, struct err *err);
/* Read-only. A range that was checked, of an arena that is locked. */
const uint8_t *arena_at(const struct arena *a, uint64_t offset);

#endif
