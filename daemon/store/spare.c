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

/* What is likely to be written of so many bytes. */
static uint64_t spare_expected(struct st_run *run, uint64_t bytes)
{
    (void)pthread_mutex_lock(&run->lock);
    uint64_t fresh = run->last_bytes_new;
    uint64_t all = run->last_bytes;
    (void)pthread_mutex_unlock(&run->lock);
    return all == 0 ? bytes : (uint64_t)((double)bytes * (double)fresh / (double)all);
}

static bool spare_fits(uint64_t bytes, uint64_t wanted)
{
    return bytes > 0 && bytes <= 2 * wanted && bytes >= wanted - wanted / 8;
}

/* A disk on which there is not as much free again has a better use for it. */
static bool spare_is_worth(const struct st_run *run, uint64_t bytes)
{
    uint64_t left = 0;
    uint64_t total = 0;
    return file_space(run->segments_fd, &left, &total, NULL) == 0 &&
           left >= run->st->options.reserve_bytes && left - run->st->options.reserve_bytes >= bytes;
}

/* How large is this file? 0: it is not there, or much of it has been given back. */
static uint64_t spare_size(const struct st_run *run, const char *name)
{
    struct stat st;
    if (fstatat(run->segments_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return 0;
    }
    uint64_t bytes = (uint64_t)st.st_size;
    return (uint64_t)st.st_blocks * 512 >= bytes - bytes / 8 ? bytes : 0;
}

void spare_give(struct st_run *run, uint64_t id)
{
    char from[SEGMENT_NAME_BYTES];
    char to[SEGMENT_NAME_BYTES];
    segment_name(id, false, from);
    segment_name(id, true, to);
    uint64_t bytes = spare_size(run, from);
    (void)pthread_mutex_lock(&run->lock);
    uint64_t wanted = run->last_bytes_new == 0 ? bytes : run->last_bytes_new;
    (void)pthread_mutex_unlock(&run->lock);
    if (spare_fits(spare_bytes(run), wanted) || !spare_fits(bytes, wanted) ||
        !spare_is_worth(run, bytes) || renameat(run->segments_fd, from, run->segments_fd, to) < 0) {
        spare_unlink(run, id, false);
        return;
    }
    struct spare was = spare_swap(run, (struct spare){ .id = id, .bytes = bytes });
    if (was.bytes > 0) {
        spare_unlink(run, was.id, true);
    }
}

bool spare_take(struct st_run *run, uint64_t bytes, uint64_t *ret_id)
{
    if (!spare_fits(spare_bytes(run), spare_expected(run, bytes))) {
        return false;
    }
    *ret_id = spare_swap(run, (struct spare){ .bytes = 0 }).id;
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
