/* sm.h: a state machine as a table. Which state may follow which is data, every move is traced at
 * debug level, and a move that the table does not allow ends the process: it is a bug here, never a
 * peer's doing. */
#ifndef BASE_SM_H
#define BASE_SM_H

#include <stdint.h>

#define SM_BIT(state) (1u << (state))

struct sm_type {
    const char *name;         /* "conn" */
    const char *const *names; /* of each state */
    const uint32_t *next;     /* mask of the states that may follow each */
    unsigned count;
};

struct sm {
    const struct sm_type *type;
    unsigned state;
    uint64_t id; /* whose, for the trace */
};

void sm_init(struct sm *sm, const struct sm_type *type, unsigned state, uint64_t id);
void sm_move(struct sm *sm, unsigned to);
const char *sm_name(const struct sm *sm); /* of the state it is in */

#endif
