#include "store/keep.h"

#include <math.h>

static bool keep_on_line(const struct keep_item *item)
{
    return !item->abandoned && !item->damaged;
}

/* The first reason stands. */
static void keep_because(struct keep_item *item, enum keep_why why)
{
    item->why = why < item->why ? why : item->why;
}

/* ---- always ---------------------------------------------------------------------------------- */

static void keep_always(struct keep_plan *p)
{
    unsigned newest = 0;
    bool finite = false;
    for (size_t i = p->count; i > 0; i--) {
        struct keep_item *item = &p->items[i - 1];
        if (keep_on_line(item) && newest++ < 2) {
            keep_because(item, KEEP_NEWEST);
        }
        if (keep_on_line(item) && !item->not_finite && !finite) {
            finite = true;
            keep_because(item, KEEP_FINITE);
        }
        if (item->pinned) {
            keep_because(item, KEEP_PINNED);
        }
        if (item->held) {
            keep_because(item, KEEP_READ);
        }
        if (item->damaged) {
            keep_because(item, KEEP_DAMAGED);
        }
    }
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void keep_last(struct keep_plan *p)
{
    uint64_t left = p->policy->last;
    for (size_t i = p->count; i > 0 && left > 0; i--) {
        if (keep_on_line(&p->items[i - 1])) {
            keep_because(&p->items[i - 1], KEEP_LAST);
            left--;
        }
    }
}

/* Is there a multiple of `every` from step on, but before the step of the next one? */
static bool keep_has_multiple(uint64_t step, uint64_t next, uint64_t every)
{
    return next > step && (next - 1) / every * every >= step;
}

static void keep_every(struct keep_plan *p)
{
    const struct keep_item *next = NULL;
    for (size_t i = p->count; p->policy->every > 0 && i > 0; i--) {
        struct keep_item *item = &p->items[i - 1];
        if (!keep_on_line(item)) {
            continue;
        }
        if (next == NULL || keep_has_multiple(item->step, next->step, p->policy->every)) {
            keep_because(item, KEEP_EVERY);
        }
        next = item;
    }
}

static bool
keep_better(const struct keep_item *a, const struct keep_item *b, uint32_t rule, bool max)
{
    double x = a->best[rule];
    double y = b->best[rule];
    if (x != y) {
        return max ? x > y : x < y;
    }
    return a->seq > b->seq;
}

/* The best one that is worse than `last` (NULL: the best of all). */
static struct keep_item *
keep_best_next(const struct keep_plan *p, uint32_t rule, const struct keep_item *last)
{
    bool max = p->policy->best[rule].want_max;
    struct keep_item *found = NULL;
    for (size_t i = 0; i < p->count; i++) {
        struct keep_item *item = &p->items[i];
        bool counts = keep_on_line(item) && !isnan(item->best[rule]) && item != last &&
                      (last == NULL || keep_better(last, item, rule, max));
        if (counts && (found == NULL || keep_better(item, found, rule, max))) {
            found = item;
        }
    }
    return found;
}

/* One after the other: few are asked for. */
static void keep_best(struct keep_plan *p, uint32_t rule)
{
    struct keep_item *item = keep_best_next(p, rule, NULL);
    for (uint64_t left = p->policy->best[rule].count; item != NULL && left > 0; left--) {
        item->rule = item->why > KEEP_BEST ? rule : item->rule;
        keep_because(item, KEEP_BEST);
        item = keep_best_next(p, rule, item);
    }
}

/* What was made after now, by a clock that was set back since, is new. */
static void keep_newer(struct keep_plan *p)
{
    uint64_t age_ns = p->policy->newer_s * 1000000000u;
    for (size_t i = 0; age_ns > 0 && i < p->count; i++) {
        struct keep_item *item = &p->items[i];
        if (keep_on_line(item) &&
            (item->created_ns >= p->now_ns || p->now_ns - item->created_ns <= age_ns)) {
            keep_because(item, KEEP_NEWER);
        }
    }
}

/* ---- room ------------------------------------------------------------------------------------ */

struct keep_room {
    uint64_t bytes, freed;
};

static bool keep_is_enough(const struct keep_plan *p, const struct keep_room *room)
{
    return (p->policy->max_bytes == 0 || room->bytes - room->freed <= p->policy->max_bytes) &&
           room->freed >= p->wanted_bytes;
}

static void keep_release(struct keep_plan *p, size_t index, struct keep_room *room)
{
    uint64_t freed = p->release(p->arg, index);
    room->freed += freed < room->bytes - room->freed ? freed : room->bytes - room->freed;
}

/* The oldest first, of those that were abandoned or of the line, until it is enough. */
static void keep_make_room_of(struct keep_plan *p, bool abandoned, struct keep_room *room)
{
    for (size_t i = 0; i < p->count && !keep_is_enough(p, room); i++) {
        struct keep_item *item = &p->items[i];
        if (item->why >= KEEP_LAST && !keep_goes(item) && item->abandoned == abandoned) {
            item->why = KEEP_GOES_SPACE;
            keep_release(p, i, room);
        }
    }
}

static void keep_make_room(struct keep_plan *p)
{
    struct keep_room room = { .bytes = p->bytes };
    for (size_t i = 0; i < p->count; i++) {
        if (keep_goes(&p->items[i])) {
            keep_release(p, i, &room);
        }
    }
    keep_make_room_of(p, true, &room);
    keep_make_room_of(p, false, &room);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void keep_decide(struct keep_plan *p)
{
    bool rules = policy_has_rules(p->policy);
    for (size_t i = 0; i < p->count; i++) {
        struct keep_item *item = &p->items[i];
        item->why = !rules ? KEEP_NO_RULE : item->abandoned ? KEEP_GOES_ABANDONED : KEEP_GOES;
    }
    keep_always(p);
    keep_last(p);
    keep_every(p);
    for (uint32_t i = 0; i < p->policy->best_count; i++) {
        keep_best(p, i);
    }
    keep_newer(p);
    if (p->release != NULL) {
        keep_make_room(p);
    }
}
