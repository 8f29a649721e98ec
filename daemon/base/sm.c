#include "base/sm.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"

void sm_init(struct sm *sm, const struct sm_type *type, unsigned state, uint64_t id)
{
    *sm = (struct sm){ .type = type, .state = state, .id = id };
}

const char *sm_name(const struct sm *sm)
{
    return sm->type->names[sm->state];
}

void sm_move(struct sm *sm, unsigned to)
{
    const struct sm_type *type = sm->type;
    if (to >= type->count || (type->next[sm->state] & SM_BIT(to)) == 0) {
        /* Not assert(): a release may be built without it. */
        log_error("illegal move",
                  "machine=%s id=%" PRIu64 " from=%s to=%s",
                  type->name,
                  sm->id,
                  sm_name(sm),
                  to < type->count ? type->names[to] : "?");
        abort();
    }
    log_debug("move",
              "machine=%s id=%" PRIu64 " from=%s to=%s",
              type->name,
              sm->id,
              sm_name(sm),
              type->names[to]);
    sm->state = to;
}
