#include "store/mark.h"

#include "store/row.h"

static const struct {
    unsigned mark;
    const char *name;
} marks[] = {
    { MARK_ABANDONED, "abandoned" },
    { MARK_DAMAGED, "damaged" },
};
enum { MARKS = sizeof marks / sizeof marks[0] };

static struct key mark_key(uint64_t seq, unsigned mark)
{
    unsigned i = 0;
    while (i + 1 < MARKS && marks[i].mark != mark) {
        i++;
    }
    return key_label(seq, slice_str(marks[i].name));
}

unsigned mark_named(struct slice name)
{
    for (unsigned i = 0; i < MARKS; i++) {
        if (slice_cmp(name, slice_str(marks[i].name)) == 0) {
            return marks[i].mark;
        }
    }
    return 0;
}

int mark_get(struct txn *t, uint64_t seq, unsigned *ret_marks, struct err *err)
{
    struct row_cursor c;
    struct key_parts at;
    uint64_t count = 0;
    struct key from = key_boundary(seq);
    *ret_marks = 0;
    int rc = row_count(t, DB_MARK, &count, err);
    if (rc < 0 || count == 0) {
        return rc;
    }
    rc = row_cursor_open(&c, t, DB_MARK, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_seek(&c, &from, err);
         row_stands(&c, rc) && key_parse(DB_MARK, c.key, &at) && at.seq == seq;
         rc = row_next(&c, err)) {
        *ret_marks |= mark_named(at.name);
    }
    bool stands = row_stands(&c, rc);
    row_cursor_close(&c);
    return stands || rc == -CAIRN_ENOENT ? 0 : rc;
}

int mark_put(struct txn *t, uint64_t seq, unsigned mark, struct slice why, struct err *err)
{
    struct key key = mark_key(seq, mark);
    return row_put(t, DB_MARK, &key, why, err);
}

int mark_del(struct txn *t, uint64_t seq, unsigned mark, struct err *err)
{
    struct key key = mark_key(seq, mark);
    return row_del(t, DB_MARK, &key, err);
}
