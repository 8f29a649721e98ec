/* cairn label: what became of a boundary after it was saved, for selectors and policies. */
#include <cairn/keep.h>
#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "json.h"
#include "output.h"

static const char label_doc[] =
    "Set labels of a boundary, over those that it was saved with: an evaluation that came later, "
    "for "
    "instance, for RUN@best:LABEL:min and `cairn keep --best`. A number has a '.', whatever the "
    "locale.\v"
    "With --json the boundary, as an element of `cairn log --json`, without labels.";

struct label_args {
    struct cmd_args cmd;
    const char **labels; /* NULL-terminated: room for all of argv */
    size_t count;
};

static error_t label_parse(int key, char *arg, struct argp_state *state)
{
    struct label_args *args = state->input;
    if (key == ARGP_KEY_ARG && state->arg_num > 0) {
        args->labels[args->count++] = arg;
        return 0;
    }
    if (key == ARGP_KEY_END && args->count == 0) {
        argp_error(state, "a label is missing: NAME=VALUE");
    }
    return cmd_parse_words(key, arg, state, 1, 1);
}

int cmd_label(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp argp = { NULL,      label_parse,  "RUN@SELECTOR NAME=VALUE...",
                                      label_doc, cmd_children, NULL,
                                      NULL };
    struct label_args args = { .cmd.options = *global };
    struct cmd_target target;
    struct cairn_boundary b;
    struct cairn *c = NULL;
    args.labels = calloc((size_t)argc + 1, sizeof *args.labels);
    if (args.labels == NULL) {
        return (int)out_fail_why(global->json, -CAIRN_ENOMEM, "label", "no memory");
    }
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    int code = cmd_open(&args.cmd.options, args.cmd.words[0], &target, &c);
    int rc = code == OUT_OK ? cairn_label(c, target.selector, args.labels, &b) : 0;
    if (rc < 0) {
        code = (int)out_fail(c, args.cmd.options.json, rc, args.cmd.words[0]);
    } else if (code == OUT_OK && args.cmd.options.json) {
        json_out(json_boundary(&b));
    } else if (code == OUT_OK && !args.cmd.options.quiet) {
        out_text(stdout, args.cmd.words[0]);
        (void)printf(": seq %" PRIu64 ", step %" PRIu64 " is labelled\n", b.seq, b.step);
    }
    (void)cairn_close(c);
    free(args.labels);
    return code;
}
