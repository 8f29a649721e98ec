/* cairn status: what needs a hand first, then how the daemon is. */
#include <cairn/admin.h>
#include <inttypes.h>

#include "command.h"
#include "json.h"
#include "output.h"

static const char status_doc[] =
    "Say how the daemon is, beginning with what needs a hand. Exit code: 0 fine, 1 something needs "
    "a hand, 2 no daemon, 5 the daemon could not say, or the answer could not be written.\v"
    "With --json:\n"
    "  {\"ok\": bool, \"attention\": [TEXT...], \"server\": TEXT, \"pid\": N, \"uptime_ms\": N,\n"
    "   \"data_dir\": TEXT, \"io_mode\": \"direct\"|\"buffered\", \"io_why\": TEXT, \"runs\": N,\n"
    "   \"open_runs\": N, \"connections\": N, \"uploads\": N, \"pool_bytes\": N,\n"
    "   \"pool_used_bytes\": N, \"disk_free_bytes\": N, \"disk_total_bytes\": N,\n"
    "   \"committed\": N, \"failed\": N, \"arena_bytes\": N, \"arena_share_bytes\": N,\n"
    "   \"arena_lent_bytes\": N, \"arena_own_bytes\": N, \"arenas\": N, \"rings\": N,\n"
    "   \"resident_bytes\": N, \"resident_kept_bytes\": N, \"resident_records\": N}\n"
    "committed and failed count boundaries since the daemon started. arena_bytes may be lent to "
    "trainers (0: none is), arena_share_bytes of it to you; arena_lent_bytes are lent now, "
    "arena_own_bytes of them to you, in so many arenas, rings (for loads) among them. "
    "resident_bytes of arena_bytes may stay when their trainers are gone (0: none do), for the "
    "next "
    "ones to load from; resident_kept_bytes do, beside what is lent, in so many records.";

static error_t status_parse(int key, char *arg, struct argp_state *state)
{
    return cmd_parse_words(key, arg, state, 0, 0);
}

static uint32_t status_attention_count(const struct cairn_status *s)
{
    uint32_t room = sizeof s->attention / sizeof s->attention[0];
    return s->attention_count < room ? s->attention_count : room;
}

static void status_json(const struct cairn_status *s)
{
    json_t *attention = json_array();
    for (uint32_t i = 0; i < status_attention_count(s); i++) {
        json_add(attention, json_text(s->attention[i]));
    }
    json_t *o = json_object();
    json_set(o, "ok", json_boolean(s->attention_count == 0));
    json_set(o, "attention", attention);
    json_set(o, "server", json_text(s->server));
    json_set(o, "pid", json_u64(s->pid));
    json_set(o, "uptime_ms", json_u64(s->uptime_ms));
    json_set(o, "data_dir", json_text(s->data_dir));
    json_set(o, "io_mode", json_text(s->io_mode));
    json_set(o, "io_why", json_text(s->io_why));
    json_set(o, "runs", json_u64(s->run_count));
    json_set(o, "open_runs", json_u64(s->open_run_count));
    json_set(o, "connections", json_u64(s->connection_count));
    json_set(o, "uploads", json_u64(s->upload_count));
    json_set(o, "pool_bytes", json_u64(s->pool_bytes));
    json_set(o, "pool_used_bytes", json_u64(s->pool_used_bytes));
    json_set(o, "disk_free_bytes", json_u64(s->disk_free_bytes));
    json_set(o, "disk_total_bytes", json_u64(s->disk_total_bytes));
    json_set(o, "committed", json_u64(s->committed_count));
    json_set(o, "failed", json_u64(s->failed_count));
    json_set(o, "arena_bytes", json_u64(s->arena_bytes));
    json_set(o, "arena_share_bytes", json_u64(s->arena_share_bytes));
    json_set(o, "arena_lent_bytes", json_u64(s->arena_lent_bytes));
    json_set(o, "arena_own_bytes", json_u64(s->arena_own_bytes));
    json_set(o, "arenas", json_u64(s->arena_count));
    json_set(o, "rings", json_u64(s->ring_count));
    json_set(o, "resident_bytes", json_u64(s->resident_bytes));
    json_set(o, "resident_kept_bytes", json_u64(s->resident_kept_bytes));
    json_set(o, "resident_records", json_u64(s->resident_count));
    json_out(o);
}

static void status_text_attention(const struct cairn_status *s)
{
    if (s->attention_count == 0) {
        (void)puts("fine: nothing needs a hand");
        return;
    }
    (void)printf("needs a hand (%" PRIu32 "):\n", s->attention_count);
    for (uint32_t i = 0; i < status_attention_count(s); i++) {
        (void)fputs("  ", stdout);
        out_text(stdout, s->attention[i]);
        (void)putchar('\n');
    }
}

static void status_text_arenas(const struct cairn_status *s)
{
    struct out_buf a;
    struct out_buf b;
    if (s->arena_bytes == 0) {
        (void)puts("arenas       none are lent (--arena-bytes is 0)");
        return;
    }
    (void)printf("arenas       %s of %s lent in %" PRIu64 ", %" PRIu64 " of them for loads; ",
                 out_size(&a, s->arena_lent_bytes),
                 out_size(&b, s->arena_bytes),
                 s->arena_count,
                 s->ring_count);
    (void)printf("to you %s, at most %s\n",
                 out_size(&a, s->arena_own_bytes),
                 out_size(&b, s->arena_share_bytes));
    (void)printf("resident     %" PRIu64 " records in %s, at most %s\n",
                 s->resident_count,
                 out_size(&a, s->resident_kept_bytes),
                 out_size(&b, s->resident_bytes));
}

static void status_text(const struct cairn_status *s)
{
    struct out_buf a;
    struct out_buf b;
    (void)fputs("daemon       ", stdout);
    out_text(stdout, s->server);
    (void)printf(", pid %" PRIu64 ", up %s\n", s->pid, out_span(&a, s->uptime_ms));
    (void)fputs("data         ", stdout);
    out_text(stdout, s->data_dir);
    (void)printf("\ndisk         %s free of %s, written ",
                 out_size(&a, s->disk_free_bytes),
                 out_size(&b, s->disk_total_bytes));
    out_text(stdout, s->io_mode);
    if (s->io_why[0] != '\0') {
        (void)fputs(" (", stdout);
        out_text(stdout, s->io_why);
        (void)putchar(')');
    }
    (void)printf("\nruns         %" PRIu64 ", %" PRIu64 " open\n", s->run_count, s->open_run_count);
    (void)printf("clients      %" PRIu64 " connected, %" PRIu64 " uploading\n",
                 s->connection_count,
                 s->upload_count);
    (void)printf("buffers      %s of %s in use\n",
                 out_size(&a, s->pool_used_bytes),
                 out_size(&b, s->pool_bytes));
    status_text_arenas(s);
    (void)printf("boundaries   %" PRIu64 " committed, %" PRIu64 " failed since it started\n",
                 s->committed_count,
                 s->failed_count);
}

int cmd_status(const struct cmd_options *global, int argc, char **argv)
{
    static const struct argp argp = {
        NULL, status_parse, "", status_doc, cmd_children, NULL, NULL
    };
    struct cmd_args args = { .options = *global };
    (void)argp_parse(&argp, argc, argv, 0, NULL, &args);
    struct cairn *c = NULL;
    int code = cmd_open(&args.options, NULL, NULL, &c);
    if (code != OUT_OK) {
        return code;
    }
    struct cairn_status status = { 0 };
    int rc = cairn_status(c, &status);
    if (rc < 0) {
        code = (int)out_fail(c, args.options.json, rc, "status");
    } else if (args.options.json) {
        status_json(&status);
    } else if (!args.options.quiet) {
        status_text_attention(&status);
        status_text(&status);
    }
    (void)cairn_close(c);
    return rc == 0 && status.attention_count > 0 ? OUT_ATTENTION : code;
}
