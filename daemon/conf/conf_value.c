#include "conf/conf_value.h"

#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "internal/unit.h"

/* Smallest first. */
static const struct unit conf_sizes[] = {
    { "", 1 },
    { "B", 1 },
    { "KiB", UINT64_C(1) << 10 },
    { "MiB", UINT64_C(1) << 20 },
    { "GiB", UINT64_C(1) << 30 },
    { "TiB", UINT64_C(1) << 40 },
    { NULL, 0 },
};
static const struct unit conf_times[] = {
    { "ms", 1 }, { "s", 1000 }, { "min", 60000 }, { "h", 3600000 }, { NULL, 0 },
};
static const struct unit conf_counts[] = { { "", 1 }, { NULL, 0 } };
static const struct unit conf_levels[] = {
    { "error", LOG_LEVEL_ERROR },
    { "warning", LOG_LEVEL_WARN },
    { "info", LOG_LEVEL_INFO },
    { "debug", LOG_LEVEL_DEBUG },
    { NULL, 0 },
};

static bool conf_level(const char *text, uint64_t *ret)
{
    for (const struct unit *level = conf_levels; level->name != NULL; level++) {
        if (strcmp(text, level->name) == 0) {
            *ret = level->factor;
            return true;
        }
    }
    return false;
}

static bool conf_group(const char *text, uint64_t *ret)
{
    if (unit_parse(text, conf_counts, ret)) {
        return *ret < UINT32_MAX;
    }
    struct group group;
    struct group *found = NULL;
    char memory[16384];
    if (getgrnam_r(text, &group, memory, sizeof memory, &found) != 0 || found == NULL) {
        return false;
    }
    *ret = found->gr_gid;
    return true;
}

bool conf_value_parse(enum conf_type type, const char *text, uint64_t *ret)
{
    switch (type) {
    case CONF_COUNT:
        return unit_parse(text, conf_counts, ret);
    case CONF_SIZE:
        return unit_parse(text, conf_sizes, ret);
    case CONF_TIME:
        return unit_parse(text, conf_times, ret);
    case CONF_MODE:
        return unit_digits(&text, 8, ret) && *text == '\0';
    case CONF_GROUP:
        return conf_group(text, ret);
    case CONF_LEVEL:
        return conf_level(text, ret);
    case CONF_PATH:
    case CONF_TEXT:
    case CONF_FLAG:
        break;
    }
    return false;
}

static void conf_print_unit(const struct unit *units, uint64_t value, char ret[CONF_TEXT_BYTES])
{
    const struct unit *best = units;
    for (const struct unit *unit = units; unit->name != NULL; unit++) {
        if (value != 0 && unit->factor > best->factor && value % unit->factor == 0) {
            best = unit;
        }
    }
    (void)snprintf(ret, CONF_TEXT_BYTES, "%" PRIu64 "%s", value / best->factor, best->name);
}

static void conf_print_level(uint64_t value, char ret[CONF_TEXT_BYTES])
{
    for (const struct unit *level = conf_levels; level->name != NULL; level++) {
        if (level->factor == value) {
            (void)snprintf(ret, CONF_TEXT_BYTES, "%s", level->name);
        }
    }
}

const char *conf_value_print(enum conf_type type, uint64_t value, char ret[CONF_TEXT_BYTES])
{
    ret[0] = '\0';
    switch (type) {
    case CONF_COUNT:
        conf_print_unit(conf_counts, value, ret);
        break;
    case CONF_SIZE:
        conf_print_unit(conf_sizes, value, ret);
        break;
    case CONF_TIME:
        conf_print_unit(conf_times, value, ret);
        break;
    case CONF_MODE:
        (void)snprintf(ret, CONF_TEXT_BYTES, "0%" PRIo64, value);
        break;
    case CONF_GROUP: /* none prints as nothing */
        if ((int64_t)value >= 0) {
            (void)snprintf(ret, CONF_TEXT_BYTES, "%" PRIu64, value);
        }
        break;
    case CONF_LEVEL:
        conf_print_level(value, ret);
        break;
    case CONF_PATH:
    case CONF_TEXT:
    case CONF_FLAG:
        break;
    }
    return ret;
}
