/* E28, read: every byte of what is stored of a run is flipped in turn while the run is closed, and
 * put back. What a reader then gets is what was saved, to the bit, or -CAIRN_ECORRUPT with the
 * component and the entry; nothing else. Whether the check of the store finds it:
 * test_flip_check.c.
 */
#include <stdio.h>
#include <string.h>

#include "flip_site.h"
#include "flip_words.h"
#include "record/digest.h"
#include "support/case.h"

/* ---- what a row is for ----------------------------------------------------------------------- */

/* Is it about this boundary? Only the newest has chunks. */
static bool row_is_of(const struct site *s, const struct flip_row *row, int boundary)
{
    if (row->db == DB_META) {
        return true;
    }
    if (row->db == DB_CHUNK || row->db == DB_DIGEST) {
        return boundary == SITE_NEWEST;
    }
    return row->db == DB_SAVEID ? memcmp(row->key_parts.id, s->save_id[boundary], 16) == 0
                                : row->key_parts.seq == (uint64_t)boundary + 1;
}

/* Can nothing of its boundary be read without it? The others are ways to find it, or what only
 * saving and deleting need. */
static bool row_is_needed(const struct flip_row *row)
{
    return row->db == DB_META || row->db == DB_BOUNDARY || row->db == DB_COMPONENT ||
           row->db == DB_CHUNK;
}

struct question {
    char selector[64];
    int boundary;
};

static void selector_of(const struct site *s, const struct flip_row *row, struct question *q)
{
    char hex[33];
    if (row->db == DB_SAVEID) {
        struct digest id;
        memcpy(id.byte, s->save_id[q->boundary], sizeof id.byte);
        digest_hex(&id, hex);
        (void)snprintf(q->selector, sizeof q->selector, "id:%s", hex);
    } else if (row->db == DB_STEP) {
        (void)snprintf(q->selector, sizeof q->selector, "%d", SITE_STEP);
    } else if (row->db == DB_LABEL) {
        (void)snprintf(q->selector, sizeof q->selector, "best:loss:min");
    } else if (q->boundary == SITE_NEWEST) {
        (void)snprintf(q->selector, sizeof q->selector, "latest");
    } else {
        (void)snprintf(q->selector, sizeof q->selector, "seq:%d", q->boundary + 1);
    }
}

/* Ask so that the row is looked at. */
static struct question question_of(const struct site *s, const struct flip_row *row)
{
    bool newest = row->db == DB_LABEL || row->db == DB_STEP || row_is_of(s, row, SITE_NEWEST);
    struct question q = { .boundary = newest ? SITE_NEWEST : SITE_OLDER };
    selector_of(s, row, &q);
    return q;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void ask(struct site *s, const struct flip *f, const struct question *q)
{
    char text[SITE_TEXT_BYTES];
    char where[FLIP_WHERE_BYTES];
    struct words words;
    bool needed = row_is_needed(f->row) && row_is_of(s, f->row, q->boundary);
    int rc = site_look(s, q->selector, text);
    where_of_row(f, where);
    if (rc == 0) {
        cr_assert(site_same(s, q->boundary), "%s: '%s' is another record", where, q->selector);
        cr_assert_not(needed, "%s: '%s' was read all the same", where, q->selector);
        return;
    }
    cr_assert_eq(rc, -CAIRN_ECORRUPT, "%s: '%s': %d: %s", where, q->selector, rc, text);
    if (!f->in_key) {
        words_of_row(f, q->boundary == SITE_NEWEST, &words);
        words_expect(text, &words, where);
    }
}

/* A flip in a row that only the other boundary needs does not touch this one. */
static void ask_other(struct site *s, const struct flip *f)
{
    char text[SITE_TEXT_BYTES];
    char where[FLIP_WHERE_BYTES];
    where_of_row(f, where);
    for (int i = 0; i < SITE_BOUNDARIES; i++) {
        char selector[16];
        if (row_is_needed(f->row) && row_is_of(s, f->row, i)) {
            continue;
        }
        (void)snprintf(selector, sizeof selector, "seq:%d", i + 1);
        cr_assert_eq(site_look(s, selector, text), 0, "%s: %s: %s", where, selector, text);
        cr_assert(site_same(s, i), "%s: '%s' is another record", where, selector);
    }
}

/* The opening reads these, of the others it takes no notice. */
static bool row_is_opened(const struct flip_row *row)
{
    return flip_long() || row->db == DB_META || row->db == DB_BOUNDARY || row->db == DB_CHUNK;
}

static void read_flipped(struct site *s, struct flip *f)
{
    const struct question q = question_of(s, f->row);
    for (unsigned pass = 0; pass < flip_passes(); pass++) {
        f->mask = flip_mask(f->at, pass);
        flip_apply(&s->rows, f);
        ask(s, f, &q);
        if (!f->in_key && f->at == 0) {
            ask_other(s, f);
        }
        flip_undo(&s->rows, f);
        if (row_is_opened(f->row)) {
            site_close_run(s);
        }
    }
}

static void read_rows(bool keys)
{
    struct site s;
    size_t bytes = 0;
    site_up(&s, SITE_PACKED);
    site_start(&s);
    (void)printf("%zu rows, ", s.rows.count);
    for (size_t i = 0; i < s.rows.count; i++) {
        struct flip f = { .row = &s.rows.rows[i], .in_key = keys };
        for (; f.at < flip_end(&f); f.at++, bytes++) {
            read_flipped(&s, &f);
        }
        site_close_run(&s);
    }
    site_stop(&s);
    site_down(&s);
    (void)printf("%zu bytes of their %s\n", bytes, keys ? "keys" : "values");
}

CASE(flip, E28_no_byte_of_a_row_is_read_as_other_data, .timeout = 3000)
{
    read_rows(false);
}

/* In a key it is a row lost and another one too many, maybe in the place of a third. */
CASE(flip, E28_no_byte_of_a_key_is_read_as_other_data, .timeout = 3000)
{
    read_rows(true);
}

/* ---- payload --------------------------------------------------------------------------------- */

static bool range_is_payload(const struct flip_range *r)
{
    return r->what == FLIP_VALUE || r->what == FLIP_GAP;
}

static void read_damaged(struct site *s, const struct flip_range *r, uint64_t at)
{
    char text[SITE_TEXT_BYTES];
    char where[FLIP_WHERE_BYTES];
    struct words words;
    for (unsigned pass = 0; pass < flip_passes(); pass++) {
        uint8_t mask = flip_mask(at, pass);
        flip_file(s->segment, at, mask);
        int rc = site_look(s, "latest", text);
        flip_file(s->segment, at, mask);
        where_of_byte(at, mask, where);
        words_of_range(r, &words);
        cr_assert_eq(rc, -CAIRN_ECORRUPT, "%s: %d: %s", where, rc, text);
        words_expect(text, &words, where);
    }
}

static void flip_rest(const struct site *s, const struct flip_ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++) {
        const struct flip_range *r = &ranges->list[i];
        for (uint64_t at = r->from; at < r->to && !range_is_payload(r); at++) {
            flip_file(s->segment, at, 0xff);
        }
    }
}

/* Nothing but payload is read of a segment: all of the rest may be flipped at once. */
static void read_past_the_rest(struct site *s, const struct flip_ranges *ranges)
{
    char text[SITE_TEXT_BYTES];
    flip_rest(s, ranges);
    site_close_run(s);
    cr_assert_eq(site_look(s, "latest", text), 0, "%s", text);
    cr_assert(site_same(s, SITE_NEWEST));
    flip_rest(s, ranges);
}

static void read_segment(enum site_kind kind)
{
    struct site s;
    struct flip_ranges ranges;
    site_up(&s, kind);
    flip_ranges_read(&ranges, &s.rows, SITE_NEWEST + 1, s.segment);
    site_start(&s);
    read_past_the_rest(&s, &ranges);
    for (size_t i = 0; i < ranges.count; i++) {
        const struct flip_range *r = &ranges.list[i];
        for (uint64_t at = r->from; at < r->to && range_is_payload(r); at++) {
            if (flip_chosen(r, at)) {
                read_damaged(&s, r, at);
            }
        }
    }
    site_stop(&s);
    site_down(&s);
}

CASE(flip, E28_no_byte_of_a_shared_chunk_is_read_as_other_data, .timeout = 3000)
{
    read_segment(SITE_PACKED);
}

CASE(flip, E28_no_byte_of_an_own_chunk_is_read_as_other_data, .timeout = 3000)
{
    read_segment(SITE_OWN);
}
