/* command.h: the table of commands, and what they share: options, the daemon, selectors. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <argp.h>
#include <cairn/record.h>
#include <stdbool.h>
#include <stddef.h>

/* Options that stand before or after the name of the command. */
struct cmd_options {
    const char *socket; /* NULL: $CAIRN_SOCKET, else the system's */
    bool json, quiet;
};

struct command {
    const char *name, *args, *summary;
    /* argv[0] is "cairn NAME". Returns enum out_exit (exec: the exit code of its command). */
    int (*run)(const struct cmd_options *global, int argc, char **argv);
};

/* Ends with a row without name. */
extern const struct command commands[];
const struct command *command_find(const char *name);

/* Parser of struct cmd_options, for main and as a child of each command's. */
extern const struct argp cmd_common;
/* The children of a command's argp: cmd_common alone. Its input is child_inputs[0]. */
extern const struct argp_child cmd_children[];

/* Are the options free of what could drive a terminal? Else says so. in_order: up to the first word
 * that is none, for those who leave the rest of the line to somebody else. */
bool cmd_options_safe(int argc, char **argv, bool in_order);

/* What every command has, first member of its arguments. */
struct cmd_args {
    struct cmd_options options;
    const char *words[2]; /* positional */
};
/* The usual parser: fills words with at most `most`, insists on at least `least`. For use at the
 * end of a command's own parser, with state->input a struct that begins with struct cmd_args. */
error_t
cmd_parse_words(int key, char *arg, struct argp_state *state, unsigned least, unsigned most);

/* RUN[@SELECTOR], cut at the last '@' (a run's name has none, a label's may). Nothing behind the
 * '@' is refused: it is more likely a variable that was empty than a wish for the newest. */
struct cmd_target {
    char run[256];
    const char *selector; /* "latest" when there was none; points into the text */
    bool has_selector;
};

/* Connect; with text, turn to its run. On failure says why, and *ret is NULL.
 * Returns enum out_exit. */
int cmd_open(const struct cmd_options *o,
             const char *text,
             struct cmd_target *ret_target,
             struct cairn **ret);

int cmd_status(const struct cmd_options *global, int argc, char **argv);
int cmd_runs(const struct cmd_options *global, int argc, char **argv);
int cmd_log(const struct cmd_options *global, int argc, char **argv);
int cmd_show(const struct cmd_options *global, int argc, char **argv);
int cmd_verify(const struct cmd_options *global, int argc, char **argv);
int cmd_keep(const struct cmd_options *global, int argc, char **argv);
int cmd_du(const struct cmd_options *global, int argc, char **argv);
int cmd_rollback(const struct cmd_options *global, int argc, char **argv);
int cmd_pin(const struct cmd_options *global, int argc, char **argv);
int cmd_unpin(const struct cmd_options *global, int argc, char **argv);
int cmd_pins(const struct cmd_options *global, int argc, char **argv);
int cmd_label(const struct cmd_options *global, int argc, char **argv);
int cmd_rm(const struct cmd_options *global, int argc, char **argv);
int cmd_exec(const struct cmd_options *global, int argc, char **argv);
int cmd_bench(const struct cmd_options *global, int argc, char **argv);

#endif
