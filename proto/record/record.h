/* record.h: what a boundary is made of, as plain structs that wire, store and library share.
 *
 * Nothing here owns memory: slices and arrays point into the caller's buffer or a bump arena. */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "internal/limits.h"
#include "internal/slice.h"

struct quant; /* quant.h */

/* In this order on the wire and in the root digest. 1..5 are the record (always present, maybe
 * empty); 6..8 are small companions whose presence the kind decides. */
enum component {
    COMPONENT_NONE = 0,
    COMPONENT_MODEL = 1,
    COMPONENT_OPTIMIZER = 2,
    COMPONENT_SCHEDULER = 3,
    COMPONENT_GRADIENTS = 4,
    COMPONENT_STATE = 5,
    COMPONENT_DTYPES =
        6, /* one u64 scalar per float parameter, id set, path "trainable"/"frozen" */
    COMPONENT_WINDOW =
        7, /* scalars: dtype u64, loss_scale f64, microbatches u64, total_weight f64 */
    COMPONENT_CONTRACT = 8, /* kind MODEL_STATE: version u64, maybe base (16 bytes), and one bytes
                               scalar per trainable float parameter, id set, path "param" */
    COMPONENT_NR
};

enum record_kind { KIND_PLAIN = 0, KIND_DTYPES = 1, KIND_WEIGHTED = 2, KIND_MODEL_STATE = 4 };
#define KINDS_KNOWN (KIND_DTYPES | KIND_WEIGHTED | KIND_MODEL_STATE)

/* What an entry's value is. Scalars carry their bytes in the entry, whatever the component. */
enum entry_kind {
    ENTRY_TENSOR = 1,
    ENTRY_I64 = 2, /* 8 bytes little-endian, also u64 and the bits of f64 */
    ENTRY_U64 = 3,
    ENTRY_F64 = 4,
    ENTRY_F32 = 5,    /* 4 bytes little-endian */
    ENTRY_BOOL = 6,   /* 1 byte, 0 or 1 */
    ENTRY_STRING = 7, /* UTF-8 without NUL */
    ENTRY_BYTES = 8,
    ENTRY_NULL = 9, /* no bytes */
    ENTRY_KIND_NR
};

/* The same numbers as CAIRN_HAS_ID... in cairn/record.h. */
enum entry_flag { ENTRY_HAS_ID = 1, ENTRY_TRAINABLE = 2 };
#define ENTRY_FLAGS_KNOWN (ENTRY_HAS_ID | ENTRY_TRAINABLE)

/* XXH3-128, seed 0, in its canonical (big-endian) form. */
struct digest {
    uint8_t byte[16];
};

/* Of the values of a tensor, or of several: see finite.h. */
struct nonfinite {
    uint64_t nan, inf;
};

/* One leaf of a component. Where the bytes of a tensor are:
 *   bytes == 0                     nowhere
 *   value.bytes == bytes           in the entry (component without chunks; every scalar)
 *   else first_chunk/offset        bytes >= 4 MiB: chunks first_chunk.. of its own, offset 0;
 *                                  less: inside chunk first_chunk at offset (64-byte aligned) */
struct entry {
    struct slice path; /* UTF-8, no NUL, 1..4096 bytes */
    uint64_t id;       /* meaningful with ENTRY_HAS_ID */
    uint32_t flags;
    enum entry_kind kind;
    uint32_t dtype; /* enum cairn_dtype of a tensor; 0 of a scalar */
    uint32_t rank;  /* 0 of a scalar and of shape [] */
    const uint64_t *shape;
    uint64_t bytes;
    uint32_t first_chunk; /* index in the part, put order, from 0 */
    uint32_t offset_bytes;
    struct slice value;
    struct digest digest; /* own chunks: of the chunk digests in order; else of the bytes */

    /* What few entries have. Absent (0, NULL), they are in no digest and on no wire. */
    uint32_t storage_dtype;     /* of the trainer's tensor; 0: dtype, no precision converted it */
    uint32_t element_bits;      /* of an OPAQUE tensor; 0: its length is its own affair */
    const struct quant *quant;  /* of a QFLOAT tensor */
    struct nonfinite nonfinite; /* of its values as they are stored */
};

/* A part of the bytes of an entry. */
struct span {
    uint64_t offset_bytes, bytes;
};
static inline struct span span_of(const struct entry *e) /* all of them */
{
    return (struct span){ .bytes = e->bytes };
}

enum chunk_flag { CHUNK_TRAINABLE = 1, CHUNK_PACKED = 2 };

/* One unit of payload. A chunk belongs to one component, and holds trainable entries or others. */
struct chunk {
    enum component component;
    uint32_t flags;
    uint32_t bytes; /* 1..8 MiB, without the padding to 4 KiB */
    struct digest digest;
};

/* Sum of a component, covered by the root digest. */
struct component_info {
    enum component component;
    struct slice type; /* fingerprint, UTF-8, 0..255 bytes */
    uint64_t entry_count;
    uint64_t bytes; /* of all values */
    uint32_t chunk_count;
    uint32_t page_count;  /* manifest pages of <= 4096 entries */
    struct digest digest; /* canonical metadata: digest.h */
    bool has_config;
    struct digest config; /* of the trainer's configuration of it, which the record does not hold */
    struct nonfinite nonfinite; /* of all its entries */
};

struct label {
    struct slice name;  /* [A-Za-z0-9_.-]{1,64} */
    struct slice value; /* UTF-8, <= 256 bytes */
};

enum precision {
    PRECISION_NATIVE = 0,
    PRECISION_FULL = 1,
    PRECISION_HALF = 2,
    PRECISION_DOUBLE = 3
};

/* What was found out or decided about a boundary after its commit. */
enum {
    MARK_ABANDONED = 1, /* a rollback led behind it */
    MARK_DAMAGED = 2,   /* its payload did not verify */
    MARK_ALL = 3
};
/* What a commit finds odd about a boundary. */
enum {
    WARNING_STALE = 1, /* the step moved, nothing of what is trained did */
    WARNING_ALL = 1
};

/* The immutable row of a boundary. BEGIN announces one (seq, created_ns, digest still empty). */
struct boundary {
    uint64_t seq;
    uint64_t parent_seq; /* 0: none */
    uint64_t step;
    uint8_t save_id[16];
    uint32_t kind;
    enum precision precision;
    bool exact;
    uint32_t rank;
    uint32_t world;
    uint32_t local_parts;
    uint64_t created_ns; /* wall clock, information only */
    uint64_t entry_count;
    uint64_t payload_bytes; /* all values, in chunks or not */
    uint64_t stored_bytes;  /* chunks padded to 4 KiB: what a segment must hold */
    uint32_t chunk_count;
    uint64_t bytes_new;         /* written for this boundary */
    uint64_t bytes_shared;      /* referenced, not written */
    struct nonfinite nonfinite; /* of all components; this and the next: not in BEGIN */
    bool not_finite;            /* some entry spoils it (finite.h) */
    unsigned marks;             /* MARK_*: of its listing, not of its row; this and the next, too */
    uint32_t pin_count;
    uint64_t trainable_bytes; /* of trainable chunks and values of the model; not in BEGIN ... */
    uint64_t trainable_new_bytes; /* ... nor these: so many are not those of its parent */
    unsigned warnings;            /* WARNING_* */
    struct digest root;
    const struct label *labels;
    const struct component_info *components;
    uint32_t label_count;
    uint32_t component_count;
};

/* Answer to "what became of this save id?" (FIND). */
enum save_state {
    SAVE_NONE = 0,      /* never heard of, or so long ago that it is forgotten */
    SAVE_RECEIVING = 1, /* an upload is under way */
    SAVE_SEALED = 2,    /* complete, on its way to the disk */
    SAVE_COMMITTED = 3,
    SAVE_PRUNED = 4, /* was committed, was removed */
    SAVE_UNKNOWN = 5 /* a commit whose sync failed: restart and verification decide */
};

/* Table lookups with bounds; "?" for a number out of range. */
const char *component_name(uint32_t component); /* "model", "optimizer", ... */
const char *entry_kind_name(uint32_t kind);     /* "tensor", "i64", ... */
const char *precision_name(uint32_t precision);
const char *save_state_name(uint32_t state);
/* "plain", "dtypes", "weighted", "weighted+dtypes": static text, as record.h and the CLI show it.
 */
const char *kind_name(uint32_t kind);

#endif
