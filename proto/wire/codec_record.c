/* codec_record.c: the parts of a record: labels, components, boundaries, chunks. */
#include "wire/codec_int.h"

/* ---- components ---------------------------------------------------------------------------------
 */

int codec_info_from(struct codec *c, const Cairn__ComponentInfo *pb, struct component_info *ret)
{
    ret->component = (enum component)pb->component;
    ret->entry_count = pb->entry_count;
    ret->bytes = pb->bytes;
    ret->chunk_count = pb->chunk_count;
    ret->page_count = pb->page_count;
    ret->has_config = pb->has_config != 0;
    int rc = codec_text(c, "type", pb->type, LIMIT_TYPE_BYTES, &ret->type);
    rc = rc < 0 ? rc : codec_count(c, "nan", pb->has_nan, pb->nan, &ret->nonfinite.nan);
    rc = rc < 0 ? rc : codec_count(c, "inf", pb->has_inf, pb->inf, &ret->nonfinite.inf);
    if (rc == 0 && ret->has_config) {
        rc = codec_fixed(c, "config", pb->config, ret->config.byte);
    }
    return rc < 0 ? rc : codec_fixed(c, "digest", pb->digest, ret->digest.byte);
}

void codec_info_to(const struct component_info *from, Cairn__ComponentInfo *ret)
{
    cairn__component_info__init(ret);
    ret->component = (Cairn__Component)from->component;
    ret->type = codec_bin(from->type);
    ret->entry_count = from->entry_count;
    ret->bytes = from->bytes;
    ret->chunk_count = from->chunk_count;
    ret->page_count = from->page_count;
    ret->digest = codec_bin_of(from->digest.byte, sizeof from->digest.byte);
    ret->has_nan = from->nonfinite.nan != 0;
    ret->nan = from->nonfinite.nan;
    ret->has_inf = from->nonfinite.inf != 0;
    ret->inf = from->nonfinite.inf;
    ret->has_config = from->has_config;
    ret->config = codec_bin_of(from->config.byte, sizeof from->config.byte);
}

int codec_infos_from(struct codec *c,
                     Cairn__ComponentInfo *const *pb,
                     size_t count,
                     const struct component_info **ret)
{
    struct component_info *infos = codec_array(c, count, sizeof *infos);
    if (infos == NULL) {
        return c->bump->exhausted ? -CAIRN_ELIMIT : -CAIRN_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        int rc = codec_info_from(c, pb[i], &infos[i]);
        if (rc == 0 && i > 0 && infos[i].component <= infos[i - 1].component) {
            rc = codec_refuse(c, "component", "not in ascending order");
        }
        if (rc < 0) {
            return err_wrap(c->err, rc, "components[%zu]", i);
        }
    }
    *ret = infos;
    return 0;
}

Cairn__ComponentInfo **
codec_infos_to(struct bump *b, const struct component_info *from, uint32_t count)
{
    Cairn__ComponentInfo **list = codec_list(b, count);
    Cairn__ComponentInfo *infos = bump_alloc(b, count * sizeof *infos);
    for (uint32_t i = 0; list != NULL && infos != NULL && i < count; i++) {
        codec_info_to(&from[i], &infos[i]);
        list[i] = &infos[i];
    }
    return infos == NULL ? NULL : list;
}

/* ---- labels -------------------------------------------------------------------------------------
 */

int codec_labels_from(struct codec *c,
                      Cairn__Label *const *pb,
                      size_t count,
                      const struct label **ret)
{
    struct label *labels = codec_array(c, count, sizeof *labels);
    if (labels == NULL) {
        return c->bump->exhausted ? -CAIRN_ELIMIT : -CAIRN_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        int rc = codec_text(c, "name", pb[i]->name, LIMIT_LABEL_NAME_BYTES, &labels[i].name);
        if (rc == 0) {
            rc = codec_text(c, "value", pb[i]->value, LIMIT_LABEL_VALUE_BYTES, &labels[i].value);
        }
        if (rc < 0) {
            return err_wrap(c->err, rc, "labels[%zu]", i);
        }
    }
    *ret = labels;
    return 0;
}

Cairn__Label **codec_labels_to(struct bump *b, const struct label *from, uint32_t count)
{
    Cairn__Label **list = codec_list(b, count);
    Cairn__Label *labels = bump_alloc(b, count * sizeof *labels);
    for (uint32_t i = 0; list != NULL && labels != NULL && i < count; i++) {
        cairn__label__init(&labels[i]);
        labels[i].name = codec_bin(from[i].name);
        labels[i].value = codec_bin(from[i].value);
        list[i] = &labels[i];
    }
    return labels == NULL ? NULL : list;
}

/* ---- boundaries ---------------------------------------------------------------------------------
 */

static int
codec_boundary_lists_from(struct codec *c, const Cairn__Boundary *pb, struct boundary *ret)
{
    int rc = codec_fixed(c, "save_id", pb->save_id, ret->save_id);
    rc = rc < 0 ? rc : codec_fixed(c, "root", pb->root, ret->root.byte);
    rc = rc < 0 ? rc : codec_labels_from(c, pb->labels, pb->n_labels, &ret->labels);
    rc = rc < 0 ? rc : codec_infos_from(c, pb->components, pb->n_components, &ret->components);
    ret->label_count = (uint32_t)pb->n_labels;
    ret->component_count = (uint32_t)pb->n_components;
    return rc;
}

static int
codec_boundary_rest_from(struct codec *c, const Cairn__Boundary *pb, struct boundary *ret)
{
    int rc = codec_count(
        c, "trainable_bytes", pb->has_trainable_bytes, pb->trainable_bytes, &ret->trainable_bytes);
    rc = rc < 0 ? rc
                : codec_count(c,
                              "trainable_new_bytes",
                              pb->has_trainable_new_bytes,
                              pb->trainable_new_bytes,
                              &ret->trainable_new_bytes);
    if (rc == 0 && pb->has_warnings &&
        (pb->warnings == 0 || (pb->warnings & ~(uint32_t)WARNING_ALL) != 0)) {
        rc = codec_refuse(c, "warnings", "none, or one that is not known");
    }
    return rc;
}

int codec_boundary_from(struct codec *c, const Cairn__Boundary *pb, struct boundary *ret)
{
    *ret = (struct boundary){
        .seq = pb->seq,
        .parent_seq = pb->parent_seq,
        .step = pb->step,
        .kind = pb->kind,
        .precision = (enum precision)pb->precision,
        .exact = pb->exact != 0,
        .rank = pb->rank,
        .world = pb->world,
        .local_parts = pb->local_parts,
        .created_ns = pb->created_ns,
        .entry_count = pb->entry_count,
        .payload_bytes = pb->payload_bytes,
        .stored_bytes = pb->stored_bytes,
        .chunk_count = pb->chunk_count,
        .bytes_new = pb->bytes_new,
        .bytes_shared = pb->bytes_shared,
        .not_finite = pb->has_not_finite && pb->not_finite,
        .marks = pb->has_marks ? pb->marks : 0,
        .pin_count = pb->has_pins ? pb->pins : 0,
        .warnings = pb->has_warnings ? pb->warnings : 0,
    };
    int rc = codec_boundary_rest_from(c, pb, ret);
    rc = rc < 0 ? rc : codec_count(c, "nan", pb->has_nan, pb->nan, &ret->nonfinite.nan);
    rc = rc < 0 ? rc : codec_count(c, "inf", pb->has_inf, pb->inf, &ret->nonfinite.inf);
    if (rc == 0 && pb->has_not_finite && !pb->not_finite) {
        rc = codec_refuse(c, "not_finite", "false, which is said by leaving it out");
    }
    if (rc == 0 && pb->has_marks && (pb->marks == 0 || (pb->marks & ~(uint32_t)MARK_ALL) != 0)) {
        rc = codec_refuse(c, "marks", "none, or one that is not known");
    }
    if (rc == 0 && pb->has_pins && pb->pins == 0) {
        rc = codec_refuse(c, "pins", "0, which is said by leaving it out");
    }
    rc = rc < 0 ? rc : codec_boundary_lists_from(c, pb, ret);
    return rc < 0 ? err_wrap(c->err, rc, "boundary") : 0;
}

static void codec_boundary_numbers_to(const struct boundary *from, Cairn__Boundary *pb)
{
    pb->seq = from->seq;
    pb->parent_seq = from->parent_seq;
    pb->step = from->step;
    pb->save_id = codec_bin_of(from->save_id, sizeof from->save_id);
    pb->kind = from->kind;
    pb->precision = (Cairn__Precision)from->precision;
    pb->exact = from->exact;
    pb->rank = from->rank;
    pb->world = from->world;
    pb->local_parts = from->local_parts;
    pb->created_ns = from->created_ns;
    pb->entry_count = from->entry_count;
    pb->payload_bytes = from->payload_bytes;
    pb->stored_bytes = from->stored_bytes;
    pb->chunk_count = from->chunk_count;
    pb->bytes_new = from->bytes_new;
    pb->bytes_shared = from->bytes_shared;
    pb->has_nan = from->nonfinite.nan != 0;
    pb->nan = from->nonfinite.nan;
    pb->has_inf = from->nonfinite.inf != 0;
    pb->inf = from->nonfinite.inf;
    pb->has_not_finite = from->not_finite;
    pb->not_finite = from->not_finite;
    pb->has_marks = from->marks != 0;
    pb->marks = from->marks;
    pb->has_pins = from->pin_count != 0;
    pb->pins = from->pin_count;
    pb->has_trainable_bytes = from->trainable_bytes != 0;
    pb->trainable_bytes = from->trainable_bytes;
    pb->has_trainable_new_bytes = from->trainable_new_bytes != 0;
    pb->trainable_new_bytes = from->trainable_new_bytes;
    pb->has_warnings = from->warnings != 0;
    pb->warnings = from->warnings;
    pb->root = codec_bin_of(from->root.byte, sizeof from->root.byte);
}

Cairn__Boundary *codec_boundary_to(struct bump *b, const struct boundary *from)
{
    Cairn__Boundary *pb = codec_new(b, &cairn__boundary__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    codec_boundary_numbers_to(from, pb);
    pb->n_labels = from->label_count;
    pb->labels = codec_labels_to(b, from->labels, from->label_count);
    pb->n_components = from->component_count;
    pb->components = codec_infos_to(b, from->components, from->component_count);
    return pb->labels == NULL || pb->components == NULL ? NULL : pb;
}

size_t codec_nested(size_t bytes)
{
    size_t head = 2;
    for (size_t left = bytes >> 7; left > 0; left >>= 7) {
        head++;
    }
    return head + bytes;
}

size_t wire_boundary_bytes(const struct boundary *b)
{
    struct bump scratch;
    bump_init(&scratch, SIZE_MAX);
    const Cairn__Boundary *pb = codec_boundary_to(&scratch, b);
    size_t bytes = pb == NULL ? SIZE_MAX : codec_nested(cairn__boundary__get_packed_size(pb));
    bump_fini(&scratch);
    return bytes;
}

/* ---- chunks -------------------------------------------------------------------------------------
 */

int codec_chunk_from(struct codec *c, const Cairn__Chunk *pb, struct chunk *ret)
{
    ret->component = (enum component)pb->component;
    ret->flags = pb->flags;
    ret->bytes = pb->bytes;
    return codec_fixed(c, "digest", pb->digest, ret->digest.byte);
}

void codec_chunk_to(const struct chunk *from, Cairn__Chunk *ret)
{
    cairn__chunk__init(ret);
    ret->component = (Cairn__Component)from->component;
    ret->flags = from->flags;
    ret->bytes = from->bytes;
    ret->digest = codec_bin_of(from->digest.byte, sizeof from->digest.byte);
}
