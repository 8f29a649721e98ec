/* codec_int.h: what the codec's own files share. Protobuf types are visible here and in codec*.c
 * and rows.c, nowhere else.
 *
 * A message comes in three steps: codec_check walks the raw bytes against the schema and refuses
 * what protobuf-c would let pass or could not name (no allocation); protobuf-c unpacks into the
 * bump; a `from` function checks what a schema cannot say and makes the plain struct, whose slices
 * point into what was unpacked. A message goes out through a `to` function and one packing. */
#ifndef WIRE_CODEC_INT_H
#define WIRE_CODEC_INT_H

#include <protobuf-c/protobuf-c.h>

#include "cairn.pb-c.h"
#include "wire/codec.h"

/* Where a decoder allocates and complains. */
struct codec {
    struct bump *bump;
    struct err *err;
};

#define CODEC_TEXT_SHORT 255u /* names and versions, run references, sentences of a status */
#define CODEC_TEXT_LONG 1023u /* sentences of an error or a finding */

/* Pack the message behind what is in b. Errors: ENOMEM. */
int codec_pack(const ProtobufCMessage *pb, size_t pb_bytes, struct wire_buf *b, struct err *err);
int codec_reserve(struct wire_buf *b, size_t more, struct err *err);

/* Check against the schema, then unpack into the bump. */
int codec_unpack(const ProtobufCMessageDescriptor *desc,
                 struct slice s,
                 struct codec *c,
                 ProtobufCMessage **ret);
ProtobufCAllocator codec_allocator(struct bump *b);
int codec_check(const ProtobufCMessageDescriptor *desc, struct slice s, struct err *err);

/* Fields. On failure the error names the field. */
int codec_text(struct codec *c,
               const char *field,
               ProtobufCBinaryData from,
               size_t max_bytes,
               struct slice *ret);
int codec_fixed(struct codec *c, const char *field, ProtobufCBinaryData from, uint8_t ret[16]);
/* A count that is left out when it is 0; `has` is protobuf-c's word for that it is there. */
int codec_count(struct codec *c, const char *field, int has, uint64_t from, uint64_t *ret);
int codec_refuse(struct codec *c, const char *field, const char *why);
/* NULL with ENOMEM or ELIMIT in the error; count 0 gives a pointer that may not be read. */
void *codec_array(struct codec *c, size_t count, size_t bytes);
ProtobufCBinaryData codec_bin(struct slice s);
ProtobufCBinaryData codec_bin_of(const uint8_t *data, size_t bytes);
/* Sentences for people are cut to their limit, or before what is no UTF-8, rather than refused. */
ProtobufCBinaryData codec_bin_cut(struct slice s, size_t max_bytes);

/* Size of a sub-message with its key and length. */
size_t codec_nested(size_t bytes);

/* Outgoing messages: an initialised one, and an array of pointers. NULL when memory is out. */
void *codec_new(struct bump *b, const ProtobufCMessageDescriptor *desc);
void *codec_list(struct bump *b, size_t count);

/* Parts of a record. The `to` functions return NULL when memory is out. */
int codec_labels_from(struct codec *c,
                      Cairn__Label *const *pb,
                      size_t count,
                      const struct label **ret);
Cairn__Label **codec_labels_to(struct bump *b, const struct label *from, uint32_t count);
int codec_boundary_from(struct codec *c, const Cairn__Boundary *pb, struct boundary *ret);
Cairn__Boundary *codec_boundary_to(struct bump *b, const struct boundary *from);
int codec_infos_from(struct codec *c,
                     Cairn__ComponentInfo *const *pb,
                     size_t count,
                     const struct component_info **ret);
Cairn__ComponentInfo **
codec_infos_to(struct bump *b, const struct component_info *from, uint32_t count);
int codec_info_from(struct codec *c, const Cairn__ComponentInfo *pb, struct component_info *ret);
void codec_info_to(const struct component_info *from, Cairn__ComponentInfo *ret);
int codec_chunk_from(struct codec *c, const Cairn__Chunk *pb, struct chunk *ret);
void codec_chunk_to(const struct chunk *from, Cairn__Chunk *ret);
int codec_quant_from(struct codec *c, const Cairn__Quant *pb, const struct quant **ret);
void codec_quant_to(const struct quant *from, Cairn__Quant *ret);
int codec_entries_from(struct codec *c, const void *pb, union wire_msg *ret);
void *codec_entries_to(struct bump *b, const union wire_msg *msg);

/* One pair per message. */
typedef int (*codec_from_fn)(struct codec *c, const void *pb, union wire_msg *ret);
typedef void *(*codec_to_fn)(struct bump *b, const union wire_msg *msg);

#define CODEC_PAIR(name)                                                                           \
    int codec_##name##_from(struct codec *c, const void *pb, union wire_msg *ret);                 \
    void *codec_##name##_to(struct bump *b, const union wire_msg *msg)

CODEC_PAIR(empty);
CODEC_PAIR(hello);
CODEC_PAIR(welcome);
CODEC_PAIR(error);
CODEC_PAIR(run_open);
CODEC_PAIR(run_info);
CODEC_PAIR(run_list);
CODEC_PAIR(run_drop);
CODEC_PAIR(arena_open);
CODEC_PAIR(arena);
CODEC_PAIR(arena_ref);
CODEC_PAIR(begin);
CODEC_PAIR(begun);
CODEC_PAIR(chunks);
CODEC_PAIR(data);
CODEC_PAIR(seal);
CODEC_PAIR(committed);
CODEC_PAIR(find);
CODEC_PAIR(found);
CODEC_PAIR(delete);
CODEC_PAIR(rollback);
CODEC_PAIR(pin);
CODEC_PAIR(unpin);
CODEC_PAIR(set_labels);
CODEC_PAIR(pin_list);
CODEC_PAIR(pins);
CODEC_PAIR(policy);
CODEC_PAIR(policy_info);
CODEC_PAIR(keep);
CODEC_PAIR(kept);
CODEC_PAIR(usage);
CODEC_PAIR(usage_info);
CODEC_PAIR(describe);
CODEC_PAIR(described);
CODEC_PAIR(manifest);
CODEC_PAIR(chunk_list);
CODEC_PAIR(load);
CODEC_PAIR(loaded);
CODEC_PAIR(release);
CODEC_PAIR(filled);
CODEC_PAIR(verify);
CODEC_PAIR(finding);
CODEC_PAIR(verified);
CODEC_PAIR(status_info);

#endif
