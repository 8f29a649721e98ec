/* cairn runs: a row per run. */
#include <cairn/admin.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "json.h"
#include "output.h"
#include "table.h"

static const char runs_doc[] =
    "List the runs that are stored: yours, or with --all everybody's (root only).\v"
    "With --json:\n"
    "  {\"runs\": [{\"uid\": N, \"user\": TEXT, \"name\": TEXT, \"boundaries\": N,\n"
    "     \"latest_seq\": N, \"latest_step\": N, \"latest_ns\": N, \"latest\": TIME,\n"
    "     \"bytes\": N, \"poisoned\": bool}]}\n"
    "poisoned: read-only after a failed write; restart the daemon, then verify the run.";

struct runs_args {
    struct cmd_args cmd;
    bool all;
};

static error_t runs_parse(int key, char *arg, struct argp_state *state)
{
    struct runs_args *args = state->input;
    if (key == 'a') {
        args->all = true;
        return 0;
    }
    return cmd_parse_words(key, arg, state, 0, 0);
}

struct runs_sink {
    struct table *table; /* or */
    json_t *array;
};

static int runs_row(void *arg, const struct cairn_run_info *info)
{
    struct runs_sink *sink = arg;
    struct out_buf b;
    table_row(sink->table);
    if (info->uid == geteuid()) {
        table_cell_text(sink->table, info->name);
    } else {
        char *name = out_format("%s/%s", out_user(&b, info->uid), info->name);
        table_cell_text(sink->table, name);
        free(name);
    }
    bool empty = info->boundary_count == 0;
    table_cell(sink->table, "%" PRIu64, info->boundary_count);
    if (empty) {
        table_cell(sink->table, "-");
        table_cell(sink->table, "-");
    } else {
        table_cell(sink->table, "%" PRIu64, info->latest_seq);
        table_cell(sink->table, "%" PRIu64, info->latest_step);
    }
    table_cell(sink->table, "%s", empty ? "-" : out_age(&b, info->latest_ns));
    table_cell(sink->table, "%s", out_size(&b, info->bytes));
    table_cell(sink->table, "%s", info->poisoned ? "read-only" : "");
    return 0;
}

static int runs_object(void *arg, const struct cairn_run_info *info)
{
    struct runs_sink *sink = arg;
    struct out_buf b;
    json_t *o = json_object();
    json_set(o, "uid", json_u64(info->uid));
    json_set(o, "user", json_text(out_user(&b, info->uid)));
    json_set(o, "name", json_text(info->name));
    json_set(o, "boundaries", json_u64(info->boundary_count));
    json_set(o, "latest_seq", json_u64(info->latest_seq));
    json_set(o, "latest_step", json_u64(info->latest_step));
    json_set(o, "latest_ns", json_u64(info->latest_ns));
    json_set(o, "latest", json_text(out_time(&b, info->latest_ns)));
    json_set(o, "bytes", json_u64(info->bytes));
    json_set(o, "poisoned", json_boolean(info->poisoned));
    json_add(sink->array, o);
    return 0;
}

static int runs_list_json(struct cairn *c, bool all)
{
    struct runs_sink sink = { .array = json_array() };
    int rc = cairn_runs(c, all, runs_object, &sink);
    if (rc < 0) {
        json_decref(sink.array);
        return rc;
    }
    json_t *document = json_object();
    json_set(document, "runs", sink.array);
    json_out(document);
    return 0;
}

static int runs_list_table(struct cairn *c, bool all, bool headings)
{
    static const struct table_column columns[] = {
        { "RUN", false }, { "BOUNDARIES", true }, { "SEQ", true },    { "STEP", true },
        { "AGE", false }, { "SIZE", true },       { "STATE", false },
    };
    struct table *table = table_new(columns, sizeof columns / sizeof columns[0], headings);
    struct runs_sink sink = { .table = table };
    int rc = cairn_runs(c, all, runs_row, &sink);
    table_flush(table);
    (void)table_free(table);
    return rc;
}

int cmd_runs(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp_option options[] = {
        { "all", 'a', NULL, 0, "everybody's runs", 0 },
        { 0 },
    };
    static const struct argp argp = { options, runs_parse, "", runs_doc, cmd_children, NULL, NULL };
    struct runs_args args = { .cmd.options = *global };
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    const struct cmd_options *o = &args.cmd.options;
    struct cairn *c = NULL;
    int code = cmd_open(o, NULL, NULL, &c);
    if (code != OUT_OK) {
        return code;
    }
    int rc = o->json ? runs_list_json(c, args.all) : runs_list_table(c, args.all, !o->quiet);
    if (rc < 0) {
        code = (int)out_fail(c, o->json, rc, "runs");
    }
    (void)cairn_close(c);
    return code;
}
