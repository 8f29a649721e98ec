/* How an asynchronous capture ends when it does not go well: updates, failures, handles that are
 * closed, processes that fork. Whatever happens, one callback, no record, and nobody's copy lands
 * in memory that is somebody else's by then. */
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "async.h"
#include "lib/capture.h"

/* The handle has nothing of a capture any more, and the next one is fine. */
static void check_nothing_left(struct ground *g)
{
    cr_assert_null(g->c->capture);
    cr_assert_null(g->c->draining);
    cr_assert_null(g->c->records);
    cr_assert_eq(g->c->holds, 1);
    struct cairn_record *r = async_reference(g, 0);
    (void)cairn_record_free(r);
}

/* ---- updates ---- */

CASE(async_end, E25_R03_an_update_while_gradients_are_awaited_is_concurrent)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    async_job(&g.job);
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    async_fill(&g.job, 0, SLOT_MODEL);
    g.job.generation++;
    async_turn(g.c);
    cr_assert_eq(e.calls, 1);
    cr_assert_eq(e.rc, -CAIRN_ECONCURRENT);
    cr_assert_not_null(strstr(e.text, "updated"), "%s", e.text);
    cr_assert_str_eq(g.job.log, "Pg", "nobody else was asked");
    check_nothing_left(&g);
    cr_assert_eq(fake_seen(&g.fake, WIRE_BEGIN), 0);
    ground_down(&g);
}

CASE(async_end, E25_R03_an_update_while_the_rest_is_awaited_is_concurrent)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    async_job(&g.job);
    cr_assert_eq(async_begin(&g, CAIRN_KIND_WEIGHTED, &e), 0);
    async_fill(&g.job, 0, SLOT_MODEL);
    async_turn(g.c);
    g.job.generation++;
    cr_assert_eq(e.calls, 0, "not found out before its slots are there");
    async_fill(&g.job, SLOT_MODEL, SLOT_COUNT);
    async_turn(g.c);
    cr_assert_eq(e.calls, 1);
    cr_assert_eq(e.rc, -CAIRN_ECONCURRENT);
    check_nothing_left(&g);
    ground_down(&g);
}

static void update(struct job *j, struct cairn_writer *w)
{
    (void)w;
    j->generation++;
}

CASE(async_end, E25_R03_an_update_inside_of_a_put_is_concurrent)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    job_fill(&g.job, 1);
    g.job.state.during_put = update;
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    async_turn(g.c);
    cr_assert_eq(e.calls, 1);
    cr_assert_eq(e.rc, -CAIRN_ECONCURRENT);
    g.job.state.during_put = NULL;
    check_nothing_left(&g);
    ground_down(&g);
}

/* ---- failures ---- */

CASE(async_end, R18_a_failed_gradient_slot_names_its_parameter)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    async_job(&g.job);
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    cr_assert_eq(cairn_slot_done(g.c, &g.job.open[0].slot, -CAIRN_EIO), 0);
    async_turn(g.c); /* the other one is still open */
    cr_assert_eq(e.calls, 1);
    cr_assert_eq(e.rc, -CAIRN_EIO);
    cr_assert_not_null(strstr(e.text, "gradients: the slot of 'weight' (id 7)"), "%s", e.text);
    cr_assert_str_eq(g.job.log, "Pg", "R10: nothing else was read");
    cr_assert_null(g.c->capture);
    cr_assert_not_null(g.c->draining);
    async_fill(&g.job, 1, SLOT_MODEL);
    check_nothing_left(&g);
    ground_down(&g);
}

/* The region of a capture that was given up is not that of the next. */
CASE(async_end, E24_an_open_slot_keeps_its_place_through_later_captures)
{
    struct ground g;
    struct ended e[3] = { 0 };
    struct open_slot open[2];
    ground_up(&g);
    async_job(&g.job);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(async_begin(&g, 0, &e[i]), 0);
        cr_assert_eq(cairn_slot_done(g.c, &g.job.open[0].slot, -CAIRN_EIO), 0);
        async_turn(g.c);
        cr_assert_eq(e[i].rc, -CAIRN_EIO);
        open[i] = g.job.open[1];
    }
    struct cairn_record *r = async_reference(&g, 0);
    cr_assert_eq(async_begin(&g, 0, &e[2]), 0);
    for (size_t i = 0; i < 2; i++) {
        memset(open[i].slot.dst, 0xee, open[i].slot.dst_bytes);
        cr_assert_eq(cairn_slot_done(g.c, &open[i].slot, 0), 0);
        cr_assert_eq(cairn_slot_done(g.c, &open[i].slot, 0), -CAIRN_EINVAL, "twice");
    }
    cr_assert_null(g.c->draining);
    async_to_end(&g, &e[2]);
    cr_assert_eq(e[2].rc, 0, "%s", e[2].text);
    async_check_same(r, e[2].r);
    (void)cairn_record_free(r);
    (void)cairn_record_free(e[2].r);
    ground_down(&g);
}

CASE(async_end, R18_a_put_that_fails_in_a_later_step_is_told_to_the_callback)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    async_job(&g.job);
    g.job.optimizer.put_rc = -CAIRN_ERANGE;
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    async_fill(&g.job, 0, SLOT_MODEL);
    async_turn(g.c);
    cr_assert_eq(e.calls, 1);
    cr_assert_eq(e.rc, -CAIRN_ERANGE);
    cr_assert_not_null(strstr(e.text, "optimizer"), "%s", e.text);
    cr_assert_str_eq(g.job.log, "Pg Pm Po", "nobody after it was asked");
    async_fill(&g.job, SLOT_MODEL, SLOT_STATE); /* those of the model and of the optimizer */
    g.job.optimizer.put_rc = 0;
    check_nothing_left(&g);
    ground_down(&g);
}

CASE(async_end, R18_a_gradient_put_that_fails_is_returned_and_not_called_back)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    async_job(&g.job);
    g.job.gradients.put_rc = -CAIRN_EIO;
    cr_assert_eq(async_begin(&g, 0, &e), -CAIRN_EIO);
    cr_assert_eq(cairn_process(g.c), 0);
    async_fill(&g.job, 0, SLOT_MODEL);
    cr_assert_eq(cairn_process(g.c), 0);
    cr_assert_eq(e.calls, 0);
    cr_assert_str_eq(g.job.log, "Pg");
    g.job.gradients.put_rc = 0;
    check_nothing_left(&g);
    ground_down(&g);
}

/* Found when it is summed up: a bool that is neither, and a gradient that the window may not have.
 */
CASE(async_end, E11_E20_what_only_the_sums_find_is_told_to_the_callback)
{
    static const uint64_t shape[] = { 3 };
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    async_job(&g.job);
    struct tensor *mask = BOX_ADD(&g.job.state, "mask", 0, 0, CAIRN_BOOL, 1, shape, 1);
    mask->by_slot = true;
    mask->data[1] = 2;
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    async_to_end(&g, &e);
    cr_assert_eq(e.rc, -CAIRN_EINVAL);
    cr_assert_not_null(strstr(e.text, "bool"), "%s", e.text);
    mask->data[1] = 1;
    g.job.window.total_weight = 0;
    cr_assert_eq(async_begin(&g, CAIRN_KIND_WEIGHTED, &e), 0);
    e.calls = 0;
    async_to_end(&g, &e);
    cr_assert_eq(e.rc, -CAIRN_EWINDOW, "%s", e.text);
    check_nothing_left(&g);
    ground_down(&g);
}

/* ---- close ---- */

CASE(async_end, R11_a_closed_handle_cancels_with_one_callback)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    async_job(&g.job);
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    async_fill(&g.job, 0, SLOT_MODEL);
    cr_assert(async_is_awake(g.c), "its next step was due");
    g.c = cairn_close(g.c);
    cr_assert_eq(e.calls, 1);
    cr_assert_eq(e.rc, -CAIRN_ECANCELED);
    cr_assert_not_null(strstr(e.text, "closed"), "%s", e.text);
    cr_assert_str_eq(g.job.log, "Pg");
    ground_down(&g);
}

/* Copies that nobody can stop are still on their way: their places, and the handle's memory, wait
 * for them. */
CASE(async_end, E24_slots_are_filled_after_the_handle_was_closed)
{
    struct ground g;
    struct ended e = { 0 };
    struct fillers f;
    for (int round = 0; round < 20; round++) {
        e.calls = 0;
        ground_up(&g);
        async_job(&g.job);
        cr_assert_eq(async_begin(&g, 0, &e), 0);
        async_fill(&g.job, 0, SLOT_MODEL);
        async_turn(g.c);
        fillers_start(&f, &g.job, SLOT_MODEL, SLOT_COUNT); /* before, while and after */
        g.c = cairn_close(g.c);
        fillers_join(&f);
        cr_assert_eq(e.calls, 1);
        cr_assert_eq(e.rc, -CAIRN_ECANCELED);
        ground_down(&g);
    }
}

CASE(async_end, E24_a_slot_of_a_failed_synchronous_capture_outlives_its_handle)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    async_job(&g.job);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_ESYNC);
    g.c = cairn_close(g.c);
    async_fill(&g.job, 0, SLOT_COUNT);
    ground_down(&g);
}

static void close_inside(struct ended *e)
{
    struct ground *g = e->then_arg;
    cr_assert_null(cairn_close(g->c));
    g->c = NULL;
}

CASE(async_end, a_callback_may_close_the_handle)
{
    struct ground g;
    struct ended e = { .then = close_inside, .then_arg = &g };
    ground_up(&g);
    async_job(&g.job);
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    async_fill(&g.job, 0, SLOT_MODEL);
    async_turn(g.c);
    async_fill(&g.job, SLOT_MODEL, SLOT_COUNT);
    async_turn(g.c);
    cr_assert_eq(e.calls, 1);
    cr_assert_null(g.c);
    (void)cairn_record_free(e.r);
    ground_down(&g);
}

static void use_closed(struct ended *e)
{
    struct ground *g = e->then_arg;
    struct cairn_record *r = NULL;
    cr_assert_eq(async_begin(g, 0, e), -CAIRN_EINVAL, "it is being closed");
    cr_assert_eq(cairn_capture(g->c, &g->job.t, &r), -CAIRN_EINVAL);
    cr_assert_eq(cairn_process(g->c), -CAIRN_EINVAL);
    cr_assert_eq(cairn_fd(g->c), -CAIRN_EINVAL);
    cr_assert_null(cairn_close(g->c), "already under way");
}

CASE(async_end, a_handle_that_is_being_closed_begins_nothing)
{
    struct ground g;
    struct ended e = { .then = use_closed, .then_arg = &g };
    ground_up(&g);
    job_fill(&g.job, 1);
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    g.c = cairn_close(g.c);
    cr_assert_eq(e.calls, 1);
    cr_assert_eq(e.rc, -CAIRN_ECANCELED);
    ground_down(&g);
}

/* ---- fork ---- */

static int in_child(struct ground *g, const struct ended *e)
{
    struct ended own = { .c = g->c };
    if (cairn_process(g->c) != -CAIRN_EFORK || cairn_fd(g->c) != -CAIRN_EFORK ||
        cairn_events(g->c) != -CAIRN_EFORK ||
        cairn_capture_async(g->c, &g->job.t, async_captured, &own) != -CAIRN_EFORK ||
        cairn_slot_done(g->c, &g->job.open[0].slot, 0) != -CAIRN_EFORK) {
        return 1;
    }
    g->c = cairn_close(g->c);
    return e->calls == 0 && own.calls == 0 ? 0 : 2;
}

CASE(async_end, a_forked_child_has_no_part_in_it)
{
    struct ground g;
    struct ended e = { 0 };
    int status = -1;
    ground_up(&g);
    async_job(&g.job);
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    cr_assert_eq(cairn_slot_done(g.c, &g.job.open[0].slot, -CAIRN_EIO), 0);
    async_turn(g.c);
    const struct open_slot open = g.job.open[1];
    e.calls = 0;
    cr_assert_eq(async_begin(&g, 0, &e), 0, "one that drains, and one under way");
    cr_assert_not(async_is_awake(g.c));
    pid_t pid = fork();
    if (pid == 0) {
        _exit(in_child(&g, &e));
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: status %x", (unsigned)status);
    cr_assert_not(async_is_awake(g.c), "the child woke nobody");
    cr_assert_eq(cairn_slot_done(g.c, &open.slot, 0), 0);
    async_to_end(&g, &e);
    cr_assert_eq(e.rc, 0, "the parent goes on: %s", e.text);
    (void)cairn_record_free(e.r);
    ground_down(&g);
}
