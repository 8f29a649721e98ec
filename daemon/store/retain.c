/* A policy meets a run: what there is, what keep.c says of it, and what is done about it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "internal/fault.h"
#include "store/held.h"
#include "store/mark.h"
#include "store/remove.h"
#include "store/select.h"
#include "store/walk.h"
#include "store/weigh.h"

/* Boundaries that go in one transaction. A longer one would keep saves waiting. */
#define RETAIN_BATCH 64u

struct retain {
    struct st_run *run;
    const struct policy *policy;
    bool weighed;
    struct keep_item *items; /* newest first while they are read, then in order */
    uint64_t *row_bytes;
    size_t count, cap;
    struct weigh weigh;
};

static void retain_reset(struct retain *r)
{
    weigh_free(&r->weigh);
    r->count = 0;
}

static void retain_free(struct retain *r)
{
    weigh_free(&r->weigh);
    free(r->items);
    free(r->row_bytes);
}

/* ---- what there is --------------------------------------------------------------------------- */

static int retain_grow(struct retain *r, struct err *err)
{
    if (r->count < r->cap) {
        return 0;
    }
    size_t cap = r->cap == 0 ? 64 : 2 * r->cap;
    struct keep_item *items = reallocarray(r->items, cap, sizeof *items);
    r->items = items == NULL ? r->items : items;
    uint64_t *row_bytes = reallocarray(r->row_bytes, cap, sizeof *row_bytes);
    r->row_bytes = row_bytes == NULL ? r->row_bytes : row_bytes;
    if (items == NULL || row_bytes == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "look through %zu boundaries", r->count);
    }
    r->cap = cap;
    return 0;
}

static int retain_labels(struct txn *t,
                         const struct retain *r,
                         const struct boundary *b,
                         struct keep_item *item,
                         struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < r->policy->best_count; i++) {
        rc = label_number(t, b, r->policy->best[i].label, &item->best[i], err);
    }
    return rc;
}

static int retain_row(struct txn *t, struct retain *r, const struct walk *w, struct err *err)
{
    struct bump b;
    struct row_boundary row;
    struct keep_item item = { .seq = w->seq };
    uint64_t in_rows = 0;
    int rc = retain_grow(r, err);
    if (rc < 0) {
        return rc;
    }
    row_bump_init(&b, w->c.value.bytes);
    rc = walk_row(w, &b, &row, err);
    if (rc == 0) {
        const struct boundary *from = &row.boundary;
        item.step = from->step;
        item.created_ns = from->created_ns;
        item.not_finite = from->not_finite;
        in_rows = from->chunk_count == 0 ? from->payload_bytes : 0;
        rc = retain_labels(t, r, from, &item, err);
    } else if (rc == -CAIRN_ECORRUPT) {
        item.damaged = true;
        rc = 0;
    }
    bump_fini(&b);
    if (rc == 0) {
        r->row_bytes[r->count] = in_rows;
        r->items[r->count++] = item;
    }
    return rc;
}

static int retain_rows(struct txn *t, struct retain *r, struct err *err)
{
    struct walk w;
    int rc = walk_open(&w, t, UINT64_MAX, err);
    while (rc == 0) {
        rc = retain_row(t, r, &w, err);
        rc = rc < 0 ? rc : walk_older(&w, err);
    }
    walk_close(&w);
    for (size_t i = 0; i < r->count / 2; i++) {
        struct keep_item item = r->items[i];
        uint64_t bytes = r->row_bytes[i];
        r->items[i] = r->items[r->count - 1 - i];
        r->items[r->count - 1 - i] = item;
        r->row_bytes[i] = r->row_bytes[r->count - 1 - i];
        r->row_bytes[r->count - 1 - i] = bytes;
    }
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

static int retain_by_seq(const void *key, const void *item)
{
    const uint64_t *seq = key;
    const struct keep_item *at = item;
    return *seq < at->seq ? -1 : *seq > at->seq;
}

static struct keep_item *retain_find(const struct retain *r, uint64_t seq)
{
    return r->count == 0 ? NULL
                         : bsearch(&seq, r->items, r->count, sizeof *r->items, retain_by_seq);
}

/* Pins and marks: rows whose keys begin with the seq. */
static int retain_names(struct txn *t, struct retain *r, enum st_db db, struct err *err)
{
    struct row_cursor c;
    struct key_parts at;
    int rc = row_cursor_open(&c, t, db, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_seek(&c, NULL, err); row_stands(&c, rc); rc = row_next(&c, err)) {
        struct keep_item *item = key_parse(db, c.key, &at) ? retain_find(r, at.seq) : NULL;
        if (item == NULL) {
            continue;
        }
        unsigned mark = db == DB_MARK ? mark_named(at.name) : 0;
        item->pinned = item->pinned || db == DB_PIN;
        item->abandoned = item->abandoned || (mark & MARK_ABANDONED) != 0;
        item->damaged = item->damaged || (mark & MARK_DAMAGED) != 0;
    }
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

static void retain_held(struct retain *r)
{
    (void)pthread_mutex_lock(&r->run->lock);
    for (const struct held *h = r->run->held; h != NULL; h = h->next) {
        struct keep_item *item = retain_find(r, h->seq);
        if (item != NULL) {
            item->held = true;
        }
    }
    (void)pthread_mutex_unlock(&r->run->lock);
}

static int retain_weigh(struct txn *t, struct retain *r, struct err *err)
{
    int rc = weigh_init(&r->weigh, r->count, err);
    if (rc == 0 && r->count > 0) {
        memcpy(r->weigh.rows, r->row_bytes, r->count * sizeof *r->row_bytes);
    }
    return rc < 0 ? rc : weigh_read(&r->weigh, t, r->items, err);
}

static int retain_txn(struct txn *t, void *arg, struct err *err)
{
    struct retain *r = arg;
    retain_reset(r);
    int rc = retain_rows(t, r, err);
    rc = rc < 0 ? rc : retain_names(t, r, DB_PIN, err);
    rc = rc < 0 ? rc : retain_names(t, r, DB_MARK, err);
    return rc < 0 || !r->weighed ? rc : retain_weigh(t, r, err);
}

/* ---- what is done about it ------------------------------------------------------------------- */

/* What the plan is about to change: weighing one that goes lightens what it shared. */
static struct st_kept *retain_weights(const struct retain *r)
{
    struct st_kept *kept = calloc(r->count + 1, sizeof *kept);
    for (size_t i = 0; kept != NULL && i < r->count; i++) {
        kept[i] = (struct st_kept){ .item = &r->items[i],
                                    .own_bytes = weigh_own(&r->weigh, i),
                                    .shared_bytes = weigh_shared(&r->weigh, i),
                                    .run_bytes = r->weigh.bytes };
    }
    return kept;
}

static int retain_tell(const struct retain *r,
                       const struct st_keep *args,
                       const struct st_kept *kept,
                       struct err *err)
{
    int rc = 0;
    if (kept == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "tell of %zu boundaries", r->count);
    }
    for (size_t i = r->count; rc == 0 && i > 0; i--) {
        rc = args->each(args->arg, &kept[i - 1], err);
    }
    return rc;
}

static int retain_look(struct retain *r, const struct st_keep *args, struct err *err)
{
    r->weighed = r->policy->max_bytes > 0 || args->wanted_bytes > 0 || args->each != NULL;
    int rc = env_read(&r->run->index, retain_txn, r, err);
    if (rc < 0) {
        return rc;
    }
    retain_held(r);
    struct st_kept *kept = args->each == NULL ? NULL : retain_weights(r);
    struct keep_plan plan = {
        .policy = r->policy,
        .now_ns = args->now_ns,
        .items = r->items,
        .count = r->count,
        .bytes = r->weigh.bytes,
        .wanted_bytes = args->wanted_bytes,
        .release = r->weighed ? weigh_release : NULL,
        .arg = &r->weigh,
    };
    keep_decide(&plan);
    rc = args->each == NULL ? 0 : retain_tell(r, args, kept, err);
    free(kept);
    return rc;
}

/* What cannot be removed, as its rows do not say what it refers to, stays and is marked. */
static int retain_one(struct retain *r, uint64_t seq, struct st_keep_done *ret, struct err *err)
{
    struct err why = { .code = 0 };
    bool elsewhere = false;
    int rc = remove_boundaries(r->run, &seq, 1, &elsewhere, &why);
    if (rc == -CAIRN_ECORRUPT && !elsewhere) {
        ret->damaged_count++;
        return st_mark_damaged(r->run, seq, slice_str(why.msg), err);
    }
    if (rc == -CAIRN_EBUSY || rc == -CAIRN_ENOENT) {
        return 0; /* since it was looked at: next time */
    }
    ret->removed_count += rc == 0 ? 1 : 0;
    return rc < 0 && err != NULL ? (*err = why, rc) : rc;
}

static int retain_batch(struct retain *r,
                        const uint64_t *seqs,
                        uint32_t count,
                        struct st_keep_done *ret,
                        struct err *err)
{
    bool elsewhere = false;
    int rc = count == 0 ? 0 : remove_boundaries(r->run, seqs, count, &elsewhere, err);
    if (elsewhere || (rc != -CAIRN_ECORRUPT && rc != -CAIRN_EBUSY && rc != -CAIRN_ENOENT)) {
        ret->removed_count += rc == 0 ? count : 0;
        return rc;
    }
    rc = 0;
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        rc = retain_one(r, seqs[i], ret, err);
    }
    return rc;
}

static int retain_remove(struct retain *r, struct st_keep_done *ret, struct err *err)
{
    uint64_t seqs[RETAIN_BATCH];
    uint32_t count = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < r->count; i++) {
        if (keep_goes(&r->items[i])) {
            seqs[count++] = r->items[i].seq;
        }
        if (count == RETAIN_BATCH || i + 1 == r->count) {
            fault_point("retain");
            rc = retain_batch(r, seqs, count, ret, err);
            count = 0;
        }
    }
    return rc;
}

/* How much more would have to be free. A disk that does not tell has enough. */
static uint64_t retain_wanted(const struct st_run *run, const struct policy *policy)
{
    uint64_t left = 0;
    uint64_t total = 0;
    if (policy_is_none(policy) || run->st->options.min_free_percent == 0 ||
        st_space(run->st, &left, &total, NULL) < 0) {
        return 0;
    }
    uint64_t least = total / 100 * run->st->options.min_free_percent;
    return left < least ? least - left : 0;
}

int st_keep(struct st_run *run,
            const struct st_keep *args,
            struct st_keep_done *ret,
            struct err *err)
{
    char text[POLICY_TEXT_BYTES];
    struct policy policy;
    struct st_keep with = *args;
    struct retain r = { .run = run, .policy = args->policy };
    struct st_keep_done done = { .removed_count = 0 };
    int rc = 0;
    if (r.policy == NULL) {
        rc = st_policy_get(run, text, &done.is_default, err);
        rc = rc < 0 ? rc : policy_parse(slice_str(text), &policy, err);
        r.policy = &policy;
    }
    if (rc == 0) {
        uint64_t wanted = retain_wanted(run, r.policy);
        with.wanted_bytes = wanted > with.wanted_bytes ? wanted : with.wanted_bytes;
    }
    if (rc == 0 && (!policy_is_none(r.policy) || with.wanted_bytes > 0 || with.each != NULL)) {
        rc = retain_look(&r, &with, err);
        rc = rc < 0 || with.dry_run ? rc : retain_remove(&r, &done, err);
    }
    retain_free(&r);
    *ret = done;
    return rc < 0 ? run_wrap(run, rc, err) : 0;
}
