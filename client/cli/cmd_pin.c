/* cairn pin, unpin, pins: boundaries that stay whatever a policy says. */
#include <cairn/keep.h>
#include <inttypes.h>

#include "command.h"
#include "json.h"
#include "output.h"
#include "table.h"

static const char pin_doc[] =
    "Pin a boundary: it stays, whatever the policy says, and cannot be removed, until it is "
    "unpinned. A "
    "boundary may have several pins, by name; one of the same name is replaced.\v"
    "With --json the boundary, as an element of `cairn log --json`, without labels.";
static const char unpin_doc[] =
    "Take a pin away. What the policy does not keep then goes the next time that it is done.\v"
    "With --json the boundary, as an element of `cairn log --json`, without labels.";
static const char pins_doc[] =
    "List the pins of a run.\v"
    "With --json:\n"
    "  {\"run\": TEXT, \"pins\": [{\"seq\": N, \"name\": TEXT, \"why\": TEXT, \"uid\": N,\n"
    "     \"user\": TEXT, \"created_ns\": N, \"created\": TIME}]}";

struct pin_args {
    struct cmd_args cmd;
    const char *name, *why;
};

static error_t pin_parse(int key, char *arg, struct argp_state *state)
{
    struct pin_args *args = state->input;
    switch (key) {
    case 'n':
        args->name = arg;
        return 0;
    case 'w':
        args->why = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->name == NULL) {
            argp_error(state, "--name is needed");
        }
        return cmd_parse_words(key, arg, state, 1, 1);
    default:
        return cmd_parse_words(key, arg, state, 1, 1);
    }
}

static const struct argp_option pin_name_option = {
    "name", 'n', "NAME", 0, "its name: letters, digits, '.', '_', '-'", 0
};

static void pin_say(const struct pin_args *args, const struct cairn_boundary *b, const char *done)
{
    if (args->cmd.options.json) {
        json_out(json_boundary(b));
    } else if (!args->cmd.options.quiet) {
        out_text(stdout, args->cmd.words[0]);
        (void)printf(": seq %" PRIu64 ", step %" PRIu64 " %s '", b->seq, b->step, done);
        out_text(stdout, args->name);
        (void)puts("'");
    }
}

int cmd_pin(const struct cmd_options *global, int argc, char **argv)
{
    const struct argp_option options[] = {
        pin_name_option,
        { "why", 'w', "TEXT", 0, "what for", 0 },
        { 0 },
    };
    const struct argp argp = {
        options, pin_parse, "RUN@SELECTOR", pin_doc, cmd_children, NULL, NULL
    };
    struct pin_args args = { .cmd.options = *global };
    struct cmd_target target;
    struct cairn_boundary b;
    struct cairn *c = NULL;
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    int code = cmd_open(&args.cmd.options, args.cmd.words[0], &target, &c);
    if (code != OUT_OK) {
        return code;
    }
    int rc = cairn_pin(c, target.selector, args.name, args.why, &b);
    if (rc < 0) {
        code = (int)out_fail(c, args.cmd.options.json, rc, args.cmd.words[0]);
    } else {
        pin_say(&args, &b, "is pinned as");
    }
    (void)cairn_close(c);
    return code;
}

int cmd_unpin(const struct cmd_options *global, int argc, char **argv)
{
    const struct argp_option options[] = { pin_name_option, { 0 } };
    const struct argp argp = { options, pin_parse, "RUN@SELECTOR", unpin_doc, cmd_children,
                               NULL,    NULL };
    struct pin_args args = { .cmd.options = *global };
    struct cmd_target target;
    struct cairn_boundary b;
    struct cairn *c = NULL;
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    int code = cmd_open(&args.cmd.options, args.cmd.words[0], &target, &c);
    if (code != OUT_OK) {
        return code;
    }
    int rc = cairn_unpin(c, target.selector, args.name, &b);
    if (rc < 0) {
        code = (int)out_fail(c, args.cmd.options.json, rc, args.cmd.words[0]);
    } else {
        pin_say(&args, &b, "is no longer pinned as");
    }
    (void)cairn_close(c);
    return code;
}

/* ---- pins ------------------------------------------------------------------------------------ */

struct pins_sink {
    struct table *table; /* or */
    json_t *array;
};

static int pins_each(void *arg, const struct cairn_pin_info *pin)
{
    struct pins_sink *sink = arg;
    struct out_buf buf;
    if (sink->table != NULL) {
        table_row(sink->table);
        table_cell(sink->table, "%" PRIu64, pin->seq);
        table_cell_text(sink->table, pin->name);
        table_cell_text(sink->table, out_user(&buf, pin->uid));
        table_cell(sink->table, "%s", out_age(&buf, pin->created_ns));
        table_cell_text(sink->table, pin->why);
        return 0;
    }
    json_t *o = json_object();
    json_set(o, "seq", json_u64(pin->seq));
    json_set(o, "name", json_text(pin->name));
    json_set(o, "why", json_text(pin->why));
    json_set(o, "uid", json_u64(pin->uid));
    json_set(o, "user", json_text(out_user(&buf, pin->uid)));
    json_set(o, "created_ns", json_u64(pin->created_ns));
    json_set(o, "created", json_text(out_time(&buf, pin->created_ns)));
    json_add(sink->array, o);
    return 0;
}

static int pins_list(struct cairn *c, const struct cmd_options *o, const char *run)
{
    static const struct table_column columns[] = {
        { "SEQ", true }, { "NAME", false }, { "BY", false }, { "AGE", false }, { "WHY", false },
    };
    struct pins_sink sink = { .array = o->json ? json_array() : NULL };
    if (!o->json) {
        sink.table = table_new(columns, sizeof columns / sizeof columns[0], !o->quiet);
    }
    int rc = cairn_pins(c, pins_each, &sink);
    if (rc == 0 && o->json) {
        json_t *document = json_object();
        json_set(document, "run", json_text(run));
        json_set(document, "pins", json_incref(sink.array));
        json_out(document);
    } else if (rc == 0) {
        table_flush(sink.table);
    }
    json_decref(sink.array);
    (void)table_free(sink.table);
    return rc;
}

static error_t pins_parse(int key, char *arg, struct argp_state *state)
{
    return cmd_parse_words(key, arg, state, 1, 1);
}

int cmd_pins(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp argp = { NULL, pins_parse, "RUN", pins_doc, cmd_children, NULL, NULL };
    struct cmd_args args = { .options = *global };
    struct cmd_target target;
    struct cairn *c = NULL;
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    int code = cmd_open(&args.options, args.words[0], &target, &c);
    if (code == OUT_OK) {
        int rc = pins_list(c, &args.options, target.run);
        code = rc < 0 ? (int)out_fail(c, args.options.json, rc, args.words[0]) : OUT_OK;
    }
    (void)cairn_close(c);
    return code;
}
