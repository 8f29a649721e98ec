/* A trainer is killed, and its successor finds its last record in memory: a daemon that reads one
 * chunk from the disk for it kills itself. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cairn/admin.h"

#include "arena_rig.h"
#include "support/case.h"

static struct daemon d;
static struct holdings at_start;

static void up(const char *failpoint)
{
    daemon_begin(&d, "kill_resident", NULL, (const char *const[]){ failpoint, NULL });
    at_start = holdings(&d);
}

/* It saves steps 1 and 2, does what the last word says, and is killed. */
static void killed(const char *word, const char *line)
{
    struct proc p;
    rig_start(
        &p, &d, NULL, (const char *const[]){ "warm", "save=1", "save=2", word, "wait", NULL });
    rig_says(&p, "warm");
    rig_says(&p, "saved 1 1");
    rig_says(&p, "saved 2 2");
    if (line != NULL) {
        rig_says(&p, line);
    }
    proc_kill(&p);
    rig_ended(&p, 128 + SIGKILL);
}

/* Until so many records stay: the daemon learns of a death in its own time. */
static void wait_stay(unsigned count)
{
    struct cairn *c = NULL;
    struct cairn_status status;
    uint64_t give_up_ns = now_ns() + (uint64_t)RIG_MS * 1000000;
    cr_assert_eq(cairn_admin_open(d.socket, &c), 0);
    do {
        cr_assert_lt(now_ns(), give_up_ns);
        cr_assert_eq(cairn_status(c, &status), 0, "%s", cairn_error(c));
    } while (status.resident_count != count || status.arena_count > 0);
    (void)cairn_close(c);
}

/* The successor goes on, bit for bit, and saves in its turn. */
static void goes_on(uint64_t step)
{
    struct proc p;
    char line[32];
    (void)snprintf(line, sizeof line, "loaded %u", (unsigned)step);
    rig_start(&p, &d, NULL, (const char *const[]){ "load", "warm", "save=3", NULL });
    rig_says(&p, "loading");
    rig_says(&p, line);
    rig_says(&p, "warm");
    rig_says(&p, "saved 3 ");
    rig_ended(&p, 0);
}

static unsigned loads_from_memory(void)
{
    return tmp_lines_with(d.log, (const char *const[]){ "load from memory", NULL });
}

static void nothing_is_left(void)
{
    struct cairn *c = NULL;
    cr_assert_eq(cairn_open(d.socket, "run", &c), 0);
    cr_assert_eq(cairn_run_drop(c), 0, "%s", cairn_error(c));
    (void)cairn_close(c);
    holdings_again(&d, &at_start);
    daemon_end(&d);
}

CASE(kill_resident, what_it_saved_last_is_read_from_memory, .timeout = 120)
{
    up("CAIRN_FAILPOINT=load_read:kill:1");
    killed("wait", NULL);
    wait_stay(1);
    goes_on(2);
    cr_assert_eq(loads_from_memory(), 1);
    wait_stay(1);
    nothing_is_left();
}

/* It had one arena, and was about to save from it again. */
CASE(kill_resident, what_it_captured_over_is_read_from_the_disk, .timeout = 120)
{
    up("CAIRN_FAILPOINT=load_read:kill:1000");
    killed("capture=7", "captured 7");
    wait_stay(1);
    goes_on(2);
    cr_assert_eq(loads_from_memory(), 1);
    nothing_is_left();
}

/* It was sealed: it is committed, and stays, though its trainer was gone by then. */
CASE(kill_resident, what_it_sealed_stays_too, .timeout = 120)
{
    up("CAIRN_FAILPOINT=load_read:kill:1");
    killed("seal=7", "sealed 7");
    wait_stay(1);
    goes_on(7);
    cr_assert_eq(loads_from_memory(), 1);
    nothing_is_left();
}
