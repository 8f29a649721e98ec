/* E28, checked: whatever byte of a stopped store is flipped, `cairnd --fsck` finds it and says
 * where it is, unless it is padding, which is told here by its offsets. */
#include <cairn/admin.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flip_site.h"
#include "flip_words.h"
#include "store/segment.h"
#include "store/store.h"
#include "support/case.h"

struct findings {
    uint64_t count;
    char text[8192];
};

static int finding(void *arg, const char *where, const char *text)
{
    struct findings *f = arg;
    size_t used = strlen(f->text);
    (void)snprintf(f->text + used, sizeof f->text - used, "%s: %s\n", where, text);
    return 0;
}

/* What --fsck does and prints, without a process for each. */
static void check(const struct site *s, struct findings *ret)
{
    struct wire_verified sums;
    struct err err = { .code = 0 };
    ret->text[0] = '\0';
    cr_assert_eq(st_fsck(s->d.data, finding, ret, &sums, &err), 0, "%s", err.msg);
    ret->count = sums.finding_count;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void check_flipped(struct site *s, const struct flip_rows *rows, struct flip *f)
{
    char where[FLIP_WHERE_BYTES];
    struct findings found;
    struct words words;
    for (unsigned pass = 0; pass < flip_passes(); pass++) {
        f->mask = flip_mask(f->at, pass);
        flip_apply(rows, f);
        check(s, &found);
        flip_undo(rows, f);
        where_of_row(f, where);
        cr_assert_gt(found.count, 0, "%s: not found", where);
        if (!f->in_key) {
            words_of_row(f, f->row->key_parts.seq == SITE_NEWEST + 1, &words);
            words_expect(found.text, &words, where);
        }
    }
}

static void check_all(struct site *s, const struct flip_rows *rows, bool keys)
{
    for (size_t i = 0; i < rows->count; i++) {
        struct flip f = { .row = &rows->rows[i], .in_key = keys };
        for (; f.at < flip_end(&f); f.at++) {
            check_flipped(s, rows, &f);
        }
    }
}

static void check_rows(bool keys)
{
    struct site s;
    site_up(&s, SITE_PACKED);
    check_all(&s, &s.rows, keys);
    site_down(&s);
}

CASE(flip_check, E28_every_byte_of_a_row_is_found, .timeout = 3000)
{
    check_rows(false);
}

CASE(flip_check, E28_every_byte_of_a_key_is_found, .timeout = 3000)
{
    check_rows(true);
}

/* ---- segments -------------------------------------------------------------------------------- */

static int
reader_row(void *arg, enum st_db db, struct slice key, struct slice value, struct err *err)
{
    (void)arg;
    (void)db;
    (void)key;
    (void)value;
    (void)err;
    return 0;
}

/* The part of the check that reads first page, footer and last page. */
static int check_reader(const struct site *s, struct err *err)
{
    char dir[FLIP_PATH_BYTES];
    const struct file_mode mode = { .direct = false };
    const struct flip_row *id = NULL;
    struct segment_reader r;
    int fd = -1;
    for (size_t i = 0; i < s->rows.count; i++) {
        const struct flip_row *row = &s->rows.rows[i];
        if (row->db == DB_META && slice_cmp(row->key_parts.name, slice_str("id")) == 0) {
            id = row;
        }
    }
    cr_assert_not_null(id);
    (void)snprintf(
        dir, sizeof dir, "%.*s", (int)(strrchr(s->segment, '/') - s->segment), s->segment);
    cr_assert_eq(file_open_dir(AT_FDCWD, dir, &fd, err), 0, "%s", err->msg);
    int rc = segment_open(&r, &mode, fd, 1, id->value, err);
    if (rc == 0) {
        rc = segment_rows(&r, reader_row, NULL, err);
        segment_reader_close(&r);
    }
    (void)close(fd);
    return rc;
}

/* Every so many bytes of what is not payload have the whole check. */
enum { CHECK_STRIDE = 61 };

static void check_byte(struct site *s, const struct flip_range *r, uint64_t at, uint8_t mask)
{
    bool page = r->what == FLIP_PAGE || r->what == FLIP_FOOTER;
    bool whole = flip_long() || r->what == FLIP_VALUE || r->what == FLIP_GAP ||
                 at % CHECK_STRIDE == 0 || at - r->from < 2 || r->to - at <= 2;
    struct findings found = { .count = 0 };
    struct err err = { .code = 0 };
    char where[FLIP_WHERE_BYTES];
    struct words words;
    where_of_byte(at, mask, where);
    words_of_range(r, &words);
    flip_file(s->segment, at, mask);
    int rc = page ? check_reader(s, &err) : 0;
    if (whole) {
        check(s, &found);
    }
    flip_file(s->segment, at, mask);
    cr_assert_eq(rc, page ? -CAIRN_ECORRUPT : 0, "%s: %d: %s", where, rc, err.msg);
    if (whole && r->what == FLIP_PADDING) {
        cr_assert_eq(found.count, 0, "%s is padding: %s", where, found.text);
    } else if (whole) {
        cr_assert_gt(found.count, 0, "%s: not found", where);
        words_expect(found.text, &words, where);
    }
}

static void check_segment(enum site_kind kind)
{
    struct site s;
    struct flip_ranges ranges;
    site_up(&s, kind);
    flip_ranges_read(&ranges, &s.rows, SITE_NEWEST + 1, s.segment);
    for (size_t i = 0; i < ranges.count; i++) {
        const struct flip_range *r = &ranges.list[i];
        if (kind == SITE_OWN && r->component == COMPONENT_NONE) {
            continue; /* no other than of a small segment */
        }
        if (r->what == FLIP_PADDING) {
            cr_assert_lt(r->to - r->from, SEGMENT_PAGE_BYTES);
            (void)printf("padding: %llu to %llu\n",
                         (unsigned long long)r->from,
                         (unsigned long long)r->to - 1);
        }
        for (uint64_t at = r->from; at < r->to; at++) {
            for (unsigned pass = 0; pass < flip_passes() && flip_chosen(r, at); pass++) {
                check_byte(&s, r, at, flip_mask(at, pass));
            }
        }
    }
    site_down(&s);
}

CASE(flip_check, E28_every_byte_of_a_segment_is_found_or_padding, .timeout = 3000)
{
    check_segment(SITE_PACKED);
}

CASE(flip_check, E28_every_byte_of_an_own_chunk_is_found, .timeout = 3000)
{
    check_segment(SITE_OWN);
}

/* ---- what is beside the runs ----------------------------------------------------------------- */

/* It is advisory, and made anew at every start: a flip in it is found, and then it is gone. */
CASE(flip_check, E28_every_byte_of_the_catalogue_is_found, .timeout = 300)
{
    char dir[FLIP_PATH_BYTES];
    char text[SITE_TEXT_BYTES];
    struct site s;
    struct flip_rows catalogue;
    site_up(&s, SITE_PACKED);
    (void)snprintf(dir, sizeof dir, "%.500s/catalogue", s.d.data);
    flip_rows_read(&catalogue, dir, true);
    cr_assert_eq(catalogue.count, 1);
    check_all(&s, &catalogue, false);
    check_all(&s, &catalogue, true);
    flip_apply(&catalogue, &(struct flip){ .row = catalogue.rows, .at = 1, .mask = 0x04 });
    flip_rows_free(&catalogue);
    daemon_start(&s.d, NULL);
    cr_assert_eq(site_look(&s, "latest", text), 0, "%s", text);
    cr_assert(site_same(&s, SITE_NEWEST));
    cr_assert_eq(daemon_stop(&s.d), 0);
    site_down(&s);
}

/* The store is then refused, as one of another format. */
CASE(flip_check, E28_every_byte_of_the_format_is_found, .timeout = 300)
{
    char path[FLIP_PATH_BYTES];
    struct site s;
    site_up(&s, SITE_PACKED);
    (void)snprintf(path, sizeof path, "%.500s/format", s.d.data);
    for (uint64_t at = 0; at < strlen("cairn 1\n"); at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct st *st = NULL;
            struct err err = { .code = 0 };
            flip_file(path, at, (uint8_t)(1u << bit));
            cr_assert_eq(st_open(s.d.data, NULL, &st, &err), -CAIRN_EVERSION, "byte %d", (int)at);
            cr_assert_not_null(strstr(err.msg, s.d.data), "%s", err.msg);
            flip_file(path, at, (uint8_t)(1u << bit));
        }
    }
    site_down(&s);
}
