/* slice.h: borrowed bytes. A slice never owns what it points to. */
#ifndef INTERNAL_SLICE_H
#define INTERNAL_SLICE_H

#include <stddef.h>
#include <string.h>

struct slice {
    const void *data; /* NULL only when bytes is 0 */
    size_t bytes;
};

static inline struct slice slice_of(const void *data, size_t bytes)
{
    return (struct slice){ data, bytes };
}

static inline struct slice slice_str(const char *text)
{
    return (struct slice){ text, text == NULL ? 0 : strlen(text) };
}

/* memcmp order, a prefix sorts first. */
static inline int slice_cmp(struct slice a, struct slice b)
{
    size_t shorter = a.bytes < b.bytes ? a.bytes : b.bytes;
    int cmp = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
    if (cmp != 0) {
        return cmp;
    }
    return (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

#endif
