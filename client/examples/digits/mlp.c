#include "mlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bf16.h"

enum { MLP_LANES = 8 };

static void mlp_widen(size_t n, const uint16_t *restrict from, float *restrict to)
{
    for (size_t j = 0; j < n; j++) {
        to[j] = bf16_widen(from[j]);
    }
}

/* y += a * x */
static void mlp_add_scaled(size_t n, float a, const float *restrict x, float *restrict y)
{
    for (size_t j = 0; j < n; j++) {
        y[j] += a * x[j];
    }
}

/* In eight lanes, then the lanes in order: fast without leaving the summation order to a compiler.
 */
static float mlp_dot(size_t n, const float *restrict x, const float *restrict y)
{
    float lanes[MLP_LANES] = { 0 };
    size_t j = 0;
    for (; j + MLP_LANES <= n; j += MLP_LANES) {
        for (size_t k = 0; k < MLP_LANES; k++) {
            lanes[k] += x[j + k] * y[j + k];
        }
    }
    float sum = 0;
    for (; j < n; j++) {
        sum += x[j] * y[j];
    }
    for (size_t k = 0; k < MLP_LANES; k++) {
        sum += lanes[k];
    }
    return sum;
}

/* What input i of every row adds to the outputs; an input of zero adds nothing. */
static void mlp_input_forward(struct mlp *m, size_t layer, size_t rows, size_t i, float *out)
{
    const struct param *weight = &m->params[2 * layer];
    size_t inputs = weight->shape[0];
    size_t outputs = weight->shape[1];
    mlp_widen(outputs, &weight->bf16[i * outputs], m->weight_row);
    for (size_t b = 0; b < rows; b++) {
        float x = m->inputs[layer][b * inputs + i];
        if (x != 0) {
            mlp_add_scaled(outputs, x, m->weight_row, &out[b * outputs]);
        }
    }
}

/* out = in * weight + bias, a row of the weight at a time: it is read once for all rows. */
static void mlp_layer_forward(struct mlp *m, size_t layer, size_t rows, float *out)
{
    const struct param *bias = &m->params[2 * layer + 1];
    for (size_t b = 0; b < rows; b++) {
        memcpy(&out[b * bias->count], bias->f32, bias->count * sizeof *out);
    }
    for (size_t i = 0; i < m->params[2 * layer].shape[0]; i++) {
        mlp_input_forward(m, layer, rows, i, out);
    }
}

static void mlp_relu(size_t n, float *x)
{
    for (size_t j = 0; j < n; j++) {
        x[j] = x[j] > 0 ? x[j] : 0;
    }
}

void mlp_forward(struct mlp *m, size_t rows)
{
    for (size_t layer = 0; layer + 1 < MLP_LAYERS; layer++) {
        mlp_layer_forward(m, layer, rows, m->inputs[layer + 1]);
        mlp_relu(rows * m->width, m->inputs[layer + 1]);
    }
    mlp_layer_forward(m, MLP_LAYERS - 1, rows, m->logits);
}

size_t mlp_class(const struct mlp *m, size_t row)
{
    const float *z = &m->logits[row * DATA_CLASSES];
    size_t best = 0;
    for (size_t k = 1; k < DATA_CLASSES; k++) {
        best = z[k] > z[best] ? k : best;
    }
    return best;
}

double mlp_loss(struct mlp *m, size_t rows, const uint8_t *labels, float scale)
{
    double loss = 0;
    for (size_t b = 0; b < rows; b++) {
        float *z = &m->logits[b * DATA_CLASSES];
        double greatest = z[mlp_class(m, b)];
        double wanted = z[labels[b]];
        double power[DATA_CLASSES];
        double sum = 0;
        for (size_t k = 0; k < DATA_CLASSES; k++) {
            power[k] = exp((double)z[k] - greatest);
            sum += power[k];
        }
        loss += log(sum) + greatest - wanted;
        for (size_t k = 0; k < DATA_CLASSES; k++) {
            double target = k == labels[b] ? 1.0 : 0.0;
            z[k] = (float)(power[k] / sum - target) * scale;
        }
    }
    return loss;
}

/* The gradient by the weights of input i. */
static void
mlp_input_gradient(struct mlp *m, size_t layer, size_t rows, size_t i, const float *delta)
{
    struct param *weight = &m->params[2 * layer];
    size_t inputs = weight->shape[0];
    size_t outputs = weight->shape[1];
    for (size_t b = 0; b < rows; b++) {
        float x = m->inputs[layer][b * inputs + i];
        if (x != 0) {
            mlp_add_scaled(outputs, x, &delta[b * outputs], &weight->gradient[i * outputs]);
        }
    }
}

/* The gradient by input i of every row; it comes out of a ReLU: none where it is zero. */
static void mlp_input_delta(struct mlp *m, size_t layer, size_t rows, size_t i, const float *delta)
{
    const struct param *weight = &m->params[2 * layer];
    size_t inputs = weight->shape[0];
    size_t outputs = weight->shape[1];
    float *back = m->delta[layer - 1];
    mlp_widen(outputs, &weight->bf16[i * outputs], m->weight_row);
    for (size_t b = 0; b < rows; b++) {
        float x = m->inputs[layer][b * inputs + i];
        back[b * inputs + i] = x != 0 ? mlp_dot(outputs, m->weight_row, &delta[b * outputs]) : 0;
    }
}

/* From `delta`, the gradient by the layer's outputs; leaves the next one in m->delta. */
static void mlp_layer_backward(struct mlp *m, size_t layer, size_t rows, const float *delta)
{
    struct param *bias = &m->params[2 * layer + 1];
    for (size_t b = 0; b < rows; b++) {
        mlp_add_scaled(bias->count, 1.0F, &delta[b * bias->count], bias->gradient);
    }
    for (size_t i = 0; i < m->params[2 * layer].shape[0]; i++) {
        mlp_input_gradient(m, layer, rows, i, delta);
        if (layer > 0) {
            mlp_input_delta(m, layer, rows, i, delta);
        }
    }
}

void mlp_backward(struct mlp *m, size_t rows)
{
    mlp_layer_backward(m, 2, rows, m->logits);
    mlp_layer_backward(m, 1, rows, m->delta[1]);
    mlp_layer_backward(m, 0, rows, m->delta[0]);
}

/* Uniform in +-sqrt(6 / inputs), which keeps the size of activations from layer to layer. */
static void mlp_fill(struct param *weight, struct rng *rng)
{
    float range = sqrtf(6.0F / (float)weight->shape[0]);
    for (size_t i = 0; i < weight->count; i++) {
        weight->f32[i] = range * rng_signed_unit(rng);
        weight->bf16[i] = bf16_round(weight->f32[i]);
    }
}

static int mlp_params(struct mlp *m, struct rng *rng)
{
    static const char *const paths[MLP_PARAMS] = { "layer1.weight", "layer1.bias",
                                                   "layer2.weight", "layer2.bias",
                                                   "layer3.weight", "layer3.bias" };
    const size_t sizes[MLP_LAYERS + 1] = { DATA_PIXELS, m->width, m->width, DATA_CLASSES };
    for (size_t i = 0; i < MLP_PARAMS; i++) {
        struct param *p = &m->params[i];
        size_t outputs = sizes[i / 2 + 1];
        int is_weight = i % 2 == 0;
        *p = (struct param){ .path = paths[i],
                             .id = i + 1,
                             .rank = is_weight ? 2 : 1,
                             .shape = { is_weight ? sizes[i / 2] : outputs,
                                        is_weight ? outputs : 0 } };
        if (param_init(p) < 0) {
            return -1;
        }
        if (is_weight) {
            mlp_fill(p, rng);
        }
    }
    return 0;
}

static int mlp_rows(float **ret, size_t columns)
{
    *ret = calloc(MLP_ROWS_MAX * columns, sizeof **ret);
    return *ret == NULL ? -1 : 0;
}

int mlp_init(struct mlp *m, size_t width, struct rng *rng)
{
    *m = (struct mlp){ .width = width };
    m->weight_row = calloc(width > DATA_CLASSES ? width : DATA_CLASSES, sizeof(float));
    if (m->weight_row == NULL || mlp_rows(&m->inputs[0], DATA_PIXELS) < 0 ||
        mlp_rows(&m->inputs[1], width) < 0 || mlp_rows(&m->inputs[2], width) < 0 ||
        mlp_rows(&m->logits, DATA_CLASSES) < 0 || mlp_rows(&m->delta[0], width) < 0 ||
        mlp_rows(&m->delta[1], width) < 0) {
        return -1;
    }
    return mlp_params(m, rng);
}

void mlp_fini(struct mlp *m)
{
    for (size_t i = 0; i < MLP_PARAMS; i++) {
        param_fini(&m->params[i]);
    }
    for (size_t i = 0; i < MLP_LAYERS; i++) {
        free(m->inputs[i]);
    }
    free(m->logits);
    free(m->delta[0]);
    free(m->delta[1]);
    free(m->weight_row);
    *m = (struct mlp){ 0 };
}
