/* The daemon as an operator meets it: start, HELLO, second daemons, stale sockets, handed-over
 * sockets, stopping. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/case.h"
#include "support/daemon.h"
#include "support/hold.h"
#include "support/peer.h"
#include "support/sample.h"

static char dir[TMP_PATH_BYTES];
static struct daemon d;

static void begin(void)
{
    tmp_make("cairnd", dir);
    daemon_init(&d, dir);
}

static void end(void)
{
    daemon_fini(&d);
    tmp_remove(dir);
}

/* What the log at path has in it; the log is short. */
static bool log_has(const char *path, const char *text)
{
    static char log[65536];
    FILE *file = fopen(path, "re");
    size_t bytes = file == NULL ? 0 : fread(log, 1, sizeof log - 1, file);
    if (file != NULL) {
        (void)fclose(file);
    }
    log[bytes] = '\0';
    return strstr(log, text) != NULL;
}

/* Run cairnd with these; its exit code. What it says is appended to the log. */
static int run(const char *log, const char *const *options)
{
    const char *argv[8] = { program_cairnd() };
    struct proc p;
    for (size_t i = 0; options[i] != NULL; i++) {
        argv[i + 1] = options[i];
    }
    proc_start(&p, &(struct proc_spec){ .argv = argv, .log_path = log });
    cr_assert(proc_wait(&p, 20000));
    return proc_exit(&p);
}
#define RUN(log, ...) run(log, (const char *const[]){ __VA_ARGS__, NULL })

CASE(cairnd, says_hello)
{
    struct peer_client p;
    struct frame f;
    union wire_msg msg = {
        .hello = { .version_min = 1, .version_max = 7, .client = slice_str("by hand") }
    };
    struct stat st;
    begin();
    daemon_start(&d, NULL);
    cr_assert_eq(stat(d.socket, &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0660);
    cr_assert_eq(stat(d.data, &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0700);
    peer_connect(&p, d.socket);
    cr_assert(peer_send(&p, WIRE_HELLO, 42, &msg, slice_of(NULL, 0)));
    cr_assert(peer_recv(&p, 10000, &f, &msg));
    cr_assert_eq(f.type, WIRE_WELCOME);
    cr_assert_eq(f.request, 42);
    cr_assert_eq(msg.welcome.version, 1);
    cr_assert_gt(msg.welcome.chunk_bytes, 0);
    peer_close(&p);
    cr_assert_eq(daemon_stop(&d), 0);
    end();
}

CASE(cairnd, E30_without_a_common_version_both_are_named)
{
    struct peer_client p;
    struct frame f;
    union wire_msg msg = { .hello = {
                               .version_min = 8, .version_max = 9, .client = slice_str("new") } };
    begin();
    daemon_start(&d, NULL);
    peer_connect(&p, d.socket);
    cr_assert(peer_send(&p, WIRE_HELLO, 1, &msg, slice_of(NULL, 0)));
    cr_assert(peer_recv(&p, 10000, &f, &msg));
    cr_assert_eq(f.type, WIRE_ERROR);
    cr_assert_eq(msg.error.code, CAIRN_EVERSION);
    cr_assert(msg.error.closing);
    cr_assert_not_null(memmem(msg.error.text.data, msg.error.text.bytes, "8..9", 4));
    cr_assert(peer_closed(&p, 10000));
    peer_close(&p);
    cr_assert_eq(daemon_stop(&d), 0);
    end();
}

CASE(cairnd, a_second_one_is_refused_by_name)
{
    char other_data[TMP_PATH_BYTES + 16];
    char other_socket[TMP_PATH_BYTES + 16];
    char log[TMP_PATH_BYTES + 16];
    char pid[32];
    struct peer_client p;
    begin();
    daemon_start(&d, NULL);
    (void)snprintf(other_data, sizeof other_data, "%s/other", dir);
    (void)snprintf(other_socket, sizeof other_socket, "%s/o", d.socket_dir);
    (void)snprintf(log, sizeof log, "%s/second.log", dir);
    (void)snprintf(pid, sizeof pid, "%d", (int)d.proc.pid);
    cr_assert_eq(RUN(log, "--data", other_data, "--socket", d.socket), 1);
    cr_assert(log_has(log, d.socket), "the path");
    cr_assert(log_has(log, pid), "and its owner");
    cr_assert_eq(unlink(log), 0);
    cr_assert_eq(RUN(log, "--data", d.data, "--socket", other_socket), 1);
    cr_assert(log_has(log, d.data));
    cr_assert(log_has(log, pid));
    peer_connect(&p, d.socket); /* the first one is unharmed */
    peer_hello(&p);
    peer_close(&p);
    cr_assert_eq(daemon_stop(&d), 0);
    end();
}

CASE(cairnd, after_sigkill_the_stale_socket_is_no_obstacle)
{
    struct peer_client p;
    struct stat st;
    begin();
    daemon_start(&d, NULL);
    daemon_kill(&d);
    cr_assert_eq(stat(d.socket, &st), 0, "it is still there");
    daemon_start(&d, NULL);
    peer_connect(&p, d.socket);
    peer_hello(&p);
    peer_close(&p);
    cr_assert_eq(daemon_stop(&d), 0);
    cr_assert_neq(stat(d.socket, &st), 0, "an orderly end takes it away");
    end();
}

CASE(cairnd, stopping_tells_the_connected)
{
    struct peer_client p;
    struct frame f;
    union wire_msg msg;
    begin();
    daemon_start(&d, NULL);
    peer_connect(&p, d.socket);
    peer_hello(&p);
    proc_signal(&d.proc, SIGTERM);
    cr_assert(peer_recv(&p, 10000, &f, &msg));
    cr_assert_eq(f.type, WIRE_ERROR);
    cr_assert_eq(msg.error.code, CAIRN_ECANCELED);
    cr_assert(msg.error.closing);
    cr_assert(peer_closed(&p, 10000));
    cr_assert(proc_wait(&d.proc, 10000));
    cr_assert_eq(proc_exit(&d.proc), 0);
    peer_close(&p);
    end();
}

/* A peer that reads nothing, and a second signal, change nothing about that. */
CASE(cairnd, stopping_does_not_wait_for_who_does_not_read)
{
    struct peer_client p;
    const union wire_msg none = { .data = { 0 } };
    begin();
    daemon_start(&d, NULL);
    peer_connect(&p, d.socket);
    peer_hello(&p);
    for (uint32_t i = 0; i < 2000; i++) {
        cr_assert(peer_send(&p, WIRE_STATUS, i, &none, slice_of(NULL, 0)));
    }
    uint64_t before = now_ns();
    proc_signal(&d.proc, SIGINT);
    proc_signal(&d.proc, SIGTERM);
    cr_assert(proc_wait(&d.proc, 15000));
    cr_assert_eq(proc_exit(&d.proc), 0);
    cr_assert_lt(now_ns() - before, UINT64_C(10000000000));
    cr_assert(log_has(d.log, "stopped"));
    peer_close(&p);
    end();
}

#ifdef CAIRN_FAILPOINTS
/* Saves to run "stuck" until it is killed. */
static void save_for_ever(void)
{
    struct sample s;
    struct cairn *c = NULL;
    sample_init(&s,
                (struct sample_tensors){ .count = 1, .tensor_bytes = 4096 },
                (struct sample_tensors){ .count = 0 });
    sample_fill(&s, 77);
    int rc = cairn_open(d.socket, "stuck", &c);
    rc = rc < 0 ? rc : sample_save(&s, c, NULL);
    _exit(rc == 0 ? 0 : 1);
}

/* A disk that does not come back: the stop ends all the same, and says whom it left behind. */
CASE(cairnd, stopping_gives_up_after_10_s_and_names_the_run, .timeout = 90)
{
    struct hold h;
    char armed[400];
    begin();
    hold_init(&h, d.socket_dir, "hold");
    (void)snprintf(armed, sizeof armed, "CAIRN_FAILPOINT=commit:hold=%s:1", h.path);
    daemon_start(&d, (const char *const[]){ armed, NULL });
    pid_t saver = fork();
    if (saver == 0) {
        save_for_ever();
    }
    cr_assert(hold_wait(&h, 20000));
    uint64_t before = now_ns();
    proc_signal(&d.proc, SIGTERM);
    bool ended = proc_wait(&d.proc, 15000);
    uint64_t ms = (now_ns() - before) / 1000000;
    (void)kill(saver, SIGKILL);
    cr_assert_eq(waitpid(saver, NULL, 0), saver);
    cr_assert(ended, "it waits for ever");
    cr_assert(ms >= 9900 && ms < 12000, "it ended after %llu ms", (unsigned long long)ms);
    cr_assert_eq(proc_exit(&d.proc), 1);
    cr_assert(log_has(d.log, "stopping takes too long"));
    cr_assert(log_has(d.log, "/stuck what=\"is in use\""), "the run");
    cr_assert(log_has(d.log, "/stuck step=77"), "and its save");
    cr_assert(log_has(d.log, "what=\"commits\""));
    hold_fini(&h);
    daemon_start(&d, NULL); /* nothing is damaged, nothing is in the way */
    cr_assert_eq(daemon_stop(&d), 0);
    cr_assert_eq(daemon_fsck(&d, true), 0);
    end();
}
#endif

CASE(cairnd, sighup_is_answered_and_survived)
{
    struct peer_client p;
    begin();
    daemon_start(&d, NULL);
    proc_signal(&d.proc, SIGHUP);
    peer_connect(&p, d.socket);
    peer_hello(&p);
    peer_close(&p);
    cr_assert_eq(daemon_stop(&d), 0);
    cr_assert(log_has(d.log, "SIGHUP"));
    end();
}

/* ---- the command line ---- */

CASE(cairnd, what_it_does_not_understand_it_refuses_by_name)
{
    char log[TMP_PATH_BYTES + 16];
    tmp_make("cairnd", dir);
    (void)snprintf(log, sizeof log, "%s/log", dir);
    cr_assert_eq(RUN(log, "--bogus=1"), 64);
    cr_assert(log_has(log, "--bogus"));
    cr_assert_eq(RUN(log, "--pool-bytes=1GB"), 64);
    cr_assert(log_has(log, "--pool-bytes: '1GB' is not a size"));
    cr_assert_eq(RUN(log, "--idle=1ms"), 64);
    cr_assert(log_has(log, "--idle: 1ms is out of range, 100ms to 1h is possible"));
    cr_assert_eq(RUN(log, "--version"), 0);
    cr_assert(log_has(log, "cairnd 0."));
    cr_assert_eq(RUN(log, "--print-config"), 0);
    cr_assert(log_has(log, "\npool-bytes=128MiB\n"));
    tmp_remove(dir);
}

CASE(cairnd, fsck_of_what_is_not_there)
{
    char log[TMP_PATH_BYTES + 16];
    tmp_make("cairnd", dir);
    (void)snprintf(log, sizeof log, "%s/log", dir);
    cr_assert_eq(RUN(log, "--fsck", "/nowhere/at/all"), 2);
    cr_assert(log_has(log, "/nowhere/at/all"));
    tmp_remove(dir);
}

/* ---- handed over ---- */

CASE(cairnd, a_socket_that_is_handed_over)
{
    struct peer_client p;
    struct stat st;
    begin();
    const char *argv[] = { "/usr/bin/systemd-socket-activate",
                           "-l",
                           d.socket,
                           program_cairnd(),
                           "--data",
                           d.data,
                           "--socket",
                           "/nowhere/at/all/s",
                           NULL };
    if (access(argv[0], X_OK) != 0) {
        cr_assert_fail("systemd-socket-activate is missing: install systemd");
    }
    proc_start(&d.proc, &(struct proc_spec){ .argv = argv, .log_path = d.log });
    uint64_t deadline = now_ns() + UINT64_C(10000000000);
    while (!log_has(d.log, "Listening on") && now_ns() < deadline) {
        (void)proc_wait(&d.proc, 20);
    }
    peer_connect(&p, d.socket); /* starts it */
    peer_hello(&p);
    peer_close(&p);
    cr_assert(log_has(d.log, "handed_over=yes"));
    cr_assert_eq(daemon_stop(&d), 0);
    cr_assert_eq(stat(d.socket, &st), 0, "its file is not ours to remove");
    end();
}
