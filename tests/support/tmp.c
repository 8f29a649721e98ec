#include "support/tmp.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <criterion/criterion.h>

void tmp_make(const char *name, char ret[static TMP_PATH_BYTES])
{
    const char *given = getenv("CAIRN_TEST_DIR"); /* on another file system */
    const char *dir = given == NULL ? CAIRN_TEST_TMP : given;
    (void)mkdir(dir, 0700);
    (void)snprintf(ret, TMP_PATH_BYTES, "%s/%s-XXXXXX", dir, name);
    cr_assert_not_null(mkdtemp(ret), "%s: %s", ret, strerror(errno));
}

void tmp_make_short(char ret[static TMP_PATH_BYTES])
{
    (void)snprintf(ret, TMP_PATH_BYTES, "/tmp/cairn-XXXXXX");
    cr_assert_not_null(mkdtemp(ret), "%s: %s", ret, strerror(errno));
}

static int tmp_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void tmp_remove(const char *path)
{
    (void)nftw(path, tmp_remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

uint64_t tmp_free_bytes(const char *path)
{
    struct statvfs vfs;
    cr_assert_eq(statvfs(path, &vfs), 0, "%s: %s", path, strerror(errno));
    return (uint64_t)vfs.f_bavail * vfs.f_frsize;
}

unsigned tmp_lines_with(const char *path, const char *const *texts)
{
    char line[4096];
    unsigned count = 0;
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file, "%s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file) != NULL) {
        size_t i = 0;
        while (texts[i] != NULL && strstr(line, texts[i]) != NULL) {
            i++;
        }
        count += texts[i] == NULL;
    }
    (void)fclose(file);
    return count;
}
