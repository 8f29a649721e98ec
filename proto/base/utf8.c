#include "base/utf8.h"

#include <stdbool.h>

static bool utf8_tail(const uint8_t *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((text[i] & 0xC0) != 0x80) {
            return false;
        }
    }
    return true;
}

/* What the first byte leaves open, the second byte decides: overlong forms, surrogates, the end. */
static bool utf8_second_ok(uint8_t first, uint8_t second)
{
    switch (first) {
    case 0xE0:
        return second >= 0xA0;
    case 0xED:
        return second < 0xA0;
    case 0xF0:
        return second >= 0x90;
    case 0xF4:
        return second < 0x90;
    default:
        return true;
    }
}

size_t utf8_length(const uint8_t *text, size_t bytes)
{
    if (bytes == 0) {
        return 0;
    }
    uint8_t first = text[0];
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xC2 || first > 0xF4) {
        return 0;
    }
    size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (bytes < length || !utf8_tail(text + 1, length - 1) || !utf8_second_ok(first, text[1])) {
        return 0;
    }
    return length;
}
