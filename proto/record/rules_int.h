/* rules_int.h: what the files of the rules share. */
#ifndef RECORD_RULES_INT_H
#define RECORD_RULES_INT_H

#include "record/rules.h"

/* An entry of DTYPES, WINDOW or CONTRACT, which is legal by itself. Errors: EDTYPES, EWINDOW,
 * EINVAL. */
int rules_companion(enum component component, const struct entry *e, struct err *err);

#endif
