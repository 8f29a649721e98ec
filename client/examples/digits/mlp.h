/* mlp.h: a perceptron, 64 -> width -> width -> 10, ReLU between, BF16 weights and F32 biases.
 *
 * Everything is summed in a fixed order, so the same state and rows give the same bits. */
#ifndef DIGITS_MLP_H
#define DIGITS_MLP_H

#include "data.h"
#include "param.h"
#include "rng.h"

enum { MLP_LAYERS = 3, MLP_PARAMS = 2 * MLP_LAYERS, MLP_ROWS_MAX = 32 };

struct mlp {
    size_t width;
    struct param params[MLP_PARAMS]; /* weight and bias of each layer */
    /* Of the rows at hand: */
    float *inputs[MLP_LAYERS]; /* rows x inputs of each layer; [0] is filled by the caller */
    float *logits;             /* rows x 10; after mlp_loss, the gradient by them */
    float *delta[2];           /* rows x width: gradients by inputs[1] and inputs[2] */
    float *weight_row;         /* one row of a weight, widened */
};

/* Random weights from `rng`, zero biases. Returns -1 when memory is out. */
int mlp_init(struct mlp *m, size_t width, struct rng *rng);
void mlp_fini(struct mlp *m);

/* inputs[0] -> logits. */
void mlp_forward(struct mlp *m, size_t rows);

/* Sum of the rows' cross entropies; turns the logits into its gradient times `scale`. */
double mlp_loss(struct mlp *m, size_t rows, const uint8_t *labels, float scale);

/* Adds the gradient of every parameter to the pending one; after forward and loss. */
void mlp_backward(struct mlp *m, size_t rows);

/* The class with the greatest logit. */
size_t mlp_class(const struct mlp *m, size_t row);

#endif
