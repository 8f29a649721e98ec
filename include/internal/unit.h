/* unit.h: numbers with units, as people write them: 64MiB, 30s. */
#ifndef INTERNAL_UNIT_H
#define INTERNAL_UNIT_H

#include <stdbool.h>
#include <stdint.h>

/* A list of these ends with name NULL; the one whose name is "" is what a bare number means. */
struct unit {
    const char *name;
    uint64_t factor;
};

/* Digits of a base up to 10 at the start of *text, which moves behind them. False: none, or too
 * many for 64 bits. */
bool unit_digits(const char **text, unsigned base, uint64_t *ret);
/* All of the text or nothing: no sign, no space, no overflow. False: it is no such value. */
bool unit_parse(const char *text, const struct unit *units, uint64_t *ret);

#endif
