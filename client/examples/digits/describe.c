#include "describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void
tensors_add(struct tensors *t, struct param *p, const char *path, uint32_t dtype, void *at)
{
    t->at[t->count] = at;
    t->entry[t->count++] = (struct cairn_entry){
        .path = path,
        .id = p->id, /* ties moments and gradients to the parameter, whatever it is called */
        .flags = CAIRN_HAS_ID | CAIRN_TRAINABLE,
        .dtype = dtype,
        .rank = p->rank,
        .shape = p->shape
    };
}

static int tensors_put(void *self, struct cairn_writer *w)
{
    const struct tensors *t = self;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        rc = cairn_put(w, &t->entry[i], t->at[i]);
    }
    return rc;
}

/* Pass 1 of a restore: is everything there, of the right shape? Nothing changes yet. */
static int tensors_fit(void *self, const struct cairn_reader *r)
{
    const struct tensors *t = self;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        rc = cairn_get(r, &t->entry[i], NULL);
    }
    return rc;
}

/* Pass 2: read straight into the trainer's memory, in the order in which it was put. */
static int tensors_get(void *self, const struct cairn_reader *r)
{
    const struct tensors *t = self;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        rc = cairn_get(r, &t->entry[i], t->at[i]);
    }
    return rc;
}

/* The optimizer: its tensors, and how many steps each parameter has seen. */
static int optimizer_put(void *self, struct cairn_writer *w)
{
    struct description *d = self;
    int rc = tensors_put(&d->optimizer, w);
    for (size_t i = 0; rc == 0 && i < MLP_PARAMS; i++) {
        rc = cairn_put_id_u64(w, "time", d->job->net.params[i].id, d->job->net.params[i].time);
    }
    return rc;
}

static int optimizer_fit(void *self, const struct cairn_reader *r)
{
    struct description *d = self;
    uint64_t ignored = 0;
    int rc = tensors_fit(&d->optimizer, r);
    for (size_t i = 0; rc == 0 && i < MLP_PARAMS; i++) {
        rc = cairn_get_id_u64(r, "time", d->job->net.params[i].id, &ignored);
    }
    return rc;
}

static int optimizer_get(void *self, const struct cairn_reader *r)
{
    struct description *d = self;
    int rc = tensors_get(&d->optimizer, r);
    for (size_t i = 0; rc == 0 && i < MLP_PARAMS; i++) {
        rc = cairn_get_id_u64(r, "time", d->job->net.params[i].id, &d->job->net.params[i].time);
    }
    return rc;
}

/* Pending gradients exist inside a window only; outside one there is nothing to put. */
static int gradients_put(void *self, struct cairn_writer *w)
{
    struct description *d = self;
    return d->job->window.microbatches > 0 ? tensors_put(&d->gradients, w) : 0;
}

static bool gradients_recorded(const struct cairn_reader *r)
{
    struct cairn_entry first;
    return cairn_entry_at(r, 0, &first) == 0;
}

static int gradients_fit(void *self, const struct cairn_reader *r)
{
    struct description *d = self;
    return gradients_recorded(r) ? tensors_fit(&d->gradients, r) : 0;
}

static int gradients_get(void *self, const struct cairn_reader *r)
{
    struct description *d = self;
    if (gradients_recorded(r)) {
        return tensors_get(&d->gradients, r);
    }
    for (size_t i = 0; i < MLP_PARAMS; i++) {
        struct param *p = &d->job->net.params[i];
        memset(p->gradient, 0, p->count * sizeof *p->gradient);
    }
    return 0;
}

/* A scheduler is one number, under the name that its kind gives it. */
static int scheduler_put(void *self, struct cairn_writer *w)
{
    const struct sched *s = self;
    return s->kind == SCHED_COSINE ? cairn_put_u64(w, "current_iter", s->current_iter)
                                   : cairn_put_i64(w, "iter_idx", s->iter_idx);
}

static int scheduler_read(const struct cairn_reader *r, struct sched *s)
{
    return s->kind == SCHED_COSINE ? cairn_get_u64(r, "current_iter", &s->current_iter)
                                   : cairn_get_i64(r, "iter_idx", &s->iter_idx);
}

static int scheduler_fit(void *self, const struct cairn_reader *r)
{
    struct sched ignored = *(struct sched *)self;
    return scheduler_read(r, &ignored);
}

static int scheduler_get(void *self, const struct cairn_reader *r)
{
    return scheduler_read(r, self);
}

/* The caller's own state: cairn keeps it and never guesses it. */
enum { STATE_COUNTERS = 7 };

struct counter {
    const char *path;
    uint64_t *value;
};

static void state_counters(struct job *j, struct counter ret[static STATE_COUNTERS])
{
    const struct counter counters[STATE_COUNTERS] = {
        { "updates", &j->updates },
        { "microbatches", &j->microbatches },
        { "rng/key", &j->rng.key },
        { "rng/counter", &j->rng.counter },
        { "sampler/epoch", &j->sampler.epoch },
        { "sampler/epoch_key", &j->sampler.epoch_key },
        { "sampler/position", &j->sampler.position }
    };
    memcpy(ret, counters, sizeof counters);
}

static int state_put(void *self, struct cairn_writer *w)
{
    struct job *j = self;
    struct counter counters[STATE_COUNTERS];
    state_counters(j, counters);
    int rc = cairn_put_f64(w, "loss", j->loss);
    for (size_t i = 0; rc == 0 && i < STATE_COUNTERS; i++) {
        rc = cairn_put_u64(w, counters[i].path, *counters[i].value);
    }
    return rc;
}

static int state_fit(void *self, const struct cairn_reader *r)
{
    struct counter counters[STATE_COUNTERS];
    state_counters(self, counters);
    double loss = 0;
    uint64_t ignored = 0;
    int rc = cairn_get_f64(r, "loss", &loss);
    for (size_t i = 0; rc == 0 && i < STATE_COUNTERS; i++) {
        rc = cairn_get_u64(r, counters[i].path, &ignored);
    }
    return rc;
}

static int state_get(void *self, const struct cairn_reader *r)
{
    struct job *j = self;
    struct counter counters[STATE_COUNTERS];
    state_counters(j, counters);
    int rc = cairn_get_f64(r, "loss", &j->loss);
    for (size_t i = 0; rc == 0 && i < STATE_COUNTERS; i++) {
        rc = cairn_get_u64(r, counters[i].path, counters[i].value);
    }
    sampler_reorder(&j->sampler);
    return rc;
}

/* Storage dtypes, for the dtype record: a restore refuses a model that stores them otherwise. */
static int model_param(void *self, uint64_t index, struct cairn_param *ret)
{
    const struct tensors *t = self;
    if (index >= t->count) {
        return -CAIRN_ENOENT;
    }
    const struct cairn_entry *e = &t->entry[index];
    *ret = (struct cairn_param){
        .id = e->id, .trainable = true, .dtype = e->dtype, .rank = e->rank, .shape = e->shape
    };
    return 0;
}

/* All that decides how the training goes on and is no state: a run that was resumed under another
 * configuration would end in another result and say nothing. The number of updates and how often is
 * saved are free, and the seed has done its work: what it began is in the state. */
static void describe_types(struct description *d)
{
    const struct job *j = d->job;
    (void)snprintf(d->model_type, sizeof d->model_type, "digits-mlp-%zu", j->net.width);
    (void)snprintf(d->state_type,
                   sizeof d->state_type,
                   "digits window=%" PRIu64 " rows=%" PRIu64 " rate=%.17g period=%" PRIu64
                   " data=%016" PRIx64,
                   j->config.microbatches_per_update,
                   j->config.rows_max,
                   j->sched.initial_lr,
                   j->sched.period,
                   data_digest(j->data));
}

/* The lists hold pointers into the job, which never move: made once, used for every capture. */
void describe(struct description *d, struct job *job)
{
    *d = (struct description){ .job = job };
    for (size_t i = 0; i < MLP_PARAMS; i++) {
        struct param *p = &d->job->net.params[i];
        if (p->bf16 != NULL) {
            tensors_add(&d->model, p, p->path, CAIRN_BF16, p->bf16);
            tensors_add(&d->optimizer, p, "master", CAIRN_F32, p->f32);
        } else {
            tensors_add(&d->model, p, p->path, CAIRN_F32, p->f32);
        }
        tensors_add(&d->optimizer, p, "moment_1", CAIRN_F32, p->moment_1);
        tensors_add(&d->optimizer, p, "moment_2", CAIRN_F32, p->moment_2);
        tensors_add(&d->optimizer, p, "max_moment_2", CAIRN_F32, p->max_moment_2);
        tensors_add(&d->gradients, p, "gradient", CAIRN_F32, p->gradient);
    }
    const char *scheduler = d->job->sched.kind == SCHED_COSINE ? "cosine" : "step";
    describe_types(d);
    d->trainer = (struct cairn_trainer){
        .model = { .self = &d->model,
                   .type = d->model_type,
                   .put = tensors_put,
                   .fit = tensors_fit,
                   .get = tensors_get },
        .optimizer = { .self = d,
                       .type = "adamw-amsgrad",
                       .put = optimizer_put,
                       .fit = optimizer_fit,
                       .get = optimizer_get },
        .scheduler = { .self = &d->job->sched,
                       .type = scheduler,
                       .put = scheduler_put,
                       .fit = scheduler_fit,
                       .get = scheduler_get },
        .accumulator = { .self = d,
                         .type = "f32",
                         .put = gradients_put,
                         .fit = gradients_fit,
                         .get = gradients_get },
        .state = { .self = d->job,
                   .type = d->state_type,
                   .put = state_put,
                   .fit = state_fit,
                   .get = state_get },
        .window = &d->job->window,
        .generation = &d->job->microbatches,
        .param = model_param,
    };
}
