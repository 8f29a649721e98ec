/* codec_entry.c: manifest pages. A page has up to 4096 entries, so this is the codec's fast path.
 */
#include "record/quant.h"
#include "wire/codec_int.h"

/* The value is nowhere, in the entry, or in a chunk: exactly one. */
static int codec_entry_place(struct codec *c, const Cairn__Entry *pb, struct entry *ret)
{
    if (pb->has_value && (pb->bytes == 0 || pb->value.len != pb->bytes)) {
        return codec_refuse(c, "value", "not as long as bytes says");
    }
    if (pb->has_value && pb->value.len > LIMIT_INLINE_COMPONENT_BYTES) {
        return err_set(c->err,
                       -CAIRN_ELIMIT,
                       "value: %zu bytes, at most %u",
                       pb->value.len,
                       LIMIT_INLINE_COMPONENT_BYTES);
    }
    bool in_chunk = pb->bytes != 0 && !pb->has_value;
    if (in_chunk != (pb->has_first_chunk != 0)) {
        return codec_refuse(c, "first_chunk", in_chunk ? "missing" : "given without need");
    }
    if (pb->has_offset_bytes && !in_chunk) {
        return codec_refuse(c, "offset_bytes", "given without need");
    }
    ret->value = pb->has_value ? slice_of(pb->value.data, pb->value.len) : slice_of(NULL, 0);
    ret->first_chunk = pb->has_first_chunk ? pb->first_chunk : 0;
    ret->offset_bytes = pb->has_offset_bytes ? pb->offset_bytes : 0;
    return 0;
}

static int codec_entry_shape(struct codec *c, const Cairn__Entry *pb, struct entry *ret)
{
    bool tensor = pb->kind == CAIRN__ENTRY_KIND__ENTRY_TENSOR;
    if (tensor != (pb->has_dtype != 0)) {
        return codec_refuse(c, "dtype", tensor ? "missing" : "given without need");
    }
    if (pb->rank != pb->n_shape || (!tensor && pb->rank != 0)) {
        return codec_refuse(c, "rank", "not the number of dimensions");
    }
    ret->kind = (enum entry_kind)pb->kind;
    ret->dtype = pb->has_dtype ? (uint32_t)pb->dtype : 0;
    ret->rank = pb->rank;
    ret->shape = pb->shape;
    ret->bytes = pb->bytes;
    return 0;
}

/* What few entries have. Which tensors may is for rules_entry; here only: one way to leave it out.
 */
static int codec_entry_rare(struct codec *c, const Cairn__Entry *pb, struct entry *ret)
{
    if (pb->has_element_bits && pb->element_bits == 0) {
        return codec_refuse(c, "element_bits", "0, which is said by leaving it out");
    }
    ret->element_bits = pb->has_element_bits ? pb->element_bits : 0;
    int rc = codec_count(c, "nan", pb->has_nan, pb->nan, &ret->nonfinite.nan);
    rc = rc < 0 ? rc : codec_count(c, "inf", pb->has_inf, pb->inf, &ret->nonfinite.inf);
    if (rc < 0) {
        return rc;
    }
    ret->storage_dtype = pb->has_storage_dtype ? (uint32_t)pb->storage_dtype : 0;
    ret->quant = NULL;
    return pb->quant == NULL ? 0 : codec_quant_from(c, pb->quant, &ret->quant);
}

static int codec_entry_from(struct codec *c, const Cairn__Entry *pb, struct entry *ret)
{
    int rc = pb->path.len == 0 ? codec_refuse(c, "path", "empty") : 0;
    rc = rc < 0 ? rc : codec_text(c, "path", pb->path, LIMIT_PATH_BYTES, &ret->path);
    rc = rc < 0 ? rc : codec_entry_shape(c, pb, ret);
    rc = rc < 0 ? rc : codec_entry_place(c, pb, ret);
    rc = rc < 0 ? rc : codec_entry_rare(c, pb, ret);
    ret->id = pb->has_id ? pb->id : 0;
    ret->flags =
        (pb->has_id ? (uint32_t)ENTRY_HAS_ID : 0) | (pb->trainable ? (uint32_t)ENTRY_TRAINABLE : 0);
    return rc < 0 ? rc : codec_fixed(c, "digest", pb->digest, ret->digest.byte);
}

int codec_entries_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Entries *page = pb;
    struct entry *entries = codec_array(c, page->n_entries, sizeof *entries);
    if (entries == NULL) {
        return c->bump->exhausted ? -CAIRN_ELIMIT : -CAIRN_ENOMEM;
    }
    for (size_t i = 0; i < page->n_entries; i++) {
        int rc = codec_entry_from(c, page->entries[i], &entries[i]);
        if (rc < 0) {
            return err_wrap(c->err, rc, "entries[%zu]", i);
        }
    }
    ret->entries = (struct wire_entries){
        .component = (enum component)page->component,
        .page = page->page,
        .entries = entries,
        .count = (uint32_t)page->n_entries,
    };
    return 0;
}

static void codec_entry_rare_to(const struct entry *from, Cairn__Entry *ret, Cairn__Quant *quant)
{
    ret->has_storage_dtype = from->storage_dtype != 0;
    ret->storage_dtype = (Cairn__Dtype)from->storage_dtype;
    ret->has_element_bits = from->element_bits != 0;
    ret->element_bits = from->element_bits;
    ret->has_nan = from->nonfinite.nan != 0;
    ret->nan = from->nonfinite.nan;
    ret->has_inf = from->nonfinite.inf != 0;
    ret->inf = from->nonfinite.inf;
    if (from->quant != NULL) {
        codec_quant_to(from->quant, quant);
        ret->quant = quant;
    }
}

/* `quant` is memory for its quantization scheme, if it has one. */
static void codec_entry_to(const struct entry *from, Cairn__Entry *ret, Cairn__Quant *quant)
{
    cairn__entry__init(ret);
    bool inside = from->value.bytes == from->bytes;
    union {
        const uint64_t *in;
        uint64_t *out;
    } shape = { .in = from->shape };
    ret->path = codec_bin(from->path);
    ret->kind = (Cairn__EntryKind)from->kind;
    ret->has_id = (from->flags & ENTRY_HAS_ID) != 0;
    ret->id = from->id;
    ret->trainable = (from->flags & ENTRY_TRAINABLE) != 0;
    ret->has_dtype = from->kind == ENTRY_TENSOR;
    ret->dtype = (Cairn__Dtype)from->dtype;
    ret->rank = from->rank;
    ret->n_shape = from->rank;
    ret->shape = shape.out;
    ret->bytes = from->bytes;
    ret->has_value = inside && from->bytes != 0;
    ret->value = codec_bin(from->value);
    ret->has_first_chunk = !inside;
    ret->first_chunk = from->first_chunk;
    ret->has_offset_bytes = !inside && from->offset_bytes != 0;
    ret->offset_bytes = from->offset_bytes;
    ret->digest = codec_bin_of(from->digest.byte, sizeof from->digest.byte);
    codec_entry_rare_to(from, ret, quant);
}

/* Memory for the schemes of a page, of which most have none. NULL: there is no memory. */
static Cairn__Quant *codec_quants(struct bump *b, const struct wire_entries *from)
{
    size_t count = 1;
    for (uint32_t i = 0; i < from->count; i++) {
        count += from->entries[i].quant != NULL;
    }
    return bump_alloc(b, count * sizeof(Cairn__Quant));
}

void *codec_entries_to(struct bump *b, const union wire_msg *msg)
{
    const struct wire_entries *from = &msg->entries;
    Cairn__Entries *pb = codec_new(b, &cairn__entries__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    Cairn__Entry *entries = bump_alloc(b, from->count * sizeof *entries);
    Cairn__Quant *quant = codec_quants(b, from);
    pb->entries = codec_list(b, from->count);
    if (entries == NULL || quant == NULL || pb->entries == NULL) {
        return NULL;
    }
    pb->component = (Cairn__Component)from->component;
    pb->page = from->page;
    pb->n_entries = from->count;
    for (uint32_t i = 0; i < from->count; i++) {
        codec_entry_to(&from->entries[i], &entries[i], quant);
        quant += from->entries[i].quant != NULL;
        pb->entries[i] = &entries[i];
    }
    return pb;
}

size_t wire_entry_bytes(const struct entry *e)
{
    Cairn__Entry pb;
    Cairn__Quant quant;
    codec_entry_to(e, &pb, &quant);
    return codec_nested(cairn__entry__get_packed_size(&pb));
}
