/* cairn show: what one boundary holds: its facts, its components, its entries. */
#include <cairn/admin.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "output.h"
#include "show_entries.h"
#include "table.h"

static const char show_doc[] =
    "Show what one boundary holds: its facts, its components, and its entries. PATH chooses "
    "entries by COMPONENT/PATH, as a prefix or as a glob ('model/layer1.*', quoted).\v"
    "With --json:\n"
    "  {\"run\": TEXT, \"boundary\": {as in cairn log, labels included},\n"
    "   \"components\": [{\"component\": TEXT, \"type\": TEXT, \"entries\": N, \"bytes\": N,\n"
    "     \"chunks\": N, \"nan\": N, \"inf\": N, \"digest\": HEX}],\n"
    "   \"entries\": [{\"component\": TEXT, \"path\": TEXT, \"kind\": TEXT, \"bytes\": N,\n"
    "     \"digest\": HEX, and \"id\": TEXT of a parameter, and of a tensor \"dtype\": TEXT,\n"
    "     \"shape\": [N...], \"trainable\": bool, and of a scalar \"value\": TEXT}]}\n"
    "A tensor that a precision converted has \"storage_dtype\": TEXT too, what it was; an opaque "
    "one \"element_bits\": N; a quantized one \"quant\": TEXT and \"quant_bytes\": [N, N, N] of "
    "values, scales of blocks, and scale of the tensor; one that holds NaN or Inf \"nan\": N and "
    "\"inf\": N of its elements.\n"
    "The value of a scalar is text, so that -0.0, NaN and large numbers arrive as they are; an id "
    "is "
    "text for the same reason: a decimal number of up to 64 bits.";

static error_t show_parse(int key, char *arg, struct argp_state *state)
{
    return cmd_parse_words(key, arg, state, 1, 2);
}

struct show_labels {
    char name[65], value[257];
};

/* ---- JSON ---- */

static json_t *show_boundary_json(const struct cairn_record *r, const struct cairn_boundary *b)
{
    struct show_labels label;
    json_t *labels = json_object();
    for (size_t i = 0; cairn_record_label(r, i, label.name, label.value) == 0; i++) {
        json_set(labels, label.name, json_text(label.value));
    }
    json_t *object = json_boundary(b);
    json_set(object, "labels", labels);
    return object;
}

static json_t *show_components_json(const struct cairn_record *r)
{
    struct out_buf b;
    json_t *array = json_array();
    for (int id = CAIRN_MODEL; id <= CAIRN_CONTRACT; id++) {
        struct cairn_component_info info = { 0 };
        if (cairn_record_component_info(r, (enum cairn_component_id)id, &info) < 0) {
            continue;
        }
        json_t *o = json_object();
        json_set(o, "component", json_text(out_component_name((uint32_t)id)));
        json_set(o, "type", json_text(info.type == NULL ? "" : info.type));
        json_set(o, "entries", json_u64(info.entry_count));
        json_set(o, "bytes", json_u64(info.bytes));
        json_set(o, "chunks", json_u64(info.chunk_count));
        json_set(o, "nan", json_u64(info.nan_count));
        json_set(o, "inf", json_u64(info.inf_count));
        json_set(o, "digest", json_text(out_hex(&b, info.digest, sizeof info.digest)));
        json_add(array, o);
    }
    return array;
}

/* Written member by member: the entries may be millions. */
static int show_json(const struct cairn_record *r,
                     const struct cairn_boundary *b,
                     const struct cmd_target *target,
                     const char *pattern,
                     uint64_t *ret_count)
{
    json_out_member("{", "run", json_text(target->run));
    json_out_member(",", "boundary", show_boundary_json(r, b));
    json_out_member(",", "components", show_components_json(r));
    (void)fputs(",\n\"entries\": [", stdout);
    int rc = show_entries_json(r, pattern, ret_count);
    (void)fputs("\n]}\n", stdout);
    return rc;
}

/* ---- text ---- */

static void show_facts(const struct cairn_record *r, const struct cairn_boundary *b)
{
    struct out_buf x;
    struct out_buf y;
    (void)printf("boundary   seq %" PRIu64 ", step %" PRIu64, b->seq, b->step);
    if (b->parent_seq != 0) {
        (void)printf(", after seq %" PRIu64, b->parent_seq);
    }
    (void)printf("\ncommitted  %s (%s)\n", out_time(&x, b->created_ns), out_age(&y, b->created_ns));
    (void)printf("kind       %s, %s precision, %s\n",
                 out_kind_name(&x, b->kind),
                 out_precision_name(b->precision),
                 b->exact ? "exact" : "lossy");
    (void)printf("size       %s (%" PRIu64 " bytes) in %" PRIu64 " entries\n",
                 out_size(&x, b->payload_bytes),
                 b->payload_bytes,
                 b->entry_count);
    (void)printf("values     %s: %" PRIu64 " NaN, %" PRIu64 " Inf in all\n",
                 b->finite ? "finite in model and optimizer" : "not finite",
                 b->nan_count,
                 b->inf_count);
    (void)printf("written    %s new, %s shared\n",
                 out_size(&x, b->bytes_new),
                 out_size(&y, b->bytes_shared));
    if (b->trainable_bytes > 0) {
        (void)printf("trained    %.1f %% of %s changed since seq %" PRIu64 "%s\n",
                     100 * (double)b->trainable_new_bytes / (double)b->trainable_bytes,
                     out_size(&x, b->trainable_bytes),
                     b->parent_seq,
                     (b->warnings & CAIRN_WARNING_STALE) != 0 ? ": STALE, and yet a new step" : "");
    }
    (void)printf("save id    %s\n", out_hex(&x, b->save_id, sizeof b->save_id));
    (void)printf("root       %s\n", out_hex(&x, b->root, sizeof b->root));
    struct show_labels label;
    for (size_t i = 0; cairn_record_label(r, i, label.name, label.value) == 0; i++) {
        (void)fputs("label      ", stdout);
        out_text(stdout, label.name);
        (void)putchar('=');
        out_text(stdout, label.value);
        (void)putchar('\n');
    }
}

static void show_components(const struct cairn_record *r, bool headings)
{
    static const struct table_column columns[] = {
        { "COMPONENT", false }, { "TYPE", false }, { "ENTRIES", true }, { "BYTES", true },
        { "CHUNKS", true },     { "NAN", true },   { "INF", true },     { "DIGEST", false },
    };
    struct out_buf b;
    struct table *t = table_new(columns, sizeof columns / sizeof columns[0], headings);
    for (int id = CAIRN_MODEL; id <= CAIRN_CONTRACT; id++) {
        struct cairn_component_info info = { 0 };
        if (cairn_record_component_info(r, (enum cairn_component_id)id, &info) < 0) {
            continue;
        }
        table_row(t);
        table_cell(t, "%s", out_component_name((uint32_t)id));
        table_cell_text(t, info.type == NULL || info.type[0] == '\0' ? "-" : info.type);
        table_cell(t, "%" PRIu64, info.entry_count);
        table_cell(t, "%" PRIu64, info.bytes);
        table_cell(t, "%" PRIu32, info.chunk_count);
        table_cell(t, "%" PRIu64, info.nan_count);
        table_cell(t, "%" PRIu64, info.inf_count);
        table_cell(t, "%s", out_hex(&b, info.digest, sizeof info.digest));
    }
    table_flush(t);
    (void)table_free(t);
}

static int show_text(const struct cairn_record *r,
                     const struct cairn_boundary *b,
                     const char *pattern,
                     bool quiet,
                     uint64_t *ret_count)
{
    if (!quiet) {
        show_facts(r, b);
        (void)putchar('\n');
        show_components(r, true);
        (void)putchar('\n');
    }
    return show_entries_table(r, pattern, !quiet, ret_count);
}

/* ---- the command ---- */

static int show_record(const struct cmd_options *o,
                       const struct cmd_target *target,
                       const char *pattern,
                       const struct cairn_record *r,
                       uint64_t *ret_count)
{
    struct cairn_boundary b = { 0 };
    int rc = cairn_record_info(r, &b);
    if (rc < 0) {
        return rc;
    }
    return o->json ? show_json(r, &b, target, pattern, ret_count)
                   : show_text(r, &b, pattern, o->quiet, ret_count);
}

static int show_none(const char *pattern)
{
    (void)fputs("cairn: no entry begins with or matches '", stderr);
    out_text(stderr, pattern);
    (void)fputs(
        "'\nPATH is COMPONENT/PATH: 'model/' shows all of the model, without PATH all is shown\n",
        stderr);
    return OUT_NOT_FOUND;
}

int cmd_show(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp argp = { NULL,     show_parse,   "RUN[@SELECTOR] [PATH]",
                                      show_doc, cmd_children, NULL,
                                      NULL };
    struct cmd_args args = { .options = *global };
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    const struct cmd_options *o = &args.options;
    struct cmd_target target;
    struct cairn *c = NULL;
    struct cairn_record *r = NULL;
    uint64_t count = 0;
    int code = cmd_open(o, args.words[0], &target, &c);
    if (code != OUT_OK) {
        return code;
    }
    int rc = cairn_load(c, target.selector, 0, &r);
    if (rc < 0) {
        code = (int)out_fail(c, o->json, rc, args.words[0]);
    } else if ((rc = show_record(o, &target, args.words[1], r, &count)) < 0) {
        /* Part of the document is out already: the reason goes to stderr alone. */
        code = (int)out_fail(c, false, rc, args.words[0]);
    } else if (count == 0 && args.words[1] != NULL) {
        code = show_none(args.words[1]);
    }
    (void)cairn_record_free(r);
    (void)cairn_close(c);
    return code;
}
