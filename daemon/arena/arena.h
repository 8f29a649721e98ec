/* arena.h: memory that a trainer and the daemon share: a memfd that the daemon makes and lends. For
 * saves the trainer writes and the daemon reads; for loads it is a ring, which the daemon writes.
 *
 * What keeps the daemon safe from it are seals. From the start it cannot shrink or grow. Once the
 * trainer has its mapping, arena_lock forbids every other writable mapping and with it every way to
 * take pages out again (fcntl(2), F_SEAL_FUTURE_WRITE): so a page that is there stays there, and
 * touching it cannot fault. A page that is not there (a hole) would be made, and paid for, by who
 * touches it: arena_check refuses it. The trainer may go on writing at any time: nothing that is
 * read here is to be believed before it was digested. */
#ifndef ARENA_ARENA_H
#define ARENA_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "internal/err.h"

#define ARENA_ALIGN_BYTES (UINT64_C(2) << 20)

struct arena;
enum arena_use { ARENA_SAVE, ARENA_RING };
/* Of at least so many bytes, rounded up to whole huge pages, all holes. Costs no memory yet.
 * Errors: ELIMIT too large; EBUSY no descriptors; ENOMEM; ENOTSUP the kernel has no such seals. */
int arena_new(uint64_t bytes, enum arena_use use, struct arena **ret, struct err *err);
struct arena *arena_free(struct arena *a);
int arena_fd(const struct arena *a); /* stays the arena's */
uint64_t arena_bytes(const struct arena *a);
enum arena_use arena_use(const struct arena *a);
/* The trainer has its mapping. Errors: EIO. */
int arena_lock(struct arena *a, struct err *err);
/* Is the whole range inside? */
bool arena_has(const struct arena *a, uint64_t offset, uint64_t bytes);
/* And is all of it there? Any thread. Errors: EINVAL, naming the first hole. */
int arena_check(const struct arena *a, uint64_t offset, uint64_t bytes, struct err *err);
/* Read-only. A range that was checked, of an arena that is locked. */
const uint8_t *arena_at(const struct arena *a, uint64_t offset);
/* The same of a ring, writable. */
uint8_t *arena_ring_at(struct arena *a, uint64_t offset);

#endif
