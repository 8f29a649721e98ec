#include "command.h"

#include <cairn/admin.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

const struct command commands[] = {
    { "status", "", "how the daemon is; leads with what needs a hand", cmd_status },
    { "runs", "", "the runs that are stored", cmd_runs },
    { "log", "RUN", "the boundaries of a run, newest first", cmd_log },
    { "show", "SELECTOR [PATH]", "what one boundary holds", cmd_show },
    { "verify", "RUN|SELECTOR", "read and check what is stored", cmd_verify },
    { "keep", "RUN", "which boundaries stay", cmd_keep },
    { "du", "[RUN]", "what runs and boundaries take of the disk", cmd_du },
    { "rollback", "SELECTOR", "go on from an older boundary", cmd_rollback },
    { "pin", "SELECTOR", "have a boundary stay, whatever the policy says", cmd_pin },
    { "unpin", "SELECTOR", "take a pin away", cmd_unpin },
    { "pins", "RUN", "the pins of a run", cmd_pins },
    { "label", "SELECTOR N=V...", "set labels of a boundary", cmd_label },
    { "rm", "SELECTOR...", "remove boundaries, or with --run a run", cmd_rm },
    { "exec", "-- COMMAND...", "run a command beside a daemon of its own", cmd_exec },
    { "bench", "", "what a save and a load cost on this machine", cmd_bench },
    { NULL, NULL, NULL, NULL },
};

const struct command *command_find(const char *name)
{
    for (const struct command *c = commands; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}

/* ---- options ---- */

static const struct argp_option cmd_common_options[] = {
    { "socket",
      's',
      "PATH",
      0,
      "the daemon's socket (default $CAIRN_SOCKET, else /run/cairn/cairnd.sock)",
      0 },
    { "json", 'j', NULL, 0, "print JSON", 0 },
    { "quiet", 'q', NULL, 0, "no headings and summaries: rows, errors and the exit code only", 0 },
    { NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
    { 0 },
};

static error_t cmd_common_parse(int key, char *arg, struct argp_state *state)
{
    struct cmd_options *o = state->input;
    switch (key) {
    case 's':
        o->socket = arg;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cmd_common = {
    cmd_common_options, cmd_common_parse, NULL, NULL, NULL, NULL, NULL
};
const struct argp_child cmd_children[] = {
    { &cmd_common, 0, "Options of every command:", -2 },
    { 0 },
};

/* getopt prints an option that it does not know as it is: what could drive the terminal is refused
 * before it sees it. A value (behind '=', or a word of its own) may be any text. */
static bool cmd_option_safe(const char *word)
{
    char *name = out_format("%.*s", (int)strcspn(word, "="), word);
    char *shown = out_escape(name);
    bool safe = strcmp(name, shown) == 0;
    if (!safe) {
        (void)fprintf(stderr, "cairn: no option '%s': `cairn --help` lists them\n", shown);
    }
    free(shown);
    free(name);
    return safe;
}

/* Those before a command's own words whose value may be the next word. */
static bool cmd_option_takes_next(const char *word)
{
    static const char *const names[] = { "-s", "--socket", "-d", "--data" };
    bool takes = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        takes = takes || strcmp(word, names[i]) == 0;
    }
    return takes;
}

bool cmd_options_safe(int argc, char **argv, bool in_order)
{
    bool safe = true;
    for (int i = 1; safe && i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (argv[i][0] == '-') {
            safe = cmd_option_safe(argv[i]);
        } else if (in_order && !cmd_option_takes_next(argv[i - 1])) {
            break;
        }
    }
    return safe;
}

error_t cmd_parse_words(int key, char *arg, struct argp_state *state, unsigned least, unsigned most)
{
    struct cmd_args *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->options;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num >= most) {
            char *safe = out_escape(arg);
            argp_error(state, "too many arguments: '%s'", safe); /* ends the program */
            free(safe);
            return EINVAL;
        }
        args->words[state->arg_num] = arg;
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num < least) {
            argp_error(state, "an argument is missing");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- the daemon ---- */

static int cmd_split(const char *text, struct cmd_target *ret)
{
    const char *at = strrchr(text, '@');
    size_t run_bytes = at == NULL ? strlen(text) : (size_t)(at - text);
    if (run_bytes == 0 || run_bytes >= sizeof ret->run || (at != NULL && at[1] == '\0')) {
        return -CAIRN_EINVAL;
    }
    memcpy(ret->run, text, run_bytes);
    ret->run[run_bytes] = '\0';
    ret->has_selector = at != NULL;
    ret->selector = at != NULL ? at + 1 : "latest";
    return 0;
}

int cmd_open(const struct cmd_options *o,
             const char *text,
             struct cmd_target *ret_target,
             struct cairn **ret)
{
    struct cairn *c = NULL;
    *ret = NULL;
    int rc = text == NULL ? 0 : cmd_split(text, ret_target);
    if (rc < 0) {
        return (int)out_fail(NULL, o->json, rc, text);
    }
    rc = cairn_admin_open(o->socket, &c);
    if (rc == 0 && text != NULL) {
        rc = cairn_admin_run(c, ret_target->run);
    }
    if (rc < 0) {
        int code = (int)out_fail(c, o->json, rc, text == NULL ? "connect" : text);
        (void)cairn_close(c);
        return code;
    }
    *ret = c;
    return OUT_OK;
}
