/* The digits are trained by a process that is killed, and go on from the memory that it leaves, to
 * the same end, bit for bit, as a training that nobody has disturbed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cairn/admin.h"

#include "support/case.h"
#include "support/daemon.h"
#include "support/hold.h"

enum {
    KILL_MS = 120000,
    LINE_BYTES = 128,
    PARTS = 7, /* of a weighted record with dtypes: as many failpoints has its capture */
    SAVES = 3, /* that are committed */
};

static struct daemon d;

/* A megabyte of state; `socket` NULL: without cairn. */
static void digits_start(struct proc *ret, const char *socket, const char *failpoint)
{
    const char *env[] = { failpoint, NULL };
    const char *argv[] = { program_digits(),
                           "--data",
                           CAIRN_TEST_DATA,
                           "--width",
                           "180",
                           "--updates",
                           "24",
                           "--microbatches-per-update",
                           "3",
                           "--save-every",
                           "5",
                           socket == NULL ? "--no-save" : "--socket",
                           socket,
                           NULL };
    proc_start(ret,
               &(struct proc_spec){ .argv = argv,
                                    .env = failpoint == NULL ? NULL : env,
                                    .log_path = d.log,
                                    .pipe_out = true });
}

static void digits_killed(struct proc *p)
{
    cr_assert(proc_wait(p, KILL_MS));
    cr_assert_eq(proc_exit(p), 128 + SIGKILL);
    (void)close(p->out_fd);
}

static void digits_digest(struct proc *p, char ret[static LINE_BYTES])
{
    cr_assert(proc_last_line(p, KILL_MS, ret, LINE_BYTES));
    cr_assert(proc_wait(p, KILL_MS));
    cr_assert_eq(strncmp(ret, "digest ", 7), 0, "%s", ret);
    (void)close(p->out_fd);
}

/* The daemon learns of a death in its own time. */
static void wait_stay(void)
{
    struct cairn *c = NULL;
    struct cairn_status status;
    uint64_t give_up_ns = now_ns() + (uint64_t)KILL_MS * 1000000;
    cr_assert_eq(cairn_admin_open(d.socket, &c), 0);
    do {
        cr_assert_lt(now_ns(), give_up_ns);
        cr_assert_eq(cairn_status(c, &status), 0, "%s", cairn_error(c));
    } while (status.resident_count != 1 || status.arena_count > 0);
    (void)cairn_close(c);
}

/* Its successor resumes behind the last save, in the midst of a window, and both end the same. */
static void goes_on_to_the_same_end(void)
{
    struct proc undisturbed;
    struct proc p;
    char line[LINE_BYTES] = "";
    char expected[LINE_BYTES] = "";
    wait_stay();
    digits_start(&undisturbed, NULL, NULL);
    digits_digest(&undisturbed, expected);
    digits_start(&p, d.socket, NULL);
    cr_assert(proc_line(&p, KILL_MS, line, sizeof line));
    cr_assert_str_eq(line, "resumed after microbatch 15");
    digits_digest(&p, line);
    cr_assert_str_eq(line, expected, "it ended in another state");
    cr_assert_eq(tmp_lines_with(d.log, (const char *const[]){ "load from memory", NULL }), 1);
}

/* Between two captures: no byte is read from the disk, or the daemon kills itself. */
CASE(kill_digits, R02_goes_on_from_memory, .timeout = 240)
{
    struct proc p;
    struct hold hold;
    char failpoint[512];
    daemon_begin(
        &d, "kill_digits", NULL, (const char *const[]){ "CAIRN_FAILPOINT=load_read:kill:1", NULL });
    hold_init(&hold, d.socket_dir, "hold");
    (void)snprintf(failpoint,
                   sizeof failpoint,
                   "CAIRN_FAILPOINT=capture:hold=%s:%d",
                   hold.path,
                   SAVES * PARTS + 1);
    digits_start(&p, d.socket, failpoint);
    cr_assert(hold_wait(&hold, KILL_MS));
    proc_kill(&p);
    digits_killed(&p);
    goes_on_to_the_same_end();
    hold_fini(&hold);
    daemon_end(&d);
}

/* In the midst of the next capture, into the same memory. */
CASE(kill_digits, R02_goes_on_though_its_memory_was_overwritten, .timeout = 240)
{
    struct proc p;
    char failpoint[64];
    daemon_begin(&d, "kill_digits", NULL, NULL);
    (void)snprintf(
        failpoint, sizeof failpoint, "CAIRN_FAILPOINT=capture:kill:%d", SAVES * PARTS + 4);
    digits_start(&p, d.socket, failpoint);
    digits_killed(&p);
    goes_on_to_the_same_end();
    daemon_end(&d);
}
