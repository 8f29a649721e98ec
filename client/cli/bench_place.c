#include "bench_place.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "output.h"

/* The daemon leaves 64 MiB free, and its index and journal want some. */
#define PLACE_SPARE_BYTES (128 * BENCH_MIB)
#define PLACE_SMALL_BYTES ((uint64_t)BENCH_SMALL_COUNT * BENCH_SMALL_BYTES)

/* ---- room ---- */

static int place_short(const struct bench_options *o,
                       const char *dir,
                       uint64_t needed_bytes,
                       uint64_t free_bytes,
                       const char *what)
{
    struct out_buf needed;
    struct out_buf there;
    char *why = out_format("%s are needed (%s), %s are free: give a smaller --size%s",
                           out_size(&needed, needed_bytes),
                           what,
                           out_size(&there, free_bytes),
                           dir == NULL ? "" : ", or another --dir");
    int code = (int)out_fail_why(o->json, -CAIRN_ENOSPC, dir == NULL ? "memory" : dir, why);
    free(why);
    return code;
}

static int place_disk(const struct bench_options *o, const char *dir)
{
    struct statvfs vfs = { 0 };
    if (statvfs(dir, &vfs) < 0) {
        return (int)out_fail_why(o->json, -CAIRN_EIO, dir, strerrordesc_np(errno));
    }
    uint64_t needed_bytes = 3 * o->size_bytes + 2 * PLACE_SMALL_BYTES + PLACE_SPARE_BYTES;
    uint64_t free_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
    return free_bytes >= needed_bytes
               ? OUT_OK
               : place_short(
                     o, dir, needed_bytes, free_bytes, "a file and two boundaries of that size");
}

/* What the kernel thinks can be had without swapping; 0: it does not say. */
static uint64_t place_memory_bytes(void)
{
    char line[128];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f != NULL && kib == 0 && fgets(line, sizeof line, f) != NULL) {
        static const char name[] = "MemAvailable:";
        if (strncmp(line, name, sizeof name - 1) == 0) {
            kib = strtoull(line + sizeof name - 1, NULL, 10);
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return kib * 1024;
}

static int place_memory(const struct bench_options *o)
{
    uint64_t needed_bytes = 4 * o->size_bytes + 2 * PLACE_SMALL_BYTES + 2 * PLACE_SPARE_BYTES;
    uint64_t free_bytes = place_memory_bytes();
    return free_bytes == 0 || free_bytes >= needed_bytes
               ? OUT_OK
               : place_short(o, NULL, needed_bytes, free_bytes, "the state, a copy, two captures");
}

int bench_place_room(const struct bench_options *o, const char *dir)
{
    int code = place_disk(o, dir);
    return code == OUT_OK ? place_memory(o) : code;
}

/* ---- the directory ---- */

char *bench_place_make(const struct bench_options *o, const char *dir)
{
    char *place = out_format("%s/cairn-bench.XXXXXX", dir);
    if (mkdtemp(place) == NULL) {
        (void)out_fail_why(o->json, -CAIRN_EIO, dir, strerrordesc_np(errno));
        free(place);
        return NULL;
    }
    return place;
}

static int place_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int bench_place_remove(const char *place)
{
    if (nftw(place, place_remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == 0) {
        return 0;
    }
    int error = errno;
    (void)fputs("cairn bench: cannot remove '", stderr);
    out_text(stderr, place);
    (void)fprintf(stderr, "': %s\n", strerrordesc_np(error));
    return -1;
}
