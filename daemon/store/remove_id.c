/* Whoever repeats a save that was committed and removed since is told so, within bounds. */
#include "store/remove.h"

static int remove_put_id(struct txn *t, const struct boundary *b, struct err *err)
{
    const struct row_save save = { .state = SAVE_PRUNED, .seq = b->seq, .root = b->root };
    struct wire_buf buf = { .data = NULL };
    struct key key = key_saveid(b->save_id, b->rank);
    int rc = row_save_encode(&save, &buf, err);
    rc = rc < 0 ? rc : row_put(t, DB_SAVEID, &key, slice_of(buf.data, buf.bytes), err);
    wire_buf_free(&buf);
    return rc;
}

struct remove_ids {
    uint32_t count;
    uint64_t oldest_seq;
    struct key oldest;
};

/* Damaged rows are nobody's: they stay, for fsck to tell. */
static void remove_count_id(struct remove_ids *ids, const struct row_cursor *c)
{
    struct bump b;
    struct row_save save;
    row_bump_init(&b, c->value.bytes);
    if (row_save_decode(c->value, &b, &save, NULL) == 0 && save.state == SAVE_PRUNED) {
        if (ids->count == 0 || save.seq < ids->oldest_seq) {
            ids->oldest_seq = save.seq;
            ids->oldest.bytes = c->key.bytes;
            memcpy(ids->oldest.data, c->key.data, c->key.bytes);
        }
        ids->count++;
    }
    bump_fini(&b);
}

static int remove_count_ids(struct txn *t, struct remove_ids *ids, struct err *err)
{
    struct row_cursor c;
    int rc = row_cursor_open(&c, t, DB_SAVEID, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_seek(&c, NULL, err); row_stands(&c, rc); rc = row_next(&c, err)) {
        if (rc == 0) {
            remove_count_id(ids, &c);
        }
    }
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

/* Room is made before the new one is in, so that it is never the one that goes. */
int remove_save_id(struct txn *t, const struct boundary *b, struct err *err)
{
    struct remove_ids ids = { .count = 0 };
    int rc = remove_count_ids(t, &ids, err);
    if (rc == 0 && ids.count >= STORE_PRUNED_IDS) {
        rc = row_del(t, DB_SAVEID, &ids.oldest, err);
    }
    return rc < 0 ? rc : remove_put_id(t, b, err);
}
