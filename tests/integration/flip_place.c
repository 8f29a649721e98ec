/* Where a byte is: of which entry in a manifest page, and what in a segment. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "flip.h"
#include "store/row.h"
#include "store/segment.h"

static struct slice row_value(const struct flip_row *row)
{
    return slice_of(row->value, row->value_bytes - ROW_TRAILER_BYTES);
}

static void row_page(const struct flip_row *row, struct bump *b, struct wire_entries *ret)
{
    struct err err = { .code = 0 };
    row_bump_init(b, row->value_bytes);
    cr_assert_eq(row_entries_decode(row_value(row), b, ret, &err), 0, "%s", err.msg);
}

/* ---- entries in a page: the fields of the message, by hand ------------------------------------
 */

enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    PAGE_ENTRY = 3,
    ENTRY_PATH = 1,
    ENTRY_VALUE = 9
};

struct field {
    uint64_t number, type;
    size_t from, to; /* its contents */
};

static uint64_t field_varint(const uint8_t *data, size_t *at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = data[(*at)++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            break;
        }
    }
    return value;
}

/* The field at *at; moves behind it. */
static struct field field_next(const uint8_t *data, size_t *at)
{
    uint64_t tag = field_varint(data, at);
    struct field f = { .number = tag >> 3, .type = tag & 7 };
    size_t from = *at;
    uint64_t number = f.type == WIRE_FIXED64 ? 0 : field_varint(data, at);
    f.from = f.type == WIRE_BYTES ? *at : from;
    f.to = f.type == WIRE_FIXED64 ? from + 8 : f.type == WIRE_BYTES ? *at + (size_t)number : *at;
    *at = f.to;
    return f;
}

static enum flip_in entry_at(const struct flip_row *row,
                             const struct field *entry,
                             size_t at,
                             char ret_path[FLIP_ENTRY_BYTES])
{
    enum flip_in in = FLIP_IN_ENTRY;
    for (size_t next = entry->from; next < entry->to;) {
        struct field f = field_next(row->value, &next);
        bool here = at >= f.from && at < f.to;
        if (f.number == ENTRY_PATH) {
            (void)snprintf(ret_path,
                           FLIP_ENTRY_BYTES,
                           "%.*s",
                           (int)(f.to - f.from),
                           (const char *)row->value + f.from);
        }
        if (here && f.number == ENTRY_PATH) {
            in = FLIP_IN_PATH;
        } else if (here && f.number == ENTRY_VALUE) {
            in = FLIP_IN_VALUE;
        }
    }
    return in;
}

enum flip_in flip_entry_at(const struct flip_row *row, size_t at, char ret_path[FLIP_ENTRY_BYTES])
{
    size_t end = row->value_bytes - ROW_TRAILER_BYTES;
    ret_path[0] = '\0';
    for (size_t next = 0; next < end;) {
        struct field f = field_next(row->value, &next);
        if (f.number == PAGE_ENTRY && at >= f.from && at < f.to) {
            return entry_at(row, &f, at, ret_path);
        }
    }
    return FLIP_IN_NO_ENTRY;
}

/* ---- files ----------------------------------------------------------------------------------- */

void flip_file(const char *path, uint64_t at, uint8_t mask)
{
    uint8_t byte = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    cr_assert_geq(fd, 0, "%s", path);
    cr_assert_eq(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= mask;
    cr_assert_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
    (void)close(fd);
}

static void file_pread(const char *path, uint64_t at, void *to, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0, "%s", path);
    cr_assert_eq(pread(fd, to, bytes, (off_t)at), (ssize_t)bytes);
    (void)close(fd);
}

static struct flip_range *range_add(struct flip_ranges *r, enum flip_what what, uint64_t to)
{
    struct flip_range *at = &r->list[r->count];
    uint64_t from = r->count == 0 ? 0 : r->list[r->count - 1].to;
    cr_assert_lt(r->count + 1, sizeof r->list / sizeof r->list[0]);
    cr_assert_leq(from, to);
    *at = (struct flip_range){ .what = what, .from = from, .to = to };
    r->count += from < to ? 1 : 0;
    return at;
}

/* The values of a chunk lie in it at rising offsets; between them are gaps. */
struct placed {
    enum component component;
    uint32_t chunk, offset_bytes;
    uint64_t bytes;
    char path[FLIP_ENTRY_BYTES];
};

struct placed_list {
    struct placed at[64];
    size_t count;
};

static int placed_cmp(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;
    if (x->chunk != y->chunk) {
        return x->chunk < y->chunk ? -1 : 1;
    }
    return (x->offset_bytes > y->offset_bytes) - (x->offset_bytes < y->offset_bytes);
}

static void placed_read(struct placed_list *l, const struct flip_rows *rows, uint64_t seq)
{
    l->count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct flip_row *row = &rows->rows[i];
        struct bump b;
        struct wire_entries page;
        if (row->db != DB_COMPONENT || row->key_parts.seq != seq || row->key_parts.page == 0) {
            continue;
        }
        row_page(row, &b, &page);
        for (uint32_t k = 0; k < page.count; k++) {
            const struct entry *e = &page.entries[k];
            if (e->value.bytes == e->bytes) {
                continue;
            }
            cr_assert_lt(l->count, sizeof l->at / sizeof l->at[0]);
            struct placed *p = &l->at[l->count++];
            *p = (struct placed){ page.component, e->first_chunk, e->offset_bytes, e->bytes, "" };
            (void)snprintf(
                p->path, sizeof p->path, "%.*s", (int)e->path.bytes, (const char *)e->path.data);
        }
        bump_fini(&b);
    }
    qsort(l->at, l->count, sizeof l->at[0], placed_cmp);
}

static void range_chunk(struct flip_ranges *r,
                        const struct placed_list *l,
                        uint32_t index,
                        const struct row_chunk *chunk)
{
    enum component component = COMPONENT_NONE;
    for (size_t i = 0; i < l->count; i++) {
        const struct placed *p = &l->at[i];
        if (p->chunk != index) {
            continue;
        }
        component = p->component;
        range_add(r, FLIP_GAP, chunk->offset + p->offset_bytes)->component = component;
        struct flip_range *value =
            range_add(r, FLIP_VALUE, chunk->offset + p->offset_bytes + p->bytes);
        value->component = component;
        (void)snprintf(value->path, sizeof value->path, "%s", p->path);
    }
    cr_assert_neq(component, COMPONENT_NONE, "nothing lies in chunk %u", index);
    range_add(r, FLIP_GAP, chunk->offset + chunk->bytes)->component = component;
}

/* The padding of a chunk, and of the footer, ends on the next page. */
static void range_pad(struct flip_ranges *r)
{
    uint64_t to = r->list[r->count - 1].to;
    (void)range_add(
        r, FLIP_PADDING, (to + SEGMENT_PAGE_BYTES - 1) & ~(uint64_t)(SEGMENT_PAGE_BYTES - 1));
}

void flip_ranges_read(struct flip_ranges *r,
                      const struct flip_rows *rows,
                      uint64_t seq,
                      const char *segment_path)
{
    struct placed_list placed;
    uint8_t last[SEGMENT_PAGE_BYTES];
    placed_read(&placed, rows, seq);
    *r = (struct flip_ranges){ .count = 0 };
    (void)range_add(r, FLIP_PAGE, SEGMENT_FIRST_CHUNK);
    for (size_t i = 0; i < rows->count; i++) {
        const struct flip_row *row = &rows->rows[i];
        struct bump b;
        struct row_chunk chunk;
        struct err err = { .code = 0 };
        if (row->db != DB_CHUNK) {
            continue;
        }
        row_bump_init(&b, row->value_bytes);
        cr_assert_eq(row_chunk_decode(row_value(row), &b, &chunk, &err), 0, "%s", err.msg);
        bump_fini(&b);
        range_pad(r);
        cr_assert_eq(chunk.offset, r->list[r->count - 1].to);
        range_chunk(r, &placed, row->key_parts.index, &chunk);
    }
    range_pad(r);
    int fd = open(segment_path, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0, "%s", segment_path);
    uint64_t end = (uint64_t)lseek(fd, 0, SEEK_END);
    (void)close(fd);
    file_pread(segment_path, end - SEGMENT_PAGE_BYTES, last, sizeof last);
    cr_assert_eq(get_be64(last + 24), r->list[r->count - 1].to, "the footer is elsewhere");
    (void)range_add(r, FLIP_FOOTER, get_be64(last + 24) + get_be64(last + 32));
    range_pad(r);
    (void)range_add(r, FLIP_PAGE, end);
    cr_assert_eq(end - r->list[r->count - 2].to, SEGMENT_PAGE_BYTES);
}
