/* test_retry.c: runs do not wait for each other; a killed trainer's successor goes on at once; a
 * save whose acknowledgement was lost is found by its save id. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "retry_trainer.h"
#include "support/case.h"
#include "support/daemon.h"
#include "support/hold.h"

enum { RETRY_MS = 60000, RETRY_AT_ONCE_MS = 5000, RETRY_ROUNDS = 100 };

struct retry {
    char dir[TMP_PATH_BYTES];
    struct daemon d;
    struct hold hold;
    char spec[512]; /* CAIRN_FAILPOINT=... */
};

/* A daemon and a hold at `point`; whose it is says `spec`: "daemon" starts it there. */
static void retry_init(struct retry *t, const char *point, const char *nth, bool in_daemon)
{
    tmp_make("retry", t->dir);
    daemon_init(&t->d, t->dir);
    hold_init(&t->hold, t->d.socket_dir, "hold");
    (void)snprintf(
        t->spec, sizeof t->spec, "CAIRN_FAILPOINT=%s:hold=%s%s", point, t->hold.path, nth);
    const char *env[] = { t->spec, NULL };
    daemon_start(&t->d, in_daemon ? env : NULL);
}

static void retry_fini(struct retry *t)
{
    hold_fini(&t->hold);
    cr_assert_eq(daemon_stop(&t->d), 0);
    cr_assert_eq(daemon_fsck(&t->d, false), 0, "fsck");
    daemon_fini(&t->d);
    tmp_remove(t->dir);
}

/* A retry_trainer with these words (at most six, NULL-terminated). */
static void
retry_start(struct retry *t, struct proc *ret, const char *failpoint, const char *const *words)
{
    const char *argv[10] = { CAIRN_TEST_RETRY_TRAINER, t->d.socket, "run" };
    const char *env[] = { failpoint, NULL };
    char log[TMP_PATH_BYTES + 16];
    for (size_t i = 0; words[i] != NULL; i++) {
        argv[3 + i] = words[i];
    }
    (void)snprintf(log, sizeof log, "%s/trainer.log", t->dir);
    const struct proc_spec spec = {
        .argv = argv, .env = failpoint == NULL ? NULL : env, .log_path = log, .pipe_out = true
    };
    proc_start(ret, &spec);
}

static void retry_expect(struct proc *p, int timeout_ms, const char *start)
{
    char line[128] = "";
    bool got = proc_line(p, timeout_ms, line, sizeof line);
    cr_assert(got && strncmp(line, start, strlen(start)) == 0,
              "expected '%s' within %d ms, got '%s'",
              start,
              timeout_ms,
              got ? line : "nothing");
}

static enum cairn_save_state retry_find(struct cairn *c, int step, uint64_t *ret_seq)
{
    enum cairn_save_state state = CAIRN_SAVE_NONE;
    uint8_t save_id[16];
    memset(save_id, step, sizeof save_id);
    int rc = cairn_save_find(c, save_id, &state, ret_seq);
    cr_assert_eq(rc, 0, "%s: %s", cairn_strerror(rc), cairn_error(c));
    return state;
}

static size_t retry_count(struct cairn *c)
{
    struct cairn_boundary found[16];
    size_t count = 0;
    int rc = cairn_find(c, "latest", 16, found, &count);
    cr_assert(rc == 0 || rc == -CAIRN_ENOENT, "%s: %s", cairn_strerror(rc), cairn_error(c));
    return count;
}

/* ---- isolation ------------------------------------------------------------------------------- */

static void retry_ok(struct cairn *c, int rc, const char *what, unsigned round)
{
    cr_assert_eq(rc, 0, "round %u: %s: %s: %s", round, what, cairn_strerror(rc), cairn_error(c));
}

CASE(retry, a_run_held_in_its_commit_holds_no_other, .timeout = 240)
{
    struct retry t;
    struct sample a;
    struct sample b;
    struct cairn *run_a = NULL;
    struct cairn *run_b = NULL;
    struct cairn_record *record = NULL;
    struct cairn_pending *pending = NULL;
    struct cairn_boundary saved;
    struct cairn_save_args args = { .step = 7 };
    retry_init(&t, "commit", ":1", true); /* the first commit is A's */
    sample_init(&a, retry_model, retry_optimizer);
    sample_init(&b, retry_model, retry_optimizer);
    cr_assert_eq(cairn_open(t.d.socket, "a", &run_a), 0);
    cr_assert_eq(cairn_open(t.d.socket, "b", &run_b), 0);

    sample_fill(&a, 7);
    cr_assert_eq(cairn_capture(run_a, &a.trainer, &record), 0);
    retry_ok(run_a, cairn_save_start(run_a, &record, &args, &pending), "start", 0);
    cr_assert(hold_wait(&t.hold, RETRY_MS), "the commit of A is not held");
    uint64_t start_ns = now_ns();
    for (unsigned round = 1; round <= RETRY_ROUNDS; round++) {
        sample_fill(&b, round);
        retry_ok(run_b, sample_save(&b, run_b, &saved), "save", round);
        cr_assert_eq(saved.seq, round);
        sample_clear(&b);
        retry_ok(run_b, sample_load(&b, run_b, "latest"), "load", round);
        cr_assert(sample_is(&b, round), "round %u came back changed", round);
    }
    (void)printf("retry: %d saves and loads beside a held commit in %.2f s\n",
                 RETRY_ROUNDS,
                 (double)(now_ns() - start_ns) * 1e-9);
    cr_assert_eq(
        cairn_save_wait(&pending, 0, &saved, NULL), -CAIRN_EBUSY, "A is not held any more");
    hold_release(&t.hold);
    retry_ok(run_a, cairn_save_wait(&pending, RETRY_MS, &saved, NULL), "wait", 0);
    cr_assert_eq(saved.step, 7);
    sample_clear(&a);
    retry_ok(run_a, sample_load(&a, run_a, "latest"), "load", 0);
    cr_assert(sample_is(&a, 7));

    cairn_close(run_a);
    cairn_close(run_b);
    sample_fini(&a);
    sample_fini(&b);
    retry_fini(&t);
}

/* ---- a killed trainer and its successor ------------------------------------------------------ */

struct sleepers {
    int pids[2];
};

/* Both live, and have a socket open. */
static void sleepers_check(const struct sleepers *s)
{
    for (size_t i = 0; i < 2; i++) {
        char path[300];
        char link[64];
        unsigned sockets = 0;
        (void)snprintf(path, sizeof path, "/proc/%d/fd", s->pids[i]);
        DIR *dir = opendir(path);
        cr_assert_not_null(dir, "a sleeper is gone");
        for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
            (void)snprintf(path, sizeof path, "/proc/%d/fd/%s", s->pids[i], e->d_name);
            ssize_t bytes = readlink(path, link, sizeof link);
            sockets += bytes > 7 && strncmp(link, "socket:", 7) == 0 ? 1 : 0;
        }
        (void)closedir(dir);
        cr_assert_gt(sockets, 0, "a sleeper does not hold the socket");
    }
}

static void sleepers_expect(struct proc *trainer, struct sleepers *ret)
{
    char line[64];
    char *at = line + strlen("sleepers ");
    cr_assert(proc_line(trainer, RETRY_MS, line, sizeof line));
    cr_assert_eq(strncmp(line, "sleepers ", 9), 0, "%s", line);
    ret->pids[0] = (int)strtol(at, &at, 10);
    ret->pids[1] = (int)strtol(at, NULL, 10);
}

static void sleepers_end(const struct sleepers *s)
{
    (void)kill(s->pids[0], SIGKILL);
    (void)kill(s->pids[1], SIGKILL);
}

CASE(retry, successor_waits_for_what_was_sealed, .timeout = 120)
{
    struct retry t;
    struct proc trainer;
    struct proc successor;
    struct sleepers sleepers;
    char line[64];
    retry_init(&t, "commit", ":2", true);
    const char *words[] = { "save=1", "sleepers", "seal=2", "wait", NULL };
    retry_start(&t, &trainer, NULL, words);
    retry_expect(&trainer, RETRY_MS, "saved 1");
    sleepers_expect(&trainer, &sleepers);
    retry_expect(&trainer, RETRY_MS, "sealed 2");
    cr_assert(hold_wait(&t.hold, RETRY_MS), "the second commit is not held");
    proc_kill(&trainer);
    sleepers_check(&sleepers);

    /* What was sealed is not committed yet; the successor must neither miss it nor be told before.
     */
    const char *next[] = { "load", "save=3", NULL };
    retry_start(&t, &successor, NULL, next);
    retry_expect(&successor, RETRY_MS, "loading");
    cr_assert(!proc_line(&successor, 300, line, sizeof line), "before the commit: '%s'", line);
    hold_release(&t.hold);
    retry_expect(&successor, RETRY_AT_ONCE_MS, "loaded 2");
    retry_expect(&successor, RETRY_AT_ONCE_MS, "saved 3 3");
    cr_assert(proc_wait(&successor, RETRY_MS));
    cr_assert_eq(proc_exit(&successor), 0);
    sleepers_check(&sleepers);
    sleepers_end(&sleepers);
    retry_fini(&t);
}

CASE(retry, successor_is_not_held_up_by_an_upload_that_died, .timeout = 120)
{
    struct retry t;
    struct proc trainer;
    struct proc successor;
    struct sleepers sleepers;
    retry_init(&t, "seal", ":2", false);
    const char *words[] = { "save=1", "sleepers", "save=2", NULL };
    retry_start(&t, &trainer, t.spec, words);
    retry_expect(&trainer, RETRY_MS, "saved 1");
    sleepers_expect(&trainer, &sleepers);
    cr_assert(hold_wait(&t.hold, RETRY_MS), "the second save is not held before its seal");
    proc_kill(&trainer);
    sleepers_check(&sleepers);

    const char *next[] = { "load", "save=2", NULL };
    retry_start(&t, &successor, NULL, next);
    retry_expect(&successor, RETRY_MS, "loading");
    retry_expect(&successor, RETRY_AT_ONCE_MS, "loaded 1");
    retry_expect(&successor, RETRY_AT_ONCE_MS, "saved 2");
    cr_assert(proc_wait(&successor, RETRY_MS));
    sleepers_check(&sleepers);
    sleepers_end(&sleepers);
    retry_fini(&t);
}

/* ---- what became of a save ------------------------------------------------------------------- */

CASE(retry, find_none_receiving_committed, .timeout = 120)
{
    struct retry t;
    struct proc trainer;
    struct cairn *c = NULL;
    uint64_t seq = 0;
    retry_init(&t, "seal", ":1", false);
    cr_assert_eq(cairn_open(t.d.socket, "run", &c), 0);
    const char *words[] = { "save=1", NULL };
    retry_start(&t, &trainer, t.spec, words);
    cr_assert(hold_wait(&t.hold, RETRY_MS), "the save is not held before its seal");
    cr_assert_eq(retry_find(c, 1, &seq), CAIRN_SAVE_RECEIVING);
    cr_assert_eq(retry_find(c, 2, &seq), CAIRN_SAVE_NONE);
    hold_release(&t.hold);
    retry_expect(&trainer, RETRY_MS, "saved 1 1");
    cr_assert(proc_wait(&trainer, RETRY_MS));
    cr_assert_eq(retry_find(c, 1, &seq), CAIRN_SAVE_COMMITTED);
    cr_assert_eq(seq, 1);
    cairn_close(c);
    retry_fini(&t);
}

CASE(retry, find_none_where_there_is_no_run, .timeout = 60)
{
    struct retry t;
    struct cairn *c = NULL;
    uint64_t seq = 0;
    retry_init(&t, "seal", ":1", false);
    cr_assert_eq(cairn_open(t.d.socket, "run", &c), 0);
    cr_assert_eq(retry_find(c, 1, &seq), CAIRN_SAVE_NONE);
    cairn_close(c);
    retry_fini(&t);
}

CASE(retry, find_sealed, .timeout = 120)
{
    struct retry t;
    struct proc trainer;
    struct cairn *c = NULL;
    uint64_t seq = 0;
    retry_init(&t, "commit", ":1", true);
    const char *words[] = { "seal=1", "wait", NULL };
    retry_start(&t, &trainer, NULL, words);
    retry_expect(&trainer, RETRY_MS, "sealed 1");
    cr_assert(hold_wait(&t.hold, RETRY_MS), "the commit is not held");
    proc_kill(&trainer);
    cr_assert_eq(cairn_open(t.d.socket, "run", &c), 0);
    cr_assert_eq(retry_find(c, 1, &seq), CAIRN_SAVE_SEALED);
    hold_release(&t.hold);
    cr_assert_eq(retry_count(c), 1, "the sealed save of a dead trainer is not there");
    cr_assert_eq(retry_find(c, 1, &seq), CAIRN_SAVE_COMMITTED);
    cr_assert_eq(seq, 1);
    cairn_close(c);
    retry_fini(&t);
}

/* The daemon dies at `point` of a save's end and comes back; the trainer's one call must end well,
 * and there must be one boundary. `before`: what the daemon knows of it before the trainer comes.
 */
static void retry_across_death(const char *point, enum cairn_save_state before)
{
    struct retry t;
    struct proc trainer;
    struct cairn *c = NULL;
    char spec[64];
    uint64_t seq = 0;
    const char *env[] = { spec, NULL };
    retry_init(&t, "begin", ":1", false);
    cr_assert_eq(daemon_stop(&t.d), 0);
    (void)snprintf(spec, sizeof spec, "CAIRN_FAILPOINT=%s:kill:1", point);
    daemon_start(&t.d, env);
    const char *words[] = { "save=1", NULL };
    retry_start(&t, &trainer, NULL, words);
    cr_assert(proc_wait(&t.d.proc, RETRY_MS), "the daemon does not die");
    proc_signal(&trainer, SIGSTOP);

    daemon_start(&t.d, NULL);
    cr_assert_eq(cairn_open(t.d.socket, "run", &c), 0);
    cr_assert_eq(retry_find(c, 1, &seq), before);
    cr_assert_eq(seq, before == CAIRN_SAVE_COMMITTED ? 1 : 0);
    proc_signal(&trainer, SIGCONT);
    retry_expect(&trainer, RETRY_MS, "saved 1 1");
    cr_assert(proc_wait(&trainer, RETRY_MS));
    cr_assert_eq(retry_find(c, 1, &seq), CAIRN_SAVE_COMMITTED);
    cr_assert_eq(retry_count(c), 1, "one save made %zu boundaries", retry_count(c));
    cairn_close(c);
    retry_fini(&t);
}

CASE(retry, E27_lost_acknowledgement_is_found_committed, .timeout = 120)
{
    retry_across_death("acknowledge", CAIRN_SAVE_COMMITTED);
}

CASE(retry, E27_lost_right_after_the_commit_is_found_committed, .timeout = 120)
{
    retry_across_death("committed", CAIRN_SAVE_COMMITTED);
}

CASE(retry, E27_lost_right_before_the_commit_is_saved_again, .timeout = 120)
{
    retry_across_death("commit", CAIRN_SAVE_NONE);
}

/* A sync that failed inside the commit: nobody can say whether it is there. The run takes no more
 * saves until the daemon was restarted. PRUNED, the last of FIND's states, is test_remove's. */
CASE(retry, find_unknown_after_a_failed_sync, .timeout = 120)
{
    struct retry t;
    struct proc trainer;
    struct cairn *c = NULL;
    uint64_t seq = 0;
    const char *env[] = { "CAIRN_FAILPOINT=commit:eio:1", NULL };
    retry_init(&t, "begin", ":1", false);
    cr_assert_eq(daemon_stop(&t.d), 0);
    daemon_start(&t.d, env);
    const char *words[] = { "save=1", NULL };
    retry_start(&t, &trainer, NULL, words);
    retry_expect(&trainer, RETRY_MS, "failed CAIRN_EUNKNOWN");
    cr_assert(proc_wait(&trainer, RETRY_MS));
    cr_assert_eq(cairn_open(t.d.socket, "run", &c), 0);
    cr_assert_eq(retry_find(c, 1, &seq), CAIRN_SAVE_UNKNOWN);
    cairn_close(c);

    /* After the restart it is one or the other, and saving the same once more settles it. */
    cr_assert_eq(daemon_stop(&t.d), 0);
    daemon_start(&t.d, NULL);
    retry_start(&t, &trainer, NULL, words);
    retry_expect(&trainer, RETRY_MS, "saved 1");
    cr_assert(proc_wait(&trainer, RETRY_MS));
    cr_assert_eq(cairn_open(t.d.socket, "run", &c), 0);
    cr_assert_eq(retry_find(c, 1, &seq), CAIRN_SAVE_COMMITTED);
    cr_assert_eq(retry_count(c), 1);
    cairn_close(c);
    retry_fini(&t);
}
