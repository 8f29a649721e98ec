/* codec_field.c: single fields, both ways. */
#include "base/utf8.h"
#include "record/rules.h"
#include "wire/codec_int.h"

int codec_refuse(struct codec *c, const char *field, const char *why)
{
    return err_set(c->err, -CAIRN_EPROTO, "%s: %s", field, why);
}

int codec_text(struct codec *c,
               const char *field,
               ProtobufCBinaryData from,
               size_t max_bytes,
               struct slice *ret)
{
    if (from.len > max_bytes) {
        return err_set(
            c->err, -CAIRN_ELIMIT, "%s: %zu bytes, at most %zu", field, from.len, max_bytes);
    }
    struct slice text = slice_of(from.data, from.len);
    if (!utf8_ok(text)) {
        return codec_refuse(c, field, "not UTF-8 without NUL");
    }
    *ret = text;
    return 0;
}

int codec_fixed(struct codec *c, const char *field, ProtobufCBinaryData from, uint8_t ret[16])
{
    if (from.len != 16) {
        return err_set(c->err, -CAIRN_EPROTO, "%s: %zu bytes, expected 16", field, from.len);
    }
    memcpy(ret, from.data, 16);
    return 0;
}

int codec_count(struct codec *c, const char *field, int has, uint64_t from, uint64_t *ret)
{
    if (has && from == 0) {
        return codec_refuse(c, field, "0, which is said by leaving it out");
    }
    *ret = has ? from : 0;
    return 0;
}

void *codec_array(struct codec *c, size_t count, size_t bytes)
{
    void *array = bump_alloc(c->bump, count * bytes);
    if (array == NULL && c->bump->exhausted) {
        (void)err_set(c->err, -CAIRN_ELIMIT, "the message unpacks to too much");
    } else if (array == NULL) {
        (void)err_set(c->err, -CAIRN_ENOMEM, "no memory for a message");
    }
    return array;
}

void *codec_new(struct bump *b, const ProtobufCMessageDescriptor *desc)
{
    void *pb = bump_alloc(b, desc->sizeof_message);
    if (pb != NULL) {
        protobuf_c_message_init(desc, pb);
    }
    return pb;
}

void *codec_list(struct bump *b, size_t count)
{
    return bump_alloc(b, count * sizeof(void *));
}

ProtobufCBinaryData codec_bin_of(const uint8_t *data, size_t bytes)
{
    /* protobuf-c has no const; packing does not write. */
    union {
        const uint8_t *in;
        uint8_t *out;
    } pointer = { .in = data };
    return (ProtobufCBinaryData){ .len = bytes, .data = pointer.out };
}

ProtobufCBinaryData codec_bin(struct slice s)
{
    return codec_bin_of(s.data, s.bytes);
}

ProtobufCBinaryData codec_bin_cut(struct slice s, size_t max_bytes)
{
    const uint8_t *text = s.data;
    size_t most = s.bytes < max_bytes ? s.bytes : max_bytes;
    size_t bytes = 0;
    size_t length = utf8_length(text, most);
    while (length > 0 && text[bytes] != 0) {
        bytes += length;
        length = utf8_length(text + bytes, most - bytes);
    }
    return codec_bin_of(text, bytes);
}
