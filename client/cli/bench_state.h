/* bench_state.h: a training state to be saved: a model and two moments of an optimizer, a third of
 * the bytes each, as F32 tensors of at most some size, and the number of the step. */
#ifndef CLI_BENCH_STATE_H
#define CLI_BENCH_STATE_H

#include <cairn/training.h>
#include <stddef.h>
#include <stdint.h>

struct bench_tensor {
    char path[32];
    uint64_t shape[1];
    struct cairn_entry entry; /* points to both */
    uint8_t *at;
};

struct bench_state {
    uint8_t *memory; /* page-aligned */
    uint64_t bytes, step;
    struct bench_tensor *tensors; /* the model's, then the optimizer's */
    size_t model_count, count;
    struct cairn_trainer trainer; /* points into this struct */
};

/* Memory as a trainer has it after some steps: huge pages where there are any, touched. NULL with
 * errno. Freed by munmap of as many bytes. */
uint8_t *bench_memory(uint64_t bytes);

/* Returns 0 or -1 with errno; bench_state_fini in both cases. The struct must not be moved. */
int bench_state_init(struct bench_state *s, uint64_t bytes, uint64_t tensor_bytes);
void bench_state_fini(struct bench_state *s);

/* Go on to a step: every page of the state becomes another. */
void bench_state_step(struct bench_state *s, uint64_t step);
/* The same, with all but the last tenth of the state frozen. */
void bench_state_step_frozen(struct bench_state *s, uint64_t step);

#endif
