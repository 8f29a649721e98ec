#include "wire/rows.h"

#include "rows.pb-c.h"
#include "wire/codec_int.h"

/* A row has no frame; its size is bounded by what made it. */
static int
rows_pack(const ProtobufCMessage *pb, struct bump *scratch, struct wire_buf *b, struct err *err)
{
    int rc = pb == NULL ? err_set(err, -CAIRN_ENOMEM, "no memory for a row")
                        : codec_pack(pb, protobuf_c_message_get_packed_size(pb), b, err);
    bump_fini(scratch);
    return rc;
}

/* ---- boundary -----------------------------------------------------------------------------------
 */

int row_boundary_encode(const struct row_boundary *r, struct wire_buf *b, struct err *err)
{
    struct bump scratch;
    bump_init(&scratch, SIZE_MAX);
    union {
        const uint64_t *in;
        uint64_t *out;
    } segments = { .in = r->segments };
    CairnRows__BoundaryRow pb;
    cairn_rows__boundary_row__init(&pb);
    pb.boundary = codec_boundary_to(&scratch, &r->boundary);
    pb.n_segments = r->segment_count;
    pb.segments = segments.out;
    return rows_pack(pb.boundary == NULL ? NULL : &pb.base, &scratch, b, err);
}

int row_boundary_decode(struct slice s,
                        struct bump *bump,
                        struct row_boundary *ret,
                        struct err *err)
{
    struct codec c = { bump, err };
    ProtobufCMessage *base = NULL;
    int rc = codec_unpack(&cairn_rows__boundary_row__descriptor, s, &c, &base);
    if (rc < 0) {
        return rc;
    }
    const CairnRows__BoundaryRow *pb = (const CairnRows__BoundaryRow *)base;
    ret->segments = pb->segments;
    ret->segment_count = (uint32_t)pb->n_segments;
    return codec_boundary_from(&c, pb->boundary, &ret->boundary);
}

/* ---- component, page 0 --------------------------------------------------------------------------
 */

struct rows_ref {
    CairnRows__ChunkRef ref;
    Cairn__Chunk chunk;
};

static CairnRows__ChunkRef **
rows_refs_to(struct bump *b, const struct chunk_ref *from, uint32_t count)
{
    CairnRows__ChunkRef **list = codec_list(b, count);
    struct rows_ref *refs = bump_alloc(b, count * sizeof *refs);
    for (uint32_t i = 0; list != NULL && refs != NULL && i < count; i++) {
        cairn_rows__chunk_ref__init(&refs[i].ref);
        codec_chunk_to(&from[i].chunk, &refs[i].chunk);
        refs[i].ref.index = from[i].index;
        refs[i].ref.segment = from[i].segment;
        refs[i].ref.segment_index = from[i].segment_index;
        refs[i].ref.chunk = &refs[i].chunk;
        list[i] = &refs[i].ref;
    }
    return refs == NULL ? NULL : list;
}

int row_component_encode(const struct row_component *r, struct wire_buf *b, struct err *err)
{
    struct bump scratch;
    bump_init(&scratch, SIZE_MAX);
    Cairn__ComponentInfo info;
    CairnRows__ComponentRow pb;
    codec_info_to(&r->info, &info);
    cairn_rows__component_row__init(&pb);
    pb.info = &info;
    pb.n_chunks = r->chunk_count;
    pb.chunks = rows_refs_to(&scratch, r->chunks, r->chunk_count);
    pb.n_first_paths = r->page_count;
    pb.first_paths = bump_alloc(&scratch, r->page_count * sizeof *pb.first_paths);
    for (uint32_t i = 0; pb.first_paths != NULL && i < r->page_count; i++) {
        pb.first_paths[i] = codec_bin(r->first_paths[i]);
    }
    bool whole = pb.chunks != NULL && pb.first_paths != NULL;
    return rows_pack(whole ? &pb.base : NULL, &scratch, b, err);
}

static int
rows_refs_from(struct codec *c, const CairnRows__ComponentRow *pb, const struct chunk_ref **ret)
{
    struct chunk_ref *refs = codec_array(c, pb->n_chunks, sizeof *refs);
    if (refs == NULL) {
        return c->bump->exhausted ? -CAIRN_ELIMIT : -CAIRN_ENOMEM;
    }
    for (size_t i = 0; i < pb->n_chunks; i++) {
        refs[i].index = pb->chunks[i]->index;
        refs[i].segment = pb->chunks[i]->segment;
        refs[i].segment_index = pb->chunks[i]->segment_index;
        int rc = codec_chunk_from(c, pb->chunks[i]->chunk, &refs[i].chunk);
        if (rc < 0) {
            return err_wrap(c->err, rc, "chunks[%zu]", i);
        }
    }
    *ret = refs;
    return 0;
}

static int
rows_paths_from(struct codec *c, const CairnRows__ComponentRow *pb, const struct slice **ret)
{
    struct slice *paths = codec_array(c, pb->n_first_paths, sizeof *paths);
    if (paths == NULL) {
        return c->bump->exhausted ? -CAIRN_ELIMIT : -CAIRN_ENOMEM;
    }
    for (size_t i = 0; i < pb->n_first_paths; i++) {
        int rc = codec_text(c, "first_paths", pb->first_paths[i], LIMIT_PATH_BYTES, &paths[i]);
        if (rc < 0) {
            return rc;
        }
    }
    *ret = paths;
    return 0;
}

int row_component_decode(struct slice s,
                         struct bump *bump,
                         struct row_component *ret,
                         struct err *err)
{
    struct codec c = { bump, err };
    ProtobufCMessage *base = NULL;
    int rc = codec_unpack(&cairn_rows__component_row__descriptor, s, &c, &base);
    if (rc < 0) {
        return rc;
    }
    const CairnRows__ComponentRow *pb = (const CairnRows__ComponentRow *)base;
    ret->chunk_count = (uint32_t)pb->n_chunks;
    ret->page_count = (uint32_t)pb->n_first_paths;
    rc = codec_info_from(&c, pb->info, &ret->info);
    rc = rc < 0 ? rc : rows_refs_from(&c, pb, &ret->chunks);
    return rc < 0 ? rc : rows_paths_from(&c, pb, &ret->first_paths);
}

/* ---- component, pages 1.. -----------------------------------------------------------------------
 */

int row_entries_encode(const struct wire_entries *r, struct wire_buf *b, struct err *err)
{
    struct bump scratch;
    bump_init(&scratch, SIZE_MAX);
    union wire_msg msg = { .entries = *r };
    return rows_pack(codec_entries_to(&scratch, &msg), &scratch, b, err);
}

int row_entries_decode(struct slice s, struct bump *bump, struct wire_entries *ret, struct err *err)
{
    struct codec c = { bump, err };
    ProtobufCMessage *base = NULL;
    union wire_msg msg;
    int rc = codec_unpack(&cairn__entries__descriptor, s, &c, &base);
    rc = rc < 0 ? rc : codec_entries_from(&c, base, &msg);
    if (rc == 0) {
        *ret = msg.entries;
    }
    return rc;
}

/* ---- chunk, saveid, run -------------------------------------------------------------------------
 */

int row_chunk_encode(const struct row_chunk *r, struct wire_buf *b, struct err *err)
{
    CairnRows__ChunkRow pb;
    cairn_rows__chunk_row__init(&pb);
    pb.offset = r->offset;
    pb.bytes = r->bytes;
    pb.digest = codec_bin_of(r->digest.byte, sizeof r->digest.byte);
    pb.proved = r->proved;
    return codec_pack(&pb.base, cairn_rows__chunk_row__get_packed_size(&pb), b, err);
}

int row_chunk_decode(struct slice s, struct bump *bump, struct row_chunk *ret, struct err *err)
{
    struct codec c = { bump, err };
    ProtobufCMessage *base = NULL;
    int rc = codec_unpack(&cairn_rows__chunk_row__descriptor, s, &c, &base);
    if (rc < 0) {
        return rc;
    }
    const CairnRows__ChunkRow *pb = (const CairnRows__ChunkRow *)base;
    ret->offset = pb->offset;
    ret->bytes = pb->bytes;
    ret->proved = pb->proved != 0;
    return codec_fixed(&c, "digest", pb->digest, ret->digest.byte);
}

int row_save_encode(const struct row_save *r, struct wire_buf *b, struct err *err)
{
    CairnRows__SaveRow pb;
    cairn_rows__save_row__init(&pb);
    pb.state = (Cairn__SaveState)r->state;
    pb.seq = r->seq;
    pb.root = codec_bin_of(r->root.byte, sizeof r->root.byte);
    return codec_pack(&pb.base, cairn_rows__save_row__get_packed_size(&pb), b, err);
}

int row_save_decode(struct slice s, struct bump *bump, struct row_save *ret, struct err *err)
{
    struct codec c = { bump, err };
    ProtobufCMessage *base = NULL;
    int rc = codec_unpack(&cairn_rows__save_row__descriptor, s, &c, &base);
    if (rc < 0) {
        return rc;
    }
    const CairnRows__SaveRow *pb = (const CairnRows__SaveRow *)base;
    ret->state = (enum save_state)pb->state;
    ret->seq = pb->seq;
    return codec_fixed(&c, "root", pb->root, ret->root.byte);
}

int row_pin_encode(const struct row_pin *r, struct wire_buf *b, struct err *err)
{
    CairnRows__PinRow pb;
    cairn_rows__pin_row__init(&pb);
    pb.uid = r->uid;
    pb.created_ns = r->created_ns;
    pb.why = codec_bin(r->why);
    return codec_pack(&pb.base, cairn_rows__pin_row__get_packed_size(&pb), b, err);
}

int row_pin_decode(struct slice s, struct bump *bump, struct row_pin *ret, struct err *err)
{
    struct codec c = { bump, err };
    ProtobufCMessage *base = NULL;
    int rc = codec_unpack(&cairn_rows__pin_row__descriptor, s, &c, &base);
    if (rc < 0) {
        return rc;
    }
    const CairnRows__PinRow *pb = (const CairnRows__PinRow *)base;
    ret->uid = pb->uid;
    ret->created_ns = pb->created_ns;
    return codec_text(&c, "why", pb->why, CODEC_TEXT_SHORT, &ret->why);
}

int row_run_encode(const struct row_run *r, struct wire_buf *b, struct err *err)
{
    CairnRows__RunRow pb;
    cairn_rows__run_row__init(&pb);
    pb.boundary_count = r->boundary_count;
    pb.latest_seq = r->latest_seq;
    pb.latest_step = r->latest_step;
    pb.latest_ns = r->latest_ns;
    pb.bytes = r->bytes;
    return codec_pack(&pb.base, cairn_rows__run_row__get_packed_size(&pb), b, err);
}

int row_run_decode(struct slice s, struct bump *bump, struct row_run *ret, struct err *err)
{
    struct codec c = { bump, err };
    ProtobufCMessage *base = NULL;
    int rc = codec_unpack(&cairn_rows__run_row__descriptor, s, &c, &base);
    if (rc < 0) {
        return rc;
    }
    const CairnRows__RunRow *pb = (const CairnRows__RunRow *)base;
    *ret = (struct row_run){
        .boundary_count = pb->boundary_count,
        .latest_seq = pb->latest_seq,
        .latest_step = pb->latest_step,
        .latest_ns = pb->latest_ns,
        .bytes = pb->bytes,
    };
    return 0;
}
