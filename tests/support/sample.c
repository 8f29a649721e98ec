#include "support/sample.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static int sample_put_tensors(const struct sample_tensors *t, struct cairn_writer *w)
{
    char path[32];
    uint64_t shape[1] = { t->tensor_bytes / 4 };
    struct cairn_entry e = { .path = path, .dtype = CAIRN_F32, .rank = 1, .shape = shape };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        (void)snprintf(path, sizeof path, "layer.%zu", i);
        rc = cairn_put(w, &e, t->at + i * t->tensor_bytes);
    }
    return rc;
}

static int sample_get_tensors(const struct sample_tensors *t, const struct cairn_reader *r)
{
    char path[32];
    uint64_t shape[1] = { t->tensor_bytes / 4 };
    struct cairn_entry e = { .path = path, .dtype = CAIRN_F32, .rank = 1, .shape = shape };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        (void)snprintf(path, sizeof path, "layer.%zu", i);
        rc = cairn_get(r, &e, t->at + i * t->tensor_bytes);
    }
    return rc;
}

static int sample_put(void *self, struct cairn_writer *w)
{
    return sample_put_tensors(self, w);
}

static int sample_get(void *self, const struct cairn_reader *r)
{
    return sample_get_tensors(self, r);
}

static int sample_put_seed(void *self, struct cairn_writer *w)
{
    return cairn_put_u64(w, "seed", *(const uint64_t *)self);
}

static int sample_get_seed(void *self, const struct cairn_reader *r)
{
    return cairn_get_u64(r, "seed", self);
}

void sample_init(struct sample *s, struct sample_tensors model, struct sample_tensors optimizer)
{
    uint64_t model_bytes = model.count * model.tensor_bytes;
    *s = (struct sample){ .model = model, .optimizer = optimizer };
    s->memory_bytes = model_bytes + optimizer.count * optimizer.tensor_bytes;
    s->memory =
        mmap(NULL, s->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(s->memory != MAP_FAILED);
    s->model.at = s->memory;
    s->optimizer.at = s->memory + model_bytes;
    s->trainer = (struct cairn_trainer){
        .model = { .self = &s->model, .put = sample_put, .get = sample_get },
        .optimizer = { .self = &s->optimizer, .put = sample_put, .get = sample_get },
        .scheduler = { .self = &s->seed, .put = sample_put_seed, .get = sample_get_seed },
    };
}

void sample_fini(struct sample *s)
{
    (void)munmap(s->memory, s->memory_bytes);
}

/* The i-th word of what a seed makes: no run of equal words, no two seeds alike. */
static uint64_t sample_word(uint64_t seed, uint64_t i)
{
    uint64_t x = (i + 1) * UINT64_C(0x9E3779B97F4A7C15) + seed * UINT64_C(0xD1342543DE82EF95);
    x ^= x >> 32;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    return x ^ (x >> 29);
}

void sample_fill(struct sample *s, uint64_t seed)
{
    uint64_t *words = (uint64_t *)(void *)s->memory;
    for (uint64_t i = 0; i < s->memory_bytes / 8; i++) {
        words[i] = sample_word(seed, i);
    }
    s->seed = seed;
}

void sample_clear(struct sample *s)
{
    memset(s->memory, 0, s->memory_bytes);
    s->seed = 0;
}

bool sample_is(const struct sample *s, uint64_t seed)
{
    const uint64_t *words = (const uint64_t *)(const void *)s->memory;
    uint64_t count = s->memory_bytes / 8;
    uint64_t bad = 0;
    uint64_t first = count;
    for (uint64_t i = 0; i < count; i++) {
        if (words[i] != sample_word(seed, i)) {
            first = bad == 0 ? i : first;
            bad++;
        }
    }
    if (bad != 0 || s->seed != seed) {
        (void)fprintf(stderr,
                      "sample: seed %" PRIu64 ", expected %" PRIu64 "; %" PRIu64 " of %" PRIu64
                      " words differ, the first is at byte %" PRIu64 "\n",
                      s->seed,
                      seed,
                      bad,
                      count,
                      first * 8);
        return false;
    }
    return true;
}

int sample_save(struct sample *s, struct cairn *c, struct cairn_boundary *ret)
{
    struct cairn_record *record = NULL;
    struct cairn_save_args args = { .step = s->seed };
    int rc = cairn_capture(c, &s->trainer, &record);
    if (rc == 0) {
        rc = cairn_save(c, &record, &args, ret);
    }
    cairn_record_free(record);
    return rc;
}

int sample_load(struct sample *s, struct cairn *c, const char *selector)
{
    struct cairn_record *record = NULL;
    int rc = cairn_load(c, selector, 0, &record);
    if (rc == 0) {
        rc = cairn_restore(c, record, &s->trainer);
    }
    cairn_record_free(record);
    return rc;
}
