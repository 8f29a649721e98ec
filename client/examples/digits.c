/* digits.c: a training run that survives kill -9, bit for bit. The example to learn cairn from.
 *
 * The mathematics is in digits/ and knows nothing of cairn. What a trainer adds:
 *
 *   1. It describes its state once, as a table of five components: digits/describe.c.
 *   2. At the start it loads the newest boundary and restores it. CAIRN_ENOENT alone means that
 *      there is none; every other failure ends the program, for training on from fresh weights
 *      because a disk was sick would be the worst answer.
 *   3. While it trains it captures and saves, also between two updates: the window of accumulated
 *      gradients is part of the state, and so are the random numbers and the place in the data.
 *   4. When it is preempted (SIGTERM, and SIGKILL some seconds later) it stops after the microbatch
 *      that it is in, captures, starts a save, and ends as soon as that is sealed: the daemon then
 *      holds the whole record and commits it, whether or not there still is a trainer.
 *
 * What is saved is the state after a microbatch, all counters moved on: nothing runs twice. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "digits/describe.h"
#include "digits/events.h"
#include "digits/options.h"
#include "digits/stop.h"

struct digits {
    struct options options;
    struct data data;
    struct job job;
    struct description description;
    struct cairn *run;             /* NULL with --no-save */
    struct cairn_pending *leaving; /* the save that was sealed when the trainer was to stop */
    uint64_t saved;                /* microbatches that the newest boundary has */
    bool touched;                  /* a restore has begun: no fresh job any more */
    bool training;                 /* there may be something to lose */
    int events;
};

/* ---- resume and save ------------------------------------------------------------------------- */

/* Say what went wrong, and hand the code on. */
static int digits_failed(const struct digits *d, const char *what, int rc)
{
    const char *why = d->run != NULL ? cairn_error(d->run) : "";
    (void)fprintf(stderr, "digits: %s: %s\n", what, *why != '\0' ? why : cairn_strerror(rc));
    events_text(d->events, "failed", cairn_error_name(rc));
    return rc;
}

static double digits_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Is the failure one that may pass, and is there time left? Then wait a little. The library has
 * by then made the connection anew itself, for as long as its own deadline allowed. */
static bool digits_again(const struct digits *d, int rc, double since)
{
    const struct timespec pause = { .tv_nsec = 100000000 };
    bool passing = rc == -CAIRN_ECONN || rc == -CAIRN_ETIMEDOUT || rc == -CAIRN_EBUSY ||
                   rc == -CAIRN_EIO || rc == -CAIRN_ENOSPC || rc == -CAIRN_EUNKNOWN;
    double patience = d->options.keep_going ? (double)d->options.timeout_s : 1.0;
    bool leave = stop_asked() && !d->training;
    if (!passing || leave || digits_seconds() - since > patience) {
        return false;
    }
    (void)nanosleep(&pause, NULL);
    return true;
}

static int digits_open(struct digits *d)
{
    double since = digits_seconds();
    int rc = cairn_open(d->options.socket, d->options.run, &d->run);
    while (rc < 0 && digits_again(d, rc, since)) {
        d->run = cairn_close(d->run);
        rc = cairn_open(d->options.socket, d->options.run, &d->run);
    }
    if (rc == 0) {
        rc = cairn_set_timeout(d->run, (int)d->options.timeout_s * 1000);
    }
    return rc < 0 ? digits_failed(d, "open", rc) : 0;
}

/* Load the newest boundary, or the one that was asked for, and restore it. That there is none is
 * told by cairn_load alone, and only a job that no restore has touched may then start fresh. */
static int digits_restore(struct digits *d)
{
    struct cairn_record *record = NULL;
    struct cairn_boundary boundary;
    const char *from = d->options.from;
    int rc = cairn_load(d->run, from != NULL ? from : "latest", 0, &record);
    if (rc == -CAIRN_ENOENT && !d->touched && from == NULL) {
        events_text(d->events, "fresh", "");
        return 0;
    }
    if (rc == 0) {
        d->description.trainer.rollback = from != NULL;
        d->touched = true; /* if the next call fails half way, the job is a mixture */
        rc = cairn_restore_weighted_with_dtypes(d->run, record, &d->description.trainer);
    }
    if (rc == 0) {
        rc = cairn_record_info(record, &boundary);
    }
    if (rc == 0) {
        d->saved = d->job.microbatches;
        (void)printf("resumed after microbatch %" PRIu64 "\n", d->job.microbatches);
        events_boundary(d->events, "resumed", boundary.seq, boundary.step, d->job.microbatches);
    }
    cairn_record_free(record);
    return rc;
}

static int digits_resume(struct digits *d)
{
    double since = digits_seconds();
    int rc = digits_restore(d);
    while (rc < 0 && digits_again(d, rc, since)) {
        rc = digits_restore(d); /* writes all of the job again */
    }
    return rc < 0 ? digits_failed(d, "resume", rc) : 0;
}

/* cairn_save returns when the record is safe on the daemon's disk. For that a trainer that is to
 * stop has no time: cairn_save_start returns when the daemon has all of it. */
static int digits_send(struct digits *d,
                       struct cairn_record **record,
                       const struct cairn_save_args *args,
                       struct cairn_boundary *ret)
{
    return stop_asked() ? cairn_save_start(d->run, record, args, &d->leaving)
                        : cairn_save(d->run, record, args, ret);
}

/* Capture is a copy in memory. A save that fails leaves the record to be saved again: under the
 * same save id, so never twice. */
static int digits_save(struct digits *d)
{
    char label[32];
    struct cairn_record *record = NULL;
    struct cairn_boundary saved = { .step = d->job.updates };
    struct cairn_save_args args = { .step = d->job.updates,
                                    .labels = (const char *const[]){ label, NULL } };
    (void)snprintf(label, sizeof label, "loss=%.6f", d->job.loss);

    int rc = cairn_capture_weighted_with_dtypes(d->run, &d->description.trainer, &record);
    if (rc < 0) {
        return digits_failed(d, "capture", rc);
    }
    double since = digits_seconds();
    while ((rc = digits_send(d, &record, &args, &saved)) < 0) {
        (void)digits_failed(d, "save", rc);
        if (!digits_again(d, rc, since)) {
            cairn_record_free(record);
            return rc;
        }
    }
    d->saved = d->job.microbatches;
    events_boundary(d->events,
                    d->leaving != NULL ? "sealed" : "saved",
                    saved.seq,
                    saved.step,
                    d->job.microbatches);
    return 0;
}

/* ---- the training loop ----------------------------------------------------------------------- */

static bool digits_save_due(const struct digits *d, bool finished)
{
    return d->run != NULL && (finished || d->job.microbatches % d->options.save_every == 0);
}

/* The safe point is between two microbatches: there the job is a whole, and nothing runs twice. */
static int digits_train(struct digits *d)
{
    uint64_t report_every = d->options.updates / 10 + 1;
    int rc = 0;
    d->training = true;
    while (rc == 0 && d->job.updates < d->options.updates && !stop_asked()) {
        uint64_t before = d->job.updates;
        job_microbatch(&d->job);
        if (d->job.updates != before && d->job.updates == d->options.spoil_after) {
            job_spoil(&d->job);
        }
        if (d->job.updates != before && d->job.updates % report_every == 0) {
            (void)printf("update %" PRIu64 ": loss %.4f, learning rate %.2e\n",
                         d->job.updates,
                         d->job.loss,
                         d->job.lr);
        }
        if (digits_save_due(d, d->job.updates >= d->options.updates)) {
            rc = digits_save(d);
        }
    }
    if (rc == 0 && d->run != NULL && d->saved != d->job.microbatches) {
        rc = digits_save(d); /* it was to stop, and not just behind a save */
    }
    return rc;
}

static void digits_report(struct digits *d)
{
    char digest[33];
    if (d->job.updates < d->options.updates) {
        (void)printf("stopped after microbatch %" PRIu64 ": run it again\n", d->job.microbatches);
        events_text(d->events, "stopped", "");
        return;
    }
    job_digest(&d->job, digest);
    (void)printf("accuracy on the held-out fifth: %.1f %%, state of %zu bytes\n",
                 100 * job_accuracy(&d->job),
                 job_state_bytes(&d->job));
    (void)printf("digest %s\n", digest);
    events_text(d->events, "done", digest);
}

static int digits_run(struct digits *d)
{
    char pid[24];
    (void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
    events_text(d->events, "started", pid);
    if (job_init(&d->job, &d->options.job, &d->data) < 0) {
        (void)fprintf(stderr, "digits: no memory for a width of %zu\n", d->options.job.width);
        return -CAIRN_ENOMEM;
    }
    describe(&d->description, &d->job);
    int rc = 0;
    if (!d->options.no_save) {
        stop_on_sigterm();
        rc = digits_open(d);
        rc = rc == 0 ? digits_resume(d) : rc;
    }
    rc = rc == 0 ? digits_train(d) : rc;
    if (rc == 0) {
        digits_report(d);
    }
    return rc;
}

int main(int argc, char **argv)
{
    static struct digits d;
    if (options_parse(argc, argv, &d.options) < 0 || events_open(d.options.events, &d.events) < 0) {
        return 1;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* a line that was printed survives SIGKILL */
    int rc = data_load(&d.data, d.options.data);
    if (rc == 0) {
        rc = digits_run(&d);
        d.run = cairn_close(d.run); /* what was sealed goes on in the daemon */
        if (d.leaving != NULL) {
            (void)cairn_save_wait(&d.leaving, 0, NULL, NULL); /* memory of ours alone */
        }
        job_fini(&d.job);
        data_fini(&d.data);
    }
    events_close(d.events);
    return rc == 0 ? 0 : 1;
}
