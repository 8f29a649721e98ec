#include "command.h"

#include <cairn/admin.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

const struct command commands[] = {
    { "status", "", "how the daemon is; leads with what needs a hand", cmd_status },
    { "runs", "", "the runs that are stored", cmd_runs },
    { "log", "RUN", "the boundaries of a run, newest first", cmd_log },
    { "show", "SELECTOR [PATH]", "what one boundary holds", cmd_show },
    { "verify", "RUN|SELECTOR", "read and check what is stored", cmd_verify },
    { "exec", "-- COMMAND...", "run a command beside a daemon of its own", cmd_exec },
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

error_t cmd_parse_words(int key, char *arg, struct argp_state *state, unsigned least, unsigned most)
{
    struct cmd_args *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->options;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num >= most) {
            argp_error(state, "too many arguments: '%s'", arg);
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

/* USER/RUN becomes UID/RUN, which is what the daemon knows. Errors: ENOENT; EINVAL too long. */
static int cmd_owner(char *run, size_t run_bytes)
{
    char *slash = strchr(run, '/');
    size_t user_bytes = slash == NULL ? 0 : (size_t)(slash - run);
    if (user_bytes == 0 || strspn(run, "0123456789") == user_bytes) {
        return 0;
    }
    struct passwd entry;
    struct passwd *found = NULL;
    char room[4096];
    char *name = out_format("%s", slash + 1);
    *slash = '\0';
    int rc = -CAIRN_ENOENT;
    if (getpwnam_r(run, &entry, room, sizeof room, &found) == 0 && found != NULL) {
        int length = snprintf(run, run_bytes, "%u/%s", (unsigned)found->pw_uid, name);
        rc = length > 0 && (size_t)length < run_bytes ? 0 : -CAIRN_EINVAL;
    }
    free(name);
    return rc;
}

static int cmd_split(const char *text, struct cmd_target *ret)
{
    const char *at = strrchr(text, '@');
    size_t run_bytes = at == NULL ? strlen(text) : (size_t)(at - text);
    if (run_bytes == 0 || run_bytes >= sizeof ret->run) {
        return -CAIRN_EINVAL;
    }
    memcpy(ret->run, text, run_bytes);
    ret->run[run_bytes] = '\0';
    ret->has_selector = at != NULL;
    ret->selector = at != NULL && at[1] != '\0' ? at + 1 : "latest";
    return cmd_owner(ret->run, sizeof ret->run);
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
