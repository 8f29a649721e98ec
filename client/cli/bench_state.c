#include "bench_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STATE_PAGE_BYTES 4096u

uint8_t *bench_memory(uint64_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(at, bytes, MADV_HUGEPAGE);
    memset(at, 1, bytes);
    return at;
}

/* ---- components ---- */

static int state_put(const struct bench_tensor *t, size_t count, struct cairn_writer *w)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = cairn_put(w, &t[i].entry, t[i].at);
    }
    return rc;
}

static int
state_get(const struct bench_tensor *t, size_t count, const struct cairn_reader *r, bool read)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = cairn_get(r, &t[i].entry, read ? t[i].at : NULL);
    }
    return rc;
}

static int state_put_model(void *self, struct cairn_writer *w)
{
    const struct bench_state *s = self;
    return state_put(s->tensors, s->model_count, w);
}

static int state_fit_model(void *self, const struct cairn_reader *r)
{
    const struct bench_state *s = self;
    return state_get(s->tensors, s->model_count, r, false);
}

static int state_get_model(void *self, const struct cairn_reader *r)
{
    const struct bench_state *s = self;
    return state_get(s->tensors, s->model_count, r, true);
}

static int state_put_optimizer(void *self, struct cairn_writer *w)
{
    const struct bench_state *s = self;
    return state_put(s->tensors + s->model_count, s->count - s->model_count, w);
}

static int state_fit_optimizer(void *self, const struct cairn_reader *r)
{
    const struct bench_state *s = self;
    return state_get(s->tensors + s->model_count, s->count - s->model_count, r, false);
}

static int state_get_optimizer(void *self, const struct cairn_reader *r)
{
    const struct bench_state *s = self;
    return state_get(s->tensors + s->model_count, s->count - s->model_count, r, true);
}

static int state_put_step(void *self, struct cairn_writer *w)
{
    const struct bench_state *s = self;
    return cairn_put_u64(w, "step", s->step);
}

static int state_get_step(void *self, const struct cairn_reader *r)
{
    struct bench_state *s = self;
    return cairn_get_u64(r, "step", &s->step);
}

/* ---- memory ---- */

/* Cuts one part of the memory into tensors; an optimizer's have the ids of the model's. moment
 * NULL: the model. */
static void state_cut(
    struct bench_state *s, uint8_t *at, uint64_t bytes, uint64_t tensor_bytes, const char *moment)
{
    for (uint64_t i = 0; i * tensor_bytes < bytes; i++) {
        struct bench_tensor *t = &s->tensors[s->count++];
        uint64_t left = bytes - i * tensor_bytes;
        t->at = at + i * tensor_bytes;
        t->shape[0] = (left < tensor_bytes ? left : tensor_bytes) / sizeof(float);
        t->entry = (struct cairn_entry){ .path = t->path,
                                         .id = i + 1,
                                         .flags = CAIRN_HAS_ID,
                                         .dtype = CAIRN_F32,
                                         .rank = 1,
                                         .shape = t->shape };
        if (moment != NULL) {
            (void)snprintf(t->path, sizeof t->path, "%s", moment);
        } else {
            t->entry.flags |= CAIRN_TRAINABLE;
            (void)snprintf(t->path, sizeof t->path, "layers.%llu.weight", (unsigned long long)i);
        }
    }
}

/* Numbers without a pattern, all finite: the bit whose absence keeps an exponent small is taken
 * out of both halves of each word. */
static void state_fill(struct bench_state *s)
{
    uint64_t *words = (uint64_t *)(void *)s->memory;
    uint64_t x = UINT64_C(0x9E3779B97F4A7C15);
    for (uint64_t i = 0; i < s->bytes / sizeof *words; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        words[i] = x & UINT64_C(0xBFFFFFFFBFFFFFFF);
    }
}

int bench_state_init(struct bench_state *s, uint64_t bytes, uint64_t tensor_bytes)
{
    *s = (struct bench_state){ .bytes = bytes };
    uint64_t align_bytes = tensor_bytes < STATE_PAGE_BYTES ? tensor_bytes : STATE_PAGE_BYTES;
    uint64_t moment_bytes = bytes / 3 / align_bytes * align_bytes;
    uint64_t model_bytes = bytes - 2 * moment_bytes;
    s->memory = bench_memory(bytes);
    s->tensors = calloc(bytes / tensor_bytes + 3, sizeof *s->tensors);
    if (s->memory == NULL || s->tensors == NULL) {
        return -1;
    }
    state_fill(s);
    state_cut(s, s->memory, model_bytes, tensor_bytes, NULL);
    s->model_count = s->count;
    state_cut(s, s->memory + model_bytes, moment_bytes, tensor_bytes, "exp_avg");
    state_cut(s, s->memory + model_bytes + moment_bytes, moment_bytes, tensor_bytes, "exp_avg_sq");
    s->trainer = (struct cairn_trainer){
        .model = { s, "bench", state_put_model, state_fit_model, state_get_model, NULL },
        .optimizer = { s,
                       "adam",
                       state_put_optimizer,
                       state_fit_optimizer,
                       state_get_optimizer,
                       NULL },
        .state = { s, "", state_put_step, NULL, state_get_step, NULL },
    };
    return 0;
}

void bench_state_fini(struct bench_state *s)
{
    if (s->memory != NULL) {
        (void)munmap(s->memory, s->bytes);
    }
    free(s->tensors);
    *s = (struct bench_state){ 0 };
}

static void state_step_from(struct bench_state *s, uint64_t step, uint64_t from)
{
    s->step = step;
    for (uint64_t at = from; at < s->bytes; at += STATE_PAGE_BYTES) {
        uint32_t *word = (uint32_t *)(void *)(s->memory + at);
        *word = (uint32_t)step << 8 ^ (uint32_t)(at / STATE_PAGE_BYTES & 0xffu);
    }
}

void bench_state_step(struct bench_state *s, uint64_t step)
{
    state_step_from(s, step, 0);
}

void bench_state_step_frozen(struct bench_state *s, uint64_t step)
{
    state_step_from(s, step, s->bytes / 10 * 9 / STATE_PAGE_BYTES * STATE_PAGE_BYTES);
}
