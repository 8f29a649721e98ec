/* tmp.h: a directory of a test's own, below the build directory: on a disk, not in memory. */
#ifndef SUPPORT_TMP_H
#define SUPPORT_TMP_H

#include <stddef.h>
#include <stdint.h>

enum { TMP_PATH_BYTES = 512 };

/* Make one; `name` is part of its name. */
void tmp_make(const char *name, char ret[static TMP_PATH_BYTES]);
/* One below /tmp, for a socket: its path must be short. */
void tmp_make_short(char ret[static TMP_PATH_BYTES]);
/* Remove it and everything below; nothing there is fine. */
void tmp_remove(const char *path);
/* Bytes that may be written where it is. */
uint64_t tmp_free_bytes(const char *path);

/* How many lines of a file have all of these texts (NULL-terminated)? */
unsigned tmp_lines_with(const char *path, const char *const *texts);

#endif
