/* job.c: the trainer of the library's tests. */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bytes_fill(uint8_t *to, uint64_t bytes, uint64_t seed)
{
    uint64_t x = seed * 2654435761u + 88172645463325252u;
    for (uint64_t i = 0; i < bytes; i += sizeof x) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(to + i, &x, bytes - i < sizeof x ? bytes - i : sizeof x);
    }
}

static void job_note(struct job *j, char what, char letter)
{
    size_t at = strlen(j->log);
    (void)snprintf(j->log + at, sizeof j->log - at, "%s%c%c", at == 0 ? "" : " ", what, letter);
}

static int box_put_slot(struct box *b, struct cairn_writer *w, const struct tensor *t)
{
    struct cairn_slot slot;
    int rc = cairn_put_slot(w, &t->entry, &slot);
    if (rc < 0) {
        return rc;
    }
    if (b->leave_open) {
        if (b->job->open_count == JOB_SLOTS) {
            return -CAIRN_ELIMIT;
        }
        b->job->open[b->job->open_count++] = (struct open_slot){ slot, t };
        return 0;
    }
    if (t->bytes > 0) {
        memcpy(slot.dst, t->data, t->bytes);
    }
    return cairn_slot_done(b->job->c, &slot, 0);
}

int job_fill_slot(const struct job *j, size_t index)
{
    const struct open_slot *o = &j->open[index];
    if (o->tensor->bytes > 0) {
        memcpy(o->slot.dst, o->tensor->data, o->tensor->bytes);
    }
    return cairn_slot_done(j->c, &o->slot, 0);
}

static int box_put(void *self, struct cairn_writer *w)
{
    struct box *b = self;
    job_note(b->job, 'P', b->letter);
    if (b->during_put != NULL) {
        b->during_put(b->job, w);
    }
    int rc = cairn_put_u64(w, "counter", b->counter);
    for (size_t i = 0; rc == 0 && i < b->count; i++) {
        const struct tensor *t = b->tensors[i];
        rc = t->by_slot ? box_put_slot(b, w, t) : cairn_put(w, &t->entry, t->data);
    }
    return rc < 0 ? rc : b->put_rc;
}

static int box_fit(void *self, const struct cairn_reader *r)
{
    struct box *b = self;
    job_note(b->job, 'F', b->letter);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < b->count; i++) {
        rc = cairn_get(r, &b->tensors[i]->entry, NULL);
    }
    return rc < 0 ? rc : b->fit_rc;
}

static int box_get(void *self, const struct cairn_reader *r)
{
    struct box *b = self;
    job_note(b->job, 'G', b->letter);
    int rc = cairn_get_u64(r, "counter", &b->counter);
    for (size_t i = 0; rc == 0 && i < b->count; i++) {
        rc = cairn_get(r, &b->tensors[i]->entry, b->tensors[i]->data);
    }
    return rc < 0 ? rc : b->get_rc;
}

static int job_param(void *model, uint64_t index, struct cairn_param *ret)
{
    struct job *j = ((struct box *)model)->job;
    if (index >= j->param_count) {
        return -CAIRN_ENOENT;
    }
    if (index == 0) {
        job_note(j, 'W', 'm');
    }
    *ret = j->params[index];
    return 0;
}

static int job_retype(void *model, const struct cairn_param *p)
{
    struct job *j = ((struct box *)model)->job;
    job_note(j, 'R', (char)('0' + p->id % 10));
    for (size_t i = 0; i < j->param_count; i++) {
        if (j->params[i].id == p->id && j->params[i].trainable == p->trainable) {
            j->params[i].dtype = p->dtype; /* tied: all of them */
        }
    }
    return j->retype_rc;
}

static void box_init(struct job *j, struct box *b, char letter, struct cairn_component *component)
{
    static const char types[] = "g\0m\0o\0s\0u";
    *b = (struct box){ .job = j, .letter = letter };
    *component = (struct cairn_component){ .self = b,
                                           .type = memchr(types, letter, sizeof types),
                                           .put = box_put,
                                           .fit = box_fit,
                                           .get = box_get };
}

void job_init(struct job *j)
{
    *j = (struct job){ .window = { .dtype = CAIRN_F32, .loss_scale = 1.0 } };
    box_init(j, &j->gradients, 'g', &j->t.accumulator);
    box_init(j, &j->model, 'm', &j->t.model);
    box_init(j, &j->optimizer, 'o', &j->t.optimizer);
    box_init(j, &j->scheduler, 's', &j->t.scheduler);
    box_init(j, &j->state, 'u', &j->t.state);
    j->t.window = &j->window;
    j->t.generation = &j->generation;
    j->t.param = job_param;
    j->t.retype = job_retype;
}

static struct box *job_box(struct job *j, int index)
{
    struct box *boxes[] = { &j->gradients, &j->model, &j->optimizer, &j->scheduler, &j->state };
    return boxes[index];
}

void job_fini(struct job *j)
{
    for (int k = 0; k < 5; k++) {
        struct box *b = job_box(j, k);
        for (size_t i = 0; i < b->count; i++) {
            free(b->tensors[i]->path);
            free(b->tensors[i]->data);
            free(b->tensors[i]);
        }
        free(b->tensors);
        b->tensors = NULL;
        b->count = 0;
    }
}

static uint64_t tensor_bytes(uint32_t dtype, uint32_t rank, const uint64_t *shape)
{
    uint64_t elements = 1;
    for (uint32_t i = 0; i < rank; i++) {
        elements *= shape[i];
    }
    return (elements * cairn_dtype_bits(dtype) + 7) / 8;
}

struct tensor *box_add(struct box *b, const struct cairn_entry *e, uint64_t seed)
{
    struct tensor *t = calloc(1, sizeof *t);
    if ((b->count & (b->count - 1)) == 0) { /* 0, 1, 2, 4, ...: double the room */
        b->tensors = realloc(b->tensors, (b->count * 2 + 1) * sizeof(struct tensor *));
    }
    b->tensors[b->count++] = t;
    t->path = strdup(e->path);
    for (uint32_t i = 0; i < e->rank; i++) {
        t->shape[i] = e->shape[i];
    }
    t->bytes = tensor_bytes(e->dtype, e->rank, e->shape);
    t->data = calloc(t->bytes + 1, 1);
    bytes_fill(t->data, t->bytes, seed);
    for (uint64_t i = 0; e->dtype == CAIRN_BOOL && i < t->bytes; i++) {
        t->data[i] &= 1;
    }
    t->entry = *e;
    t->entry.path = t->path;
    t->entry.shape = t->shape;
    return t;
}

struct tensor *box_add_raw(struct box *b, const struct cairn_entry *e, uint64_t bytes)
{
    struct tensor *t = box_add(b, e, 0);
    free(t->data);
    t->data = malloc(bytes);
    t->bytes = bytes;
    t->entry.bytes = bytes;
    bytes_fill(t->data, bytes, e->dtype);
    return t;
}

struct tensor *box_add_opaque(struct box *b, const char *path, uint32_t dtype, uint64_t bytes)
{
    static const struct cairn_quant scheme = { .value = CAIRN_Q8S,
                                               .store = CAIRN_QUANT_NATIVE,
                                               .mode = CAIRN_QUANT_SYMMETRIC,
                                               .global_dtype = CAIRN_F32 };
    bool quant = dtype == CAIRN_QFLOAT;
    const struct cairn_entry e = {
        .path = path, .dtype = dtype, .rank = 1, .shape = &bytes, .quant = quant ? &scheme : NULL
    };
    return box_add_raw(b, &e, bytes + (quant ? sizeof(float) : 0)); /* its scale */
}

struct tensor *box_add_quant(struct box *b,
                             const char *path,
                             const struct cairn_quant *scheme,
                             uint32_t rank,
                             const uint64_t *shape)
{
    struct cairn_quant_bytes r = { 0 };
    const struct cairn_entry e = {
        .path = path, .dtype = CAIRN_QFLOAT, .rank = rank, .shape = shape, .quant = scheme
    };
    if (cairn_quant_lengths(scheme, rank, shape, &r) != 0) {
        abort();
    }
    return box_add_raw(b, &e, r.values + r.block_scales + r.global_scale);
}

void job_fill(struct job *j, uint64_t seed)
{
    static const uint64_t weight[] = { 64, 10 };
    static const uint64_t bias[] = { 10 };
    static const uint64_t table[] = { 200, 300 };
    const uint32_t both = CAIRN_HAS_ID | CAIRN_TRAINABLE;
    (void)BOX_ADD(&j->model, "fc.weight", 7, both, CAIRN_F32, 2, weight, seed + 1);
    (void)BOX_ADD(&j->model, "fc.bias", 8, both, CAIRN_BF16, 1, bias, seed + 2);
    (void)BOX_ADD(&j->model, "table", 9, CAIRN_HAS_ID, CAIRN_F16, 2, table, seed + 3);
    (void)BOX_ADD(&j->gradients, "weight", 7, CAIRN_HAS_ID, CAIRN_F32, 2, weight, seed + 4);
    (void)BOX_ADD(&j->optimizer, "moment_1", 7, CAIRN_HAS_ID, CAIRN_F32, 2, weight, seed + 5);
    (void)BOX_ADD(&j->optimizer, "moment_2", 7, CAIRN_HAS_ID, CAIRN_F32, 2, weight, seed + 6);
    j->scheduler.counter = seed + 7;
    j->state.counter = seed + 8;
    j->window = (struct cairn_window){
        .dtype = CAIRN_F32, .loss_scale = 16, .total_weight = 5, .microbatches = 3
    };
    j->params[0] = (struct cairn_param){ 7, true, CAIRN_F32, 2, weight };
    j->params[1] = (struct cairn_param){ 8, true, CAIRN_BF16, 1, bias };
    j->params[2] = (struct cairn_param){ 9, false, CAIRN_F16, 2, table };
    j->param_count = 3;
}

void job_like(struct job *j, const struct job *other)
{
    struct job from = *other;
    job_init(j);
    for (int k = 0; k < 5; k++) {
        const struct box *b = job_box(&from, k);
        for (size_t i = 0; i < b->count; i++) {
            const struct cairn_entry *e = &b->tensors[i]->entry;
            if (cairn_dtype_bits(e->dtype) == 0) {
                struct tensor *t = box_add_raw(job_box(j, k), e, b->tensors[i]->bytes);
                memset(t->data, 0xee, t->bytes);
                continue;
            }
            (void)BOX_ADD(
                job_box(j, k), e->path, e->id, e->flags, e->dtype, e->rank, e->shape, 999 + i);
        }
    }
    memcpy(j->params, other->params, sizeof j->params);
    j->param_count = other->param_count;
    j->window.microbatches = 77;
}

bool same_bits(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

const char *job_differs(const struct job *a, const struct job *b)
{
    static char text[128];
    struct job x = *a;
    struct job y = *b;
    for (int k = 0; k < 5; k++) {
        const struct box *p = job_box(&x, k);
        const struct box *q = job_box(&y, k);
        if (p->counter != q->counter) {
            (void)snprintf(text, sizeof text, "%c: counter", p->letter);
            return text;
        }
        for (size_t i = 0; i < p->count; i++) {
            if (i >= q->count || p->tensors[i]->bytes != q->tensors[i]->bytes ||
                memcmp(p->tensors[i]->data, q->tensors[i]->data, p->tensors[i]->bytes) != 0) {
                (void)snprintf(text, sizeof text, "%c: %.80s", p->letter, p->tensors[i]->path);
                return text;
            }
        }
    }
    return NULL;
}
