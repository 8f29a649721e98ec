/* note.h: what people say of a boundary after its commit: labels, which stand over those that it
 * was saved with, and pins. Its row never changes; a boundary that is told has them beside its
 * marks. */
#ifndef STORE_NOTE_H
#define STORE_NOTE_H

#include "store/row.h"

/* Fill in labels, marks and pins of a boundary as its row has it; what is new lies in the bump. */
int note_read(struct txn *t, struct boundary *b, struct bump *bump, struct err *err);
/* Room for the labels of one. */
#define NOTE_BUMP_BYTES (64u << 10)

#endif
