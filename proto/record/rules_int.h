/* rules_int.h: the parts of rules_entry. None of them says which entry it is: rules_entry does. */
#ifndef RECORD_RULES_INT_H
#define RECORD_RULES_INT_H

#include "internal/err.h"
#include "record/record.h"

/* rules_tensor.c: dtype, shape, and the length that follows from them. */
int rules_tensor(const struct entry *e, struct err *err);
int rules_length(const struct entry *e, uint64_t expected, struct err *err);

/* rules_companion.c: what DTYPES, WINDOW and CONTRACT hold; anything goes in other components. */
int rules_companion(enum component component, const struct entry *e, struct err *err);

#endif
