/* Records for the tests, packed as the library packs them. */
#include <cairn/record.h>
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"
#include "internal/ckd.h"
#include "record/dtype.h"
#include "record/rules.h"

static const enum component rec_put_order[] = {
    COMPONENT_GRADIENTS, COMPONENT_MODEL, COMPONENT_OPTIMIZER, COMPONENT_SCHEDULER, COMPONENT_STATE
};

static void *rec_alloc(size_t bytes)
{
    void *data = calloc(1, bytes);
    cr_assert_not_null(data);
    return data;
}

static uint64_t rec_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

struct rec *rec_new(uint64_t step, uint64_t seed)
{
    struct rec *r = rec_alloc(sizeof *r);
    r->seed = seed * 0x9e3779b97f4a7c15u + 1;
    r->page_entries = LIMIT_ENTRIES_PER_PAGE;
    r->b = (struct boundary){ .step = step, .exact = true, .world = 1, .local_parts = 1 };
    for (size_t i = 0; i < sizeof r->b.save_id; i++) {
        r->b.save_id[i] = (uint8_t)(rec_random(&r->seed) >> 24);
    }
    r->layout = layout_new();
    cr_assert_not_null(r->layout);
    for (unsigned c = 1; c < COMPONENT_NR; c++) {
        r->entries[c] = rec_alloc(REC_ENTRIES_MAX * sizeof *r->entries[c]);
        r->values[c] = rec_alloc(REC_ENTRIES_MAX * sizeof *r->values[c]);
    }
    return r;
}

struct rec *rec_free(struct rec *r)
{
    for (unsigned c = 1; c < COMPONENT_NR; c++) {
        for (uint32_t i = 0; i < r->counts[c]; i++) {
            union {
                const void *in;
                void *out;
            } path = { .in = r->entries[c][i].path.data }, shape = { .in = r->entries[c][i].shape };
            free(path.out);
            free(shape.out);
            free(r->values[c][i]);
        }
        free(r->entries[c]);
        free(r->values[c]);
    }
    r->layout = layout_free(r->layout);
    free(r->region);
    free(r);
    return NULL;
}

static struct entry *rec_add(struct rec *r, enum component c, const char *path, size_t bytes)
{
    cr_assert_lt(r->counts[c], REC_ENTRIES_MAX);
    uint32_t index = r->counts[c]++;
    struct entry *e = &r->entries[c][index];
    char *copy = strdup(path);
    cr_assert_not_null(copy);
    r->values[c][index] = rec_alloc(bytes + 1);
    *e = (struct entry){ .path = slice_str(copy), .kind = ENTRY_TENSOR, .bytes = bytes };
    /* Only the place in the arrays is known before sorting: remember it here. */
    e->first_chunk = index;
    return e;
}

void rec_tensor(struct rec *r,
                enum component c,
                const char *path,
                uint32_t dtype,
                uint32_t rank,
                const uint64_t *shape)
{
    uint64_t bytes = 0;
    cr_assert(dtype_bytes(dtype, rank, shape, &bytes));
    struct entry *e = rec_add(r, c, path, bytes);
    uint64_t *dims = rec_alloc((rank + 1) * sizeof *dims);
    if (rank > 0) {
        memcpy(dims, shape, rank * sizeof *dims);
    }
    e->dtype = dtype;
    e->rank = rank;
    e->shape = dims;
    if (c == COMPONENT_MODEL) {
        e->flags = ENTRY_TRAINABLE;
    }
    uint8_t *value = r->values[c][e->first_chunk];
    for (uint64_t i = 0; i < bytes; i += 8) {
        uint64_t word = rec_random(&r->seed);
        memcpy(value + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

void rec_floats(struct rec *r, enum component c, const char *path, uint64_t count)
{
    rec_tensor(r, c, path, CAIRN_F32, 1, &count);
}

void rec_scalar(struct rec *r,
                enum component c,
                const char *path,
                enum entry_kind kind,
                const void *data,
                size_t bytes)
{
    struct entry *e = rec_add(r, c, path, bytes);
    e->kind = kind;
    if (bytes > 0) {
        memcpy(r->values[c][e->first_chunk], data, bytes);
    }
}

/* ---- building -------------------------------------------------------------------------------- */

struct rec_place {
    enum component c;
    uint32_t index;
    uint64_t offset;
};

/* Places all tensors of a component; returns how many are in the list. */
static uint32_t rec_pack(struct rec *r, enum component c, struct rec_place *places)
{
    uint32_t count = 0;
    struct err err = { .code = 0 };
    bool is_inline = false;
    layout_begin(r->layout, c);
    for (uint32_t i = 0; i < r->counts[c]; i++) {
        struct entry *e = &r->entries[c][i];
        e->first_chunk = 0;
        if (e->kind == ENTRY_TENSOR && e->bytes > 0) {
            places[count] = (struct rec_place){ .c = c, .index = i };
            int rc = layout_place(r->layout,
                                  e->bytes,
                                  (e->flags & ENTRY_TRAINABLE) != 0,
                                  &e->first_chunk,
                                  &e->offset_bytes,
                                  &places[count].offset,
                                  &err);
            cr_assert_eq(rc, 0, "%s", err.msg);
            count++;
        }
    }
    layout_end(r->layout, &is_inline);
    for (uint32_t i = 0; i < r->counts[c]; i++) {
        struct entry *e = &r->entries[c][i];
        if (e->kind != ENTRY_TENSOR || is_inline || e->bytes == 0) {
            e->value = slice_of(r->values[c][i], e->bytes);
            e->first_chunk = 0;
            e->offset_bytes = 0;
        }
    }
    return is_inline ? 0 : count;
}

static void rec_fill(struct rec *r, const struct rec_place *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct entry *e = &r->entries[places[i].c][places[i].index];
        memcpy(r->region + places[i].offset, r->values[places[i].c][places[i].index], e->bytes);
    }
    for (uint32_t i = 0; i < layout_chunk_count(r->layout); i++) {
        struct layout_chunk *c = layout_chunk_at(r->layout, i);
        c->chunk.digest = digest_bytes(r->region + c->region_offset, c->chunk.bytes);
    }
}

static void rec_digest(struct rec *r, enum component c, uint32_t index)
{
    struct entry *e = &r->entries[c][index];
    struct chunk own[64];
    if (e->value.bytes == e->bytes || e->bytes < LIMIT_OWN_CHUNK_BYTES) {
        e->digest = digest_bytes(r->values[c][index], e->bytes);
        return;
    }
    uint32_t count = (uint32_t)((e->bytes + LIMIT_CHUNK_BYTES - 1) / LIMIT_CHUNK_BYTES);
    cr_assert_leq(count, 64);
    for (uint32_t i = 0; i < count; i++) {
        own[i] = layout_chunk_at(r->layout, e->first_chunk + i)->chunk;
    }
    e->digest = digest_of_chunks(own, count);
}

/* Insertion sort of entries with their values: records of tests are short or sorted already. */
static void rec_sort(struct rec *r, enum component c)
{
    for (uint32_t i = 1; i < r->counts[c]; i++) {
        struct entry e = r->entries[c][i];
        uint8_t *value = r->values[c][i];
        uint32_t at = i;
        for (; at > 0 && entry_cmp(c, &r->entries[c][at - 1], &e) > 0; at--) {
            r->entries[c][at] = r->entries[c][at - 1];
            r->values[c][at] = r->values[c][at - 1];
        }
        r->entries[c][at] = e;
        r->values[c][at] = value;
    }
}

static void rec_sum(struct rec *r, enum component c)
{
    static const char type[] = "test type";
    struct component_info *info = &r->infos[r->info_count++];
    struct component_digest *d = component_digest_new(c, slice_str(type));
    cr_assert_not_null(d);
    *info = (struct component_info){ .component = c, .type = slice_str(type) };
    info->entry_count = r->counts[c];
    info->page_count = (r->counts[c] + r->page_entries - 1) / r->page_entries;
    for (uint32_t i = 0; i < r->counts[c]; i++) {
        info->bytes += r->entries[c][i].bytes;
        component_digest_entry(d, &r->entries[c][i]);
    }
    for (uint32_t i = 0; i < layout_chunk_count(r->layout); i++) {
        info->chunk_count += layout_chunk_at(r->layout, i)->chunk.component == c ? 1 : 0;
    }
    info->digest = component_digest_end(d);
    (void)component_digest_free(d);
    r->b.entry_count += info->entry_count;
    r->b.payload_bytes += info->bytes;
}

void rec_build(struct rec *r)
{
    struct rec_place *places = rec_alloc(sizeof *places * 5 * REC_ENTRIES_MAX);
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof rec_put_order / sizeof rec_put_order[0]; i++) {
        count += rec_pack(r, rec_put_order[i], places + count);
    }
    size_t bytes = (size_t)round_up_u64(layout_region_bytes(r->layout) + 1, LIMIT_PAGE_BYTES);
    cr_assert_eq(posix_memalign((void **)&r->region, LIMIT_PAGE_BYTES, bytes), 0);
    memset(r->region, 0, bytes);
    rec_fill(r, places, count);
    free(places);
    for (unsigned c = COMPONENT_MODEL; c <= COMPONENT_STATE; c++) {
        for (uint32_t i = 0; i < r->counts[c]; i++) {
            rec_digest(r, (enum component)c, i);
        }
        rec_sort(r, (enum component)c);
        rec_sum(r, (enum component)c);
    }
    r->b.chunk_count = layout_chunk_count(r->layout);
    r->b.stored_bytes = layout_stored_bytes(r->layout);
    r->b.root = digest_root(&r->b, r->infos, r->info_count);
}

struct rec *rec_small(uint64_t step, uint64_t seed)
{
    struct rec *r = rec_new(step, seed);
    const uint64_t rate = 0x3f50624dd2f1a9fcu;
    rec_floats(r, COMPONENT_MODEL, "layer.0.weight", 30000);
    rec_floats(r, COMPONENT_MODEL, "layer.0.bias", 37);
    rec_floats(r, COMPONENT_OPTIMIZER, "layer.0.weight.m", 30000);
    rec_scalar(r, COMPONENT_SCHEDULER, "rate", ENTRY_F64, &rate, sizeof rate);
    rec_scalar(r, COMPONENT_STATE, "note", ENTRY_STRING, "hello", 5);
    rec_build(r);
    cr_assert_eq(r->b.chunk_count, 2);
    return r;
}

struct rec *rec_big(uint64_t step, uint64_t seed, uint32_t chunks)
{
    struct rec *r = rec_new(step, seed);
    uint64_t bytes = (uint64_t)chunks * LIMIT_CHUNK_BYTES - UINT64_C(3) * LIMIT_PAGE_BYTES - 4;
    rec_floats(r, COMPONENT_MODEL, "big", bytes / 4);
    rec_build(r);
    cr_assert_eq(r->b.chunk_count, chunks);
    return r;
}

struct rec *rec_tiny(uint64_t step, uint64_t seed)
{
    struct rec *r = rec_new(step, seed);
    rec_floats(r, COMPONENT_MODEL, "w", 100);
    rec_build(r);
    cr_assert_eq(r->b.chunk_count, 0);
    return r;
}

/* ---- saving and comparing -------------------------------------------------------------------- */

static int rec_feed_chunks(const struct rec *r, struct st_manifest *m, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < r->b.chunk_count; i++) {
        rc = st_manifest_chunks(m, i, &layout_chunk_at(r->layout, i)->chunk, 1, err);
    }
    return rc;
}

int rec_manifest(const struct rec *r, struct st_manifest **ret, struct err *err)
{
    int rc = st_manifest_new(&r->b, ret, err);
    rc = rc < 0 ? rc : rec_feed_chunks(r, *ret, err);
    for (unsigned c = 1; c < COMPONENT_NR; c++) {
        for (uint32_t i = 0; rc == 0 && i * r->page_entries < r->counts[c]; i++) {
            uint32_t first = i * r->page_entries;
            uint32_t left = r->counts[c] - first;
            struct wire_entries page = { .component = (enum component)c,
                                         .page = i,
                                         .entries = r->entries[c] + first,
                                         .count = left < r->page_entries ? left : r->page_entries };
            rc = st_manifest_entries(*ret, &page, err);
        }
    }
    return rc < 0 ? rc : st_manifest_seal(*ret, r->infos, r->info_count, &r->b.root, err);
}

int rec_write(
    const struct rec *r, struct st_save *save, uint32_t first, uint32_t count, struct err *err)
{
    int rc = 0;
    for (uint32_t i = first; rc == 0 && i < first + count; i++) {
        const struct layout_chunk *c = layout_chunk_at(r->layout, i);
        bool shared = false;
        rc = r->alone ? 0 : st_save_share(save, i, &c->chunk, &shared, err);
        rc = rc < 0 || shared
                 ? rc
                 : st_save_write(save, i, &c->chunk, r->region + c->region_offset, err);
    }
    return rc;
}

int rec_save(struct rec *r, struct st_run *run, struct err *err)
{
    struct st_manifest *m = NULL;
    struct st_save *save = NULL;
    int rc = rec_manifest(r, &m, err);
    cr_assert_eq(rc, 0, "%s", err->msg);
    rc = st_save_begin(run, &r->b, &save, err);
    rc = rc < 0 ? rc : rec_write(r, save, 0, r->b.chunk_count, err);
    rc = rc < 0 ? rc : st_save_commit(&save, m, &r->b, err);
    save = st_save_abort(save);
    m = st_manifest_free(m);
    return rc;
}

static void rec_compare_value(const struct rec *r,
                              enum component c,
                              uint32_t index,
                              struct st_load *load,
                              const struct entry *found)
{
    const struct entry *e = &r->entries[c][index];
    struct err err = { .code = 0 };
    if (e->bytes == e->value.bytes) {
        cr_assert_eq(found->value.bytes, e->bytes);
        cr_assert(e->bytes == 0 || memcmp(found->value.data, r->values[c][index], e->bytes) == 0);
        return;
    }
    uint8_t *buffer = NULL;
    cr_assert_eq(posix_memalign((void **)&buffer, LIMIT_PAGE_BYTES, LIMIT_CHUNK_BYTES), 0);
    uint64_t done = 0;
    for (uint32_t chunk = found->first_chunk; done < e->bytes; chunk++) {
        uint64_t part = st_load_chunk(load, chunk)->bytes - found->offset_bytes;
        part = part < e->bytes - done ? part : e->bytes - done;
        cr_assert_eq(st_load_read(load, chunk, buffer, &err), 0, "%s", err.msg);
        cr_assert_eq(memcmp(buffer + found->offset_bytes, r->values[c][index] + done, part),
                     0,
                     "%.*s differs",
                     (int)e->path.bytes,
                     (const char *)e->path.data);
        done += part;
    }
    free(buffer);
}

static void rec_compare_entry(const struct entry *a, const struct entry *b)
{
    cr_assert_eq(slice_cmp(a->path, b->path), 0);
    cr_assert_eq(a->kind, b->kind);
    cr_assert_eq(a->flags, b->flags);
    cr_assert_eq(a->id, b->id);
    cr_assert_eq(a->dtype, b->dtype);
    cr_assert_eq(a->rank, b->rank);
    cr_assert(a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
    cr_assert_eq(a->bytes, b->bytes);
    cr_assert(digest_equal(&a->digest, &b->digest));
}

static void
rec_compare_component(const struct rec *r, struct st_load *load, const struct component_info *info)
{
    enum component c = info->component;
    struct err err = { .code = 0 };
    uint32_t index = 0;
    for (uint32_t p = 0; p < info->page_count; p++) {
        struct bump b;
        struct wire_entries page;
        bump_init(&b, (size_t)64 << 20);
        cr_assert_eq(st_load_page(load, c, p, &b, &page, &err), 0, "%s", err.msg);
        for (uint32_t i = 0; i < page.count; i++, index++) {
            cr_assert_lt(index, r->counts[c]);
            rec_compare_entry(&r->entries[c][index], &page.entries[i]);
            rec_compare_value(r, c, index, load, &page.entries[i]);
        }
        bump_fini(&b);
    }
    cr_assert_eq(index, r->counts[c]);
    struct bump b;
    struct wire_entries page;
    bump_init(&b, (size_t)1 << 20);
    cr_assert_eq(st_load_page(load, c, info->page_count, &b, &page, &err), -CAIRN_ENOENT);
    bump_fini(&b);
}

void rec_compare(const struct rec *r, struct st_run *run, uint64_t seq)
{
    struct st_load *load = NULL;
    struct err err = { .code = 0 };
    cr_assert_eq(st_load_open(run, seq, &load, &err), 0, "%s", err.msg);
    const struct boundary *b = st_load_boundary(load);
    cr_assert_eq(b->seq, seq);
    cr_assert_eq(b->step, r->b.step);
    cr_assert_eq(b->parent_seq, r->b.parent_seq);
    cr_assert_eq(b->created_ns, r->b.created_ns);
    cr_assert_eq(b->entry_count, r->b.entry_count);
    cr_assert_eq(b->payload_bytes, r->b.payload_bytes);
    cr_assert_eq(b->bytes_new + b->bytes_shared, r->b.stored_bytes);
    cr_assert(digest_equal(&b->root, &r->b.root));
    cr_assert_eq(memcmp(b->save_id, r->b.save_id, sizeof b->save_id), 0);
    cr_assert_eq(b->component_count, r->info_count);
    cr_assert_eq(st_load_chunk_count(load), r->b.chunk_count);
    for (uint32_t i = 0; i < b->component_count; i++) {
        cr_assert_eq(slice_cmp(b->components[i].type, r->infos[i].type), 0);
        rec_compare_component(r, load, &b->components[i]);
    }
    load = st_load_close(load);
    cr_assert_eq(rec_verify(run, seq, NULL), 0);
}

static int rec_found(void *arg, const struct st_finding *f)
{
    char *text = arg;
    size_t used = text == NULL ? 0 : strlen(text);
    if (text != NULL) {
        (void)snprintf(text + used,
                       1024 - used,
                       "seq %llu %s '%.*s': %s\n",
                       (unsigned long long)f->seq,
                       component_name(f->component),
                       (int)f->path.bytes,
                       f->path.bytes == 0 ? "" : (const char *)f->path.data,
                       f->text);
    } else {
        (void)fprintf(stderr, "verify: %s\n", f->text);
    }
    return 0;
}

uint64_t rec_verify(struct st_run *run, uint64_t seq, char ret_text[1024])
{
    const struct st_watch watch = { .found = rec_found, .arg = ret_text };
    struct wire_verified verified;
    struct err err = { .code = 0 };
    if (ret_text != NULL) {
        ret_text[0] = '\0';
    }
    cr_assert_eq(st_verify(run, seq, &watch, &verified, &err), 0, "%s", err.msg);
    return verified.finding_count;
}

/* ---- failing saves --------------------------------------------------------------------------- */

struct rec *rec_fail_second(struct fix *f, const char *failpoint, int code)
{
    struct err err = { .code = 0 };
    struct rec *first = rec_big(1, 1, 3);
    struct rec *second = rec_big(2, 2, 3);
    cr_assert_eq(setenv("CAIRN_FAILPOINT", failpoint, 1), 0);
    fix_open(f);
    cr_assert_eq(rec_save(first, f->run, &err), 0, "%s", err.msg);
    err = (struct err){ .code = 0 };
    cr_assert_eq(rec_save(second, f->run, &err), code, "%s: %s", failpoint, err.msg);
    cr_assert_eq(err.code, code);
    rec_compare(first, f->run, 1); /* reads go on */
    (void)rec_free(first);
    return second;
}

void rec_state_is(const struct fix *f, const struct rec *r, enum save_state state)
{
    struct err err = { .code = 0 };
    struct row_save save;
    cr_assert_eq(st_save_state(f->run, r->b.save_id, 0, &save, &err), 0, "%s", err.msg);
    cr_assert_eq(save.state, state, "%u", (unsigned)save.state);
}

void rec_is_refused(const struct fix *f, const struct rec *r)
{
    struct err err = { .code = 0 };
    struct st_save *save = NULL;
    cr_assert(st_run_poisoned(f->run));
    cr_assert_eq(st_save_begin(f->run, &r->b, &save, &err), -CAIRN_EPOISONED, "%s", err.msg);
    cr_assert_not_null(strstr(err.msg, "restart"), "%s", err.msg);
}
