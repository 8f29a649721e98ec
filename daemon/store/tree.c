/* Directories of the store. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/rules.h"
#include "store/store_int.h"

int tree_make(const char *path, struct err *err)
{
    if (mkdir(path, STORE_DIR_MODE) < 0 && errno != EEXIST) {
        return err_errno(err, errno, "make the directory '%s'", path);
    }
    return 0;
}

bool tree_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int tree_sync(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return err_errno(err, errno, "open the directory '%s'", path);
    }
    int rc = file_sync_dir(fd, path, err);
    (void)close(fd);
    return rc;
}

/* By its text: what the path names may have moved away. */
int tree_sync_parent(const char *path, struct err *err)
{
    char parent[STORE_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    size_t bytes = slash == NULL ? 0 : (size_t)(slash - path);
    if (bytes >= sizeof parent) {
        return err_set(err, -CAIRN_ELIMIT, "the path '%.200s...' is too long", path);
    }
    (void)snprintf(parent, sizeof parent, "%.*s", (int)bytes, path);
    return tree_sync(slash == NULL ? "." : bytes == 0 ? "/" : parent, err);
}

static int tree_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path) < 0 && errno != ENOENT ? errno : 0;
}

int tree_remove(const char *path, struct err *err)
{
    int rc = nftw(path, tree_remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (rc < 0 && errno == ENOENT) {
        return 0;
    }
    return rc == 0 ? 0 : err_errno(err, rc < 0 ? errno : rc, "remove '%s'", path);
}

/* ---- the runs -------------------------------------------------------------------------------- */

static bool tree_uid(const char *name, uint32_t *ret_uid)
{
    char *end = NULL;
    errno = 0;
    unsigned long uid = strtoul(name, &end, 10);
    char again[16];
    (void)snprintf(again, sizeof again, "%lu", uid);
    if (errno != 0 || uid > UINT32_MAX || strcmp(again, name) != 0) {
        return false;
    }
    *ret_uid = (uint32_t)uid;
    return true;
}

struct tree_walk {
    struct st *st;
    tree_run_fn *each;
    void *arg;
};

static int tree_owner(const struct tree_walk *w, uint32_t uid, struct err *err)
{
    char path[STORE_PATH_BYTES];
    struct dirent **names = NULL;
    int rc = st_path(w->st, uid, "", "", path, err);
    if (rc < 0) {
        return rc;
    }
    int count = scandir(path, &names, NULL, alphasort);
    if (count < 0) {
        return err_errno(err, errno, "list '%s'", path);
    }
    for (int i = 0; i < count; i++) {
        if (rc == 0 && run_name_ok(slice_str(names[i]->d_name))) {
            rc = w->each(w->arg, uid, names[i]->d_name, err);
        }
        free(names[i]);
    }
    free(names);
    return rc;
}

int tree_runs(struct st *st, tree_run_fn *each, void *arg, struct err *err)
{
    char path[STORE_PATH_BYTES];
    struct dirent **names = NULL;
    const struct tree_walk walk = { .st = st, .each = each, .arg = arg };
    int n = snprintf(path, sizeof path, "%s/runs", st->dir);
    if (n < 0 || (size_t)n >= sizeof path) {
        return err_set(err, -CAIRN_ELIMIT, "the path '%.200s...' is too long", st->dir);
    }
    int count = scandir(path, &names, NULL, alphasort);
    if (count < 0) {
        return err_errno(err, errno, "list '%s'", path);
    }
    int rc = 0;
    for (int i = 0; i < count; i++) {
        uint32_t uid = 0;
        if (rc == 0 && tree_uid(names[i]->d_name, &uid)) {
            rc = tree_owner(&walk, uid, err);
        }
        free(names[i]);
    }
    free(names);
    return rc;
}
