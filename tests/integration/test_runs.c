/* Runs at a real daemon: many of them in turn, several boundaries of one under way at once,
 * trainers that replace each other, and an orderly stop in the middle of it all. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/case.h"
#include "support/daemon.h"
#include "support/hold.h"
#include "support/peer.h"
#include "support/saver.h"

enum { RUNS = 300, WAIT_MS = 30000 };

struct runs {
    char dir[TMP_PATH_BYTES];
    struct daemon d;
    struct sample sample;
};

static void runs_init(struct runs *r)
{
    tmp_make("runs", r->dir);
    daemon_init(&r->d, r->dir);
    sample_init(&r->sample,
                (struct sample_tensors){ .count = 2, .tensor_bytes = 65536 },
                (struct sample_tensors){ .count = 1, .tensor_bytes = 4096 });
}

static void runs_fini(struct runs *r)
{
    cr_assert_eq(daemon_stop(&r->d), 0);
    cr_assert_eq(daemon_fsck(&r->d, false), 0);
    daemon_fini(&r->d);
    sample_fini(&r->sample);
    tmp_remove(r->dir);
}

static struct cairn *runs_open(const struct runs *r, const char *run)
{
    struct cairn *c = NULL;
    cr_assert_eq(cairn_open(r->d.socket, run, &c), 0, "%s: %s", run, cairn_error(c));
    return c;
}

static int runs_count(pid_t pid, const char *what)
{
    char path[64];
    int count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    DIR *dir = opendir(path);
    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

CASE(runs, three_hundred_in_turn, .timeout = 240)
{
    struct runs r;
    char name[32];
    int most_fds = 0;
    int most_threads = 0;
    runs_init(&r);
    r.d.args[0] = "--open-runs=16";
    daemon_start(&r.d, NULL);
    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned i = 0; i < RUNS; i++) {
            (void)snprintf(name, sizeof name, "run-%u", i);
            struct cairn *c = runs_open(&r, name);
            sample_fill(&r.sample, i + 1);
            if (turn == 0) {
                cr_assert_eq(sample_save(&r.sample, c, NULL), 0, "%s: %s", name, cairn_error(c));
            } else {
                sample_clear(&r.sample);
                cr_assert_eq(
                    sample_load(&r.sample, c, "latest"), 0, "%s: %s", name, cairn_error(c));
                cr_assert(sample_is(&r.sample, i + 1));
            }
            (void)cairn_close(c);
            int fds = runs_count(r.d.proc.pid, "fd");
            int threads = runs_count(r.d.proc.pid, "task");
            most_fds = fds > most_fds ? fds : most_fds;
            most_threads = threads > most_threads ? threads : most_threads;
        }
    }
    (void)printf("%d runs, 16 open at a time: at most %d descriptors, %d threads\n",
                 RUNS,
                 most_fds,
                 most_threads);
    cr_assert_lt(most_fds, 200);
    cr_assert_lt(most_threads, 64);
    runs_fini(&r);
}

/* ---- several boundaries of one run under way
 * --------------------------------------------------------- */

/* An upload that was begun first and goes nowhere: who came later waits for it, but not for ever.
 */
CASE(runs, a_later_save_waits_for_an_earlier_one_and_passes_it_when_it_fails, .timeout = 60)
{
    struct runs r;
    struct peer_client p;
    struct saver s;
    struct frame f = { 0 };
    union wire_msg msg;
    runs_init(&r);
    r.d.args[0] = "--idle=2s";
    daemon_start(&r.d, NULL);
    peer_connect(&p, r.d.socket);
    peer_hello(&p);
    peer_begin(&p, "shared", 1);
    uint64_t begun_ns = now_ns();
    saver_start(&s, r.d.socket, "shared", 5, NULL);
    cr_assert(peer_recv(&p, WAIT_MS, &f, &msg));
    cr_assert_eq(f.type, WIRE_ERROR);
    cr_assert_eq(msg.error.code, CAIRN_ETIMEDOUT);
    saver_end(&s, 0);
    cr_assert_geq(now_ns() - begun_ns, 1500000000u, "the later save did not wait");
    cr_assert_eq(s.saved.seq, 1);
    peer_close(&p);
    runs_fini(&r);
}

/* The child is another process of the same rank: its upload is in the way of nobody. */
CASE(runs, a_new_process_supersedes_an_unsealed_upload, .timeout = 60)
{
    struct runs r;
    struct cairn *c;
    int begun[2];
    int status = 0;
    char byte = 0;
    runs_init(&r);
    daemon_start(&r.d, NULL);
    cr_assert_eq(pipe2(begun, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        struct peer_client p;
        struct frame f = { 0 };
        union wire_msg msg;
        peer_connect(&p, r.d.socket);
        peer_hello(&p);
        peer_begin(&p, "shared", 1);
        bool told = write(begun[1], "b", 1) == 1 && peer_recv(&p, WAIT_MS, &f, &msg) &&
                    f.type == WIRE_ERROR && msg.error.code == CAIRN_ESUPERSEDED;
        _exit(told ? 0 : 1);
    }
    (void)close(begun[1]); /* so that the read ends if the child does */
    cr_assert_eq(read(begun[0], &byte, 1), 1);
    uint64_t start_ns = now_ns();
    c = runs_open(&r, "shared");
    sample_fill(&r.sample, 6);
    cr_assert_eq(sample_save(&r.sample, c, NULL), 0, "%s", cairn_error(c));
    cr_assert_lt(
        now_ns() - start_ns, 10000000000u, "the save waited for the upload that it replaces");
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0, "the replaced process was not told");
    (void)cairn_close(c);
    (void)close(begun[0]);
    runs_fini(&r);
}

#ifdef CAIRN_FAILPOINTS
/* Two handles of one process; the first stands before its SEAL. The second is sealed, and waits. */
CASE(runs, boundaries_commit_in_the_order_in_which_they_were_begun, .timeout = 60)
{
    struct runs r;
    struct hold h;
    struct saver first;
    struct saver second;
    char armed[400];
    runs_init(&r);
    daemon_start(&r.d, NULL);
    hold_init(&h, r.d.socket_dir, "hold");
    (void)snprintf(armed, sizeof armed, "seal:hold=%s:1", h.path);
    cr_assert_eq(setenv("CAIRN_FAILPOINT", armed, 1), 0);
    saver_start(&first, r.d.socket, "shared", 1, NULL);
    cr_assert(hold_wait(&h, WAIT_MS));
    saver_start(&second, r.d.socket, "shared", 2, NULL);
    struct cairn *c = runs_open(&r, "shared");
    struct cairn_boundary b;
    size_t count = 0;
    cr_assert_eq(cairn_set_timeout(c, 1500), 0);
    /* Either nothing is committed yet, or the question waits behind what is sealed. */
    int rc = cairn_find(c, "latest", 1, &b, &count);
    cr_assert(rc == -CAIRN_ENOENT || rc == -CAIRN_ETIMEDOUT, "find: %d %s", rc, cairn_error(c));
    hold_release(&h);
    saver_end(&first, 0);
    saver_end(&second, 0);
    cr_assert_eq(first.saved.seq, 1);
    cr_assert_eq(second.saved.seq, 2);
    cr_assert_eq(second.saved.parent_seq, 1);
    (void)cairn_close(c);
    hold_fini(&h);
    runs_fini(&r);
}

/* TERM: the commit in flight ends and is acknowledged, an open upload is told, exit code 0. */
CASE(runs, an_orderly_stop_ends_the_commit_in_flight, .timeout = 60)
{
    struct runs r;
    struct hold h;
    struct saver s;
    struct peer_client p;
    struct frame f = { 0 };
    union wire_msg msg;
    char armed[400];
    runs_init(&r);
    hold_init(&h, r.d.socket_dir, "hold");
    (void)snprintf(armed, sizeof armed, "CAIRN_FAILPOINT=commit:hold=%s:1", h.path);
    daemon_start(&r.d, (const char *const[]){ armed, NULL });
    saver_start(&s, r.d.socket, "shared", 1, NULL);
    cr_assert(hold_wait(&h, WAIT_MS));
    peer_connect(&p, r.d.socket);
    peer_hello(&p);
    peer_begin(&p, "other", 1);
    proc_signal(&r.d.proc, SIGTERM);
    cr_assert(peer_recv(&p, WAIT_MS, &f, &msg));
    cr_assert_eq(f.type, WIRE_ERROR);
    cr_assert_eq(msg.error.code,
                 CAIRN_ECANCELED,
                 "%.*s",
                 (int)msg.error.text.bytes,
                 (const char *)msg.error.text.data);
    cr_assert_not(proc_wait(&r.d.proc, 0), "it stopped before its commit had ended");
    hold_release(&h);
    saver_end(&s, 0);
    cr_assert_eq(s.saved.seq, 1);
    cr_assert(proc_wait(&r.d.proc, 10000), "it did not stop within 10 s");
    cr_assert_eq(proc_exit(&r.d.proc), 0);
    peer_close(&p);
    hold_fini(&h);
    daemon_start(&r.d, NULL);
    struct cairn *c = runs_open(&r, "shared");
    cr_assert_eq(sample_load(&r.sample, c, "latest"), 0, "%s", cairn_error(c));
    cr_assert(sample_is(&r.sample, 1));
    (void)cairn_close(c);
    runs_fini(&r);
}
#endif
