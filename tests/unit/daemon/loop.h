/* loop.h: a libuv loop that a test turns until something is so, with a deadline. */
#ifndef DAEMON_LOOP_H
#define DAEMON_LOOP_H

#include <stdbool.h>

#include <uv.h>

enum { LOOP_DEADLINE_MS = 20000 };

/* Turn the loop until done(arg); false: it was not so within the deadline. */
bool loop_until(uv_loop_t *loop, bool (*done)(void *arg), void *arg);
/* Turn it until it has nothing to do, and close it: false when handles are left. */
bool loop_end(uv_loop_t *loop);
/* A done function: *(bool *)arg. */
bool loop_flag(void *arg);

#endif
