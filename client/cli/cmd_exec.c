/* cairn exec: a command beside a daemon of its own, in one line (exec.c does it). */
#include <stdlib.h>

#include "command.h"
#include "exec.h"
#include "output.h"

static const char exec_doc[] =
    "Run COMMAND beside a cairnd of its own, for a machine without the service: the daemon keeps "
    "its data in DIR, and CAIRN_SOCKET tells the command where it listens. When the command ends, "
    "so does the daemon; the data stays, and the next cairn exec with the same DIR goes on with "
    "it. "
    "A daemon that dies meanwhile is started again.\v"
    "Look at the data in the same way, between two runs or while one goes on:\n"
    "  cairn exec --data DIR -- cairn log RUN\n"
    "A second cairn exec with the same DIR joins the daemon of the first (DIR/socket says where it "
    "listens). That daemon ends with the command of the first, whoever has joined it.\n"
    "\n"
    "cairnd is $CAIRND, else the one beside this program or in ../sbin, else the one in $PATH; its "
    "log is DIR/cairnd.log. Signals are passed on to the command. The exit code is "
    "the command's; 128+N when signal N ended it; 125 when the daemon could not be started; 126 "
    "and "
    "127 when the command could not be run or found.";

struct exec_args {
    struct cmd_args cmd;
    const char *data;
    char **command;
};

static error_t exec_parse(int key, char *arg, struct argp_state *state)
{
    struct exec_args *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->cmd.options;
        return 0;
    case 'd':
        args->data = arg;
        return 0;
    case ARGP_KEY_ARG:
        /* The rest of the line is the command's, its options too. */
        args->command = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no command to run");
        return EINVAL;
    case ARGP_KEY_END:
        if (args->cmd.options.socket != NULL) {
            argp_error(state, "the daemon gets a socket of its own: --socket has no meaning here");
        }
        if (args->cmd.options.json) {
            argp_error(state, "what is printed is the command's: --json has no meaning here");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cmd_exec(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp_option options[] = {
        { "data", 'd', "DIR", 0, "where the daemon keeps its data (default ./cairn-data)", 0 },
        { 0 },
    };
    static const struct argp argp = { options,  exec_parse,   "[--] COMMAND [ARGUMENT...]",
                                      exec_doc, cmd_children, NULL,
                                      NULL };
    struct exec_args args = { .cmd.options = *global, .data = "cairn-data" };
    (void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &args);
    return exec_run("cairn exec", args.data, args.command, args.cmd.options.quiet);
}
