/* bench_place.h: a directory for the time of a benchmark, on a disk that has room for it. */
#ifndef CLI_BENCH_PLACE_H
#define CLI_BENCH_PLACE_H

#include "bench.h"

/* Is there room on the disk of `dir`, and memory, for what o asks for? Else says how much is
 * needed. Returns enum out_exit. */
int bench_place_room(const struct bench_options *o, const char *dir);
/* Make DIR/cairn-bench.XXXXXX, 0700. Returns its path, which the caller frees; NULL: says why not.
 */
char *bench_place_make(const struct bench_options *o, const char *dir);
/* Remove it with all that is in it. Says what could not be removed. Returns 0 or -1. */
int bench_place_remove(const char *place);

#endif
