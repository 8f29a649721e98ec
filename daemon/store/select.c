/* Which boundary a selector names. An index hit is checked against the row, an index miss against
 * a scan: a lost key never looks like "no such boundary". When a key says which boundary it is, but
 * its row is damaged or lost, that boundary is the answer: whoever reads it gets ECORRUPT. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "record/digest.h"
#include "store/store_int.h"
#include "store/walk.h"

/* Does a boundary answer the question? */
static bool sel_matches(const struct selector *sel, const struct boundary *b)
{
    return sel->kind == SELECT_STEP ? b->step == sel->number
                                    : memcmp(b->save_id, sel->id, sizeof sel->id) == 0;
}

static int sel_none(const struct selector *sel, struct err *err)
{
    char hex[33];
    struct digest id;
    switch (sel->kind) {
    case SELECT_LATEST:
        return sel->number == 0 ? err_set(err, -CAIRN_ENOENT, "there is no boundary yet")
                                : err_set(err,
                                          -CAIRN_ENOENT,
                                          "there are no %" PRIu64 " boundaries before the newest",
                                          sel->number);
    case SELECT_STEP:
        return err_set(err, -CAIRN_ENOENT, "there is no boundary of step %" PRIu64, sel->number);
    case SELECT_SEQ:
        return err_set(err, -CAIRN_ENOENT, "there is no boundary with seq %" PRIu64, sel->number);
    case SELECT_ID:
        memcpy(id.byte, sel->id, sizeof id.byte);
        digest_hex(&id, hex);
        return err_set(err, -CAIRN_ENOENT, "there is no boundary with save id %s", hex);
    case SELECT_BEST:
        return err_set(err,
                       -CAIRN_ENOENT,
                       "no boundary has a number as label '%.*s'",
                       (int)sel->label.bytes,
                       (const char *)sel->label.data);
    case SELECT_FINITE:
        break;
    }
    return err_set(err,
                   -CAIRN_ENOTSUP,
                   "'finite' is not supported yet: `cairn log` says which boundaries are");
}

/* ---- by the rows themselves ------------------------------------------------------------------ */

static int sel_latest(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct walk w;
    uint64_t left = sel->number;
    int rc = walk_open(&w, t, UINT64_MAX, err);
    for (; rc == 0 && left > 0; left--) {
        rc = walk_older(&w, err);
    }
    if (rc == 0) {
        *ret_seq = w.seq;
    }
    walk_close(&w);
    return rc == -CAIRN_ENOENT ? sel_none(sel, err) : rc;
}

/* Is the boundary that an index names there, and the right one? */
static int sel_check(struct txn *t, const struct selector *sel, uint64_t seq, struct err *err)
{
    struct bump b;
    struct row_boundary row;
    char what[64];
    int rc = row_get_boundary(t, seq, &b, &row, err);
    if (rc == 0 && sel != NULL && !sel_matches(sel, &row.boundary)) {
        rc = err_set(
            err, -CAIRN_ECORRUPT, "an index names seq %" PRIu64 ", which is another boundary", seq);
    } else if (rc == -CAIRN_ECORRUPT) {
        rc = 0; /* whoever reads it will be told */
    }
    bump_fini(&b);
    (void)snprintf(what, sizeof what, "an index names seq %" PRIu64, seq);
    return row_damage(rc, what, err);
}

/* Does the row match that the walk stands on? Negative: nobody can tell. */
static int
sel_row(const struct walk *w, const struct selector *sel, bool *ret_matches, struct err *err)
{
    struct bump b;
    struct row_boundary row;
    row_bump_init(&b, w->c.value.bytes);
    int rc = walk_row(w, &b, &row, err);
    *ret_matches = rc == 0 && sel_matches(sel, &row.boundary);
    bump_fini(&b);
    return rc;
}

/* The newest that matches. A damaged row on the way there may be the one, so it ends the search. */
static int sel_scan(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct walk w;
    bool found = false;
    int rc = walk_open(&w, t, UINT64_MAX, err);
    while (rc == 0) {
        rc = sel_row(&w, sel, &found, err);
        if (found) {
            *ret_seq = w.seq;
            break;
        }
        rc = rc < 0 ? rc : walk_older(&w, err);
    }
    walk_close(&w);
    return rc == -CAIRN_ENOENT ? sel_none(sel, err) : rc;
}

/* The newest that matches among those newer than the one an index names: the index may have lost
 * its key. It is believed about a damaged row, which would have to be hit as well. */
static int sel_newer(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct walk w;
    bool found = false;
    int rc = walk_open(&w, t, UINT64_MAX, err);
    while (rc == 0 && w.seq > *ret_seq) {
        rc = sel_row(&w, sel, &found, err);
        if (found) {
            *ret_seq = w.seq;
            break;
        }
        rc = rc < 0 && rc != -CAIRN_ECORRUPT ? rc : walk_older(&w, err);
    }
    walk_close(&w);
    return rc == -CAIRN_ENOENT || rc == -CAIRN_ECORRUPT ? 0 : rc;
}

/* ---- by an index ----------------------------------------------------------------------------- */

/* The newest of a step: the last key that starts with it. */
static int sel_step(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct row_cursor c;
    struct key_parts parts = { .seq = 0 };
    struct key after = key_step(sel->number, UINT64_MAX);
    int rc = row_cursor_open(&c, t, DB_STEP, err);
    if (rc < 0) {
        return rc;
    }
    rc = row_seek(&c, &after, err);
    rc = rc == -CAIRN_ENOENT ? row_last(&c, err) : rc < 0 ? rc : row_prev(&c, err);
    bool hit = rc == 0 && key_parse(DB_STEP, c.key, &parts) && parts.step == sel->number;
    row_cursor_close(&c);
    if (rc < 0 && rc != -CAIRN_ENOENT && rc != -CAIRN_ECORRUPT) {
        return rc;
    }
    if (!hit) { /* lost or damaged: the rows decide */
        return sel_scan(t, sel, ret_seq, err);
    }
    *ret_seq = parts.seq;
    rc = sel_newer(t, sel, ret_seq, err);
    return rc < 0 ? rc : sel_check(t, sel, *ret_seq, err);
}

static int sel_id(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct row_save save;
    int rc = row_get_save(t, sel->id, 0, &save, err);
    if (rc == -CAIRN_ENOENT) {
        return sel_scan(t, sel, ret_seq, err);
    }
    if (rc < 0) {
        return rc;
    }
    if (save.state != SAVE_COMMITTED) {
        return err_set(
            err, -CAIRN_ENOENT, "seq %" PRIu64 " had this save id and has been removed", save.seq);
    }
    *ret_seq = save.seq;
    return sel_check(t, sel, save.seq, err);
}

static int sel_seq(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct slice value;
    struct key key = key_boundary(sel->number);
    int rc = row_get(t, DB_BOUNDARY, &key, &value, err);
    rc = rc == -CAIRN_ENOENT ? walk_missing(t, sel->number, err) : rc;
    if (rc == 0 || rc == -CAIRN_ECORRUPT) {
        *ret_seq = sel->number;
        return 0;
    }
    return rc == -CAIRN_ENOENT ? sel_none(sel, err) : rc;
}

/* ---- by a label ------------------------------------------------------------------------------ */

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

struct sel_best {
    const struct selector *sel;
    bool found;
    double number;
    uint64_t seq;
};

/* The better number wins, of equal ones the newest boundary's. */
static void sel_best_try(struct sel_best *best, uint64_t seq, struct slice value)
{
    double number = 0.0;
    if (!sel_number(value, &number)) {
        return;
    }
    bool better = best->sel->want_max ? number > best->number : number < best->number;
    if (!best->found || better || (number == best->number && seq > best->seq)) {
        best->found = true;
        best->number = number;
        best->seq = seq;
    }
}

static int sel_best_index(struct txn *t, struct sel_best *best, struct err *err)
{
    struct row_cursor c;
    int rc = row_cursor_open(&c, t, DB_LABEL, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_seek(&c, NULL, err); rc == 0; rc = row_next(&c, err)) {
        struct key_parts parts;
        if (key_parse(DB_LABEL, c.key, &parts) && slice_cmp(parts.name, best->sel->label) == 0) {
            sel_best_try(best, parts.seq, c.value);
        }
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
            sel_best_try(best, b->seq, b->labels[i].value);
        } else if (rc < 0) {
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

static int sel_best(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct sel_best best = { .sel = sel };
    int rc = sel_best_index(t, &best, err);
    rc = rc < 0 ? rc : sel_best_rows(t, &best, err);
    if (rc < 0) {
        return rc;
    }
    if (!best.found) {
        return sel_none(sel, err);
    }
    *ret_seq = best.seq;
    return sel_check(t, NULL, best.seq, err);
}

int select_seq(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    switch (sel->kind) {
    case SELECT_LATEST:
        return sel_latest(t, sel, ret_seq, err);
    case SELECT_STEP:
        return sel_step(t, sel, ret_seq, err);
    case SELECT_SEQ:
        return sel_seq(t, sel, ret_seq, err);
    case SELECT_ID:
        return sel_id(t, sel, ret_seq, err);
    case SELECT_BEST:
        return sel_best(t, sel, ret_seq, err);
    case SELECT_FINITE:
        break;
    }
    return sel_none(sel, err);
}
