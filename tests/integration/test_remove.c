/* A boundary is removed while others save and read. */
#include <cairn/admin.h>
#include <string.h>

#include "site.h"
#include "support/case.h"

static void removes(struct cairn *c, const char *selector, uint64_t seq)
{
    struct cairn_boundary b = { 0 };
    cr_assert_eq(cairn_remove(c, selector, &b), 0, "%s", cairn_error(c));
    cr_assert_eq(b.seq, seq);
    cr_assert_eq(b.step, 10 * seq);
}

static void refuses(struct cairn *c, const char *selector, int code, const char *text)
{
    struct cairn_boundary b = { .seq = 77 };
    cr_assert_eq(cairn_remove(c, selector, &b), code, "%s", cairn_error(c));
    cr_assert_not_null(strstr(cairn_error(c), text), "%s", cairn_error(c));
    cr_assert_eq(b.seq, 77, "untouched");
}

/* Exactly these are there, newest first; 0 ends them. */
static void lists(struct cairn *c, const uint64_t *seqs)
{
    struct cairn_boundary b[8];
    size_t count = 0;
    size_t want = 0;
    cr_assert_eq(cairn_list(c, "latest", 8, b, &count), 0, "%s", cairn_error(c));
    for (; seqs[want] != 0; want++) {
        cr_assert(want < count && b[want].seq == seqs[want], "place %zu", want);
    }
    cr_assert_eq(count, want);
}

/* Seq 1 to 4 of steps 10 to 40. */
static void some_up(struct site *s, struct cairn_boundary ret[5])
{
    site_up(s);
    job_fill(&s->job, 1);
    for (uint64_t i = 1; i <= 4; i++) {
        site_save(s, 10 * i, &ret[i]);
        cr_assert_eq(ret[i].seq, i);
    }
}

CASE(remove, by_every_kind_of_selector)
{
    struct site s;
    struct cairn_boundary b[5];
    some_up(&s, b);
    removes(s.c, "latest~1", 3);
    lists(s.c, (const uint64_t[]){ 4, 2, 1, 0 });
    removes(s.c, "10", 1);
    removes(s.c, "seq:2", 2);
    lists(s.c, (const uint64_t[]){ 4, 0 });
    refuses(s.c, "latest", -CAIRN_EINVAL, "seq 4 is the newest");
    refuses(s.c, "", -CAIRN_EINVAL, "seq 4 is the newest");
    refuses(s.c, "seq:2", -CAIRN_ENOENT, "seq 2");
    refuses(s.c, "10", -CAIRN_ENOENT, "step 10");
    refuses(s.c, "nonsense", -CAIRN_EINVAL, "nonsense");
    site_check(&s, "latest");
    site_save(&s, 50, NULL);
    lists(s.c, (const uint64_t[]){ 5, 4, 0 });
    daemon_kill(&s.d);
    daemon_start(&s.d, NULL);
    lists(s.c, (const uint64_t[]){ 5, 4, 0 });
    site_check(&s, "seq:4");
    site_down(&s);
}

CASE(remove, its_save_id_says_so)
{
    struct site s;
    struct cairn_boundary b[5];
    struct cairn_record *r = NULL;
    enum cairn_save_state state = CAIRN_SAVE_NONE;
    uint64_t seq = 0;
    some_up(&s, b);
    removes(s.c, "seq:2", 2);
    cr_assert_eq(cairn_save_find(s.c, b[2].save_id, &state, &seq), 0, "%s", cairn_error(s.c));
    cr_assert(state == CAIRN_SAVE_PRUNED && seq == 2, "%d of seq %d", (int)state, (int)seq);
    const struct cairn_save_args again = { .step = 20, .save_id = b[2].save_id };
    cr_assert_eq(cairn_capture(s.c, &s.job.t, &r), 0, "%s", cairn_error(s.c));
    cr_assert_eq(cairn_save(s.c, &r, &again, NULL), -CAIRN_EPRUNED, "%s", cairn_error(s.c));
    (void)cairn_record_free(r);
    lists(s.c, (const uint64_t[]){ 4, 3, 1, 0 });
    site_down(&s);
}

/* Whoever has loaded it reads it to the end. */
CASE(remove, not_under_a_reader)
{
    struct site s;
    struct cairn_boundary b[5];
    struct cairn_record *r = NULL;
    struct cairn *other = NULL;
    struct job copy;
    some_up(&s, b);
    cr_assert_eq(cairn_open(s.d.socket, "demo", &other), 0, "%s", cairn_error(other));
    cr_assert_eq(cairn_load(other, "seq:2", 0, &r), 0, "%s", cairn_error(other));
    refuses(s.c, "seq:2", -CAIRN_EBUSY, "seq 2 is being read");
    removes(s.c, "seq:1", 1);
    job_like(&copy, &s.job);
    cr_assert_eq(cairn_restore(other, r, &copy.t), 0, "%s", cairn_error(other));
    cr_assert_null(job_differs(&s.job, &copy), "%s", job_differs(&s.job, &copy));
    job_fini(&copy);
    (void)cairn_record_free(r);
    cr_assert_eq(cairn_load(other, "seq:3", 0, &r), 0, "%s", cairn_error(other));
    removes(s.c, "seq:2", 2);
    (void)cairn_record_free(r);
    (void)cairn_close(other);
    lists(s.c, (const uint64_t[]){ 4, 3, 0 });
    site_down(&s);
}
