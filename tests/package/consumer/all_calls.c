/* all_calls.c: every capture, save, load, and the restore that belongs to it, once there and back,
 * as a program that has nothing but the installed headers. Each restore looks at every entry of all
 * five components before it reads the first. Needs a daemon ($CAIRN_SOCKET). */
#include <cairn/training.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define COUNT 4

enum part { GRADIENTS, MODEL, OPTIMIZER, SCHEDULER, STATE, PARTS };

/* How often a restore asked, and how many entries `fit` was shown. */
struct asked {
    unsigned fits[PARTS], entries[PARTS], gets[PARTS];
    bool early; /* a `get` before all had been asked whether they fit, or a `fit` behind it */
};

struct job {
    struct cairn *c; /* for slots */
    struct asked asked;
    float weight[COUNT], gradient[COUNT], moment[COUNT];
    uint64_t schedule, step;
    struct cairn_window window;
};

static const uint64_t shape[] = { COUNT };

static struct cairn_entry tensor(const char *path, uint32_t flags)
{
    return (struct cairn_entry){
        .path = path, .id = 7, .flags = flags, .dtype = CAIRN_F32, .rank = 1, .shape = shape
    };
}

/* ---- what a restore asks ---- */

static unsigned sum(const unsigned counts[PARTS])
{
    unsigned all = 0;
    for (int i = 0; i < PARTS; i++) {
        all += counts[i];
    }
    return all;
}

/* Every entry is looked at, the one that belongs there by its key. */
static int fit(struct job *job, enum part part, const struct cairn_reader *r, const char *path)
{
    struct cairn_entry e;
    bool found = false;
    int rc = 0;
    for (uint64_t i = 0; (rc = cairn_entry_at(r, i, &e)) == 0; i++) {
        job->asked.entries[part]++;
        found = found || strcmp(e.path, path) == 0;
    }
    job->asked.fits[part]++;
    job->asked.early = job->asked.early || sum(job->asked.gets) > 0;
    return rc != -CAIRN_ENOENT ? rc : found ? 0 : -CAIRN_EMISMATCH;
}

static int fit_tensor(struct job *job,
                      enum part part,
                      const struct cairn_reader *r,
                      const struct cairn_entry *e)
{
    int rc = fit(job, part, r, e->path);
    return rc < 0 ? rc : cairn_get(r, e, NULL);
}

static int fit_step(struct job *job, enum part part, const struct cairn_reader *r)
{
    uint64_t step = 0;
    int rc = fit(job, part, r, "step");
    return rc < 0 ? rc : cairn_get_u64(r, "step", &step);
}

static struct job *getting(void *self, enum part part)
{
    struct job *job = self;
    job->asked.gets[part]++;
    for (int i = 0; i < PARTS; i++) {
        job->asked.early = job->asked.early || job->asked.fits[i] == 0;
    }
    return job;
}

/* Each component was asked once, and has the one entry that was put into it. */
static bool asked_once(const struct asked *a)
{
    for (int i = 0; i < PARTS; i++) {
        if (a->fits[i] != 1 || a->entries[i] != 1 || a->gets[i] != 1) {
            return false;
        }
    }
    return !a->early;
}

/* ---- the components ---- */

static int model_put(void *self, struct cairn_writer *w)
{
    const struct job *job = self;
    struct cairn_entry e = tensor("weight", CAIRN_HAS_ID | CAIRN_TRAINABLE);
    return cairn_put(w, &e, job->weight);
}

static int model_fit(void *self, const struct cairn_reader *r)
{
    struct cairn_entry e = tensor("weight", CAIRN_HAS_ID | CAIRN_TRAINABLE);
    return fit_tensor(self, MODEL, r, &e);
}

static int model_get(void *self, const struct cairn_reader *r)
{
    struct job *job = getting(self, MODEL);
    struct cairn_entry e = tensor("weight", CAIRN_HAS_ID | CAIRN_TRAINABLE);
    return cairn_get(r, &e, job->weight);
}

/* As a device copy would be: the place first, the bytes by themselves. */
static int gradients_put(void *self, struct cairn_writer *w)
{
    const struct job *job = self;
    struct cairn_entry e = tensor("gradient", CAIRN_HAS_ID);
    struct cairn_slot slot;
    int rc = cairn_put_slot(w, &e, &slot);
    if (rc == 0) {
        memcpy(slot.dst, job->gradient, slot.dst_bytes);
        rc = cairn_slot_done(job->c, &slot, 0);
    }
    return rc;
}

static int gradients_fit(void *self, const struct cairn_reader *r)
{
    struct cairn_entry e = tensor("gradient", CAIRN_HAS_ID);
    return fit_tensor(self, GRADIENTS, r, &e);
}

static int gradients_get(void *self, const struct cairn_reader *r)
{
    struct job *job = getting(self, GRADIENTS);
    struct cairn_entry e = tensor("gradient", CAIRN_HAS_ID);
    return cairn_get(r, &e, job->gradient);
}

static int optimizer_put(void *self, struct cairn_writer *w)
{
    const struct job *job = self;
    struct cairn_entry e = tensor("moment_1", CAIRN_HAS_ID);
    return cairn_put(w, &e, job->moment);
}

static int optimizer_fit(void *self, const struct cairn_reader *r)
{
    struct cairn_entry e = tensor("moment_1", CAIRN_HAS_ID);
    return fit_tensor(self, OPTIMIZER, r, &e);
}

static int optimizer_get(void *self, const struct cairn_reader *r)
{
    struct job *job = getting(self, OPTIMIZER);
    struct cairn_entry e = tensor("moment_1", CAIRN_HAS_ID);
    return cairn_get(r, &e, job->moment);
}

static int scheduler_put(void *self, struct cairn_writer *w)
{
    return cairn_put_u64(w, "step", ((const struct job *)self)->schedule);
}

static int scheduler_fit(void *self, const struct cairn_reader *r)
{
    return fit_step(self, SCHEDULER, r);
}

static int scheduler_get(void *self, const struct cairn_reader *r)
{
    return cairn_get_u64(r, "step", &getting(self, SCHEDULER)->schedule);
}

static int state_put(void *self, struct cairn_writer *w)
{
    return cairn_put_u64(w, "step", ((const struct job *)self)->step);
}

static int state_fit(void *self, const struct cairn_reader *r)
{
    return fit_step(self, STATE, r);
}

static int state_get(void *self, const struct cairn_reader *r)
{
    return cairn_get_u64(r, "step", &getting(self, STATE)->step);
}

static int param(void *model, uint64_t index, struct cairn_param *ret)
{
    (void)model;
    *ret = (struct cairn_param){ 7, true, CAIRN_F32, 1, shape };
    return index == 0 ? 0 : -CAIRN_ENOENT;
}

static struct cairn_trainer trainer(struct job *job)
{
    return (struct cairn_trainer){
        .model = { job, "m", model_put, model_fit, model_get, NULL },
        .optimizer = { job, "o", optimizer_put, optimizer_fit, optimizer_get, NULL },
        .scheduler = { job, "s", scheduler_put, scheduler_fit, scheduler_get, NULL },
        .accumulator = { job, "g", gradients_put, gradients_fit, gradients_get, NULL },
        .state = { job, "u", state_put, state_fit, state_get, NULL },
        .window = &job->window,
        .param = param,
    };
}

static void fill(struct job *job, uint64_t step)
{
    for (int i = 0; i < COUNT; i++) {
        job->weight[i] = (float)step + (float)i;
        job->gradient[i] = (float)step * 3 - (float)i;
        job->moment[i] = (float)step / 7;
    }
    job->schedule = step * 11;
    job->step = step;
    job->window = (struct cairn_window){ CAIRN_F32, 16, (double)step, step };
}

static bool equal(const struct job *a, const struct job *b, bool window)
{
    return memcmp(a->weight, b->weight, sizeof a->weight) == 0 &&
           memcmp(a->gradient, b->gradient, sizeof a->gradient) == 0 &&
           memcmp(a->moment, b->moment, sizeof a->moment) == 0 && a->schedule == b->schedule &&
           a->step == b->step && (!window || memcmp(&a->window, &b->window, sizeof a->window) == 0);
}

struct captured {
    bool done;
    int rc;
    struct cairn_record *r;
};

static void captured(void *arg, int rc, struct cairn_record *r)
{
    *(struct captured *)arg = (struct captured){ true, rc, r };
}

typedef int capture_fn(struct cairn *c, const struct cairn_trainer *t, struct cairn_record **ret);
typedef int
capture_async_fn(struct cairn *c, const struct cairn_trainer *t, cairn_captured_fn *, void *arg);
typedef int
restore_fn(struct cairn *c, const struct cairn_record *r, const struct cairn_trainer *t);

static const struct {
    const char *name;
    capture_fn *capture;
    capture_async_fn *capture_async;
    restore_fn *restore;
    bool window;
} calls[] = {
    { "capture", cairn_capture, cairn_capture_async, cairn_restore, false },
    { "with dtypes",
      cairn_capture_with_dtypes,
      cairn_capture_async_with_dtypes,
      cairn_restore_with_dtypes,
      false },
    { "weighted",
      cairn_capture_weighted,
      cairn_capture_weighted_async,
      cairn_restore_weighted,
      true },
    { "weighted with dtypes",
      cairn_capture_weighted_with_dtypes,
      cairn_capture_weighted_with_dtypes_async,
      cairn_restore_weighted_with_dtypes,
      true },
    { "model state",
      cairn_model_state_capture,
      cairn_model_state_capture_async,
      cairn_model_state_restore,
      false },
    { "weighted model state",
      cairn_model_state_capture_weighted,
      cairn_model_state_capture_weighted_async,
      cairn_model_state_restore_weighted,
      true },
};

/* An event loop of one descriptor. */
static int wait_captured(struct cairn *c, const struct captured *x)
{
    struct pollfd p = { .fd = cairn_fd(c), .events = (short)cairn_events(c) };
    int rc = p.fd < 0 ? p.fd : 0;
    while (rc == 0 && !x->done) {
        rc = poll(&p, 1, 60000) == 1 ? cairn_process(c) : -CAIRN_ETIMEDOUT;
    }
    return rc < 0 ? rc : x->rc;
}

static int
capture(struct cairn *c, size_t i, bool async, struct job *job, struct cairn_record **ret)
{
    struct cairn_trainer t = trainer(job);
    struct captured x = { false, 0, NULL };
    if (!async) {
        return calls[i].capture(c, &t, ret);
    }
    int rc = calls[i].capture_async(c, &t, captured, &x);
    rc = rc < 0 ? rc : wait_captured(c, &x);
    *ret = x.r;
    return rc;
}

static int there_and_back(struct cairn *c, size_t i, bool async, uint64_t step)
{
    struct job job = { .c = c };
    struct job back = { .c = c };
    struct cairn_record *r = NULL;
    struct cairn_save_args args = { .step = step };
    struct cairn_trainer t = trainer(&back);
    fill(&job, step);
    int rc = capture(c, i, async, &job, &r);
    rc = rc < 0 ? rc : cairn_save(c, &r, &args, NULL);
    r = rc < 0 ? cairn_record_free(r) : NULL;
    rc = rc < 0 ? rc : cairn_load(c, "latest", 0, &r);
    rc = rc < 0 ? rc : calls[i].restore(c, r, &t);
    (void)cairn_record_free(r);
    if (rc == 0 && !equal(&job, &back, calls[i].window)) {
        (void)printf("%s%s: came back different\n", calls[i].name, async ? ", async" : "");
        return 1;
    }
    if (rc == 0 && !asked_once(&back.asked)) {
        (void)printf("%s%s: %u entries looked at by %u fits, %u gets%s\n",
                     calls[i].name,
                     async ? ", async" : "",
                     sum(back.asked.entries),
                     sum(back.asked.fits),
                     sum(back.asked.gets),
                     back.asked.early ? ", not all before the first" : "");
        return 1;
    }
    (void)printf("%s%s: %s\n",
                 calls[i].name,
                 async ? ", async" : "",
                 rc == 0 ? "there and back" : cairn_error(c));
    return rc;
}

int main(void)
{
    struct cairn *c = NULL;
    uint64_t step = 0;
    int rc = cairn_open(NULL, "all-calls", &c);
    if (rc < 0) {
        (void)printf("%s\n", cairn_error(c));
    }
    for (size_t i = 0; rc == 0 && i < sizeof calls / sizeof calls[0]; i++) {
        rc = there_and_back(c, i, false, ++step);
        rc = rc != 0 ? rc : there_and_back(c, i, true, ++step);
    }
    (void)cairn_close(c);
    return rc == 0 && step == 12 ? 0 : 1;
}
