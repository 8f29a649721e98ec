#include "kill_check.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/case.h"

void check_events(const char *path)
{
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file, "%s: %s", path, strerror(errno));
    char line[256];
    uint64_t safe = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        const char *number = strchr(line, ' ');
        uint64_t seq = number == NULL ? 0 : strtoull(number, NULL, 10);
        if (strncmp(line, "saved ", 6) == 0) {
            cr_assert_gt(seq, safe, "a save got a sequence number that was there: %s", line);
            safe = seq;
        } else if (strncmp(line, "resumed ", 8) == 0) {
            cr_assert_geq(seq, safe, "seq %" PRIu64 " was there, then: %s", safe, line);
            safe = seq; /* its acknowledgement may have died with a process */
        } else if (strncmp(line, "fresh", 5) == 0) {
            cr_assert_eq(safe, 0, "seq %" PRIu64 " was there, then: %s", safe, line);
        }
    }
    (void)fclose(file);
    cr_assert_gt(safe, 0, "%s: nothing was ever there", path);
}

static int check_spoil_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    if (type != FTW_F || strstr(path, "/segments/") == NULL || st->st_size < (1 << 16)) {
        return 0;
    }
    uint8_t byte = 0;
    off_t at = 4096 + 1; /* the first chunk's */
    int fd = open(path, O_RDWR | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    cr_assert_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
    (void)close(fd);
    (void)printf("spoiled: %s\n", path);
    return 1;
}

void check_spoil_segment(const char *data_dir)
{
    (void)nftw(data_dir, check_spoil_file, 16, FTW_PHYS);
}

void check_show(const char *path)
{
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    off_t end = lseek(fd, 0, SEEK_END);
    ssize_t got =
        pread(fd, text, sizeof text, end > (off_t)sizeof text ? end - (off_t)sizeof text : 0);
    if (got > 0) {
        (void)fprintf(stderr, "---- %s\n%.*s----\n", path, (int)got, text);
    }
    (void)close(fd);
}
