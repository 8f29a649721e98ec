#include "internal/unit.h"

#include <stddef.h>
#include <string.h>

#include "internal/ckd.h"

bool unit_digits(const char **text, unsigned base, uint64_t *ret)
{
    const char *c = *text;
    uint64_t value = 0;
    while (*c >= '0' && (unsigned)(*c - '0') < base) {
        if (ckd_mul_u64(value, base, &value) || ckd_add_u64(value, (uint64_t)(*c - '0'), &value)) {
            return false;
        }
        c++;
    }
    bool any = c != *text;
    *text = c;
    *ret = value;
    return any;
}

bool unit_parse(const char *text, const struct unit *units, uint64_t *ret)
{
    uint64_t number = 0;
    if (!unit_digits(&text, 10, &number)) {
        return false;
    }
    for (const struct unit *unit = units; unit->name != NULL; unit++) {
        if (strcmp(text, unit->name) == 0) {
            return !ckd_mul_u64(number, unit->factor, ret);
        }
    }
    return false;
}
