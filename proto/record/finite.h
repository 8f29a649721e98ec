/* finite.h: values that are no numbers: how many of a tensor are NaN, how many infinite, and when
 * that makes a boundary one that is not finite.
 *
 * Looked at are floats and complex numbers, of which one with a NaN in it counts as NaN, else one
 * with an infinity as infinite. The floats of 6 and 4 bits have neither; quantized and opaque
 * tensors, and scalars, are not looked at. */
#ifndef RECORD_FINITE_H
#define RECORD_FINITE_H

#include <stddef.h>

#include "record/record.h"

/* Add what these bytes of a tensor of that dtype hold: whole elements, at any address. For a dtype
 * that is not looked at, nothing. Blocks without any are passed over nearly as fast as the cache
 * gives them; *io is written to only when there are some. */
void finite_add(uint32_t dtype, const void *data, size_t bytes, struct nonfinite *io);

bool nonfinite_any(const struct nonfinite *n);
bool nonfinite_equal(const struct nonfinite *a, const struct nonfinite *b);
void nonfinite_sum(struct nonfinite *io, const struct nonfinite *more);
/* May so many of the elements of a tensor of that dtype be such? */
bool nonfinite_possible(uint32_t dtype, uint64_t elements, const struct nonfinite *n);

/* Does this entry make its boundary one that is not finite? A trainable tensor of the model does,
 * and any of the optimizer. Others hold such values in normal life: scaled gradients overflow,
 * attention masks are -Inf, buffers are what they are. */
bool finite_spoils(enum component component, const struct entry *e);

/* How the values of a dtype are laid out. A pattern without its sign is NaN from `nan` on. */
struct finite_form {
    uint32_t dtype;
    uint32_t unit_bytes; /* of one float */
    uint32_t parts;      /* floats in an element */
    uint64_t without_sign;
    uint64_t inf; /* FINITE_NONE: there is no infinity */
    uint64_t nan;
};
#define FINITE_NONE UINT64_MAX

/* For tests: each set of instructions that this build knows, from the narrowest on. */
struct finite_set {
    const char *name;
    bool (*usable)(void); /* on this processor */
    /* Is there any in these units? May look at no more of them once it knows. */
    bool (*any)(const struct finite_form *f, const void *data, size_t units);
    void (*count)(const struct finite_form *f,
                  const void *data,
                  size_t elements,
                  struct nonfinite *io);
};
extern const struct finite_set *const finite_sets[];
extern const size_t finite_set_count;
const struct finite_form *finite_form_of(uint32_t dtype); /* NULL: not looked at */

#endif
