/* contract_compare.c: does a trainer's model have exactly the parameters that were recorded? Both
 * lists ascend by id, so one pass tells all three ways in which they may differ. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/contract.h"
#include "lib/describe.h"
#include "record/dtype.h"

#define COMPARE_SHOWN 8 /* of each list; the rest is a count */
/* What the shown ids of a list take at most, so that all three fit a message: three of 20 digits.
 */
#define COMPARE_SHOWN_BYTES 66

enum compare_list { COMPARE_MISSING, COMPARE_EXTRA, COMPARE_CHANGED, COMPARE_NR };

struct compare {
    uint64_t counts[COMPARE_NR];
    uint64_t shown[COMPARE_NR]; /* the first of them */
    struct describe ids[COMPARE_NR];
    struct describe first_changed; /* recorded and live, of the first that differs */
};

static void compare_note(struct compare *x, enum compare_list list, uint64_t id)
{
    char text[24];
    bool all = x->shown[list] == x->counts[list]++;
    int bytes = snprintf(text, sizeof text, x->shown[list] == 0 ? "%" PRIu64 : ", %" PRIu64, id);
    if (all && x->shown[list] < COMPARE_SHOWN &&
        x->ids[list].bytes + (size_t)bytes <= COMPARE_SHOWN_BYTES) {
        describe_add(&x->ids[list], "%s", text);
        x->shown[list]++;
    }
}

struct compare_text {
    char text[420]; /* of the 512 of a message */
    size_t bytes;
};

/* All of it or nothing. */
__attribute__((format(printf, 2, 3))) static void
compare_add(struct compare_text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int more = vsnprintf(t->text + t->bytes, sizeof t->text - t->bytes, format, args);
    va_end(args);
    if (more > 0 && (size_t)more < sizeof t->text - t->bytes) {
        t->bytes += (size_t)more;
    }
    t->text[t->bytes] = '\0';
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

/* "2 missing, 1 changed; missing: 5, 7; changed: 3 (3 recorded F32 [3], the trainer's BF16 [3])":
 * the counts first, and never a part of an id. The last one is left out when it does not fit. */
static void compare_say(const struct compare *x, struct compare_text *t)
{
    static const char *const words[COMPARE_NR] = { "missing", "extra", "changed" };
    for (int i = 0; i < COMPARE_NR; i++) {
        if (x->counts[i] > 0) {
            compare_add(t, "%s%" PRIu64 " %s", t->bytes == 0 ? "" : ", ", x->counts[i], words[i]);
        }
    }
    for (int i = 0; i < COMPARE_NR; i++) {
        if (x->counts[i] > 0) {
            compare_add(t, "; %s: %s", words[i], x->ids[i].text);
        }
        if (x->counts[i] > x->shown[i]) {
            compare_add(t, " and %" PRIu64 " more", x->counts[i] - x->shown[i]);
        }
    }
    if (x->counts[COMPARE_CHANGED] > 0 &&
        x->first_changed.bytes < sizeof x->first_changed.text - 1) {
        compare_add(t, " (%s)", x->first_changed.text);
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
    struct compare_text text = { .bytes = 0 };
    compare_lists(&x, recorded, live);
    if (x.counts[COMPARE_MISSING] + x.counts[COMPARE_EXTRA] + x.counts[COMPARE_CHANGED] > 0) {
        compare_say(&x, &text);
        return err_set(err,
                       -CAIRN_EMISMATCH,
                       "contract: of %" PRIu64 " recorded parameters, %s",
                       recorded->trainable_count,
                       text.text);
    }
    return compare_base(recorded, live, err);
}
