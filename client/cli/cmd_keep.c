/* cairn keep: the policy of a run: shown, set, tried, done. */
#include <cairn/keep.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "output.h"
#include "table.h"

static const char keep_doc[] =
    "Show which boundaries of a run stay; with rules, set that: a boundary that any rule keeps, "
    "stays. Whatever the rules say, the newest two, the newest finite one, those that are pinned "
    "or "
    "being read, and damaged ones stay. It is done after each commit, and on a timer; --now does "
    "it "
    "at once, --dry-run only says what would go and why the others stay.\v"
    "With --json:\n"
    "  {\"run\": TEXT, \"policy\": TEXT, \"default\": bool}\n"
    "and with --dry-run, without \"default\":\n"
    "   \"goes_count\": N, \"boundaries\": [{\"seq\": N, \"step\": N, \"created_ns\": N,\n"
    "     \"created\": TIME, \"own_bytes\": N, \"goes\": bool, \"why\": TEXT, \"rule\": TEXT}]\n"
    "with --now: \"removed\": N, \"damaged\": N\n"
    "own_bytes: stored for it alone. rule: of the policy, when why is best. A boundary whose row "
    "is "
    "damaged has step and created_ns 0.";

enum {
    KEEP_OPT_LAST = 0x100,
    KEEP_OPT_EVERY,
    KEEP_OPT_BEST,
    KEEP_OPT_NEWER,
    KEEP_OPT_MAX_BYTES,
    KEEP_OPT_NONE,
    KEEP_OPT_DEFAULT,
    KEEP_OPT_NOW
};

struct keep_args {
    struct cmd_args cmd;
    char *policy; /* the rules that were given, by spaces; NULL: none was */
    bool dry_run, now;
};

static void keep_add(struct keep_args *args, const char *name, const char *value)
{
    char *longer = out_format("%s%s%s%s",
                              args->policy == NULL ? "" : args->policy,
                              args->policy == NULL ? "" : " ",
                              name,
                              value);
    free(args->policy);
    args->policy = longer;
}

static error_t keep_parse(int key, char *arg, struct argp_state *state)
{
    struct keep_args *args = state->input;
    switch (key) {
    case KEEP_OPT_LAST:
        keep_add(args, "last=", arg);
        return 0;
    case KEEP_OPT_EVERY:
        keep_add(args, "every=", arg);
        return 0;
    case KEEP_OPT_BEST:
        keep_add(args, "best=", arg);
        return 0;
    case KEEP_OPT_NEWER:
        keep_add(args, "newer=", arg);
        return 0;
    case KEEP_OPT_MAX_BYTES:
        keep_add(args, "max-bytes=", arg);
        return 0;
    case KEEP_OPT_NONE:
        keep_add(args, "none", "");
        return 0;
    case KEEP_OPT_DEFAULT:
        keep_add(args, "default", "");
        return 0;
    case 'n':
        args->dry_run = true;
        return 0;
    case KEEP_OPT_NOW:
        args->now = true;
        return 0;
    default:
        return cmd_parse_words(key, arg, state, 1, 1);
    }
}

/* ---- what would go --------------------------------------------------------------------------- */

struct keep_sink {
    struct table *table; /* or */
    json_t *array;
    const char *policy;
    uint64_t goes_count, goes_bytes;
};

/* The nth best rule of a policy, as it stands there; the caller frees. */
static char *keep_rule(const char *policy, uint32_t nth)
{
    const char *at = strstr(policy, "best=");
    while (at != NULL && nth-- > 0) {
        at = strstr(at + 1, "best=");
    }
    return at == NULL ? out_format("best") : out_format("%.*s", (int)strcspn(at, " "), at);
}

static json_t *keep_object(const struct keep_sink *sink, const struct cairn_kept *kept)
{
    struct out_buf buf;
    json_t *o = json_object();
    json_set(o, "seq", json_u64(kept->seq));
    json_set(o, "step", json_u64(kept->step));
    json_set(o, "created_ns", json_u64(kept->created_ns));
    json_set(o, "created", json_text(out_time(&buf, kept->created_ns)));
    json_set(o, "own_bytes", json_u64(kept->own_bytes));
    json_set(o, "goes", json_boolean(kept->goes));
    json_set(o, "why", json_text(cairn_keep_why_name(kept->why)));
    if (kept->why == CAIRN_KEEP_BEST) {
        char *rule = keep_rule(sink->policy, kept->rule);
        json_set(o, "rule", json_text(rule));
        free(rule);
    }
    return o;
}

static void keep_row(const struct keep_sink *sink, const struct cairn_kept *kept)
{
    struct out_buf buf;
    char *rule = kept->why == CAIRN_KEEP_BEST ? keep_rule(sink->policy, kept->rule)
                                              : out_format("%s", cairn_keep_why_name(kept->why));
    table_row(sink->table);
    table_cell(sink->table, "%" PRIu64, kept->seq);
    table_cell(sink->table, "%" PRIu64, kept->step);
    table_cell(sink->table, "%s", out_age(&buf, kept->created_ns));
    table_cell(sink->table, "%s", out_size(&buf, kept->own_bytes));
    table_cell(sink->table, "%s", kept->goes ? "goes" : "stays");
    table_cell(sink->table, "%s", rule);
    free(rule);
}

static int keep_each(void *arg, const struct cairn_kept *kept)
{
    struct keep_sink *sink = arg;
    sink->goes_count += kept->goes ? 1 : 0;
    sink->goes_bytes += kept->goes ? kept->own_bytes : 0;
    if (sink->table == NULL) {
        json_add(sink->array, keep_object(sink, kept));
    } else {
        keep_row(sink, kept);
    }
    return 0;
}

static int keep_dry_json(struct cairn *c, const char *run, const char *policy)
{
    char text[CAIRN_POLICY_BYTES] = "";
    struct keep_sink sink = { .array = json_array(), .policy = text };
    int rc = cairn_keep_ask(c, policy, keep_each, &sink, text);
    if (rc < 0) {
        json_decref(sink.array);
        return rc;
    }
    json_t *o = json_object();
    json_set(o, "run", json_text(run));
    json_set(o, "policy", json_text(text));
    json_set(o, "goes_count", json_u64(sink.goes_count));
    json_set(o, "boundaries", sink.array);
    json_out(o);
    return 0;
}

static int keep_dry_table(struct cairn *c, const char *policy, bool quiet)
{
    static const struct table_column columns[] = {
        { "SEQ", true }, { "STEP", true }, { "AGE", false },
        { "OWN", true }, { "", false },    { "WHY", false },
    };
    struct out_buf buf;
    char text[CAIRN_POLICY_BYTES] = "";
    struct table *table = table_new(columns, sizeof columns / sizeof columns[0], !quiet);
    struct keep_sink sink = { .table = table, .policy = text };
    int rc = cairn_keep_ask(c, policy, keep_each, &sink, text);
    if (rc == 0) {
        table_flush(table);
    }
    (void)table_free(table);
    if (rc == 0 && !quiet) {
        (void)printf("%s: %" PRIu64 " of them would go, %s that nothing else needs\n",
                     text,
                     sink.goes_count,
                     out_size(&buf, sink.goes_bytes));
    }
    return rc;
}

/* ---- the policy ------------------------------------------------------------------------------ */

static void keep_say(const struct cmd_options *o, const char *run, const char *policy, bool preset)
{
    if (!o->json) {
        (void)printf("%s%s\n", policy, preset && !o->quiet ? "  (the daemon's default)" : "");
        return;
    }
    json_t *document = json_object();
    json_set(document, "run", json_text(run));
    json_set(document, "policy", json_text(policy));
    json_set(document, "default", json_boolean(preset));
    json_out(document);
}

static void keep_say_done(const struct cmd_options *o,
                          const char *run,
                          const char *policy,
                          uint64_t removed,
                          uint64_t damaged)
{
    if (o->json) {
        json_t *document = json_object();
        json_set(document, "run", json_text(run));
        json_set(document, "policy", json_text(policy));
        json_set(document, "removed", json_u64(removed));
        json_set(document, "damaged", json_u64(damaged));
        json_out(document);
        return;
    }
    (void)printf("%s: %" PRIu64 " removed\n", policy, removed);
    if (damaged > 0) {
        (void)printf("%" PRIu64
                     " could not be removed, as they are damaged: `cairn verify %s` says how\n",
                     damaged,
                     run);
    }
}

static int keep_run(struct cairn *c, const struct keep_args *args, const struct cmd_target *target)
{
    const struct cmd_options *o = &args->cmd.options;
    char policy[CAIRN_POLICY_BYTES];
    bool preset = false;
    uint64_t removed = 0;
    uint64_t damaged = 0;
    if (args->dry_run) {
        return o->json ? keep_dry_json(c, target->run, args->policy)
                       : keep_dry_table(c, args->policy, o->quiet);
    }
    int rc = cairn_policy(c, args->policy, policy, &preset);
    if (rc == 0 && args->now) {
        rc = cairn_keep(c, &removed, &damaged);
    }
    if (rc == 0 && args->now) {
        keep_say_done(o, target->run, policy, removed, damaged);
    } else if (rc == 0) {
        keep_say(o, target->run, policy, preset);
    }
    return rc;
}

int cmd_keep(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp_option options[] = {
        { "last", KEEP_OPT_LAST, "N", 0, "keep the newest N", 0 },
        { "every",
          KEEP_OPT_EVERY,
          "STEPS",
          0,
          "for each multiple of STEPS, keep the last that does not exceed it",
          0 },
        { "best",
          KEEP_OPT_BEST,
          "LABEL:min|max[:N]",
          0,
          "keep the N (1) with the best number as LABEL; may be given again",
          0 },
        { "newer", KEEP_OPT_NEWER, "TIME", 0, "keep those of the last TIME: 7d, 12h, 30min", 0 },
        { "max-bytes",
          KEEP_OPT_MAX_BYTES,
          "SIZE",
          0,
          "beyond SIZE the oldest of what only rules keep goes, too: 200GiB",
          0 },
        { "none", KEEP_OPT_NONE, NULL, 0, "no rule: keep everything", 0 },
        { "default",
          KEEP_OPT_DEFAULT,
          NULL,
          0,
          "what the daemon has for runs without a policy",
          0 },
        { "dry-run", 'n', NULL, 0, "set and remove nothing: say what would go", 0 },
        { "now", KEEP_OPT_NOW, NULL, 0, "do it at once", 0 },
        { 0 },
    };
    static const struct argp argp = {
        options, keep_parse, "RUN", keep_doc, cmd_children, NULL, NULL
    };
    struct keep_args args = { .cmd.options = *global };
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    struct cmd_target target;
    struct cairn *c = NULL;
    int code = cmd_open(&args.cmd.options, args.cmd.words[0], &target, &c);
    if (code == OUT_OK) {
        int rc = keep_run(c, &args, &target);
        code = rc < 0 ? (int)out_fail(c, args.cmd.options.json, rc, args.cmd.words[0]) : OUT_OK;
    }
    (void)cairn_close(c);
    free(args.policy);
    return code;
}
