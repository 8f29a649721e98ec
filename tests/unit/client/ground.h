/* ground.h: what nearly every test here stands on: a fake daemon, a handle, a trainer. */
#ifndef CLIENT_GROUND_H
#define CLIENT_GROUND_H

#include "fake.h"
#include "job.h"
#include "support/case.h"

struct ground {
    struct fake fake;
    struct cairn *c;
    struct job job;
};

/* Everything up, the job still empty. */
void ground_up(struct ground *g);
/* Everything down; the library must have kept to the protocol. */
void ground_down(struct ground *g);

/* Capture the job (all kinds of companions as `kind` says) and save it as this step; returns what
 * save returned, and frees the record. */
int ground_save(struct ground *g, uint32_t kind, uint64_t step, struct cairn_boundary *ret);
int ground_capture(struct ground *g, uint32_t kind, struct cairn_record **ret);

/* The same, then load it. */
struct cairn_record *ground_loaded(struct ground *g, uint32_t kind);
/* The entry of a loaded record with this path and id, for a test that spoils it. */
struct entry *
ground_entry(struct cairn_record *r, enum component component, const char *path, uint64_t id);

/* To the bit, whatever the gaps of the struct hold. */
bool window_same(const struct cairn_window *a, const struct cairn_window *b);

/* Save what `put` puts into the state, load it, and borrow its reader. */
struct cairn_record *ground_state(struct ground *g,
                                  int (*put)(void *self, struct cairn_writer *w),
                                  void *self,
                                  const struct cairn_reader **ret);

/* With chunks: a model of `count` tensors of `bytes` each. */
void ground_fill_chunks(struct ground *g, size_t count, uint64_t bytes);

/* Load the newest and restore it plainly into a new job like this one: all must be equal. */
void ground_check_newest(struct ground *g);

#endif
