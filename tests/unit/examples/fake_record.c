#include "fake_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { FAKE_COMPONENTS = 5, FAKE_ENTRIES = 128, FAKE_PATH = 64 };

struct fake_entry {
    int component;
    bool forgotten;
    char path[FAKE_PATH];
    struct cairn_entry about;
    uint64_t shape[2];
    unsigned char *value;
    size_t bytes;
};

struct fake_record {
    struct fake_entry entry[FAKE_ENTRIES];
    size_t count;
    struct cairn_window window;
};

struct cairn_writer {
    struct fake_record *record;
    int component;
};

struct cairn_reader {
    struct fake_record *record;
    int component;
};

static struct fake_entry *
fake_add(struct cairn_writer *w, const char *path, uint64_t id, const void *value, size_t bytes)
{
    struct fake_entry *e = &w->record->entry[w->record->count++];
    cr_assert_leq(w->record->count, FAKE_ENTRIES);
    cr_assert_lt(strlen(path), FAKE_PATH);
    (void)snprintf(e->path, sizeof e->path, "%s", path);
    e->component = w->component;
    e->about.id = id;
    e->bytes = bytes;
    e->value = malloc(bytes);
    cr_assert_not_null(e->value);
    memcpy(e->value, value, bytes);
    return e;
}

static int
fake_find(const struct cairn_reader *r, const char *path, uint64_t id, struct fake_entry **ret)
{
    for (size_t i = 0; i < r->record->count; i++) {
        struct fake_entry *e = &r->record->entry[i];
        if (e->component == r->component && !e->forgotten && e->about.id == id &&
            strcmp(e->path, path) == 0) {
            *ret = e;
            return 0;
        }
    }
    return -CAIRN_ENOENT;
}

static int fake_number(const struct cairn_reader *r, const char *path, uint64_t id, void *ret)
{
    struct fake_entry *e = NULL;
    int rc = fake_find(r, path, id, &e);
    if (rc == 0) {
        cr_assert_eq(e->bytes, sizeof(uint64_t));
        memcpy(ret, e->value, e->bytes);
    }
    return rc;
}

int cairn_put(struct cairn_writer *w, const struct cairn_entry *e, const void *data)
{
    size_t bytes = e->dtype == CAIRN_BF16 ? 2 : 4;
    for (uint32_t i = 0; i < e->rank; i++) {
        bytes *= e->shape[i];
    }
    struct fake_entry *added = fake_add(w, e->path, e->id, data, bytes);
    added->about = *e;
    memcpy(added->shape, e->shape, e->rank * sizeof *e->shape);
    return 0;
}

int cairn_get(const struct cairn_reader *r, const struct cairn_entry *want, void *dst)
{
    struct fake_entry *e = NULL;
    int rc = fake_find(r, want->path, want->id, &e);
    if (rc < 0) {
        return rc;
    }
    if (e->about.dtype != want->dtype || e->about.rank != want->rank ||
        e->about.flags != want->flags ||
        memcmp(e->shape, want->shape, want->rank * sizeof *want->shape) != 0) {
        return -CAIRN_EMISMATCH;
    }
    if (dst != NULL) {
        memcpy(dst, e->value, e->bytes);
    }
    return 0;
}

int cairn_entry_at(const struct cairn_reader *r, uint64_t index, struct cairn_entry *ret)
{
    for (size_t i = 0; i < r->record->count; i++) {
        struct fake_entry *e = &r->record->entry[i];
        if (e->component == r->component && !e->forgotten && index-- == 0) {
            *ret = e->about;
            return 0;
        }
    }
    return -CAIRN_ENOENT;
}

int cairn_put_u64(struct cairn_writer *w, const char *path, uint64_t v)
{
    (void)fake_add(w, path, 0, &v, sizeof v);
    return 0;
}

int cairn_put_i64(struct cairn_writer *w, const char *path, int64_t v)
{
    (void)fake_add(w, path, 0, &v, sizeof v);
    return 0;
}

int cairn_put_f64(struct cairn_writer *w, const char *path, double v)
{
    (void)fake_add(w, path, 0, &v, sizeof v);
    return 0;
}

int cairn_put_id_u64(struct cairn_writer *w, const char *path, uint64_t id, uint64_t v)
{
    (void)fake_add(w, path, id, &v, sizeof v);
    return 0;
}

int cairn_get_u64(const struct cairn_reader *r, const char *path, uint64_t *ret)
{
    return fake_number(r, path, 0, ret);
}

int cairn_get_i64(const struct cairn_reader *r, const char *path, int64_t *ret)
{
    return fake_number(r, path, 0, ret);
}

int cairn_get_f64(const struct cairn_reader *r, const char *path, double *ret)
{
    return fake_number(r, path, 0, ret);
}

int cairn_get_id_u64(const struct cairn_reader *r, const char *path, uint64_t id, uint64_t *ret)
{
    return fake_number(r, path, id, ret);
}

static const struct cairn_component *fake_component(const struct cairn_trainer *t, int i)
{
    const struct cairn_component *components[FAKE_COMPONENTS] = {
        &t->accumulator, &t->model, &t->optimizer, &t->scheduler, &t->state
    };
    return components[i];
}

struct fake_record *fake_capture(const struct cairn_trainer *t)
{
    struct fake_record *r = calloc(1, sizeof *r);
    cr_assert_not_null(r);
    for (int i = 0; i < FAKE_COMPONENTS; i++) {
        struct cairn_writer w = { .record = r, .component = i };
        cr_assert_eq(fake_component(t, i)->put(fake_component(t, i)->self, &w), 0);
    }
    r->window = *t->window;
    return r;
}

int fake_fit(struct fake_record *r, const struct cairn_trainer *t)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < FAKE_COMPONENTS; i++) {
        struct cairn_reader reader = { .record = r, .component = i };
        rc = fake_component(t, i)->fit(fake_component(t, i)->self, &reader);
    }
    return rc;
}

int fake_restore(struct fake_record *r, const struct cairn_trainer *t)
{
    int rc = fake_fit(r, t);
    for (int i = 0; rc == 0 && i < FAKE_COMPONENTS; i++) {
        struct cairn_reader reader = { .record = r, .component = i };
        rc = fake_component(t, i)->get(fake_component(t, i)->self, &reader);
    }
    if (rc == 0) {
        *t->window = r->window;
    }
    return rc;
}

void fake_free(struct fake_record *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->entry[i].value);
    }
    free(r);
}

size_t fake_count(const struct fake_record *r)
{
    return r->count;
}

void fake_forget(struct fake_record *r, size_t at)
{
    r->entry[at].forgotten = true;
}

void fake_remember(struct fake_record *r, size_t at)
{
    r->entry[at].forgotten = false;
}

const char *fake_path(const struct fake_record *r, size_t at)
{
    return r->entry[at].path;
}
