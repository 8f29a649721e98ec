/* keep.c: which boundaries stay, and where the run goes on. */
#include <assert.h>
#include <cairn/keep.h>
#include <stdlib.h>

#include "lib/call.h"
#include "lib/rec.h"
#include "record/policy.h"
#include "record/selector.h"

static_assert(CAIRN_POLICY_BYTES == POLICY_TEXT_BYTES, "a policy's text");
static_assert((int)CAIRN_KEEP_GOES_SPACE == (int)KEEP_GOES_SPACE, "why a boundary stays");

/* Is it a policy, or (allowed where it is set) the word for none of its own? */
static int keep_check(struct cairn *c, const char *policy, bool set)
{
    struct policy parsed;
    if (policy == NULL || (set && strcmp(policy, "default") == 0)) {
        return 0;
    }
    return policy_parse(slice_str(policy), &parsed, &c->err);
}

static void keep_text(char *ret, struct slice policy)
{
    if (ret != NULL) {
        memcpy(ret, policy.bytes == 0 ? "" : policy.data, policy.bytes);
        ret[policy.bytes] = '\0';
    }
}

int cairn_policy(struct cairn *c, const char *set, char *ret_policy, bool *ret_preset)
{
    union wire_msg answer;
    int rc = cl_enter_run(c, 0);
    if (rc < 0) {
        return rc;
    }
    if (ret_policy == NULL) {
        return cl_invalid(c, "the policy needs a place to go");
    }
    rc = keep_check(c, set, true);
    if (rc == 0) {
        const union wire_msg msg = { .policy = { .run = slice_str(c->run),
                                                 .sets = set != NULL,
                                                 .policy = set == NULL ? slice_of(NULL, 0)
                                                                       : slice_str(set) } };
        rc = cl_ask(c, WIRE_POLICY, &msg, WIRE_POLICY_INFO, &answer);
    }
    if (rc == 0) {
        keep_text(ret_policy, answer.policy_info.policy);
    }
    if (rc == 0 && ret_preset != NULL) {
        *ret_preset = answer.policy_info.preset;
    }
    return rc;
}

static struct cairn_kept keep_public(const struct wire_kept_boundary *from)
{
    return (struct cairn_kept){ .seq = from->seq,
                                .step = from->step,
                                .created_ns = from->created_ns,
                                .own_bytes = from->own_bytes,
                                .shared_bytes = from->shared_bytes,
                                .why = from->why,
                                .rule = from->rule,
                                .goes = from->why >= KEEP_GOES };
}

/* What a policy would do, page by page. */
struct keep_dry {
    int (*each)(void *arg, const struct cairn_kept *kept); /* or NULL */
    void *arg;
    char *ret_policy; /* or NULL */
    uint64_t boundary_count, bytes;
};

/* A page is copied before anybody is called: a callback may use the handle. */
static int
keep_page(struct cairn *c, union wire_msg *ask, struct cairn_kept **ret, union wire_msg *answer)
{
    int rc = cl_ask(c, WIRE_KEEP, ask, WIRE_KEPT, answer);
    if (rc < 0) {
        return rc;
    }
    const struct wire_kept *kept = &answer->kept;
    if (kept->more && kept->count == 0) {
        return err_set(
            &c->err, -CAIRN_EPROTO, "the daemon says that there is more, and sends none");
    }
    *ret = calloc(kept->count + (size_t)1, sizeof **ret);
    if (*ret == NULL) {
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory for %u boundaries", kept->count);
    }
    for (uint32_t i = 0; i < kept->count; i++) {
        (*ret)[i] = keep_public(&kept->boundaries[i]);
    }
    ask->keep.below = kept->count == 0 ? 0 : kept->boundaries[kept->count - 1].seq;
    return 0;
}

static int keep_pages(struct cairn *c, const char *policy, struct keep_dry *dry)
{
    union wire_msg answer = { .kept = { .more = true } };
    union wire_msg ask = { .keep = { .run = slice_str(c->run),
                                     .dry_run = true,
                                     .has_policy = policy != NULL,
                                     .policy =
                                         policy == NULL ? slice_of(NULL, 0) : slice_str(policy) } };
    bool more = true;
    int rc = 0;
    while (rc == 0 && more) {
        struct cairn_kept *page = NULL;
        rc = keep_page(c, &ask, &page, &answer);
        more = rc == 0 && answer.kept.more;
        uint32_t count = rc == 0 ? answer.kept.count : 0;
        if (rc == 0) {
            keep_text(dry->ret_policy, answer.kept.policy);
            dry->boundary_count += count;
            dry->bytes = answer.kept.bytes;
        }
        for (uint32_t i = 0; rc == 0 && dry->each != NULL && i < count; i++) {
            rc = dry->each(dry->arg, &page[i]);
        }
        free(page);
    }
    return rc;
}

int cairn_keep_ask(struct cairn *c,
                   const char *policy,
                   int (*each)(void *arg, const struct cairn_kept *kept),
                   void *arg,
                   char *ret_policy)
{
    struct keep_dry dry = { .each = each, .arg = arg };
    int rc = cl_enter_run(c, 0);
    dry.ret_policy = ret_policy;
    if (rc < 0) {
        return rc;
    }
    if (each == NULL) {
        return cl_invalid(c, "what a policy does needs a function to call");
    }
    rc = keep_check(c, policy, false);
    return rc < 0 ? rc : keep_pages(c, policy, &dry);
}

int cairn_usage(struct cairn *c,
                int (*each)(void *arg, const struct cairn_kept *kept),
                void *arg,
                struct cairn_usage *ret)
{
    struct keep_dry dry = { .each = each, .arg = arg };
    union wire_msg answer;
    int rc = cl_enter_run(c, 0);
    if (rc < 0) {
        return rc;
    }
    if (ret == NULL) {
        return cl_invalid(c, "what a run takes needs a place to go");
    }
    const union wire_msg ask = { .usage = { .run = slice_str(c->run) } };
    rc = cl_ask(c, WIRE_USAGE, &ask, WIRE_USAGE_INFO, &answer);
    const struct wire_usage_info info = answer.usage_info;
    rc = rc < 0 ? rc : keep_pages(c, NULL, &dry);
    if (rc == 0) {
        *ret = (struct cairn_usage){ .boundary_count = dry.boundary_count,
                                     .payload_bytes = dry.bytes,
                                     .segment_bytes = info.segment_bytes,
                                     .unnamed_bytes = info.unnamed_bytes,
                                     .index_bytes = info.index_bytes };
    }
    return rc;
}

int cairn_keep(struct cairn *c, uint64_t *ret_removed, uint64_t *ret_damaged)
{
    union wire_msg answer;
    int rc = cl_enter_run(c, 0);
    if (rc == 0) {
        const union wire_msg msg = { .keep = { .run = slice_str(c->run) } };
        rc = cl_ask(c, WIRE_KEEP, &msg, WIRE_KEPT, &answer);
    }
    if (rc == 0 && ret_removed != NULL) {
        *ret_removed = answer.kept.removed;
    }
    if (rc == 0 && ret_damaged != NULL) {
        *ret_damaged = answer.kept.damaged;
    }
    return rc;
}

const char *cairn_keep_why_name(uint32_t why)
{
    return keep_why_name(why);
}

/* Not sent twice: a relative selector names another boundary then. */
int cairn_rollback(struct cairn *c, const char *selector, struct cairn_boundary *ret)
{
    struct selector parsed;
    union wire_msg answer;
    int rc = cl_enter_run(c, 0);
    if (rc < 0) {
        return rc;
    }
    if (selector == NULL) {
        return cl_invalid(c, "a rollback needs a selector");
    }
    rc = selector_parse(slice_str(selector), &parsed, &c->err);
    rc = rc < 0 ? rc : cl_ready(c);
    if (rc == 0) {
        const union wire_msg msg = { .rollback = { .run = slice_str(c->run),
                                                   .selector = slice_str(selector) } };
        rc = cl_ask_once(c, WIRE_ROLLBACK, &msg, WIRE_DESCRIBED, &answer);
    }
    if (rc == 0 && ret != NULL) {
        rec_public(&answer.described.boundary, ret);
    }
    return rc;
}
