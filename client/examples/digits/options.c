#include "options.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_DATA = 256,
    OPT_SOCKET,
    OPT_RUN,
    OPT_WIDTH,
    OPT_UPDATES,
    OPT_MICROBATCHES,
    OPT_ROWS,
    OPT_SAVE_EVERY,
    OPT_SCHEDULER,
    OPT_SEED,
    OPT_FROM,
    OPT_SPOIL_AFTER,
    OPT_NO_SAVE,
    OPT_EVENTS,
    OPT_KEEP_GOING,
    OPT_TIMEOUT,
};

static const struct argp_option options_table[] = {
    { "data", OPT_DATA, "FILE", 0, "the digits, CSV or CSV.gz (tests/data/digits.csv.gz)", 0 },
    { "socket", OPT_SOCKET, "PATH", 0, "socket of cairnd ($CAIRN_SOCKET, else the system's)", 0 },
    { "run", OPT_RUN, "NAME", 0, "the run to save to and to resume (digits)", 0 },
    { "width", OPT_WIDTH, "N", 0, "units of both hidden layers (24, at most 65536), see below", 0 },
    { "updates", OPT_UPDATES, "N", 0, "train until so many updates were made in all (400)", 0 },
    { "microbatches-per-update", OPT_MICROBATCHES, "N", 0, "length of a window (4)", 0 },
    { "rows", OPT_ROWS, "N", 0, "a microbatch has 1..N rows, at random (16, at most 32)", 0 },
    { "save-every",
      OPT_SAVE_EVERY,
      "K",
      0,
      "save after every K microbatches (50), and at the end",
      0 },
    { "scheduler", OPT_SCHEDULER, "NAME", 0, "cosine or step (cosine)", 0 },
    { "seed", OPT_SEED, "N", 0, "of everything random (1)", 0 },
    { "from",
      OPT_FROM,
      "SELECTOR",
      0,
      "resume from this boundary, and have the run go on from it: finite, step:N, seq:N, latest~1 "
      "(without: the newest)",
      0 },
    { "spoil-after", OPT_SPOIL_AFTER, "N", 0, "put a NaN into a weight after N updates", 0 },
    { "no-save", OPT_NO_SAVE, NULL, 0, "train without cairn: neither resume nor save", 0 },
    { "events", OPT_EVENTS, "FILE", 0, "append a line per event", 0 },
    { "keep-going",
      OPT_KEEP_GOING,
      NULL,
      0,
      "when the daemon is lost, try again until the timeout has passed",
      0 },
    { "timeout", OPT_TIMEOUT, "SECONDS", 0, "of every call to the daemon (60)", 0 },
    { 0 },
};

static const char options_doc[] =
    "Train a small network on handwritten digits, safe with cairn.\v"
    "Run it again after it was stopped, however it was stopped: it resumes from its last save, and "
    "the last line it prints, a digest of its whole state, is that of a run which nobody "
    "disturbed. A run goes on under the configuration it began with: another width, window, number "
    "of rows, scheduler or data is refused (--updates, --save-every and --seed are free).\n\n"
    "State for a width:  24: 52 KB   180: 1 MB   1500: 52 MB   3840: 330 MB (270 MB between two "
    "windows, when there are no pending gradients)   7000: 1.1 GB   15000: 5 GB";

/* Says what is wrong and ends the process. */
static int options_refuse(const struct argp_state *state, const char *text, const char *expected)
{
    argp_error(state, "'%s' is not %s", text, expected); /* NOLINT(concurrency-mt-unsafe) */
    return EINVAL;
}

/* A whole number in [least, most]. */
static int options_number(
    const struct argp_state *state, const char *text, uint64_t least, uint64_t most, uint64_t *ret)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < least || value > most) {
        return options_refuse(state, text, "a whole number in the range that --help tells");
    }
    *ret = value;
    return 0;
}

static int options_scheduler(const struct argp_state *state, const char *text, enum sched_kind *ret)
{
    if (strcmp(text, "cosine") != 0 && strcmp(text, "step") != 0) {
        return options_refuse(state, text, "a scheduler: cosine or step");
    }
    *ret = text[0] == 'c' ? SCHED_COSINE : SCHED_STEP;
    return 0;
}

static int options_text(int key, const char *text, struct options *o)
{
    switch (key) {
    case OPT_DATA:
        o->data = text;
        return 0;
    case OPT_SOCKET:
        o->socket = text;
        return 0;
    case OPT_RUN:
        o->run = text;
        return 0;
    case OPT_EVENTS:
        o->events = text;
        return 0;
    case OPT_FROM:
        o->from = text;
        return 0;
    case OPT_NO_SAVE:
        o->no_save = true;
        return 0;
    case OPT_KEEP_GOING:
        o->keep_going = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t options_set(int key, char *text, struct argp_state *state)
{
    struct options *o = state->input;
    uint64_t width = o->job.width;
    int rc = 0;
    switch (key) {
    case OPT_WIDTH:
        rc = options_number(state, text, 1, 65536, &width);
        o->job.width = width;
        return rc;
    case OPT_UPDATES:
        return options_number(state, text, 0, UINT32_MAX, &o->updates);
    case OPT_MICROBATCHES:
        return options_number(state, text, 1, UINT32_MAX, &o->job.microbatches_per_update);
    case OPT_ROWS:
        return options_number(state, text, 1, MLP_ROWS_MAX, &o->job.rows_max);
    case OPT_SAVE_EVERY:
        return options_number(state, text, 1, UINT32_MAX, &o->save_every);
    case OPT_SPOIL_AFTER:
        return options_number(state, text, 1, UINT32_MAX, &o->spoil_after);
    case OPT_SEED:
        return options_number(state, text, 0, UINT64_MAX, &o->job.seed);
    case OPT_TIMEOUT:
        return options_number(state, text, 1, 86400, &o->timeout_s);
    case OPT_SCHEDULER:
        return options_scheduler(state, text, &o->job.scheduler);
    default:
        return options_text(key, text, o);
    }
}

int options_parse(int argc, char **argv, struct options *ret)
{
    static const struct argp argp = { options_table, options_set, NULL, options_doc, 0, 0, 0 };
    *ret = (struct options){ .data = "tests/data/digits.csv.gz",
                             .run = "digits",
                             .updates = 400,
                             .save_every = 50,
                             .timeout_s = 60,
                             .job = { .width = 24,
                                      .microbatches_per_update = 4,
                                      .rows_max = 16,
                                      .seed = 1,
                                      .scheduler = SCHED_COSINE } };
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread yet */
    return argp_parse(&argp, argc, argv, 0, NULL, ret) == 0 ? 0 : -1;
}
