/* site.c: a daemon, a handle, a trainer. */
#include "site.h"

#include <stdlib.h>

#include "support/case.h"

#define SITE_WARM_BYTES (UINT64_C(32) << 20)

void site_up(struct site *s)
{
    tmp_make("client", s->dir);
    daemon_init(&s->d, s->dir);
    daemon_start(&s->d, NULL);
    s->c = NULL;
    cr_assert_eq(cairn_open(s->d.socket, "demo", &s->c), 0, "%s", cairn_error(s->c));
    if (getenv("CAIRN_TEST_WARM") != NULL) { /* what is saved first goes by an arena, too */
        cr_assert_eq(cairn_warm(s->c, SITE_WARM_BYTES, 2), 0, "%s", cairn_error(s->c));
    }
    job_init(&s->job);
    s->job.c = s->c;
}

void site_down(struct site *s)
{
    s->c = cairn_close(s->c);
    job_fini(&s->job);
    cr_assert_eq(daemon_stop(&s->d), 0);
    cr_assert_eq(daemon_fsck(&s->d, false), 0);
    daemon_fini(&s->d);
    tmp_remove(s->dir);
}

void site_save(struct site *s, uint64_t step, struct cairn_boundary *ret)
{
    struct cairn_record *r = NULL;
    cr_assert_eq(cairn_capture(s->c, &s->job.t, &r), 0, "%s", cairn_error(s->c));
    cr_assert_eq(cairn_save(s->c, &r, &(struct cairn_save_args){ .step = step }, ret),
                 0,
                 "%s",
                 cairn_error(s->c));
}

void site_check(struct site *s, const char *selector)
{
    struct cairn_record *r = NULL;
    struct job other;
    job_like(&other, &s->job);
    cr_assert_eq(cairn_load(s->c, selector, 0, &r), 0, "%s", cairn_error(s->c));
    cr_assert_eq(cairn_restore(s->c, r, &other.t), 0, "%s", cairn_error(s->c));
    cr_assert_null(job_differs(&s->job, &other), "%s", job_differs(&s->job, &other));
    (void)cairn_record_free(r);
    job_fini(&other);
}
