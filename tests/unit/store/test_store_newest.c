/* The newest boundary is damaged: the run opens, nobody takes an older one for it, and life goes on
 * above it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "raw.h"
#include "store/store_int.h"

struct newest {
    struct fix f;
    struct rec *old, *bad; /* seq 1, step 100; seq 2, step 200 */
};

/* How the row of seq 2 is damaged. */
enum how { FLIPPED, LOST };

static void newest_start(struct newest *n, enum how how)
{
    struct err err = { .code = 0 };
    n->old = rec_small(100, 1);
    n->bad = rec_small(200, 2);
    fix_open(&n->f);
    cr_assert_eq(rec_save(n->old, n->f.run, &err), 0, "%s", err.msg);
    cr_assert_eq(rec_save(n->bad, n->f.run, &err), 0, "%s", err.msg);
    fix_close(&n->f);
    if (how == FLIPPED) {
        raw_flip(&n->f, DB_BOUNDARY, 1, 9);
    } else {
        raw_delete(&n->f, DB_BOUNDARY, 1);
    }
    fix_reopen(&n->f);
}

static void newest_end(struct newest *n)
{
    fix_remove(&n->f);
    (void)rec_free(n->old);
    (void)rec_free(n->bad);
}

static void selects(const struct newest *n, struct selector sel, int code, uint64_t seq)
{
    struct err err = { .code = 0 };
    uint64_t found = 0;
    cr_assert_eq(st_select(n->f.run, &sel, &found, &err), code, "%s", err.msg);
    cr_assert_eq(found, seq);
}

static struct selector latest(uint64_t before)
{
    return (struct selector){ .kind = SELECT_LATEST, .number = before };
}

static void is_corrupt(const struct newest *n, uint64_t seq)
{
    struct err err = { .code = 0 };
    struct st_load *load = NULL;
    char text[1024];
    cr_assert_eq(st_load_open(n->f.run, seq, &load, &err), -CAIRN_ECORRUPT, "%s", err.msg);
    cr_assert_not_null(strstr(err.msg, "row boundary seq 2"), "%s", err.msg);
    cr_assert_eq(rec_verify(n->f.run, seq, text), 1, "%s", text);
    cr_assert_not_null(strstr(text, "row boundary seq 2"), "%s", text);
}

static void keeps_its_place(enum how how)
{
    struct newest n;
    struct err err = { .code = 0 };
    struct st_list list;
    struct row_run row;
    struct bump b;
    uint64_t seq = 0;
    newest_start(&n, how);
    cr_assert_not(st_run_poisoned(n.f.run));
    st_run_row(n.f.run, &row);
    cr_assert_eq(row.latest_seq, 2);
    selects(&n, latest(0), 0, 2);
    selects(&n, (struct selector){ .kind = SELECT_SEQ, .number = 2 }, 0, 2);
    is_corrupt(&n, 2);
    selects(&n, latest(1), 0, 1);
    selects(&n, latest(2), -CAIRN_ENOENT, 0);
    selects(&n, (struct selector){ .kind = SELECT_SEQ, .number = 1 }, 0, 1);
    selects(&n, (struct selector){ .kind = SELECT_SEQ, .number = 3 }, -CAIRN_ENOENT, 0);
    selects(&n, (struct selector){ .kind = SELECT_STEP, .number = 100 }, 0, 1);
    rec_compare(n.old, n.f.run, 1);
    bump_init(&b, (size_t)1 << 20);
    cr_assert_eq(st_list(n.f.run, 2, 9, &b, &list, &err), 0, "%s", err.msg);
    cr_assert(list.count == 1 && list.boundaries[0].seq == 1);
    cr_assert(list.damaged_count == 1 && list.damaged[0] == 2);
    cr_assert_eq(st_list(n.f.run, 1, 9, &b, &list, &err), 0, "%s", err.msg);
    cr_assert(list.count == 1 && list.damaged_count == 0);
    bump_fini(&b);
    cr_assert_eq(st_before(n.f.run, 3, &seq, &err), 0, "%s", err.msg);
    cr_assert_eq(seq, 2);
    cr_assert_eq(st_before(n.f.run, 2, &seq, &err), 0, "%s", err.msg);
    cr_assert_eq(seq, 1);
    newest_end(&n);
}

CASE(newest, a_damaged_row_keeps_its_place)
{
    keeps_its_place(FLIPPED);
}

CASE(newest, a_lost_row_keeps_its_place)
{
    keeps_its_place(LOST);
}

/* ---- saving ---------------------------------------------------------------------------------- */

static void saves_go_on(enum how how)
{
    struct newest n;
    struct err err = { .code = 0 };
    struct row_save save;
    struct rec *next = rec_small(300, 3);
    newest_start(&n, how);
    cr_assert_eq(st_save_state(n.f.run, next->b.save_id, 0, &save, &err), 0, "%s", err.msg);
    cr_assert_eq(save.state, SAVE_NONE);
    cr_assert_eq(rec_save(next, n.f.run, &err), 0, "%s", err.msg);
    cr_assert_eq(next->b.seq, 3);
    cr_assert_eq(next->b.parent_seq, 2);
    for (int i = 0; i < 2; i++) {
        selects(&n, latest(0), 0, 3);
        rec_compare(next, n.f.run, 3);
        rec_compare(n.old, n.f.run, 1);
        fix_reopen(&n.f);
    }
    (void)rec_free(next);
    newest_end(&n);
}

CASE(newest, saves_go_on_above_a_damaged_row)
{
    saves_go_on(FLIPPED);
}

CASE(newest, saves_go_on_above_a_lost_row)
{
    saves_go_on(LOST);
}

/* Whoever repeats the save that is damaged must not be told that it is there. */
static void save_id_is_not_committed(enum how how)
{
    struct newest n;
    struct err err = { .code = 0 };
    struct row_save save;
    newest_start(&n, how);
    cr_assert_eq(
        st_save_state(n.f.run, n.bad->b.save_id, 0, &save, &err), -CAIRN_ECORRUPT, "%s", err.msg);
    cr_assert_not_null(strstr(err.msg, "save under a new one"), "%s", err.msg);
    cr_assert_eq(rec_save(n.bad, n.f.run, &err), -CAIRN_ECORRUPT);
    cr_assert_not(st_run_poisoned(n.f.run));
    cr_assert_eq(st_save_state(n.f.run, n.old->b.save_id, 0, &save, &err), 0);
    cr_assert(save.state == SAVE_COMMITTED && save.seq == 1);
    newest_end(&n);
}

CASE(newest, the_save_id_of_a_damaged_row_is_not_committed)
{
    save_id_is_not_committed(FLIPPED);
}

CASE(newest, the_save_id_of_a_lost_row_is_not_committed)
{
    save_id_is_not_committed(LOST);
}

/* Its payload may still be good: with the rows of its chunks lost too, nothing names the file. */
CASE(newest, the_segment_of_a_lost_row_stays)
{
    struct newest n;
    char path[1024];
    newest_start(&n, LOST);
    fix_close(&n.f);
    while (raw_count(&n.f, DB_CHUNK) > 2) {
        raw_delete(&n.f, DB_CHUNK, 2);
    }
    fix_reopen(&n.f);
    raw_segment_path(&n.f, 2, path);
    cr_assert_eq(access(path, F_OK), 0);
    newest_end(&n);
}

/* What is visible may not be on the disk; of a damaged row nobody is told that it is saved. The
 * opening's commits are the first of this process, and this one's. */
CASE(newest, an_opening_that_cannot_commit_latches)
{
    struct newest n;
    cr_assert_eq(setenv("CAIRN_FAILPOINT", "confirm:eio:2", 1), 0);
    newest_start(&n, FLIPPED);
    rec_is_refused(&n.f, n.old);
    rec_compare(n.old, n.f.run, 1);
    newest_end(&n);
}

/* ---- a save id that nobody has ---- */

static void committed(struct fix *f, struct rec *r)
{
    struct err err = { .code = 0 };
    cr_assert_eq(rec_save(r, f->run, &err), 0, "%s", err.msg);
}

static enum save_state state_of(struct fix *f, const uint8_t save_id[16])
{
    struct err err = { .code = 0 };
    struct row_save save = { .state = SAVE_NONE };
    cr_assert_eq(st_save_state(f->run, save_id, 0, &save, &err), 0, "%s", err.msg);
    return save.state;
}

/* All boundaries are looked through for a save id that nobody has; that some other one is lost is
 * seen then, and no miss is believed, however often it is asked. */
CASE(newest, a_lost_save_id_is_found_however_often_others_are_asked_for)
{
    static const uint8_t none[16] = { 0xee };
    struct fix f;
    struct rec *first = rec_tiny(1, 1);
    struct rec *second = rec_tiny(2, 2);
    fix_open(&f);
    committed(&f, first);
    committed(&f, second);
    fix_close(&f);
    while (raw_count(&f, DB_SAVEID) > 1) {
        raw_delete(&f, DB_SAVEID, 0);
    }
    fix_reopen(&f);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(state_of(&f, none), SAVE_NONE);
    }
    cr_assert_eq(state_of(&f, first->b.save_id), SAVE_COMMITTED);
    cr_assert_eq(state_of(&f, second->b.save_id), SAVE_COMMITTED);
    fix_remove(&f);
    (void)rec_free(first);
    (void)rec_free(second);
}

/* What is committed after such a look is known by its save id. */
CASE(newest, a_save_after_a_look_at_all_is_found)
{
    static const uint8_t none[16] = { 0xee };
    struct fix f;
    struct rec *first = rec_tiny(1, 1);
    struct rec *second = rec_tiny(2, 2);
    fix_open(&f);
    committed(&f, first);
    cr_assert_eq(state_of(&f, none), SAVE_NONE);
    cr_assert(f.run->save_ids_whole, "and need not be looked through again");
    committed(&f, second);
    cr_assert_eq(state_of(&f, second->b.save_id), SAVE_COMMITTED);
    cr_assert_eq(state_of(&f, first->b.save_id), SAVE_COMMITTED);
    cr_assert_eq(state_of(&f, none), SAVE_NONE);
    fix_remove(&f);
    (void)rec_free(first);
    (void)rec_free(second);
}
