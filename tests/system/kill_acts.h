/* kill_acts.h: one kill: which process dies in which phase, and how that is brought about.
 *
 * A phase is what its owner (trainer or daemon) says last in the trace. A kill counts for a phase
 * only when that was still so after the victim's death: a moment missed is a kill more, not a kill
 * counted. Long phases are hit at a random moment after a passage; phases too short for that by a
 * failpoint: it raises SIGKILL in its owner, or holds the owner while the other is killed. */
#ifndef SYSTEM_KILL_ACTS_H
#define SYSTEM_KILL_ACTS_H

#include "kill_stage.h"

enum kill_phase {
    PHASE_CAPTURE,
    PHASE_UPLOAD,
    PHASE_SEGMENT_WRITE,
    PHASE_SYNC,
    PHASE_COMMIT,
    PHASE_ACKNOWLEDGE,
    PHASE_LOAD,
    PHASE_RESTORE,
    PHASE_NR
};

enum kill_way { WAY_RANDOM, WAY_FAILPOINT, WAY_NR };

struct act {
    enum kill_phase phase;
    enum kill_side victim;
    enum kill_way way;
};

struct kill_quota {
    unsigned long_random, long_failpoint, short_failpoint; /* kills in each phase for each victim */
    unsigned chunks_least; /* of one boundary: a random passage is one of the first so many */
};

struct matrix {
    struct stage stage;
    struct kill_quota quota;
    uint64_t seed, random;
    unsigned kills[PHASE_NR][KILL_SIDES][WAY_NR], missed, others;
};

const char *phase_name(enum kill_phase phase);
bool phase_is_long(enum kill_phase phase);

/* A number below `limit`. */
uint64_t act_random(struct matrix *m, uint64_t limit);
/* Can it happen only when the run has a boundary? */
bool act_needs_boundary(const struct act *a);
/* Must this side be started for the act, because what it needs happens early or is armed in it? */
bool act_needs_start(const struct act *a, enum kill_side side);
/* Bring both up, kill, count, look at the store. When the run ends first, end it properly. */
void act_play(struct matrix *m, const struct act *a);
/* Let it go on, undisturbed; `commit`: until a boundary is there, else to its end. */
void act_go_on(struct matrix *m, bool commit);

#endif
