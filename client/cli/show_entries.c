#include "show_entries.h"

#include <cairn/admin.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "output.h"
#include "table.h"

#define SHOW_BATCH 4096    /* rows of one table: their widths are found together */
#define SHOW_CELL_BYTES 81 /* a value in the table */
#define SHOW_VALUE_BYTES (4u * 65536u + 64u) /* a whole one, escaped by the library */

/* One entry with all that is shown of it. */
struct show_entry {
    uint32_t component;
    const char *name; /* "component/path" */
    struct cairn_entry entry;
    uint8_t digest[16];
    const char *value; /* of a scalar; NULL: a tensor */
};

struct show_walk {
    const char *pattern;
    char *value; /* room for one */
    size_t value_bytes;
    void (*emit)(void *sink, const struct show_entry *e);
    void *sink;
    uint64_t count;
};

/* A path may itself have glob characters: the literal prefix is tried first. */
static bool show_matches(const char *pattern, const char *name)
{
    return pattern == NULL || strncmp(name, pattern, strlen(pattern)) == 0 ||
           fnmatch(pattern, name, 0) == 0;
}

/* The entry at index is in e. Returns 0 or what the library said. */
static int show_one(struct show_walk *w,
                    const struct cairn_reader *reader,
                    uint64_t index,
                    struct show_entry *e)
{
    int rc = cairn_entry_digest(reader, index, e->digest);
    e->value = NULL;
    if (rc == 0 && e->entry.kind != CAIRN_TENSOR) {
        w->value[0] = '\0';
        rc = cairn_entry_text(reader, index, w->value, w->value_bytes);
        e->value = w->value;
    }
    if (rc == 0) {
        w->emit(w->sink, e);
        w->count++;
    }
    return rc;
}

static int
show_component(struct show_walk *w, const struct cairn_reader *reader, uint32_t component)
{
    int rc = 0;
    for (uint64_t i = 0; rc == 0; i++) {
        struct show_entry e = { .component = component };
        rc = cairn_entry_at(reader, i, &e.entry);
        if (rc < 0) {
            break;
        }
        char *name = out_format("%s/%s", out_component_name(component), e.entry.path);
        e.name = name;
        if (show_matches(w->pattern, name)) {
            rc = show_one(w, reader, i, &e);
        }
        free(name);
    }
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

static int show_walk(struct show_walk *w, const struct cairn_record *r)
{
    int rc = 0;
    w->value = malloc(w->value_bytes);
    if (w->value == NULL) {
        return -CAIRN_ENOMEM;
    }
    for (uint32_t id = CAIRN_MODEL; rc == 0 && id <= CAIRN_CONTRACT; id++) {
        const struct cairn_reader *reader = NULL;
        rc = cairn_record_component(r, (enum cairn_component_id)id, &reader);
        if (rc == 0) {
            rc = show_component(w, reader, id);
        } else if (rc == -CAIRN_ENOENT) {
            rc = 0;
        }
    }
    free(w->value);
    return rc;
}

/* ---- table ---- */

struct show_table {
    struct table *table;
    size_t row_count;
};

static void show_cell_shape(struct table *t, const struct cairn_entry *e)
{
    char text[32 * 22 + 3] = "[";
    size_t length = 1;
    for (uint32_t i = 0; i < e->rank && length + 24 < sizeof text; i++) {
        length += (size_t)snprintf(
            text + length, sizeof text - length, "%s%" PRIu64, i == 0 ? "" : ",", e->shape[i]);
    }
    table_cell(t, "%s]", text);
}

static const char *show_dtype(uint32_t dtype)
{
    const char *name = cairn_dtype_name(dtype);
    return name == NULL ? "?" : name;
}

/* What there is to say of a tensor beside its dtype and shape. */
static void show_cell_about(struct table *t, const struct cairn_entry *e)
{
    char quant[CAIRN_QUANT_TEXT_BYTES] = "";
    char about[CAIRN_QUANT_TEXT_BYTES + 160];
    size_t length = 0;
    about[0] = '\0';
    if ((e->flags & CAIRN_TRAINABLE) != 0) {
        length += (size_t)snprintf(about + length, sizeof about - length, "(trainable) ");
    }
    if (e->storage_dtype != 0) {
        length += (size_t)snprintf(
            about + length, sizeof about - length, "(was %s) ", show_dtype(e->storage_dtype));
    }
    if (e->element_bits != 0) {
        length += (size_t)snprintf(about + length,
                                   sizeof about - length,
                                   "(elements of %" PRIu32 " bits) ",
                                   e->element_bits);
    }
    if (e->quant != NULL && cairn_quant_text(e->quant, quant, sizeof quant) == 0) {
        length += (size_t)snprintf(about + length, sizeof about - length, "(%s) ", quant);
    }
    if (e->nan_count + e->inf_count != 0) {
        length += (size_t)snprintf(about + length,
                                   sizeof about - length,
                                   "(%" PRIu64 " NaN, %" PRIu64 " Inf) ",
                                   e->nan_count,
                                   e->inf_count);
    }
    about[length == 0 ? 0 : length - 1] = '\0';
    table_cell_text(t, about);
}

static void show_table_emit(void *arg, const struct show_entry *e)
{
    struct show_table *sink = arg;
    struct table *t = sink->table;
    struct out_buf b;
    bool tensor = e->entry.kind == CAIRN_TENSOR;
    table_row(t);
    table_cell_text(t, e->name);
    if ((e->entry.flags & CAIRN_HAS_ID) != 0) {
        table_cell(t, "%" PRIu64, e->entry.id);
    } else {
        table_cell(t, "-");
    }
    table_cell(t, "%s", tensor ? show_dtype(e->entry.dtype) : out_entry_kind_name(e->entry.kind));
    if (tensor) {
        show_cell_shape(t, &e->entry);
    } else {
        table_cell(t, "-");
    }
    table_cell(t, "%" PRIu64, e->entry.bytes);
    table_cell(t, "%s", out_hex(&b, e->digest, sizeof e->digest));
    if (tensor) {
        show_cell_about(t, &e->entry);
    } else {
        table_cell_text(t, e->value);
    }
    if (++sink->row_count % SHOW_BATCH == 0) {
        table_flush(t);
    }
}

int show_entries_table(const struct cairn_record *r,
                       const char *pattern,
                       bool headings,
                       uint64_t *ret_count)
{
    static const struct table_column columns[] = {
        { "ENTRY", false }, { "ID", true },      { "DTYPE", false }, { "SHAPE", false },
        { "BYTES", true },  { "DIGEST", false }, { "VALUE", false },
    };
    struct show_table sink = { table_new(columns, sizeof columns / sizeof columns[0], headings),
                               0 };
    struct show_walk walk = {
        .pattern = pattern, .value_bytes = SHOW_CELL_BYTES, .emit = show_table_emit, .sink = &sink
    };
    int rc = show_walk(&walk, r);
    table_flush(sink.table);
    (void)table_free(sink.table);
    *ret_count = walk.count;
    return rc;
}

/* ---- JSON ---- */

static void show_json_tensor(json_t *o, const struct cairn_entry *e)
{
    json_t *shape = json_array();
    for (uint32_t i = 0; i < e->rank; i++) {
        json_add(shape, json_u64(e->shape[i]));
    }
    json_set(o, "dtype", json_text(show_dtype(e->dtype)));
    json_set(o, "shape", shape);
    json_set(o, "trainable", json_boolean((e->flags & CAIRN_TRAINABLE) != 0));
    if (e->storage_dtype != 0) {
        json_set(o, "storage_dtype", json_text(show_dtype(e->storage_dtype)));
    }
    if (e->element_bits != 0) {
        json_set(o, "element_bits", json_u64(e->element_bits));
    }
    if (e->nan_count + e->inf_count != 0) {
        json_set(o, "nan", json_u64(e->nan_count));
        json_set(o, "inf", json_u64(e->inf_count));
    }
    char quant[CAIRN_QUANT_TEXT_BYTES];
    struct cairn_quant_bytes regions;
    if (e->quant != NULL && cairn_quant_text(e->quant, quant, sizeof quant) == 0 &&
        cairn_quant_lengths(e->quant, e->rank, e->shape, &regions) == 0) {
        json_t *bytes = json_array();
        json_add(bytes, json_u64(regions.values));
        json_add(bytes, json_u64(regions.block_scales));
        json_add(bytes, json_u64(regions.global_scale));
        json_set(o, "quant", json_text(quant));
        json_set(o, "quant_bytes", bytes);
    }
}

static void show_json_emit(void *arg, const struct show_entry *e)
{
    struct out_buf b;
    bool *first = arg;
    json_t *o = json_object();
    json_set(o, "component", json_text(out_component_name(e->component)));
    json_set(o, "path", json_text(e->entry.path));
    json_set(o, "kind", json_text(out_entry_kind_name(e->entry.kind)));
    if ((e->entry.flags & CAIRN_HAS_ID) != 0) {
        (void)snprintf(b.text, sizeof b.text, "%" PRIu64, e->entry.id);
        json_set(o, "id", json_text(b.text));
    }
    if (e->value == NULL) {
        show_json_tensor(o, &e->entry);
    } else {
        json_set(o, "value", json_text(e->value));
    }
    json_set(o, "bytes", json_u64(e->entry.bytes));
    json_set(o, "digest", json_text(out_hex(&b, e->digest, sizeof e->digest)));
    json_out_element(o, *first);
    *first = false;
}

int show_entries_json(const struct cairn_record *r, const char *pattern, uint64_t *ret_count)
{
    bool first = true;
    struct show_walk walk = {
        .pattern = pattern, .value_bytes = SHOW_VALUE_BYTES, .emit = show_json_emit, .sink = &first
    };
    int rc = show_walk(&walk, r);
    *ret_count = walk.count;
    return rc;
}
