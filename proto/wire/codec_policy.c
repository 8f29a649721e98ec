/* codec_policy.c: POLICY to USAGE_INFO. */
#include "wire/codec_int.h"

/* A text that may be left out. */
static int codec_policy_text(
    struct codec *c, int has, ProtobufCBinaryData from, bool *ret_has, struct slice *ret)
{
    *ret_has = has != 0;
    *ret = slice_of(NULL, 0);
    return has ? codec_text(c, "policy", from, LIMIT_POLICY_BYTES, ret) : 0;
}

int codec_policy_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Policy *m = pb;
    int rc = codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &ret->policy.run);
    return rc < 0 ? rc
                  : codec_policy_text(
                        c, m->has_policy, m->policy, &ret->policy.sets, &ret->policy.policy);
}

void *codec_policy_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Policy *pb = codec_new(b, &cairn__policy__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(msg->policy.run);
    pb->has_policy = msg->policy.sets;
    pb->policy = codec_bin(msg->policy.policy);
    return pb;
}

int codec_policy_info_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__PolicyInfo *m = pb;
    ret->policy_info.preset = m->preset != 0;
    return codec_text(c, "policy", m->policy, LIMIT_POLICY_BYTES, &ret->policy_info.policy);
}

void *codec_policy_info_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__PolicyInfo *pb = codec_new(b, &cairn__policy_info__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->policy = codec_bin(msg->policy_info.policy);
    pb->preset = msg->policy_info.preset;
    return pb;
}

int codec_keep_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Keep *m = pb;
    struct wire_keep *keep = &ret->keep;
    keep->dry_run = m->dry_run != 0;
    keep->below = m->has_below ? m->below : 0;
    int rc = codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &keep->run);
    rc = rc < 0 ? rc
                : codec_policy_text(c, m->has_policy, m->policy, &keep->has_policy, &keep->policy);
    if (rc == 0 && !keep->dry_run && (m->has_policy || m->has_below)) {
        return codec_refuse(
            c, m->has_policy ? "policy" : "below", "given without dry_run: set it with POLICY");
    }
    return rc == 0 && m->has_below && m->below == 0 ? codec_refuse(c, "below", "0") : rc;
}

void *codec_keep_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Keep *pb = codec_new(b, &cairn__keep__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(msg->keep.run);
    pb->dry_run = msg->keep.dry_run;
    pb->has_policy = msg->keep.has_policy;
    pb->policy = codec_bin(msg->keep.policy);
    pb->has_below = msg->keep.below != 0;
    pb->below = msg->keep.below;
    return pb;
}

int codec_kept_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Kept *m = pb;
    struct wire_kept_boundary *rows = codec_array(c, m->n_boundaries, sizeof *rows);
    if (rows == NULL) {
        return c->bump->exhausted ? -CAIRN_ELIMIT : -CAIRN_ENOMEM;
    }
    for (size_t i = 0; i < m->n_boundaries; i++) {
        const Cairn__KeptBoundary *from = m->boundaries[i];
        rows[i] = (struct wire_kept_boundary){
            .seq = from->seq,
            .step = from->step,
            .created_ns = from->created_ns,
            .own_bytes = from->own_bytes,
            .shared_bytes = from->shared_bytes,
            .why = (uint32_t)from->why,
            .rule = from->rule,
        };
    }
    ret->kept = (struct wire_kept){
        .boundaries = rows,
        .count = (uint32_t)m->n_boundaries,
        .more = m->more != 0,
        .removed = m->removed,
        .damaged = m->damaged,
        .bytes = m->bytes,
    };
    return codec_text(c, "policy", m->policy, LIMIT_POLICY_BYTES, &ret->kept.policy);
}

static Cairn__KeptBoundary *codec_kept_boundary_to(struct bump *b,
                                                   const struct wire_kept_boundary *from)
{
    Cairn__KeptBoundary *pb = codec_new(b, &cairn__kept_boundary__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->seq = from->seq;
    pb->step = from->step;
    pb->created_ns = from->created_ns;
    pb->own_bytes = from->own_bytes;
    pb->shared_bytes = from->shared_bytes;
    pb->why = (Cairn__KeepWhy)from->why;
    pb->rule = from->rule;
    return pb;
}

void *codec_kept_to(struct bump *b, const union wire_msg *msg)
{
    const struct wire_kept *from = &msg->kept;
    Cairn__Kept *pb = codec_new(b, &cairn__kept__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->more = from->more;
    pb->removed = from->removed;
    pb->damaged = from->damaged;
    pb->bytes = from->bytes;
    pb->policy = codec_bin(from->policy);
    pb->n_boundaries = from->count;
    pb->boundaries = codec_list(b, from->count);
    for (uint32_t i = 0; pb->boundaries != NULL && i < from->count; i++) {
        pb->boundaries[i] = codec_kept_boundary_to(b, &from->boundaries[i]);
        if (pb->boundaries[i] == NULL) {
            return NULL;
        }
    }
    return pb->boundaries == NULL ? NULL : pb;
}

int codec_rollback_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Rollback *m = pb;
    int rc = codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &ret->rollback.run);
    return rc < 0 ? rc
                  : codec_text(
                        c, "selector", m->selector, LIMIT_SELECTOR_BYTES, &ret->rollback.selector);
}

void *codec_rollback_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Rollback *pb = codec_new(b, &cairn__rollback__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(msg->rollback.run);
    pb->selector = codec_bin(msg->rollback.selector);
    return pb;
}

int codec_usage_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Usage *m = pb;
    return codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &ret->usage.run);
}

void *codec_usage_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Usage *pb = codec_new(b, &cairn__usage__descriptor);
    if (pb != NULL) {
        pb->run = codec_bin(msg->usage.run);
    }
    return pb;
}

int codec_usage_info_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__UsageInfo *m = pb;
    (void)c;
    ret->usage_info = (struct wire_usage_info){ .segment_bytes = m->segment_bytes,
                                                .unnamed_bytes = m->unnamed_bytes,
                                                .index_bytes = m->index_bytes };
    return 0;
}

void *codec_usage_info_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__UsageInfo *pb = codec_new(b, &cairn__usage_info__descriptor);
    if (pb != NULL) {
        pb->segment_bytes = msg->usage_info.segment_bytes;
        pb->unnamed_bytes = msg->usage_info.unnamed_bytes;
        pb->index_bytes = msg->usage_info.index_bytes;
    }
    return pb;
}
