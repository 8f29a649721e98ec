/* cairn rm: boundaries, or a whole run, go for good. */
#include <cairn/admin.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "json.h"
#include "output.h"

static const char rm_doc[] =
    "Remove boundaries, or with --run a run with all that it holds, for good. The newest boundary "
    "of "
    "a run stays, and so do those that are pinned or being read. On a terminal it asks before "
    "each; "
    "otherwise --yes must be given. Where one cannot be removed the others go all the same; the "
    "exit "
    "code is that of the first failure.\v"
    "With --json an object a line:\n"
    "  {\"removed\": TEXT, \"boundary\": {...}} as `cairn log --json` has it, without labels\n"
    "  {\"removed\": TEXT, \"boundaries\": N, \"bytes\": N} for a run\n"
    "  {\"kept\": TEXT} where the answer was no, and {\"error\": {...}} for a failure";

struct rm_args {
    struct cmd_args cmd;
    const char **words; /* all of them */
    size_t count;
    bool run, yes;
};

static error_t rm_parse(int key, char *arg, struct argp_state *state)
{
    struct rm_args *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->cmd.options;
        return 0;
    case 'r':
        args->run = true;
        return 0;
    case 'y':
        args->yes = true;
        return 0;
    case ARGP_KEY_ARG:
        args->words[args->count++] = arg; /* room for all of argv */
        return 0;
    case ARGP_KEY_END:
        if (args->count == 0) {
            argp_error(state, "an argument is missing");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- may it go? ------------------------------------------------------------------------------ */

/* Anything but y and yes is no. */
static bool rm_ask(char *question)
{
    char answer[16] = "";
    char *safe = out_escape(question);
    (void)fprintf(stderr, "%s ", safe);
    free(safe);
    free(question);
    bool got = fgets(answer, sizeof answer, stdin) != NULL;
    return got && (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0);
}

static void rm_say_kept(const struct cmd_options *o, const char *word)
{
    if (o->json) {
        json_t *document = json_object();
        json_set(document, "kept", json_text(word));
        json_out_line(document);
    }
}

/* ---- one boundary ---------------------------------------------------------------------------- */

static bool
rm_boundary_may(const struct rm_args *args, const char *run, const struct cairn_boundary *b)
{
    struct out_buf age;
    struct out_buf size;
    return args->yes ||
           rm_ask(out_format("Remove seq %" PRIu64 " of %s (step %" PRIu64 ", saved %s, %s)? [y/N]",
                             b->seq,
                             run,
                             b->step,
                             out_age(&age, b->created_ns),
                             out_size(&size, b->payload_bytes)));
}

static void
rm_boundary_say(const struct cmd_options *o, const char *word, const struct cairn_boundary *b)
{
    struct out_buf size;
    if (o->json) {
        json_t *document = json_object();
        json_set(document, "removed", json_text(word));
        json_set(document, "boundary", json_boundary(b));
        json_out_line(document);
    } else if (!o->quiet) {
        out_text(stdout, word);
        (void)printf(": seq %" PRIu64 ", step %" PRIu64 " removed, %s\n",
                     b->seq,
                     b->step,
                     out_size(&size, b->payload_bytes));
    }
}

/* What was looked at goes, whatever the selector means by then. */
static int rm_boundary(struct cairn *c,
                       const struct rm_args *args,
                       const char *word,
                       const struct cmd_target *target)
{
    const struct cmd_options *o = &args->cmd.options;
    struct cairn_boundary b = { .seq = 0 };
    char seq[32];
    size_t count = 0;
    int rc = cairn_list(c, target->selector, 1, &b, &count);
    if (rc == 0 && !rm_boundary_may(args, target->run, &b)) {
        rm_say_kept(o, word);
        return OUT_OK;
    }
    (void)snprintf(seq, sizeof seq, "seq:%" PRIu64, b.seq);
    rc = rc < 0 ? rc : cairn_remove(c, seq, &b);
    if (rc < 0) {
        return (int)out_fail(c, o->json, rc, word);
    }
    rm_boundary_say(o, word, &b);
    return OUT_OK;
}

/* ---- a run ----------------------------------------------------------------------------------- */

struct rm_seek {
    const char *name;
    struct cairn_run_info info;
    bool found;
};

static int rm_seek_each(void *arg, const struct cairn_run_info *info)
{
    struct rm_seek *s = arg;
    if (strcmp(info->name, s->name) == 0) {
        s->info = *info;
        s->found = true;
    }
    return 0;
}

/* What is told of somebody else's run is only its name. */
static int rm_run_look(struct cairn *c, const char *run, struct rm_seek *ret)
{
    *ret = (struct rm_seek){ .name = run };
    return strchr(run, '/') != NULL ? 0 : cairn_runs(c, false, rm_seek_each, ret);
}

static void rm_run_say(const struct cmd_options *o, const char *word, const struct rm_seek *s)
{
    if (o->json) {
        json_t *document = json_object();
        json_set(document, "removed", json_text(word));
        json_set(document, "boundaries", json_u64(s->info.boundary_count));
        json_set(document, "bytes", json_u64(s->info.bytes));
        json_out_line(document);
    } else if (!o->quiet) {
        out_text(stdout, word);
        (void)puts(": removed");
    }
}

static int rm_run(struct cairn *c,
                  const struct rm_args *args,
                  const char *word,
                  const struct cmd_target *target)
{
    const struct cmd_options *o = &args->cmd.options;
    struct rm_seek s;
    struct out_buf size;
    if (target->has_selector) {
        return (int)out_fail_why(
            o->json, -CAIRN_EINVAL, word, "with --run goes the name of a run, without '@'");
    }
    int rc = rm_run_look(c, target->run, &s);
    if (rc == 0 && !args->yes &&
        !rm_ask(s.found
                    ? out_format("Remove the run %s with its %" PRIu64 " boundaries, %s? [y/N]",
                                 target->run,
                                 s.info.boundary_count,
                                 out_size(&size, s.info.bytes))
                    : out_format("Remove the run %s with all that it holds? [y/N]", target->run))) {
        rm_say_kept(o, word);
        return OUT_OK;
    }
    rc = rc < 0 ? rc : cairn_run_drop(c);
    if (rc < 0) {
        return (int)out_fail(c, o->json, rc, word);
    }
    rm_run_say(o, word, &s);
    return OUT_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int rm_word(const struct rm_args *args, const char *word)
{
    struct cmd_target target;
    struct cairn *c = NULL;
    int code = cmd_open(&args->cmd.options, word, &target, &c);
    if (code == OUT_OK && !args->run && !target.has_selector) {
        code =
            (int)out_fail_why(args->cmd.options.json,
                              -CAIRN_EINVAL,
                              word,
                              "which boundary? RUN@SELECTOR names one, --run RUN removes the run");
    } else if (code == OUT_OK) {
        code = args->run ? rm_run(c, args, word, &target) : rm_boundary(c, args, word, &target);
    }
    (void)cairn_close(c);
    return code;
}

int cmd_rm(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp_option options[] = {
        { "run", 'r', NULL, 0, "the words are runs: remove them with all that they hold", 0 },
        { "yes", 'y', NULL, 0, "do not ask", 0 },
        { 0 },
    };
    static const struct argp argp = { options, rm_parse,     "RUN@SELECTOR...\n--run RUN...",
                                      rm_doc,  cmd_children, NULL,
                                      NULL };
    struct rm_args args = { .cmd.options = *global };
    args.words = calloc((size_t)argc + 1, sizeof *args.words);
    if (args.words == NULL) {
        return (int)out_fail_why(global->json, -CAIRN_ENOMEM, "rm", "no memory");
    }
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    int code = OUT_OK;
    if (!args.yes && (isatty(STDIN_FILENO) != 1 || args.cmd.options.json)) {
        code = (int)out_fail_why(args.cmd.options.json,
                                 -CAIRN_EINVAL,
                                 "rm",
                                 "there is nobody to ask: say --yes if it is meant");
        args.count = 0;
    }
    for (size_t i = 0; i < args.count; i++) {
        int one = rm_word(&args, args.words[i]);
        code = code == OUT_OK ? one : code;
    }
    free(args.words);
    return code;
}
