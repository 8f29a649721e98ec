/* Saves that are started: sealed first, committed later, settled when the connection is lost. */
#include <cairn/admin.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground.h"
#include "lib/transport.h"

static struct cairn_pending *started(struct ground *g, uint64_t step)
{
    struct cairn_record *r = NULL;
    struct cairn_pending *p = NULL;
    cr_assert_eq(ground_capture(g, 0, &r), 0);
    cr_assert_eq(cairn_save_start(g->c, &r, &(struct cairn_save_args){ .step = step }, &p),
                 0,
                 "%s",
                 cairn_error(g->c));
    cr_assert_null(r);
    cr_assert_not_null(p);
    return p;
}

CASE(pending, is_sealed_then_committed)
{
    struct ground g;
    struct cairn_boundary b;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_HOLD, 0 };
    struct cairn_pending *p = started(&g, 1);
    cr_assert_eq(cairn_save_wait(&p, 0, &b, NULL), -CAIRN_EBUSY);
    cr_assert_eq(cairn_save_wait(&p, 20, &b, NULL), -CAIRN_EBUSY);
    cr_assert_not_null(p);
    cr_assert_eq(g.fake.connections, 1, "to wait is no damage");
    fake_release(&g.fake);
    cr_assert_eq(cairn_save_wait(&p, 20000, &b, NULL), 0, "%s", cairn_error(g.c));
    cr_assert_null(p);
    cr_assert_eq(b.seq, 1);
    ground_check_newest(&g);
    ground_down(&g);
}

/* Questions go on meanwhile; the next save waits for its turn. */
CASE(pending, others_may_ask_and_the_next_save_waits)
{
    struct ground g;
    struct cairn_boundary b;
    enum cairn_save_state state = CAIRN_SAVE_NONE;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_HOLD, 0 };
    struct cairn_pending *p = started(&g, 1);
    struct cairn_record *r = NULL;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0);
    cr_assert_eq(cairn_record_info(r, &b), 0);
    cr_assert_eq(cairn_save_find(g.c, b.save_id, &state, NULL), 0);
    cr_assert_eq(cairn_save(g.c, &r, &(struct cairn_save_args){ .step = 2, .timeout_ms = 200 }, &b),
                 -CAIRN_ETIMEDOUT);
    cr_assert_eq(g.fake.connections, 1);
    fake_release(&g.fake);
    cr_assert_eq(
        cairn_save(g.c, &r, &(struct cairn_save_args){ .step = 2 }, &b), 0, "%s", cairn_error(g.c));
    cr_assert_eq(b.seq, 2);
    cr_assert_eq(cairn_save_wait(&p, 0, &b, NULL), 0);
    cr_assert_eq(b.seq, 1);
    cr_assert_eq(g.fake.connections, 1);
    ground_down(&g);
}

CASE(pending, a_refused_start_gives_the_record_back)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_pending *p = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_REFUSE, CAIRN_ENOSPC };
    cr_assert_eq(ground_capture(&g, 0, &r), 0);
    cr_assert_eq(cairn_save_start(g.c, &r, &(struct cairn_save_args){ .step = 1 }, &p),
                 -CAIRN_ENOSPC,
                 "%s",
                 cairn_error(g.c));
    cr_assert_not_null(r);
    cr_assert_null(p);
    cr_assert_eq(cairn_save_start(g.c, &r, &(struct cairn_save_args){ .step = 1 }, &p), 0);
    cr_assert_eq(cairn_save_wait(&p, 20000, NULL, NULL), 0);
    ground_down(&g);
}

/* Its commit fails after it was sealed, and nobody waits: the next call says so, once. */
CASE(pending, a_failure_nobody_waited_for_is_told_by_the_next_call)
{
    struct ground g;
    struct cairn_boundary b;
    size_t count = 0;
    struct cairn_record *r = NULL;
    struct cairn_record *failed = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_HOLD, 0 };
    struct cairn_pending *p = started(&g, 1);
    g.fake.held_code = CAIRN_EIO;
    fake_release(&g.fake);
    cr_assert_eq(cairn_find(g.c, "latest", 1, &b, &count), -CAIRN_EIO, "%s", cairn_error(g.c));
    cr_assert_not_null(strstr(cairn_error(g.c), "started before"), "%s", cairn_error(g.c));
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "only once");
    r = cairn_record_free(r);
    cr_assert_eq(cairn_save_wait(&p, 0, &b, &failed), -CAIRN_EIO, "and to who waits after all");
    cr_assert_null(p);
    /* A failed save keeps its record: it is saved again, with the id that it had. */
    cr_assert_not_null(failed);
    fake_forget_newest(&g.fake);
    cr_assert_eq(cairn_save(g.c, &failed, &(struct cairn_save_args){ .step = 1 }, &b),
                 0,
                 "%s",
                 cairn_error(g.c));
    cr_assert_null(failed);
    ground_check_newest(&g);
    ground_down(&g);
}

/* The daemon goes away between seal and commit, with or without having committed. */
CASE(pending, a_lost_connection_is_settled_by_save_id)
{
    for (int kept = 0; kept < 2; kept++) {
        struct ground g;
        struct cairn_boundary b;
        ground_up(&g);
        job_fill(&g.job, 1);
        ground_fill_chunks(&g, 2, 5000000);
        g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_HOLD, 0 };
        struct cairn_pending *p = started(&g, 1);
        fake_pause(&g.fake);
        if (!kept) {
            fake_forget_newest(&g.fake);
        }
        cr_assert_eq(cairn_save_wait(&p, 50, &b, NULL), -CAIRN_EBUSY, "nobody is there");
        fake_resume(&g.fake);
        cr_assert_eq(cairn_save_wait(&p, 20000, &b, NULL), 0, "%s", cairn_error(g.c));
        cr_assert_eq(b.seq, 1);
        cr_assert_eq(fake_seen(&g.fake, WIRE_SEAL), kept ? 1 : 2);
        ground_check_newest(&g);
        ground_down(&g);
    }
}

/* A poll begins nothing that takes long; the caller's time is the limit for sending again, too. */
CASE(pending, the_callers_time_is_the_limit)
{
    struct ground g;
    struct cairn_boundary b;
    ground_up(&g);
    job_fill(&g.job, 1);
    ground_fill_chunks(&g, 2, 5000000);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_HOLD, 0 };
    struct cairn_pending *p = started(&g, 1);
    fake_pause(&g.fake);
    fake_forget_newest(&g.fake);
    fake_resume(&g.fake);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(cairn_save_wait(&p, 0, &b, NULL), -CAIRN_EBUSY);
    }
    cr_assert_eq(g.fake.connections, 1, "nothing was begun");
    cr_assert_eq(fake_seen(&g.fake, WIRE_BEGIN), 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_BEGIN, 2, FAKE_SILENCE, 0 };
    int64_t start_ns = cl_now_ns();
    cr_assert_eq(cairn_save_wait(&p, 100, &b, NULL), -CAIRN_EBUSY, "%s", cairn_error(g.c));
    cr_assert_lt(cl_now_ns() - start_ns, INT64_C(10000000000), "not the handle's 20 s");
    cr_assert_not_null(p);
    cr_assert_eq(cairn_save_wait(&p, 20000, &b, NULL), 0, "%s", cairn_error(g.c));
    cr_assert_eq(b.seq, 1);
    ground_check_newest(&g);
    ground_down(&g);
}

/* A daemon that stops in the middle of its answer, or answers with garbage, has decided nothing. */
CASE(pending, only_the_daemons_word_ends_it)
{
    for (int i = 0; i < 2; i++) {
        struct ground g;
        struct cairn_boundary b;
        struct cairn_record *r = NULL;
        ground_up(&g);
        job_fill(&g.job, 1);
        cr_assert_eq(cairn_set_timeout(g.c, 200), 0);
        g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_HOLD, 0 };
        struct cairn_pending *p = started(&g, 1);
        g.fake.held_code = i == 0 ? FAKE_HELD_HALF : FAKE_HELD_GARBAGE;
        fake_release(&g.fake);
        int rc = cairn_save_wait(&p, 50, &b, &r);
        cr_assert(rc < 0, "%d: %d", i, rc);
        cr_assert_not_null(p, "%d: %s", i, cairn_error(g.c));
        cr_assert_null(r);
        cr_assert_eq(cairn_save_wait(&p, 20000, &b, &r), 0, "%d: %s", i, cairn_error(g.c));
        cr_assert_null(p);
        cr_assert_eq(b.seq, 1);
        ground_down(&g);
    }
}

/* What it was sent again for is refused: the record comes back from there, too. */
CASE(pending, a_refused_resend_gives_the_record_back)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_HOLD, 0 };
    struct cairn_pending *p = started(&g, 1);
    fake_pause(&g.fake);
    fake_forget_newest(&g.fake);
    fake_resume(&g.fake);
    g.fake.faults[0] = (struct fake_fault){ WIRE_BEGIN, 2, FAKE_REFUSE, CAIRN_ENOSPC };
    cr_assert_eq(cairn_save_wait(&p, 20000, NULL, &r), -CAIRN_ENOSPC, "%s", cairn_error(g.c));
    cr_assert_null(p);
    cr_assert_not_null(r);
    cr_assert_eq(cairn_save(g.c, &r, &(struct cairn_save_args){ .step = 1 }, NULL), 0);
    ground_down(&g);
}

/* ---- beside a restore ---- */

/* It ends before the restore begins, and if it failed then nothing has been asked of anybody. */
CASE(pending, a_restore_does_not_begin_beside_it)
{
    for (int code = 0; code <= CAIRN_EIO; code += CAIRN_EIO) {
        struct ground g;
        struct job other;
        struct cairn_record *loaded = NULL;
        struct cairn_record *failed = NULL;
        ground_up(&g);
        job_fill(&g.job, 1);
        ground_fill_chunks(&g, 3, 5000000);
        cr_assert_eq(ground_save(&g, 0, 1, NULL), 0);
        cr_assert_eq(cairn_load(g.c, "latest", 0, &loaded), 0);
        job_like(&other, &g.job);
        g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 2, FAKE_HOLD, 0 };
        struct cairn_pending *p = started(&g, 2);
        cr_assert_eq(cairn_set_timeout(g.c, 100), 0);
        cr_assert_eq(cairn_restore(g.c, loaded, &other.t), -CAIRN_ETIMEDOUT);
        cr_assert_str_eq(other.log, "", "nobody was asked");
        cr_assert_eq(cairn_set_timeout(g.c, 20000), 0);
        g.fake.held_code = code;
        fake_release(&g.fake);
        cr_assert_eq(cairn_restore(g.c, loaded, &other.t), -code, "%s", cairn_error(g.c));
        cr_assert_str_eq(other.log, code == 0 ? "Fg Fm Fo Fs Fu Gg Gm Go Gs Gu" : "");
        if (code != 0) {
            cr_assert_eq(cairn_restore(g.c, loaded, &other.t), 0, "it was told once");
        }
        cr_assert_null(job_differs(&g.job, &other));
        cr_assert_eq(cairn_save_wait(&p, 0, NULL, &failed), -code);
        (void)cairn_record_free(failed);
        (void)cairn_record_free(loaded);
        job_fini(&other);
        ground_down(&g);
    }
}

CASE(pending, a_lost_one_is_settled_before_the_next_save)
{
    struct ground g;
    struct cairn_boundary b;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_HOLD, 0 };
    struct cairn_pending *p = started(&g, 1);
    fake_pause(&g.fake);
    fake_forget_newest(&g.fake);
    fake_resume(&g.fake);
    cr_assert_eq(ground_save(&g, 0, 2, &b), 0, "%s", cairn_error(g.c));
    cr_assert_eq(b.seq, 2);
    cr_assert_eq(cairn_save_wait(&p, 0, &b, NULL), 0, "%s", cairn_error(g.c));
    cr_assert_eq(b.seq, 1);
    ground_down(&g);
}

CASE(pending, outlives_the_handle)
{
    struct ground g;
    struct cairn_boundary b;
    ground_up(&g);
    job_fill(&g.job, 1);
    struct cairn_pending *done = started(&g, 1);
    cr_assert_eq(cairn_set_timeout(g.c, 20000), 0);
    struct cairn_pending *open = NULL;
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 2, FAKE_HOLD, 0 };
    open = started(&g, 2);
    g.c = cairn_close(g.c);
    cr_assert_eq(cairn_save_wait(&done, 0, &b, NULL), 0, "its end was seen before");
    struct cairn_record *r = NULL;
    cr_assert_eq(cairn_save_wait(&open, 0, &b, &r), -CAIRN_ECONN);
    cr_assert_null(open);
    cr_assert_not_null(r, "what was not acknowledged is not lost");
    r = cairn_record_free(r);
    ground_down(&g);
}

/* ---- fork
 * ------------------------------------------------------------------------------------------------------
 */

static int in_child(struct ground *g, struct cairn_record *captured, struct cairn_record *loaded)
{
    struct cairn_record *r = NULL;
    const struct cairn_reader *reader = NULL;
    const struct tensor *t = g->job.model.tensors[3];
    uint64_t counter = 0;
    struct cairn *own = NULL;
    if (cairn_capture(g->c, &g->job.t, &r) != -CAIRN_EFORK ||
        cairn_load(g->c, "latest", 0, &r) != -CAIRN_EFORK ||
        cairn_save(g->c, &captured, &(struct cairn_save_args){ 0 }, NULL) != -CAIRN_EFORK ||
        strstr(cairn_error(g->c), "fork") == NULL) {
        return 1;
    }
    if (cairn_record_component(loaded, CAIRN_MODEL, &reader) != 0 ||
        cairn_get_u64(reader, "counter", &counter) != 0 ||
        cairn_get(reader, &t->entry, t->data) != -CAIRN_EFORK) {
        return 2;
    }
    (void)cairn_record_free(captured); /* its region is not mapped here */
    (void)cairn_record_free(loaded);
    g->c = cairn_close(g->c);
    if (cairn_open(g->fake.path, "demo", &own) != 0) {
        return 3;
    }
    (void)cairn_close(own);
    return 0;
}

CASE(fork, the_child_has_no_part_in_the_conversation)
{
    struct ground g;
    struct cairn_record *captured = NULL;
    struct cairn_record *loaded = NULL;
    int status = -1;
    ground_up(&g);
    job_fill(&g.job, 1);
    ground_fill_chunks(&g, 2, 5000000);
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &loaded), 0);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &captured), 0);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(in_child(&g, captured, loaded));
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: status %x", (unsigned)status);
    cr_assert_eq(cairn_save(g.c, &captured, &(struct cairn_save_args){ .step = 2 }, NULL),
                 0,
                 "the parent goes on: %s",
                 cairn_error(g.c));
    loaded = cairn_record_free(loaded);
    ground_check_newest(&g);
    cr_assert_eq(g.fake.connections, 2, "the parent's and the child's own");
    ground_down(&g);
}
