#include "kill_acts.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "support/case.h"

static const uint64_t act_ms_ns = 1000000;
static const uint64_t act_deadline_ns = UINT64_C(120) * 1000000000;

static const struct phase {
    const char *name;
    enum kill_point points[2]; /* of one owner; the same twice where there is but one */
    bool is_long;
    /* A random moment is some time after some passage of the trigger, once the trainer has said
     * the gate: an earlier trainer's leavings do not count. */
    const char *gate, *trigger;
} phases[PHASE_NR] = {
    [PHASE_CAPTURE] = { "capture", { POINT_CAPTURE, POINT_CAPTURE }, true, NULL, "capture" },
    [PHASE_UPLOAD] = { "upload", { POINT_UPLOAD, POINT_UPLOAD }, true, NULL, "upload" },
    [PHASE_SEGMENT_WRITE] = { "segment write",
                              { POINT_SEGMENT_WRITE, POINT_SEGMENT_WRITE },
                              true,
                              "upload",
                              "segment_write" },
    [PHASE_SYNC] = { "sync", { POINT_SEGMENT_SYNC, POINT_SEGMENT_SYNC }, false, NULL, NULL },
    [PHASE_COMMIT] = { "commit", { POINT_COMMIT, POINT_COMMIT }, false, NULL, NULL },
    [PHASE_ACKNOWLEDGE] = { "acknowledge",
                            { POINT_COMMITTED, POINT_ACKNOWLEDGE },
                            false,
                            NULL,
                            NULL },
    [PHASE_LOAD] = { "load", { POINT_LOAD, POINT_LOAD }, false, NULL, NULL },
    /* The trainer says restore once; meanwhile the daemon says load_read for every chunk. */
    [PHASE_RESTORE] = { "restore", { POINT_RESTORE, POINT_RESTORE }, true, "restore", "load_read" },
};

/* splitmix64 */
uint64_t act_random(struct matrix *m, uint64_t limit)
{
    uint64_t x = (m->random += UINT64_C(0x9E3779B97F4A7C15));
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return limit == 0 ? 0 : (x ^ (x >> 31)) % limit;
}

bool act_needs_boundary(const struct act *a)
{
    return a->phase == PHASE_LOAD || a->phase == PHASE_RESTORE;
}

const char *phase_name(enum kill_phase phase)
{
    return phases[phase].name;
}

bool phase_is_long(enum kill_phase phase)
{
    return phases[phase].is_long;
}

static enum kill_side phase_side(enum kill_phase phase)
{
    return point_side(phases[phase].points[0]);
}

static bool act_own(const struct act *a)
{
    return phase_side(a->phase) == a->victim;
}

bool act_needs_start(const struct act *a, enum kill_side side)
{
    bool kills_itself = a->way == WAY_FAILPOINT && act_own(a) && a->victim == side;
    return kills_itself || (side == KILL_TRAINER && act_needs_boundary(a));
}

/* ---- getting there --------------------------------------------------------------------------- */

/* The failpoint that kills its owner, when that is the act. */
static struct stage_failpoint
act_failpoint(struct matrix *m, const struct act *a, enum kill_point point)
{
    struct stage_failpoint kill = { .point = point };
    if (a->way == WAY_FAILPOINT && act_own(a)) {
        /* Passed for every component, for every chunk, or once. */
        unsigned passages = point == POINT_CAPTURE ? 5 : 1;
        passages = point == POINT_SEGMENT_WRITE ? m->quota.chunks_least : passages;
        kill.nth = 1 + (unsigned)act_random(m, passages);
    }
    return kill;
}

/* What must be started anew goes down first. */
static void act_make_room(struct matrix *m, const struct act *a)
{
    struct stage *s = &m->stage;
    if (act_needs_start(a, KILL_TRAINER) && stage_runs(&s->trainer)) {
        stage_kill(s, KILL_TRAINER);
        m->others++;
    }
    if (act_needs_start(a, KILL_DAEMON) && stage_runs(&s->daemon.proc)) {
        cr_assert_eq(daemon_stop(&s->daemon), 0);
        stage_note_lines(s);
    }
}

/* Bring up what is down, armed for the act. */
static void act_prepare(struct matrix *m, const struct act *a, enum kill_point point)
{
    struct stage *s = &m->stage;
    const struct stage_failpoint none = { .nth = 0 };
    struct stage_failpoint kill = act_failpoint(m, a, point);
    act_make_room(m, a);
    if (!stage_runs(&s->daemon.proc)) {
        stage_start_daemon(s, a->victim == KILL_DAEMON ? kill : none);
    }
    if (a->way == WAY_FAILPOINT && !act_own(a) && point_side(point) == KILL_TRAINER) {
        hold_arm(&s->holds[point]);
    }
    if (!stage_runs(&s->trainer)) {
        stage_start_trainer(s, a->victim == KILL_TRAINER ? kill : none);
    }
}

static const struct proc *act_victim(const struct matrix *m, const struct act *a)
{
    return a->victim == KILL_TRAINER ? &m->stage.trainer : &m->stage.daemon.proc;
}

/* A side ended that nobody killed. True: the trainer is through with its run. */
static bool act_ended(struct matrix *m, enum stage_event event, const struct act *a)
{
    if (event == STAGE_DAEMON_ENDED) {
        daemon_show_log(&m->stage.daemon);
        cr_assert_fail("cairnd ended by itself, %s was to be killed in %s",
                       a->victim == KILL_DAEMON ? "it" : "the trainer",
                       phases[a->phase].name);
    }
    return event == STAGE_TRAINER_ENDED;
}

/* Is it a SIGKILL that a process, not yet reaped, died of? */
static bool act_was_killed(const struct proc *p)
{
    siginfo_t info = { 0 };
    return waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
           info.si_code == CLD_KILLED && info.si_status == SIGKILL;
}

/* Stop the victim where it stands, for the kill to come. False: it has just ended by itself. */
static bool act_freeze(const struct proc *p)
{
    siginfo_t info = { 0 };
    proc_signal(p, SIGSTOP);
    cr_assert_eq(waitid(P_PID, (id_t)p->pid, &info, WSTOPPED | WEXITED | WNOWAIT), 0);
    return info.si_code == CLD_STOPPED;
}

/* Wait until the victim has died of its own failpoint; false: the run ended before. */
static bool act_reach_own(struct matrix *m, const struct act *a)
{
    struct trace_line line;
    enum stage_event death = a->victim == KILL_TRAINER ? STAGE_TRAINER_ENDED : STAGE_DAEMON_ENDED;
    for (;;) {
        enum stage_event event = stage_next(&m->stage, act_deadline_ns, NULL, &line);
        cr_assert_neq(event, STAGE_QUIET, "nothing happens");
        if (event == death && act_was_killed(act_victim(m, a))) {
            return true;
        }
        if (event != STAGE_LINE && act_ended(m, event, a)) {
            return false;
        }
    }
}

/* Wait until the owner stands at the failpoint; a daemon's is armed once the trainer uploads, so
 * that it is not what an earlier trainer has left behind. */
static bool act_reach_hold(struct matrix *m, const struct act *a, enum kill_point point)
{
    struct hold *hold = &m->stage.holds[point];
    struct trace_line line;
    bool armed = point_side(point) == KILL_TRAINER;
    for (;;) {
        enum stage_event event = stage_next(&m->stage, act_deadline_ns, armed ? hold : NULL, &line);
        cr_assert_neq(event, STAGE_QUIET, "nothing happens");
        if (event == STAGE_HELD) {
            return true;
        }
        if (event == STAGE_LINE && !armed && strcmp(line.name, "upload") == 0) {
            hold_arm(hold);
            armed = true;
        } else if (event != STAGE_LINE && act_ended(m, event, a)) {
            return false;
        }
    }
}

/* How long after its line the moment of a random kill may be. */
static uint64_t act_span_ns(const struct matrix *m, const struct act *a)
{
    switch (a->phase) {
    case PHASE_CAPTURE:
        return m->stage.capture_ns;
    case PHASE_UPLOAD:
        return m->stage.upload_ns;
    case PHASE_SEGMENT_WRITE:
    case PHASE_SYNC:
    case PHASE_COMMIT:
    case PHASE_ACKNOWLEDGE:
    case PHASE_LOAD:
    case PHASE_RESTORE:
    case PHASE_NR:
        break;
    }
    return 2 * act_ms_ns;
}

/* Is this line the passage that is waited for? */
static bool act_passage(const struct act *a, const char *name, bool *open, uint64_t *passages)
{
    if (!*open) {
        *open = strcmp(name, phases[a->phase].gate) == 0;
        return false;
    }
    return strcmp(name, phases[a->phase].trigger) == 0 && --*passages == 0;
}

/* Wait for the k-th passage and then for the moment. */
static bool act_reach_random(struct matrix *m, const struct act *a)
{
    bool open = phases[a->phase].gate == NULL;
    uint64_t passages = 1 + (open ? 0 : act_random(m, m->quota.chunks_least));
    uint64_t span_ns = act_random(m, act_span_ns(m, a));
    uint64_t moment_ns = 0;
    struct trace_line line;
    for (;;) {
        uint64_t now = now_ns();
        if (moment_ns != 0 && now >= moment_ns) {
            return true;
        }
        uint64_t left_ns = moment_ns == 0 ? act_deadline_ns : moment_ns - now;
        enum stage_event event = stage_next(&m->stage, left_ns, NULL, &line);
        if (event == STAGE_QUIET) {
            cr_assert_neq(moment_ns, 0, "nothing happens");
        } else if (event != STAGE_LINE) {
            (void)act_ended(m, event, a);
            return false;
        } else if (moment_ns == 0 && act_passage(a, line.name, &open, &passages)) {
            moment_ns = line.ns + span_ns;
        }
    }
}

/* ---- one kill -------------------------------------------------------------------------------- */

static bool act_hit(const struct matrix *m, const struct act *a)
{
    const char *last = m->stage.last[phase_side(a->phase)];
    const enum kill_point *points = phases[a->phase].points;
    return strcmp(last, point_name(points[0])) == 0 || strcmp(last, point_name(points[1])) == 0;
}

static void act_judge(struct matrix *m, const struct act *a)
{
    const struct proc *victim = act_victim(m, a);
    cr_assert(WIFSIGNALED(victim->status) && WTERMSIG(victim->status) == SIGKILL,
              "the victim ended with status %#x",
              (unsigned)victim->status);
    bool hit = act_hit(m, a);
    m->missed += hit ? 0 : 1;
    m->kills[a->phase][a->victim][a->way] += hit ? 1 : 0;
    (void)printf("%-13s %-7s %-9s %s (trainer: %s, daemon: %s)\n",
                 phases[a->phase].name,
                 a->victim == KILL_TRAINER ? "trainer" : "daemon",
                 a->way == WAY_RANDOM ? "random" : "failpoint",
                 hit ? "hit" : "missed",
                 m->stage.last[KILL_TRAINER],
                 m->stage.last[KILL_DAEMON]);
}

static bool act_reach(struct matrix *m, const struct act *a, enum kill_point point)
{
    if (a->way == WAY_RANDOM) {
        return act_reach_random(m, a);
    }
    return act_own(a) ? act_reach_own(m, a) : act_reach_hold(m, a, point);
}

void act_play(struct matrix *m, const struct act *a)
{
    enum kill_point point = phases[a->phase].points[act_random(m, 2)];
    act_prepare(m, a, point);
    bool kills_itself = a->way == WAY_FAILPOINT && act_own(a);
    bool reached = act_reach(m, a, point) && (kills_itself || act_freeze(act_victim(m, a)));
    if (reached) {
        stage_kill(&m->stage, a->victim);
        act_judge(m, a);
    }
    if (a->way == WAY_FAILPOINT && !act_own(a)) {
        hold_release(&m->stage.holds[point]);
    }
    if (!reached) {
        stage_end_run(&m->stage);
    } else if (a->victim == KILL_DAEMON) {
        stage_check_store(&m->stage, true);
    }
}

void act_go_on(struct matrix *m, bool commit)
{
    const struct act undisturbed = { .way = WAY_RANDOM };
    struct trace_line line;
    act_prepare(m, &undisturbed, POINT_CAPTURE);
    while (!commit || m->stage.commits == 0) {
        enum stage_event event = stage_next(&m->stage, act_deadline_ns, NULL, &line);
        cr_assert_neq(event, STAGE_QUIET, "nothing happens");
        if (event != STAGE_LINE && act_ended(m, event, &undisturbed)) {
            stage_end_run(&m->stage);
            return;
        }
    }
}
