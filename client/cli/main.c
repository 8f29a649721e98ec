/* main.c: global options, then the command that the table names. */
#include <cairn/record.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/stdfds.h"
#include "command.h"
#include "output.h"

struct main_args {
    struct cmd_options options;
    int command_at; /* index in argv; 0: none */
};

static char *main_help(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (f == NULL) {
        return NULL;
    }
    (void)fputs("Commands (cairn COMMAND --help says more, with the JSON of each):\n", f);
    for (const struct command *c = commands; c->name != NULL; c++) {
        (void)fprintf(f, "  %-9s%-16s %s\n", c->name, c->args, c->summary);
    }
    (void)fputs("\nRuns and boundaries:\n"
                "  RUN               your own run; USER/RUN or UID/RUN is somebody else's\n"
                "  RUN@latest        its newest boundary, as RUN alone\n"
                "  RUN@latest~1      the one before\n"
                "  RUN@STEP          the newest boundary of that step\n"
                "  RUN@seq:N         by number, as `cairn log` lists it\n"
                "  RUN@id:HEX        by save id\n"
                "  RUN@best:LABEL:min, RUN@best:LABEL:max\n"
                "  RUN@finite        the newest that is finite, as `cairn log` says\n"
                "\nExit codes:\n",
                f);
#define MAIN_EXIT(name, number, meaning) (void)fprintf(f, "  %3d  %s\n", number, meaning);
    OUT_EXITS(MAIN_EXIT)
#undef MAIN_EXIT
    return fclose(f) == 0 ? text : NULL;
}

static char *main_help_filter(int key, const char *text, void *input)
{
    (void)input;
    /* argp takes NULL for "nothing here"; the cast gives its own text back, as it wants. */
    return key == ARGP_KEY_HELP_POST_DOC ? main_help() : (char *)(uintptr_t)text;
}

static error_t main_parse(int key, char *arg, struct argp_state *state)
{
    struct main_args *args = state->input;
    (void)arg;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->options;
        return 0;
    case ARGP_KEY_ARG:
        /* The rest of the line is the command's. */
        args->command_at = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_usage(state);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* cairn help [COMMAND] is cairn [COMMAND] --help. */
static int main_run(const struct cmd_options *options, int argc, char **argv);

static int
main_help_command(const struct cmd_options *options, int argc, char **argv, const struct argp *argp)
{
    static char help[] = "--help";
    static char name[] = "cairn";
    char *line[] = { argc > 1 ? argv[1] : name, help, NULL };
    if (argc > 1) {
        return main_run(options, 2, line);
    }
    struct main_args args = { 0 };
    (void)argp_parse(argp, 2, line, 0, NULL, &args);
    return OUT_OK;
}

static int main_run(const struct cmd_options *options, int argc, char **argv)
{
    const struct command *command = command_find(argv[0]);
    if (command == NULL) {
        char *safe = out_escape(argv[0]);
        (void)fprintf(stderr, "cairn: no command '%s': `cairn --help` lists them\n", safe);
        free(safe);
        return OUT_USAGE;
    }
    char *name = out_format("cairn %s", command->name);
    argv[0] = name;
    int code = cmd_options_safe(argc, argv, command->run == cmd_exec)
                   ? command->run(options, argc, argv)
                   : OUT_USAGE;
    free(name);
    return code;
}

static const struct argp main_argp = {
    NULL,
    main_parse,
    "COMMAND [ARGUMENT...]",
    "Look after the training state that cairnd keeps.\v",
    cmd_children,
    main_help_filter,
    NULL,
};

int main(int argc, char **argv)
{
    struct main_args args = { 0 };
    if (!stdfds_open()) {
        return OUT_FAILURE;
    }
    (void)setlocale(LC_CTYPE, "");
    argp_err_exit_status = OUT_USAGE;
    argp_program_version = "cairn " CAIRN_VERSION;
    if (!cmd_options_safe(argc, argv, true)) {
        return OUT_USAGE;
    }
    if (argp_parse(&main_argp, argc, argv, ARGP_IN_ORDER, NULL, &args) != 0) {
        return OUT_FAILURE;
    }
    int rest = argc - args.command_at;
    char **line = argv + args.command_at;
    int code = strcmp(line[0], "help") == 0
                   ? main_help_command(&args.options, rest, line, &main_argp)
                   : main_run(&args.options, rest, line);
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        (void)fputs("cairn: cannot write to standard output\n", stderr);
        return code == OUT_OK ? OUT_FAILURE : code;
    }
    return code;
}
