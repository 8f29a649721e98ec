/* stop.h: SIGTERM asks the trainer to stop at its next safe point. */
#ifndef DIGITS_STOP_H
#define DIGITS_STOP_H

#include <stdbool.h>

/* From now on SIGTERM only asks. Calls that it interrupts go on. */
void stop_on_sigterm(void);
/* Has somebody asked? */
bool stop_asked(void);

#endif
