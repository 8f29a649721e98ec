/* Rows that are looked up and decoded in one go. */
#include <stdio.h>

#include "store/row.h"

void row_bump_init(struct bump *b, size_t bytes)
{
    bump_init(b, wire_bump_cap(bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes));
}

int row_damage(int rc, const char *what, struct err *err)
{
    if (rc != -CAIRN_ENOENT) {
        return rc;
    }
    char why[160];
    (void)snprintf(why, sizeof why, "%.150s", err == NULL ? "" : err->msg);
    return err_set(err, -CAIRN_ECORRUPT, "%s: %s", what, why);
}

int row_undecodable(enum st_db db, struct slice key, struct err *err)
{
    char text[KEY_TEXT_BYTES];
    key_text(db, key, text);
    char why[160];
    (void)snprintf(why, sizeof why, "%.150s", err == NULL ? "" : err->msg);
    return err_set(err, -CAIRN_ECORRUPT, "row %s does not decode: %s", text, why);
}

/* Decoding fails for want of memory, or because the row is not what was written. */
static int row_decoded(int rc, enum st_db db, const struct key *key, struct err *err)
{
    if (rc == 0 || rc == -CAIRN_ENOMEM) {
        return rc;
    }
    return row_undecodable(db, key_slice(key), err);
}

int row_get_boundary(
    struct txn *t, uint64_t seq, struct bump *b, struct row_boundary *ret, struct err *err)
{
    struct key key = key_boundary(seq);
    struct slice value = { .bytes = 0 };
    int rc = row_get(t, DB_BOUNDARY, &key, &value, err);
    row_bump_init(b, value.bytes);
    if (rc < 0) {
        return rc;
    }
    rc = row_decoded(row_boundary_decode(value, b, ret, err), DB_BOUNDARY, &key, err);
    if (rc == 0 && ret->boundary.seq != seq) {
        return row_undecodable(DB_BOUNDARY, key_slice(&key), err);
    }
    return rc;
}

int row_get_component(struct txn *t,
                      const struct boundary *boundary,
                      uint32_t component,
                      struct bump *b,
                      struct row_component *ret,
                      struct err *err)
{
    struct key key = key_component(boundary->seq, boundary->rank, component, 0);
    struct slice value = { .bytes = 0 };
    int rc = row_get(t, DB_COMPONENT, &key, &value, err);
    row_bump_init(b, value.bytes);
    if (rc < 0) {
        return rc;
    }
    return row_decoded(row_component_decode(value, b, ret, err), DB_COMPONENT, &key, err);
}

int row_get_chunk(
    struct txn *t, uint64_t segment, uint32_t index, struct row_chunk *ret, struct err *err)
{
    struct key key = key_chunk(segment, index);
    struct slice value;
    int rc = row_get(t, DB_CHUNK, &key, &value, err);
    if (rc < 0) {
        return rc;
    }
    struct bump b;
    row_bump_init(&b, value.bytes);
    rc = row_decoded(row_chunk_decode(value, &b, ret, err), DB_CHUNK, &key, err);
    bump_fini(&b);
    return rc;
}

int row_get_save(
    struct txn *t, const uint8_t save_id[16], uint32_t rank, struct row_save *ret, struct err *err)
{
    struct key key = key_saveid(save_id, rank);
    struct slice value;
    int rc = row_get(t, DB_SAVEID, &key, &value, err);
    if (rc < 0) {
        return rc;
    }
    struct bump b;
    row_bump_init(&b, value.bytes);
    rc = row_decoded(row_save_decode(value, &b, ret, err), DB_SAVEID, &key, err);
    bump_fini(&b);
    return rc;
}
