#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "conf/conf.h"
#include "conf/conf_value.h"
#include "support/case.h"

enum { ARGS = 8 };

static int parse(struct conf *conf, struct err *err, const char *const args[ARGS])
{
    char text[ARGS + 1][128] = { "cairnd" };
    char *argv[ARGS + 2] = { text[0] };
    int argc = 1;
    for (int i = 0; i < ARGS && args[i] != NULL; i++) {
        (void)snprintf(text[i + 1], sizeof text[0], "%s", args[i]);
        argv[argc++] = text[i + 1];
    }
    *err = (struct err){ 0 };
    return conf_parse(argc, argv, conf, err);
}
#define PARSE(conf, err, ...) parse(conf, err, (const char *const[ARGS]){ __VA_ARGS__ })

static struct conf conf;
static struct err err;

CASE(conf, defaults)
{
    cr_assert_eq(PARSE(&conf, &err, NULL), 0);
    cr_assert_str_eq(conf.socket, "/run/cairn/cairnd.sock");
    cr_assert_str_eq(conf.data, "/var/lib/cairn");
    cr_assert_eq(conf.socket_mode, 0660);
    cr_assert_eq(conf.socket_group, -1);
    cr_assert_eq(conf.pool_bytes, 128u << 20);
    cr_assert_eq(conf.read_pool_bytes, 64u << 20);
    cr_assert_eq(conf.open_runs, 64);
    cr_assert_eq(conf.idle_ms, 30000);
    cr_assert_eq(conf.min_rate_bytes, 1u << 20);
    cr_assert_eq(conf.max_connections, 256);
    cr_assert_eq(conf.max_connections_per_uid, 64);
    cr_assert_eq(conf.reserve_bytes, 64u << 20);
    cr_assert_eq(conf.log_level, LOG_LEVEL_INFO);
    cr_assert_not(conf.allow_root_trainers);
    cr_assert_not(conf.buffered);
}

CASE(conf, directories_that_systemd_made)
{
    (void)setenv("RUNTIME_DIRECTORY", "/run/first:/run/second", 1);
    (void)setenv("STATE_DIRECTORY", "/var/lib/own", 1);
    cr_assert_eq(PARSE(&conf, &err, NULL), 0);
    cr_assert_str_eq(conf.socket, "/run/first/cairnd.sock");
    cr_assert_str_eq(conf.data, "/var/lib/own");
    cr_assert_eq(PARSE(&conf, &err, "--data", "/x", "--socket=/y"), 0);
    cr_assert_str_eq(conf.socket, "/y");
    cr_assert_str_eq(conf.data, "/x");
}

CASE(conf, values_with_units)
{
    cr_assert_eq(PARSE(&conf,
                       &err,
                       "--pool-bytes=1GiB",
                       "--idle=2min",
                       "--socket-mode=0600",
                       "--read-group=root",
                       "--buffered",
                       "--log-level=debug",
                       "--min-rate=4096"),
                 0,
                 "%s",
                 err.msg);
    cr_assert_eq(conf.pool_bytes, 1u << 30);
    cr_assert_eq(conf.idle_ms, 120000);
    cr_assert_eq(conf.socket_mode, 0600);
    cr_assert_eq(conf.read_group, 0);
    cr_assert(conf.buffered);
    cr_assert_eq(conf.log_level, LOG_LEVEL_DEBUG);
    cr_assert_eq(conf.min_rate_bytes, 4096);
}

static void refused(const char *arg, const char *option, const char *value, const char *range)
{
    cr_assert_eq(PARSE(&conf, &err, arg), -CAIRN_EINVAL, "%s", arg);
    cr_assert_not_null(strstr(err.msg, option), "%s: %s", arg, err.msg);
    cr_assert_not_null(strstr(err.msg, value), "%s: %s", arg, err.msg);
    cr_assert_not_null(strstr(err.msg, range), "%s: %s", arg, err.msg);
}

CASE(conf, refusals_name_option_value_and_range)
{
    refused("--pool-bytes=16MiB", "--pool-bytes", "16MiB", "32MiB to 1TiB");
    refused("--pool-bytes=2TiB", "--pool-bytes", "2TiB", "32MiB to 1TiB");
    refused("--pool-bytes=64MB", "--pool-bytes", "'64MB'", "64KiB or 1GiB");
    refused("--idle=30", "--idle", "'30'", "30s");
    refused("--idle=99ms", "--idle", "99ms", "100ms to 1h");
    refused("--socket-mode=0888", "--socket-mode", "'0888'", "octal");
    refused("--socket-mode=1777", "--socket-mode", "1777", "0777");
    refused("--open-runs=0", "--open-runs", "0", "1 to 4096");
    refused("--open-runs=", "--open-runs", "''", "a number");
    refused("--read-group=no-such-group", "--read-group", "'no-such-group'", "exists");
    refused("--log-level=loud", "--log-level", "'loud'", "debug");
    refused("--data=", "--data", "", "1 to 4095");
    refused("stray", "'stray'", "", "options");
}

CASE(conf, strict_values)
{
    uint64_t value = 0;
    const char *const wrong[] = { "",
                                  " 1",
                                  "1 ",
                                  "-1",
                                  "+1",
                                  "0x10",
                                  "1.5GiB",
                                  "GiB",
                                  "1gib",
                                  "1K",
                                  "1 MiB",
                                  "1MiBs",
                                  "１",
                                  "99999999999999999999",
                                  "18014398509481984KiB" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_not(conf_value_parse(CONF_SIZE, wrong[i], &value), "'%s'", wrong[i]);
    }
    cr_assert(conf_value_parse(CONF_SIZE, "18014398509481983KiB", &value));
    cr_assert_eq(value, UINT64_C(18014398509481983) << 10);
    cr_assert_not(conf_value_parse(CONF_GROUP, "4294967295", &value), "the gid that means none");
    cr_assert(conf_value_parse(CONF_GROUP, "4294967294", &value));
}

/* What --print-config prints is what the options take: print, parse, print again. */
CASE(conf, printed_values_are_read_back)
{
    char *first = NULL;
    char *second = NULL;
    size_t first_bytes = 0;
    size_t second_bytes = 0;
    cr_assert_eq(PARSE(&conf,
                       &err,
                       "--pool-bytes=96MiB",
                       "--idle=1500ms",
                       "--socket-mode=0600",
                       "--reserve-bytes=0",
                       "--max-connections=7",
                       "--log-level=error",
                       "--read-group=0"),
                 0);
    FILE *to = open_memstream(&first, &first_bytes);
    cr_assert_eq(conf_print(&conf, to), 0);
    (void)fclose(to);
    cr_assert_not_null(strstr(first, "\npool-bytes=96MiB\n"), "%s", first);
    cr_assert_not_null(strstr(first, "\nidle=1500ms\n"));
    cr_assert_not_null(strstr(first, "\nreserve-bytes=0\n"));
    cr_assert_not_null(strstr(first, "\nsocket-group=\n"));

    struct conf again;
    char args[32][128];
    char *argv[33] = { args[0] };
    int argc = 1;
    (void)snprintf(args[0], sizeof args[0], "cairnd");
    char *save = NULL;
    char *copy = strdup(first);
    for (char *line = strtok_r(copy, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        bool flag = strstr(line, "=no") != NULL;
        if (!flag && line[strlen(line) - 1] != '=') {
            (void)snprintf(args[argc], sizeof args[0], "--%s", line);
            argv[argc] = args[argc];
            argc++;
        }
    }
    free(copy);
    cr_assert_eq(conf_parse(argc, argv, &again, &err), 0, "%s", err.msg);
    to = open_memstream(&second, &second_bytes);
    cr_assert_eq(conf_print(&again, to), 0);
    (void)fclose(to);
    cr_assert_str_eq(first, second);
    free(first);
    free(second);
}
