#include "flip_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { FLIP_EDGE = 128, FLIP_STRIDE = 199 };
enum {
    FLIP_LARGE = 1 << 20,
    FLIP_LARGE_EDGE = 16,
    FLIP_LARGE_STRIDE = 65521,
    FLIP_LONG_STRIDE = 1021
};

bool flip_long(void)
{
    return getenv("CAIRN_TEST_FLIP_ALL") != NULL;
}

unsigned flip_passes(void)
{
    return flip_long() ? 2 : 1;
}

uint8_t flip_mask(uint64_t at, unsigned pass)
{
    if (!flip_long()) {
        return (uint8_t)(1u << at % 8);
    }
    return pass == 0 ? 0x01 : 0x80;
}

bool flip_chosen(const struct flip_range *r, uint64_t at)
{
    bool large = r->to - r->from >= FLIP_LARGE;
    uint64_t edge = large ? FLIP_LARGE_EDGE : FLIP_EDGE;
    if (r->what != FLIP_VALUE || at - r->from < edge || r->to - at <= edge) {
        return true;
    }
    if (flip_long()) {
        return !large || at % FLIP_LONG_STRIDE == 0;
    }
    return at % (large ? FLIP_LARGE_STRIDE : FLIP_STRIDE) == 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

void words_of_row(const struct flip *f, bool copied, struct words *ret)
{
    const struct flip_row *row = f->row;
    *ret = (struct words){ .component = row->db_name };
    if (row->db == DB_CHUNK) {
        ret->component = component_name(COMPONENT_MODEL); /* whose they all are */
    }
    if (row->db != DB_COMPONENT || row->key_parts.component == COMPONENT_NONE) {
        return;
    }
    ret->component = component_name(row->key_parts.component);
    if (row->key_parts.page > 0 && !f->in_key) {
        char path[FLIP_ENTRY_BYTES];
        enum flip_in in = flip_entry_at(row, f->at, path);
        bool exact = copied || in == FLIP_IN_VALUE;
        memcpy(exact ? ret->path : ret->only, path, sizeof path);
        if (in == FLIP_IN_PATH && !copied) { /* it may be named as it reads now */
            ret->only[0] = '\0';
        }
    }
}

void words_of_range(const struct flip_range *r, struct words *ret)
{
    bool payload = r->component != COMPONENT_NONE;
    *ret = (struct words){ .component = payload ? component_name(r->component) : "segment" };
    memcpy(ret->path, r->path, sizeof ret->path);
}

void words_expect(const char *text, const struct words *w, const char *where)
{
    cr_assert_not_null(strstr(text, w->component), "%s: no '%s' in: %s", where, w->component, text);
    cr_assert_not_null(strstr(text, w->path), "%s: no '%s' in: %s", where, w->path, text);
    bool blamed = strstr(text, "' is damaged") != NULL;
    cr_assert(!blamed || strstr(text, w->only) != NULL,
              "%s: it is '%s', not the one in: %s",
              where,
              w->only,
              text);
}

void where_of_row(const struct flip *f, char ret_text[FLIP_WHERE_BYTES])
{
    char key[KEY_TEXT_BYTES];
    key_text(f->row->db, slice_of(f->row->key, f->row->key_bytes), key);
    (void)snprintf(ret_text,
                   FLIP_WHERE_BYTES,
                   "%s, byte %zu of its %s ^ 0x%02x",
                   key,
                   f->at,
                   f->in_key ? "key" : "value",
                   f->mask);
}

void where_of_byte(uint64_t at, uint8_t mask, char ret_text[FLIP_WHERE_BYTES])
{
    (void)snprintf(ret_text,
                   FLIP_WHERE_BYTES,
                   "byte %llu of the segment ^ 0x%02x",
                   (unsigned long long)at,
                   mask);
}
