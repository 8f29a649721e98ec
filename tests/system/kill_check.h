/* kill_check.h: what must be true of a killed run, apart from its digest. */
#ifndef SYSTEM_KILL_CHECK_H
#define SYSTEM_KILL_CHECK_H

/* The trainer's events: it resumed from no boundary older than the newest that it was told is safe
 * or that a trainer before it found, and started fresh only before there was one. */
void check_events(const char *path);
/* Negative control: turn one bit in the middle of a segment. */
void check_spoil_segment(const char *data_dir);
/* The end of a log, for the reader of a failed test. */
void check_show(const char *path);

#endif
