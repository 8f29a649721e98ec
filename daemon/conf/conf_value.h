/* conf_value.h: values as people write them: 64MiB, 30s, 0660, a group's name. */
#ifndef CONF_CONF_VALUE_H
#define CONF_CONF_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conf_type {
    CONF_PATH,
    CONF_TEXT,
    CONF_FLAG,
    CONF_COUNT,
    CONF_SIZE,  /* bytes: 4096, 64KiB, 1GiB */
    CONF_TIME,  /* milliseconds: 500ms, 30s, 2min, 1h; a unit is needed */
    CONF_MODE,  /* octal */
    CONF_GROUP, /* a name or a number; kept as gid */
    CONF_LEVEL  /* error, warning, info, debug */
};

enum { CONF_TEXT_BYTES = 64 };

/* All of the text or nothing: no sign, no space, no overflow. False: it is no such value. */
bool conf_value_parse(enum conf_type type, const char *text, uint64_t *ret);
/* The other way, in the largest unit that is exact. Returns ret. */
const char *conf_value_print(enum conf_type type, uint64_t value, char ret[CONF_TEXT_BYTES]);

#endif
