/* The example trainer as a whole, without cairn: what it computes, and that it computes the same.
 */
#include <math.h>
#include <string.h>

#include "digits/job.h"
#include "support/case.h"

static struct data job_data;

static void job_start(struct job *j, struct job_config config)
{
    if (job_data.rows == 0) {
        cr_assert_eq(data_load(&job_data, DIGITS_CSV), 0);
    }
    cr_assert_eq(job_init(j, &config, &job_data), 0);
}

static void job_end(struct job *j)
{
    job_fini(j);
    data_fini(&job_data);
}

static const struct job_config small = {
    .width = 24, .microbatches_per_update = 4, .rows_max = 16, .seed = 1
};

CASE(job, learns_to_read)
{
    struct job j;
    job_start(&j, small);
    while (j.updates < 400) {
        job_microbatch(&j);
    }
    double accuracy = job_accuracy(&j);
    cr_assert_gt(accuracy, 0.9, "accuracy %g", accuracy);
    cr_assert_eq(j.microbatches, 1600);
    job_end(&j);
}

CASE(job, the_same_seed_gives_the_same_bits)
{
    char digests[3][33];
    const uint64_t seeds[3] = { 1, 1, 2 };
    for (size_t run = 0; run < 3; run++) {
        struct job j;
        struct job_config config = small;
        config.seed = seeds[run];
        job_start(&j, config);
        for (size_t i = 0; i < 301; i++) { /* ends inside a window */
            job_microbatch(&j);
        }
        cr_assert_eq(j.window.microbatches, 1);
        job_digest(&j, digests[run]);
        job_end(&j);
    }
    cr_assert_str_eq(digests[0], digests[1]);
    cr_assert_str_neq(digests[0], digests[2]);
}

/* Change one byte, see another digest, change it back. */
static void job_sees(const struct job *j, void *at, const char *what)
{
    char before[33];
    char after[33];
    unsigned char *byte = at;
    job_digest(j, before);
    *byte ^= 1;
    job_digest(j, after);
    *byte ^= 1;
    cr_assert_str_neq(before, after, "the digest does not see %s", what);
    job_digest(j, after);
    cr_assert_str_eq(before, after);
}

CASE(job, the_digest_sees_all_of_the_state)
{
    struct job j;
    job_start(&j, small);
    job_microbatch(&j);
    for (size_t i = 0; i < MLP_PARAMS; i++) {
        struct param *p = &j.net.params[i];
        if (p->bf16 != NULL) {
            job_sees(&j, &p->bf16[p->count - 1], "a weight");
        }
        job_sees(&j, &p->f32[p->count - 1], "a master or bias");
        job_sees(&j, &p->gradient[p->count - 1], "a pending gradient");
        job_sees(&j, &p->moment_1[0], "the first moment");
        job_sees(&j, &p->moment_2[0], "the second moment");
        job_sees(&j, &p->max_moment_2[0], "the greatest second moment");
        job_sees(&j, &p->time, "the optimizer's time");
    }
    job_sees(&j, &j.window.dtype, "the window's dtype");
    job_sees(&j, &j.window.loss_scale, "the loss scale");
    job_sees(&j, &j.window.total_weight, "the window's weight");
    job_sees(&j, &j.window.microbatches, "the window's microbatches");
    job_sees(&j, &j.rng.key, "the key");
    job_sees(&j, &j.rng.counter, "the counter");
    job_sees(&j, &j.sampler.epoch, "the epoch");
    job_sees(&j, &j.sampler.epoch_key, "the epoch's key");
    job_sees(&j, &j.sampler.position, "the position");
    job_sees(&j, &j.sched.current_iter, "the cosine's position");
    job_sees(&j, &j.sched.iter_idx, "the step's position");
    job_sees(&j, &j.updates, "the updates");
    job_sees(&j, &j.microbatches, "the microbatches");
    job_sees(&j, &j.loss, "the loss");
    job_end(&j);
}

enum { ROWS = 5 };

static double job_loss_of(struct mlp *m, const uint8_t *labels, float scale)
{
    mlp_forward(m, ROWS);
    return mlp_loss(m, ROWS, labels, scale);
}

/* The slope of the loss along one number, from both sides of it. */
static double job_slope(struct mlp *m, const uint8_t *labels, float *at)
{
    const float h = 0x1p-7F;
    float kept = *at;
    *at = kept + h;
    double above = job_loss_of(m, labels, 1);
    *at = kept - h;
    double below = job_loss_of(m, labels, 1);
    *at = kept;
    return (above - below) / (2 * (double)h);
}

/* Biases are F32, so their slopes can be measured; a bias's gradient passes through the weights of
 * all layers above it. The gradient of a weight is its input times that of its bias. */
CASE(mlp, gradients_are_the_slopes_of_the_loss)
{
    struct mlp m;
    struct rng rng;
    uint8_t labels[ROWS];
    rng_init(&rng, 11);
    cr_assert_eq(mlp_init(&m, 19, &rng), 0); /* no multiple of the lanes */
    for (size_t i = 0; i < (size_t)ROWS * DATA_PIXELS; i++) {
        m.inputs[0][i] = fabsf(rng_signed_unit(&rng));
    }
    for (size_t b = 0; b < ROWS; b++) {
        labels[b] = (uint8_t)rng_below(&rng, DATA_CLASSES);
    }
    (void)job_loss_of(&m, labels, 16);
    mlp_backward(&m, ROWS);
    for (size_t layer = 0; layer < MLP_LAYERS; layer++) {
        struct param *bias = &m.params[2 * layer + 1];
        for (size_t k = 0; k < bias->count; k++) {
            double slope = job_slope(&m, labels, &bias->f32[k]);
            double off = fabs((double)bias->gradient[k] / 16 - slope);
            cr_assert_lt(off, 0.01 + 0.02 * fabs(slope), "layer %zu, bias %zu", layer, k);
        }
    }
    mlp_fini(&m);
}

/* One row: the gradient of a weight is its input times the gradient of its bias. */
CASE(mlp, weight_gradients_are_outer_products)
{
    struct mlp m;
    struct rng rng;
    const uint8_t label = 4;
    rng_init(&rng, 12);
    cr_assert_eq(mlp_init(&m, 19, &rng), 0);
    for (size_t i = 0; i < DATA_PIXELS; i++) {
        m.inputs[0][i] = fabsf(rng_signed_unit(&rng));
    }
    mlp_forward(&m, 1);
    (void)mlp_loss(&m, 1, &label, 16);
    mlp_backward(&m, 1);
    for (size_t layer = 0; layer < MLP_LAYERS; layer++) {
        const struct param *weight = &m.params[2 * layer];
        const float *delta = m.params[2 * layer + 1].gradient;
        for (size_t i = 0; i < weight->count; i++) {
            float expected = m.inputs[layer][i / weight->shape[1]] * delta[i % weight->shape[1]];
            cr_assert(weight->gradient[i] == expected, "layer %zu, weight %zu", layer, i);
        }
    }
    mlp_fini(&m);
}
