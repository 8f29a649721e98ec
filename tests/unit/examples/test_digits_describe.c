/* The table by which the example trainer describes itself: what it puts is all there is, and what
 * it gets back continues as if nothing had happened. */
#include <stdio.h>

#include "digits/describe.h"
#include "fake_record.h"
#include "support/case.h"

struct trainee {
    struct job job;
    struct description description;
};

static struct data describe_data;

static struct trainee *describe_start_with(const struct job_config *config)
{
    struct trainee *t = calloc(1, sizeof *t);
    cr_assert_not_null(t);
    cr_assert_eq(job_init(&t->job, config, &describe_data), 0);
    describe(&t->description, &t->job);
    return t;
}

static struct job_config describe_config(enum sched_kind scheduler, size_t width, uint64_t seed)
{
    return (struct job_config){ .width = width,
                                .microbatches_per_update = 4,
                                .rows_max = 16,
                                .seed = seed,
                                .scheduler = scheduler };
}

static struct trainee *describe_start(enum sched_kind scheduler, size_t width, uint64_t seed)
{
    const struct job_config config = describe_config(scheduler, width, seed);
    return describe_start_with(&config);
}

static void describe_end(struct trainee *t)
{
    job_fini(&t->job);
    free(t);
}

static void describe_train(struct trainee *t, size_t microbatches)
{
    for (size_t i = 0; i < microbatches; i++) {
        job_microbatch(&t->job);
    }
}

static void describe_equal(const struct trainee *a, const struct trainee *b, const char *when)
{
    char digest_a[33];
    char digest_b[33];
    job_digest(&a->job, digest_a);
    job_digest(&b->job, digest_b);
    cr_assert_str_eq(digest_a, digest_b, "%s", when);
}

/* Train n microbatches, capture, restore into a trainer that was going elsewhere, train both on. */
static void describe_continues(enum sched_kind scheduler, size_t microbatches)
{
    struct trainee *one = describe_start(scheduler, 24, 1);
    struct trainee *other = describe_start(scheduler, 24, 99);
    char before[33];
    char after[33];
    describe_train(one, microbatches);
    describe_train(other, 7);
    job_digest(&one->job, before);
    struct fake_record *r = fake_capture(&one->description.trainer);
    job_digest(&one->job, after);
    cr_assert_str_eq(before, after, "a capture changed the trainer");
    cr_assert_eq(fake_restore(r, &other->description.trainer), 0);
    describe_equal(one, other, "after the restore");
    describe_train(one, 400); /* more than an epoch */
    describe_train(other, 400);
    describe_equal(one, other, "400 microbatches after the restore");
    fake_free(r);
    describe_end(one);
    describe_end(other);
}

CASE(describe, continues_from_any_boundary)
{
    static const size_t boundaries[] = { 0, 1, 3, 4, 5, 202 }; /* windows have four */
    cr_assert_eq(data_load(&describe_data, DIGITS_CSV), 0);
    for (size_t i = 0; i < sizeof boundaries / sizeof boundaries[0]; i++) {
        describe_continues(SCHED_COSINE, boundaries[i]);
        describe_continues(SCHED_STEP, boundaries[i]);
    }
    data_fini(&describe_data);
}

/* Whatever is missing, the first pass says so, and nothing has changed. */
CASE(describe, fit_misses_every_entry)
{
    cr_assert_eq(data_load(&describe_data, DIGITS_CSV), 0);
    struct trainee *one = describe_start(SCHED_COSINE, 24, 1);
    struct trainee *other = describe_start(SCHED_COSINE, 24, 99);
    char before[33];
    char after[33];
    describe_train(one, 5);
    job_digest(&other->job, before);
    struct fake_record *r = fake_capture(&one->description.trainer);
    /* gradients 6, model 6, optimizer 3 x 6 + 3 masters + 6 times, scheduler 1, state 8 */
    cr_assert_eq(fake_count(r), 48);
    for (size_t i = 0; i < fake_count(r); i++) {
        fake_forget(r, i);
        cr_assert_eq(
            fake_fit(r, &other->description.trainer), -CAIRN_ENOENT, "%s", fake_path(r, i));
        fake_remember(r, i);
    }
    cr_assert_eq(fake_fit(r, &other->description.trainer), 0);
    job_digest(&other->job, after);
    cr_assert_str_eq(before, after, "fit changed the trainer");
    fake_free(r);
    describe_end(one);
    describe_end(other);
    data_fini(&describe_data);
}

CASE(describe, another_width_does_not_fit)
{
    cr_assert_eq(data_load(&describe_data, DIGITS_CSV), 0);
    struct trainee *one = describe_start(SCHED_COSINE, 24, 1);
    struct trainee *wider = describe_start(SCHED_COSINE, 25, 1);
    cr_assert_str_neq(one->description.trainer.model.type, wider->description.trainer.model.type);
    struct fake_record *r = fake_capture(&one->description.trainer);
    cr_assert_eq(fake_fit(r, &wider->description.trainer), -CAIRN_EMISMATCH);
    fake_free(r);
    describe_end(one);
    describe_end(wider);
    data_fini(&describe_data);
}

/* The type of the state (the library compares it, and refuses another). */
static void describe_state_type(const struct job_config *config, char ret[static 256])
{
    struct trainee *t = describe_start_with(config);
    cr_assert_lt(strlen(t->description.trainer.state.type), 255);
    (void)snprintf(ret, 256, "%s", t->description.trainer.state.type);
    describe_end(t);
}

CASE(describe, another_configuration_is_another_type)
{
    struct job_config config = describe_config(SCHED_COSINE, 24, 1);
    char type[256];
    char other[256];
    cr_assert_eq(data_load(&describe_data, DIGITS_CSV), 0);
    describe_state_type(&config, type);
    config.seed = 2;
    describe_state_type(&config, other);
    cr_assert_str_eq(type, other, "a seed has done its work");
    config.microbatches_per_update = 5;
    describe_state_type(&config, other);
    cr_assert_str_neq(type, other, "window");
    config = describe_config(SCHED_COSINE, 24, 1);
    config.rows_max = 17;
    describe_state_type(&config, other);
    cr_assert_str_neq(type, other, "rows");
    config = describe_config(SCHED_STEP, 24, 1);
    describe_state_type(&config, other);
    cr_assert_str_neq(type, other, "period");
    config = describe_config(SCHED_COSINE, 100, 1);
    describe_state_type(&config, other);
    cr_assert_str_neq(type, other, "learning rate");
    config = describe_config(SCHED_COSINE, 24, 1);
    describe_data.labels[7] ^= 1;
    describe_state_type(&config, other);
    cr_assert_str_neq(type, other, "a label");
    describe_data.labels[7] ^= 1;
    describe_data.rows--;
    describe_state_type(&config, other);
    cr_assert_str_neq(type, other, "a row less");
    describe_data.rows++;
    describe_state_type(&config, other);
    cr_assert_str_eq(type, other);
    data_fini(&describe_data);
}
