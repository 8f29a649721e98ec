/* cairn verify: have the daemon read and check what is stored; and tell what was found, also when
 * the check itself could not come to its end. */
#include <cairn/admin.h>
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "output.h"

static const char verify_doc[] =
    "Read everything that is stored for a run, or for one boundary (RUN@SELECTOR), and compare it "
    "with its digests. Exit code: 0 all of it is whole, 1 there are findings, 2 the daemon was "
    "lost, 5 the check could not come to its end; what was found until then is told.\v"
    "With --json:\n"
    "  {\"run\": TEXT, \"selector\": TEXT|null, \"ok\": bool, \"boundaries\": N, \"chunks\": N,\n"
    "   \"bytes\": N, \"finding_count\": N, \"findings\": [{\"seq\": N, \"component\": TEXT,\n"
    "     \"path\": TEXT, \"text\": TEXT}]}\n"
    "A check that came to no end has \"error\" (as every failure with --json) in place of\n"
    "boundaries, chunks, bytes and finding_count; ok is false.\n"
    "component is \"\" when the boundary itself is meant, path is \"\" when the component is. Of a "
    "boundary with very many findings some are counted, not told.";

static error_t verify_parse(int key, char *arg, struct argp_state *state)
{
    return cmd_parse_words(key, arg, state, 1, 1);
}

struct verify_sink {
    json_t *findings; /* NULL: print them */
    uint64_t count;
};

static const char *verify_component(const struct cairn_finding *f)
{
    return f->component == 0 ? "" : out_component_name(f->component);
}

static void verify_print(const struct cairn_finding *f)
{
    (void)printf("seq %" PRIu64 " ", f->seq);
    if (f->component != 0) {
        (void)fputs(verify_component(f), stdout);
        if (f->path != NULL && f->path[0] != '\0') {
            (void)putchar('/');
            out_text(stdout, f->path);
        }
        (void)fputs(": ", stdout);
    }
    out_text(stdout, f->text == NULL ? "" : f->text);
    (void)putchar('\n');
}

static int verify_each(void *arg, const struct cairn_finding *f)
{
    struct verify_sink *sink = arg;
    sink->count++;
    if (sink->findings == NULL) {
        verify_print(f);
        return 0;
    }
    json_t *o = json_object();
    json_set(o, "seq", json_u64(f->seq));
    json_set(o, "component", json_text(verify_component(f)));
    json_set(o, "path", json_text(f->path == NULL ? "" : f->path));
    json_set(o, "text", json_text(f->text == NULL ? "" : f->text));
    json_add(sink->findings, o);
    return 0;
}

/* Takes the findings, and the error (NULL: there was none). */
static void verify_json(const struct cmd_target *target,
                        const struct cairn_verified *v,
                        struct verify_sink *sink,
                        json_t *error)
{
    json_t *o = json_object();
    json_set(o, "run", json_text(target->run));
    json_set(o, "selector", target->has_selector ? json_text(target->selector) : json_null());
    json_set(o, "ok", json_boolean(error == NULL && v->finding_count == 0));
    if (error != NULL) {
        json_set(o, "error", error);
    } else {
        json_set(o, "boundaries", json_u64(v->boundary_count));
        json_set(o, "chunks", json_u64(v->chunk_count));
        json_set(o, "bytes", json_u64(v->bytes));
        json_set(o, "finding_count", json_u64(v->finding_count));
    }
    json_set(o, "findings", sink->findings);
    json_out(o);
    sink->findings = NULL;
}

static void verify_summary(const struct cairn_verified *v)
{
    struct out_buf b;
    (void)printf("%s: %" PRIu64 " findings in %" PRIu64 " boundaries, %" PRIu64 " chunks, %s\n",
                 v->finding_count == 0 ? "whole" : "damaged",
                 v->finding_count,
                 v->boundary_count,
                 v->chunk_count,
                 out_size(&b, v->bytes));
    if (v->finding_count > 0) {
        (void)puts(
            "what is damaged cannot be loaded; older boundaries (cairn log RUN) may be whole");
    }
}

/* Returns enum out_exit. */
static int verify_run(struct cairn *c,
                      const struct cmd_options *o,
                      const char *text,
                      const struct cmd_target *target)
{
    struct verify_sink sink = { .findings = o->json ? json_array() : NULL };
    struct cairn_verified v = { 0 };
    const char *selector = target->has_selector ? target->selector : NULL;
    int rc = cairn_verify(c, selector, verify_each, &sink, &v);
    int code = OUT_OK;
    if (rc < 0 && (rc != -CAIRN_ECORRUPT || sink.count == 0)) {
        if (o->json) {
            verify_json(target, &v, &sink, json_error(rc, text, out_why(c, rc)));
        }
        code = (int)out_fail(c, false, rc, text);
    } else {
        v.finding_count = v.finding_count < sink.count ? sink.count : v.finding_count;
        code = v.finding_count > 0 ? OUT_ATTENTION : OUT_OK;
        if (o->json) {
            verify_json(target, &v, &sink, NULL);
        } else if (!o->quiet) {
            verify_summary(&v);
        }
    }
    json_decref(sink.findings);
    return code;
}

int cmd_verify(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp argp = { NULL,       verify_parse, "RUN[@SELECTOR]",
                                      verify_doc, cmd_children, NULL,
                                      NULL };
    struct cmd_args args = { .options = *global };
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    struct cmd_target target;
    struct cairn *c = NULL;
    int code = cmd_open(&args.options, args.words[0], &target, &c);
    if (code == OUT_OK) {
        code = verify_run(c, &args.options, args.words[0], &target);
    }
    (void)cairn_close(c);
    return code;
}
