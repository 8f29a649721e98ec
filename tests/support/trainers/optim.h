/* optim.h: optimizers, with what training frameworks keep of each: tensors under their names for
 * every parameter, and a counter of its steps. What a parameter has never needed is not there. */
#ifndef TRAINERS_OPTIM_H
#define TRAINERS_OPTIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SLOT_ELEMENTS = 4, OPTIM_ROLES = 4 };

struct slot {
    bool there;
    float at[SLOT_ELEMENTS];
};

struct optim_step {
    float lr;
    uint64_t time; /* of this step, from 1 */
    size_t count;
    const float *g;
    float *w;
};

struct optim {
    const char *name;
    const char *roles[OPTIM_ROLES]; /* paths of the slots; NULL: no more */
    bool timed;                     /* the counter is recorded */
    /* One parameter; NULL: LBFGS, which takes all of them at once (lbfgs.h). */
    void (*step)(struct slot slots[static OPTIM_ROLES], const struct optim_step *s);
};
extern const struct optim optims[];               /* ends with a NULL name */
const struct optim *optim_find(const char *name); /* NULL: none */

#endif
