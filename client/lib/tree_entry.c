/* tree_entry.c: a tree as an entry of a component: put, and got back.
 *
 * Its bytes are a tensor of dtype OPAQUE, which no precision converts, with one dimension; what
 * tells it from other opaque tensors is its magic. */
#include <stdlib.h>

#include "lib/capture.h"
#include "lib/tree.h"
#include "record/rules.h"

static struct entry entry_of_ref(const struct cairn_node *ref)
{
    return (struct entry){ .path = slice_of(ref->data, ref->bytes),
                           .id = ref->id,
                           .flags = ref->flags };
}

/* Where the id is no part of the key, a reference that has one must still name the right tensor. */
static int entry_is_meant(const struct entry *e, const struct entry *ref)
{
    bool has_id = (ref->flags & ENTRY_HAS_ID) != 0;
    if (e == NULL || e->kind != ENTRY_TENSOR ||
        (has_id && ((e->flags & ENTRY_HAS_ID) == 0 || e->id != ref->id))) {
        return -CAIRN_ENOENT;
    }
    return 0;
}

static int entry_fault(struct err *err, int rc, const struct tree_fault *f, const char *path)
{
    const char *where = f->place.bytes == 0 ? "its root" : f->place.text;
    return err_set(err, rc, "tree '%.100s': at '%s': %s", path, where, f->what);
}

/* ---- put ---- */

/* The entries of a component that is still being put are in no order: they are sorted when the
 * first reference is met. */
struct entry_put_refs {
    const struct cairn_reader *component;
    const struct entry **sorted;
};

static int entry_sort_cmp(const void *a, const void *b, void *arg)
{
    const struct entry_put_refs *refs = arg;
    return entry_cmp(refs->component->component,
                     *(const struct entry *const *)a,
                     *(const struct entry *const *)b);
}

static int entry_sort(struct entry_put_refs *refs)
{
    uint64_t count = refs->component->count;
    refs->sorted = calloc(count + 1, sizeof(struct entry *));
    if (refs->sorted == NULL) {
        return -CAIRN_ENOMEM;
    }
    for (uint64_t i = 0; i < count; i++) {
        refs->sorted[i] = &refs->component->entries[i];
    }
    qsort_r(refs->sorted, count, sizeof(struct entry *), entry_sort_cmp, refs);
    return 0;
}

static int entry_was_put(void *arg, const struct cairn_node *node)
{
    struct entry_put_refs *refs = arg;
    struct entry ref = entry_of_ref(node);
    if (refs->sorted == NULL && entry_sort(refs) < 0) {
        return -CAIRN_ENOMEM;
    }
    uint64_t low = 0;
    uint64_t high = refs->component->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (entry_cmp(refs->component->component, refs->sorted[middle], &ref) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct entry *e = low < refs->component->count ? refs->sorted[low] : NULL;
    if (e != NULL && entry_cmp(refs->component->component, e, &ref) != 0) {
        e = NULL;
    }
    return entry_is_meant(e, &ref);
}

static int entry_check_put(struct cairn_writer *w, const char *path, const struct cairn_tree *t)
{
    struct err *err = &w->cap->c->err;
    struct tree_fault fault = { .rc = -CAIRN_EINVAL };
    struct entry_put_refs refs = { .component = &w->cap->r->components[w->component] };
    if (t->fault.rc < 0) {
        return entry_fault(err, t->fault.rc, &t->fault, path);
    }
    fault.what = tree_unfinished(t);
    if (fault.what != NULL) {
        return entry_fault(err, -CAIRN_EINVAL, &fault, path);
    }
    int rc = tree_check(slice_of(t->blob, t->bytes), entry_was_put, &refs, &fault);
    free(refs.sorted);
    return rc < 0 ? entry_fault(err, rc, &fault, path) : 0;
}

int cairn_put_tree(struct cairn_writer *w, const char *path, const struct cairn_tree *t)
{
    struct entry e = { .path = slice_str(path) };
    if (w == NULL) {
        return -CAIRN_EINVAL;
    }
    if (path == NULL || t == NULL) {
        int rc = err_set(&w->cap->c->err, -CAIRN_EINVAL, "putting a tree needs a path and a tree");
        return writer_fail(w, rc, &e);
    }
    int rc = entry_check_put(w, path, t);
    if (rc < 0) {
        return writer_fail(w, rc, &e);
    }
    uint64_t bytes = t->bytes;
    struct cairn_entry tensor = opaque_entry(path, &bytes);
    return cairn_put(w, &tensor, t->blob);
}

/* ---- get ---- */

struct cairn_entry opaque_entry(const char *path, const uint64_t *bytes)
{
    return (struct cairn_entry){
        .path = path, .dtype = CAIRN_OPAQUE, .rank = 1, .shape = bytes, .bytes = *bytes
    };
}

int opaque_find(const struct cairn_reader *r, const char *path, uint64_t *ret_bytes)
{
    struct entry key = { .path = slice_str(path) };
    const struct entry *e = rec_find(r, &key);
    uint64_t bytes = e == NULL ? 0 : e->bytes;
    struct cairn_entry want = opaque_entry(path, &bytes);
    int rc = cairn_get(r, &want, NULL); /* tells what is there instead */
    if (rc == 0) {
        *ret_bytes = bytes;
    }
    return rc;
}

static int entry_is_there(void *arg, const struct cairn_node *node)
{
    struct entry ref = entry_of_ref(node);
    return entry_is_meant(rec_find(arg, &ref), &ref);
}

/* What was stored is what was read: a tree that breaks the rules was written so. */
static int entry_check_got(struct cairn_reader *r, const char *path, const struct cairn_tree *t)
{
    struct err *err = cl_err(r->record->c);
    struct tree_fault fault = { .rc = 0 };
    int rc = tree_check(slice_of(t->blob, t->bytes), entry_is_there, r, &fault);
    if (rc == 0) {
        return 0;
    }
    if (rc != -CAIRN_EMISMATCH && rc != -CAIRN_EVERSION && rc != -CAIRN_ENOMEM) {
        rc = -CAIRN_ECORRUPT;
    }
    (void)entry_fault(err, rc, &fault, path);
    return err_at(err, r->component, path, strlen(path));
}

static int entry_read(const struct cairn_reader *r, const char *path, struct cairn_tree *t)
{
    uint64_t bytes = 0;
    int rc = opaque_find(r, path, &bytes);
    if (rc < 0) {
        return rc;
    }
    t->loaded = true;
    t->bytes = bytes;
    t->blob = malloc(bytes + 1);
    if (t->blob == NULL) {
        return err_set(cl_err(r->record->c),
                       -CAIRN_ENOMEM,
                       "no memory for a tree of %llu bytes",
                       (unsigned long long)bytes);
    }
    struct cairn_entry want = opaque_entry(path, &bytes);
    return cairn_get(r, &want, t->blob);
}

int cairn_get_tree(const struct cairn_reader *r, const char *path, struct cairn_tree **ret)
{
    if (r == NULL || path == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    struct cairn_tree *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return err_set(cl_err(r->record->c), -CAIRN_ENOMEM, "no memory for a tree");
    }
    int rc = entry_read(r, path, t);
    if (rc == 0) {
        rc = entry_check_got(&r->record->components[r->component], path, t);
    }
    if (rc < 0) {
        (void)cairn_tree_free(t);
        return rc;
    }
    *ret = t;
    return 0;
}
