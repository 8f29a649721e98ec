/* part.c: parts of a loaded record. */
#include "cairn/part.h"

#include <fnmatch.h>
#include <stdlib.h>

#include "lib/call.h"
#include "lib/pending.h"
#include "lib/reader.h"
#include "lib/rec.h"

/* ---- a range ---- */

static int part_outside(const struct cairn_reader *r, const struct entry *e, struct span span)
{
    struct err *err = cl_err(r->record->c);
    (void)err_set(err,
                  -CAIRN_EINVAL,
                  "%s '%.*s': %llu bytes from %llu on are not inside its %llu",
                  component_name(r->component),
                  cl_shown(e->path),
                  (const char *)e->path.data,
                  (unsigned long long)span.bytes,
                  (unsigned long long)span.offset_bytes,
                  (unsigned long long)e->bytes);
    return err_at(err, r->component, e->path.data, e->path.bytes);
}

int cairn_get_range(const struct cairn_reader *r,
                    const struct cairn_entry *want,
                    uint64_t offset_bytes,
                    uint64_t bytes,
                    void *dst)
{
    const struct entry *e = NULL;
    struct span span = { offset_bytes, bytes };
    int rc = reader_look(r, want, &e);
    if (rc < 0) {
        return rc;
    }
    if (offset_bytes > e->bytes || bytes > e->bytes - offset_bytes) {
        return part_outside(r, e, span);
    }
    if (dst == NULL && bytes > 0) {
        return err_set(cl_err(r->record->c), -CAIRN_EINVAL, "a range needs a place for its bytes");
    }
    return reader_copy(r, e, span, dst);
}

/* ---- by name ---- */

struct named {
    const struct entry *e;
    void *dst;
};

struct names {
    const struct cairn_reader *r;
    struct named *list;
    size_t count, matched;
};

/* As they lie in the record; those that lie in the manifest first. */
static int named_cmp(const void *a, const void *b)
{
    const struct entry *x = ((const struct named *)a)->e;
    const struct entry *y = ((const struct named *)b)->e;
    if (x->first_chunk != y->first_chunk) {
        return x->first_chunk < y->first_chunk ? -1 : 1;
    }
    return (x->offset_bytes > y->offset_bytes) - (x->offset_bytes < y->offset_bytes);
}

static bool named_in_chunks(const struct entry *e)
{
    return e->bytes > 0 && e->value.bytes == 0;
}

/* The last chunk that has something of it. */
static uint32_t named_last(const struct entry *e)
{
    bool own = e->bytes >= LIMIT_OWN_CHUNK_BYTES;
    return e->first_chunk + (own ? (uint32_t)((e->bytes - 1) / LIMIT_CHUNK_BYTES) : 0);
}

static int names_add(struct names *n, const struct entry *e, cairn_place place, void *self)
{
    struct cairn_entry shown;
    void *dst = NULL;
    reader_show(e, &shown);
    n->matched++;
    int rc = place(self, &shown, &dst);
    if (rc == 0 && dst != NULL) {
        n->list[n->count++] = (struct named){ e, dst };
    }
    if (rc > 0) {
        rc = err_set(cl_err(n->r->record->c), -CAIRN_EINVAL, "the place callback returned %d", rc);
    }
    return rc;
}

static int names_match(struct names *n, const char *pattern, cairn_place place, void *self)
{
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < n->r->count; i++) {
        const struct entry *e = &n->r->entries[i];
        int other = 0; /* 0: it matches */
        if (e->kind == ENTRY_TENSOR && pattern != NULL) {
            other = fnmatch(pattern, (const char *)e->path.data, 0);
        }
        if (other != 0 && other != FNM_NOMATCH) {
            rc = err_set(cl_err(n->r->record->c), -CAIRN_ENOMEM, "no memory to match names");
        } else if (e->kind == ENTRY_TENSOR && other == 0) {
            rc = names_add(n, e, place, self);
        }
    }
    if (rc == 0 && n->matched == 0) {
        rc = err_set(cl_err(n->r->record->c),
                     -CAIRN_ENOENT,
                     "%s: no tensor matches '%s'",
                     component_name(n->r->component),
                     pattern == NULL ? "*" : pattern);
    }
    return rc;
}

/* Behind the chunks that will be read from the first on without a gap. */
static uint32_t names_run_end(const struct names *n, size_t first)
{
    uint32_t end = named_last(n->list[first].e) + 1;
    for (size_t i = first + 1; i < n->count && n->list[i].e->first_chunk <= end; i++) {
        uint32_t last = named_last(n->list[i].e);
        end = last + 1 > end ? last + 1 : end;
    }
    return end;
}

static int names_read(const struct names *n)
{
    struct cairn *c = n->r->record->c;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n->count; i++) {
        const struct named *named = &n->list[i];
        if (c != NULL && named_in_chunks(named->e) && named->e->first_chunk >= c->plan.until) {
            c->plan.until = names_run_end(n, i);
        }
        rc = reader_copy(n->r, named->e, span_of(named->e), named->dst);
    }
    if (c != NULL) {
        c->plan.until = 0;
    }
    return rc;
}

int cairn_get_named(const struct cairn_reader *r,
                    const char *pattern,
                    cairn_place place,
                    void *self,
                    uint64_t *ret_count)
{
    if (r == NULL || place == NULL) {
        return -CAIRN_EINVAL;
    }
    struct names names = { .r = r, .list = calloc(r->count + 1, sizeof *names.list) };
    if (names.list == NULL) {
        return err_set(cl_err(r->record->c), -CAIRN_ENOMEM, "no memory for names");
    }
    int rc = names_match(&names, pattern, place, self);
    if (rc == 0) {
        qsort(names.list, names.count, sizeof *names.list, named_cmp);
        rc = names_read(&names);
    }
    if (rc == 0 && ret_count != NULL) {
        *ret_count = names.count;
    }
    free(names.list);
    return rc;
}
