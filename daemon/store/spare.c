#include "store/spare.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void spare_unlink(const struct st_run *run, uint64_t id, bool temporary)
{
    char name[SEGMENT_NAME_BYTES];
    segment_name(id, temporary, name);
    (void)unlinkat(run->segments_fd, name, 0); /* if it stays, the next opening sweeps it */
}

/* Takes it out of the run; bytes 0: there was none. */
static struct spare spare_swap(struct st_run *run, struct spare with)
{
    (void)pthread_mutex_lock(&run->lock);
    struct spare was = run->spare;
    run->spare = with;
    (void)pthread_mutex_unlock(&run->lock);
    return was;
}

/* A disk on which there is not as much free again has a better use for it. */
static bool spare_is_worth(const struct st_run *run, uint64_t bytes)
{
    uint64_t left = 0;
    uint64_t total = 0;
    return bytes > 0 && file_space(run->segments_fd, &left, &total, NULL) == 0 &&
           left >= run->st->options.reserve_bytes && left - run->st->options.reserve_bytes >= bytes;
}

void spare_give(struct st_run *run, uint64_t id)
{
    char from[SEGMENT_NAME_BYTES];
    char to[SEGMENT_NAME_BYTES];
    struct stat st;
    segment_name(id, false, from);
    segment_name(id, true, to);
    uint64_t bytes =
        fstatat(run->segments_fd, from, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
    if (spare_bytes(run) > 0 || !spare_is_worth(run, bytes) ||
        renameat(run->segments_fd, from, run->segments_fd, to) < 0) {
        spare_unlink(run, id, false);
        return;
    }
    (void)spare_swap(run, (struct spare){ .id = id, .bytes = bytes });
}

bool spare_take(struct st_run *run, uint64_t bytes, uint64_t *ret_id)
{
    struct spare spare = spare_swap(run, (struct spare){ .bytes = 0 });
    if (spare.bytes == 0) {
        return false;
    }
    if (spare.bytes > 2 * bytes || spare.bytes < bytes - bytes / 8) {
        spare_unlink(run, spare.id, true);
        return false;
    }
    *ret_id = spare.id;
    return true;
}

void spare_drop(struct st_run *run)
{
    struct spare spare = spare_swap(run, (struct spare){ .bytes = 0 });
    if (spare.bytes > 0) {
        spare_unlink(run, spare.id, true);
    }
}

uint64_t spare_bytes(struct st_run *run)
{
    (void)pthread_mutex_lock(&run->lock);
    uint64_t bytes = run->spare.bytes;
    (void)pthread_mutex_unlock(&run->lock);
    return bytes;
}
