/* kill_stage.h: a digits trainer and its cairnd, to be killed and brought up again.
 *
 * A stage plays one run after another: each has a data directory of its own, ends with the
 * trainer's digest of its whole state, and must end like the run that nobody disturbed. Every
 * failpoint that the matrix needs is there as a hold that lets everybody pass until it is armed. */
#ifndef SYSTEM_KILL_STAGE_H
#define SYSTEM_KILL_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/daemon.h"
#include "support/hold.h"
#include "support/trace.h"

enum kill_side { KILL_TRAINER, KILL_DAEMON, KILL_SIDES };

/* Failpoints, in the order of a run's life. */
enum kill_point {
    POINT_LOAD,
    POINT_RESTORE,
    POINT_CAPTURE,
    POINT_UPLOAD,
    POINT_SEGMENT_WRITE,
    POINT_SEGMENT_SYNC,
    POINT_COMMIT,
    POINT_COMMITTED,
    POINT_ACKNOWLEDGE,
    POINT_NR
};

const char *point_name(enum kill_point point);
enum kill_side point_side(enum kill_point point); /* whose code passes it */

struct stage_options {
    unsigned width, updates, microbatches, rows, save_every;
    bool spoil_digest; /* negative controls: must end in a failed check */
    bool spoil_segment;
};

/* Raise SIGKILL at the nth passage; side KILL_SIDES: nobody. */
struct stage_failpoint {
    enum kill_point point;
    unsigned nth; /* 0: none */
};

enum stage_event { STAGE_LINE, STAGE_TRAINER_ENDED, STAGE_DAEMON_ENDED, STAGE_HELD, STAGE_QUIET };

struct stage {
    struct stage_options options;
    char dir[TMP_PATH_BYTES], run_dir[TMP_PATH_BYTES + 16], events[TMP_PATH_BYTES + 32];
    char trainer_log[TMP_PATH_BYTES + 32];
    struct daemon daemon;
    struct proc trainer;
    struct trace trace;
    struct hold holds[POINT_NR];
    bool daemon_armed, trainer_armed; /* a failpoint that kills waits in it */
    char digest[256];                 /* the last line of the undisturbed trainer */
    char last[KILL_SIDES][32];        /* name of the last line of each */
    uint64_t last_ns[KILL_SIDES];
    uint64_t capture_ns, upload_ns; /* how long the last ones took */
    unsigned commits;               /* of this run */
    unsigned runs_ended, fscks;
};

/* Train without cairn for the digest; prepare the first run. */
void stage_init(struct stage *s, const struct stage_options *options);
void stage_fini(struct stage *s);

void stage_start_daemon(struct stage *s, struct stage_failpoint kill);
void stage_start_trainer(struct stage *s, struct stage_failpoint kill);
static inline bool stage_runs(const struct proc *p)
{
    return p->pid != 0;
}

/* What happens next, within the time. A line is also noted in `last`; hold: which to watch, or
 * NULL. The ends are told again and again until stage_reap. */
enum stage_event
stage_next(struct stage *s, uint64_t timeout_ns, const struct hold *hold, struct trace_line *ret);
/* SIGKILL and reap; whatever it wrote before is noted. */
void stage_kill(struct stage *s, enum kill_side side);
void stage_note_lines(struct stage *s);

/* The daemon is dead (killed, or stopped in good order): the store is whole. */
void stage_check_store(struct stage *s, bool killed);
/* The trainer ended by itself: it must have ended well and with the digest of the undisturbed one.
 * Stops the daemon, checks the store, and prepares the next run. */
void stage_end_run(struct stage *s);

#endif
