#include "job.h"

#include <math.h>
#include <string.h>

#include "bf16.h"
#include "optim.h"

#define JOB_LOSS_SCALE 16.0
#define JOB_WEIGHT_DECAY 0.01F
#define JOB_NOISE 0.0625F /* one grey level */

enum { JOB_COSINE_PERIOD = 200, JOB_STEP_PERIOD = 50 }; /* updates */

/* Wide layers take smaller steps: a step moves every one of their many weights. */
static double job_initial_lr(size_t width)
{
    const double base = 4e-3;
    return width <= 64 ? base : base * 64 / (double)width;
}

int job_init(struct job *j, const struct job_config *config, const struct data *data)
{
    *j = (struct job){ .config = *config,
                       .data = data,
                       .window = { .dtype = CAIRN_F32, .loss_scale = JOB_LOSS_SCALE } };
    rng_init(&j->rng, config->seed);
    sched_init(&j->sched,
               config->scheduler,
               job_initial_lr(config->width),
               config->scheduler == SCHED_COSINE ? JOB_COSINE_PERIOD : JOB_STEP_PERIOD);
    if (mlp_init(&j->net, config->width, &j->rng) < 0) {
        return -1;
    }
    return sampler_init(&j->sampler, data_train_count(data), &j->rng);
}

void job_fini(struct job *j)
{
    sampler_fini(&j->sampler);
    mlp_fini(&j->net);
}

/* The next row of the sampler becomes input row `slot`, with a little noise. */
static uint8_t job_draw(struct job *j, size_t slot)
{
    size_t row = data_train_row(sampler_next(&j->sampler, &j->rng));
    const float *from = &j->data->pixels[row * DATA_PIXELS];
    float *to = &j->net.inputs[0][slot * DATA_PIXELS];
    for (size_t i = 0; i < DATA_PIXELS; i++) {
        to[i] = from[i] + JOB_NOISE * rng_signed_unit(&j->rng);
    }
    return j->data->labels[row];
}

/* Close the window: one optimizer step on its weighted mean, one scheduler step. */
static void job_update(struct job *j)
{
    j->lr = sched_next(&j->sched);
    struct adamw step = { .lr = j->lr,
                          .loss_scale = (float)j->window.loss_scale,
                          .total_weight = (float)j->window.total_weight,
                          .weight_decay = JOB_WEIGHT_DECAY };
    for (size_t i = 0; i < MLP_PARAMS; i++) {
        adamw_step(&j->net.params[i], &step);
    }
    j->window.total_weight = 0;
    j->window.microbatches = 0;
    j->updates++;
}

void job_microbatch(struct job *j)
{
    uint8_t labels[MLP_ROWS_MAX];
    size_t rows = 1 + rng_below(&j->rng, j->config.rows_max);
    for (size_t slot = 0; slot < rows; slot++) {
        labels[slot] = job_draw(j, slot);
    }
    mlp_forward(&j->net, rows);
    double loss = mlp_loss(&j->net, rows, labels, (float)j->window.loss_scale) / (double)rows;
    mlp_backward(&j->net, rows);
    j->loss = j->microbatches == 0 ? loss : 0.98 * j->loss + 0.02 * loss;
    j->window.total_weight += (double)rows;
    j->window.microbatches++;
    j->microbatches++;
    if (j->window.microbatches >= j->config.microbatches_per_update) {
        job_update(j);
    }
}

void job_spoil(struct job *j)
{
    struct param *p = &j->net.params[0];
    p->f32[0] = NAN;
    p->bf16[0] = bf16_round(NAN);
}

double job_accuracy(struct job *j)
{
    size_t count = data_test_count(j->data);
    size_t right = 0;
    for (size_t first = 0; first < count; first += MLP_ROWS_MAX) {
        size_t rows = count - first < MLP_ROWS_MAX ? count - first : MLP_ROWS_MAX;
        for (size_t b = 0; b < rows; b++) {
            memcpy(&j->net.inputs[0][b * DATA_PIXELS],
                   &j->data->pixels[data_test_row(first + b) * DATA_PIXELS],
                   DATA_PIXELS * sizeof(float));
        }
        mlp_forward(&j->net, rows);
        for (size_t b = 0; b < rows; b++) {
            right += mlp_class(&j->net, b) == j->data->labels[data_test_row(first + b)];
        }
    }
    return (double)right / (double)count;
}

size_t job_state_bytes(const struct job *j)
{
    size_t bytes = 0;
    for (size_t i = 0; i < MLP_PARAMS; i++) {
        bytes += param_bytes(&j->net.params[i]);
    }
    return bytes;
}
