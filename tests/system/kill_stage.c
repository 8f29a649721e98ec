#include "kill_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kill_check.h"
#include "support/case.h"

enum { STAGE_TRAIN_MS = 300000, STAGE_FAILPOINT_BYTES = 2048 };

static const struct {
    const char *name;
    enum kill_side side;
} stage_points[POINT_NR] = {
    [POINT_LOAD] = { "load", KILL_TRAINER },
    [POINT_RESTORE] = { "restore", KILL_TRAINER },
    [POINT_CAPTURE] = { "capture", KILL_TRAINER },
    [POINT_UPLOAD] = { "upload", KILL_TRAINER },
    [POINT_SEGMENT_WRITE] = { "segment_write", KILL_DAEMON },
    [POINT_SEGMENT_SYNC] = { "segment_sync", KILL_DAEMON },
    [POINT_COMMIT] = { "commit", KILL_DAEMON },
    [POINT_COMMITTED] = { "committed", KILL_DAEMON },
    [POINT_ACKNOWLEDGE] = { "acknowledge", KILL_DAEMON },
};

const char *point_name(enum kill_point point)
{
    return stage_points[point].name;
}

enum kill_side point_side(enum kill_point point)
{
    return stage_points[point].side;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* CAIRN_FAILPOINT: every point of a side holds, but the one that kills. */
static void stage_failpoints(const struct stage *s,
                             enum kill_side side,
                             struct stage_failpoint kill,
                             char ret[static STAGE_FAILPOINT_BYTES])
{
    size_t used = (size_t)snprintf(ret, STAGE_FAILPOINT_BYTES, "CAIRN_FAILPOINT=");
    const char *comma = "";
    for (enum kill_point p = 0; p < POINT_NR; p++) {
        if (point_side(p) != side) {
            continue;
        }
        bool kills = kill.nth != 0 && kill.point == p;
        size_t room = STAGE_FAILPOINT_BYTES - used;
        int more =
            kills ? snprintf(ret + used, room, "%s%s:kill:%u", comma, point_name(p), kill.nth)
                  : snprintf(
                        ret + used, room, "%s%s:hold=%s", comma, point_name(p), s->holds[p].path);
        cr_assert_lt((size_t)more, room);
        used += (size_t)more;
        comma = ",";
    }
}

void stage_start_daemon(struct stage *s, struct stage_failpoint kill)
{
    char failpoints[STAGE_FAILPOINT_BYTES];
    char trace[sizeof s->trace.path + 16];
    const char *env[] = { failpoints, trace, NULL };
    stage_failpoints(s, KILL_DAEMON, kill, failpoints);
    (void)snprintf(trace, sizeof trace, "CAIRN_TRACE=%s", s->trace.path);
    daemon_start(&s->daemon, env);
    s->daemon_armed = kill.nth != 0;
    s->last[KILL_DAEMON][0] = '\0';
}

enum { STAGE_NUMBERS = 5, STAGE_NUMBER_BYTES = 12, STAGE_ARGS = 20 };

/* The arguments that make the trainer's state and its length. */
static size_t stage_numbers(const struct stage_options *o,
                            char text[static STAGE_NUMBERS][STAGE_NUMBER_BYTES],
                            const char **argv)
{
    const char *names[STAGE_NUMBERS] = {
        "--width", "--updates", "--microbatches-per-update", "--rows", "--save-every"
    };
    const unsigned values[STAGE_NUMBERS] = {
        o->width, o->updates, o->microbatches, o->rows, o->save_every
    };
    for (size_t i = 0; i < STAGE_NUMBERS; i++) {
        (void)snprintf(text[i], STAGE_NUMBER_BYTES, "%u", values[i]);
        argv[2 * i] = names[i];
        argv[2 * i + 1] = text[i];
    }
    return (size_t)2 * STAGE_NUMBERS;
}

void stage_start_trainer(struct stage *s, struct stage_failpoint kill)
{
    char failpoints[STAGE_FAILPOINT_BYTES];
    char trace[sizeof s->trace.path + 16];
    char numbers[STAGE_NUMBERS][STAGE_NUMBER_BYTES];
    const char *env[] = { failpoints, trace, NULL };
    const char *argv[STAGE_ARGS + 8] = { program_digits(), "--data",         CAIRN_TEST_DATA,
                                         "--socket",       s->daemon.socket, "--events",
                                         s->events,        "--keep-going" };
    (void)stage_numbers(&s->options, numbers, argv + 8);
    stage_failpoints(s, KILL_TRAINER, kill, failpoints);
    (void)snprintf(trace, sizeof trace, "CAIRN_TRACE=%s", s->trace.path);
    const struct proc_spec spec = {
        .argv = argv, .env = env, .log_path = s->trainer_log, .pipe_out = true
    };
    proc_start(&s->trainer, &spec);
    s->trainer_armed = kill.nth != 0;
    s->last[KILL_TRAINER][0] = '\0';
}

void stage_kill(struct stage *s, enum kill_side side)
{
    proc_kill(side == KILL_TRAINER ? &s->trainer : &s->daemon.proc);
    stage_note_lines(s);
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void stage_note(struct stage *s, const struct trace_line *line)
{
    enum kill_side side = strcmp(line->program, "cairnd") == 0 ? KILL_DAEMON : KILL_TRAINER;
    const char *before = s->last[side];
    uint64_t took_ns = line->ns - s->last_ns[side];
    if (strcmp(before, "capture") == 0 && strcmp(line->name, "capture") != 0) {
        s->capture_ns = took_ns;
    }
    if (strcmp(before, "upload") == 0 && strcmp(line->name, "upload") != 0) {
        s->upload_ns = took_ns;
    }
    if (strcmp(line->name, "committed") == 0) {
        s->commits++;
    }
    /* A phase begins with the first of its lines. */
    if (strcmp(before, line->name) != 0) {
        s->last_ns[side] = line->ns;
    }
    (void)snprintf(s->last[side], sizeof s->last[side], "%s", line->name);
}

void stage_note_lines(struct stage *s)
{
    struct trace_line line;
    while (trace_next(&s->trace, 0, &line)) {
        stage_note(s, &line);
    }
}

enum stage_event
stage_next(struct stage *s, uint64_t timeout_ns, const struct hold *hold, struct trace_line *ret)
{
    if (trace_next(&s->trace, 0, ret)) {
        stage_note(s, ret);
        return STAGE_LINE;
    }
    /* A negative descriptor is not looked at. */
    struct pollfd fds[4] = {
        { .fd = s->trace.fd, .events = POLLIN },
        { .fd = stage_runs(&s->trainer) ? s->trainer.pidfd : -1, .events = POLLIN },
        { .fd = stage_runs(&s->daemon.proc) ? s->daemon.proc.pidfd : -1, .events = POLLIN },
        { .fd = hold == NULL ? -1 : hold->held_fd, .events = POLLIN },
    };
    struct timespec left = { .tv_sec = (time_t)(timeout_ns / 1000000000U),
                             .tv_nsec = (long)(timeout_ns % 1000000000U) };
    if (ppoll(fds, 4, &left, NULL) <= 0) {
        return STAGE_QUIET;
    }
    if (trace_next(&s->trace, 0, ret)) { /* written before the ends below */
        stage_note(s, ret);
        return STAGE_LINE;
    }
    if (fds[1].revents != 0) {
        return STAGE_TRAINER_ENDED;
    }
    if (fds[2].revents != 0) {
        return STAGE_DAEMON_ENDED;
    }
    return fds[3].revents != 0 ? STAGE_HELD : STAGE_QUIET;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void stage_begin_run(struct stage *s)
{
    (void)snprintf(s->run_dir, sizeof s->run_dir, "%s/%u", s->dir, s->runs_ended);
    cr_assert_eq(mkdir(s->run_dir, 0700), 0, "%s: %s", s->run_dir, strerror(errno));
    daemon_init(&s->daemon, s->run_dir);
    (void)snprintf(s->events, sizeof s->events, "%s/events", s->run_dir);
    (void)snprintf(s->trainer_log, sizeof s->trainer_log, "%s/digits.log", s->run_dir);
    s->commits = 0;
}

static void stage_remove_run(struct stage *s)
{
    daemon_fini(&s->daemon);
    tmp_remove(s->run_dir);
}

/* The digest of the trainer that nobody disturbs, for it trains without cairn. */
static void stage_reference(struct stage *s)
{
    char numbers[STAGE_NUMBERS][STAGE_NUMBER_BYTES];
    const char *argv[STAGE_ARGS + 4] = { program_digits(), "--data", CAIRN_TEST_DATA, "--no-save" };
    (void)stage_numbers(&s->options, numbers, argv + 4);
    const struct proc_spec spec = { .argv = argv, .log_path = s->trainer_log, .pipe_out = true };
    uint64_t start_ns = now_ns();
    proc_start(&s->trainer, &spec);
    cr_assert(proc_last_line(&s->trainer, STAGE_TRAIN_MS, s->digest, sizeof s->digest));
    cr_assert(proc_wait(&s->trainer, STAGE_TRAIN_MS));
    cr_assert_eq(proc_exit(&s->trainer), 0);
    (void)printf("undisturbed: %s (%.1f s)\n", s->digest, (double)(now_ns() - start_ns) * 1e-9);
    if (s->options.spoil_digest) {
        s->digest[strlen(s->digest) - 1] ^= 1;
    }
}

void stage_init(struct stage *s, const struct stage_options *options)
{
    memset(s, 0, sizeof *s);
    s->options = *options;
    s->capture_ns = s->upload_ns = 20000000;
    tmp_make("kill", s->dir);
    char fifos[TMP_PATH_BYTES + 8];
    (void)snprintf(fifos, sizeof fifos, "%s/f", s->dir);
    cr_assert_eq(mkdir(fifos, 0700), 0);
    trace_init(&s->trace, fifos);
    for (enum kill_point p = 0; p < POINT_NR; p++) {
        hold_init(&s->holds[p], fifos, point_name(p));
        hold_release(&s->holds[p]);
    }
    stage_begin_run(s);
    stage_reference(s);
}

void stage_fini(struct stage *s)
{
    proc_kill(&s->trainer);
    stage_remove_run(s);
    for (enum kill_point p = 0; p < POINT_NR; p++) {
        hold_fini(&s->holds[p]);
    }
    trace_fini(&s->trace);
    tmp_remove(s->dir);
}

void stage_check_store(struct stage *s, bool killed)
{
    if (s->options.spoil_segment && s->commits > 0) {
        check_spoil_segment(s->daemon.data);
    }
    int rc = daemon_fsck(&s->daemon, killed);
    s->fscks++;
    if (rc != 0) {
        daemon_show_log(&s->daemon);
    }
    cr_assert_eq(rc, 0, "cairnd --fsck found something in a store that was killed");
}

void stage_end_run(struct stage *s)
{
    char digest[sizeof s->digest];
    bool said = proc_last_line(&s->trainer, 1000, digest, sizeof digest);
    cr_assert(proc_wait(&s->trainer, 10000));
    stage_note_lines(s);
    if (!said || proc_exit(&s->trainer) != 0) {
        daemon_show_log(&s->daemon);
        check_show(s->trainer_log);
        cr_assert_fail("the trainer ended with %d", proc_exit(&s->trainer));
    }
    cr_assert_str_eq(digest, s->digest, "the killed run ended in another state");
    check_events(s->events);
    if (stage_runs(&s->daemon.proc)) {
        cr_assert_eq(daemon_stop(&s->daemon), 0);
    }
    stage_check_store(s, false);
    stage_remove_run(s);
    s->runs_ended++;
    stage_begin_run(s);
}
