/* Policies and rollbacks on a real store: what test_keep decides, done. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "raw.h"
#include "record/selector.h"
#include "store/keep.h"

#define MAX_SEQ 32u

/* Boundary i has step 100 * i, seed i and the loss that is asked for. */
struct some {
    struct fix f;
    struct rec *rec[MAX_SEQ + 1];
    unsigned count;
    char segments[1024];
};

/* A moment of the optimizer is NaN, says who saves it. */
static void rec_spoil(struct rec *r)
{
    r->entries[COMPONENT_OPTIMIZER][0].nonfinite.nan = 1;
    for (uint32_t i = 0; i < r->info_count; i++) {
        if (r->infos[i].component == COMPONENT_OPTIMIZER) {
            r->infos[i].nonfinite.nan = 1;
        }
    }
}

static void some_save(struct some *s, const char *loss, bool finite)
{
    const struct label label = { .name = slice_str("loss"), .value = slice_str(loss) };
    struct err err = { .code = 0 };
    unsigned seq = ++s->count;
    struct rec *r = rec_small(UINT64_C(100) * seq, seq);
    r->b.labels = &label;
    r->b.label_count = 1;
    if (!finite) {
        rec_spoil(r);
    }
    s->rec[seq] = r;
    cr_assert_eq(rec_save(r, s->f.run, &err), 0, "%s", err.msg);
    cr_assert_eq(r->b.seq, seq);
    r->b.labels = NULL;
    r->b.label_count = 0;
}

static void some_start(struct some *s, unsigned count)
{
    *s = (struct some){ .count = 0 };
    fix_open(&s->f);
    fix_path(&s->f, "segments", s->segments);
    for (unsigned i = 1; i <= count; i++) {
        char loss[16];
        (void)snprintf(loss, sizeof loss, "0.%u", i);
        some_save(s, loss, true);
    }
}

static void some_end(struct some *s)
{
    fix_remove(&s->f);
    for (unsigned i = 1; i <= s->count; i++) {
        (void)rec_free(s->rec[i]);
    }
}

/* ---- what is there --------------------------------------------------------------------------- */

static uint64_t there(const struct some *s)
{
    struct err err = { .code = 0 };
    struct st_list list;
    struct bump b;
    uint64_t mask = 0;
    bump_init(&b, (size_t)1 << 20);
    cr_assert_eq(st_list(s->f.run, UINT64_MAX, MAX_SEQ, &b, &list, &err), 0, "%s", err.msg);
    for (uint32_t i = 0; i < list.count; i++) {
        mask |= UINT64_C(1) << list.boundaries[i].seq;
        rec_compare(s->rec[list.boundaries[i].seq], s->f.run, list.boundaries[i].seq);
    }
    for (uint32_t i = 0; i < list.damaged_count; i++) {
        mask |= UINT64_C(1) << list.damaged[i];
    }
    bump_fini(&b);
    return mask;
}

struct told {
    uint64_t stays, goes, own_bytes;
    enum keep_why why[MAX_SEQ + 1];
};

static int told_each(void *arg, const struct st_kept *kept, struct err *err)
{
    struct told *t = arg;
    (void)err;
    uint64_t bit = UINT64_C(1) << kept->item->seq;
    cr_assert_eq((t->stays | t->goes) & (2 * bit - 1), 0, "not newest first");
    *(keep_goes(kept->item) ? &t->goes : &t->stays) |= bit;
    t->why[kept->item->seq] = kept->item->why;
    t->own_bytes += kept->own_bytes;
    return 0;
}

static struct told asks(const struct some *s, struct st_keep args)
{
    struct told t = { .stays = 0 };
    struct st_keep_done done;
    struct err err = { .code = 0 };
    args.dry_run = true;
    args.each = told_each;
    args.arg = &t;
    cr_assert_eq(st_keep(s->f.run, &args, &done, &err), 0, "%s", err.msg);
    cr_assert_eq(done.removed_count, 0);
    return t;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    cr_assert_eq(clock_gettime(CLOCK_REALTIME, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The dry run says so, the real thing does so, and a restart finds it so. */
static void keeps_with(struct some *s, struct st_keep args, uint64_t mask)
{
    struct st_keep_done done;
    struct err err = { .code = 0 };
    args.now_ns = now_ns();
    uint64_t before = there(s);
    struct told told = asks(s, args);
    cr_assert_eq(told.stays | told.goes, before);
    cr_assert_eq(told.stays, mask, "%lx stay, expected %lx", told.stays, mask);
    cr_assert_eq(there(s), before);
    cr_assert_eq(st_keep(s->f.run, &args, &done, &err), 0, "%s", err.msg);
    cr_assert_eq(done.removed_count, (uint64_t)__builtin_popcountll(told.goes));
    cr_assert_eq(there(s), mask);
}

static void keeps(struct some *s, uint64_t mask)
{
    keeps_with(s, (struct st_keep){ .now_ns = 0 }, mask);
    fix_close(&s->f);
    fix_fsck_clean(&s->f);
    fix_reopen(&s->f);
    cr_assert_eq(there(s), mask);
}

static void sets(const struct some *s, const char *text)
{
    struct policy p;
    struct err err = { .code = 0 };
    cr_assert_eq(policy_parse(slice_str(text), &p, &err), 0, "%s", err.msg);
    cr_assert_eq(st_policy_put(s->f.run, &p, &err), 0, "%s", err.msg);
}

/* ---- policies -------------------------------------------------------------------------------- */

CASE(keep, a_run_has_its_policy_for_good)
{
    struct some s;
    char text[POLICY_TEXT_BYTES];
    bool is_default = false;
    struct err err = { .code = 0 };
    some_start(&s, 5);
    cr_assert_eq(st_policy_get(s.f.run, text, &is_default, &err), 0, "%s", err.msg);
    cr_assert(is_default);
    cr_assert_str_eq(text, "none");
    keeps(&s, 0x3e);
    sets(&s, "last=3");
    fix_close(&s.f);
    fix_reopen(&s.f);
    cr_assert_eq(st_policy_get(s.f.run, text, &is_default, &err), 0, "%s", err.msg);
    cr_assert_not(is_default);
    cr_assert_str_eq(text, "last=3");
    keeps(&s, 0x38);
    cr_assert_eq(st_policy_put(s.f.run, NULL, &err), 0, "%s", err.msg);
    cr_assert_eq(st_policy_get(s.f.run, text, &is_default, &err), 0, "%s", err.msg);
    cr_assert(is_default);
    some_end(&s);
}

CASE(keep, the_store_has_a_policy_for_runs_without)
{
    const struct st_options options = { .keep_default = "last=2" };
    struct some s = { .count = 0 };
    fix_open_with(&s.f, &options);
    for (unsigned i = 0; i < 4; i++) {
        some_save(&s, "1", true);
    }
    keeps_with(&s, (struct st_keep){ .now_ns = 0 }, 0x18);
    sets(&s, "none");
    some_save(&s, "1", true);
    keeps_with(&s, (struct st_keep){ .now_ns = 0 }, 0x38);
    some_end(&s);
}

CASE(keep, by_label_and_step)
{
    struct some s;
    some_start(&s, 9);
    sets(&s, "every=300 best=loss:min:2");
    keeps(&s, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 6 | 1u << 8 | 1u << 9);
    some_end(&s);
}

CASE(keep, nan_is_no_number_and_the_last_finite_one_stays)
{
    struct some s;
    some_start(&s, 2);
    some_save(&s, "nan", true);
    some_save(&s, "-inf", false);
    some_save(&s, "nan", false);
    some_save(&s, "nan", false);
    sets(&s, "best=loss:min");
    struct told told = asks(&s, (struct st_keep){ .now_ns = now_ns() });
    cr_assert_eq(told.why[3], KEEP_FINITE);
    cr_assert_eq(told.why[4], KEEP_BEST);
    keeps(&s, 0x78);
    some_end(&s);
}

CASE(keep, more_than_one_transaction)
{
    struct some s;
    some_start(&s, 2);
    for (unsigned i = 0; i < 200; i++) { /* each leaves room in the masks by going at once */
        struct rec *r = rec_new(1, 1000 + i);
        struct err err = { .code = 0 };
        rec_floats(r, COMPONENT_MODEL, "m", 10);
        rec_build(r);
        cr_assert_eq(rec_save(r, s.f.run, &err), 0, "%s", err.msg);
        (void)rec_free(r);
    }
    struct st_keep_done done;
    struct err err = { .code = 0 };
    sets(&s, "last=1");
    cr_assert_eq(st_keep(s.f.run, &(struct st_keep){ .now_ns = 0 }, &done, &err), 0, "%s", err.msg);
    cr_assert_eq(done.removed_count, 200);
    fix_close(&s.f);
    fix_fsck_clean(&s.f);
    cr_assert_eq(raw_count(&s.f, DB_BOUNDARY), 2);
    cr_assert_eq(fix_count_files(s.segments), 0);
    some_end(&s);
}

/* ---- what stays whatever the policy says ----------------------------------------------------- */

CASE(keep, pinned_and_read)
{
    struct some s;
    struct st_load *load = NULL;
    struct err err = { .code = 0 };
    struct key pin = key_label(2, slice_str("paper"));
    some_start(&s, 6);
    fix_close(&s.f);
    raw_put(&s.f, DB_PIN, &pin, slice_str(""));
    fix_reopen(&s.f);
    sets(&s, "last=1");
    cr_assert_eq(st_load_open(s.f.run, 3, &load, &err), 0, "%s", err.msg);
    struct told told = asks(&s, (struct st_keep){ .now_ns = now_ns() });
    cr_assert(told.why[2] == KEEP_PINNED && told.why[3] == KEEP_READ);
    keeps_with(&s, (struct st_keep){ .now_ns = 0 }, 0x6c);
    (void)st_load_close(load);
    keeps(&s, 0x64);
    some_end(&s);
}

/* The first component of a boundary loses its row. */
static void lose(const struct some *s, uint64_t seq)
{
    struct key_parts at = { .seq = 0 };
    for (unsigned i = 0; at.seq != seq; i++) {
        struct raw_row row = raw_take(&s->f, DB_COMPONENT, i);
        cr_assert(key_parse(DB_COMPONENT, slice_of(row.key, row.key_bytes), &at));
        if (at.seq != seq) {
            raw_give(&s->f, &row);
        } else {
            free(row.value);
        }
    }
}

CASE(keep, what_is_damaged_is_kept_and_marked)
{
    struct some s;
    some_start(&s, 6);
    sets(&s, "last=1");
    fix_close(&s.f);
    raw_flip(&s.f, DB_BOUNDARY, 1, 3); /* of seq 2 */
    lose(&s, 3);
    fix_reopen(&s.f);
    struct st_keep_done done;
    struct err err = { .code = 0 };
    cr_assert_eq(st_keep(s.f.run, &(struct st_keep){ .now_ns = 0 }, &done, &err), 0, "%s", err.msg);
    cr_assert(done.removed_count == 2 && done.damaged_count == 1,
              "%lu, %lu",
              done.removed_count,
              done.damaged_count);
    struct told told = asks(&s, (struct st_keep){ .now_ns = now_ns() });
    cr_assert_eq(told.stays, 0x6c);
    cr_assert(told.why[2] == KEEP_DAMAGED && told.why[3] == KEEP_DAMAGED);
    cr_assert_eq(fix_count_segments(s.segments), 4);
    some_end(&s);
}

CASE(keep, a_damaged_policy_removes_nothing)
{
    struct some s;
    struct st_keep_done done;
    struct err err = { .code = 0 };
    some_start(&s, 4);
    sets(&s, "last=1");
    fix_close(&s.f);
    for (unsigned i = 0; i < raw_count(&s.f, DB_META); i++) {
        struct raw_row row = raw_take(&s.f, DB_META, i);
        bool found = row.key_bytes == 6 && memcmp(row.key, "policy", 6) == 0;
        raw_give(&s.f, &row);
        if (found) {
            raw_flip(&s.f, DB_META, i, 2);
        }
    }
    fix_reopen(&s.f);
    cr_assert_eq(st_keep(s.f.run, &(struct st_keep){ .now_ns = 0 }, &done, &err), -CAIRN_ECORRUPT);
    cr_assert_not_null(strstr(err.msg, "policy"), "%s", err.msg);
    cr_assert_eq(there(&s), 0x1e);
    some_end(&s);
}

/* ---- room ------------------------------------------------------------------------------------ */

CASE(keep, bytes_are_those_on_the_disk)
{
    struct some s;
    struct row_run row;
    some_start(&s, 6);
    struct told told = asks(&s, (struct st_keep){ .now_ns = now_ns() });
    st_run_row(s.f.run, &row);
    cr_assert_eq(told.own_bytes, row.bytes, "%lu, %lu", told.own_bytes, row.bytes);
    uint64_t each = row.bytes / 6;
    char text[64];
    (void)snprintf(text, sizeof text, "last=5 max-bytes=%luB", 4 * each);
    sets(&s, text);
    told = asks(&s, (struct st_keep){ .now_ns = now_ns() });
    cr_assert_eq(told.why[2], KEEP_GOES_SPACE);
    keeps(&s, 0x78);
    keeps_with(&s, (struct st_keep){ .wanted_bytes = each }, 0x70);
    some_end(&s);
}

/* ---- rollback -------------------------------------------------------------------------------- */

static void rolls_back(const struct some *s, uint64_t seq, int code)
{
    struct err err = { .code = 0 };
    cr_assert_eq(st_rollback(s->f.run, seq, &err), code, "%s", err.msg);
}

static void selects(const struct some *s, const char *text, int code, uint64_t seq)
{
    struct selector sel;
    struct err err = { .code = 0 };
    uint64_t found = 0;
    cr_assert_eq(selector_parse(slice_str(text), &sel, &err), 0, "%s", err.msg);
    cr_assert_eq(st_select(s->f.run, &sel, &found, &err), code, "%s: %s", text, err.msg);
    cr_assert_eq(found, seq, "%s: seq %lu, expected %lu", text, found, seq);
}

CASE(rollback, what_came_after_is_no_answer)
{
    struct some s;
    struct row_run row;
    some_start(&s, 5);
    rolls_back(&s, 3, 0);
    for (unsigned again = 0; again < 2; again++) {
        selects(&s, "latest", 0, 3);
        selects(&s, "latest~1", 0, 2);
        selects(&s, "finite", 0, 3);
        selects(&s, "best:loss:max", 0, 3);
        selects(&s, "500", -CAIRN_ENOENT, 0);
        selects(&s, "300", 0, 3);
        selects(&s, "seq:5", 0, 5);
        st_run_row(s.f.run, &row);
        cr_assert(row.latest_seq == 3 && row.latest_step == 300 && row.boundary_count == 5);
        cr_assert_eq(there(&s), 0x3e);
        fix_close(&s.f);
        fix_fsck_clean(&s.f);
        fix_reopen(&s.f);
    }
    some_save(&s, "0.1", true);
    cr_assert_eq(s.rec[6]->b.parent_seq, 3);
    selects(&s, "latest", 0, 6);
    selects(&s, "latest~1", 0, 3);
    sets(&s, "last=9");
    keeps(&s, 0x4e);
    some_end(&s);
}

CASE(rollback, an_abandoned_line_can_be_taken_up_again)
{
    struct some s;
    some_start(&s, 4);    /* 1 2 3 4 */
    rolls_back(&s, 2, 0); /* 1 2 */
    some_save(&s, "1", true);
    some_save(&s, "1", true); /* 1 2 5 6 */
    rolls_back(&s, 4, 0);     /* 1 2 3 4 */
    selects(&s, "latest", 0, 4);
    selects(&s, "latest~2", 0, 2);
    selects(&s, "600", -CAIRN_ENOENT, 0);
    rolls_back(&s, 5, 0); /* 1 2 5 */
    selects(&s, "latest", 0, 5);
    selects(&s, "latest~1", 0, 2);
    rolls_back(&s, 1, 0);
    selects(&s, "latest~1", -CAIRN_ENOENT, 0);
    some_end(&s);
}

CASE(rollback, refuses)
{
    struct some s;
    struct err err = { .code = 0 };
    some_start(&s, 3);
    rolls_back(&s, 9, -CAIRN_ENOENT);
    cr_assert_eq(st_mark_damaged(s.f.run, 2, slice_str("why"), &err), 0, "%s", err.msg);
    rolls_back(&s, 2, -CAIRN_ECORRUPT);
    selects(&s, "latest", 0, 3);
    some_end(&s);
}

/* ---- damage ---------------------------------------------------------------------------------- */

CASE(damaged, is_no_answer_and_never_reads_as_none)
{
    struct some s;
    struct err err = { .code = 0 };
    some_start(&s, 2);
    cr_assert_eq(st_mark_damaged(s.f.run, 2, slice_str("a flipped bit"), &err), 0, "%s", err.msg);
    selects(&s, "latest", 0, 1);
    selects(&s, "finite", 0, 1);
    selects(&s, "best:loss:max", 0, 1);
    selects(&s, "200", -CAIRN_ECORRUPT, 0);
    cr_assert_eq(st_mark_damaged(s.f.run, 1, slice_str("another"), &err), 0, "%s", err.msg);
    selects(&s, "latest", -CAIRN_ECORRUPT, 0);
    selects(&s, "finite", -CAIRN_ECORRUPT, 0);
    selects(&s, "best:loss:min", -CAIRN_ECORRUPT, 0);
    selects(&s, "seq:2", 0, 2);
    cr_assert_eq(st_mark_damaged(s.f.run, 2, slice_of(NULL, 0), &err), 0, "%s", err.msg);
    selects(&s, "latest", 0, 2);
    some_end(&s);
}
