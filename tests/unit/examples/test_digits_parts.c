/* The parts of the example trainer, each against what it promises. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digits/bf16.h"
#include "digits/data.h"
#include "digits/optim.h"
#include "digits/rng.h"
#include "digits/sampler.h"
#include "digits/sched.h"
#include "support/case.h"

static uint16_t parts_round(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return bf16_round(f);
}

CASE(bf16, rounds_to_nearest_even)
{
    static const struct {
        uint32_t from;
        uint16_t to;
    } known[] = { { 0x3f808000, 0x3f80 }, { 0x3f818000, 0x3f82 }, { 0x7f7f7fff, 0x7f7f },
                  { 0x7f7f8000, 0x7f80 }, { 0x00008000, 0x0000 }, { 0x00008001, 0x0001 },
                  { 0x7f800001, 0x7fc0 }, { 0xffffffff, 0xffff }, { 0x80000000, 0x8000 } };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        cr_assert_eq(parts_round(known[i].from), known[i].to, "of %08x", known[i].from);
    }
    for (uint32_t h = 0; h < 0x7f80; h++) {
        cr_assert_eq(bf16_round(bf16_widen((uint16_t)h)), h);
    }
}

CASE(rng, a_draw_is_a_function_of_key_and_counter)
{
    struct rng a;
    struct rng other;
    rng_init(&a, 7);
    rng_init(&other, 8);
    uint64_t draws[100];
    size_t same = 0;
    for (size_t i = 0; i < 100; i++) {
        draws[i] = rng_next(&a);
        same += draws[i] == rng_next(&other);
    }
    cr_assert_eq(same, 0, "two seeds agree in %zu draws", same);
    struct rng resumed = { .key = a.key, .counter = 42 };
    cr_assert_eq(rng_next(&resumed), draws[42]);
}

CASE(rng, spreads_evenly)
{
    struct rng r;
    rng_init(&r, 1);
    size_t hits[10] = { 0 };
    double sum = 0;
    for (size_t i = 0; i < 100000; i++) {
        uint64_t k = rng_below(&r, 10);
        cr_assert_lt(k, 10);
        hits[k]++;
        float f = rng_signed_unit(&r);
        cr_assert(f >= -1.0F && f < 1.0F);
        sum += (double)f;
    }
    for (size_t k = 0; k < 10; k++) {
        cr_assert(hits[k] > 9500 && hits[k] < 10500, "%zu came %zu times", k, hits[k]);
    }
    cr_assert_lt(fabs(sum / 100000), 0.01);
}

CASE(sampler, gives_every_row_once_an_epoch_and_resumes_in_the_middle)
{
    enum { ROWS = 101, RESUME_AT = 250, DRAWS = 303 };
    struct rng rng;
    struct sampler s;
    struct sampler resumed;
    size_t rows[DRAWS];
    rng_init(&rng, 3);
    cr_assert_eq(sampler_init(&s, ROWS, &rng), 0);
    cr_assert_eq(sampler_init(&resumed, ROWS, &rng), 0);
    struct rng resumed_rng = rng;
    for (size_t i = 0; i < DRAWS; i++) {
        if (i == RESUME_AT) { /* all that a checkpoint would hold */
            resumed.epoch = s.epoch;
            resumed.epoch_key = s.epoch_key;
            resumed.position = s.position;
            resumed_rng = rng;
            sampler_reorder(&resumed);
        }
        rows[i] = sampler_next(&s, &rng);
        if (i >= RESUME_AT) {
            cr_assert_eq(sampler_next(&resumed, &resumed_rng), rows[i]);
        }
    }
    for (size_t epoch = 0; epoch < DRAWS / ROWS; epoch++) {
        unsigned char seen[ROWS] = { 0 };
        for (size_t i = 0; i < ROWS; i++) {
            cr_assert_lt(rows[epoch * ROWS + i], ROWS);
            cr_assert_eq(seen[rows[epoch * ROWS + i]]++, 0);
        }
    }
    cr_assert_neq(memcmp(rows, rows + ROWS, ROWS * sizeof rows[0]), 0, "an epoch repeats");
    sampler_fini(&s);
    sampler_fini(&resumed);
}

CASE(sched, cosine_starts_below_zero_and_comes_round)
{
    struct sched s;
    sched_init(&s, SCHED_COSINE, 1.0, 100);
    cr_assert_eq(s.current_iter, UINT64_MAX);
    double before = 2.0;
    for (size_t i = 0; i < 100; i++) {
        double lr = sched_next(&s);
        cr_assert_lt(lr, before);
        cr_assert(i != 0 || lr == 1.0, "the first rate is %g", lr);
        before = lr;
    }
    cr_assert(before > 0.02 && before < 0.03, "the last rate is %g", before);
    cr_assert(sched_next(&s) == 1.0);
}

CASE(sched, step_falls_by_a_fifth_a_stair)
{
    struct sched s;
    sched_init(&s, SCHED_STEP, 0.05, 2);
    cr_assert_eq(s.iter_idx, -1);
    const double expected[] = { 0.05, 0.05, 0.04, 0.04, 0.032, 0.032 };
    for (size_t i = 0; i < 6; i++) {
        double lr = sched_next(&s);
        cr_assert_lt(fabs(lr - expected[i]), 1e-15, "rate %zu is %g", i, lr);
    }
}

/* The textbook, in double, one number at a time. */
struct adam {
    double w, m, v, v_max;
};

static void parts_adam(struct adam *a, double g, unsigned t, const struct adamw *step)
{
    g = g / (double)step->loss_scale / (double)step->total_weight;
    a->m = 0.9 * a->m + 0.1 * g;
    a->v = 0.999 * a->v + 0.001 * g * g;
    a->v_max = fmax(a->v_max, a->v);
    a->w -= step->lr * (double)step->weight_decay * a->w;
    a->w -= step->lr * (a->m / (1 - pow(0.9, t))) / (sqrt(a->v_max / (1 - pow(0.999, t))) + 1e-8);
}

CASE(optim, adamw_follows_the_textbook)
{
    enum { COUNT = 3000 }; /* several blocks and a rest */
    struct param p = { .path = "w", .id = 1, .rank = 2, .shape = { 3, 1000 } };
    struct adam expected[COUNT] = { 0 };
    const struct adamw step = {
        .lr = 1e-2, .loss_scale = 16, .total_weight = 37, .weight_decay = 0.1F
    };
    struct rng rng;
    rng_init(&rng, 5);
    cr_assert_eq(param_init(&p), 0);
    for (size_t i = 0; i < COUNT; i++) {
        p.f32[i] = rng_signed_unit(&rng);
        expected[i].w = (double)p.f32[i];
    }
    for (unsigned t = 1; t <= 20; t++) {
        for (size_t i = 0; i < COUNT; i++) { /* shrinking, so that amsgrad's maximum matters */
            p.gradient[i] = rng_signed_unit(&rng) * 1000 / (float)(t * t);
            parts_adam(&expected[i], (double)p.gradient[i], t, &step);
        }
        adamw_step(&p, &step);
    }
    for (size_t i = 0; i < COUNT; i++) {
        double off = fabs((double)p.f32[i] - expected[i].w);
        cr_assert_lt(off, 1e-5, "weight %zu: %g, expected %g", i, (double)p.f32[i], expected[i].w);
        off = fabs((double)p.moment_1[i] - expected[i].m); /* alone sees the scale of the mean */
        cr_assert_lt(off, 1e-5 * (1 + fabs(expected[i].m)));
        cr_assert(p.max_moment_2[i] > p.moment_2[i], "the maximum was not kept");
        cr_assert_eq(p.bf16[i], bf16_round(p.f32[i]));
        cr_assert(p.gradient[i] == 0);
    }
    cr_assert_eq(p.time, 20);
    param_fini(&p);
}

CASE(data, reads_the_digits_and_holds_a_fifth_out)
{
    struct data d;
    cr_assert_eq(data_load(&d, DIGITS_CSV), 0);
    cr_assert_eq(d.rows, 1797);
    cr_assert_eq(d.labels[0], 0);
    cr_assert(d.pixels[2] == 5.0F / 16);
    unsigned char *seen = calloc(d.rows, 1);
    cr_assert_not_null(seen);
    for (size_t k = 0; k < data_train_count(&d); k++) {
        seen[data_train_row(k)]++;
    }
    for (size_t k = 0; k < data_test_count(&d); k++) {
        seen[data_test_row(k)]++;
    }
    for (size_t row = 0; row < d.rows; row++) {
        cr_assert_eq(seen[row], 1, "row %zu is used %d times", row, seen[row]);
    }
    free(seen);
    data_fini(&d);
}

/* Write seven lines, the fourth of them as given, and load them, plain. */
static int parts_load(const char *fourth)
{
    char path[] = "/tmp/cairn-digits-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    FILE *f = fdopen(fd, "w");
    cr_assert_not_null(f);
    for (int line = 0; line < 7; line++) {
        for (int pixel = 0; line != 3 && pixel < 64; pixel++) {
            (void)fprintf(f, "%d,", pixel % 17);
        }
        (void)fprintf(f, line == 3 ? "%s" : "%s7\n", line == 3 ? fourth : "");
    }
    cr_assert_eq(fclose(f), 0);
    struct data d;
    int rc = data_load(&d, path);
    data_fini(&d);
    (void)unlink(path);
    return rc;
}

CASE(data, refuses_what_is_no_digit)
{
#define EIGHT "1,2,3,4,5,6,7,8,"
#define PIXELS EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT
    cr_assert_eq(parts_load(PIXELS "3\n"), 0);
    cr_assert_eq(parts_load(PIXELS "10\n"), -1, "a label of 10");
    cr_assert_eq(parts_load(PIXELS "3,4\n"), -1, "a field too many");
    cr_assert_eq(parts_load(EIGHT "3\n"), -1, "too few fields");
    cr_assert_eq(parts_load("17" PIXELS "3\n"), -1, "a pixel of 171");
    cr_assert_eq(parts_load("\n"), -1, "an empty line");
    struct data d;
    cr_assert_eq(data_load(&d, "/nonexistent"), -1);
}
