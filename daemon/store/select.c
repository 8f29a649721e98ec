/* Which boundary a selector names. An index hit is checked against the row, an index miss against
 * a scan: a lost key never looks like "no such boundary". */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "record/digest.h"
#include "store/row.h"
#include "store/store_int.h"

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
                   "'finite' is not supported yet: boundaries carry no counts of NaN and Inf");
}

/* ---- by the rows themselves ------------------------------------------------------------------ */

static int sel_seq_of(const struct row_cursor *c, uint64_t *ret_seq, struct err *err)
{
    struct key_parts parts;
    if (!key_parse(c->db, c->key, &parts)) {
        return row_undecodable(c->db, c->key, err);
    }
    *ret_seq = parts.seq;
    return 0;
}

static int sel_latest(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct row_cursor c;
    uint64_t left = sel->number;
    int rc = row_cursor_open(&c, t, DB_BOUNDARY, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_last(&c, err); rc == 0 && left > 0; left--) {
        rc = row_prev(&c, err);
    }
    rc = rc < 0 ? rc : sel_seq_of(&c, ret_seq, err);
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? sel_none(sel, err) : rc;
}

static int sel_check(struct txn *t, const struct selector *sel, uint64_t seq, struct err *err)
{
    struct bump b;
    struct row_boundary row;
    char what[64];
    int rc = row_get_boundary(t, seq, &b, &row, err);
    if (rc == 0 && sel != NULL && !sel_matches(sel, &row.boundary)) {
        rc = err_set(
            err, -CAIRN_ECORRUPT, "an index names seq %" PRIu64 ", which is another boundary", seq);
    }
    bump_fini(&b);
    (void)snprintf(what, sizeof what, "an index names seq %" PRIu64, seq);
    return row_damage(rc, what, err);
}

static int sel_scan(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct row_cursor c;
    bool found = false;
    int rc = row_cursor_open(&c, t, DB_BOUNDARY, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_last(&c, err); rc == 0 && !found;) {
        struct bump b;
        struct row_boundary row;
        row_bump_init(&b, c.value.bytes);
        rc = row_boundary_decode(c.value, &b, &row, err);
        if (rc == 0 && sel_matches(sel, &row.boundary)) {
            *ret_seq = row.boundary.seq;
            found = true;
        }
        bump_fini(&b);
        rc = rc < 0 || found ? rc : row_prev(&c, err);
    }
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? sel_none(sel, err) : rc;
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
    if (rc < 0 && rc != -CAIRN_ENOENT) {
        return rc;
    }
    if (!hit) {
        return sel_scan(t, sel, ret_seq, err);
    }
    *ret_seq = parts.seq;
    return sel_check(t, sel, parts.seq, err);
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
    struct bump b;
    struct row_boundary row;
    int rc = row_get_boundary(t, sel->number, &b, &row, err);
    bump_fini(&b);
    *ret_seq = rc == 0 ? sel->number : *ret_seq;
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

static int sel_best(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct row_cursor c;
    double best = 0.0;
    bool found = false;
    uint64_t seq = 0;
    int rc = row_cursor_open(&c, t, DB_LABEL, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_seek(&c, NULL, err); rc == 0; rc = row_next(&c, err)) {
        struct key_parts parts;
        double number = 0.0;
        if (!key_parse(DB_LABEL, c.key, &parts) || slice_cmp(parts.name, sel->label) != 0 ||
            !sel_number(c.value, &number)) {
            continue;
        }
        /* In the order of seq, so an equal one is newer. */
        if (!found || (sel->want_max ? number >= best : number <= best)) {
            best = number;
            seq = parts.seq;
            found = true;
        }
    }
    row_cursor_close(&c);
    if (rc != -CAIRN_ENOENT || !found) {
        return rc == -CAIRN_ENOENT ? sel_none(sel, err) : rc;
    }
    *ret_seq = seq;
    return sel_check(t, NULL, seq, err);
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
