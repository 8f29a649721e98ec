/* precision.h: the values of a record in another precision, when it is saved. */
#ifndef LIB_PRECISION_H
#define LIB_PRECISION_H

#include "lib/rec.h"

/* What goes to the daemon for a captured record: itself, or its values in the precision of these
 * arguments, as a second record that hangs on the first until it is freed or saved in another
 * precision. Both say the same on every attempt. *ret is r or its converted record.
 * Errors: EINVAL no such precision; EPRECISION a float would change, and lossy is not allowed;
 * ERANGE an integer does not fit; ELIMIT; ENOMEM. */
int precision_apply(struct cairn *c,
                    struct cairn_record *r,
                    const struct cairn_save_args *a,
                    struct cairn_record **ret);

#endif
