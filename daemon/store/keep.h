/* keep.h: which boundaries of a run stay, and why. Pure: what there is comes in, a verdict for each
 * goes out, so that a dry run and the real thing cannot differ.
 *
 * Always stay: the newest two; the newest one that is finite; those that are pinned, being read, or
 * damaged (nobody can prove what they share, so that they go by hand alone). Then the rules, each
 * of which looks at what is neither abandoned nor damaged, its line:
 *
 *   last=N        the newest N
 *   every=K       for each multiple of K the last boundary whose step does not exceed it
 *   best=L:W:N    the N with the best number as label L; NaN never, of equal ones the newer
 *   newer=T       those made in the last T seconds
 *
 * What no rule keeps, goes; without a rule all of the line stays. What is abandoned goes when there
 * is any rule. max-bytes comes last: while the payload of all that stays, each chunk counted once,
 * is more than that, the oldest of what is only kept by rules goes, abandoned ones before the line.
 */
#ifndef STORE_KEEP_H
#define STORE_KEEP_H

#include "record/policy.h"

struct keep_item {
    uint64_t seq, step, created_ns;
    bool damaged, abandoned, pinned, held, not_finite;
    double best[LIMIT_POLICY_BEST]; /* number of each label of the policy; NaN: none */
    enum keep_why why;              /* the verdict */
    uint32_t rule;                  /* KEEP_BEST: which of the policy's */
};

struct keep_plan {
    const struct policy *policy;
    uint64_t now_ns;
    struct keep_item *items; /* in ascending order of seq */
    size_t count;
    uint64_t bytes;        /* of all items that are not damaged, each chunk once */
    uint64_t wanted_bytes; /* to be freed in any case, as far as rules alone keep it */
    /* The item goes: how many bytes does that free, after those that went before it? NULL: nobody
     * counts, and nothing goes for space. */
    uint64_t (*release)(void *arg, size_t index);
    void *arg;
};

static inline bool keep_goes(const struct keep_item *item)
{
    return item->why >= KEEP_GOES;
}

void keep_decide(struct keep_plan *plan);

#endif
