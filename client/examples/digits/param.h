/* param.h: one parameter of the network with everything that training keeps beside it. */
#ifndef DIGITS_PARAM_H
#define DIGITS_PARAM_H

#include <stddef.h>
#include <stdint.h>

struct param {
    const char *path;
    uint64_t id;
    uint32_t rank;
    uint64_t shape[2]; /* a weight: inputs, outputs; a bias: outputs */
    size_t count;
    uint16_t *bf16;  /* the value the network computes with, of a weight */
    float *f32;      /* the value of a bias; the FP32 master copy of a weight */
    float *gradient; /* pending: sum over the window, loss-scaled; zero outside a window */
    float *moment_1;
    float *moment_2;
    float *max_moment_2;
    uint64_t time; /* optimizer steps taken */
};

/* Bytes of everything above. */
size_t param_bytes(const struct param *p);

/* Allocate, all zero, from path, rank and shape. Returns -1 when memory is out. */
int param_init(struct param *p);
void param_fini(struct param *p);

#endif
