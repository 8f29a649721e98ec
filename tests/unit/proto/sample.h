/* sample.h: legal parts of a record, for tests to spoil one at a time. */
#ifndef PROTO_SAMPLE_H
#define PROTO_SAMPLE_H

#include "record/record.h"

/* Every field has a value that no other field has. */
struct boundary sample_boundary(void);
/* What BEGIN may carry: rules_begin accepts it. */
struct boundary sample_begin(void);
/* A U64 scalar with its value inside. */
struct entry sample_scalar(const char *path, const uint64_t *value);
/* An F32 tensor [2, 3] inside the entry. */
struct entry sample_tensor(const char *path);
/* The digest of the entry's value is computed again. */
void sample_redigest(struct entry *e);
struct digest sample_digest(uint8_t seed);

#endif
