/* leaf.h: one piece of a training state: what a record says of it, and where it lies. With a list
 * of all its pieces a trainer is captured, restored, printed, compared and spoiled, and no two of
 * these can disagree on what there is. */
#ifndef TRAINERS_LEAF_H
#define TRAINERS_LEAF_H

#include <cairn/record.h>
#include <stdbool.h>
#include <stdio.h>

enum { LEAVES_MAX = 96, LEAF_PATH_BYTES = 48 };

struct leaf {
    enum cairn_component_id component;
    struct cairn_entry entry; /* all but its path; kind says how it is put */
    char path[LEAF_PATH_BYTES];
    void *at;
    bool *there; /* NULL: always. What is not there has no entry: absence is not zeros */
};

struct leaves {
    size_t count;
    struct leaf at[LEAVES_MAX];
};

/* Add a tensor (dtype, rank, shape) or a scalar (kind: I64, U64 or F64); id and flags as in the
 * record. e->bytes 0: as its dtype and shape, or its kind, have it. */
void leaves_add(struct leaves *s,
                enum cairn_component_id component,
                const struct cairn_entry *e,
                void *at,
                bool *there);

/* The callbacks of one component. Fit also refuses an entry that no leaf is for: a piece that is
 * silently left behind is a continuation that is silently wrong. */
int leaves_put(const struct leaves *s, enum cairn_component_id c, struct cairn_writer *w);
int leaves_fit(const struct leaves *s, enum cairn_component_id c, const struct cairn_reader *r);
int leaves_get(const struct leaves *s, enum cairn_component_id c, const struct cairn_reader *r);

/* One line each: component, path, id, flags, dtype, shape, and the bytes as hex digits or "absent".
 * Two states are the same exactly when these lines are. */
void leaves_print(const struct leaves *s, FILE *to);

bool leaf_same(const struct leaf *a, const struct leaf *b);
void leaf_copy(const struct leaf *to, const struct leaf *from);

#endif
