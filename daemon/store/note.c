#include "store/note.h"

#include <inttypes.h>
#include <time.h>

#include "record/rules.h"
#include "store/mark.h"
#include "store/store_int.h"
#include "store/walk.h"

/* ---- asking ---------------------------------------------------------------------------------- */

/* Each row of a database whose key begins with the seq; rows that are damaged have no value. */
typedef int note_fn(void *arg, struct slice name, struct slice value, struct err *err);

static int
note_walk(struct txn *t, enum st_db db, uint64_t seq, note_fn *each, void *arg, struct err *err)
{
    struct row_cursor c;
    struct key_parts at;
    struct key from = key_boundary(seq);
    int end = 0;
    int rc = row_cursor_open(&c, t, db, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_seek(&c, &from, err);
         end == 0 && row_stands(&c, rc) && key_parse(db, c.key, &at) && at.seq == seq;
         rc = row_next(&c, err)) {
        end = each(arg, at.name, rc == 0 ? c.value : slice_of(NULL, 0), err);
    }
    bool fine = row_stands(&c, rc) || rc == -CAIRN_ENOENT;
    row_cursor_close(&c);
    return end < 0 ? end : fine ? 0 : rc;
}

struct note_labels {
    struct label *labels;
    uint32_t count;
    struct bump *bump;
};

static int note_copy(struct bump *bump, struct slice from, struct slice *ret, struct err *err)
{
    char *text = bump_alloc(bump, from.bytes + 1);
    if (text == NULL) {
        return err_set(err, -CAIRN_ELIMIT, "the labels of a boundary do not fit the answer");
    }
    if (from.bytes > 0) {
        memcpy(text, from.data, from.bytes);
    }
    *ret = slice_of(text, from.bytes);
    return 0;
}

static int note_label(void *arg, struct slice name, struct slice value, struct err *err)
{
    struct note_labels *l = arg;
    if (l->count == LIMIT_LABELS || value.data == NULL) {
        return 0; /* damaged: what the boundary's own row says of it holds */
    }
    struct label *to = &l->labels[l->count++];
    int rc = note_copy(l->bump, name, &to->name, err);
    return rc < 0 ? rc : note_copy(l->bump, value, &to->value, err);
}

/* What the index has lost is in the row. */
static void note_first(struct note_labels *l, const struct label *first)
{
    for (uint32_t i = 0; i < l->count; i++) {
        if (slice_cmp(l->labels[i].name, first->name) == 0) {
            return;
        }
    }
    if (l->count < LIMIT_LABELS) {
        l->labels[l->count++] = *first;
    }
}

static int note_count(void *arg, struct slice name, struct slice value, struct err *err)
{
    uint32_t *count = arg;
    (void)name;
    (void)value;
    (void)err;
    ++*count;
    return 0;
}

int note_read(struct txn *t, struct boundary *b, struct bump *bump, struct err *err)
{
    struct note_labels l = { .bump = bump };
    uint64_t labels = 0;
    uint64_t pins = 0;
    int rc = row_count(t, DB_LABEL, &labels, err);
    rc = rc < 0 ? rc : row_count(t, DB_PIN, &pins, err);
    rc = rc < 0 ? rc : mark_get(t, b->seq, &b->marks, err);
    if (rc == 0 && pins > 0) {
        rc = note_walk(t, DB_PIN, b->seq, note_count, &b->pin_count, err);
    }
    if (rc < 0 || labels == 0) {
        return rc;
    }
    l.labels = bump_alloc(bump, LIMIT_LABELS * sizeof *l.labels);
    if (l.labels == NULL) {
        return err_set(err, -CAIRN_ELIMIT, "the labels of a boundary do not fit the answer");
    }
    rc = note_walk(t, DB_LABEL, b->seq, note_label, &l, err);
    for (uint32_t i = 0; rc == 0 && i < b->label_count; i++) {
        note_first(&l, &b->labels[i]);
    }
    if (rc == 0) {
        b->labels = l.labels;
        b->label_count = l.count;
    }
    return rc;
}

/* ---- saying ---------------------------------------------------------------------------------- */

struct note {
    uint64_t seq;
    struct slice name;
    const struct label *labels;
    uint32_t count;
    struct st_pin pin;
};

/* It must be there, damaged or not: pins are for those that are in doubt, too. */
static int note_check(struct txn *t, uint64_t seq, struct err *err)
{
    struct slice value;
    struct key key = key_boundary(seq);
    int rc = row_get(t, DB_BOUNDARY, &key, &value, err);
    rc = rc == -CAIRN_ENOENT ? walk_missing(t, seq, err) : rc;
    return rc == -CAIRN_ECORRUPT ? 0 : rc;
}

static int note_labels_txn(struct txn *t, void *arg, struct err *err)
{
    const struct note *n = arg;
    uint32_t count = 0;
    int rc = note_check(t, n->seq, err);
    for (uint32_t i = 0; rc == 0 && i < n->count; i++) {
        struct key key = key_label(n->seq, n->labels[i].name);
        rc = row_put(t, DB_LABEL, &key, n->labels[i].value, err);
    }
    rc = rc < 0 ? rc : note_walk(t, DB_LABEL, n->seq, note_count, &count, err);
    return rc == 0 && count > LIMIT_LABELS
               ? err_set(err,
                         -CAIRN_ELIMIT,
                         "seq %" PRIu64 " would have %u labels, at most %u are possible",
                         n->seq,
                         count,
                         LIMIT_LABELS)
               : rc;
}

int st_label(
    struct st_run *run, uint64_t seq, const struct label *labels, uint32_t count, struct err *err)
{
    struct note n = { .seq = seq, .labels = labels, .count = count };
    const struct txn_job job = { .fn = note_labels_txn, .arg = &n, .failpoint = "label" };
    int rc = rules_labels(labels, count, err);
    return rc < 0 ? run_wrap(run, rc, err) : run_change(run, &job, err);
}

static int note_pin_txn(struct txn *t, void *arg, struct err *err)
{
    const struct note *n = arg;
    struct wire_buf buf = { .data = NULL };
    struct key key = key_label(n->seq, n->name);
    const struct row_pin row = { .uid = n->pin.uid,
                                 .created_ns = n->pin.created_ns,
                                 .why = n->pin.why };
    int rc = note_check(t, n->seq, err);
    rc = rc < 0 ? rc : row_pin_encode(&row, &buf, err);
    rc = rc < 0 ? rc : row_put(t, DB_PIN, &key, slice_of(buf.data, buf.bytes), err);
    wire_buf_free(&buf);
    return rc;
}

int st_pin(struct st_run *run, uint64_t seq, const struct st_pin *pin, struct err *err)
{
    struct timespec now = { .tv_sec = 0 };
    struct note n = { .seq = seq, .name = pin->name, .pin = *pin };
    const struct txn_job job = { .fn = note_pin_txn, .arg = &n, .failpoint = "pin" };
    (void)clock_gettime(CLOCK_REALTIME, &now);
    n.pin.created_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (!label_name_ok(pin->name)) {
        return run_wrap(run,
                        err_set(err,
                                -CAIRN_EINVAL,
                                "the name of a pin is 1 to %u letters, digits, '.', '_' or '-'",
                                LIMIT_LABEL_NAME_BYTES),
                        err);
    }
    return run_change(run, &job, err);
}

static int note_unpin_txn(struct txn *t, void *arg, struct err *err)
{
    const struct note *n = arg;
    struct slice value;
    struct key key = key_label(n->seq, n->name);
    int rc = row_get(t, DB_PIN, &key, &value, err);
    if (rc == -CAIRN_ENOENT) {
        return err_set(err,
                       rc,
                       "seq %" PRIu64 " is not pinned as '%.*s'",
                       n->seq,
                       (int)n->name.bytes,
                       (const char *)n->name.data);
    }
    return rc < 0 && rc != -CAIRN_ECORRUPT ? rc : row_del(t, DB_PIN, &key, err);
}

int st_unpin(struct st_run *run, uint64_t seq, struct slice name, struct err *err)
{
    struct note n = { .seq = seq, .name = name };
    const struct txn_job job = { .fn = note_unpin_txn, .arg = &n, .failpoint = "unpin" };
    return run_change(run, &job, err);
}

/* ---- pins, all of them ----------------------------------------------------------------------- */

struct note_pins {
    int (*each)(void *arg, const struct st_pin *pin, struct err *err);
    void *arg;
};

static int
note_pin_row(const struct row_cursor *c, int moved, const struct note_pins *p, struct err *err)
{
    struct bump b;
    struct key_parts at;
    struct row_pin row = { .uid = UINT32_MAX, .why = slice_str("(this row is damaged)") };
    if (!key_parse(DB_PIN, c->key, &at)) {
        return 0;
    }
    row_bump_init(&b, moved == 0 ? c->value.bytes : 0);
    if (moved == 0) {
        (void)row_pin_decode(c->value, &b, &row, NULL);
    }
    const struct st_pin pin = {
        .seq = at.seq, .name = at.name, .why = row.why, .uid = row.uid, .created_ns = row.created_ns
    };
    int rc = p->each(p->arg, &pin, err);
    bump_fini(&b);
    return rc;
}

static int note_pins_txn(struct txn *t, void *arg, struct err *err)
{
    const struct note_pins *p = arg;
    struct row_cursor c;
    int end = 0;
    int rc = row_cursor_open(&c, t, DB_PIN, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_seek(&c, NULL, err); end == 0 && row_stands(&c, rc); rc = row_next(&c, err)) {
        end = note_pin_row(&c, rc, p, err);
    }
    bool fine = row_stands(&c, rc) || rc == -CAIRN_ENOENT;
    row_cursor_close(&c);
    return end < 0 ? end : fine ? 0 : rc;
}

int st_pins(struct st_run *run,
            int (*each)(void *arg, const struct st_pin *pin, struct err *err),
            void *arg,
            struct err *err)
{
    struct note_pins p = { .each = each, .arg = arg };
    int rc = env_read(&run->index, note_pins_txn, &p, err);
    return rc < 0 ? run_wrap(run, rc, err) : 0;
}
