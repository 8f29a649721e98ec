/* What a run takes of the disk, file by file: what `du` of its directory says, and what for. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store/segment.h"
#include "store/store_int.h"

enum { USAGE_BLOCK_BYTES = 512 }; /* the unit of st_blocks, whatever the file system's is */

/* A file that has gone since it was listed takes nothing. */
static int usage_file(int dir_fd, const char *name, uint64_t *sum, struct err *err)
{
    struct stat st;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return errno == ENOENT ? 0 : err_errno(err, errno, "look at %s", name);
    }
    *sum += (uint64_t)st.st_blocks * USAGE_BLOCK_BYTES;
    return 0;
}

static int usage_segments(const struct st_run *run, struct st_usage *ret, struct err *err)
{
    struct segment_list list;
    int rc = segment_list_read(run->segments_fd, &list, err);
    for (uint32_t i = 0; rc == 0 && i < list.count; i++) {
        const struct segment_file *file = &list.files[i];
        char name[SEGMENT_NAME_BYTES];
        segment_name(file->id, file->temporary, name);
        rc = usage_file(run->segments_fd,
                        name,
                        file->temporary ? &ret->unnamed_bytes : &ret->segment_bytes,
                        err);
    }
    segment_list_free(&list);
    return rc;
}

int st_usage(struct st_run *run, struct st_usage *ret, struct err *err)
{
    *ret = (struct st_usage){ .segment_bytes = 0 };
    int rc = usage_segments(run, ret, err);
    rc = rc < 0 ? rc : usage_file(run->segments_fd, "../index/data.mdb", &ret->index_bytes, err);
    return rc < 0 ? run_wrap(run, rc, err) : 0;
}
