/* cairn bench: how far a save and a load are from what the machine can do. The command runs itself
 * beside a private daemon, as `cairn exec` would: then a signal, a failure or a kill of what
 * measures always comes back here, where the directory is removed. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench.h"
#include "bench_place.h"
#include "command.h"
#include "exec.h"
#include "internal/unit.h"
#include "output.h"

#define BENCH_SIZE_LEAST (16 * BENCH_MIB)
#define BENCH_SIZE_MOST (BENCH_MIB << 20)
enum { BENCH_KEY_PLACE = 256 }; /* for no letter */

static const char bench_doc[] =
    "Measure what a save and a load of a training state cost on this machine, beside what its "
    "memory and its disk can do at best with the same bytes. A private cairnd keeps its data in a "
    "fresh directory below DIR, which is removed afterwards.\v"
    "Memory is made ready by cairn_warm first. "
    "A row is measured once a round, its floor just before or just after it, in turns. What counts "
    "is the median of the row over the median of its floor:\n"
    "\n"
    "  row         goal  what\n"
    "  capture     1.25  the trainer stands still for cairn_capture;\n"
    "                    over memcpy: as much, by one thread, into warm memory\n"
    "  capture_2   1.25  the same with cairn_set_threads 2, over two threads' memcpy\n"
    "  save        1.15  from the start of the capture until durable, fresh file;\n"
    "                    over raw write: a fresh file, fallocate, 4 MiB at a time\n"
    "                    with O_DIRECT, fdatasync\n"
    "  steady      1.00  the same into the space of a boundary that was removed, as a\n"
    "                    policy leaves it after each commit; over raw write as above\n"
    "  frozen      0.30  the same when nine tenths of the state did not change; over save;\n"
    "                    bytes_new: so many were written (goal 0.15 of the state)\n"
    "  load        1.25  cairn_load, cairn_restore, cold, into warm tensors;\n"
    "                    over raw read: that file, 4 MiB at a time with O_DIRECT\n"
    "  small       1.00  100000 tensors of 1 KiB, from capture until durable;\n"
    "                    over 300000 tensors a second\n"
    "  daemon_cpu  1.00  CPU time of cairnd during a save;\n"
    "                    over 0.25 s for each GiB\n"
    "  restore_resident\n"
    "              1.50  cairn_restore by the next trainer, from the memory of one that\n"
    "                    has gone, into warm tensors; over memcpy as above\n"
    "  restore_resident_all\n"
    "              2.30  the same with its cairn_load, which maps that memory\n"
    "\n"
    "Where the daemon or the file system does without O_DIRECT, the floors of the disk go through "
    "the page cache too, and are marked. "
    "A floor that moved much from round to round is told. The disk needs room for three times SIZE "
    "and 324 MiB; memory for four times SIZE is used.\n"
    "\n"
    "With --json, an object a line for each row (floor_io: of save, steady and load only):\n"
    "  {\"row\": TEXT, \"bytes\": N, \"seconds\": [S...],\n"
    "   \"floor\": TEXT, \"floor_seconds\": [S...], \"floor_io\": \"direct\"|\"buffered\",\n"
    "   \"bytes_new\": N (of frozen only), \"ratio\": R, \"goal\": R, \"met\": bool}\n"
    "\n"
    "cairnd is found as by cairn exec. The exit code is 0 when everything was measured, whatever "
    "the ratios; 128+N when signal N ended it.";

struct bench_args {
    struct cmd_args cmd;
    struct bench_options options;
    const char *dir;
    const char *place; /* given: measure there, the daemon runs */
};

/* ---- options ---- */

static const struct unit bench_sizes[] = {
    { "", 1 },
    { "K", UINT64_C(1) << 10 },
    { "KiB", UINT64_C(1) << 10 },
    { "M", UINT64_C(1) << 20 },
    { "MiB", UINT64_C(1) << 20 },
    { "G", UINT64_C(1) << 30 },
    { "GiB", UINT64_C(1) << 30 },
    { "T", UINT64_C(1) << 40 },
    { "TiB", UINT64_C(1) << 40 },
    { NULL, 0 },
};
static const struct unit bench_counts[] = { { "", 1 }, { NULL, 0 } };

static void bench_take_size(struct bench_args *args, const char *arg, struct argp_state *state)
{
    uint64_t bytes = 0;
    if (!unit_parse(arg, bench_sizes, &bytes) || bytes < BENCH_SIZE_LEAST ||
        bytes > BENCH_SIZE_MOST) {
        argp_error(state, "--size is 16MiB to 1TiB, as in 512MiB or 4GiB");
    }
    args->options.size_bytes = (bytes + BENCH_MIB - 1) / BENCH_MIB * BENCH_MIB;
}

static void bench_take_rounds(struct bench_args *args, const char *arg, struct argp_state *state)
{
    uint64_t rounds = 0;
    if (!unit_parse(arg, bench_counts, &rounds) || rounds < 1 || rounds > BENCH_ROUNDS_MAX) {
        argp_error(state, "--rounds is 1 to %d", BENCH_ROUNDS_MAX);
    }
    args->options.rounds = (unsigned)rounds;
}

static error_t bench_parse(int key, char *arg, struct argp_state *state)
{
    struct bench_args *args = state->input;
    switch (key) {
    case 'S':
        bench_take_size(args, arg, state);
        return 0;
    case 'r':
        bench_take_rounds(args, arg, state);
        return 0;
    case 'd':
        args->dir = arg;
        return 0;
    case BENCH_KEY_PLACE:
        args->place = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->cmd.options.socket != NULL) {
            argp_error(state, "the daemon is a private one: --socket has no meaning here");
        }
        return cmd_parse_words(key, arg, state, 0, 0);
    default:
        return cmd_parse_words(key, arg, state, 0, 0);
    }
}

/* ---- both processes ---- */

/* The one that measures: no daemon and no directory outlive its parent, so neither may it. */
static int bench_inside(const struct bench_args *args)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    return bench_run(&args->options, args->place);
}

/* What comes between the making of the directory and exec_run, which then sees to signals itself.
 */
static volatile sig_atomic_t bench_signal;

static void bench_signalled(int number)
{
    bench_signal = number;
}

static void bench_hold_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction old = { 0 };
        struct sigaction hold = { .sa_handler = bench_signalled };
        (void)sigemptyset(&hold.sa_mask);
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            (void)sigaction(numbers[i], &hold, NULL);
        }
    }
}

/* The command line of the one that measures. */
static int bench_beside_daemon(const struct bench_args *args, const char *place)
{
    static char self[] = "/proc/self/exe";
    static char name[] = "bench";
    static char json[] = "--json";
    static char quiet[] = "--quiet";
    const struct bench_options *o = &args->options;
    char *data = out_format("%s/data", place);
    char *inside = out_format("--inside=%s", place);
    char *size = out_format("--size=%llu", (unsigned long long)o->size_bytes);
    char *rounds = out_format("--rounds=%u", o->rounds);
    char *line[8] = { self, name, inside, size, rounds };
    size_t count = 5;
    if (o->json) {
        line[count++] = json;
    }
    if (o->quiet) {
        line[count] = quiet;
    }
    int code = bench_signal != 0 ? OUT_EXEC_SIGNAL + bench_signal
                                 : exec_run("cairn bench", data, line, o->quiet);
    free(data);
    free(inside);
    free(size);
    free(rounds);
    return code == OUT_EXEC_SELF || code == OUT_EXEC_DENIED || code == OUT_EXEC_MISSING
               ? OUT_FAILURE
               : code;
}

static int bench_outside(const struct bench_args *args)
{
    int code = bench_place_room(&args->options, args->dir);
    if (code != OUT_OK) {
        return code;
    }
    bench_hold_signals();
    char *place = bench_place_make(&args->options, args->dir);
    if (place == NULL) {
        return OUT_FAILURE;
    }
    code = bench_beside_daemon(args, place);
    if (bench_place_remove(place) < 0 && code == OUT_OK) {
        code = OUT_FAILURE;
    }
    free(place);
    return code;
}

int cmd_bench(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp_option options[] = {
        { "size", 'S', "SIZE", 0, "of the state: model and two moments (default 1GiB)", 0 },
        { "rounds", 'r', "N", 0, "how often everything is measured (default 5)", 0 },
        { "dir", 'd', "DIR", 0, "on the disk that is meant (default: the current directory)", 0 },
        { "inside", BENCH_KEY_PLACE, "DIR", OPTION_HIDDEN, NULL, 0 },
        { 0 },
    };
    static const struct argp argp = {
        options, bench_parse, "", bench_doc, cmd_children, NULL, NULL
    };
    struct bench_args args = { .cmd.options = *global,
                               .options = { .size_bytes = 1024 * BENCH_MIB, .rounds = 5 },
                               .dir = "." };
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    args.options.json = args.cmd.options.json;
    args.options.quiet = args.cmd.options.quiet;
    return args.place != NULL ? bench_inside(&args) : bench_outside(&args);
}
