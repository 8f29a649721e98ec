/* codec.h: messages as plain structs, and their way to and from protobuf bytes.
 *
 * Decoding unpacks into a capped bump, checks everything that can be checked on one message alone
 * (unknown fields, enums, UTF-8, sizes, counts) and hands out plain structs whose pointers live in
 * the bump. Encoding takes plain structs and needs no cap. No protobuf type is visible here. */
#ifndef WIRE_CODEC_H
#define WIRE_CODEC_H

#include "internal/err.h"
#include "record/record.h"
#include "wire/bump.h"
#include "wire/frame.h"

#define WIRE_VERSION_MIN 1u
#define WIRE_VERSION_MAX 1u

/* Direction and order: PROTOCOL.md. Numbers never change; gaps are reserved for pins,
 * labels and deletion (48-55), events (64-67). */
enum wire_type {
    WIRE_HELLO = 1,         /* -> first frame of a connection */
    WIRE_WELCOME = 2,       /* <- */
    WIRE_ERROR = 3,         /* <- any request may be answered by it; also -> never */
    WIRE_DONE = 4,          /* <- done, nothing to tell */
    WIRE_PING = 5,          /* -> DONE; keeps an idle connection */
    WIRE_RUN_OPEN = 16,     /* -> RUN_INFO */
    WIRE_RUN_INFO = 17,     /* <- */
    WIRE_RUN_LIST = 18,     /* -> RUN_INFO*, DONE */
    WIRE_RUN_DROP = 19,     /* -> DONE */
    WIRE_POLICY = 20,       /* -> POLICY_INFO */
    WIRE_POLICY_INFO = 21,  /* <- */
    WIRE_KEEP = 22,         /* -> KEPT */
    WIRE_KEPT = 23,         /* <- */
    WIRE_ROLLBACK = 24,     /* -> DESCRIBED: where the run goes on */
    WIRE_USAGE = 25,        /* -> USAGE_INFO: what a run takes of the disk */
    WIRE_USAGE_INFO = 26,   /* <- */
    WIRE_ARENA_OPEN = 32,   /* -> ARENA */
    WIRE_ARENA = 33,        /* <- with a descriptor, the only frame that has one */
    WIRE_ARENA_MAPPED = 34, /* -> DONE */
    WIRE_ARENA_CLOSE = 35,  /* -> DONE */
    WIRE_BEGIN = 40,        /* -> BEGUN */
    WIRE_BEGUN = 41,        /* <- */
    WIRE_CHUNKS = 42,       /* -> and <- chunk descriptors */
    WIRE_ENTRIES = 43,      /* -> and <- one manifest page */
    WIRE_DATA = 44,         /* -> and <- one chunk, the only frame with payload */
    WIRE_SEAL = 45,         /* -> COMMITTED */
    WIRE_COMMITTED = 46,    /* <- */
    WIRE_ABORT = 47,        /* -> ends an upload or a load stream: DONE (LOADED for a load) */
    WIRE_PIN = 48,          /* -> DESCRIBED */
    WIRE_UNPIN = 49,        /* -> DESCRIBED */
    WIRE_LABEL = 50,        /* -> DESCRIBED */
    WIRE_DELETE = 51,       /* -> DESCRIBED: the boundary that was removed */
    WIRE_PIN_LIST = 52,     /* -> PINS */
    WIRE_PINS = 53,         /* <- */
    WIRE_FIND = 56,         /* -> FOUND */
    WIRE_FOUND = 57,        /* <- */
    WIRE_DESCRIBE = 58,     /* -> DESCRIBED; pins the boundary to the connection if asked */
    WIRE_DESCRIBED = 59,    /* <- */
    WIRE_MANIFEST = 60,     /* -> ENTRIES */
    WIRE_CHUNK_LIST = 61,   /* -> CHUNKS */
    WIRE_CLOSE = 62,        /* -> DONE; unpins */
    WIRE_RESIDENT = 63,     /* -> ARENA: the pinned boundary, in memory */
    WIRE_LOAD = 68,         /* -> DATA* or FILLED*, LOADED */
    WIRE_LOADED = 69,       /* <- */
    WIRE_RELEASE = 70,      /* -> credits for the load under way; no answer */
    WIRE_FILLED = 71,       /* <- one chunk, in a ring */
    WIRE_VERIFY = 80,       /* -> FINDING*, VERIFIED */
    WIRE_FINDING = 81,      /* <- */
    WIRE_VERIFIED = 82,     /* <- */
    WIRE_STATUS = 83,       /* -> STATUS_INFO */
    WIRE_STATUS_INFO = 84,  /* <- */
};

struct wire_hello {
    uint32_t version_min, version_max;
    struct slice client; /* name and version, for the log */
};
struct wire_welcome {
    uint32_t version;
    struct slice server;
    uint32_t chunk_bytes, entries_per_page, window_chunks;
    uint64_t idle_ms; /* an upload without progress for so long is aborted */
};
struct wire_error {
    uint32_t code; /* positive CAIRN_E* number */
    uint32_t component;
    struct slice path;
    struct slice text; /* says what, where and what to do */
    bool closing;      /* the daemon closes the connection after this */
};
struct wire_run_open {
    struct slice run; /* RUN, USER/RUN or UID/RUN */
};
struct wire_run_info {
    uint32_t uid; /* owner */
    struct slice run;
    bool exists; /* has a boundary; false: nothing was committed yet, the numbers are 0 */
    uint64_t boundary_count, latest_seq, latest_step, latest_ns, bytes;
    bool poisoned;
};
struct wire_run_list {
    bool all; /* every owner's, for root */
};
struct wire_run {
    struct slice run;
}; /* RUN_DROP */
struct wire_arena_open {
    uint64_t bytes;
    bool ring; /* the daemon writes there, for LOAD */
};
struct wire_arena {
    uint32_t arena; /* its number on the connection */
    uint64_t bytes;
};
struct wire_arena_ref {
    uint32_t arena;
}; /* ARENA_MAPPED, ARENA_CLOSE */
struct wire_begin {
    struct slice run;
    struct boundary boundary;
    uint32_t arena; /* 0: none, the chunks come as DATA */
};
struct wire_begun {
    enum save_state state; /* RECEIVING: stream now; SEALED: COMMITTED will follow by itself;
                              COMMITTED, PRUNED: already there, nothing to send */
    uint64_t seq;
};
struct wire_chunks {
    uint32_t first;
    const struct chunk *chunks;
    uint32_t count;
    bool more;               /* in an answer to CHUNK_LIST: chunks follow after these */
    const uint64_t *offsets; /* of each in the arena; NULL: no arena */
};
struct wire_entries {
    enum component component;
    uint32_t page; /* from 0; every page but the last of a component is non-empty */
    const struct entry *entries;
    uint32_t count;
};
struct wire_data {
    uint32_t chunk;
};
struct wire_seal {
    const struct component_info *components;
    uint32_t component_count;
    struct digest root;
};
struct wire_committed {
    struct boundary boundary;
};
struct wire_find {
    struct slice run;
    struct slice selector; /* text after '@'; with `by_save_id` unused */
    bool by_save_id;
    uint8_t save_id[16];
    uint32_t rank;
    uint32_t max; /* for a selector: that boundary and up to max - 1 before it, newest first */
};
struct wire_found {
    enum save_state state; /* answer to by_save_id */
    uint64_t seq;
    const struct boundary *boundaries;
    uint32_t count;
    const uint64_t *damaged; /* seqs in the same range that cannot be read */
    uint32_t damaged_count;
};
struct wire_describe {
    struct slice run, selector;
    bool pin; /* keep it readable until CLOSE or the end of the connection */
};
struct wire_policy {
    struct slice run;
    bool sets;
    struct slice policy;
};
struct wire_policy_info {
    struct slice policy;
    bool preset;
};
struct wire_keep {
    struct slice run;
    bool dry_run;
    bool has_policy;
    struct slice policy;
    uint64_t below; /* 0: from the newest on */
};
struct wire_kept_boundary {
    uint64_t seq, step, created_ns, own_bytes, shared_bytes;
    uint32_t why, rule;
};
struct wire_kept {
    const struct wire_kept_boundary *boundaries;
    uint32_t count;
    bool more;
    uint64_t removed, damaged;
    uint64_t bytes;
    struct slice policy;
};
struct wire_usage {
    struct slice run;
};
struct wire_usage_info {
    uint64_t segment_bytes, unnamed_bytes, index_bytes;
};
/* UNPIN, too: without why. */
struct wire_pin {
    struct slice run, selector, name, why;
};
struct wire_set_labels {
    struct slice run, selector;
    const struct label *labels;
    uint32_t count;
};
struct wire_pin_info {
    uint64_t seq, created_ns;
    struct slice name, why;
    uint32_t uid;
};
struct wire_pins {
    const struct wire_pin_info *pins;
    uint32_t count;
    bool more;
};
/* ROLLBACK, too. */
struct wire_delete {
    struct slice run, selector;
};
struct wire_described {
    struct boundary boundary; /* with components */
    bool resident;            /* RESIDENT may be asked */
};
struct wire_manifest {
    enum component component; /* of the pinned boundary */
    uint32_t page;
};
struct wire_chunk_list {
    uint32_t first;
    uint32_t arena; /* a resident one; 0: none, the answer has no offsets */
};
struct wire_load {
    uint32_t first_chunk, chunk_count; /* of the pinned boundary */
    uint32_t credits;                  /* 1..16 chunks may be sent unasked */
    uint32_t arena;                    /* a ring; 0: none, the chunks come as DATA */
};
struct wire_filled {
    uint32_t chunk; /* index in the part */
};
struct wire_loaded {
    uint32_t chunk_count; /* sent in all */
    bool aborted;
};
struct wire_release {
    uint32_t credits;
};
struct wire_verify {
    struct slice run, selector;
    bool whole_run;
};
struct wire_finding {
    uint64_t seq;
    uint32_t component;
    struct slice path, text;
};
struct wire_verified {
    uint64_t boundary_count, chunk_count, bytes, finding_count;
    bool more; /* progress: so far; another VERIFIED follows */
};
struct wire_status_info {
    struct slice server, data_dir, io_mode, io_why; /* "direct" or "buffered", and why */
    uint64_t pid, uptime_ms, run_count, open_run_count, connection_count, upload_count;
    uint64_t pool_bytes, pool_used_bytes, disk_free_bytes, disk_total_bytes, committed_count,
        failed_count;
    uint64_t arena_bytes, arena_share_bytes, arena_lent_bytes, arena_own_bytes, arena_count,
        ring_count;
    uint64_t resident_bytes, resident_kept_bytes, resident_count;
    const struct slice *attention; /* one sentence each: what needs a hand, what to do */
    uint32_t attention_count;
};

union wire_msg {
    struct wire_hello hello;
    struct wire_welcome welcome;
    struct wire_error error;
    struct wire_run_open run_open;
    struct wire_run_info run_info;
    struct wire_run_list run_list;
    struct wire_run run_drop;
    struct wire_arena_open arena_open;
    struct wire_arena arena;
    struct wire_arena_ref arena_ref;
    struct wire_begin begin;
    struct wire_begun begun;
    struct wire_chunks chunks;
    struct wire_entries entries;
    struct wire_data data;
    struct wire_seal seal;
    struct wire_committed committed;
    struct wire_find find;
    struct wire_found found;
    struct wire_describe describe;
    struct wire_delete remove;
    struct wire_delete rollback;
    struct wire_pin pin;
    struct wire_pin unpin;
    struct wire_set_labels set_labels;
    struct wire_run pin_list;
    struct wire_pins pins;
    struct wire_policy policy;
    struct wire_policy_info policy_info;
    struct wire_keep keep;
    struct wire_kept kept;
    struct wire_usage usage;
    struct wire_usage_info usage_info;
    struct wire_described described;
    struct wire_manifest manifest;
    struct wire_chunk_list chunk_list;
    struct wire_load load;
    struct wire_loaded loaded;
    struct wire_release release;
    struct wire_filled filled;
    struct wire_verify verify;
    struct wire_finding finding;
    struct wire_verified verified;
    struct wire_status_info status_info;
}; /* DONE, PING, ABORT, CLOSE, RESIDENT, STATUS: empty messages */

struct wire_type_limits {
    const char *name;           /* "HELLO" */
    uint32_t message_max_bytes; /* 64 KiB; ENTRIES, CHUNKS, SEAL, FOUND... as PROTOCOL.md lists */
    uint64_t payload_max_bytes; /* LIMIT_CHUNK_BYTES for DATA, else 0 */
};
/* NULL: no such type. */
const struct wire_type_limits *wire_type_limits(uint32_t type);

/* How much a bump for one message must be allowed: 24 x the message + 64 KiB. A page of the
 * smallest legal entries and a FOUND full of the smallest labels need that much beside their own
 * bytes (16 x and 21 x); what counts allow is never more than a few MiB, and hostile bytes stop at
 * the cap. */
size_t wire_bump_cap(uint32_t message_bytes);

/* Errors: EPROTO (malformed, unknown field, bad value; the text says which field), ELIMIT. */
int wire_decode(
    uint32_t type, struct slice message, struct bump *bump, union wire_msg *ret, struct err *err);

/* A growable byte buffer for encoding. init with {0}. */
struct wire_buf {
    uint8_t *data;
    size_t bytes, cap_bytes;
};
void wire_buf_free(struct wire_buf *b);
/* Appends prefix + message (payload_bytes only goes into the prefix).
 * Errors: ENOMEM; EINVAL when the message is over its own limit. */
int wire_encode(uint32_t type,
                uint32_t request,
                const union wire_msg *msg,
                uint64_t payload_bytes,
                struct wire_buf *b,
                struct err *err);
/* The protobuf size of one entry inside ENTRIES, for cutting pages at LIMIT_ENTRIES_BYTES. */
size_t wire_entry_bytes(const struct entry *e);
/* The protobuf size of one boundary inside FOUND, for stopping at the limit of the message. */
size_t wire_boundary_bytes(const struct boundary *b);

#endif
