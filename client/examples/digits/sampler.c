#include "sampler.h"

#include <stdlib.h>

int sampler_init(struct sampler *s, uint64_t row_count, struct rng *rng)
{
    *s = (struct sampler){ .row_count = row_count, .epoch_key = rng_next(rng) };
    s->order = calloc(row_count, sizeof *s->order);
    if (s->order == NULL) {
        return -1;
    }
    sampler_reorder(s);
    return 0;
}

void sampler_fini(struct sampler *s)
{
    free(s->order);
    s->order = NULL;
}

void sampler_reorder(struct sampler *s)
{
    struct rng shuffle = { .key = s->epoch_key, .counter = 0 };
    for (uint64_t i = 0; i < s->row_count; i++) {
        s->order[i] = (uint32_t)i;
    }
    for (uint64_t i = s->row_count; i > 1; i--) {
        uint64_t j = rng_below(&shuffle, i);
        uint32_t other = s->order[j];
        s->order[j] = s->order[i - 1];
        s->order[i - 1] = other;
    }
}

size_t sampler_next(struct sampler *s, struct rng *rng)
{
    if (s->position >= s->row_count) {
        s->epoch++;
        s->epoch_key = rng_next(rng);
        s->position = 0;
        sampler_reorder(s);
    }
    return s->order[s->position++];
}
