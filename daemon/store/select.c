/* Which boundary a selector names. An index hit is checked against the row, an index miss against
 * a scan: a lost key never looks like "no such boundary". When a key says which boundary it is, but
 * its row is damaged or lost, that boundary is the answer: whoever reads it gets ECORRUPT. */
#include "store/select.h"

#include <inttypes.h>
#include <stdio.h>

#include "record/digest.h"
#include "store/mark.h"
#include "store/walk.h"

/* Does a boundary answer the question? */
static bool sel_matches(const struct selector *sel, const struct boundary *b)
{
    if (sel->kind == SELECT_FINITE) {
        return !b->not_finite;
    }
    return sel->kind == SELECT_STEP ? b->step == sel->number
                                    : memcmp(b->save_id, sel->id, sizeof sel->id) == 0;
}

int sel_passes(struct txn *t,
               const struct selector *sel,
               uint64_t seq,
               struct sel_passed *passed,
               bool *ret,
               struct err *err)
{
    unsigned marks = 0;
    *ret = false;
    if (sel->kind == SELECT_SEQ || sel->kind == SELECT_ID) {
        return 0;
    }
    int rc = mark_get(t, seq, &marks, err);
    if (rc == 0 && marks != 0) {
        *ret = true;
        passed->marks |= marks;
        passed->seq = seq > passed->seq ? seq : passed->seq;
    }
    return rc;
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
    return err_set(
        err, -CAIRN_ENOENT, "no boundary is finite: `cairn log` shows which values are not");
}

/* Nothing answers but what was passed over. When that is damaged, the answer is not "there is
 * none", which would read as "start fresh". */
int sel_none_left(const struct selector *sel, const struct sel_passed *passed, struct err *err)
{
    if ((passed->marks & MARK_DAMAGED) != 0) {
        return err_set(err,
                       -CAIRN_ECORRUPT,
                       "only damaged boundaries answer, seq %" PRIu64
                       " for one: `cairn verify` says what is wrong with it",
                       passed->seq);
    }
    int rc = sel_none(sel, err);
    return passed->marks == 0
               ? rc
               : err_wrap(err, rc, "seq %" PRIu64 " is left out, as it was abandoned", passed->seq);
}

/* ---- by the rows themselves ------------------------------------------------------------------ */

static int sel_latest(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct walk w;
    struct sel_passed passed = { .marks = 0 };
    uint64_t left = sel->number;
    bool passes = false;
    int rc = walk_open(&w, t, UINT64_MAX, err);
    while (rc == 0) {
        rc = sel_passes(t, sel, w.seq, &passed, &passes, err);
        if (rc == 0 && !passes && left-- == 0) {
            *ret_seq = w.seq;
            break;
        }
        rc = rc < 0 ? rc : walk_older(&w, err);
    }
    walk_close(&w);
    return rc == -CAIRN_ENOENT ? sel_none_left(sel, &passed, err) : rc;
}

/* Is the boundary that an index names there, and the right one? */
int sel_check(struct txn *t, const struct selector *sel, uint64_t seq, struct err *err)
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
static int sel_row(const struct walk *w,
                   const struct selector *sel,
                   struct sel_passed *passed,
                   bool *ret_matches,
                   struct err *err)
{
    struct bump b;
    struct row_boundary row;
    bool passes = false;
    row_bump_init(&b, w->c.value.bytes);
    int rc = walk_row(w, &b, &row, err);
    *ret_matches = rc == 0 && sel_matches(sel, &row.boundary);
    bump_fini(&b);
    if (*ret_matches || rc == -CAIRN_ECORRUPT) {
        struct err why = { .code = 0 };
        int marked = sel_passes(w->c.txn, sel, w->seq, passed, &passes, &why);
        rc = passes ? 0 : marked < 0 ? marked : rc;
        *ret_matches = *ret_matches && !passes;
    }
    return rc;
}

/* The newest that matches. A damaged row on the way there may be the one, so it ends the search. */
static int sel_scan(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct walk w;
    struct sel_passed passed = { .marks = 0 };
    bool found = false;
    int rc = walk_open(&w, t, UINT64_MAX, err);
    while (rc == 0) {
        rc = sel_row(&w, sel, &passed, &found, err);
        if (found) {
            *ret_seq = w.seq;
            break;
        }
        rc = rc < 0 ? rc : walk_older(&w, err);
    }
    walk_close(&w);
    return rc == -CAIRN_ENOENT ? sel_none_left(sel, &passed, err) : rc;
}

/* The newest that matches among those newer than the one an index names: the index may have lost
 * its key. It is believed about a damaged row, which would have to be hit as well. */
static int sel_newer(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct walk w;
    struct sel_passed passed = { .marks = 0 };
    bool found = false;
    int rc = walk_open(&w, t, UINT64_MAX, err);
    while (rc == 0 && w.seq > *ret_seq) {
        rc = sel_row(&w, sel, &passed, &found, err);
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

/* The newest of a step: the last key that starts with it, and is not passed over. */
static int sel_step_key(struct txn *t,
                        const struct selector *sel,
                        struct key_parts *ret,
                        bool *ret_hit,
                        struct err *err)
{
    struct row_cursor c;
    struct sel_passed passed = { .marks = 0 };
    struct key after = key_step(sel->number, UINT64_MAX);
    bool passes = true;
    int rc = row_cursor_open(&c, t, DB_STEP, err);
    if (rc < 0) {
        return rc;
    }
    rc = row_seek(&c, &after, err);
    rc = rc == -CAIRN_ENOENT ? row_last(&c, err) : rc < 0 ? rc : row_prev(&c, err);
    while (rc == 0 && passes && key_parse(DB_STEP, c.key, ret) && ret->step == sel->number) {
        rc = sel_passes(t, sel, ret->seq, &passed, &passes, err);
        rc = rc < 0 || !passes ? rc : row_prev(&c, err);
    }
    row_cursor_close(&c);
    *ret_hit = rc == 0 && !passes;
    return rc == -CAIRN_ENOENT || rc == -CAIRN_ECORRUPT ? 0 : rc;
}

static int sel_step(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err)
{
    struct key_parts parts = { .seq = 0 };
    bool hit = false;
    int rc = sel_step_key(t, sel, &parts, &hit, err);
    if (rc < 0) {
        return rc;
    }
    if (!hit) { /* none, lost or damaged: the rows decide */
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
        return sel_scan(t, sel, ret_seq, err);
    }
    return sel_none(sel, err);
}
