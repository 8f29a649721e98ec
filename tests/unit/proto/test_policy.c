/* What a policy says, as people write it and as it is printed. */
#include <stdio.h>

#include "record/policy.h"
#include "support/case.h"

static struct policy reads(const char *text)
{
    struct policy p;
    struct err err = { 0 };
    cr_assert_eq(policy_parse(slice_str(text), &p, &err), 0, "%s: %s", text, err.msg);
    return p;
}

static void prints(const char *text, const char *expected)
{
    char printed[POLICY_TEXT_BYTES];
    char again[POLICY_TEXT_BYTES];
    struct policy p = reads(text);
    cr_assert_str_eq(policy_print(&p, printed), expected);
    struct policy q = reads(printed);
    cr_assert_str_eq(policy_print(&q, again), expected);
}

CASE(policy, grammar)
{
    struct policy p = reads("last=3 every=1000 best=loss:min:2 newer=7d max-bytes=200G");
    cr_assert(p.last == 3 && p.every == 1000 && p.newer_s == UINT64_C(7) * 86400);
    cr_assert_eq(p.max_bytes, UINT64_C(200) << 30);
    cr_assert(p.best_count == 1 && p.best[0].count == 2 && !p.best[0].want_max);
    cr_assert_eq(slice_cmp(p.best[0].label, slice_str("loss")), 0);
    p = reads("best=acc:max");
    cr_assert(p.best[0].count == 1 && p.best[0].want_max && policy_has_rules(&p));
    p = reads("max-bytes=4096");
    cr_assert(!policy_has_rules(&p) && !policy_is_none(&p));
    p = reads("none");
    cr_assert(policy_is_none(&p));
}

CASE(policy, prints_what_it_reads)
{
    prints("none", "none");
    prints("  max-bytes=200G   last=3 ", "last=3 max-bytes=200GiB");
    prints("newer=48h every=5", "every=5 newer=2d");
    prints("newer=90s", "newer=90s");
    prints("max-bytes=1536K", "max-bytes=1536KiB");
    prints("max-bytes=4097", "max-bytes=4097B");
    prints("best=a:max best=b.c_d-e:min:18446744073709551615",
           "best=a:max:1 best=b.c_d-e:min:18446744073709551615");
}

/* The longest policy there can be has room. */
CASE(policy, the_longest)
{
    char text[2 * POLICY_TEXT_BYTES];
    char printed[POLICY_TEXT_BYTES];
    size_t n = 0;
    for (unsigned i = 0; i < LIMIT_POLICY_BEST; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "best=%064u:max:18446744073709551615 ", i);
    }
    (void)snprintf(text + n,
                   sizeof text - n,
                   "last=18446744073709551615 every=18446744073709551615 newer=18446744073s "
                   "max-bytes=18446744073709551615");
    struct policy p = reads(text);
    policy_print(&p, printed);
    cr_assert_gt(strlen(printed), 800);
}

CASE(policy, refuses)
{
    static const struct {
        const char *text, *expected;
    } bad[] = {
        { "", "no rule" },
        { "  ", "no rule" },
        { "none last=3", "\"none\": expected last=" },
        { "last", "expected how many of the newest" },
        { "last=", "expected how many" },
        { "last=0", "expected how many" },
        { "last=-1", "expected how many" },
        { "last=3 last=4", "\"last=4\": expected how many of the newest, once" },
        { "every=1.5", "number of steps" },
        { "newer=7", "in s, min, h or d" },
        { "newer=18446744074s", "in s, min, h or d" },
        { "max-bytes=1Q", "a size" },
        { "max-bytes=99999999999T", "a size" },
        { "best=loss", "LABEL:min" },
        { "best=loss:avg", "LABEL:min" },
        { "best=:min", "LABEL:min" },
        { "best=loss:min:", "LABEL:min" },
        { "best=loss:min:0", "LABEL:min" },
        { "best=loss:min:1:2", "LABEL:min" },
        { "best=a:min best=b:min best=c:min best=d:min best=e:min best=f:min best=g:min best=h:min "
          "best=i:min",
          "8 labels at most" },
        { "keep=3", "\"keep=3\": expected last=" },
    };
    struct policy p;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = { 0 };
        cr_assert_eq(
            policy_parse(slice_str(bad[i].text), &p, &err), -CAIRN_EINVAL, "%s", bad[i].text);
        cr_assert_not_null(strstr(err.msg, bad[i].expected), "%s: %s", bad[i].text, err.msg);
    }
}
