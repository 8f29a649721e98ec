#include "record/selector.h"

#include "internal/ckd.h"
#include "record/rules.h"

#define SELECTOR_EXPECTED                                                                          \
    "expected latest, latest~N, STEP, seq:N, id:HEX (32 digits), best:LABEL:min, best:LABEL:max "  \
    "or "                                                                                          \
    "finite"

static bool selector_is(struct slice text, const char *word)
{
    return slice_cmp(text, slice_str(word)) == 0;
}

/* Takes the word off the front of the text. */
static bool selector_skip(struct slice *text, const char *word)
{
    size_t bytes = strlen(word);
    if (text->bytes < bytes || memcmp(text->data, word, bytes) != 0) {
        return false;
    }
    *text = slice_of((const char *)text->data + bytes, text->bytes - bytes);
    return true;
}

static bool selector_number(struct slice text, uint64_t *ret)
{
    const char *digit = text.data;
    uint64_t number = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        if (digit[i] < '0' || digit[i] > '9' || ckd_mul_u64(number, 10, &number) ||
            ckd_add_u64(number, (uint64_t)(digit[i] - '0'), &number)) {
            return false;
        }
    }
    *ret = number;
    return text.bytes > 0;
}

static int selector_nibble(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool selector_id(struct slice text, uint8_t ret_id[16])
{
    const char *digit = text.data;
    if (text.bytes != 32) {
        return false;
    }
    for (size_t i = 0; i < 16; i++) {
        int high = selector_nibble(digit[2 * i]);
        int low = selector_nibble(digit[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        ret_id[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* LABEL:min or LABEL:max */
static bool selector_best(struct slice text, struct selector *ret)
{
    const char *colon = text.bytes == 0 ? NULL : memchr(text.data, ':', text.bytes);
    if (colon == NULL) {
        return false;
    }
    ret->label = slice_of(text.data, (size_t)(colon - (const char *)text.data));
    struct slice which = slice_of(colon + 1, text.bytes - ret->label.bytes - 1);
    ret->want_max = selector_is(which, "max");
    return label_name_ok(ret->label) && (ret->want_max || selector_is(which, "min"));
}

static bool selector_read(struct slice text, struct selector *ret)
{
    if (text.bytes == 0 || selector_is(text, "latest")) {
        ret->kind = SELECT_LATEST;
        return true;
    }
    if (selector_skip(&text, "latest~")) {
        ret->kind = SELECT_LATEST;
        return selector_number(text, &ret->number);
    }
    if (selector_skip(&text, "seq:")) {
        ret->kind = SELECT_SEQ;
        return selector_number(text, &ret->number);
    }
    if (selector_skip(&text, "id:")) {
        ret->kind = SELECT_ID;
        return selector_id(text, ret->id);
    }
    if (selector_skip(&text, "best:")) {
        ret->kind = SELECT_BEST;
        return selector_best(text, ret);
    }
    if (selector_is(text, "finite")) {
        ret->kind = SELECT_FINITE;
        return true;
    }
    ret->kind = SELECT_STEP;
    return selector_number(text, &ret->number);
}

int selector_parse(struct slice text, struct selector *ret, struct err *err)
{
    struct selector found = { 0 };
    if (text.bytes > LIMIT_SELECTOR_BYTES) {
        return err_set(err, -CAIRN_EINVAL, "selector: longer than %u bytes", LIMIT_SELECTOR_BYTES);
    }
    if (!selector_read(text, &found)) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "selector \"%.*s\": " SELECTOR_EXPECTED,
                       (int)text.bytes,
                       text.bytes == 0 ? "" : (const char *)text.data);
    }
    *ret = found;
    return 0;
}

int selector_split(struct slice text,
                   struct slice *ret_user,
                   struct slice *ret_run,
                   struct slice *ret_selector,
                   struct err *err)
{
    const char *start = text.bytes == 0 ? "" : text.data;
    const char *end = start + text.bytes;
    const char *at = memchr(start, '@', text.bytes);
    const char *run_end = at == NULL ? end : at;
    const char *slash = memchr(start, '/', (size_t)(run_end - start));
    const char *run = slash == NULL ? start : slash + 1;
    struct slice name = slice_of(run, (size_t)(run_end - run));
    if (!run_name_ok(name) || slash == start) {
        return err_set(
            err,
            -CAIRN_EINVAL,
            "\"%.*s\": expected RUN, USER/RUN or UID/RUN, where RUN is a letter or digit, "
            "then at most 127 letters, digits, '.', '_' or '-'",
            (int)(text.bytes > 300 ? 300 : text.bytes),
            start);
    }
    *ret_user = slash == NULL ? slice_of(NULL, 0) : slice_of(start, (size_t)(slash - start));
    *ret_run = name;
    *ret_selector = at == NULL ? slice_of(NULL, 0) : slice_of(at + 1, (size_t)(end - at - 1));
    return 0;
}
