#include "wire/keep.h"

char *keep_text(struct bump *bump, struct slice from)
{
    char *to = bump_alloc(bump, from.bytes + 1);
    if (to != NULL) {
        memcpy(to, from.bytes == 0 ? "" : from.data, from.bytes);
        to[from.bytes] = '\0';
    }
    return to;
}

const struct label *keep_labels(struct bump *bump, const struct label *from, uint32_t count)
{
    struct label *labels = bump_alloc(bump, (count + (size_t)1) * sizeof *labels);
    for (uint32_t i = 0; labels != NULL && i < count; i++) {
        const char *name = keep_text(bump, from[i].name);
        const char *value = keep_text(bump, from[i].value);
        if (name == NULL || value == NULL) {
            return NULL;
        }
        labels[i].name = slice_of(name, from[i].name.bytes);
        labels[i].value = slice_of(value, from[i].value.bytes);
    }
    return labels;
}
