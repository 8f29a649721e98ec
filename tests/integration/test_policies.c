/* Policies and rollbacks at a real daemon: what is said goes and stays, does. */
#include <cairn/admin.h>
#include <cairn/keep.h>
#include <string.h>

#include "site.h"
#include "support/case.h"

enum { MAX_BOUNDARIES = 32 };

struct asked {
    unsigned count, goes_count;
    struct cairn_kept kept[MAX_BOUNDARIES];
};

static int asked_each(void *arg, const struct cairn_kept *kept)
{
    struct asked *a = arg;
    cr_assert_lt(a->count, (unsigned)MAX_BOUNDARIES);
    a->kept[a->count++] = *kept;
    a->goes_count += kept->goes ? 1 : 0;
    return 0;
}

static struct asked asks(struct cairn *c, const char *policy)
{
    struct asked a = { .count = 0 };
    char text[CAIRN_POLICY_BYTES];
    cr_assert_eq(cairn_keep_ask(c, policy, asked_each, &a, text), 0, "%s", cairn_error(c));
    cr_assert(policy == NULL || strcmp(text, policy) == 0, "%s", text);
    return a;
}

/* Exactly these are there, newest first; 0 ends them. What was to be done after a commit is done
 * before the question, which waits for its turn on the run. */
static void lists(struct cairn *c, const uint64_t *seqs)
{
    struct cairn_boundary b[MAX_BOUNDARIES];
    size_t count = 0;
    size_t want = 0;
    (void)asks(c, NULL);
    cr_assert_eq(cairn_list(c, "latest", MAX_BOUNDARIES, b, &count), 0, "%s", cairn_error(c));
    for (; seqs[want] != 0; want++) {
        cr_assert(want < count && b[want].seq == seqs[want], "place %zu", want);
    }
    cr_assert_eq(count, want, "%zu, expected %zu", count, want);
}

static void sets(struct cairn *c, const char *policy, const char *expected, bool preset)
{
    char text[CAIRN_POLICY_BYTES] = "";
    bool is_preset = !preset;
    cr_assert_eq(cairn_policy(c, policy, text, &is_preset), 0, "%s", cairn_error(c));
    cr_assert_str_eq(text, expected);
    cr_assert_eq(is_preset, preset);
}

/* Seq and step / 10 go together. */
static void saves(struct site *s, uint64_t first, uint64_t last)
{
    struct cairn_boundary b;
    for (uint64_t seq = first; seq <= last; seq++) {
        site_save(s, 10 * seq, &b);
        cr_assert_eq(b.seq, seq);
    }
}

CASE(keep, after_each_commit)
{
    struct site s;
    site_up(&s);
    job_fill(&s.job, 1);
    saves(&s, 1, 4);
    sets(s.c, NULL, "none", true);
    lists(s.c, (const uint64_t[]){ 4, 3, 2, 1, 0 });
    sets(s.c, "every=20 last=3", "last=3 every=20", false);
    lists(s.c, (const uint64_t[]){ 4, 3, 2, 1, 0 });
    saves(&s, 5, 9);
    lists(s.c, (const uint64_t[]){ 9, 8, 7, 6, 4, 2, 0 });
    daemon_kill(&s.d);
    daemon_start(&s.d, NULL);
    saves(&s, 10, 10);
    lists(s.c, (const uint64_t[]){ 10, 9, 8, 6, 4, 2, 0 });
    site_check(&s, "20");
    sets(s.c, "none", "none", false);
    saves(&s, 11, 11);
    lists(s.c, (const uint64_t[]){ 11, 10, 9, 8, 6, 4, 2, 0 });
    sets(s.c, "default", "none", true);
    site_down(&s);
}

/* What the policy does after a commit is no reason to refuse who saved that. */
CASE(keep, a_run_can_be_dropped_right_after_a_save, .timeout = 60)
{
    struct site s;
    site_up(&s);
    job_fill(&s.job, 1);
    for (uint64_t round = 0; round < 60; round++) {
        site_save(&s, 1, NULL);
        site_save(&s, 2, NULL);
        cr_assert_eq(cairn_run_drop(s.c), 0, "round %u: %s", (unsigned)round, cairn_error(s.c));
    }
    site_down(&s);
}

CASE(keep, a_dry_run_tells_and_does_nothing)
{
    struct site s;
    uint64_t removed = 0;
    uint64_t damaged = 1;
    site_up(&s);
    job_fill(&s.job, 1);
    saves(&s, 1, 1);
    s.job.model.tensors[2]->data[0] ^= 1; /* the only one that is not stored in rows */
    saves(&s, 2, 6);
    struct asked a = asks(s.c, "last=3 max-bytes=1B");
    cr_assert(a.count == 6 && a.goes_count == 4);
    cr_assert_str_eq(cairn_keep_why_name(a.kept[0].why), "newest");
    cr_assert_eq(a.kept[2].why, CAIRN_KEEP_GOES_SPACE);
    cr_assert_eq(a.kept[3].why, CAIRN_KEEP_GOES);
    cr_assert(a.kept[5].seq == 1 && a.kept[5].step == 10 && a.kept[5].own_bytes > 0);
    cr_assert_eq(a.kept[3].own_bytes, 0, "what others have too");
    lists(s.c, (const uint64_t[]){ 6, 5, 4, 3, 2, 1, 0 });
    sets(s.c, "last=3", "last=3", false);
    a = asks(s.c, NULL);
    cr_assert_eq(a.goes_count, 3);
    cr_assert_eq(cairn_keep(s.c, &removed, &damaged), 0, "%s", cairn_error(s.c));
    cr_assert(removed == 3 && damaged == 0);
    lists(s.c, (const uint64_t[]){ 6, 5, 4, 0 });
    cr_assert_eq(cairn_keep(s.c, &removed, NULL), 0, "%s", cairn_error(s.c));
    cr_assert_eq(removed, 0);
    site_down(&s);
}

CASE(keep, refuses)
{
    struct site s;
    struct asked a = { .count = 0 };
    char text[CAIRN_POLICY_BYTES] = "as before";
    site_up(&s);
    cr_assert_eq(cairn_policy(s.c, NULL, text, NULL), -CAIRN_ENOENT, "%s", cairn_error(s.c));
    job_fill(&s.job, 1);
    saves(&s, 1, 2);
    cr_assert_eq(cairn_policy(s.c, "last=x", text, NULL), -CAIRN_EINVAL);
    cr_assert_not_null(strstr(cairn_error(s.c), "\"last=x\": expected"), "%s", cairn_error(s.c));
    cr_assert_eq(cairn_keep_ask(s.c, "default", asked_each, &a, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_keep_ask(s.c, NULL, NULL, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_policy(s.c, NULL, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_rollback(s.c, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_rollback(s.c, "seq:7", NULL), -CAIRN_ENOENT);
    cr_assert_str_eq(text, "as before");
    site_down(&s);
}

/* A reader keeps an old boundary, whatever the policy says; when it has ended, the next round over
 * all runs lets it go, though nobody saves any more. */
CASE(keep, what_is_read_stays_and_goes_on_the_timer, .timeout = 60)
{
    struct site s;
    struct cairn *reader = NULL;
    struct cairn_record *r = NULL;
    struct job copy;
    struct cairn_boundary b[MAX_BOUNDARIES];
    size_t count = 3;
    site_up(&s);
    daemon_kill(&s.d);
    s.d.args[0] = "--keep-default=last=2";
    s.d.args[1] = "--keep-interval=1s";
    daemon_start(&s.d, NULL);
    job_fill(&s.job, 1);
    saves(&s, 1, 2);
    sets(s.c, NULL, "last=2", true);
    cr_assert_eq(cairn_open(s.d.socket, "demo", &reader), 0, "%s", cairn_error(reader));
    cr_assert_eq(cairn_load(reader, "seq:1", 0, &r), 0, "%s", cairn_error(reader));
    saves(&s, 3, 5);
    lists(s.c, (const uint64_t[]){ 5, 4, 1, 0 });
    struct asked a = asks(s.c, NULL);
    cr_assert_eq(a.kept[2].why, CAIRN_KEEP_READ);
    job_like(&copy, &s.job);
    cr_assert_eq(cairn_restore(reader, r, &copy.t), 0, "%s", cairn_error(reader));
    cr_assert_null(job_differs(&s.job, &copy), "%s", job_differs(&s.job, &copy));
    job_fini(&copy);
    (void)cairn_record_free(r);
    (void)cairn_close(reader);
    while (count != 2) { /* ended by the timeout of the case */
        cr_assert_eq(cairn_list(s.c, "latest", MAX_BOUNDARIES, b, &count), 0);
    }
    lists(s.c, (const uint64_t[]){ 5, 4, 0 });
    site_down(&s);
}

/* ---- rollback -------------------------------------------------------------------------------- */

static void latest_is(struct cairn *c, uint64_t seq)
{
    struct cairn_boundary b;
    size_t count = 0;
    cr_assert_eq(cairn_find(c, "latest", 1, &b, &count), 0, "%s", cairn_error(c));
    cr_assert_eq(b.seq, seq);
}

CASE(rollback, the_run_goes_on_from_there_also_after_a_crash)
{
    struct site s;
    struct cairn_boundary b;
    site_up(&s);
    job_fill(&s.job, 1);
    saves(&s, 1, 5);
    cr_assert_eq(cairn_rollback(s.c, "latest~2", &b), 0, "%s", cairn_error(s.c));
    cr_assert(b.seq == 3 && b.step == 30);
    daemon_kill(&s.d); /* before the next save */
    daemon_start(&s.d, NULL);
    latest_is(s.c, 3);
    site_check(&s, "latest");
    site_save(&s, 35, &b);
    cr_assert(b.seq == 6 && b.parent_seq == 3);
    latest_is(s.c, 6);
    sets(s.c, "last=9", "last=9", false);
    saves(&s, 7, 7);
    lists(s.c, (const uint64_t[]){ 7, 6, 3, 2, 1, 0 });
    site_down(&s);
}
