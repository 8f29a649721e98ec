/* rows.h: the values of the store's rows, as plain structs to and from bytes. The store sees no
 * protobuf type; proto/rows.proto has the schema. Every decode takes a capped bump; the XXH3-64
 * trailer is the store's business (daemon/store/row.h). Rows are written through wire_buf. */
#ifndef WIRE_ROWS_H
#define WIRE_ROWS_H

#include "wire/codec.h"

/* Where a chunk of a boundary lies: the store's side of struct chunk. */
struct chunk_ref {
    uint32_t index; /* in the part */
    uint64_t segment;
    uint32_t segment_index;
    struct chunk chunk;
};

/* `boundary`, key seq. */
struct row_boundary {
    struct boundary boundary; /* components included */
    const uint64_t *segments;
    uint32_t segment_count;
};
/* `component`, page 0. */
struct row_component {
    struct component_info info;
    const struct chunk_ref *chunks;
    uint32_t chunk_count;
    const struct slice *first_paths; /* of each entry page, in order */
    uint32_t page_count;
};
/* `chunk`, key segment, index. */
struct row_chunk {
    uint64_t offset;
    uint32_t bytes;
    struct digest digest;
    bool proved;
};
/* `saveid`, key save id, rank. */
struct row_save {
    enum save_state state;
    uint64_t seq;
    struct digest root;
};
/* `pin`, key seq, name. */
struct row_pin {
    uint32_t uid;
    uint64_t created_ns;
    struct slice why;
};
/* catalogue, key uid, run. */
struct row_run {
    uint64_t boundary_count, latest_seq, latest_step, latest_ns, bytes;
};

int row_boundary_encode(const struct row_boundary *r, struct wire_buf *b, struct err *err);
int row_boundary_decode(struct slice s,
                        struct bump *bump,
                        struct row_boundary *ret,
                        struct err *err);
int row_component_encode(const struct row_component *r, struct wire_buf *b, struct err *err);
int row_component_decode(struct slice s,
                         struct bump *bump,
                         struct row_component *ret,
                         struct err *err);
/* `component`, pages 1..: the same message as an ENTRIES frame. */
int row_entries_encode(const struct wire_entries *r, struct wire_buf *b, struct err *err);
int row_entries_decode(struct slice s,
                       struct bump *bump,
                       struct wire_entries *ret,
                       struct err *err);
int row_chunk_encode(const struct row_chunk *r, struct wire_buf *b, struct err *err);
int row_chunk_decode(struct slice s, struct bump *bump, struct row_chunk *ret, struct err *err);
int row_save_encode(const struct row_save *r, struct wire_buf *b, struct err *err);
int row_save_decode(struct slice s, struct bump *bump, struct row_save *ret, struct err *err);
int row_pin_encode(const struct row_pin *r, struct wire_buf *b, struct err *err);
int row_pin_decode(struct slice s, struct bump *bump, struct row_pin *ret, struct err *err);
int row_run_encode(const struct row_run *r, struct wire_buf *b, struct err *err);
int row_run_decode(struct slice s, struct bump *bump, struct row_run *ret, struct err *err);

#endif
