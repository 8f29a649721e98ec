/* Each rule of a policy alone, and what stays whatever they say. The random histories of
 * test_retention compare all of it with a model. */
#include <math.h>

#include "store/keep.h"
#include "support/case.h"

#define MAX_ITEMS 12u
#define DAY_NS (UINT64_C(86400) * 1000000000)
#define NOW_NS (100 * DAY_NS)

struct some {
    struct keep_item items[MAX_ITEMS];
    size_t count;
    uint64_t bytes; /* of each */
    uint64_t wanted_bytes;
};

/* Boundaries 1..count of steps 100, 200, ..., a day between them, the newest made now. */
static struct some some_of(size_t count)
{
    struct some s = { .count = count, .bytes = 10 };
    for (size_t i = 0; i < count; i++) {
        struct keep_item *item = &s.items[i];
        item->seq = i + 1;
        item->step = 100 * (i + 1);
        item->created_ns = NOW_NS - (count - 1 - i) * DAY_NS;
        for (unsigned b = 0; b < LIMIT_POLICY_BEST; b++) {
            item->best[b] = (double)NAN;
        }
    }
    return s;
}

static uint64_t some_release(void *arg, size_t index)
{
    const struct some *s = arg;
    (void)index;
    return s->bytes;
}

/* What stays, a letter for each boundary's reason, '.' for what goes. */
static void stays(struct some *s, const char *policy, const char *expected)
{
    static const char letter[KEEP_WHY_NR] = {
        [KEEP_NEWEST] = 'N',     [KEEP_PINNED] = 'P',  [KEEP_READ] = 'R',
        [KEEP_FINITE] = 'F',     [KEEP_DAMAGED] = 'D', [KEEP_LAST] = 'L',
        [KEEP_EVERY] = 'E',      [KEEP_BEST] = 'B',    [KEEP_NEWER] = 'T',
        [KEEP_NO_RULE] = '-',    [KEEP_GOES] = '.',    [KEEP_GOES_ABANDONED] = 'a',
        [KEEP_GOES_SPACE] = 's',
    };
    char found[MAX_ITEMS + 1] = "";
    struct policy p;
    struct err err = { .code = 0 };
    cr_assert_eq(policy_parse(slice_str(policy), &p, &err), 0, "%s", err.msg);
    struct keep_plan plan = {
        .policy = &p,
        .now_ns = NOW_NS,
        .items = s->items,
        .count = s->count,
        .bytes = s->bytes * s->count,
        .wanted_bytes = s->wanted_bytes,
        .release = some_release,
        .arg = s,
    };
    keep_decide(&plan);
    for (size_t i = 0; i < s->count; i++) {
        found[i] = letter[s->items[i].why];
    }
    cr_assert_str_eq(found, expected, "%s: %s, expected %s", policy, found, expected);
}

CASE(keep, without_rules)
{
    struct some s = some_of(5);
    stays(&s, "none", "---NN");
    s.items[2].abandoned = true;
    stays(&s, "none", "---NN");
}

CASE(keep, last)
{
    struct some s = some_of(6);
    stays(&s, "last=1", "....NN");
    stays(&s, "last=4", "..LLNN");
    stays(&s, "last=99", "LLLLNN");
    s.items[3].damaged = true;
    s.items[4].abandoned = true;
    stays(&s, "last=3", ".LNDaN");
}

CASE(keep, every)
{
    struct some s = some_of(9);
    stays(&s, "every=300", "..E..E.NN");
    stays(&s, "every=250", ".E..E.ENN"); /* for 250 that of 200, for 500, for 750 that of 700 */
    stays(&s, "every=100", "EEEEEEENN");
    s.items[2].damaged = true;
    stays(&s, "every=300", ".ED..E.NN");
    s.items[5].step = 0; /* the trainer began anew there, unasked */
    stays(&s, "every=300", ".ED..E.NN");
}

CASE(keep, best)
{
    struct some s = some_of(8);
    static const double loss[] = { 5, 1, 3, (double)NAN, 1, 9, 9, 9 };
    for (unsigned i = 0; i < 8; i++) {
        s.items[i].best[0] = loss[i];
    }
    stays(&s, "best=loss:min", "....B.NN");
    stays(&s, "best=loss:min:2", ".B..B.NN");
    stays(&s, "best=loss:min:99", "BBB.BBNN");
    s.items[1].abandoned = true;
    stays(&s, "best=loss:min:2", ".aB.B.NN");
    s.items[1].best[1] = 7;
    s.items[0].best[1] = 3;
    stays(&s, "best=loss:max best=acc:max", "Ba....NN");
    cr_assert_eq(s.items[0].rule, 1);
}

CASE(keep, newer)
{
    struct some s = some_of(6);
    stays(&s, "newer=3d", "..TTNN");
    stays(&s, "newer=71h", "...TNN");
    s.items[0].created_ns = NOW_NS + 5 * DAY_NS; /* the clock was set back since */
    stays(&s, "newer=71h", "T..TNN");
}

CASE(keep, always)
{
    struct some s = some_of(8);
    s.items[0].pinned = true;
    s.items[2].held = true;
    s.items[4].not_finite = s.items[5].not_finite = true;
    s.items[6].not_finite = s.items[7].not_finite = true;
    stays(&s, "last=1", "P.RF..NN");
    s.items[3].abandoned = true;
    stays(&s, "last=1", "P.Ra..NN");
    s.items[3].pinned = true;
    stays(&s, "last=1", "P.RP..NN");
    s.items[7].damaged = true;
    stays(&s, "last=1", "P.RP.NND");
}

CASE(keep, max_bytes_comes_last)
{
    struct some s = some_of(8);
    stays(&s, "max-bytes=50B", "sss---NN");
    stays(&s, "last=5 max-bytes=40B", "...sLLNN");
    stays(&s, "max-bytes=1B", "ssssssNN");
    s.items[1].pinned = true;
    s.items[4].abandoned = true;
    stays(&s, "max-bytes=70B", "-P--s-NN");
    stays(&s, "max-bytes=50B", "sPs-s-NN");
    s.bytes = 0;
    stays(&s, "max-bytes=1B", "-P----NN");
}

CASE(keep, room_that_is_wanted)
{
    struct some s = some_of(6);
    s.wanted_bytes = 15;
    stays(&s, "none", "ss--NN");
    stays(&s, "last=5", ".sLLNN");
    stays(&s, "last=3", "...LNN");
}
