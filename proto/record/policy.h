/* policy.h: which boundaries of a run stay. One grammar for wire, command, configuration and store:
 *
 *   last=3 every=1000 best=loss:min:2 newer=7d max-bytes=200GiB      rules in any order, by spaces
 *   none                                                             everything stays
 *
 * A boundary that any rule keeps, stays; max-bytes comes last. What the rules mean: store/keep.h
 * and PROTOCOL.md. */
#ifndef RECORD_POLICY_H
#define RECORD_POLICY_H

#include <stdbool.h>

#include "internal/err.h"
#include "internal/limits.h"
#include "internal/slice.h"

struct policy_best {
    struct slice label; /* points into the text */
    bool want_max;
    uint64_t count;
};

/* A rule that is 0 is not there. */
struct policy {
    uint64_t last;      /* newest boundaries */
    uint64_t every;     /* steps */
    uint64_t newer_s;   /* age, seconds */
    uint64_t max_bytes; /* of all that stays, each byte counted once */
    struct policy_best best[LIMIT_POLICY_BEST];
    uint32_t best_count;
};

/* "" is no policy: EINVAL. EINVAL names the rule and what was expected. */
int policy_parse(struct slice text, struct policy *ret, struct err *err);
/* Is there a rule that says what stays? max-bytes is none. */
bool policy_has_rules(const struct policy *p);
/* Does everything stay? */
bool policy_is_none(const struct policy *p);

#define POLICY_TEXT_BYTES (LIMIT_POLICY_BYTES + 1)
/* The text that policy_parse reads, in one order, with exact units. Returns ret. */
const char *policy_print(const struct policy *p, char ret[POLICY_TEXT_BYTES]);

/* The order is that of precedence: of several reasons the first is told. The numbers are the
 * wire's. */
enum keep_why {
    KEEP_NEWEST,
    KEEP_PINNED,
    KEEP_READ,
    KEEP_FINITE,
    KEEP_DAMAGED,
    KEEP_LAST,
    KEEP_EVERY,
    KEEP_BEST,
    KEEP_NEWER,
    KEEP_NO_RULE,
    KEEP_GOES,           /* no rule keeps it */
    KEEP_GOES_ABANDONED, /* a rollback led behind it */
    KEEP_GOES_SPACE,     /* a rule keeps it, but there is no room */
    KEEP_WHY_NR
};
/* "last", "every", ... for tables and messages; "?" for a number out of range. */
const char *keep_why_name(uint32_t why);

#endif
