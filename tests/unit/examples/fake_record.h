/* fake_record.h: the few calls of cairn/record.h that a trainer's callbacks make, on a list in
 * memory: shows that a table describes all of a trainer, without a library or a daemon. */
#ifndef UNIT_FAKE_RECORD_H
#define UNIT_FAKE_RECORD_H

#include <cairn/training.h>

struct fake_record;

/* Ask the five components, gradients first, and keep what they put, and the window. */
struct fake_record *fake_capture(const struct cairn_trainer *t);
/* Pass 1 alone; then both passes and the window. 0, or what a callback returned. */
int fake_fit(struct fake_record *r, const struct cairn_trainer *t);
int fake_restore(struct fake_record *r, const struct cairn_trainer *t);
void fake_free(struct fake_record *r);

size_t fake_count(const struct fake_record *r);
/* Forget the entry at a position; at the end, put it back with fake_remember. */
void fake_forget(struct fake_record *r, size_t at);
void fake_remember(struct fake_record *r, size_t at);
/* For messages. */
const char *fake_path(const struct fake_record *r, size_t at);

#endif
