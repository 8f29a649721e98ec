/* dtypes.c: the record of storage dtypes, one per floating parameter and trainable flag. It is
 * restored after everything else, independently of the precision of the values. */
#include <stdlib.h>

#include "lib/training.h"
#include "record/dtype.h"
#include "record/rules.h"

/* A walk that never says "end" must not hang the trainer. */
#define DTYPES_MOST LIMIT_ENTRIES

bool dtypes_allowed(uint64_t dtype)
{
    return dtype == CAIRN_F64 || dtype == CAIRN_F32 || dtype == CAIRN_FLEX32 ||
           dtype == CAIRN_F16 || dtype == CAIRN_BF16 || dtype == CAIRN_QFLOAT;
}

static const char *dtypes_path(bool trainable)
{
    return trainable ? "trainable" : "frozen";
}

static struct entry dtypes_key(const struct cairn_param *p)
{
    return (struct entry){ .path = slice_str(dtypes_path(p->trainable)),
                           .id = p->id,
                           .flags = ENTRY_HAS_ID };
}

int dtypes_wrong(struct err *err, const struct cairn_param *p, const char *what)
{
    return err_set(err,
                   -CAIRN_EDTYPES,
                   "dtypes: parameter %llu (%s, %s) %s",
                   (unsigned long long)p->id,
                   dtypes_path(p->trainable),
                   dtype_name(p->dtype),
                   what);
}

/* The next parameter of the trainer. 1: there is one; 0: the end. */
static int
dtypes_next(struct cairn *c, const struct cairn_trainer *t, uint64_t index, struct cairn_param *ret)
{
    if (index >= DTYPES_MOST) {
        return err_set(&c->err, -CAIRN_ELIMIT, "dtypes: more than %u parameters", DTYPES_MOST);
    }
    *ret = (struct cairn_param){ 0 };
    int rc = t->param(t->model.self, index, ret);
    if (rc == -CAIRN_ENOENT) {
        return 0;
    }
    if (rc != 0) {
        return err_set(&c->err,
                       rc < 0 ? rc : -CAIRN_EINVAL,
                       "dtypes: the walk over the parameters returned %d at %llu",
                       rc,
                       (unsigned long long)index);
    }
    return 1;
}

/* ---- capture ---- */

struct dtypes_walk {
    struct capture *cap;
    const struct cairn_trainer *t;
};

/* What the walk says of it, for the comparison with the model that is captured later. */
static int dtypes_keep(struct capture *cap, const struct cairn_param *p)
{
    struct cairn_param kept = *p;
    if (p->rank > LIMIT_RANK || (p->rank > 0 && p->shape == NULL)) {
        return dtypes_wrong(&cap->c->err, p, "has no shape, or too many dimensions");
    }
    if (cap->param_count == cap->param_room) {
        uint64_t room = cap->param_room == 0 ? 16 : cap->param_room * 2;
        struct cairn_param *params = realloc(cap->params, room * sizeof *params);
        if (params == NULL) {
            return err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory for a parameter");
        }
        cap->params = params;
        cap->param_room = room;
    }
    if (p->rank > 0) {
        kept.shape = rec_copy(cap->r, p->shape, p->rank * sizeof *p->shape);
        if (kept.shape == NULL) {
            return err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory for a parameter");
        }
    }
    cap->params[cap->param_count++] = kept;
    return 0;
}

static int
dtypes_put_param(struct capture *cap, struct cairn_writer *w, const struct cairn_param *p)
{
    uint64_t dtype = p->dtype;
    struct entry e = dtypes_key(p);
    e.kind = ENTRY_U64;
    e.value = slice_of(&dtype, sizeof dtype);
    if (!dtypes_allowed(p->dtype)) {
        return dtypes_wrong(&cap->c->err, p, "is not of a floating dtype");
    }
    int rc = dtypes_keep(cap, p);
    return rc < 0 ? rc : writer_scalar(w, &e);
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
    if (t->param == NULL) {
        return err_set(
            &cap->c->err, -CAIRN_EINVAL, "capture with dtypes: the trainer has no param walk");
    }
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
        if (!dtypes_allowed(dtypes_value(e))) {
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
    if (t->param == NULL) {
        return err_set(
            &c->err, -CAIRN_EINVAL, "restore with dtypes: the trainer has no param walk");
    }
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
