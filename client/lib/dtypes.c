/* dtypes.c: the record of storage dtypes, one per floating parameter and trainable flag. It is
 * restored after everything else, independently of the precision of the values. */
#include <stdlib.h>

#include "lib/training.h"
#include "record/dtype.h"
#include "record/rules.h"

static struct entry dtypes_key(const struct cairn_param *p)
{
    return (struct entry){ .path = slice_str(param_word(p->trainable)),
                           .id = p->id,
                           .flags = ENTRY_HAS_ID };
}

int dtypes_wrong(struct err *err, const struct cairn_param *p, const char *what)
{
    return err_set(err,
                   -CAIRN_EDTYPES,
                   "dtypes: parameter %llu (%s, %s) %s",
                   (unsigned long long)p->id,
                   param_word(p->trainable),
                   dtype_name(p->dtype),
                   what);
}

/* A walk that failed, with what it was for. */
static int
dtypes_next(struct cairn *c, const struct cairn_trainer *t, uint64_t index, struct cairn_param *ret)
{
    int rc = param_next(c, t, index, ret);
    return rc < 0 ? err_wrap(&c->err, rc, "dtypes") : rc;
}

/* ---- capture ---- */

struct dtypes_walk {
    struct capture *cap;
    const struct cairn_trainer *t;
};

static int
dtypes_put_param(struct capture *cap, struct cairn_writer *w, const struct cairn_param *p)
{
    uint64_t dtype = p->dtype;
    struct entry e = dtypes_key(p);
    e.kind = ENTRY_U64;
    e.value = slice_of(&dtype, sizeof dtype);
    if (!dtype_param_ok(p->dtype)) {
        return dtypes_wrong(&cap->c->err, p, "is not of a floating dtype");
    }
    int rc = param_list_add(&cap->params, p, -CAIRN_EDTYPES, &cap->c->err);
    if (rc < 0) {
        return err_wrap(&cap->c->err, rc, "dtypes");
    }
    return writer_scalar(w, &e);
}

static int dtypes_put(void *self, struct cairn_writer *w)
{
    const struct dtypes_walk *walk = self;
    struct cairn_param p;
    int rc = 1;
    for (uint64_t i = 0; rc == 1; i++) {
        rc = dtypes_next(walk->cap->c, walk->t, i, &p);
        if (rc == 1) {
            int put = dtypes_put_param(walk->cap, w, &p);
            rc = put < 0 ? put : 1;
        }
    }
    return rc;
}

static int dtypes_cmp(const void *a, const void *b)
{
    return entry_cmp(COMPONENT_DTYPES, a, b);
}

static uint64_t dtypes_value(const struct entry *e)
{
    uint64_t dtype = 0;
    memcpy(&dtype, e->value.data, sizeof dtype);
    return dtype;
}

/* Tied parameters were walked more than once: the same dtype counts once, another is refused. */
static int dtypes_merge(struct cairn_reader *reader, struct err *err)
{
    uint64_t kept = 0;
    if (reader->count > 1) {
        qsort(reader->entries, reader->count, sizeof *reader->entries, dtypes_cmp);
    }
    for (uint64_t i = 0; i < reader->count; i++) {
        const struct entry *e = &reader->entries[i];
        const struct entry *last = kept == 0 ? NULL : &reader->entries[kept - 1];
        if (last == NULL || dtypes_cmp(last, e) != 0) {
            reader->entries[kept++] = *e;
        } else if (dtypes_value(last) != dtypes_value(e)) {
            struct cairn_param p = { .id = e->id,
                                     .trainable = e->path.bytes == strlen("trainable"),
                                     .dtype = (uint32_t)dtypes_value(e) };
            return dtypes_wrong(err, &p, "is tied to one of another dtype");
        }
    }
    reader->count = kept;
    return 0;
}

int dtypes_capture(struct capture *cap, const struct cairn_trainer *t)
{
    struct dtypes_walk walk = { cap, t };
    struct cairn_reader *reader = &cap->r->components[COMPONENT_DTYPES];
    int rc = capture_collect(cap, COMPONENT_DTYPES, dtypes_put, &walk);
    return rc < 0 ? rc : dtypes_merge(reader, &cap->c->err);
}

/* ---- restore ---- */

static int dtypes_check_record(const struct cairn_reader *reader, struct err *err)
{
    for (uint64_t i = 0; i < reader->count; i++) {
        const struct entry *e = &reader->entries[i];
        bool trainable = slice_cmp(e->path, slice_str("trainable")) == 0;
        if ((e->flags & ENTRY_HAS_ID) == 0 || e->kind != ENTRY_U64 ||
            (!trainable && slice_cmp(e->path, slice_str("frozen")) != 0)) {
            return err_set(err,
                           -CAIRN_EDTYPES,
                           "dtypes: entry %llu of the record is not one of a "
                           "dtype record",
                           (unsigned long long)i);
        }
        if (!dtype_param_ok(dtypes_value(e))) {
            struct cairn_param p = { .id = e->id,
                                     .trainable = trainable,
                                     .dtype = (uint32_t)dtypes_value(e) };
            return dtypes_wrong(err, &p, "was recorded with a dtype that is not floating");
        }
    }
    return 0;
}

static int dtypes_fit_param(struct cairn *c,
                            const struct cairn_trainer *t,
                            const struct entry *e,
                            const struct cairn_param *p)
{
    if (e == NULL) {
        return dtypes_wrong(&c->err, p, "is not in the record: its id or trainable flag differs");
    }
    uint64_t recorded = dtypes_value(e);
    if (recorded == p->dtype) {
        return 0;
    }
    if (recorded == CAIRN_QFLOAT || p->dtype == CAIRN_QFLOAT) {
        return dtypes_wrong(&c->err, p, "differs in its quantization: nothing requantizes");
    }
    if (t->retype == NULL) {
        return dtypes_wrong(
            &c->err, p, "was recorded with another dtype, and the trainer has no retype");
    }
    return 0;
}

/* Every recorded parameter must have been met by the walk. */
static int dtypes_fit_unmet(struct cairn *c, const struct cairn_reader *reader, const bool *met)
{
    for (uint64_t i = 0; i < reader->count; i++) {
        if (!met[i]) {
            const struct entry *e = &reader->entries[i];
            struct cairn_param p = { .id = e->id,
                                     .trainable = e->path.bytes == strlen("trainable"),
                                     .dtype = (uint32_t)dtypes_value(e) };
            return dtypes_wrong(&c->err, &p, "was recorded, but the model has no such parameter");
        }
    }
    return 0;
}

/* Walk the trainer's parameters, each with what was recorded of it. 0: all fit. */
static int dtypes_fit_walk(struct cairn *c,
                           const struct cairn_reader *reader,
                           const struct cairn_trainer *t,
                           bool *met)
{
    struct cairn_param p;
    int rc = dtypes_next(c, t, 0, &p);
    for (uint64_t i = 1; rc == 1; i++) {
        struct entry key = dtypes_key(&p);
        struct entry *e = rec_find(reader, &key);
        rc = dtypes_fit_param(c, t, e, &p);
        if (rc == 0) {
            met[e - reader->entries] = true;
            rc = dtypes_next(c, t, i, &p);
        }
    }
    return rc < 0 ? rc : dtypes_fit_unmet(c, reader, met);
}

int dtypes_fit(struct cairn *c, const struct cairn_record *r, const struct cairn_trainer *t)
{
    const struct cairn_reader *reader = &r->components[COMPONENT_DTYPES];
    int rc = dtypes_check_record(reader, &c->err);
    if (rc < 0) {
        return rc;
    }
    bool *met = calloc(reader->count + 1, sizeof *met);
    if (met == NULL) {
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory to compare dtypes");
    }
    rc = dtypes_fit_walk(c, reader, t, met);
    free(met);
    return rc;
}

static int dtypes_apply_param(struct cairn *c,
                              const struct cairn_reader *reader,
                              const struct cairn_trainer *t,
                              struct cairn_param *p)
{
    struct entry key = dtypes_key(p);
    const struct entry *e = rec_find(reader, &key);
    int rc = dtypes_fit_param(c, t, e, p);
    if (rc < 0 || dtypes_value(e) == p->dtype) {
        return rc;
    }
    p->dtype = (uint32_t)dtypes_value(e);
    rc = t->retype(t->model.self, p);
    if (rc == 0) {
        return 0;
    }
    return err_set(&c->err,
                   rc < 0 ? rc : -CAIRN_EINVAL,
                   "dtypes: retype of parameter %llu to %s returned %d",
                   (unsigned long long)p->id,
                   dtype_name(p->dtype),
                   rc);
}

/* Tied parameters change once and stay tied: the second of them is met with its new dtype. */
int dtypes_apply(struct cairn *c, const struct cairn_record *r, const struct cairn_trainer *t)
{
    const struct cairn_reader *reader = &r->components[COMPONENT_DTYPES];
    struct cairn_param p;
    int rc = dtypes_next(c, t, 0, &p);
    for (uint64_t i = 1; rc == 1; i++) {
        rc = dtypes_apply_param(c, reader, t, &p);
        if (rc == 0) {
            rc = dtypes_next(c, t, i, &p);
        }
    }
    return rc;
}
