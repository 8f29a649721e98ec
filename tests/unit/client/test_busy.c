/* Two captured records of a handle are in memory at most: the third capture waits for the save of
 * the first, or is refused. */
#include <string.h>

#include "ground.h"

struct two {
    struct ground g;
    struct cairn_pending *p;   /* being saved; its SEAL is held */
    struct cairn_record *kept; /* captured meanwhile */
};

static void two_up(struct two *t, uint32_t precision)
{
    ground_up(&t->g);
    job_fill(&t->g.job, 1);
    t->p = NULL;
    t->kept = NULL;
    t->g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_HOLD, 0 };
    const struct cairn_save_args args = { .step = 1, .precision = precision, .lossy_ok = true };
    struct cairn_record *r = NULL;
    cr_assert_eq(ground_capture(&t->g, 0, &r), 0);
    cr_assert_eq(cairn_save_start(t->g.c, &r, &args, &t->p), 0, "%s", cairn_error(t->g.c));
    cr_assert_eq(ground_capture(&t->g, 0, &t->kept), 0, "there is room for it");
}

static void two_down(struct two *t)
{
    if (t->p != NULL) {
        cr_assert_eq(cairn_save_wait(&t->p, 20000, NULL, NULL), 0, "%s", cairn_error(t->g.c));
    }
    t->kept = cairn_record_free(t->kept);
    ground_down(&t->g);
}

static void *release(void *fake)
{
    fake_release(fake);
    return NULL;
}

static void third_is(struct two *t, int rc, const char *words)
{
    struct cairn_record *r = NULL;
    cr_assert_eq(ground_capture(&t->g, 0, &r), rc, "%s", cairn_error(t->g.c));
    if (rc < 0) {
        cr_assert_null(r);
        cr_assert_not_null(strstr(cairn_error(t->g.c), words), "%s", cairn_error(t->g.c));
    }
    (void)cairn_record_free(r);
}

CASE(busy, a_third_capture_waits_for_the_save_of_the_first)
{
    struct two t;
    pthread_t other;
    struct cairn_progress progress;
    two_up(&t, CAIRN_NATIVE);
    cr_assert_eq(cairn_save_progress(t.g.c, &progress), 0);
    cr_assert_neq(progress.stage, CAIRN_STAGE_COMMITTED);
    cr_assert_eq(pthread_create(&other, NULL, release, &t.g.fake), 0);
    third_is(&t, 0, "");
    cr_assert_eq(cairn_save_progress(t.g.c, &progress), 0);
    cr_assert_eq(progress.stage, CAIRN_STAGE_COMMITTED, "which ended before the capture");
    (void)pthread_join(other, NULL);
    two_down(&t);
}

CASE(busy, it_waits_no_longer_than_the_handles_timeout)
{
    struct two t;
    two_up(&t, CAIRN_NATIVE);
    cr_assert_eq(cairn_set_timeout(t.g.c, 50), 0);
    third_is(&t, -CAIRN_ETIMEDOUT, "waited 50 ms for the memory of the save before it");
    cr_assert_eq(t.g.fake.connections, 1, "and breaks nothing");
    cr_assert_eq(cairn_set_timeout(t.g.c, 20000), 0);
    fake_release(&t.g.fake);
    two_down(&t);
}

CASE(busy, or_is_refused_as_asked)
{
    struct two t;
    two_up(&t, CAIRN_NATIVE);
    cr_assert_eq(cairn_set_busy(t.g.c, true), 0);
    third_is(&t, -CAIRN_EBUSY, "2 captured records of this handle are in memory already; one of");
    fake_release(&t.g.fake);
    third_is(&t, 0, "");
    two_down(&t);
}

/* Nobody waits for what only the caller can end. */
CASE(busy, records_that_are_kept_are_waited_for_by_nobody)
{
    struct two t;
    two_up(&t, CAIRN_NATIVE);
    fake_release(&t.g.fake);
    cr_assert_eq(cairn_save_wait(&t.p, 20000, NULL, NULL), 0);
    struct cairn_record *more = NULL;
    cr_assert_eq(ground_capture(&t.g, 0, &more), 0);
    third_is(&t, 0, "");
    cr_assert_eq(cairn_set_busy(t.g.c, true), 0);
    third_is(&t, -CAIRN_EBUSY, "save or free one of them");
    (void)cairn_record_free(more);
    third_is(&t, 0, "");
    two_down(&t);
}

/* Its connection is lost, so nothing can be waited for: training goes on. */
CASE(busy, a_lost_save_is_waited_for_by_nobody)
{
    struct two t;
    two_up(&t, CAIRN_NATIVE);
    fake_pause(&t.g.fake);
    third_is(&t, 0, "");
    fake_resume(&t.g.fake);
    two_down(&t);
}

CASE(busy, a_copy_in_another_precision_takes_no_room)
{
    struct two t;
    two_up(&t, CAIRN_HALF);
    cr_assert_eq(cairn_set_busy(t.g.c, true), 0);
    third_is(&t, -CAIRN_EBUSY, "in memory already");
    t.kept = cairn_record_free(t.kept);
    third_is(&t, 0, "");
    fake_release(&t.g.fake);
    two_down(&t);
}
