/* Whoever repeats a save that was committed and removed since is told so, within bounds. */
#include "store/remove.h"

static int remove_put_id(struct txn *t, const struct boundary *b, struct err *err)
{
    const struct row_save save = { .state = SAVE_PRUNED, .seq = b->seq, .root = b->root };
    struct wire_buf buf = { .data = NULL };
    struct key key = key_saveid(b->save_id, b->rank);
    struct key pruned = key_pruned(b->seq, b->rank);
    int rc = row_save_encode(&save, &buf, err);
    rc = rc < 0 ? rc : row_put(t, DB_SAVEID, &key, slice_of(buf.data, buf.bytes), err);
    rc = rc < 0 ? rc : row_put(t, DB_PRUNED, &pruned, slice_of(b->save_id, ROW_SAVE_ID_BYTES), err);
    wire_buf_free(&buf);
    return rc;
}

/* The oldest of those that were removed. A damaged row of it leads to no save id: that one stays,
 * for fsck to tell. */
static int remove_forget_id(struct txn *t, struct err *err)
{
    struct row_cursor c;
    struct key_parts at;
    int rc = row_cursor_open(&c, t, DB_PRUNED, err);
    if (rc < 0) {
        return rc;
    }
    rc = row_seek(&c, NULL, err);
    bool stands = row_stands(&c, rc);
    struct key oldest = { .bytes = 0 };
    if (stands) {
        oldest.bytes = c.key.bytes;
        memcpy(oldest.data, c.key.data, c.key.bytes);
    }
    if (rc == 0 && key_parse(DB_PRUNED, c.key, &at) && c.value.bytes == ROW_SAVE_ID_BYTES) {
        struct key id = key_saveid(c.value.data, at.rank);
        rc = row_del(t, DB_SAVEID, &id, err);
    } else {
        rc = stands || rc == -CAIRN_ENOENT ? 0 : rc;
    }
    row_cursor_close(&c);
    return rc == 0 && stands ? row_del(t, DB_PRUNED, &oldest, err) : rc;
}

/* Room is made before the new one is in, so that it is never the one that goes. */
int remove_save_id(struct txn *t, const struct boundary *b, struct err *err)
{
    uint64_t count = 0;
    int rc = row_count(t, DB_PRUNED, &count, err);
    if (rc == 0 && count >= STORE_PRUNED_IDS) {
        rc = remove_forget_id(t, err);
    }
    return rc < 0 ? rc : remove_put_id(t, b, err);
}
