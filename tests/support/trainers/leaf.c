#include "support/trainers/leaf.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { LEAF_SCALAR_BYTES = 8 };

static uint64_t leaf_tensor_bytes(const struct cairn_entry *e)
{
    uint64_t bytes = cairn_dtype_bits(e->dtype) / 8;
    for (uint32_t i = 0; i < e->rank; i++) {
        bytes *= e->shape[i];
    }
    return bytes;
}

void leaves_add(struct leaves *s,
                enum cairn_component_id component,
                const struct cairn_entry *e,
                void *at,
                bool *there)
{
    assert(s->count < LEAVES_MAX && strlen(e->path) < LEAF_PATH_BYTES);
    struct leaf *l = &s->at[s->count++];
    *l = (struct leaf){ .component = component, .entry = *e, .at = at };
    l->there = there;
    (void)snprintf(l->path, sizeof l->path, "%s", e->path);
    if (e->bytes == 0) {
        l->entry.bytes = e->kind == CAIRN_TENSOR ? leaf_tensor_bytes(e) : LEAF_SCALAR_BYTES;
    }
}

/* The list may have been copied: the path is where the leaf is. */
static struct cairn_entry leaf_entry(const struct leaf *l)
{
    struct cairn_entry e = l->entry;
    e.path = l->path;
    return e;
}

static bool leaf_there(const struct leaf *l)
{
    return l->there == NULL || *l->there;
}

static int leaf_put(const struct leaf *l, struct cairn_writer *w)
{
    struct cairn_entry e = leaf_entry(l);
    switch (e.kind) {
    case CAIRN_SCALAR_I64:
        return cairn_put_i64(w, l->path, *(const int64_t *)l->at);
    case CAIRN_SCALAR_F64:
        return cairn_put_f64(w, l->path, *(const double *)l->at);
    case CAIRN_SCALAR_U64:
        return (e.flags & CAIRN_HAS_ID) != 0
                   ? cairn_put_id_u64(w, l->path, e.id, *(const uint64_t *)l->at)
                   : cairn_put_u64(w, l->path, *(const uint64_t *)l->at);
    default:
        return cairn_put(w, &e, l->at);
    }
}

/* With `at` NULL a tensor is only compared. */
static int leaf_read(const struct leaf *l, const struct cairn_reader *r, void *at)
{
    struct cairn_entry e = leaf_entry(l);
    uint64_t looked_at = 0;
    void *to = at == NULL ? &looked_at : at;
    switch (e.kind) {
    case CAIRN_SCALAR_I64:
        return cairn_get_i64(r, l->path, to);
    case CAIRN_SCALAR_F64:
        return cairn_get_f64(r, l->path, to);
    case CAIRN_SCALAR_U64:
        return (e.flags & CAIRN_HAS_ID) != 0 ? cairn_get_id_u64(r, l->path, e.id, to)
                                             : cairn_get_u64(r, l->path, to);
    default:
        return cairn_get(r, &e, at);
    }
}

int leaves_put(const struct leaves *s, enum cairn_component_id c, struct cairn_writer *w)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        const struct leaf *l = &s->at[i];
        if (l->component == c && leaf_there(l)) {
            rc = leaf_put(l, w);
        }
    }
    return rc;
}

int leaves_fit(const struct leaves *s, enum cairn_component_id c, const struct cairn_reader *r)
{
    struct cairn_entry beyond;
    uint64_t known = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        const struct leaf *l = &s->at[i];
        if (l->component != c) {
            continue;
        }
        rc = leaf_read(l, r, NULL);
        known += rc == 0 ? 1 : 0;
        rc = rc == -CAIRN_ENOENT && l->there != NULL ? 0 : rc;
    }
    if (rc == 0 && cairn_entry_at(r, known, &beyond) == 0) {
        (void)fprintf(stderr, "trainer: component %d has entries that no leaf is for\n", (int)c);
        return -CAIRN_EMISMATCH;
    }
    return rc;
}

static int leaf_get(const struct leaf *l, const struct cairn_reader *r)
{
    int rc = leaf_read(l, r, l->at);
    if (l->there == NULL) {
        return rc;
    }
    *l->there = rc == 0;
    if (rc == -CAIRN_ENOENT) {
        memset(l->at, 0, l->entry.bytes);
        return 0;
    }
    return rc;
}

int leaves_get(const struct leaves *s, enum cairn_component_id c, const struct cairn_reader *r)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        if (s->at[i].component == c) {
            rc = leaf_get(&s->at[i], r);
        }
    }
    return rc;
}

static void leaf_print(const struct leaf *l, FILE *to)
{
    static const char *const components[] = {
        [CAIRN_MODEL] = "model",         [CAIRN_OPTIMIZER] = "optimizer",
        [CAIRN_SCHEDULER] = "scheduler", [CAIRN_GRADIENTS] = "gradients",
        [CAIRN_STATE] = "state",         [CAIRN_WINDOW] = "window"
    };
    const struct cairn_entry *e = &l->entry;
    const uint8_t *bytes = l->at;
    (void)fprintf(to, "%s %s #%" PRIu64 "/%x", components[l->component], l->path, e->id, e->flags);
    if (e->kind == CAIRN_TENSOR) {
        (void)fprintf(to, " %s", cairn_dtype_name(e->dtype));
    }
    for (uint32_t i = 0; i < e->rank; i++) {
        (void)fprintf(to, " x%" PRIu64, e->shape[i]);
    }
    (void)fprintf(to, leaf_there(l) ? ": " : ": absent");
    for (uint64_t i = 0; leaf_there(l) && i < e->bytes; i++) {
        (void)fprintf(to, "%02x", bytes[i]);
    }
    (void)fprintf(to, "\n");
}

void leaves_print(const struct leaves *s, FILE *to)
{
    for (size_t i = 0; i < s->count; i++) {
        leaf_print(&s->at[i], to);
    }
}

bool leaf_same(const struct leaf *a, const struct leaf *b)
{
    bool there = leaf_there(a);
    return there == leaf_there(b) && a->entry.bytes == b->entry.bytes &&
           (!there || memcmp(a->at, b->at, a->entry.bytes) == 0);
}

void leaf_copy(const struct leaf *to, const struct leaf *from)
{
    assert(to->entry.bytes == from->entry.bytes);
    memcpy(to->at, from->at, to->entry.bytes);
    if (to->there != NULL) {
        *to->there = leaf_there(from);
    }
}
