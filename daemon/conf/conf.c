/* conf.c: THE table of options, and the command line that walks it. */
#include "conf/conf.h"

#include <argp.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "conf/conf_value.h"

#define CONF_KIB (UINT64_C(1) << 10)
#define CONF_MIB (UINT64_C(1) << 20)
#define CONF_GIB (UINT64_C(1) << 30)
#define CONF_TIB (UINT64_C(1) << 40)
#define CONF_NONE UINT64_MAX /* no group */
enum { CONF_KEY = 256 };     /* above it argp takes a key for no letter */

struct conf_option {
    const char *name;
    enum conf_type type;
    size_t offset;     /* in struct conf */
    uint64_t value;    /* default */
    uint64_t min, max; /* both allowed */
    const char *arg;   /* its name in --help; NULL: takes none */
    const char *help;
};

#define CONF_AT(field) offsetof(struct conf, field)
/* clang-format off */
static const struct conf_option conf_options[] = {
    { "socket", CONF_PATH, CONF_AT(socket), 0, 0, 0, "PATH",
      "Listen at PATH; a socket that systemd hands over is used instead" },
    { "data", CONF_PATH, CONF_AT(data), 0, 0, 0, "DIR", "Keep everything in DIR (made when missing)" },
    { "socket-mode", CONF_MODE, CONF_AT(socket_mode), 0660, 0, 0777, "OCTAL", "Mode of the socket" },
    { "socket-group", CONF_GROUP, CONF_AT(socket_group), CONF_NONE, 0, UINT32_MAX - 1, "GROUP",
      "Group of the socket: who may connect" },
    { "pool-bytes", CONF_SIZE, CONF_AT(pool_bytes), 128 * CONF_MIB, 32 * CONF_MIB, CONF_TIB, "SIZE",
      "Memory for payload that comes in; a quarter of it for one user at most" },
    { "read-pool-bytes", CONF_SIZE, CONF_AT(read_pool_bytes), 64 * CONF_MIB, 32 * CONF_MIB, CONF_TIB, "SIZE",
      "Memory for payload that goes out on the socket; half of it for one user at most" },
    { "arena-bytes", CONF_SIZE, CONF_AT(arena_bytes), 64 * CONF_GIB, 0, 1024 * CONF_TIB, "SIZE",
      "Memory shared with trainers, which pay for it; three quarters of it for one user at most; 0: none, "
      "payload comes and goes on the socket" },
    { "resident-bytes", CONF_SIZE, CONF_AT(resident_bytes), 16 * CONF_GIB, 0, 1024 * CONF_TIB, "SIZE",
      "Of that, what may stay when its trainer is gone: the last committed record of a run, which the next "
      "trainer then loads from memory; 256 of them at most; what is being read counts as lent; 0: none does" },
    { "metadata-bytes", CONF_SIZE, CONF_AT(metadata_bytes), 512 * CONF_MIB, 4 * CONF_MIB, CONF_TIB, "SIZE",
      "Memory for metadata of saves under way; half of it for one user at most" },
    { "open-runs", CONF_COUNT, CONF_AT(open_runs), 64, 1, 4096, "N", "Runs held open at a time" },
    { "idle", CONF_TIME, CONF_AT(idle_ms), 30000, 100, 3600000, "TIME",
      "Abort an upload that makes no progress, and drop a peer in mid-frame, after TIME" },
    { "min-rate", CONF_SIZE, CONF_AT(min_rate_bytes), CONF_MIB, CONF_KIB, CONF_TIB, "SIZE",
      "Bytes a second that a peer must send, and read, on average: stretches deadlines" },
    { "max-connections", CONF_COUNT, CONF_AT(max_connections), 256, 1, 4096, "N", "Connections in all" },
    { "max-connections-per-uid", CONF_COUNT, CONF_AT(max_connections_per_uid), 64, 1, 4096, "N",
      "Connections of one user" },
    { "allow-root-trainers", CONF_FLAG, CONF_AT(allow_root_trainers), 0, 0, 1, NULL,
      "Let uid 0 write runs of others" },
    { "read-group", CONF_GROUP, CONF_AT(read_group), CONF_NONE, 0, UINT32_MAX - 1, "GROUP",
      "Group whose members may read every run" },
    { "keep-default", CONF_TEXT, CONF_AT(keep_default), 0, 0, 0, "POLICY",
      "Which boundaries stay of runs that have no policy, as `cairn keep` shows them: \"last=3 every=1000\"; "
      "default none: all of them" },
    { "keep-interval", CONF_TIME, CONF_AT(keep_interval_ms), 3600000, 1000, 86400000, "TIME",
      "Look every TIME at all runs for what their policies let go, beside each commit" },
    { "min-free", CONF_COUNT, CONF_AT(min_free_percent), 5, 0, 90, "PERCENT",
      "While less of the disk is free, the oldest of what only a policy's rules keep goes, too" },
    { "reserve-bytes", CONF_SIZE, CONF_AT(reserve_bytes), 64 * CONF_MIB, 0, 1024 * CONF_TIB, "SIZE",
      "Space on the disk that saves leave free" },
    { "log-level", CONF_LEVEL, CONF_AT(log_level), LOG_LEVEL_INFO, LOG_LEVEL_ERROR, LOG_LEVEL_DEBUG, "LEVEL",
      "error, warning, info or debug" },
    { "buffered", CONF_FLAG, CONF_AT(buffered), 0, 0, 1, NULL, "Write as if O_DIRECT were refused (tests)" },
    { "fsck", CONF_PATH, CONF_AT(fsck), 0, 0, 0, "DIR",
      "Check the stopped store in DIR, print what is wrong, and exit: 0 clean, 1 findings, 2 not checked" },
    { "print-config", CONF_FLAG, CONF_AT(print_config), 0, 0, 1, NULL, "Print every option's value and exit" },
};
/* clang-format on */
enum { CONF_OPTIONS = sizeof conf_options / sizeof conf_options[0] };

struct conf_input {
    struct conf *conf;
    struct err *err;
    int rc;
};

/* ---- one option ---- */

static void conf_store(const struct conf_option *option, struct conf *conf, uint64_t value)
{
    char *field = (char *)conf + option->offset;
    if (option->type == CONF_FLAG) {
        bool flag = value != 0;
        memcpy(field, &flag, sizeof flag);
    } else {
        memcpy(field, &value, sizeof value);
    }
}

static uint64_t conf_fetch(const struct conf_option *option, const struct conf *conf)
{
    const char *field = (const char *)conf + option->offset;
    bool flag = false;
    uint64_t value = 0;
    if (option->type == CONF_FLAG) {
        memcpy(&flag, field, sizeof flag);
        return flag;
    }
    memcpy(&value, field, sizeof value);
    return value;
}

static bool conf_is_text(const struct conf_option *option)
{
    return option->type == CONF_PATH || option->type == CONF_TEXT;
}

static int conf_set_text(const struct conf_option *option,
                         struct conf *conf,
                         const char *text,
                         struct err *err)
{
    size_t bytes = strlen(text);
    if (bytes == 0 || bytes >= CONF_PATH_BYTES) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "--%s: 1 to %d bytes are needed, got %zu",
                       option->name,
                       CONF_PATH_BYTES - 1,
                       bytes);
    }
    memcpy((char *)conf + option->offset, text, bytes + 1);
    return 0;
}

static const char *conf_expected(enum conf_type type)
{
    switch (type) {
    case CONF_SIZE:
        return "a size like 4096, 64KiB or 1GiB";
    case CONF_TIME:
        return "a time like 500ms, 30s or 2min";
    case CONF_MODE:
        return "an octal mode like 0660";
    case CONF_GROUP:
        return "a group that exists, or its number";
    case CONF_LEVEL:
        return "error, warning, info or debug";
    case CONF_COUNT:
        return "a number";
    case CONF_PATH:
    case CONF_TEXT:
    case CONF_FLAG:
        break;
    }
    return "something else";
}

static int
conf_set(const struct conf_option *option, struct conf *conf, const char *text, struct err *err)
{
    uint64_t value = 1;
    char min[CONF_TEXT_BYTES];
    char max[CONF_TEXT_BYTES];
    if (conf_is_text(option)) {
        return conf_set_text(option, conf, text, err);
    }
    if (option->type != CONF_FLAG && !conf_value_parse(option->type, text, &value)) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "--%s: '%s' is not %s",
                       option->name,
                       text,
                       conf_expected(option->type));
    }
    if (value < option->min || value > option->max) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "--%s: %s is out of range, %s to %s is possible",
                       option->name,
                       text,
                       conf_value_print(option->type, option->min, min),
                       conf_value_print(option->type, option->max, max));
    }
    conf_store(option, conf, value);
    return 0;
}

/* ---- all of them ---- */

/* A directory that systemd made for us (the first, if there are more), else our own default. */
static void conf_default_path(char ret[CONF_PATH_BYTES],
                              const char *variable,
                              const char *fallback,
                              const char *name)
{
    const char *given = getenv(variable); /* NOLINT(concurrency-mt-unsafe): never set */
    const char *dir = given == NULL || given[0] == '\0' ? fallback : given;
    (void)snprintf(ret, CONF_PATH_BYTES, "%.*s%s", (int)strcspn(dir, ":"), dir, name);
}

static void conf_defaults(struct conf *conf)
{
    memset(conf, 0, sizeof *conf);
    for (size_t i = 0; i < CONF_OPTIONS; i++) {
        if (!conf_is_text(&conf_options[i])) {
            conf_store(&conf_options[i], conf, conf_options[i].value);
        }
    }
    conf_default_path(conf->socket, "RUNTIME_DIRECTORY", "/run/cairn", "/cairnd.sock");
    conf_default_path(conf->data, "STATE_DIRECTORY", "/var/lib/cairn", "");
}

static error_t conf_argument(int key, char *arg, struct argp_state *state)
{
    struct conf_input *input = state->input;
    if (key == ARGP_KEY_ARG) {
        input->rc = err_set(
            input->err, -CAIRN_EINVAL, "'%s': only options are understood, see --help", arg);
        return EINVAL;
    }
    if (key < CONF_KEY || key >= CONF_KEY + CONF_OPTIONS) {
        return ARGP_ERR_UNKNOWN;
    }
    input->rc = conf_set(&conf_options[key - CONF_KEY], input->conf, arg, input->err);
    return input->rc < 0 ? EINVAL : 0;
}

static void conf_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    (void)fprintf(stream, "cairnd " CAIRN_VERSION "\n");
}

int conf_parse(int argc, char **argv, struct conf *ret, struct err *err)
{
    struct argp_option options[CONF_OPTIONS + 1] = { { 0 } };
    struct conf_input input = { .conf = ret, .err = err };
    for (int i = 0; i < CONF_OPTIONS; i++) {
        options[i] = (struct argp_option){ .name = conf_options[i].name,
                                           .key = CONF_KEY + i,
                                           .arg = conf_options[i].arg,
                                           .doc = conf_options[i].help };
    }
    const struct argp argp = { .options = options,
                               .parser = conf_argument,
                               .doc = "Keep the training state of this machine's jobs safe." };
    argp_program_version_hook = conf_version;
    conf_defaults(ret);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread yet */
    error_t rc = argp_parse(&argp, argc, argv, 0, NULL, &input);
    if (rc != 0 && input.rc == 0) {
        return err_errno(err, rc, "read the command line");
    }
    return input.rc;
}

int conf_print(const struct conf *conf, FILE *to)
{
    char text[CONF_TEXT_BYTES];
    for (size_t i = 0; i < CONF_OPTIONS; i++) {
        const struct conf_option *option = &conf_options[i];
        const char *value = NULL;
        if (conf_is_text(option)) {
            value = (const char *)conf + option->offset;
        } else if (option->type == CONF_FLAG) {
            value = conf_fetch(option, conf) != 0 ? "yes" : "no";
        } else {
            value = conf_value_print(option->type, conf_fetch(option, conf), text);
        }
        if (fprintf(to, "%s=%s\n", option->name, value) < 0) {
            return -CAIRN_EIO;
        }
    }
    return fflush(to) == 0 ? 0 : -CAIRN_EIO;
}
