/* cairn du: what runs take of the disk, and what the boundaries of one have for themselves. */
#include <cairn/admin.h>
#include <cairn/keep.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "json.h"
#include "output.h"
#include "table.h"

static const char du_doc[] =
    "Say what your runs take of the disk (with --all everybody's; root only), or with RUN what "
    "each of its boundaries has for itself, which removing it alone frees, and what it shares with "
    "others.\v"
    "PAYLOAD counts what several boundaries share once. SEGMENTS are the files that it lies in, "
    "UNNAMED what saves are being written to and the file that is kept for the next one; both "
    "and INDEX are blocks that the file system has given to them.\n"
    "With --json:\n"
    "  {\"runs\": [{\"run\": TEXT, \"boundary_count\": N, \"payload_bytes\": N,\n"
    "     \"segment_bytes\": N, \"unnamed_bytes\": N, \"index_bytes\": N, \"total_bytes\": N,\n"
    "     \"boundaries\": [{\"seq\": N, \"step\": N, \"created_ns\": N, \"created\": TIME,\n"
    "        \"own_bytes\": N, \"shared_bytes\": N}]}]}\n"
    "boundaries: only with RUN. A run that cannot be looked at has \"error\" instead.";

struct du_args {
    struct cmd_args cmd;
    bool all;
};

static error_t du_parse(int key, char *arg, struct argp_state *state)
{
    struct du_args *args = state->input;
    if (key == 'a') {
        args->all = true;
        return 0;
    }
    return cmd_parse_words(key, arg, state, 0, 1);
}

static uint64_t du_total(const struct cairn_usage *u)
{
    return u->segment_bytes + u->unnamed_bytes + u->index_bytes;
}

static json_t *du_object(const char *run, const struct cairn_usage *u)
{
    json_t *o = json_object();
    json_set(o, "run", json_text(run));
    json_set(o, "boundary_count", json_u64(u->boundary_count));
    json_set(o, "payload_bytes", json_u64(u->payload_bytes));
    json_set(o, "segment_bytes", json_u64(u->segment_bytes));
    json_set(o, "unnamed_bytes", json_u64(u->unnamed_bytes));
    json_set(o, "index_bytes", json_u64(u->index_bytes));
    json_set(o, "total_bytes", json_u64(du_total(u)));
    return o;
}

static void du_out_runs(json_t *runs)
{
    json_t *document = json_object();
    json_set(document, "runs", runs);
    json_out(document);
}

/* ---- every run ------------------------------------------------------------------------------- */

/* Names come first: the handle can be turned to a run only when the listing is over. */
struct du_names {
    char **names;
    size_t count, cap;
};

static int du_name(void *arg, const struct cairn_run_info *info)
{
    struct du_names *n = arg;
    if (n->count == n->cap) {
        size_t cap = n->cap == 0 ? 64 : 2 * n->cap;
        char **names = reallocarray(n->names, cap, sizeof *names);
        if (names == NULL) {
            return -CAIRN_ENOMEM;
        }
        n->names = names;
        n->cap = cap;
    }
    n->names[n->count++] = info->uid == geteuid()
                               ? out_format("%s", info->name)
                               : out_format("%" PRIu32 "/%s", info->uid, info->name);
    return 0;
}

static void du_names_free(struct du_names *n)
{
    for (size_t i = 0; i < n->count; i++) {
        free(n->names[i]);
    }
    free(n->names);
}

struct du_sink {
    struct table *table; /* or */
    json_t *array;
};

static void du_row(struct table *table, const char *run, const struct cairn_usage *u)
{
    struct out_buf b;
    table_row(table);
    table_cell_text(table, run);
    table_cell(table, "%" PRIu64, u->boundary_count);
    table_cell(table, "%s", out_size(&b, u->payload_bytes));
    table_cell(table, "%s", out_size(&b, u->segment_bytes));
    table_cell(table, "%s", out_size(&b, u->unnamed_bytes));
    table_cell(table, "%s", out_size(&b, u->index_bytes));
    table_cell(table, "%s", out_size(&b, du_total(u)));
}

/* One run that cannot be looked at hides no other. */
static int du_failed(struct cairn *c, const struct du_sink *sink, int rc, const char *run)
{
    if (sink->table == NULL) {
        json_t *o = json_object();
        json_set(o, "run", json_text(run));
        json_set(o, "error", json_error(rc, run, out_why(c, rc)));
        json_add(sink->array, o);
    }
    return (int)out_fail(c, false, rc, run);
}

static int du_run(struct cairn *c, const struct du_sink *sink, const char *run)
{
    struct cairn_usage usage;
    int rc = cairn_admin_run(c, run);
    rc = rc < 0 ? rc : cairn_usage(c, NULL, NULL, &usage);
    if (rc == -CAIRN_ENOENT) {
        return OUT_OK; /* dropped since it was listed */
    }
    if (rc < 0) {
        return du_failed(c, sink, rc, run);
    }
    if (sink->table == NULL) {
        json_add(sink->array, du_object(run, &usage));
    } else {
        du_row(sink->table, run, &usage);
    }
    return OUT_OK;
}

static int du_runs(struct cairn *c, const struct du_args *args)
{
    static const struct table_column columns[] = {
        { "RUN", false },    { "BOUNDARIES", true }, { "PAYLOAD", true }, { "SEGMENTS", true },
        { "UNNAMED", true }, { "INDEX", true },      { "TOTAL", true },
    };
    const struct cmd_options *o = &args->cmd.options;
    struct du_names names = { .count = 0 };
    int code = OUT_OK;
    int rc = cairn_runs(c, args->all, du_name, &names);
    if (rc < 0) {
        du_names_free(&names);
        return (int)out_fail(c, o->json, rc, "runs");
    }
    struct du_sink sink = { .array = o->json ? json_array() : NULL };
    if (!o->json) {
        sink.table = table_new(columns, sizeof columns / sizeof columns[0], !o->quiet);
    }
    for (size_t i = 0; i < names.count; i++) {
        int one = du_run(c, &sink, names.names[i]);
        code = one == OUT_OK ? code : one;
    }
    du_names_free(&names);
    if (o->json) {
        du_out_runs(sink.array);
    } else {
        table_flush(sink.table);
        (void)table_free(sink.table);
    }
    return code;
}

/* ---- one run --------------------------------------------------------------------------------- */

static int du_each(void *arg, const struct cairn_kept *kept)
{
    struct du_sink *sink = arg;
    struct out_buf b;
    if (sink->table != NULL) {
        table_row(sink->table);
        table_cell(sink->table, "%" PRIu64, kept->seq);
        table_cell(sink->table, "%" PRIu64, kept->step);
        table_cell(sink->table, "%s", out_age(&b, kept->created_ns));
        table_cell(sink->table, "%s", out_size(&b, kept->own_bytes));
        table_cell(sink->table, "%s", out_size(&b, kept->shared_bytes));
        return 0;
    }
    json_t *o = json_object();
    json_set(o, "seq", json_u64(kept->seq));
    json_set(o, "step", json_u64(kept->step));
    json_set(o, "created_ns", json_u64(kept->created_ns));
    json_set(o, "created", json_text(out_time(&b, kept->created_ns)));
    json_set(o, "own_bytes", json_u64(kept->own_bytes));
    json_set(o, "shared_bytes", json_u64(kept->shared_bytes));
    json_add(sink->array, o);
    return 0;
}

static void du_say_sum(const struct cairn_usage *u)
{
    struct out_buf payload;
    struct out_buf segments;
    struct out_buf unnamed;
    struct out_buf index;
    struct out_buf total;
    (void)printf("%" PRIu64 " boundaries, %s of payload; on the disk %s, of which segments %s, "
                 "unnamed %s, index %s\n",
                 u->boundary_count,
                 out_size(&payload, u->payload_bytes),
                 out_size(&total, du_total(u)),
                 out_size(&segments, u->segment_bytes),
                 out_size(&unnamed, u->unnamed_bytes),
                 out_size(&index, u->index_bytes));
}

static int du_table(struct cairn *c, bool quiet)
{
    static const struct table_column columns[] = {
        { "SEQ", true }, { "STEP", true }, { "AGE", false }, { "OWN", true }, { "SHARED", true },
    };
    struct du_sink sink = { .table =
                                table_new(columns, sizeof columns / sizeof columns[0], !quiet) };
    struct cairn_usage usage;
    int rc = cairn_usage(c, du_each, &sink, &usage);
    if (rc == 0) {
        table_flush(sink.table);
    }
    (void)table_free(sink.table);
    if (rc == 0 && !quiet) {
        du_say_sum(&usage);
    }
    return rc;
}

static int du_json(struct cairn *c, const char *run)
{
    struct du_sink sink = { .array = json_array() };
    struct cairn_usage usage;
    int rc = cairn_usage(c, du_each, &sink, &usage);
    if (rc < 0) {
        json_decref(sink.array);
        return rc;
    }
    json_t *runs = json_array();
    json_t *o = du_object(run, &usage);
    json_set(o, "boundaries", sink.array);
    json_add(runs, o);
    du_out_runs(runs);
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

int cmd_du(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp_option options[] = {
        { "all", 'a', NULL, 0, "everybody's runs", 0 },
        { 0 },
    };
    static const struct argp argp = {
        options, du_parse, "[RUN]", du_doc, cmd_children, NULL, NULL
    };
    struct du_args args = { .cmd.options = *global };
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    const struct cmd_options *o = &args.cmd.options;
    const char *run = args.cmd.words[0];
    struct cmd_target target;
    struct cairn *c = NULL;
    int code = cmd_open(o, run, run == NULL ? NULL : &target, &c);
    if (code == OUT_OK && run == NULL) {
        code = du_runs(c, &args);
    } else if (code == OUT_OK) {
        int rc = o->json ? du_json(c, target.run) : du_table(c, o->quiet);
        code = rc < 0 ? (int)out_fail(c, o->json, rc, run) : OUT_OK;
    }
    (void)cairn_close(c);
    return code;
}
