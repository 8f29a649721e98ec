#include "store/manifest.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>

#include "store/row.h"

int st_manifest_new(const struct boundary *announced, struct st_manifest **ret, struct err *err)
{
    struct st_manifest *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "begin a manifest");
    }
    check_init(&m->check, announced);
    *ret = m;
    return 0;
}

/* From this size on, what was held is given back to the system at once: it lies in many pieces, of
 * which malloc by itself gives nothing back. */
#define MANIFEST_LARGE_BYTES ((size_t)16 << 20)

struct st_manifest *st_manifest_free(struct st_manifest *m)
{
    if (m != NULL) {
        bool large = m->staged_bytes > MANIFEST_LARGE_BYTES;
        for (uint32_t i = 0; i < m->page_count; i++) {
            free(m->pages[i].data);
            free(m->pages[i].first_path);
        }
        free(m->pages);
        check_fini(&m->check);
        free(m);
        if (large) {
            (void)malloc_trim(0);
        }
    }
    return NULL;
}

/* After a refusal nothing more is taken; every step ends here. */
static int manifest_step(struct st_manifest *m, int rc)
{
    m->broken = m->broken || rc < 0;
    return rc;
}

static int manifest_usable(const struct st_manifest *m, struct err *err)
{
    if (m->broken || m->sealed) {
        return err_set(
            err, -CAIRN_EINVAL, "the manifest was %s before", m->broken ? "refused" : "sealed");
    }
    return 0;
}

static int manifest_stage(struct st_manifest *m, size_t bytes, struct err *err)
{
    if (bytes > LIMIT_METADATA_BYTES - m->staged_bytes) {
        return err_set(
            err, -CAIRN_ELIMIT, "the metadata is longer than %u bytes", LIMIT_METADATA_BYTES);
    }
    m->staged_bytes += bytes;
    return 0;
}

int st_manifest_chunks(struct st_manifest *m,
                       uint32_t first,
                       const struct chunk *chunks,
                       uint32_t count,
                       struct err *err)
{
    int rc = manifest_usable(m, err);
    if (rc == 0 && count == 0) {
        rc = err_set(err, -CAIRN_EINVAL, "CHUNKS without a chunk");
    }
    /* Room for them grows by doubling. */
    rc = rc < 0 ? rc : manifest_stage(m, (size_t)2 * count * sizeof *chunks, err);
    rc = rc < 0 ? rc : check_chunks(&m->check, first, chunks, count, err);
    return manifest_step(m, rc);
}

static int manifest_page_room(struct st_manifest *m, struct err *err)
{
    if (m->page_count < m->page_cap) {
        return 0;
    }
    uint32_t cap = m->page_cap == 0 ? 16 : 2 * m->page_cap;
    struct manifest_page *pages = realloc(m->pages, cap * sizeof *pages);
    if (pages == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "hold %u pages", cap);
    }
    m->pages = pages;
    m->page_cap = cap;
    return 0;
}

/* What a page takes beside its bytes: its place in the list, which grows by doubling, and two
 * pieces of the heap. */
#define MANIFEST_PAGE_BYTES (2 * sizeof(struct manifest_page) + 32)

static int manifest_keep(struct st_manifest *m, const struct wire_entries *page, struct err *err)
{
    struct wire_buf b = { .data = NULL };
    struct manifest_page kept = { .component = page->component, .page = page->page };
    int rc = manifest_page_room(m, err);
    rc = rc < 0 ? rc : row_entries_encode(page, &b, err);
    kept.first_path_bytes = rc < 0 ? 0 : page->entries[0].path.bytes;
    rc =
        rc < 0 ? rc : manifest_stage(m, b.bytes + kept.first_path_bytes + MANIFEST_PAGE_BYTES, err);
    if (rc == 0) {
        kept.first_path = malloc(kept.first_path_bytes);
        rc = kept.first_path != NULL ? 0 : err_set(err, -CAIRN_ENOMEM, "hold a page");
    }
    if (rc < 0) {
        wire_buf_free(&b);
        return rc;
    }
    if (kept.first_path != NULL) {
        memcpy(kept.first_path, page->entries[0].path.data, kept.first_path_bytes);
    }
    /* The buffer grew by doubling; a manifest may have many pages. */
    uint8_t *exact = b.bytes == 0 ? NULL : realloc(b.data, b.bytes);
    kept.data = exact != NULL ? exact : b.data;
    kept.bytes = b.bytes;
    m->pages[m->page_count++] = kept;
    return 0;
}

int st_manifest_entries(struct st_manifest *m, const struct wire_entries *page, struct err *err)
{
    int rc = manifest_usable(m, err);
    if (rc == 0 && page->count == 0) {
        rc = err_set(err, -CAIRN_EINVAL, "ENTRIES without an entry");
    }
    rc = rc < 0 ? rc : check_entries(&m->check, page, err);
    rc = rc < 0 ? rc : manifest_keep(m, page, err);
    return manifest_step(m, rc);
}

/* ---- sealing --------------------------------------------------------------------------------- */

static int
manifest_digest_page(struct component_digest *d, const struct manifest_page *page, struct err *err)
{
    struct bump b;
    struct wire_entries entries;
    row_bump_init(&b, page->bytes);
    int rc = row_entries_decode(slice_of(page->data, page->bytes), &b, &entries, err);
    for (uint32_t i = 0; rc == 0 && i < entries.count; i++) {
        component_digest_entry(d, &entries.entries[i]);
    }
    bump_fini(&b);
    return rc;
}

/* Digest what will be stored, not what was received: the rows are read back from their bytes. */
static int
manifest_digest(const struct st_manifest *m, const struct component_info *info, struct err *err)
{
    struct component_digest *d = component_digest_new(info->component, info->type);
    if (d == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "digest a component");
    }
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < m->page_count; i++) {
        if (m->pages[i].component == info->component) {
            rc = manifest_digest_page(d, &m->pages[i], err);
        }
    }
    if (rc == 0) {
        struct digest found = component_digest_end(d);
        rc = check_digest(info, &found, err);
    }
    (void)component_digest_free(d);
    return rc;
}

static void manifest_take(struct st_manifest *m, const struct component_info *infos, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct slice type = infos[i].type;
        m->infos[i] = infos[i];
        if (type.bytes > 0) {
            memcpy(m->types[i], type.data, type.bytes);
        }
        m->infos[i].type = slice_of(m->types[i], type.bytes);
    }
    m->info_count = count;
}

int st_manifest_seal(struct st_manifest *m,
                     const struct component_info *infos,
                     uint32_t count,
                     const struct digest *root,
                     struct err *err)
{
    int rc = manifest_usable(m, err);
    rc = rc < 0 ? rc : check_end(&m->check, infos, count, root, err);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        rc = manifest_digest(m, &infos[i], err);
    }
    if (rc == 0) {
        manifest_take(m, infos, count);
        m->root = *root;
        m->sealed = true;
    }
    return manifest_step(m, rc);
}

const struct chunk *st_manifest_chunk(const struct st_manifest *m, uint32_t index)
{
    return index < m->check.chunk_count ? &m->check.chunks[index] : NULL;
}

uint64_t st_manifest_bytes(const struct st_manifest *m)
{
    return m->staged_bytes;
}

uint32_t st_manifest_chunk_count(const struct st_manifest *m)
{
    return m->check.chunk_count;
}
