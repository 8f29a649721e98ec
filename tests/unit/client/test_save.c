/* Saving: what goes to the daemon, and what happens when the connection does not hold. */
#include <cairn/admin.h>
#include <string.h>

#include "ground.h"

static int save_with(struct ground *g,
                     struct cairn_record **r,
                     const struct cairn_save_args *a,
                     struct cairn_boundary *ret)
{
    return cairn_save(g->c, r, a, ret);
}

CASE(save, R20_R22_commits_and_says_as_what)
{
    static const uint8_t id[16] = { 1, 2, 3 };
    static const char *labels[] = { "loss=0.25", "note=a=b", NULL };
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_boundary b;
    char name[65];
    char value[257];
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_save_args args = { .step = 42, .save_id = id, .labels = labels };
    cr_assert_eq(ground_capture(&g, 0, &r), 0);
    cr_assert_eq(save_with(&g, &r, &args, &b), 0, "%s", cairn_error(g.c));
    cr_assert_null(r);
    cr_assert_eq(save_with(&g, &r, &args, NULL), -CAIRN_EINVAL, "it was consumed");
    cr_assert_eq(g.fake.count, 1);
    cr_assert_eq(b.seq, 1);
    cr_assert_eq(b.step, 42);
    cr_assert_eq(b.kind, 0);
    cr_assert(b.exact);
    cr_assert_eq(memcmp(b.save_id, id, 16), 0);
    cr_assert_eq(b.entry_count, 11);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0, "%s", cairn_error(g.c));
    cr_assert_eq(cairn_record_label(r, 1, name, value), 0);
    cr_assert_str_eq(name, "note");
    cr_assert_str_eq(value, "a=b");
    cr_assert_eq(cairn_record_label(r, 2, name, value), -CAIRN_ENOENT);
    r = cairn_record_free(r);
    ground_check_newest(&g);
    ground_down(&g);
}

CASE(save, refuses_wrong_arguments)
{
    static const char *no_value[] = { "loss", NULL };
    static const char *twice[] = { "a=1", "a=2", NULL };
    const struct {
        struct cairn_save_args args;
        int rc;
    } wrong[] = {
        { { .precision = 77 }, -CAIRN_EINVAL },
        { { .labels = no_value }, -CAIRN_EINVAL },
        { { .labels = twice }, -CAIRN_EINVAL },
        { { .timeout_ms = -1 }, -CAIRN_EINVAL },
    };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    cr_assert_eq(ground_capture(&g, 0, &r), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int rc = save_with(&g, &r, &wrong[i].args, NULL);
        cr_assert_eq(rc, wrong[i].rc, "%zu: %d %s", i, rc, cairn_error(g.c));
        cr_assert_not_null(r);
    }
    cr_assert_eq(save_with(&g, &r, &(struct cairn_save_args){ 0 }, NULL), 0, "and it still saves");
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
    cr_assert_eq(save_with(&g, &r, &(struct cairn_save_args){ 0 }, NULL), -CAIRN_EINVAL, "loaded");
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* The connection dies before the daemon looks at the nth frame of a type; the save goes through,
 * and there is exactly one boundary. */
CASE(save, E26_survives_a_connection_lost_anywhere, .timeout = 120)
{
    static const uint32_t types[] = { WIRE_BEGIN, WIRE_CHUNKS, WIRE_ENTRIES, WIRE_DATA, WIRE_SEAL };
    static const enum fake_act acts[] = { FAKE_CLOSE, FAKE_CLOSE_AFTER };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (size_t k = 0; k < 2; k++) {
            struct ground g;
            struct cairn_boundary b;
            if (acts[k] == FAKE_CLOSE_AFTER && types[i] != WIRE_SEAL) {
                continue;
            }
            ground_up(&g);
            job_fill(&g.job, 1);
            ground_fill_chunks(&g, 3, 5000000);
            g.fake.faults[0] =
                (struct fake_fault){ types[i], types[i] == WIRE_DATA ? 2 : 1, acts[k], 0 };
            cr_assert_eq(ground_save(&g, 0, 7, &b), 0, "type %u: %s", types[i], cairn_error(g.c));
            cr_assert_eq(b.seq, 1);
            cr_assert_eq(b.step, 7);
            cr_assert_eq(g.fake.count, 1);
            cr_assert_eq(g.fake.connections, 2);
            ground_check_newest(&g);
            ground_down(&g);
        }
    }
}

/* The acknowledgement is lost and so is the daemon: the save fails, the record stays; saved again
 * it is the same boundary. */
CASE(save, E27_a_lost_acknowledgement_is_settled_by_the_next_save)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_boundary b;
    ground_up(&g);
    job_fill(&g.job, 1);
    cr_assert_eq(ground_capture(&g, 0, &r), 0);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_CLOSE_AFTER, 0 };
    g.fake.faults[1] = (struct fake_fault){ WIRE_HELLO, 2, FAKE_SILENCE, 0 };
    struct cairn_save_args args = { .step = 7, .timeout_ms = 300 };
    cr_assert_eq(save_with(&g, &r, &args, &b), -CAIRN_ETIMEDOUT, "%s", cairn_error(g.c));
    cr_assert_not_null(r);
    cr_assert_eq(g.fake.count, 1, "it was committed all the same");
    args.timeout_ms = 0;
    cr_assert_eq(save_with(&g, &r, &args, &b), 0, "%s", cairn_error(g.c));
    cr_assert_eq(b.seq, 1);
    cr_assert_eq(g.fake.count, 1);
    cr_assert_eq(fake_seen(&g.fake, WIRE_SEAL), 1, "nothing was sent again");
    ground_down(&g);
}

CASE(save, F10_E27_the_same_id_with_other_content_is_a_conflict)
{
    static const uint8_t id[16] = { 9 };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    for (int i = 0; i < 2; i++) {
        g.job.state.counter = (uint64_t)i;
        cr_assert_eq(ground_capture(&g, 0, &r), 0);
        int rc = save_with(&g, &r, &(struct cairn_save_args){ .step = 1, .save_id = id }, NULL);
        cr_assert_eq(rc, i == 0 ? 0 : -CAIRN_ECONFLICT, "%s", cairn_error(g.c));
    }
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* A refusal is an answer: the code and text arrive, the connection stays, the record too. */
CASE(save, F8_F9_a_refusal_is_not_sticky)
{
    static const uint32_t types[] = { WIRE_BEGIN, WIRE_ENTRIES, WIRE_DATA, WIRE_SEAL };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct ground g;
        struct cairn_record *r = NULL;
        ground_up(&g);
        job_fill(&g.job, 1);
        ground_fill_chunks(&g, 3, 5000000);
        cr_assert_eq(ground_capture(&g, 0, &r), 0);
        g.fake.faults[0] = (struct fake_fault){ types[i], 1, FAKE_REFUSE, CAIRN_ENOSPC };
        struct cairn_save_args args = { .step = 1 };
        cr_assert_eq(save_with(&g, &r, &args, NULL), -CAIRN_ENOSPC, "%s", cairn_error(g.c));
        cr_assert_not_null(strstr(cairn_error(g.c), "the fake refuses"), "%s", cairn_error(g.c));
        cr_assert_not_null(r);
        cr_assert_eq(save_with(&g, &r, &args, NULL), 0, "%s", cairn_error(g.c));
        cr_assert_eq(g.fake.connections, 1);
        ground_check_newest(&g);
        ground_down(&g);
    }
}

/* Before it and behind it memory is asked for; a refusal stands until the next one begins. */
CASE(save, asks_once_for_an_arena_that_is_refused)
{
    struct ground g;
    ground_up(&g);
    job_fill(&g.job, 1);
    for (unsigned i = 0; i < 8; i++) {
        g.fake.faults[i] = (struct fake_fault){ WIRE_ARENA_OPEN, i + 1, FAKE_REFUSE, CAIRN_EBUSY };
    }
    cr_assert_eq(cairn_warm(g.c, 1 << 20, 2), 0, "%s", cairn_error(g.c));
    cr_assert_eq(fake_seen(&g.fake, WIRE_ARENA_OPEN), 1);
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "%s", cairn_error(g.c));
    cr_assert_eq(fake_seen(&g.fake, WIRE_ARENA_OPEN), 2);
    cr_assert_eq(ground_save(&g, 0, 2, NULL), 0, "%s", cairn_error(g.c));
    cr_assert_eq(fake_seen(&g.fake, WIRE_ARENA_OPEN), 3);
    ground_down(&g);
}

CASE(save, a_stopping_daemon_is_left_for_its_successor)
{
    struct ground g;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_BEGIN, 1, FAKE_REFUSE, CAIRN_ECANCELED };
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "%s", cairn_error(g.c));
    cr_assert_eq(g.fake.connections, 2);
    ground_down(&g);
}

CASE(save, a_closing_error_says_why)
{
    struct ground g;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_BEGIN, 1, FAKE_REFUSE_CLOSING, CAIRN_EPROTO };
    cr_assert_eq(ground_save(&g, 0, 1, NULL), -CAIRN_EPROTO);
    cr_assert_not_null(strstr(cairn_error(g.c), "the fake refuses"), "%s", cairn_error(g.c));
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "on another connection");
    cr_assert_eq(g.fake.connections, 2);
    ground_down(&g);
}

CASE(save, damage_drops_the_connection_and_the_next_call_makes_one)
{
    static const enum fake_act acts[] = { FAKE_GARBAGE, FAKE_SILENCE };
    static const int rcs[] = { -CAIRN_EPROTO, -CAIRN_ETIMEDOUT };
    for (size_t i = 0; i < 2; i++) {
        struct ground g;
        ground_up(&g);
        job_fill(&g.job, 1);
        cr_assert_eq(cairn_set_timeout(g.c, 300), 0);
        g.fake.faults[0] = (struct fake_fault){ WIRE_BEGIN, 1, acts[i], 0 };
        cr_assert_eq(ground_save(&g, 0, 1, NULL), rcs[i], "%s", cairn_error(g.c));
        cr_assert_eq(cairn_set_timeout(g.c, 20000), 0);
        cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "%s", cairn_error(g.c));
        cr_assert_eq(g.fake.connections, 2);
        ground_down(&g);
    }
}

/* The deadline is absolute when it is given with the call. */
CASE(save, F7_a_deadline_holds_while_nobody_is_there)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    cr_assert_eq(ground_capture(&g, 0, &r), 0);
    fake_pause(&g.fake);
    struct cairn_save_args args = { .step = 1, .timeout_ms = 200 };
    cr_assert_eq(save_with(&g, &r, &args, NULL), -CAIRN_ECONN, "%s", cairn_error(g.c));
    fake_resume(&g.fake);
    args.timeout_ms = 0;
    cr_assert_eq(save_with(&g, &r, &args, NULL), 0, "%s", cairn_error(g.c));
    ground_down(&g);
}

CASE(save, a_record_outlives_its_handle_and_is_saved_by_another)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    cr_assert_eq(ground_capture(&g, 0, &r), 0);
    struct cairn *other = NULL;
    cr_assert_eq(cairn_open(g.fake.path, "demo", &other), 0);
    cr_assert_eq(cairn_save(other, &r, &(struct cairn_save_args){ 0 }, NULL), -CAIRN_EINVAL);
    g.c = cairn_close(g.c);
    cr_assert_eq(
        cairn_save(other, &r, &(struct cairn_save_args){ 0 }, NULL), 0, "%s", cairn_error(other));
    g.c = other;
    ground_check_newest(&g);
    ground_down(&g);
}

CASE(save, find_tells_what_became_of_it)
{
    static const uint8_t id[16] = { 5 };
    static const uint8_t other[16] = { 6 };
    enum cairn_save_state state = CAIRN_SAVE_UNKNOWN;
    uint64_t seq = 0;
    struct cairn_boundary list[8];
    size_t count = 0;
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    cr_assert_eq(cairn_find(g.c, "latest", 8, list, &count), -CAIRN_ENOENT);
    for (uint64_t step = 1; step <= 3; step++) {
        cr_assert_eq(ground_capture(&g, 0, &r), 0);
        struct cairn_save_args args = { .step = step, .save_id = step == 2 ? id : NULL };
        cr_assert_eq(save_with(&g, &r, &args, NULL), 0);
    }
    cr_assert_eq(cairn_save_find(g.c, id, &state, &seq), 0);
    cr_assert_eq(state, CAIRN_SAVE_COMMITTED);
    cr_assert_eq(seq, 2);
    cr_assert_eq(cairn_save_find(g.c, other, &state, NULL), 0);
    cr_assert_eq(state, CAIRN_SAVE_NONE);
    cr_assert_eq(cairn_find(g.c, "latest", 8, list, &count), 0);
    cr_assert_eq(count, 3);
    cr_assert_eq(list[0].step, 3);
    cr_assert_eq(list[2].step, 1);
    cr_assert_eq(cairn_find(g.c, "seq:2", 1, list, &count), 0);
    cr_assert_eq(count, 1);
    cr_assert_eq(list[0].step, 2);
    ground_down(&g);
}

CASE(open, says_what_is_wrong)
{
    char path[200];
    struct cairn *c = NULL;
    struct cairn_record *r = NULL;
    struct ground g;
    ground_up(&g);
    cr_assert_eq(cairn_open("/nonexistent/cairn", "demo", &c), -CAIRN_ECONN);
    cr_assert_not_null(strstr(cairn_error(c), "/nonexistent/cairn"), "%s", cairn_error(c));
    cr_assert_eq(cairn_load(c, "latest", 0, &r), -CAIRN_EINVAL, "only error and close");
    cr_assert_not_null(strstr(cairn_error(c), "/nonexistent/cairn"), "the reason stays");
    c = cairn_close(c);
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    cr_assert_eq(cairn_open(path, "demo", &c), -CAIRN_EINVAL);
    c = cairn_close(c);
    static const char *bad[] = { "", "/x", "a/", "a b", ".x", "-x", "x/y/z", "ü" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(cairn_open(g.fake.path, bad[i], &c), -CAIRN_EINVAL, "%s", bad[i]);
        (void)cairn_close(c);
    }
    cr_assert_eq(cairn_open(g.fake.path, NULL, &c), -CAIRN_EINVAL);
    c = cairn_close(c);
    g.fake.faults[0] = (struct fake_fault){ WIRE_RUN_OPEN, 2, FAKE_REFUSE, CAIRN_EACCES };
    cr_assert_eq(cairn_open(g.fake.path, "demo", &c), -CAIRN_EACCES);
    c = cairn_close(c);
    cr_assert_eq(cairn_admin_open(g.fake.path, &c), 0);
    cr_assert_eq(cairn_load(c, "latest", 0, &r), -CAIRN_EINVAL, "no run yet");
    cr_assert_eq(cairn_admin_run(c, "x y"), -CAIRN_EINVAL);
    cr_assert_eq(cairn_admin_run(c, "demo"), 0);
    cr_assert_eq(cairn_load(c, "latest", 0, &r), -CAIRN_ENOENT);
    (void)cairn_close(c);
    ground_down(&g);
}
