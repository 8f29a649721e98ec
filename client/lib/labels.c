#include "lib/labels.h"

static int labels_take_one(struct cairn *c, struct bump *bump, const char *from, struct label *ret)
{
    const char *equals = strchr(from, '=');
    size_t bytes = strlen(from) + 1;
    char *text = equals == NULL ? NULL : bump_alloc(bump, bytes);
    if (text == NULL) {
        return err_set(&c->err,
                       equals == NULL ? -CAIRN_EINVAL : -CAIRN_ENOMEM,
                       "label '%.100s': expected NAME=VALUE",
                       from);
    }
    memcpy(text, from, bytes);
    size_t name_bytes = (size_t)(equals - from);
    ret->name = slice_of(text, name_bytes);
    ret->value = slice_str(text + name_bytes + 1);
    return 0;
}

int labels_take(struct cairn *c,
                struct bump *bump,
                const char *const *texts,
                const struct label **ret,
                uint32_t *ret_count)
{
    uint32_t count = 0;
    while (texts != NULL && texts[count] != NULL && count <= LIMIT_LABELS) {
        count++;
    }
    struct label *labels = bump_alloc(bump, (count + 1) * sizeof *labels);
    int rc = 0;
    if (labels == NULL) {
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory for labels");
    }
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        rc = labels_take_one(c, bump, texts[i], &labels[i]);
    }
    if (rc == 0) {
        *ret = labels;
        *ret_count = count;
    }
    return rc;
}
