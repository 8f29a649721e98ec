/* The boundary with the best number as a label: `best:loss:min`. */
#include <math.h>
#include <stdlib.h>

#include "store/select.h"
#include "store/walk.h"

/* The whole value must be a number; NaN is none. */
static bool sel_number(struct slice value, double *ret)
{
    char text[LIMIT_LABEL_VALUE_BYTES + 1];
    char *end = NULL;
    if (value.bytes == 0 || value.bytes >= sizeof text) {
        return false;
    }
    memcpy(text, value.data, value.bytes);
    text[value.bytes] = '\0';
    *ret = strtod(text, &end);
    return end == text + value.bytes && !isnan(*ret);
}

int label_number(
    struct txn *t, const struct boundary *b, struct slice name, double *ret, struct err *err)
{
    struct slice value;
    struct key key = key_label(b->seq, name);
    *ret = (double)NAN;
    int rc = row_get(t, DB_LABEL, &key, &value, err);
    for (uint32_t i = 0; rc == -CAIRN_ENOENT && i < b->label_count; i++) {
        if (slice_cmp(b->labels[i].name, name) == 0) {
            value = b->labels[i].value; /* the index has lost it */
            rc = 0;
        }
    }
    if (rc == 0 && !sel_number(value, ret)) {
        *ret = (double)NAN;
    }
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

struct sel_best {
    const struct selector *sel;
    struct sel_passed passed;
    bool found;
    double number;
    uint64_t seq;
};

/* The better number wins, of equal ones the newest boundary's. */
static int sel_best_try(
    struct txn *t, struct sel_best *best, uint64_t seq, struct slice value, struct err *err)
{
    double number = 0.0;
    bool passes = false;
    if (!sel_number(value, &number)) {
        return 0;
    }
    bool better = best->sel->want_max ? number > best->number : number < best->number;
    if (best->found && !better && (number != best->number || seq < best->seq)) {
        return 0;
    }
    int rc = sel_passes(t, best->sel, seq, &best->passed, &passes, err);
    if (rc == 0 && !passes) {
        best->found = true;
        best->number = number;
        best->seq = seq;
    }
    return rc;
}

static int
sel_best_row(struct txn *t, struct sel_best *best, const struct row_cursor *c, struct err *err)
{
    struct key_parts parts;
    return key_parse(DB_LABEL, c->key, &parts) && slice_cmp(parts.name, best->sel->label) == 0
               ? sel_best_try(t, best, parts.seq, c->value, err)
               : 0;
}

static int sel_best_index(struct txn *t, struct sel_best *best, struct err *err)
{
    struct row_cursor c;
    int rc = row_cursor_open(&c, t, DB_LABEL, err);
    if (rc < 0) {
        return rc;
    }
    rc = row_seek(&c, NULL, err);
    while (rc == 0) {
        rc = sel_best_row(t, best, &c, err);
        rc = rc < 0 ? rc : row_next(&c, err);
    }
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

/* What the row says of a label counts when the index has lost it. */
static int
sel_best_labels(struct txn *t, struct sel_best *best, const struct boundary *b, struct err *err)
{
    struct slice value;
    for (uint32_t i = 0; i < b->label_count; i++) {
        if (slice_cmp(b->labels[i].name, best->sel->label) != 0) {
            continue;
        }
        struct key key = key_label(b->seq, b->labels[i].name);
        int rc = row_get(t, DB_LABEL, &key, &value, err);
        if (rc == -CAIRN_ENOENT) {
            rc = sel_best_try(t, best, b->seq, b->labels[i].value, err);
        }
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

/* Labels of a damaged row are those of the index. */
static int sel_best_rows(struct txn *t, struct sel_best *best, struct err *err)
{
    struct walk w;
    int rc = walk_open(&w, t, UINT64_MAX, err);
    while (rc == 0) {
        struct bump b;
        struct row_boundary row;
        row_bump_init(&b, w.c.value.bytes);
        rc = w.damaged ? 0 : walk_row(&w, &b, &row, err);
        if (rc == 0 && !w.damaged) {
            rc = sel_best_labels(t, best, &row.boundary, err);
        }
        bump_fini(&b);
        rc = rc < 0 ? rc : walk_older(&w, err);
    }
    walk_close(&w);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

int sel_best(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct sel_best best = { .sel = sel };
    int rc = sel_best_index(t, &best, err);
    rc = rc < 0 ? rc : sel_best_rows(t, &best, err);
    if (rc < 0) {
        return rc;
    }
    if (!best.found) {
        return sel_none_left(sel, &best.passed, err);
    }
    *ret_seq = best.seq;
    return sel_check(t, NULL, best.seq, err);
}
