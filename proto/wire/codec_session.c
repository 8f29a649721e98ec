/* codec_session.c: HELLO, WELCOME, ERROR, the empty messages, and the messages about runs. */
#include "wire/codec_int.h"

int codec_empty_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    (void)c;
    (void)pb;
    (void)ret;
    return 0;
}

void *codec_empty_to(struct bump *b, const union wire_msg *msg)
{
    (void)msg;
    Cairn__Empty *pb = codec_new(b, &cairn__empty__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    return pb;
}

int codec_hello_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Hello *m = pb;
    ret->hello.version_min = m->version_min;
    ret->hello.version_max = m->version_max;
    if (m->version_min == 0 || m->version_min > m->version_max) {
        return codec_refuse(c, "version_min", "0, or above version_max");
    }
    return codec_text(c, "client", m->client, CODEC_TEXT_SHORT, &ret->hello.client);
}

void *codec_hello_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Hello *pb = codec_new(b, &cairn__hello__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->version_min = msg->hello.version_min;
    pb->version_max = msg->hello.version_max;
    pb->client = codec_bin_cut(msg->hello.client, CODEC_TEXT_SHORT);
    return pb;
}

int codec_welcome_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Welcome *m = pb;
    ret->welcome = (struct wire_welcome){
        .version = m->version,
        .chunk_bytes = m->chunk_bytes,
        .entries_per_page = m->entries_per_page,
        .window_chunks = m->window_chunks,
        .idle_ms = m->idle_ms,
    };
    return codec_text(c, "server", m->server, CODEC_TEXT_SHORT, &ret->welcome.server);
}

void *codec_welcome_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Welcome *pb = codec_new(b, &cairn__welcome__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->version = msg->welcome.version;
    pb->server = codec_bin_cut(msg->welcome.server, CODEC_TEXT_SHORT);
    pb->chunk_bytes = msg->welcome.chunk_bytes;
    pb->entries_per_page = msg->welcome.entries_per_page;
    pb->window_chunks = msg->welcome.window_chunks;
    pb->idle_ms = msg->welcome.idle_ms;
    return pb;
}

int codec_error_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Error *m = pb;
    ret->error.code = (uint32_t)m->code;
    ret->error.component = m->has_component ? (uint32_t)m->component : 0;
    ret->error.closing = m->closing != 0;
    int rc = codec_text(c, "text", m->text, CODEC_TEXT_LONG, &ret->error.text);
    if (rc == 0 && m->has_path) {
        rc = codec_text(c, "path", m->path, CODEC_TEXT_SHORT, &ret->error.path);
    }
    return rc;
}

/* An error must reach the peer whatever it says: a number that the wire has no name for becomes
 * EINTERNAL, a component that is none is left out. */
void *codec_error_to(struct bump *b, const union wire_msg *msg)
{
    const struct wire_error *from = &msg->error;
    Cairn__Error *pb = codec_new(b, &cairn__error__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    bool known = protobuf_c_enum_descriptor_get_value(&cairn__error_code__descriptor,
                                                      (int)from->code) != NULL;
    pb->code = known ? (Cairn__ErrorCode)from->code : CAIRN__ERROR_CODE__EINTERNAL;
    pb->has_component = from->component > COMPONENT_NONE && from->component < COMPONENT_NR;
    pb->component = (Cairn__Component)from->component;
    pb->has_path = from->path.bytes > 0;
    pb->path = codec_bin_cut(from->path, CODEC_TEXT_SHORT);
    pb->text = codec_bin_cut(from->text, CODEC_TEXT_LONG);
    pb->closing = from->closing;
    return pb;
}

int codec_run_open_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__RunOpen *m = pb;
    return codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &ret->run_open.run);
}

void *codec_run_open_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__RunOpen *pb = codec_new(b, &cairn__run_open__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(msg->run_open.run);
    return pb;
}

int codec_run_info_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__RunInfo *m = pb;
    ret->run_info = (struct wire_run_info){
        .uid = m->uid,
        .exists = m->exists != 0,
        .boundary_count = m->boundary_count,
        .latest_seq = m->latest_seq,
        .latest_step = m->latest_step,
        .latest_ns = m->latest_ns,
        .bytes = m->bytes,
        .poisoned = m->poisoned != 0,
    };
    return codec_text(c, "run", m->run, LIMIT_RUN_NAME_BYTES, &ret->run_info.run);
}

void *codec_run_info_to(struct bump *b, const union wire_msg *msg)
{
    const struct wire_run_info *from = &msg->run_info;
    Cairn__RunInfo *pb = codec_new(b, &cairn__run_info__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->uid = from->uid;
    pb->run = codec_bin(from->run);
    pb->exists = from->exists;
    pb->boundary_count = from->boundary_count;
    pb->latest_seq = from->latest_seq;
    pb->latest_step = from->latest_step;
    pb->latest_ns = from->latest_ns;
    pb->bytes = from->bytes;
    pb->poisoned = from->poisoned;
    return pb;
}

int codec_run_list_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__RunList *m = pb;
    (void)c;
    ret->run_list.all = m->all != 0;
    return 0;
}

void *codec_run_list_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__RunList *pb = codec_new(b, &cairn__run_list__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->all = msg->run_list.all;
    return pb;
}

int codec_run_drop_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__RunDrop *m = pb;
    return codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &ret->run_drop.run);
}

void *codec_run_drop_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__RunDrop *pb = codec_new(b, &cairn__run_drop__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(msg->run_drop.run);
    return pb;
}
