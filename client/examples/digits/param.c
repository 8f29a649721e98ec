#include "param.h"

#include <stdlib.h>

size_t param_bytes(const struct param *p)
{
    return p->count * (5 * sizeof(float) + (p->bf16 != NULL ? sizeof(uint16_t) : 0));
}

int param_init(struct param *p)
{
    p->count = (size_t)(p->rank == 2 ? p->shape[0] * p->shape[1] : p->shape[0]);
    if (p->rank == 2) {
        p->bf16 = calloc(p->count, sizeof *p->bf16);
    }
    float **tensors[] = { &p->f32, &p->gradient, &p->moment_1, &p->moment_2, &p->max_moment_2 };
    int missing = p->rank == 2 && p->bf16 == NULL;
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        *tensors[i] = calloc(p->count, sizeof(float));
        missing |= *tensors[i] == NULL;
    }
    return missing ? -1 : 0;
}

void param_fini(struct param *p)
{
    free(p->bf16);
    free(p->f32);
    free(p->gradient);
    free(p->moment_1);
    free(p->moment_2);
    free(p->max_moment_2);
    *p = (struct param){ 0 };
}
