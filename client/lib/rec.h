/* rec.h: a boundary in this process, captured (a region) or loaded (a manifest whose payload comes
 * when it is read). */
#ifndef LIB_REC_H
#define LIB_REC_H

#include "lib/handle.h"
#include "record/layout.h"

struct cairn_reader {
    struct cairn_record *record;
    enum component component;
    bool present;
    const char *type;
    struct entry *entries; /* in key order */
    uint64_t count;
    uint64_t room; /* of the array, while it grows */
};

struct cairn_record {
    struct cairn *c; /* NULL once the handle is closed */
    struct cairn_record *next, **prev;
    bool loaded;
    struct boundary boundary;
    struct component_info infos[COMPONENT_NR];
    struct cairn_reader components[COMPONENT_NR]; /* [0] unused */
    struct bump bump;                             /* paths, shapes, values, labels */

    /* Captured. */
    struct region *region;
    struct layout *layout; /* chunks, and where they lie in the region */
    bool has_save_id;
    struct cairn_record *converted; /* the same in another precision (precision.c), or NULL */

    /* Loaded. */
    struct chunk *chunks;
    bool resident; /* what was read of it came from memory (resident.h), and so will the rest */
};

struct cairn_record *rec_new(struct cairn *c);
/* The record of no handle: it may be freed by any thread, and after the handle. A captured one. */
void rec_orphan(struct cairn_record *r);
/* Copy into the record's memory; NULL when there is none. A text gets a NUL behind it. */
void *rec_copy(struct cairn_record *r, const void *data, size_t bytes);
/* Path, shape, value and scheme of an entry, which are somebody else's, into the record's memory.
 * False: there is none. */
bool rec_keep(struct cairn_record *r, struct entry *e);
/* Room for one more entry of a component, zeroed. NULL: no memory. */
struct entry *rec_add_entry(struct cairn_reader *component);
/* The entry with this key; NULL: none. */
struct entry *rec_find(const struct cairn_reader *component, const struct entry *key);
/* Sort the entries by key. Errors: EEXIST. */
int rec_sort(struct cairn_reader *component, struct err *err);
/* Does an entry make it one that is not finite? */
bool rec_not_finite(const struct cairn_record *r);
/* Digest and sum up the entries: type, entry_count, bytes, digest, nonfinite of *info. Errors:
 * ENOMEM. */
int rec_sum(const struct cairn_reader *component, struct component_info *info, struct err *err);
/* The infos of the components present, in order, into the boundary. */
void rec_close_infos(struct cairn_record *r);
/* The info of a component, once the infos are closed or loaded; NULL: the record does not have it.
 */
const struct component_info *rec_info(const struct cairn_record *r, enum component component);
void rec_public(const struct boundary *b, struct cairn_boundary *ret);

#endif
