/* Schedulers that are made of others: sequential ones (the steps taken, then the children), one for
 * each group of parameters (children "0", "1", ..., whose numbers are who they are), and both in
 * each other. Every number comes back to the bit, to whom it belongs, in every kind of record. */
#include <stdio.h>
#include <string.h>

#include "ground.h"

enum { NUMBERS = 32, NUMBER_PATH_BYTES = 48 };

/* One number that a scheduler keeps. CAIRN_SCALAR_NULL: a child that keeps none, and is there.
 */
struct number {
    char path[NUMBER_PATH_BYTES];
    enum cairn_entry_kind kind;
    uint64_t bits;
};

struct scheduler {
    struct number at[NUMBERS];
    size_t count;
};

static void
scheduler_add(struct scheduler *s, const char *path, enum cairn_entry_kind kind, uint64_t bits)
{
    struct number *n = &s->at[s->count++];
    cr_assert_leq(s->count, NUMBERS);
    (void)snprintf(n->path, sizeof n->path, "%s", path);
    n->kind = kind;
    n->bits = bits;
}

static uint64_t bits_of(double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* In the second of its children, which is itself sequential. */
static void scheduler_sequential(struct scheduler *s)
{
    scheduler_add(s, "step", CAIRN_SCALAR_U64, 17);
    scheduler_add(s, "0/remaining_iters", CAIRN_SCALAR_U64, 0);
    scheduler_add(s, "1/step", CAIRN_SCALAR_U64, 5);
    scheduler_add(s, "1/0/current_iter", CAIRN_SCALAR_U64, UINT64_MAX); /* as it begins */
    scheduler_add(s, "1/1/previous_lr", CAIRN_SCALAR_F64, bits_of(0.1 / 0.9));
    scheduler_add(s, "1/2/iter_idx", CAIRN_SCALAR_I64, (uint64_t)-1);
    scheduler_add(s, "2/step", CAIRN_SCALAR_F64, bits_of(-0.0));
    scheduler_add(s, "3", CAIRN_SCALAR_NULL, 0); /* constant */
    scheduler_add(s, "4/previous_lr", CAIRN_SCALAR_F64, UINT64_C(0x7ff4000000000001)); /* a NaN */
}

/* More than ten, so that the order of their names is not that of their numbers; the last one is
 * sequential. */
static void scheduler_groups(struct scheduler *s, uint64_t groups)
{
    char path[NUMBER_PATH_BYTES];
    scheduler_add(s, "groups", CAIRN_SCALAR_U64, groups);
    for (uint64_t i = 0; i + 1 < groups; i++) {
        (void)snprintf(path, sizeof path, "%llu/previous_lr", (unsigned long long)i);
        scheduler_add(s, path, CAIRN_SCALAR_F64, bits_of(0.1 / (double)(i + 3)));
    }
    if (groups > 0) {
        (void)snprintf(path, sizeof path, "%llu/step", (unsigned long long)(groups - 1));
        scheduler_add(s, path, CAIRN_SCALAR_U64, 1000 + groups);
        (void)snprintf(path, sizeof path, "%llu/0/iter_idx", (unsigned long long)(groups - 1));
        scheduler_add(s, path, CAIRN_SCALAR_I64, INT32_MAX);
    }
}

/* ---- the component ---- */

static int number_put(const struct number *n, struct cairn_writer *w)
{
    double value = 0;
    switch (n->kind) {
    case CAIRN_SCALAR_I64:
        return cairn_put_i64(w, n->path, (int64_t)n->bits);
    case CAIRN_SCALAR_F64:
        memcpy(&value, &n->bits, sizeof value);
        return cairn_put_f64(w, n->path, value);
    case CAIRN_SCALAR_NULL:
        return cairn_put_null(w, n->path);
    default:
        return cairn_put_u64(w, n->path, n->bits);
    }
}

static int number_get(struct number *n, const struct cairn_reader *r)
{
    double value = 0;
    int64_t number = 0;
    int rc = 0;
    switch (n->kind) {
    case CAIRN_SCALAR_I64:
        rc = cairn_get_i64(r, n->path, &number);
        n->bits = (uint64_t)number;
        return rc;
    case CAIRN_SCALAR_F64:
        rc = cairn_get_f64(r, n->path, &value);
        memcpy(&n->bits, &value, sizeof value);
        return rc;
    case CAIRN_SCALAR_NULL:
        return 0;
    default:
        return cairn_get_u64(r, n->path, &n->bits);
    }
}

static int scheduler_put(void *self, struct cairn_writer *w)
{
    const struct scheduler *s = self;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        rc = number_put(&s->at[i], w);
    }
    return rc;
}

/* The recorded numbers are these, and no others. */
static int scheduler_fit(void *self, const struct cairn_reader *r)
{
    const struct scheduler *s = self;
    struct cairn_entry e;
    size_t count = 0;
    while (cairn_entry_at(r, count, &e) == 0) {
        size_t i = 0;
        while (i < s->count && (strcmp(s->at[i].path, e.path) != 0 || s->at[i].kind != e.kind)) {
            i++;
        }
        if (i == s->count) {
            return -CAIRN_EMISMATCH;
        }
        count++;
    }
    return count == s->count ? 0 : -CAIRN_EMISMATCH;
}

static int scheduler_get(void *self, const struct cairn_reader *r)
{
    struct scheduler *s = self;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        rc = number_get(&s->at[i], r);
    }
    return rc;
}

static struct cairn_component scheduler_of(struct scheduler *s, const char *type)
{
    return (struct cairn_component){
        .self = s, .type = type, .put = scheduler_put, .fit = scheduler_fit, .get = scheduler_get
    };
}

/* ---- there and back ---- */

typedef int
restore_fn(struct cairn *c, const struct cairn_record *r, const struct cairn_trainer *t);

static const struct {
    uint32_t kind;
    restore_fn *restore;
} ways[] = {
    { 0, cairn_restore },
    { CAIRN_KIND_DTYPES, cairn_restore_with_dtypes },
    { CAIRN_KIND_WEIGHTED, cairn_restore_weighted },
    { CAIRN_KIND_WEIGHTED | CAIRN_KIND_DTYPES, cairn_restore_weighted_with_dtypes },
    { CAIRN_KIND_MODEL_STATE, cairn_model_state_restore },
    { CAIRN_KIND_MODEL_STATE | CAIRN_KIND_WEIGHTED, cairn_model_state_restore_weighted },
};

/* Restore into a scheduler of the same shape, all of whose numbers are others. */
static void check_back(struct ground *g, size_t way, const struct scheduler *s, const char *type)
{
    struct scheduler other = *s;
    struct job job;
    struct cairn_record *r = ground_loaded(g, ways[way].kind);
    for (size_t i = 0; i < other.count; i++) {
        other.at[i].bits = other.at[i].kind == CAIRN_SCALAR_NULL ? 0 : ~other.at[i].bits;
    }
    job_like(&job, &g->job);
    job.t.scheduler = scheduler_of(&other, type);
    cr_assert_eq(ways[way].restore(g->c, r, &job.t), 0, "%s", cairn_error(g->c));
    for (size_t i = 0; i < other.count; i++) {
        cr_assert_eq(other.at[i].bits, s->at[i].bits, "%s, way %zu", s->at[i].path, way);
    }
    job_fini(&job);
    (void)cairn_record_free(r);
}

static void there_and_back(struct scheduler *s, const char *type)
{
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        struct ground g;
        ground_up(&g);
        job_fill(&g.job, 1);
        g.job.t.scheduler = scheduler_of(s, type);
        check_back(&g, way, s, type);
        ground_down(&g);
    }
}

CASE(schedulers, R06_R30_a_sequential_one_within_another)
{
    struct scheduler s = { .count = 0 };
    scheduler_sequential(&s);
    there_and_back(
        &s, "sequential(linear sequential(cosine exponential step) noam constant exponential)");
}

CASE(schedulers, R06_R30_one_for_each_group)
{
    static const uint64_t groups[] = { 0, 1, 2, 13 };
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        struct scheduler s = { .count = 0 };
        scheduler_groups(&s, groups[i]);
        there_and_back(&s, "groups(exponential... sequential(step))");
    }
}

/* With a group less or more the numbers of the others would fit, of another's learning rate. */
CASE(schedulers, F17_another_number_of_groups_is_refused_before_anything_is_read)
{
    static const uint64_t groups[] = { 2, 4 };
    struct ground g;
    struct scheduler s = { .count = 0 };
    ground_up(&g);
    job_fill(&g.job, 1);
    scheduler_groups(&s, 3);
    g.job.t.scheduler = scheduler_of(&s, "groups");
    struct cairn_record *r = ground_loaded(&g, 0);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        struct scheduler other = { .count = 0 };
        struct job job;
        scheduler_groups(&other, groups[i]);
        const struct scheduler before = other;
        job_like(&job, &g.job);
        job.t.scheduler = scheduler_of(&other, "groups");
        cr_assert_eq(cairn_restore(g.c, r, &job.t), -CAIRN_EMISMATCH);
        cr_assert_not_null(strstr(cairn_error(g.c), "scheduler"), "%s", cairn_error(g.c));
        cr_assert(same_bits(&before, &other, sizeof other));
        cr_assert_null(strchr(job.log, 'G'), "%s", job.log);
        job_fini(&job);
    }
    (void)cairn_record_free(r);
    ground_down(&g);
}
