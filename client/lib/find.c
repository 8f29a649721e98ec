/* find.c: which boundaries a run has. */
#include <stdio.h>

#include "lib/call.h"
#include "lib/rec.h"
#include "record/selector.h"

/* One page of the list. */
static int find_page(struct cairn *c, const char *selector, size_t max, union wire_msg *ret)
{
    union wire_msg msg = { .find = { .run = slice_str(c->run),
                                     .selector = slice_str(selector),
                                     .max = max < LIMIT_FIND ? (uint32_t)max : LIMIT_FIND } };
    return cl_ask(c, WIRE_FIND, &msg, WIRE_FOUND, ret);
}

/* A longer list goes on with the last boundary of the page before, which comes again. */
static int find_all(struct cairn *c,
                    const char *selector,
                    size_t max,
                    struct cairn_boundary *ret,
                    size_t *ret_count)
{
    union wire_msg answer;
    char next[32];
    size_t count = 0;
    for (;;) {
        size_t again = count > 0 ? 1 : 0;
        int rc = find_page(c, selector, max - count + again, &answer);
        if (rc < 0) {
            return rc;
        }
        const struct wire_found *found = &answer.found;
        for (size_t i = again; i < found->count && count < max; i++) {
            rec_public(&found->boundaries[i], &ret[count++]);
        }
        if (found->count < LIMIT_FIND || count == max) {
            *ret_count = count;
            return 0;
        }
        (void)snprintf(next, sizeof next, "seq:%llu", (unsigned long long)ret[count - 1].seq);
        selector = next;
    }
}

int cairn_find(struct cairn *c,
               const char *selector,
               size_t max,
               struct cairn_boundary *ret,
               size_t *ret_count)
{
    struct selector parsed;
    int rc = cl_enter_run(c, 0);
    if (rc < 0) {
        return rc;
    }
    if (selector == NULL || ret == NULL || ret_count == NULL || max == 0) {
        return cl_invalid(c, "find needs a selector and room for at least one boundary");
    }
    rc = selector_parse(slice_str(selector), &parsed, &c->err);
    return rc < 0 ? rc : find_all(c, selector, max, ret, ret_count);
}
