/* contract_compare.c: does a trainer's model have exactly the parameters that were recorded? Both
 * lists ascend by id, so one pass tells all three ways in which they may differ. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/contract.h"
#include "lib/describe.h"
#include "record/dtype.h"

#define COMPARE_SHOWN 8 /* of each list; the rest is a count */

enum compare_list { COMPARE_MISSING, COMPARE_EXTRA, COMPARE_CHANGED, COMPARE_NR };

struct compare {
    uint64_t counts[COMPARE_NR];
    struct describe ids[COMPARE_NR];
    struct describe first_changed; /* recorded and live, of the first that differs */
};

static void compare_note(struct compare *x, enum compare_list list, uint64_t id)
{
    uint64_t count = x->counts[list]++;
    if (count < COMPARE_SHOWN) {
        describe_add(&x->ids[list], count == 0 ? " %" PRIu64 : ", %" PRIu64, id);
    }
}

static void
compare_both(struct compare *x, const struct cairn_param *recorded, const struct cairn_param *live)
{
    if (recorded->dtype == live->dtype &&
        shape_same(recorded->rank, recorded->shape, live->rank, live->shape)) {
        return;
    }
    compare_note(x, COMPARE_CHANGED, recorded->id);
    if (x->counts[COMPARE_CHANGED] == 1) {
        describe_add(&x->first_changed, "%" PRIu64 " recorded ", recorded->id);
        describe_type(&x->first_changed, recorded->dtype, recorded->rank, recorded->shape);
        describe_add(&x->first_changed, ", the trainer's ");
        describe_type(&x->first_changed, live->dtype, live->rank, live->shape);
    }
}

/* The next trainable one at or behind `at`; NULL: the end. */
static const struct cairn_param *compare_next(const struct contract *k, uint64_t *at)
{
    while (*at < k->list.count && !k->list.params[*at].trainable) {
        (*at)++;
    }
    return *at < k->list.count ? &k->list.params[*at] : NULL;
}

static void
compare_lists(struct compare *x, const struct contract *recorded, const struct contract *live)
{
    uint64_t r_at = 0;
    uint64_t l_at = 0;
    const struct cairn_param *r = compare_next(recorded, &r_at);
    const struct cairn_param *l = compare_next(live, &l_at);
    while (r != NULL || l != NULL) {
        bool take_r = r != NULL && (l == NULL || r->id <= l->id);
        bool take_l = l != NULL && (r == NULL || l->id <= r->id);
        if (take_r && take_l) {
            compare_both(x, r, l);
        } else {
            compare_note(x, take_r ? COMPARE_MISSING : COMPARE_EXTRA, take_r ? r->id : l->id);
        }
        r_at += take_r;
        l_at += take_l;
        r = compare_next(recorded, &r_at);
        l = compare_next(live, &l_at);
    }
}

/* "2 missing: 5, 7; 1 changed: 3 (3 recorded F32 [3], the trainer's BF16 [3])" */
static void compare_say(const struct compare *x, char *text, size_t text_bytes)
{
    static const char *const words[COMPARE_NR] = { "missing", "extra", "changed" };
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < COMPARE_NR && at < text_bytes; i++) {
        if (x->counts[i] > 0) {
            int more = snprintf(text + at,
                                text_bytes - at,
                                "%s%" PRIu64 " %s:%s%s",
                                at == 0 ? "" : "; ",
                                x->counts[i],
                                words[i],
                                x->ids[i].text,
                                x->counts[i] > COMPARE_SHOWN ? ", ..." : "");
            at += more > 0 ? (size_t)more : 0;
        }
    }
    if (x->counts[COMPARE_CHANGED] > 0 && at < text_bytes) {
        (void)snprintf(text + at, text_bytes - at, " (%s)", x->first_changed.text);
    }
}

static int
compare_base(const struct contract *recorded, const struct contract *live, struct err *err)
{
    if (recorded->has_base != live->has_base) {
        return err_set(err,
                       -CAIRN_EMISMATCH,
                       "contract: %s",
                       recorded->has_base
                           ? "it was recorded over a base, and the trainer names none"
                           : "it was recorded without a base, and the trainer names one");
    }
    if (recorded->has_base && memcmp(recorded->base, live->base, sizeof live->base) != 0) {
        return err_set(err,
                       -CAIRN_EMISMATCH,
                       "contract: it was recorded over another base than the trainer's: load the "
                       "base that it belongs to");
    }
    return 0;
}

int contract_compare(const struct contract *recorded, const struct contract *live, struct err *err)
{
    struct compare x = { .counts = { 0 } };
    char text[400];
    compare_lists(&x, recorded, live);
    if (x.counts[COMPARE_MISSING] + x.counts[COMPARE_EXTRA] + x.counts[COMPARE_CHANGED] > 0) {
        compare_say(&x, text, sizeof text);
        return err_set(err,
                       -CAIRN_EMISMATCH,
                       "contract: of %" PRIu64 " recorded parameters, %s",
                       recorded->trainable_count,
                       text);
    }
    return compare_base(recorded, live, err);
}
