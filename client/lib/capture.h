/* capture.h: a record while it is built. One capture at a time per handle. */
#ifndef LIB_CAPTURE_H
#define LIB_CAPTURE_H

#include "lib/hash.h"
#include "lib/rec.h"

/* A shared chunk that is being filled: one for trainable entries, one for the others. */
struct pack {
    struct hasher *hash;
    bool open;
    uint32_t chunk;
    uint32_t bytes; /* filled and hashed so far */
};

/* A tensor whose bytes the caller writes. A small one is written beside the region, because its
 * component may turn out to be small enough to have no chunks. */
struct slot {
    struct entry key;
    enum component component;
    void *dst;
    void *region_dst;
    bool done;
    int rc;
};

struct cairn_writer {
    struct capture *cap;
    enum component component;
};

struct capture {
    struct cairn *c;
    struct cairn_record *r;
    struct pack packs[2];
    struct hasher *hash; /* of a chunk or entry being copied */
    uint32_t serial;
    struct slot *slots; /* under the handle's slot_lock */
    uint32_t slot_count, slot_room;
    bool *late; /* per chunk: digest it at the end */
    uint32_t late_room;
    struct cairn_param
        *params; /* of the trainer's walk, to be compared with the model (dtypes.c) */
    uint64_t param_count, param_room;
    int rc; /* the first failure of a put, also if the callback went on */
};

/* Start; c->capture is set until capture_end or capture_abort. Errors: EBUSY, ENOMEM. */
int capture_begin(struct cairn *c, struct capture *cap);
/* One component, in put order. Errors: what put returned; EEXIST, ... */
int capture_component(struct capture *cap,
                      enum component component,
                      const char *type,
                      int (*put)(void *self, struct cairn_writer *w),
                      void *self);
/* Only the first half of it: entries as they were put, neither sorted nor checked for doubles. */
int capture_collect(struct capture *cap,
                    enum component component,
                    int (*put)(void *self, struct cairn_writer *w),
                    void *self);
/* All components are in and all slots are finished: sum it all up. Takes the capture.
 * Errors: ENOMEM. */
int capture_end(struct capture *cap, uint32_t kind, struct cairn_record **ret);
void capture_abort(struct capture *cap);

/* ---- inside (pack.c, writer.c, slot.c) ---- */

/* Put the bytes of an entry where they belong and digest them. Errors: ELIMIT, ENOMEM. */
int pack_put(struct capture *cap, struct entry *e, const void *data);
/* Reserve the place of an entry whose bytes come later; *ret is in the region. */
int pack_reserve(struct capture *cap, struct entry *e, void **ret);
/* The component has ended: close its shared chunks, or take its values out of the region. */
int pack_end(struct capture *cap, struct cairn_reader *component);
/* Digest the chunks that slots have filled. */
void pack_finish_late(struct capture *cap);
/* Digest of a tensor with chunks of its own, whose chunks are digested. Errors: ENOMEM. */
int pack_own_digest(struct capture *cap, struct entry *e);
int pack_init(struct capture *cap);
void pack_fini(struct capture *cap);

/* The plain form of a caller's tensor, still pointing to the caller's memory, and to `quant`, which
 * is room for the quantization scheme that it may have. Errors: EINVAL. */
int writer_entry_of(const struct cairn_entry *from,
                    struct quant *quant,
                    struct entry *ret,
                    struct err *err);
/* A put of this entry failed with rc (0: it did not): names it, and fails the capture. Returns rc.
 */
int writer_fail(struct cairn_writer *w, int rc, const struct entry *e);
/* A scalar (kind, path, id, flags, value) of the component. */
int writer_scalar(struct cairn_writer *w, const struct entry *scalar);
/* Every element of a BOOL tensor is 0 or 1. Errors: EINVAL. */
int writer_check_bool(const struct entry *e, const void *data, struct err *err);

int slot_add(struct capture *cap,
             enum component component,
             struct entry *e,
             struct cairn_slot *ret);
/* Every slot must be done; digests what they and their chunks hold. The trainer's memory is not
 * read after this. Errors: ESYNC, ENOMEM, a slot's own. */
int slot_finish_all(struct capture *cap);

#endif
