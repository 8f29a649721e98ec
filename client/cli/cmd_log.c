/* cairn log: the boundaries of a run, newest first. */
#include <cairn/admin.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "output.h"
#include "table.h"

static const char log_doc[] =
    "List the boundaries of a run, newest first; RUN@SELECTOR begins with that boundary. NEW is "
    "what was written for a boundary: the rest of its SIZE was there already. KIND also says that "
    "one is not finite (a trainable tensor of its model, or one of its optimizer, holds NaN or "
    "Inf), "
    "stale (its step is another than that of the one before, what is trained is the same), "
    "abandoned (a rollback led behind it), rotten (its payload was found to be damaged) or pinned. "
    "DAMAGED is one whose row cannot be read. Exit code: 0 fine, 1 one of them is damaged or "
    "rotten.\v"
    "With --json:\n"
    "  {\"run\": TEXT, \"boundaries\": [{\"seq\": N, \"step\": N, \"parent_seq\": N,\n"
    "     \"kind\": TEXT, \"precision\": TEXT, \"exact\": bool, \"created_ns\": N,\n"
    "     \"created\": TIME, \"entries\": N, \"bytes\": N, \"bytes_new\": N,\n"
    "     \"bytes_shared\": N, \"nan\": N, \"inf\": N, \"finite\": bool, \"warnings\": N,\n"
    "     \"trainable_bytes\": N, \"trainable_new_bytes\": N,\n"
    "     \"abandoned\": bool, \"rotten\": bool, \"pins\": N,\n"
    "     \"save_id\": HEX, \"root\": HEX,\n"
    "     \"damaged\": bool, \"labels\": {NAME: TEXT...}}]}\n"
    "A boundary that is damaged has no more than seq and damaged. nan and inf count in all "
    "tensors, "
    "finite goes by those of model and optimizer alone.\n"
    "kind: plain, or dtypes, weighted, model-state joined by '+'.";

#define LOG_DEFAULT 20
#define LOG_PAGE 512 /* boundaries asked for at once */
#define LOG_COLUMNS 11

struct log_args {
    struct cmd_args cmd;
    size_t max;
};

static error_t log_parse(int key, char *arg, struct argp_state *state)
{
    struct log_args *args = state->input;
    if (key == 'n') {
        char *end = NULL;
        unsigned long long max = strtoull(arg, &end, 10);
        if (arg[0] < '0' || arg[0] > '9' || *end != '\0' || max == 0 || max > SIZE_MAX) {
            char *safe = out_escape(arg);
            argp_error(state, "--max wants a number from 1, not '%s'", safe); /* ends the program */
            free(safe);
        }
        args->max = (size_t)max;
        return 0;
    }
    return cmd_parse_words(key, arg, state, 1, 1);
}

struct log_sink {
    struct table *table; /* or */
    json_t *array;
    size_t damaged_count;
};

/* "name=value name=value" */
static char *log_labels_text(struct cairn *c, size_t index)
{
    char name[65];
    char value[257];
    char *text = out_format("%s", "");
    for (size_t i = 0; cairn_found_label(c, index, i, name, value) == 0; i++) {
        char *longer = out_format("%s%s%s=%s", text, i == 0 ? "" : " ", name, value);
        free(text);
        text = longer;
    }
    return text;
}

static json_t *log_labels_json(struct cairn *c, size_t index)
{
    char name[65];
    char value[257];
    json_t *labels = json_object();
    for (size_t i = 0; cairn_found_label(c, index, i, name, value) == 0; i++) {
        json_set(labels, name, json_text(value));
    }
    return labels;
}

static void log_row_damaged(struct table *t, uint64_t seq)
{
    table_row(t);
    table_cell(t, "%" PRIu64, seq);
    table_cell(t, "-");
    table_cell(t, "DAMAGED");
    for (size_t i = 3; i < LOG_COLUMNS; i++) {
        table_cell(t, "%s", i < LOG_COLUMNS - 1 ? "-" : "");
    }
}

static void log_row(struct cairn *c, struct table *t, const struct cairn_boundary *b, size_t index)
{
    struct out_buf buf;
    table_row(t);
    table_cell(t, "%" PRIu64, b->seq);
    table_cell(t, "%" PRIu64, b->step);
    table_cell(t,
               "%s%s%s%s%s%s%s",
               out_kind_name(&buf, b->kind),
               b->exact ? "" : ", lossy",
               b->finite ? "" : ", not finite",
               (b->warnings & CAIRN_WARNING_STALE) != 0 ? ", stale" : "",
               b->abandoned ? ", abandoned" : "",
               b->rotten ? ", rotten" : "",
               b->pin_count > 0 ? ", pinned" : "");
    table_cell(t, "%s", out_age(&buf, b->created_ns));
    table_cell(t, "%s", out_time(&buf, b->created_ns));
    table_cell(t, "%" PRIu64, b->entry_count);
    table_cell(t, "%s", out_size(&buf, b->payload_bytes));
    table_cell(t, "%s", out_size(&buf, b->bytes_new));
    table_cell(t, "%s", out_size(&buf, b->bytes_shared));
    table_cell(t, "%s", out_hex(&buf, b->save_id, sizeof b->save_id));
    char *labels = log_labels_text(c, index);
    table_cell_text(t, labels);
    free(labels);
}

static json_t *log_object(struct cairn *c, const struct cairn_boundary *b, size_t index)
{
    json_t *object = b->damaged ? json_object() : json_boundary(b);
    if (b->damaged) {
        json_set(object, "seq", json_u64(b->seq));
    } else {
        json_set(object, "labels", log_labels_json(c, index));
    }
    json_set(object, "damaged", json_boolean(b->damaged));
    return object;
}

static void
log_emit(struct cairn *c, struct log_sink *sink, const struct cairn_boundary *b, size_t index)
{
    sink->damaged_count += b->damaged || b->rotten ? 1 : 0;
    if (sink->table == NULL) {
        json_add(sink->array, log_object(c, b, index));
    } else if (b->damaged) {
        log_row_damaged(sink->table, b->seq);
    } else {
        log_row(c, sink->table, b, index);
    }
}

/* The daemon answers a page at a time: the next page begins with the last boundary of this one. */
static int log_walk(struct cairn *c, const char *selector, size_t max, struct log_sink *sink)
{
    struct cairn_boundary page[LOG_PAGE];
    char next[32];
    size_t skip = 0;
    for (;;) {
        size_t want = max < LOG_PAGE - skip ? max + skip : LOG_PAGE;
        size_t count = 0;
        int rc = cairn_list(c, selector, want, page, &count);
        if (rc < 0) {
            return rc;
        }
        for (size_t i = skip; i < count; i++) {
            log_emit(c, sink, &page[i], i);
            max--;
        }
        if (count < want || max == 0) {
            return 0;
        }
        (void)snprintf(next, sizeof next, "seq:%" PRIu64, page[count - 1].seq);
        selector = next;
        skip = 1;
    }
}

static int
log_json(struct cairn *c, const struct cmd_target *target, size_t max, size_t *ret_damaged)
{
    struct log_sink sink = { .array = json_array() };
    int rc = log_walk(c, target->selector, max, &sink);
    if (rc < 0) {
        json_decref(sink.array);
        return rc;
    }
    *ret_damaged = sink.damaged_count;
    json_t *document = json_object();
    json_set(document, "run", json_text(target->run));
    json_set(document, "boundaries", sink.array);
    json_out(document);
    return 0;
}

static int log_table(struct cairn *c,
                     const struct cmd_target *target,
                     size_t max,
                     bool headings,
                     size_t *ret_damaged)
{
    static const struct table_column columns[LOG_COLUMNS] = {
        { "SEQ", true },    { "STEP", true },     { "KIND", false },   { "AGE", false },
        { "TIME", false },  { "ENTRIES", true },  { "SIZE", true },    { "NEW", true },
        { "SHARED", true }, { "SAVE ID", false }, { "LABELS", false },
    };
    struct table *table = table_new(columns, LOG_COLUMNS, headings);
    struct log_sink sink = { .table = table };
    int rc = log_walk(c, target->selector, max, &sink);
    table_flush(table);
    (void)table_free(table);
    *ret_damaged = sink.damaged_count;
    return rc;
}

int cmd_log(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp_option options[] = {
        { "max", 'n', "N", 0, "at most N boundaries (default 20)", 0 },
        { 0 },
    };
    static const struct argp argp = { options, log_parse, "RUN[@SELECTOR]", log_doc, cmd_children,
                                      NULL,    NULL };
    struct log_args args = { .cmd.options = *global, .max = LOG_DEFAULT };
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    const struct cmd_options *o = &args.cmd.options;
    struct cmd_target target;
    struct cairn *c = NULL;
    int code = cmd_open(o, args.cmd.words[0], &target, &c);
    if (code != OUT_OK) {
        return code;
    }
    size_t damaged = 0;
    int rc = o->json ? log_json(c, &target, args.max, &damaged)
                     : log_table(c, &target, args.max, !o->quiet, &damaged);
    if (rc < 0) {
        code = (int)out_fail(c, o->json, rc, args.cmd.words[0]);
    } else if (damaged > 0) {
        code = OUT_ATTENTION;
        (void)fprintf(
            stderr,
            "cairn: %zu of these boundaries are damaged: `cairn verify %s` says what else "
            "is, the others can be loaded\n",
            damaged,
            target.run);
    }
    (void)cairn_close(c);
    return code;
}
