/* stdfds.h: descriptors 0, 1 and 2 are there. */
#ifndef BASE_STDFDS_H
#define BASE_STDFDS_H

#include <stdbool.h>

/* Open /dev/null in place of each standard descriptor that is closed. First thing in main: else a
 * file or a socket that is opened later takes the number, and what is meant for standard output is
 * written there. False: not possible. */
bool stdfds_open(void);

#endif
