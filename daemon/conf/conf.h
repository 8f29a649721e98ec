/* conf.h: what the daemon was told. One table (conf.c) has every option with its type, default,
 * range and help; the command line, --help and --print-config are made from it. */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdbool.h>
#include <stdio.h>

#include "internal/err.h"

enum { CONF_PATH_BYTES = 4096 };

struct conf {
    char socket[CONF_PATH_BYTES];
    char data[CONF_PATH_BYTES];
    char fsck[CONF_PATH_BYTES];         /* "": no, serve */
    char keep_default[CONF_PATH_BYTES]; /* a policy; "": none */
    uint64_t socket_mode;
    int64_t socket_group, read_group; /* gid; -1: none */
    uint64_t pool_bytes, read_pool_bytes, arena_bytes, resident_bytes, metadata_bytes,
        reserve_bytes, min_rate_bytes;
    uint64_t open_runs, max_connections, max_connections_per_uid;
    uint64_t idle_ms, keep_interval_ms, min_free_percent;
    uint64_t log_level; /* enum log_level */
    bool allow_root_trainers, buffered, print_config;
};

/* Defaults, then the arguments. --help, --version and options that do not exist end the process as
 * argp does (0, 0, 64). Errors: EINVAL, naming option, value and range. */
int conf_parse(int argc, char **argv, struct conf *ret, struct err *err);
/* "option=value" of every option, one a line, in the units that conf_parse reads. */
int conf_print(const struct conf *conf, FILE *to);

#endif
