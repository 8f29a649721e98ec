/* test_preempt.c: the example trainer under SIGTERM, two seconds before SIGKILL. It leaves with a
 * sealed save, and the daemon commits that without it; who comes next goes on from exactly there.
 */
#include <cairn/record.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/case.h"
#include "support/daemon.h"
#include "support/hold.h"

enum { PREEMPT_GRACE_MS = 2000, PREEMPT_MS = 120000, PREEMPT_LINE_BYTES = 128 };

struct preempt {
    struct daemon d;
    struct hold hold;
    struct proc trainer;
    char spec[512]; /* CAIRN_FAILPOINT=... */
    uint64_t microbatches;
};

/* A daemon; held at `commit` when that is said. */
static void preempt_init(struct preempt *t, const char *commit)
{
    char dir[TMP_PATH_BYTES];
    *t = (struct preempt){ 0 };
    tmp_make("preempt", dir);
    daemon_init(&t->d, dir);
    memcpy(t->d.dir, dir, sizeof t->d.dir);
    hold_init(&t->hold, t->d.socket_dir, "hold");
    (void)snprintf(t->spec, sizeof t->spec, "CAIRN_FAILPOINT=%s:hold=%s:1", commit, t->hold.path);
    const char *env[] = { t->spec, NULL };
    daemon_start(&t->d, strcmp(commit, "commit") == 0 ? env : NULL);
}

static void preempt_fini(struct preempt *t)
{
    hold_fini(&t->hold);
    daemon_end(&t->d);
}

/* 5000 updates of a small network; `socket` NULL: without cairn. */
static void preempt_start(struct proc *ret,
                          const char *log,
                          const char *socket,
                          const char *save_every,
                          const char *failpoint)
{
    const char *env[] = { failpoint, NULL };
    const char *argv[] = { program_digits(), "--data",
                           CAIRN_TEST_DATA,  "--updates",
                           "5000",           "--save-every",
                           save_every,       socket == NULL ? "--no-save" : "--socket",
                           socket,           NULL };
    const struct proc_spec spec = {
        .argv = argv, .env = failpoint == NULL ? NULL : env, .log_path = log, .pipe_out = true
    };
    proc_start(ret, &spec);
}

static void preempt_train(struct preempt *t, const char *save_every, const char *failpoint)
{
    preempt_start(&t->trainer, t->d.log, t->d.socket, save_every, failpoint);
}

/* The number behind `start` in the next line that begins so. */
static uint64_t preempt_number(struct preempt *t, const char *start)
{
    char line[PREEMPT_LINE_BYTES] = "";
    while (proc_line(&t->trainer, PREEMPT_MS, line, sizeof line)) {
        if (strncmp(line, start, strlen(start)) == 0) {
            return strtoull(line + strlen(start), NULL, 10);
        }
    }
    daemon_show_log(&t->d); /* and the trainer's */
    cr_assert_fail("no '%s', the last line is '%s'", start, line);
    return 0;
}

/* It says where it stopped, and ends well before it is killed. */
static void preempt_expect_end(struct preempt *t)
{
    t->microbatches = preempt_number(t, "stopped after microbatch ");
    bool ended = proc_wait(&t->trainer, PREEMPT_GRACE_MS);
    if (!ended) {
        proc_kill(&t->trainer);
    }
    cr_assert(ended, "the grace of %d ms was not enough", PREEMPT_GRACE_MS);
    cr_assert_eq(proc_exit(&t->trainer), 0);
}

/* Asked to stop when it is at work. */
static void preempt_in_mid_run(struct preempt *t, const char *updates)
{
    preempt_train(t, updates, NULL);
    (void)preempt_number(t, "update ");
    proc_signal(&t->trainer, SIGTERM);
    preempt_expect_end(t);
}

static void preempt_count(struct preempt *t, size_t least, struct cairn_boundary *ret_last)
{
    struct cairn *c = NULL;
    size_t count = 0;
    cr_assert_eq(cairn_open(t->d.socket, "digits", &c), 0);
    int rc = cairn_find(c, "latest", 1, ret_last, &count);
    cr_assert_eq(rc, 0, "%s: %s", cairn_strerror(rc), cairn_error(c));
    cr_assert_geq(ret_last->seq, least);
    cairn_close(c);
}

/* A second trainer goes on from there, and ends as one that nobody has disturbed. */
static void preempt_expect_same_end(struct preempt *t)
{
    struct proc undisturbed;
    char expected[PREEMPT_LINE_BYTES] = "";
    char line[PREEMPT_LINE_BYTES] = "";
    preempt_start(&undisturbed, t->d.log, NULL, "1", NULL);
    preempt_train(t, "1000000", NULL);
    cr_assert_eq(preempt_number(t, "resumed after microbatch "), t->microbatches);
    cr_assert(proc_last_line(&t->trainer, PREEMPT_MS, line, sizeof line));
    cr_assert(proc_last_line(&undisturbed, PREEMPT_MS, expected, sizeof expected));
    cr_assert(proc_wait(&t->trainer, PREEMPT_MS));
    cr_assert(proc_wait(&undisturbed, PREEMPT_MS));
    cr_assert_eq(strncmp(expected, "digest ", 7), 0, "%s", expected);
    cr_assert_str_eq(line, expected, "it ended in another state");
}

CASE(preempt, in_mid_run_it_leaves_and_nothing_is_lost, .timeout = 300)
{
    struct preempt t;
    struct cairn_boundary last;
    preempt_init(&t, "");
    preempt_in_mid_run(&t, "40");
    preempt_count(&t, 2, &last);
    cr_assert_eq(last.step, t.microbatches / 4);
    preempt_expect_same_end(&t);
    preempt_fini(&t);
}

/* Its save is the first of the run: nothing else can be what is continued. */
CASE(preempt, gone_before_the_commit_which_comes_all_the_same, .timeout = 300)
{
    struct preempt t;
    struct cairn_boundary last;
    preempt_init(&t, "commit");
    preempt_in_mid_run(&t, "1000000");
    cr_assert(hold_wait(&t.hold, PREEMPT_MS), "the commit is not held");
    hold_release(&t.hold);
    preempt_count(&t, 1, &last);
    cr_assert_eq(last.seq, 1);
    cr_assert_eq(last.step, t.microbatches / 4);
    preempt_expect_same_end(&t);
    preempt_fini(&t);
}

/* A node that goes down asks both to stop. */
CASE(preempt, the_daemon_commits_before_it_stops, .timeout = 300)
{
    struct preempt t;
    struct cairn_boundary last;
    preempt_init(&t, "commit");
    preempt_in_mid_run(&t, "1000000");
    cr_assert(hold_wait(&t.hold, PREEMPT_MS), "the commit is not held");
    proc_signal(&t.d.proc, SIGTERM);
    hold_release(&t.hold);
    cr_assert(proc_wait(&t.d.proc, PREEMPT_MS));
    cr_assert_eq(proc_exit(&t.d.proc), 0);
    daemon_start(&t.d, NULL);
    preempt_count(&t, 1, &last);
    cr_assert_eq(last.step, t.microbatches / 4);
    preempt_fini(&t);
}

/* Asked in the middle of a save, it ends that one and makes no second of the same state. */
CASE(preempt, in_the_middle_of_a_save, .timeout = 300)
{
    struct preempt t;
    struct cairn_boundary last;
    preempt_init(&t, "upload");
    preempt_train(&t, "41", t.spec);
    cr_assert(hold_wait(&t.hold, PREEMPT_MS), "the save is not held");
    proc_signal(&t.trainer, SIGTERM);
    hold_release(&t.hold);
    preempt_expect_end(&t);
    cr_assert_eq(t.microbatches, 41);
    preempt_count(&t, 1, &last);
    cr_assert_eq(last.seq, 1);
    preempt_expect_same_end(&t);
    preempt_fini(&t);
}

/* Before it has trained there is nothing to save, with or without a daemon. */
CASE(preempt, with_nothing_to_lose, .timeout = 60)
{
    struct preempt t;
    struct cairn *c = NULL;
    struct cairn_boundary last;
    size_t count = 0;
    preempt_init(&t, "load");
    preempt_train(&t, "40", t.spec);
    cr_assert(hold_wait(&t.hold, PREEMPT_MS), "the load is not held");
    proc_signal(&t.trainer, SIGTERM);
    hold_release(&t.hold);
    preempt_expect_end(&t);
    cr_assert_eq(t.microbatches, 0);
    cr_assert_eq(cairn_open(t.d.socket, "digits", &c), 0);
    cr_assert_eq(cairn_find(c, "latest", 1, &last, &count), -CAIRN_ENOENT);
    cairn_close(c);
    preempt_fini(&t);
}
