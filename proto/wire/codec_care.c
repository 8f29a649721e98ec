/* codec_care.c: VERIFY and STATUS. */
#include "wire/codec_int.h"

#define CODEC_ATTENTION_MAX 16u

int codec_verify_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Verify *m = pb;
    ret->verify.whole_run = !m->has_selector;
    int rc = codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &ret->verify.run);
    if (rc == 0 && m->has_selector) {
        rc = codec_text(c, "selector", m->selector, LIMIT_SELECTOR_BYTES, &ret->verify.selector);
    }
    return rc;
}

void *codec_verify_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Verify *pb = codec_new(b, &cairn__verify__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(msg->verify.run);
    pb->has_selector = !msg->verify.whole_run;
    pb->selector = codec_bin(msg->verify.selector);
    return pb;
}

int codec_finding_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Finding *m = pb;
    ret->finding.seq = m->seq;
    ret->finding.component = m->has_component ? (uint32_t)m->component : 0;
    int rc = codec_text(c, "text", m->text, CODEC_TEXT_LONG, &ret->finding.text);
    if (rc == 0 && m->has_path) {
        rc = codec_text(c, "path", m->path, CODEC_TEXT_SHORT, &ret->finding.path);
    }
    return rc;
}

void *codec_finding_to(struct bump *b, const union wire_msg *msg)
{
    const struct wire_finding *from = &msg->finding;
    Cairn__Finding *pb = codec_new(b, &cairn__finding__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->seq = from->seq;
    pb->has_component = from->component > COMPONENT_NONE && from->component < COMPONENT_NR;
    pb->component = (Cairn__Component)from->component;
    pb->has_path = from->path.bytes > 0;
    pb->path = codec_bin_cut(from->path, CODEC_TEXT_SHORT);
    pb->text = codec_bin_cut(from->text, CODEC_TEXT_LONG);
    return pb;
}

int codec_verified_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Verified *m = pb;
    (void)c;
    ret->verified = (struct wire_verified){
        .boundary_count = m->boundary_count,
        .chunk_count = m->chunk_count,
        .bytes = m->bytes,
        .finding_count = m->finding_count,
        .more = m->more != 0,
    };
    return 0;
}

void *codec_verified_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Verified *pb = codec_new(b, &cairn__verified__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->boundary_count = msg->verified.boundary_count;
    pb->chunk_count = msg->verified.chunk_count;
    pb->bytes = msg->verified.bytes;
    pb->finding_count = msg->verified.finding_count;
    pb->more = msg->verified.more;
    return pb;
}

static int
codec_status_texts(struct codec *c, const Cairn__StatusInfo *m, struct wire_status_info *ret)
{
    int rc = codec_text(c, "server", m->server, CODEC_TEXT_SHORT, &ret->server);
    rc = rc < 0 ? rc : codec_text(c, "data_dir", m->data_dir, LIMIT_PATH_BYTES, &ret->data_dir);
    rc = rc < 0 ? rc : codec_text(c, "io_mode", m->io_mode, CODEC_TEXT_SHORT, &ret->io_mode);
    rc = rc < 0 ? rc : codec_text(c, "io_why", m->io_why, CODEC_TEXT_SHORT, &ret->io_why);
    struct slice *attention = codec_array(c, m->n_attention, sizeof *attention);
    if (rc < 0 || attention == NULL) {
        return rc < 0 ? rc : c->bump->exhausted ? -CAIRN_ELIMIT : -CAIRN_ENOMEM;
    }
    for (size_t i = 0; i < m->n_attention; i++) {
        rc = codec_text(c, "attention", m->attention[i], CODEC_TEXT_SHORT, &attention[i]);
        if (rc < 0) {
            return rc;
        }
    }
    ret->attention = attention;
    ret->attention_count = (uint32_t)m->n_attention;
    return 0;
}

int codec_status_info_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__StatusInfo *m = pb;
    ret->status_info = (struct wire_status_info){
        .pid = m->pid,
        .uptime_ms = m->uptime_ms,
        .run_count = m->run_count,
        .open_run_count = m->open_run_count,
        .connection_count = m->connection_count,
        .upload_count = m->upload_count,
        .pool_bytes = m->pool_bytes,
        .pool_used_bytes = m->pool_used_bytes,
        .disk_free_bytes = m->disk_free_bytes,
        .disk_total_bytes = m->disk_total_bytes,
        .committed_count = m->committed_count,
        .failed_count = m->failed_count,
        .arena_bytes = m->arena_bytes,
        .arena_share_bytes = m->arena_share_bytes,
        .arena_lent_bytes = m->arena_lent_bytes,
        .arena_own_bytes = m->arena_own_bytes,
        .arena_count = m->arena_count,
        .ring_count = m->ring_count,
        .resident_bytes = m->resident_bytes,
        .resident_kept_bytes = m->resident_kept_bytes,
        .resident_count = m->resident_count,
    };
    return codec_status_texts(c, m, &ret->status_info);
}

static void codec_status_numbers(const struct wire_status_info *from, Cairn__StatusInfo *pb)
{
    pb->pid = from->pid;
    pb->uptime_ms = from->uptime_ms;
    pb->run_count = from->run_count;
    pb->open_run_count = from->open_run_count;
    pb->connection_count = from->connection_count;
    pb->upload_count = from->upload_count;
    pb->pool_bytes = from->pool_bytes;
    pb->pool_used_bytes = from->pool_used_bytes;
    pb->disk_free_bytes = from->disk_free_bytes;
    pb->disk_total_bytes = from->disk_total_bytes;
    pb->committed_count = from->committed_count;
    pb->failed_count = from->failed_count;
    pb->arena_bytes = from->arena_bytes;
    pb->arena_share_bytes = from->arena_share_bytes;
    pb->arena_lent_bytes = from->arena_lent_bytes;
    pb->arena_own_bytes = from->arena_own_bytes;
    pb->arena_count = from->arena_count;
    pb->ring_count = from->ring_count;
    pb->resident_bytes = from->resident_bytes;
    pb->resident_kept_bytes = from->resident_kept_bytes;
    pb->resident_count = from->resident_count;
}

void *codec_status_info_to(struct bump *b, const union wire_msg *msg)
{
    const struct wire_status_info *from = &msg->status_info;
    Cairn__StatusInfo *pb = codec_new(b, &cairn__status_info__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    uint32_t count =
        from->attention_count > CODEC_ATTENTION_MAX ? CODEC_ATTENTION_MAX : from->attention_count;
    pb->attention = bump_alloc(b, count * sizeof *pb->attention);
    if (pb->attention == NULL) {
        return NULL;
    }
    codec_status_numbers(from, pb);
    pb->server = codec_bin_cut(from->server, CODEC_TEXT_SHORT);
    pb->data_dir = codec_bin(from->data_dir);
    pb->io_mode = codec_bin(from->io_mode);
    pb->io_why = codec_bin_cut(from->io_why, CODEC_TEXT_SHORT);
    pb->n_attention = count;
    for (uint32_t i = 0; i < count; i++) {
        pb->attention[i] = codec_bin_cut(from->attention[i], CODEC_TEXT_SHORT);
    }
    return pb;
}
