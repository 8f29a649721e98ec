/* arena_site.h: saves from an arena by hand (support/hand.h), to the run "run", and what is there
 * of them afterwards. */
#ifndef INTEGRATION_ARENA_SITE_H
#define INTEGRATION_ARENA_SITE_H

#include "support/daemon.h"
#include "support/hand.h"

/* Connected, with an arena that nothing but a save is missing to. */
void hand_mapped(struct hand *h, const struct daemon *d);
/* Mappings of arenas that the daemon has. */
unsigned arenas(const struct daemon *d);

/* That boundary loads, and its tensors have these bytes, HAND_BYTES each. */
void loads_as(const struct daemon *d,
              const char *selector,
              const uint8_t *const tensors[HAND_CHUNKS]);
/* Those that hand_fill makes of that seed. */
void loads(const struct daemon *d, const char *selector, uint8_t seed);

#endif
