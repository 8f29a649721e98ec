#include "store/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "internal/ckd.h"
#include "record/finite.h"
#include "record/rules.h"

void check_init(struct check *c, const struct boundary *announced)
{
    *c = (struct check){ .announced = *announced };
    c->announced.labels = NULL;
    c->announced.label_count = 0;
    c->announced.components = NULL;
    c->announced.component_count = 0;
}

void check_fini(struct check *c)
{
    free(c->chunks);
    free(c->used);
    check_members_fini(&c->members);
    c->chunks = NULL;
    c->used = NULL;
    c->chunk_count = 0;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static int check_room(struct check *c, uint32_t count, struct err *err)
{
    uint32_t limit = c->announced.chunk_count;
    if (count > limit - c->chunk_count) {
        return err_set(err, -CAIRN_EINVAL, "more chunks than the %u announced", limit);
    }
    if (c->chunk_count + count <= c->chunk_cap) {
        return 0;
    }
    uint32_t cap = c->chunk_cap == 0 ? 64 : c->chunk_cap * 2;
    cap = cap < c->chunk_count + count ? c->chunk_count + count : cap;
    struct chunk *chunks = realloc(c->chunks, cap * sizeof *chunks);
    if (chunks == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "hold %u chunk descriptors", cap);
    }
    c->chunks = chunks;
    c->chunk_cap = cap;
    return 0;
}

int check_chunks(
    struct check *c, uint32_t first, const struct chunk *chunks, uint32_t count, struct err *err)
{
    if (c->used != NULL) {
        return err_set(err, -CAIRN_EINVAL, "chunk descriptors after entries");
    }
    if (first != c->chunk_count) {
        return err_set(
            err, -CAIRN_EINVAL, "chunk %u where chunk %u was expected", first, c->chunk_count);
    }
    int rc = check_room(c, count, err);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        rc = rules_chunk(&chunks[i], c->chunk_count, err);
        if (rc == 0) {
            c->chunks[c->chunk_count++] = chunks[i];
            c->sums[chunks[i].component].chunk_count++;
            c->stored_bytes += round_up_u64(chunks[i].bytes, LIMIT_PAGE_BYTES);
        }
    }
    return rc;
}

/* ---- entries --------------------------------------------------------------------------------- */

static void check_use(struct check *c, const struct entry *e)
{
    uint64_t count = 1;
    if (e->bytes == 0 || e->value.bytes > 0) {
        return;
    }
    if (e->bytes >= LIMIT_OWN_CHUNK_BYTES) {
        count = (e->bytes + LIMIT_CHUNK_BYTES - 1) / LIMIT_CHUNK_BYTES;
    }
    for (uint64_t i = e->first_chunk; i < e->first_chunk + count; i++) {
        c->used[i / 8] = (uint8_t)(c->used[i / 8] | 1u << i % 8);
    }
}

static int
check_entry(struct check *c, enum component component, const struct entry *e, struct err *err)
{
    struct check_sum *sum = &c->sums[component];
    int rc = rules_entry(component, e, err);
    rc = rc < 0 ? rc : rules_precision(component, e, c->announced.precision, err);
    rc = rc < 0 ? rc : rules_place(component, e, c->chunks, c->chunk_count, err);
    rc = rc < 0 ? rc : check_members_add(&c->members, c->announced.kind, component, e, err);
    if (rc < 0) {
        return rc;
    }
    if (sum->entry_count > 0 && entry_cmp(component, &c->last, e) >= 0) {
        (void)err_set(err,
                      -CAIRN_EINVAL,
                      "entries of %s are out of order, or one is there twice",
                      component_name(component));
        (void)err_at(err, component, e->path.data, e->path.bytes);
        return -CAIRN_EINVAL;
    }
    rc = sum->entry_count > 0 ? rules_gradients(component, &c->last, e, err) : 0;
    if (rc < 0) {
        return rc;
    }
    if (ckd_add_u64(sum->bytes, e->bytes, &sum->bytes)) {
        return err_set(
            err, -CAIRN_EINVAL, "%s: the bytes do not fit 64 bits", component_name(component));
    }
    nonfinite_sum(&sum->nonfinite, &e->nonfinite);
    nonfinite_sum(&c->nonfinite, &e->nonfinite);
    c->not_finite = c->not_finite || finite_spoils(component, e);
    if (component == COMPONENT_MODEL && (e->flags & ENTRY_TRAINABLE) != 0) {
        c->trainable_value_bytes += e->value.bytes;
    }
    sum->entry_count++;
    sum->fields |= rules_fields_of(component, e);
    c->last = *e;
    memcpy(c->last_path, e->path.data, e->path.bytes);
    c->last.path = slice_of(c->last_path, e->path.bytes);
    check_use(c, e);
    return 0;
}

static int check_page(struct check *c, const struct wire_entries *page, struct err *err)
{
    enum component component = page->component;
    if (component <= COMPONENT_NONE || component >= COMPONENT_NR || component < c->current) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "entries of component %u after those of %s",
                       (unsigned)component,
                       component_name(c->current));
    }
    const struct check_sum *sum = &c->sums[component];
    if (page->page != sum->page_count) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "%s: page %u where page %u was expected",
                       component_name(component),
                       page->page,
                       sum->page_count);
    }
    if (sum->page_count > 0 && c->last_count == 0) {
        return err_set(
            err, -CAIRN_EINVAL, "%s: a page after an empty one", component_name(component));
    }
    if (page->count > LIMIT_ENTRIES_PER_PAGE || sum->entry_count + page->count > LIMIT_ENTRIES) {
        return err_set(err,
                       -CAIRN_ELIMIT,
                       "%s: more than %u entries",
                       component_name(component),
                       page->count > LIMIT_ENTRIES_PER_PAGE ? LIMIT_ENTRIES_PER_PAGE
                                                            : LIMIT_ENTRIES);
    }
    return 0;
}

int check_entries(struct check *c, const struct wire_entries *page, struct err *err)
{
    int rc = check_page(c, page, err);
    if (rc == 0 && c->used == NULL) {
        c->used = calloc(1, c->chunk_count / 8 + 1);
        rc = c->used != NULL ? 0 : err_set(err, -CAIRN_ENOMEM, "check entries");
    }
    for (uint32_t i = 0; rc == 0 && i < page->count; i++) {
        rc = check_entry(c, page->component, &page->entries[i], err);
    }
    if (rc == 0) {
        c->current = page->component;
        c->last_count = page->count;
        c->sums[page->component].page_count++;
    }
    return rc;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int
check_count(const char *of, const char *what, uint64_t announced, uint64_t found, struct err *err)
{
    if (announced == found) {
        return 0;
    }
    return err_set(err,
                   -CAIRN_EINVAL,
                   "%s: %" PRIu64 " %s announced, %" PRIu64 " found",
                   of,
                   announced,
                   what,
                   found);
}

static int check_info(const struct check *c, const struct component_info *info, struct err *err)
{
    const struct check_sum *sum = &c->sums[info->component];
    const char *name = component_name(info->component);
    int rc = check_count(name, "entries", info->entry_count, sum->entry_count, err);
    rc = rc < 0 ? rc : check_count(name, "bytes", info->bytes, sum->bytes, err);
    rc = rc < 0 ? rc : check_count(name, "NaN", info->nonfinite.nan, sum->nonfinite.nan, err);
    rc = rc < 0 ? rc : check_count(name, "Inf", info->nonfinite.inf, sum->nonfinite.inf, err);
    rc = rc < 0 ? rc : check_count(name, "chunks", info->chunk_count, sum->chunk_count, err);
    rc = rc < 0 ? rc : check_count(name, "pages", info->page_count, sum->page_count, err);
    if (rc < 0) {
        (void)err_at(err, info->component, "", 0);
    }
    return rc < 0 ? rc : rules_whole(info->component, sum->fields, err);
}

static int check_presence(const struct check *c,
                          const struct component_info *infos,
                          uint32_t count,
                          struct err *err)
{
    uint32_t want = rules_components_of(c->announced.kind) | 0x3eu;
    uint32_t have = 0;
    enum component before = COMPONENT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (infos[i].component <= before || infos[i].component >= COMPONENT_NR ||
            infos[i].type.bytes > LIMIT_TYPE_BYTES) {
            return err_set(err, -CAIRN_EINVAL, "the components are out of order, or no components");
        }
        before = infos[i].component;
        have |= 1u << before;
    }
    for (uint32_t i = 1; i < COMPONENT_NR; i++) {
        bool fed = c->sums[i].page_count > 0 || c->sums[i].chunk_count > 0;
        if ((want >> i & 1u) != (have >> i & 1u) || (fed && (have >> i & 1u) == 0)) {
            return err_set(err,
                           -CAIRN_EINVAL,
                           "component %s is %s in a record of kind %s",
                           component_name(i),
                           (want >> i & 1u) != 0 ? "missing" : "not allowed",
                           kind_name(c->announced.kind));
        }
    }
    return 0;
}

static int check_totals(const struct check *c, struct err *err)
{
    uint64_t entries = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 1; i < COMPONENT_NR; i++) {
        entries += c->sums[i].entry_count;
        if (ckd_add_u64(bytes, c->sums[i].bytes, &bytes)) {
            return err_set(err, -CAIRN_EINVAL, "the bytes do not fit 64 bits");
        }
    }
    const struct boundary *b = &c->announced;
    int rc = check_count("boundary", "entries", b->entry_count, entries, err);
    rc = rc < 0 ? rc : check_count("boundary", "bytes", b->payload_bytes, bytes, err);
    rc = rc < 0 ? rc : check_count("boundary", "chunks", b->chunk_count, c->chunk_count, err);
    rc = rc < 0 ? rc
                : check_count("boundary", "stored bytes", b->stored_bytes, c->stored_bytes, err);
    for (uint32_t i = 0; rc == 0 && i < c->chunk_count; i++) {
        if (c->used == NULL || ((unsigned)c->used[i / 8] >> i % 8 & 1u) == 0) {
            rc = err_set(err, -CAIRN_EINVAL, "no entry lies in chunk %u", i);
        }
    }
    return rc;
}

int check_end(struct check *c,
              const struct component_info *infos,
              uint32_t count,
              const struct digest *root,
              struct err *err)
{
    int rc = check_members_end(&c->members, err);
    rc = rc < 0 ? rc : check_presence(c, infos, count, err);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        rc = check_info(c, &infos[i], err);
    }
    rc = rc < 0 ? rc : check_totals(c, err);
    if (rc < 0) {
        return rc;
    }
    struct digest found = digest_root(&c->announced, infos, count);
    if (!digest_equal(&found, root)) {
        return err_set(err, -CAIRN_ECORRUPT, "the root digest is not that of the components");
    }
    return 0;
}

int check_digest(const struct component_info *info, const struct digest *entries, struct err *err)
{
    if (digest_equal(&info->digest, entries)) {
        return 0;
    }
    (void)err_set(err,
                  -CAIRN_ECORRUPT,
                  "component %s: its digest is not that of its entries",
                  component_name(info->component));
    (void)err_at(err, info->component, "", 0);
    return -CAIRN_ECORRUPT;
}
