#include "record/policy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "internal/unit.h"
#include "record/rules.h"

/* Smallest first; of two names the later is printed. */
static const struct unit policy_sizes[] = {
    { "", 1 },
    { "B", 1 },
    { "K", UINT64_C(1) << 10 },
    { "M", UINT64_C(1) << 20 },
    { "G", UINT64_C(1) << 30 },
    { "T", UINT64_C(1) << 40 },
    { "KiB", UINT64_C(1) << 10 },
    { "MiB", UINT64_C(1) << 20 },
    { "GiB", UINT64_C(1) << 30 },
    { "TiB", UINT64_C(1) << 40 },
    { NULL, 0 },
};
static const struct unit policy_times[] = {
    { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 }, { NULL, 0 },
};
static const struct unit policy_counts[] = { { "", 1 }, { NULL, 0 } };

enum { POLICY_NUMBER_BYTES = 32 };

static bool policy_unit(struct slice text, const struct unit *units, uint64_t *ret)
{
    char number[POLICY_NUMBER_BYTES];
    if (text.bytes == 0 || text.bytes >= sizeof number) {
        return false;
    }
    memcpy(number, text.data, text.bytes);
    number[text.bytes] = '\0';
    return unit_parse(number, units, ret) && *ret > 0;
}

static struct slice policy_until(struct slice *text, char end)
{
    const char *at = text->data;
    const char *found = text->bytes == 0 ? NULL : memchr(at, end, text->bytes);
    struct slice part = found == NULL ? *text : slice_of(at, (size_t)(found - at));
    *text = found == NULL ? slice_of(NULL, 0) : slice_of(found + 1, text->bytes - part.bytes - 1);
    return part;
}

/* LABEL:min|max[:COUNT] */
static bool policy_take_best(struct slice value, struct policy *ret)
{
    struct policy_best best = { .label = policy_until(&value, ':'), .count = 1 };
    struct slice which = policy_until(&value, ':');
    best.want_max = slice_cmp(which, slice_str("max")) == 0;
    if (!label_name_ok(best.label) || (!best.want_max && slice_cmp(which, slice_str("min")) != 0) ||
        (value.data != NULL && !policy_unit(value, policy_counts, &best.count)) ||
        ret->best_count == LIMIT_POLICY_BEST) {
        return false;
    }
    ret->best[ret->best_count++] = best;
    return true;
}

static bool policy_take_last(struct slice value, struct policy *ret)
{
    return ret->last == 0 && policy_unit(value, policy_counts, &ret->last);
}

static bool policy_take_every(struct slice value, struct policy *ret)
{
    return ret->every == 0 && policy_unit(value, policy_counts, &ret->every);
}

static bool policy_take_newer(struct slice value, struct policy *ret)
{
    return ret->newer_s == 0 && policy_unit(value, policy_times, &ret->newer_s) &&
           ret->newer_s <= UINT64_MAX / 1000000000u;
}

static bool policy_take_max_bytes(struct slice value, struct policy *ret)
{
    return ret->max_bytes == 0 && policy_unit(value, policy_sizes, &ret->max_bytes);
}

static const struct {
    const char *name;
    bool (*take)(struct slice value, struct policy *ret);
    const char *expected;
} policy_rules[] = {
    { "last", policy_take_last, "how many of the newest, once: last=3" },
    { "every", policy_take_every, "a number of steps, once: every=1000" },
    { "best",
      policy_take_best,
      "LABEL:min or LABEL:max, and how many, 8 labels at most: best=loss:min:2" },
    { "newer", policy_take_newer, "an age in s, min, h or d, once: newer=7d" },
    { "max-bytes", policy_take_max_bytes, "a size, once: max-bytes=200GiB" },
};

enum { POLICY_RULES = sizeof policy_rules / sizeof policy_rules[0] };

static int policy_refuse(struct slice rule, const char *expected, struct err *err)
{
    return err_set(err,
                   -CAIRN_EINVAL,
                   "policy: \"%.*s\": expected %s",
                   (int)rule.bytes,
                   (const char *)rule.data,
                   expected);
}

static int policy_rule(struct slice rule, struct policy *ret, struct err *err)
{
    struct slice value = rule;
    struct slice name = policy_until(&value, '=');
    size_t i = 0;
    while (i < POLICY_RULES && slice_cmp(name, slice_str(policy_rules[i].name)) != 0) {
        i++;
    }
    if (i == POLICY_RULES) {
        return policy_refuse(
            rule, "last=, every=, best=, newer= or max-bytes=, by spaces; or none", err);
    }
    return policy_rules[i].take(value, ret) ? 0
                                            : policy_refuse(rule, policy_rules[i].expected, err);
}

int policy_parse(struct slice text, struct policy *ret, struct err *err)
{
    struct policy found = { 0 };
    uint32_t count = 0;
    if (text.bytes > LIMIT_POLICY_BYTES || !utf8_ok(text)) {
        return err_set(
            err, -CAIRN_EINVAL, "policy: longer than %u bytes, or no text", LIMIT_POLICY_BYTES);
    }
    if (slice_cmp(text, slice_str("none")) == 0) {
        *ret = found;
        return 0;
    }
    while (text.bytes > 0) {
        struct slice rule = policy_until(&text, ' ');
        int rc = rule.bytes == 0 ? 0 : policy_rule(rule, &found, err);
        if (rc < 0) {
            return rc;
        }
        count += rule.bytes > 0;
    }
    if (count == 0) {
        return err_set(err, -CAIRN_EINVAL, "policy: no rule; \"none\" keeps everything");
    }
    *ret = found;
    return 0;
}

bool policy_has_rules(const struct policy *p)
{
    return p->last > 0 || p->every > 0 || p->newer_s > 0 || p->best_count > 0;
}

bool policy_is_none(const struct policy *p)
{
    return !policy_has_rules(p) && p->max_bytes == 0;
}

/* ---- the other way --------------------------------------------------------------------------- */

struct policy_out {
    char *text;
    size_t bytes;
};

/* Every rule at its longest fits LIMIT_POLICY_BYTES. */
static void policy_add(struct policy_out *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void policy_add(struct policy_out *o, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(o->text + o->bytes, POLICY_TEXT_BYTES - o->bytes, fmt, args);
    va_end(args);
    assert(n >= 0 && (size_t)n < POLICY_TEXT_BYTES - o->bytes);
    o->bytes += (size_t)n;
}

/* In the largest unit that is exact. */
static void
policy_add_rule(struct policy_out *o, const char *name, uint64_t value, const struct unit *units)
{
    const struct unit *best = units;
    for (const struct unit *u = units; u->name != NULL; u++) {
        best = u->factor >= best->factor && value % u->factor == 0 ? u : best;
    }
    if (value > 0) {
        policy_add(o,
                   "%s%s=%" PRIu64 "%s",
                   o->bytes == 0 ? "" : " ",
                   name,
                   value / best->factor,
                   best->name);
    }
}

const char *policy_print(const struct policy *p, char ret[POLICY_TEXT_BYTES])
{
    struct policy_out o = { .bytes = 0 };
    o.text = ret;
    policy_add_rule(&o, "last", p->last, policy_counts);
    policy_add_rule(&o, "every", p->every, policy_counts);
    for (uint32_t i = 0; i < p->best_count; i++) {
        const struct policy_best *b = &p->best[i];
        policy_add(&o,
                   "%sbest=%.*s:%s:%" PRIu64,
                   o.bytes == 0 ? "" : " ",
                   (int)b->label.bytes,
                   (const char *)b->label.data,
                   b->want_max ? "max" : "min",
                   b->count);
    }
    policy_add_rule(&o, "newer", p->newer_s, policy_times);
    policy_add_rule(&o, "max-bytes", p->max_bytes, policy_sizes);
    if (o.bytes == 0) {
        policy_add(&o, "none");
    }
    return o.text;
}

const char *keep_why_name(uint32_t why)
{
    static const char *const names[KEEP_WHY_NR] = {
        [KEEP_NEWEST] = "newest",         [KEEP_PINNED] = "pinned",
        [KEEP_READ] = "being read",       [KEEP_FINITE] = "newest finite",
        [KEEP_DAMAGED] = "damaged",       [KEEP_LAST] = "last",
        [KEEP_EVERY] = "every",           [KEEP_BEST] = "best",
        [KEEP_NEWER] = "newer",           [KEEP_NO_RULE] = "no rule",
        [KEEP_GOES] = "no rule keeps it", [KEEP_GOES_ABANDONED] = "abandoned",
        [KEEP_GOES_SPACE] = "max-bytes",
    };
    return why < KEEP_WHY_NR ? names[why] : "?";
}
