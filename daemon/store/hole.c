#include "store/hole.h"

#include <fcntl.h>
#include <unistd.h>

#include "internal/ckd.h"

int hole_put(struct txn *t, const struct key *chunk, const struct row_chunk *row, struct err *err)
{
    struct wire_buf buf = { .data = NULL };
    int rc = row_chunk_encode(row, &buf, err);
    rc = rc < 0 ? rc : row_put(t, DB_HOLE, chunk, slice_of(buf.data, buf.bytes), err);
    wire_buf_free(&buf);
    return rc;
}

int hole_forget(struct txn *t, struct err *err)
{
    struct row_cursor c;
    int rc = row_cursor_open(&c, t, DB_HOLE, err);
    while (rc == 0) {
        rc = row_seek(&c, NULL, err);
        if (!row_stands(&c, rc)) {
            break;
        }
        struct key gone = { .bytes = c.key.bytes };
        memcpy(gone.data, c.key.data, c.key.bytes);
        rc = row_del(t, DB_HOLE, &gone, err);
    }
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

void hole_punch(const struct st_run *run, uint64_t segment, uint64_t offset, uint32_t bytes)
{
    char name[SEGMENT_NAME_BYTES];
    uint64_t padded = round_up_u64(bytes, SEGMENT_PAGE_BYTES);
    segment_name(segment, false, name);
    int fd = openat(run->segments_fd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        (void)fallocate(
            fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)padded);
        (void)close(fd);
    }
}

static int hole_punch_txn(struct txn *t, void *arg, struct err *err)
{
    const struct st_run *run = arg;
    struct row_cursor c;
    struct key_parts at;
    struct row_chunk row;
    int rc = row_cursor_open(&c, t, DB_HOLE, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_seek(&c, NULL, err); row_stands(&c, rc); rc = row_next(&c, err)) {
        struct bump b;
        row_bump_init(&b, c.value.bytes);
        if (rc == 0 && key_parse(DB_HOLE, c.key, &at) &&
            row_chunk_decode(c.value, &b, &row, NULL) == 0) {
            hole_punch(run, at.segment, row.offset, row.bytes);
        }
        bump_fini(&b);
    }
    row_cursor_close(&c);
    return 0;
}

void hole_punch_all(struct st_run *run)
{
    (void)env_read(&run->index, hole_punch_txn, run, NULL);
}
