/* check.h: is this a whole, legal part? Fed with chunks, then with entries in their order, then
 * with the sums. The same checks stand before a commit (manifest.c) and behind it (verify.c). */
#ifndef STORE_CHECK_H
#define STORE_CHECK_H

#include "internal/err.h"
#include "record/digest.h"
#include "record/record.h"
#include "store/check_ids.h"
#include "wire/rows.h"

struct check_sum {
    uint64_t entry_count, bytes;
    struct nonfinite nonfinite;
    uint32_t chunk_count, page_count;
    uint32_t fields; /* rules_fields_of its entries */
};

struct check {
    struct boundary announced; /* its numbers: labels and components are not looked at */
    struct chunk *chunks;      /* owned */
    uint32_t chunk_count, chunk_cap;
    uint64_t stored_bytes;
    uint8_t *used; /* a bit per chunk: some entry lies in it */
    struct check_members members;
    struct check_sum sums[COMPONENT_NR];
    struct nonfinite nonfinite;     /* of all that was fed so far */
    bool not_finite;                /* does it spoil the boundary? */
    uint64_t trainable_value_bytes; /* of the model, in rows */
    enum component current;
    uint32_t last_count; /* entries of the page before */
    struct entry last;   /* the entry before, with its path in last_path */
    uint8_t last_path[LIMIT_PATH_BYTES];
};

void check_init(struct check *c, const struct boundary *announced);
void check_fini(struct check *c); /* idempotent */
int check_chunks(
    struct check *c, uint32_t first, const struct chunk *chunks, uint32_t count, struct err *err);
int check_entries(struct check *c, const struct wire_entries *page, struct err *err);
/* Everything but the digests of the components: presence, counts, lengths, the root. */
int check_end(struct check *c,
              const struct component_info *infos,
              uint32_t count,
              const struct digest *root,
              struct err *err);
/* Is the digest of a component the one of its entries? */
int check_digest(const struct component_info *info, const struct digest *entries, struct err *err);

#endif
