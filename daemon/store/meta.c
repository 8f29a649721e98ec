/* The rows of `meta`: what a run is, and where its counters stand. */
#include "store/row.h"
#include "store/store_int.h"

static int meta_get_u64(struct txn *t, const char *name, uint64_t *ret, struct err *err)
{
    struct key key = key_meta(name);
    struct slice value;
    int rc = row_get(t, DB_META, &key, &value, err);
    if (rc == 0 && value.bytes != 8) {
        rc = err_set(err, -CAIRN_ECORRUPT, "row meta '%s' is %zu bytes long", name, value.bytes);
    }
    if (rc == 0) {
        *ret = get_be64(value.data);
    }
    return rc;
}

static int meta_put_u64(struct txn *t, const char *name, uint64_t number, struct err *err)
{
    uint8_t be[8];
    struct key key = key_meta(name);
    put_be64(be, number);
    return row_put(t, DB_META, &key, slice_of(be, sizeof be), err);
}

static int meta_get_id(struct txn *t, uint8_t ret_id[SEGMENT_ID_BYTES], struct err *err)
{
    struct key key = key_meta("id");
    struct slice value;
    int rc = row_get(t, DB_META, &key, &value, err);
    if (rc == 0 && value.bytes != SEGMENT_ID_BYTES) {
        rc = err_set(err, -CAIRN_ECORRUPT, "row meta 'id' is %zu bytes long", value.bytes);
    }
    if (rc == 0) {
        memcpy(ret_id, value.data, SEGMENT_ID_BYTES);
    }
    return rc;
}

static int meta_get_summary(struct txn *t, struct row_run *ret, struct err *err)
{
    struct key key = key_meta("summary");
    struct slice value;
    int rc = row_get(t, DB_META, &key, &value, err);
    if (rc < 0) {
        return rc;
    }
    struct bump b;
    row_bump_init(&b, value.bytes);
    rc = row_run_decode(value, &b, ret, err);
    bump_fini(&b);
    return rc == 0 || rc == -CAIRN_ENOMEM ? rc : row_undecodable(DB_META, key_slice(&key), err);
}

static int meta_put_summary(struct txn *t, const struct row_run *summary, struct err *err)
{
    struct key key = key_meta("summary");
    struct wire_buf b = { .data = NULL };
    int rc = row_run_encode(summary, &b, err);
    if (rc == 0) {
        rc = row_put(t, DB_META, &key, slice_of(b.data, b.bytes), err);
    }
    wire_buf_free(&b);
    return rc;
}

int meta_get_latest(struct txn *t, uint64_t *ret_seq, struct err *err)
{
    struct row_run summary = { .latest_seq = 0 };
    int rc = meta_get_summary(t, &summary, err);
    *ret_seq = summary.latest_seq;
    return row_damage(rc, "meta", err);
}

int meta_get(struct txn *t, struct run_meta *ret, struct err *err)
{
    *ret = (struct run_meta){ .format = 0 };
    int rc = meta_get_u64(t, "format", &ret->format, err);
    if (rc == 0 && ret->format != STORE_RUN_FORMAT) {
        return err_set(err,
                       -CAIRN_EVERSION,
                       "the run has format %llu, this is %u",
                       (unsigned long long)ret->format,
                       STORE_RUN_FORMAT);
    }
    rc = rc < 0 ? rc : meta_get_id(t, ret->id, err);
    rc = rc < 0 ? rc : meta_get_u64(t, "owner", &ret->owner, err);
    rc = rc < 0 ? rc : meta_get_u64(t, "created", &ret->created_ns, err);
    rc = rc < 0 ? rc : meta_get_progress(t, &ret->next_seq, &ret->next_segment, err);
    rc = rc < 0 ? rc : meta_get_summary(t, &ret->summary, err);
    /* A run without one of these rows is damaged, not absent. */
    return row_damage(rc, "meta", err);
}

int meta_put(struct txn *t, const struct run_meta *m, struct err *err)
{
    struct key id = key_meta("id");
    int rc = meta_put_u64(t, "format", m->format, err);
    rc = rc < 0 ? rc : row_put(t, DB_META, &id, slice_of(m->id, sizeof m->id), err);
    rc = rc < 0 ? rc : meta_put_u64(t, "owner", m->owner, err);
    rc = rc < 0 ? rc : meta_put_u64(t, "created", m->created_ns, err);
    return rc < 0 ? rc : meta_put_progress(t, m->next_seq, m->next_segment, &m->summary, err);
}

int meta_get_progress(struct txn *t,
                      uint64_t *ret_next_seq,
                      uint64_t *ret_next_segment,
                      struct err *err)
{
    int rc = meta_get_u64(t, "next_seq", ret_next_seq, err);
    return rc < 0 ? rc : meta_get_u64(t, "next_segment", ret_next_segment, err);
}

int meta_put_progress(struct txn *t,
                      uint64_t next_seq,
                      uint64_t next_segment,
                      const struct row_run *summary,
                      struct err *err)
{
    int rc = meta_put_u64(t, "next_seq", next_seq, err);
    rc = rc < 0 ? rc : meta_put_u64(t, "next_segment", next_segment, err);
    return rc < 0 ? rc : meta_put_summary(t, summary, err);
}
