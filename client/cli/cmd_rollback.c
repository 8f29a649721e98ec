/* cairn rollback: a run goes on from an older boundary. */
#include <cairn/keep.h>
#include <inttypes.h>

#include "command.h"
#include "json.h"
#include "output.h"

static const char rollback_doc[] =
    "Have a run go on from an older boundary: its newest is that one from now on, and what came "
    "after "
    "it is abandoned. Nothing is removed; where the run has a policy, abandoned boundaries are the "
    "first to go, so pin what you want to keep. An abandoned one may be chosen, too: its line is "
    "taken "
    "up again. Stop the trainer first.\v"
    "With --json the boundary, as an element of `cairn log --json`, without labels.";

static error_t rollback_parse(int key, char *arg, struct argp_state *state)
{
    return cmd_parse_words(key, arg, state, 1, 1);
}

int cmd_rollback(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp argp = { NULL,         rollback_parse, "RUN@SELECTOR",
                                      rollback_doc, cmd_children,   NULL,
                                      NULL };
    struct cmd_args args = { .options = *global };
    struct cmd_target target;
    struct cairn_boundary b;
    struct out_buf buf;
    struct cairn *c = NULL;
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    int code = cmd_open(&args.options, args.words[0], &target, &c);
    if (code != OUT_OK) {
        return code;
    }
    int rc = cairn_rollback(c, target.selector, &b);
    if (rc < 0) {
        code = (int)out_fail(c, args.options.json, rc, args.words[0]);
    } else if (args.options.json) {
        json_out(json_boundary(&b));
    } else if (!args.options.quiet) {
        (void)printf("%s goes on from seq %" PRIu64 ", step %" PRIu64 ", saved %s\n",
                     target.run,
                     b.seq,
                     b.step,
                     out_age(&buf, b.created_ns));
    }
    (void)cairn_close(c);
    return code;
}
