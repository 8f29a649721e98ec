/* rec.c: a boundary in memory: its entries, their order, its sums. */
#include "lib/rec.h"

#include <stdlib.h>

#include "lib/call.h"
#include "record/digest.h"
#include "record/finite.h"
#include "record/quant.h"
#include "record/rules.h"
#include "wire/keep.h"

struct cairn_record *rec_new(struct cairn *c)
{
    struct cairn_record *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    bump_init(&r->bump, SIZE_MAX / 2);
    for (uint32_t i = 0; i < COMPONENT_NR; i++) {
        r->components[i].record = r;
        r->components[i].component = (enum component)i;
        r->components[i].type = "";
        r->infos[i].component = (enum component)i;
    }
    r->c = c;
    r->next = c->records;
    r->prev = &c->records;
    if (r->next != NULL) {
        r->next->prev = &r->next;
    }
    c->records = r;
    return r;
}

static void rec_leave(struct cairn_record *r)
{
    *r->prev = r->next;
    if (r->next != NULL) {
        r->next->prev = r->prev;
    }
}

void rec_orphan(struct cairn_record *r)
{
    rec_leave(r);
    r->c = NULL;
}

static void rec_unlink(struct cairn_record *r)
{
    struct cairn *c = r->c;
    if (c == NULL) {
        r->region = region_free(r->region);
        return;
    }
    r->region = region_give(&c->regions, r->region);
    rec_leave(r);
    resident_gone(c, r);
    if (c->stream.record == r) {
        stream_forget(&c->stream);
    }
    if (c->pinned == r) {
        c->pinned = NULL;
        c->unpin = true;
    }
}

static void rec_destroy(struct cairn_record *r)
{
    /* A stream that was left in its middle would hold buffers of the daemon until the next call. */
    if (r->c != NULL && r->c->stream.record == r && r->c->stream.active) {
        cl_drop(r->c);
    }
    rec_unlink(r);
    r->layout = layout_free(r->layout);
    for (uint32_t i = 0; i < COMPONENT_NR; i++) {
        free(r->components[i].entries);
    }
    free(r->chunks);
    bump_fini(&r->bump);
    free(r);
}

struct cairn_record *cairn_record_free(struct cairn_record *r)
{
    if (r != NULL && r->converted != NULL) {
        rec_destroy(r->converted);
    }
    if (r != NULL) {
        rec_destroy(r);
    }
    return NULL;
}

void *rec_copy(struct cairn_record *r, const void *data, size_t bytes)
{
    return keep_text(&r->bump, slice_of(data, bytes));
}

bool rec_keep(struct cairn_record *r, struct entry *e)
{
    struct entry kept = *e;
    kept.path.data = rec_copy(r, e->path.data, e->path.bytes);
    kept.shape = e->rank == 0 ? NULL : rec_copy(r, e->shape, e->rank * sizeof *e->shape);
    kept.quant = e->quant == NULL ? NULL : rec_copy(r, e->quant, sizeof *e->quant);
    kept.value.data = e->value.bytes == 0 ? NULL : rec_copy(r, e->value.data, e->value.bytes);
    if (kept.path.data == NULL || (e->rank > 0 && kept.shape == NULL) ||
        (e->quant != NULL && kept.quant == NULL) ||
        (e->value.bytes > 0 && kept.value.data == NULL)) {
        return false;
    }
    *e = kept;
    return true;
}

struct entry *rec_add_entry(struct cairn_reader *component)
{
    if (component->count == component->room) {
        uint64_t room = component->room == 0 ? 16 : component->room * 2;
        struct entry *entries = realloc(component->entries, room * sizeof *entries);
        if (entries == NULL) {
            return NULL;
        }
        component->entries = entries;
        component->room = room;
    }
    struct entry *e = &component->entries[component->count++];
    *e = (struct entry){ 0 };
    return e;
}

struct entry *rec_find(const struct cairn_reader *component, const struct entry *key)
{
    uint64_t low = 0;
    uint64_t high = component->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int cmp = entry_cmp(component->component, &component->entries[middle], key);
        if (cmp == 0) {
            return &component->entries[middle];
        }
        if (cmp < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

static int rec_cmp(const void *a, const void *b, void *component)
{
    return entry_cmp(*(const enum component *)component, a, b);
}

static bool rec_is_sorted(const struct cairn_reader *component)
{
    for (uint64_t i = 1; i < component->count; i++) {
        if (entry_cmp(component->component, &component->entries[i - 1], &component->entries[i]) >=
            0) {
            return false;
        }
    }
    return true;
}

int rec_sort(struct cairn_reader *component, struct err *err)
{
    if (rec_is_sorted(component)) {
        return 0;
    }
    qsort_r(component->entries,
            component->count,
            sizeof *component->entries,
            rec_cmp,
            &component->component);
    for (uint64_t i = 1; i < component->count; i++) {
        const struct entry *e = &component->entries[i];
        if (entry_cmp(component->component, e - 1, e) == 0) {
            (void)err_set(err,
                          -CAIRN_EEXIST,
                          "%s: '%.*s' (id %llu) was put twice",
                          component_name(component->component),
                          cl_shown(e->path),
                          (const char *)e->path.data,
                          (unsigned long long)e->id);
            return err_at(err, component->component, e->path.data, e->path.bytes);
        }
    }
    return 0;
}

int rec_sum(const struct cairn_reader *component, struct component_info *info, struct err *err)
{
    struct component_digest *d =
        component_digest_new(component->component, slice_str(component->type));
    if (d == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory for a digest");
    }
    info->bytes = 0;
    info->nonfinite = (struct nonfinite){ 0 };
    for (uint64_t i = 0; i < component->count; i++) {
        component_digest_entry(d, &component->entries[i]);
        info->bytes += component->entries[i].bytes;
        nonfinite_sum(&info->nonfinite, &component->entries[i].nonfinite);
    }
    info->type = slice_str(component->type);
    info->entry_count = component->count;
    info->digest = component_digest_end(d);
    (void)component_digest_free(d);
    return 0;
}

bool rec_not_finite(const struct cairn_record *r)
{
    bool spoilt = false;
    for (uint32_t i = 1; i < COMPONENT_NR; i++) {
        const struct cairn_reader *component = &r->components[i];
        for (uint64_t at = 0; !spoilt && at < component->count; at++) {
            spoilt = finite_spoils(component->component, &component->entries[at]);
        }
    }
    return spoilt;
}

/* Moves the infos of the components present to the front. */
void rec_close_infos(struct cairn_record *r)
{
    uint32_t count = 0;
    r->boundary.entry_count = 0;
    r->boundary.payload_bytes = 0;
    r->boundary.nonfinite = (struct nonfinite){ 0 };
    for (uint32_t i = 1; i < COMPONENT_NR; i++) {
        if (r->components[i].present) {
            r->infos[count] = r->infos[i];
            r->boundary.entry_count += r->infos[i].entry_count;
            r->boundary.payload_bytes += r->infos[i].bytes;
            nonfinite_sum(&r->boundary.nonfinite, &r->infos[i].nonfinite);
            count++;
        }
    }
    r->boundary.not_finite = rec_not_finite(r);
    r->boundary.components = r->infos;
    r->boundary.component_count = count;
}

/* ---- what the public may ask --------------------------------------------------------------------
 */

const struct component_info *rec_info(const struct cairn_record *r, enum component component)
{
    for (uint32_t i = 0; i < r->boundary.component_count; i++) {
        if (r->boundary.components[i].component == component) {
            return &r->boundary.components[i];
        }
    }
    return NULL;
}

void rec_public(const struct boundary *b, struct cairn_boundary *ret)
{
    *ret = (struct cairn_boundary){ .seq = b->seq,
                                    .step = b->step,
                                    .parent_seq = b->parent_seq,
                                    .created_ns = b->created_ns,
                                    .entry_count = b->entry_count,
                                    .payload_bytes = b->payload_bytes,
                                    .bytes_new = b->bytes_new,
                                    .bytes_shared = b->bytes_shared,
                                    .kind = b->kind,
                                    .precision = b->precision,
                                    .exact = b->exact,
                                    .nan_count = b->nonfinite.nan,
                                    .inf_count = b->nonfinite.inf,
                                    .finite = !b->not_finite,
                                    .abandoned = (b->marks & MARK_ABANDONED) != 0,
                                    .rotten = (b->marks & MARK_DAMAGED) != 0,
                                    .pin_count = b->pin_count,
                                    .trainable_bytes = b->trainable_bytes,
                                    .trainable_new_bytes = b->trainable_new_bytes,
                                    .warnings = b->warnings };
    memcpy(ret->save_id, b->save_id, sizeof ret->save_id);
    memcpy(ret->root, b->root.byte, sizeof ret->root);
}

int cairn_record_info(const struct cairn_record *r, struct cairn_boundary *ret)
{
    if (r == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    rec_public(&r->boundary, ret);
    return 0;
}

int cairn_record_component(const struct cairn_record *r,
                           enum cairn_component_id component,
                           const struct cairn_reader **ret)
{
    if (r == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    if (!r->loaded) {
        return cl_invalid(r->c, "a captured record cannot be read: load what was saved");
    }
    if ((uint32_t)component == 0 || (uint32_t)component >= COMPONENT_NR ||
        !r->components[component].present) {
        return err_set(
            cl_err(r->c), -CAIRN_ENOENT, "the record has no component %u", (unsigned)component);
    }
    *ret = &r->components[component];
    return 0;
}

int cairn_record_label(const struct cairn_record *r, size_t index, char *ret_name, char *ret_value)
{
    if (r == NULL || ret_name == NULL || ret_value == NULL) {
        return -CAIRN_EINVAL;
    }
    if (index >= r->boundary.label_count) {
        return -CAIRN_ENOENT;
    }
    const struct label *l = &r->boundary.labels[index];
    memcpy(ret_name, l->name.data, l->name.bytes);
    ret_name[l->name.bytes] = '\0';
    memcpy(ret_value, l->value.bytes == 0 ? "" : l->value.data, l->value.bytes);
    ret_value[l->value.bytes] = '\0';
    return 0;
}

int cairn_record_component_info(const struct cairn_record *r,
                                enum cairn_component_id component,
                                struct cairn_component_info *ret)
{
    if (r == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    const struct component_info *info = rec_info(r, (enum component)component);
    if (info == NULL) {
        return err_set(
            cl_err(r->c), -CAIRN_ENOENT, "the record has no component %u", (unsigned)component);
    }
    *ret = (struct cairn_component_info){ .type = r->components[component].type,
                                          .entry_count = info->entry_count,
                                          .bytes = info->bytes,
                                          .chunk_count = info->chunk_count,
                                          .nan_count = info->nonfinite.nan,
                                          .inf_count = info->nonfinite.inf };
    memcpy(ret->digest, info->digest.byte, sizeof ret->digest);
    return 0;
}
