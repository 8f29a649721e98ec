/* events.h: a file to which the trainer appends a line per event, for whoever watches it.
 *
 *     started PID            fresh                    resumed SEQ STEP MICROBATCH
 *     saved SEQ STEP MICROBATCH                       failed CAIRN_ECODE
 *     sealed 0 STEP MICROBATCH (its seq comes later)    stopped
 *     done DIGEST
 *
 * A line is one write: a reader sees it whole or not at all. Descriptor -1 means that none watches.
 */
#ifndef DIGITS_EVENTS_H
#define DIGITS_EVENTS_H

#include <stdint.h>

/* Open for appending; with path NULL *ret_fd is -1. Returns -1, with a message, when it cannot. */
int events_open(const char *path, int *ret_fd);
void events_close(int fd);

/* "event" or "event text". */
void events_text(int fd, const char *event, const char *text);
/* "event SEQ STEP MICROBATCH". */
void events_boundary(int fd, const char *event, uint64_t seq, uint64_t step, uint64_t microbatch);

#endif
