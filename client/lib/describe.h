/* describe.h: what a tensor is, in the words of a message. */
#ifndef LIB_DESCRIBE_H
#define LIB_DESCRIBE_H

#include "record/record.h"

/* Text that grows; what does not fit is left out. */
struct describe {
    char text[200];
    size_t bytes;
};

__attribute__((format(printf, 2, 3))) void
describe_add(struct describe *d, const char *format, ...);
/* "F32 [64, 10]" */
void describe_type(struct describe *d, uint32_t dtype, uint32_t rank, const uint64_t *shape);
/* "F32 [64, 10] id 7 trainable", or the kind of a scalar. */
void describe_entry(struct describe *d, const struct entry *e);

#endif
