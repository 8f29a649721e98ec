/* find.c: which boundaries a run has. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/call.h"
#include "lib/rec.h"
#include "record/selector.h"
#include "wire/keep.h"

#define FOUND_TEXT_BYTES (64u << 20) /* labels of one list */

/* ---- labels ---- */

void found_free(struct found *f)
{
    free(f->rows);
    f->rows = NULL;
    f->count = 0;
    bump_fini(&f->bump);
}

/* Keep the labels of the next boundary of the list; the answer that holds them is about to go. */
static int found_keep(struct cairn *c, const struct boundary *b)
{
    struct found *f = &c->found;
    bool ok = true;
    if ((f->count & (f->count + 1)) == 0) { /* 0, 1, 3, 7, ...: room for the next power of two */
        struct found_row *rows = realloc(f->rows, (f->count + 1) * 2 * sizeof *rows);
        ok = rows != NULL;
        f->rows = ok ? rows : f->rows;
    }
    const struct label *labels = keep_labels(&f->bump, b->labels, b->label_count);
    if (!ok || labels == NULL) {
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory for a list of boundaries");
    }
    f->rows[f->count++] = (struct found_row){ labels, b->label_count };
    return 0;
}

int cairn_found_label(
    const struct cairn *c, size_t index, size_t label, char *ret_name, char *ret_value)
{
    if (c == NULL || ret_name == NULL || ret_value == NULL) {
        return -CAIRN_EINVAL;
    }
    if (index >= c->found.count || label >= c->found.rows[index].count) {
        return -CAIRN_ENOENT;
    }
    const struct label *l = &c->found.rows[index].labels[label];
    memcpy(ret_name, l->name.data, l->name.bytes);
    ret_name[l->name.bytes] = '\0';
    memcpy(ret_value, l->value.data, l->value.bytes);
    ret_value[l->value.bytes] = '\0';
    return 0;
}

/* ---- the list ---- */

/* One page of the list. */
static int find_page(struct cairn *c, const char *selector, size_t max, union wire_msg *ret)
{
    union wire_msg msg = { .find = { .run = slice_str(c->run),
                                     .selector = slice_str(selector),
                                     .max = max < LIMIT_FIND ? (uint32_t)max : LIMIT_FIND } };
    return cl_ask(c, WIRE_FIND, &msg, WIRE_FOUND, ret);
}

/* The answer's boundaries and damaged ones, in one order. */
struct find_merge {
    const struct wire_found *found;
    uint32_t sound, damaged; /* taken so far */
};

/* False: that was all. A damaged one has nothing but its seq. */
static bool find_next(struct find_merge *m, struct boundary *ret, bool *ret_damaged)
{
    const struct wire_found *f = m->found;
    bool sound = m->sound < f->count;
    bool damaged = m->damaged < f->damaged_count;
    if (!sound && !damaged) {
        return false;
    }
    *ret_damaged = damaged && (!sound || f->damaged[m->damaged] > f->boundaries[m->sound].seq);
    *ret = *ret_damaged ? (struct boundary){ .seq = f->damaged[m->damaged++] }
                        : f->boundaries[m->sound++];
    return true;
}

struct find_list {
    struct cairn_boundary *list;
    size_t max, count;
};

/* Add what an answer has, but for the `again` that are there already. */
static int
find_take(struct cairn *c, struct find_list *to, const struct wire_found *found, size_t again)
{
    struct find_merge merge = { .found = found };
    struct boundary b;
    bool damaged = false;
    int rc = 0;
    while (rc == 0 && to->count < to->max && find_next(&merge, &b, &damaged)) {
        if (again > 0) {
            again--;
            continue;
        }
        struct cairn_boundary *ret = &to->list[to->count++];
        rec_public(&b, ret);
        ret->damaged = damaged;
        rc = found_keep(c, &b);
    }
    return rc;
}

/* A longer list goes on with the last boundary of the page before, which comes again. A page may be
 * short because its boundaries are large: only one with no news is the end. */
static int find_all(struct cairn *c, const char *selector, struct find_list *to)
{
    union wire_msg answer;
    char next[32];
    for (;;) {
        size_t before = to->count;
        size_t again = before > 0 ? 1 : 0;
        int rc = find_page(c, selector, to->max - before + again, &answer);
        rc = rc < 0 ? rc : find_take(c, to, &answer.found, again);
        if (rc < 0 || to->count == to->max || to->count == before) {
            return rc;
        }
        const struct cairn_boundary *last = &to->list[to->count - 1];
        if (!last->damaged && last->parent_seq == 0) {
            return 0;
        }
        (void)snprintf(next, sizeof next, "seq:%llu", (unsigned long long)last->seq);
        selector = next;
    }
}

int cairn_list(struct cairn *c,
               const char *selector,
               size_t max,
               struct cairn_boundary *ret,
               size_t *ret_count)
{
    struct selector parsed;
    struct find_list list = { .list = ret, .max = max };
    int rc = cl_enter_run(c, 0);
    if (rc < 0) {
        return rc;
    }
    if (selector == NULL || ret == NULL || ret_count == NULL || max == 0) {
        return cl_invalid(c, "find needs a selector and room for at least one boundary");
    }
    rc = selector_parse(slice_str(selector), &parsed, &c->err);
    found_free(&c->found);
    bump_init(&c->found.bump, FOUND_TEXT_BYTES);
    rc = rc < 0 ? rc : find_all(c, selector, &list);
    if (rc == -CAIRN_EPROTO) { /* what broke the protocol is named, not what was asked for */
        (void)err_wrap(&c->err, rc, "find %s@%.100s", c->run, selector);
    }
    if (rc == 0) {
        *ret_count = list.count;
    }
    return rc;
}

int cairn_find(struct cairn *c,
               const char *selector,
               size_t max,
               struct cairn_boundary *ret,
               size_t *ret_count)
{
    size_t count = 0;
    int rc = cairn_list(c, selector, max, ret, &count);
    if (rc == 0 && count > 0 && ret[0].damaged) {
        return err_set(&c->err,
                       -CAIRN_ECORRUPT,
                       "run '%s@%.100s': what is stored of seq %llu cannot be read",
                       c->run,
                       selector,
                       (unsigned long long)ret[0].seq);
    }
    if (rc == 0) {
        *ret_count = count;
    }
    return rc;
}
