/* A boundary that was removed is gone as a whole, and nothing else is. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raw.h"
#include "wire/rows.h"

#define RECS 4u

/* Boundaries 1..4 of steps 100, 100, 300, 400. The third has the payload of the first. */
struct some {
    struct fix f;
    struct rec *rec[RECS + 1];
    char segments[1024];
};

/* What it holds depends on the seed alone. */
static struct rec *rec_same(uint64_t step, uint64_t seed, uint8_t id)
{
    struct rec *r = rec_new(step, seed);
    r->b.save_id[15] = id;
    r->alone = true;
    rec_floats(r, COMPONENT_MODEL, "m/large", 30000);
    rec_floats(r, COMPONENT_MODEL, "m/small", 1000);
    rec_floats(r, COMPONENT_OPTIMIZER, "o/large", 30000);
    rec_build(r);
    return r;
}

static void some_start(struct some *s)
{
    static const uint64_t step[] = { 0, 100, 100, 300, 400 };
    struct err err = { .code = 0 };
    fix_open(&s->f);
    fix_path(&s->f, "segments", s->segments);
    for (unsigned i = 1; i <= RECS; i++) {
        s->rec[i] = rec_same(step[i], i == 3 ? 1 : i, (uint8_t)i);
        cr_assert_eq(rec_save(s->rec[i], s->f.run, &err), 0, "%s", err.msg);
        cr_assert_eq(s->rec[i]->b.seq, i);
    }
}

static void some_end(struct some *s)
{
    fix_remove(&s->f);
    for (unsigned i = 1; i <= RECS; i++) {
        (void)rec_free(s->rec[i]);
    }
}

static void removes(const struct some *s, uint64_t seq)
{
    struct err err = { .code = 0 };
    cr_assert_eq(st_remove(s->f.run, &seq, 1, &err), 0, "%s", err.msg);
}

static void refuses(const struct some *s, uint64_t seq, int code, const char *text)
{
    struct err err = { .code = 0 };
    cr_assert_eq(st_remove(s->f.run, &seq, 1, &err), code, "%s", err.msg);
    cr_assert_not_null(strstr(err.msg, text), "%s", err.msg);
}

static void selects(const struct some *s, struct selector sel, int code, uint64_t seq)
{
    struct err err = { .code = 0 };
    uint64_t found = 0;
    cr_assert_eq(st_select(s->f.run, &sel, &found, &err), code, "%s", err.msg);
    cr_assert_eq(found, seq);
}

/* There are exactly those of the mask, bit `seq` each, and the files they need; each reads right.
 */
static void has(const struct some *s, unsigned mask)
{
    struct err err = { .code = 0 };
    struct st_list list;
    struct row_run row;
    struct bump b;
    unsigned found = 0;
    uint64_t bytes = 0;
    bump_init(&b, (size_t)1 << 20);
    cr_assert_eq(st_list(s->f.run, UINT64_MAX, 9, &b, &list, &err), 0, "%s", err.msg);
    cr_assert_eq(list.damaged_count, 0);
    for (uint32_t i = 0; i < list.count; i++) {
        found |= 1u << list.boundaries[i].seq;
        bytes += list.boundaries[i].bytes_new;
        rec_compare(s->rec[list.boundaries[i].seq], s->f.run, list.boundaries[i].seq);
        cr_assert_eq(rec_verify(s->f.run, list.boundaries[i].seq, NULL), 0);
    }
    cr_assert_eq(found, mask, "%x, expected %x", found, mask);
    st_run_row(s->f.run, &row);
    cr_assert_eq(row.boundary_count, list.count);
    cr_assert_eq(row.bytes, bytes);
    cr_assert_eq(row.latest_seq, RECS);
    cr_assert_eq(fix_count_segments(s->segments), (int)list.count);
    bump_fini(&b);
}

/* The same after a restart, and the whole store is sound. */
static void has_for_good(struct some *s, unsigned mask)
{
    has(s, mask);
    fix_close(&s->f);
    fix_fsck_clean(&s->f);
    fix_reopen(&s->f);
    has(s, mask);
}

/* ---- what goes and what stays ---------------------------------------------------------------- */

CASE(remove, the_oldest_and_one_in_the_middle)
{
    struct some s;
    some_start(&s);
    removes(&s, 1);
    has_for_good(&s, 0x1c);
    removes(&s, 3);
    has_for_good(&s, 0x14);
    selects(&s, (struct selector){ .kind = SELECT_LATEST, .number = 1 }, 0, 2);
    selects(&s, (struct selector){ .kind = SELECT_SEQ, .number = 3 }, -CAIRN_ENOENT, 0);
    selects(&s, (struct selector){ .kind = SELECT_STEP, .number = 300 }, -CAIRN_ENOENT, 0);
    refuses(&s, 3, -CAIRN_ENOENT, "seq 3");
    some_end(&s);
}

CASE(remove, several_at_once_or_none)
{
    static const uint64_t two[] = { 3, 1 };
    static const uint64_t newest[] = { 1, 4 };
    static const uint64_t missing[] = { 1, 9 };
    static const uint64_t twice[] = { 2, 2 };
    static const struct {
        const uint64_t *seqs;
        int code;
    } wrong[] = { { newest, -CAIRN_EINVAL }, { missing, -CAIRN_ENOENT }, { twice, -CAIRN_ENOENT } };
    struct some s;
    struct err err = { .code = 0 };
    some_start(&s);
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_eq(st_remove(s.f.run, wrong[i].seqs, 2, &err), wrong[i].code, "%s", err.msg);
        has(&s, 0x1e);
    }
    cr_assert_eq(st_remove(s.f.run, two, 2, &err), 0, "%s", err.msg);
    has_for_good(&s, 0x14);
    some_end(&s);
}

CASE(remove, saves_go_on)
{
    struct some s;
    struct err err = { .code = 0 };
    struct rec *next = rec_small(500, 5);
    some_start(&s);
    removes(&s, 3);
    cr_assert_eq(rec_save(next, s.f.run, &err), 0, "%s", err.msg);
    cr_assert(next->b.seq == 5 && next->b.parent_seq == 4);
    removes(&s, 4);
    fix_close(&s.f);
    fix_fsck_clean(&s.f);
    fix_reopen(&s.f);
    rec_compare(next, s.f.run, 5);
    (void)rec_free(next);
    some_end(&s);
}

CASE(remove, the_newest_stays)
{
    struct some s;
    some_start(&s);
    refuses(&s, 4, -CAIRN_EINVAL, "seq 4 is the newest");
    has_for_good(&s, 0x1e);
    refuses(&s, 9, -CAIRN_ENOENT, "seq 9");
    some_end(&s);
}

CASE(remove, a_step_leads_to_the_other_one_that_has_it)
{
    struct some s;
    const struct selector step = { .kind = SELECT_STEP, .number = 100 };
    some_start(&s);
    selects(&s, step, 0, 2);
    removes(&s, 2);
    selects(&s, step, 0, 1);
    has_for_good(&s, 0x1a);
    some_end(&s);
}

/* ---- readers --------------------------------------------------------------------------------- */

CASE(remove, not_while_it_is_read)
{
    struct some s;
    struct err err = { .code = 0 };
    struct st_load *load[2] = { NULL, NULL };
    some_start(&s);
    cr_assert_eq(st_load_open(s.f.run, 1, &load[0], &err), 0, "%s", err.msg);
    cr_assert_eq(st_load_open(s.f.run, 1, &load[1], &err), 0, "%s", err.msg);
    refuses(&s, 1, -CAIRN_EBUSY, "seq 1 is being read");
    load[0] = st_load_close(load[0]);
    refuses(&s, 1, -CAIRN_EBUSY, "seq 1 is being read");
    removes(&s, 2);
    load[1] = st_load_close(load[1]);
    removes(&s, 1);
    cr_assert_eq(st_load_open(s.f.run, 1, &load[0], &err), -CAIRN_EPRUNED, "%s", err.msg);
    cr_assert_eq(st_load_open(s.f.run, 5, &load[0], &err), -CAIRN_ENOENT, "%s", err.msg);
    has_for_good(&s, 0x18);
    some_end(&s);
}

/* ---- save ids -------------------------------------------------------------------------------- */

CASE(remove, the_save_id_is_kept_as_removed)
{
    struct some s;
    struct err err = { .code = 0 };
    struct selector id = { .kind = SELECT_ID };
    some_start(&s);
    memcpy(id.id, s.rec[2]->b.save_id, sizeof id.id);
    removes(&s, 2);
    for (int i = 0; i < 2; i++) {
        rec_state_is(&s.f, s.rec[1], SAVE_COMMITTED);
        rec_state_is(&s.f, s.rec[2], SAVE_PRUNED);
        selects(&s, id, -CAIRN_ENOENT, 0);
        cr_assert_eq(rec_save(s.rec[2], s.f.run, &err), -CAIRN_EPRUNED, "%s", err.msg);
        has_for_good(&s, 0x1a);
    }
    some_end(&s);
}

/* A lost save id is still found by its boundary, also when others were removed. */
CASE(remove, a_lost_save_id_is_found_by_its_boundary)
{
    struct some s;
    struct rec *none = rec_small(500, 9);
    some_start(&s);
    removes(&s, 2);
    rec_state_is(&s.f, none, SAVE_NONE);
    fix_close(&s.f);
    for (unsigned left = 4; left > 0; left--) {
        raw_delete(&s.f, DB_SAVEID, 0);
    }
    fix_reopen(&s.f);
    rec_state_is(&s.f, s.rec[1], SAVE_COMMITTED);
    rec_state_is(&s.f, none, SAVE_NONE);
    removes(&s, 1);
    rec_state_is(&s.f, s.rec[1], SAVE_PRUNED);
    rec_state_is(&s.f, s.rec[3], SAVE_COMMITTED);
    (void)rec_free(none);
    some_end(&s);
}

static struct key planted(unsigned i)
{
    const uint8_t id[16] = { 0xfe, (uint8_t)(i >> 8), (uint8_t)i };
    return key_saveid(id, 0);
}

/* There are 1024 of removed boundaries already: the oldest gives way. */
CASE(remove, the_last_1024_save_ids_are_kept)
{
    struct some s;
    struct err err = { .code = 0 };
    struct row_save save;
    const uint8_t oldest[16] = { 0xfe, 0, 7 };
    some_start(&s);
    fix_close(&s.f);
    for (unsigned i = 0; i < 1024; i++) {
        const struct row_save row = { .state = SAVE_PRUNED, .seq = i == 7 ? 90 : 100 + i };
        struct wire_buf buf = { .data = NULL };
        struct key key = planted(i);
        cr_assert_eq(row_save_encode(&row, &buf, &err), 0, "%s", err.msg);
        struct key pruned = key_pruned(row.seq, 0);
        raw_put(&s.f, DB_SAVEID, &key, slice_of(buf.data, buf.bytes));
        raw_put(&s.f, DB_PRUNED, &pruned, slice_of(key.data, 16));
        wire_buf_free(&buf);
    }
    fix_reopen(&s.f);
    removes(&s, 1);
    rec_state_is(&s.f, s.rec[1], SAVE_PRUNED);
    cr_assert_eq(st_save_state(s.f.run, oldest, 0, &save, &err), 0, "%s", err.msg);
    cr_assert_eq(save.state, SAVE_NONE);
    has_for_good(&s, 0x1c);
    fix_close(&s.f);
    cr_assert_eq(raw_count(&s.f, DB_SAVEID), 1024 + 3);
    some_end(&s);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void fails(struct some *s, const char *failpoint, int code)
{
    struct err err = { .code = 0 };
    cr_assert_eq(setenv("CAIRN_FAILPOINT", failpoint, 1), 0);
    some_start(s);
    cr_assert_eq(st_remove(s->f.run, &(uint64_t){ 1 }, 1, &err), code, "%s", err.msg);
}

CASE(remove, a_full_disk_changes_nothing)
{
    struct some s;
    fails(&s, "remove:enospc:1", -CAIRN_ENOSPC);
    cr_assert_not(st_run_poisoned(s.f.run));
    has_for_good(&s, 0x1e);
    removes(&s, 1);
    has_for_good(&s, 0x1c);
    some_end(&s);
}

CASE(remove, a_commit_that_fails_latches)
{
    struct some s;
    fails(&s, "remove:eio:1", -CAIRN_EUNKNOWN);
    cr_assert(st_run_poisoned(s.f.run));
    cr_assert_eq(fix_count_files(s.segments), 4);
    refuses(&s, 2, -CAIRN_EPOISONED, "read-only");
    has_for_good(&s, 0x1e);
    some_end(&s);
}

/* The child removes seq 1 and is killed on its way. */
static void killed_at(const char *failpoint, unsigned mask)
{
    struct some s;
    int status = 0;
    cr_assert_eq(setenv("CAIRN_FAILPOINT", failpoint, 1), 0); /* read once, here */
    some_start(&s);
    fix_close(&s.f);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        struct err err = { .code = 0 };
        int rc = st_open(s.f.dir, NULL, &s.f.st, &err);
        rc = rc < 0 ? rc : st_run_open(s.f.st, FIX_UID, slice_str("run"), false, &s.f.run, &err);
        rc = rc < 0 ? rc : st_remove(s.f.run, &(uint64_t){ 1 }, 1, &err);
        _exit(rc == 0 ? 0 : 1);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%s did not kill", failpoint);
    fix_reopen(&s.f);
    rec_state_is(&s.f, s.rec[1], (mask & 2) != 0 ? SAVE_COMMITTED : SAVE_PRUNED);
    has_for_good(&s, mask);
    some_end(&s);
}

CASE(remove, killed_before_the_commit)
{
    killed_at("remove:kill", 0x1e);
}

CASE(remove, killed_after_the_commit)
{
    killed_at("removed:kill", 0x1c);
}

CASE(remove, killed_after_the_unlink)
{
    killed_at("swept:kill", 0x1c);
}
