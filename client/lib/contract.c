/* contract.c: where a contract comes from, and how it is kept in a record. */
#include "lib/contract.h"

#include <stdlib.h>

#include "lib/capture.h"
#include "lib/members.h"
#include "record/dtype.h"

#define CONTRACT_PATH "param"
#define CONTRACT_FIXED_BYTES 8u /* u32 dtype, u32 rank */

void contract_fini(struct contract *k)
{
    param_list_fini(&k->list);
}

void contract_init(struct contract *k)
{
    *k = (struct contract){ .trainable_count = 0 };
    param_list_init(&k->list);
}

static int contract_tied(const struct cairn_param *a, int code, struct err *err)
{
    return err_set(err,
                   code,
                   "contract: parameter %llu (%s) is tied to one of another dtype or shape",
                   (unsigned long long)a->id,
                   param_word(a->trainable));
}

/* Sort, and keep each parameter once: tied ones were met several times. A frozen alias is another
 * parameter. */
static int contract_close(struct contract *k, int code, struct err *err)
{
    struct param_list *l = &k->list;
    uint64_t kept = 0;
    if (l->count > 1) {
        qsort(l->params, l->count, sizeof *l->params, param_cmp);
    }
    for (uint64_t i = 0; i < l->count; i++) {
        const struct cairn_param *p = &l->params[i];
        const struct cairn_param *last = kept == 0 ? NULL : &l->params[kept - 1];
        if (last == NULL || param_cmp(last, p) != 0) {
            k->trainable_count += p->trainable;
            l->params[kept++] = *p;
        } else if (last->dtype != p->dtype ||
                   !shape_same(last->rank, last->shape, p->rank, p->shape)) {
            return contract_tied(p, code, err);
        }
    }
    l->count = kept;
    return 0;
}

static int contract_take(struct contract *k, int rc, struct contract *ret)
{
    if (rc < 0) {
        contract_fini(k);
    } else {
        *ret = *k;
    }
    return rc;
}

/* ---- of the trainer ---- */

static int contract_walk(struct cairn *c, const struct cairn_trainer *t, struct contract *k)
{
    struct cairn_param p;
    int rc = 1;
    for (uint64_t i = 0; rc == 1; i++) {
        rc = param_next(c, t, i, &p);
        if (rc == 1 && !dtype_param_ok(p.dtype)) {
            rc = err_set(&c->err,
                         -CAIRN_EINVAL,
                         "parameter %llu is of %s, which is no dtype of a parameter "
                         "(" DTYPE_PARAM_NAMES ")",
                         (unsigned long long)p.id,
                         dtype_name(p.dtype));
        } else if (rc == 1) {
            int added = param_list_add(&k->list, &p, -CAIRN_EINVAL, &c->err);
            rc = added < 0 ? added : 1;
        }
    }
    return rc < 0 ? err_wrap(&c->err, rc, "contract") : 0;
}

int contract_of_trainer(struct cairn *c,
                        const struct cairn_trainer *t,
                        int code,
                        struct contract *ret)
{
    struct contract k;
    contract_init(&k);
    int rc = contract_walk(c, t, &k);
    if (rc == 0) {
        rc = contract_close(&k, code, &c->err);
    }
    if (rc == 0 && t->base != NULL) {
        k.has_base = true;
        memcpy(k.base, t->base, sizeof k.base);
    }
    return contract_take(&k, rc, ret);
}

/* ---- in a record ---- */

static int contract_put_param(struct cairn_writer *w, const struct cairn_param *p)
{
    uint8_t value[CONTRACT_FIXED_BYTES + LIMIT_RANK * sizeof *p->shape];
    struct entry e = {
        .path = slice_str(CONTRACT_PATH), .id = p->id, .flags = ENTRY_HAS_ID, .kind = ENTRY_BYTES
    };
    memcpy(value, &p->dtype, sizeof p->dtype);
    memcpy(value + sizeof p->dtype, &p->rank, sizeof p->rank);
    if (p->rank > 0) {
        memcpy(value + CONTRACT_FIXED_BYTES, p->shape, p->rank * sizeof *p->shape);
    }
    e.value = slice_of(value, CONTRACT_FIXED_BYTES + p->rank * sizeof *p->shape);
    return writer_scalar(w, &e);
}

static int contract_put(void *self, struct cairn_writer *w)
{
    const struct contract *k = self;
    int rc = cairn_put_u64(w, "version", CONTRACT_VERSION);
    if (rc == 0 && k->has_base) {
        rc = cairn_put_bytes(w, "base", k->base, sizeof k->base);
    }
    for (uint64_t i = 0; rc == 0 && i < k->list.count; i++) {
        if (k->list.params[i].trainable) {
            rc = contract_put_param(w, &k->list.params[i]);
        }
    }
    return rc;
}

int contract_capture(struct capture *cap, const struct contract *k)
{
    struct contract borrowed = *k;
    struct component_put put = { .put = contract_put, .self = &borrowed };
    return capture_component(cap, COMPONENT_CONTRACT, &put);
}

static int contract_read_param(struct contract *k, const struct entry *e, struct err *err)
{
    struct cairn_param p = { .id = e->id, .trainable = true };
    uint64_t shape[LIMIT_RANK];
    const uint8_t *at = e->value.data;
    if (e->kind == ENTRY_BYTES && e->value.bytes >= CONTRACT_FIXED_BYTES) {
        memcpy(&p.dtype, at, sizeof p.dtype);
        memcpy(&p.rank, at + sizeof p.dtype, sizeof p.rank);
    }
    if (e->kind != ENTRY_BYTES || p.rank > LIMIT_RANK ||
        e->value.bytes != CONTRACT_FIXED_BYTES + p.rank * sizeof *shape) {
        return err_set(err,
                       -CAIRN_ECORRUPT,
                       "contract: what it says of parameter %llu cannot be read",
                       (unsigned long long)e->id);
    }
    if (!dtype_param_ok(p.dtype)) {
        return err_set(err,
                       -CAIRN_ECORRUPT,
                       "contract: parameter %llu: %s (code %u) is no dtype of a parameter",
                       (unsigned long long)e->id,
                       dtype_name(p.dtype),
                       p.dtype);
    }
    memcpy(shape, at + CONTRACT_FIXED_BYTES, p.rank * sizeof *shape);
    p.shape = shape;
    return param_list_add(&k->list, &p, -CAIRN_ECORRUPT, err);
}

static int contract_check_version(const struct cairn_reader *reader, struct err *err)
{
    uint64_t version = 0;
    if (cairn_get_u64(reader, "version", &version) < 0) {
        return err_set(err, -CAIRN_ECORRUPT, "contract: it has no version");
    }
    if (version != CONTRACT_VERSION) {
        return err_set(err,
                       -CAIRN_EVERSION,
                       "contract: version %llu, this library reads %u: use a newer libcairn",
                       (unsigned long long)version,
                       CONTRACT_VERSION);
    }
    return 0;
}

static int contract_read(const struct cairn_reader *reader, struct contract *k, struct err *err)
{
    struct entry base_key = { .path = slice_str("base") };
    const struct entry *base = rec_find(reader, &base_key);
    int rc = contract_check_version(reader, err);
    if (rc == 0 && base != NULL) {
        if (base->kind != ENTRY_BYTES || base->value.bytes != sizeof k->base) {
            return err_set(err, -CAIRN_ECORRUPT, "contract: its base is not 16 bytes");
        }
        k->has_base = true;
        memcpy(k->base, base->value.data, sizeof k->base);
    }
    for (uint64_t i = 0; rc == 0 && i < reader->count; i++) {
        if ((reader->entries[i].flags & ENTRY_HAS_ID) != 0) {
            rc = contract_read_param(k, &reader->entries[i], err);
        }
    }
    return rc;
}

/* A record without a contract has one all the same: its model's floating tensors that have an id.
 */
static int contract_of_model(const struct cairn_reader *model, struct contract *k, struct err *err)
{
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < model->count; i++) {
        const struct entry *e = &model->entries[i];
        if (e->kind == ENTRY_TENSOR && (e->flags & ENTRY_HAS_ID) != 0 && dtype_param_ok(e->dtype)) {
            struct cairn_param p = { .id = e->id,
                                     .trainable = (e->flags & ENTRY_TRAINABLE) != 0,
                                     .dtype = e->dtype,
                                     .rank = e->rank,
                                     .shape = e->shape };
            rc = param_list_add(&k->list, &p, -CAIRN_ECORRUPT, err);
        }
    }
    return rc;
}

int contract_of_record(const struct cairn_record *r, struct contract *ret, struct err *err)
{
    const struct cairn_reader *reader = &r->components[COMPONENT_CONTRACT];
    struct contract k;
    contract_init(&k);
    int rc = reader->present ? contract_read(reader, &k, err)
                             : contract_of_model(&r->components[COMPONENT_MODEL], &k, err);
    if (rc == 0) {
        rc = contract_close(&k, -CAIRN_ECORRUPT, err);
    }
    return contract_take(&k, rc, ret);
}

/* ---- pending gradients ---- */

/* The entry of the list with this id and flag; NULL: none. */
static const struct cairn_param *
contract_find(const struct contract *k, uint64_t id, bool trainable)
{
    struct cairn_param key = { .id = id, .trainable = trainable };
    if (k->list.count == 0) {
        return NULL;
    }
    return bsearch(&key, k->list.params, k->list.count, sizeof key, param_cmp);
}

bool contract_has(const struct contract *k, uint64_t id)
{
    return contract_find(k, id, true) != NULL || contract_find(k, id, false) != NULL;
}

static const char *contract_gradient_wrong(const struct contract *k, const struct entry *g)
{
    const struct cairn_param *p = contract_find(k, g->id, true);
    if ((g->flags & ENTRY_HAS_ID) == 0) {
        return "has no id";
    }
    if (p == NULL) {
        return contract_find(k, g->id, false) != NULL ? "is that of a frozen parameter"
                                                      : "is not that of a parameter of the model";
    }
    if (dtype_is_quantized(p->dtype)) {
        return "belongs to a quantized parameter";
    }
    if (dtype_is_quantized(g->dtype)) {
        return "is quantized";
    }
    if (!dtype_is_floating(g->dtype)) {
        return "is not of a floating dtype";
    }
    return shape_same(g->rank, g->shape, p->rank, p->shape)
               ? NULL
               : "has another shape than its parameter";
}

int contract_check_gradients(const struct contract *k,
                             const struct cairn_reader *gradients,
                             int code,
                             struct err *err)
{
    for (uint64_t i = 0; i < gradients->count; i++) {
        const struct entry *g = &gradients->entries[i];
        const char *wrong = g->kind == ENTRY_TENSOR ? contract_gradient_wrong(k, g) : NULL;
        if (wrong != NULL) {
            return members_refuse(err, code, g, wrong);
        }
    }
    return 0;
}
