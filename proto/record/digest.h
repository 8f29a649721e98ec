/* digest.h: XXH3-128 of chunks, entries, components and the root; XXH3-64 of rows.
 * The canonical byte strings are specified in PROTOCOL.md, "Digests". */
#ifndef RECORD_DIGEST_H
#define RECORD_DIGEST_H

#include "record/hash.h"

bool digest_equal(const struct digest *a, const struct digest *b);
/* An entry with chunks of its own: digest of the concatenated digests of its chunks. */
struct digest digest_of_chunks(const struct chunk *chunks, uint32_t count);

/* Running digest of a component's metadata, entries in key order; NULL: no memory. */
struct component_digest;
struct component_digest *component_digest_new(enum component component, struct slice type);
void component_digest_entry(struct component_digest *d, const struct entry *e);
/* Ends with the entry count; may be called once. */
struct digest component_digest_end(struct component_digest *d);
struct component_digest *component_digest_free(struct component_digest *d);

/* Root: the boundary's fixed fields that the trainer chose (step, save id, kind, precision, exact,
 * rank, world), then each component present in ascending order: number, type, counts, digest, and
 * the digest of its configuration if it has one. */
struct digest
digest_root(const struct boundary *b, const struct component_info *infos, uint32_t count);

/* XXH3-64 over key then value: the trailer of every row of the store. */
uint64_t digest_row(struct slice key, struct slice value);

/* Hex of a digest: 32 characters and NUL. */
void digest_hex(const struct digest *d, char ret_text[33]);

#endif
