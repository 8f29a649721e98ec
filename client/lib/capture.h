/* capture.h: a record while it is built. One capture at a time per handle; those that were given up
 * while slots of theirs were open stay beside it until the last of these is done. */
#ifndef LIB_CAPTURE_H
#define LIB_CAPTURE_H

#include "lib/contract.h"
#include "lib/rec.h"
#include "lib/source.h"
#include "lib/tied.h"

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
    bool done; /* this and rc: under the handle's slot_lock */
    int rc;
};

struct cairn_writer {
    struct capture *cap;
    enum component component;
};

/* A chunk with bytes that slots fill: it is digested at the end. */
struct late {
    bool is;
    uint32_t own_dtype; /* of the tensor whose own it is; 0: it is shared */
};

struct capture {
    struct cairn *c;
    struct cairn_record *r;
    struct pack packs[2];
    struct hasher *hash; /* of a chunk or entry being copied */
    uint32_t serial;
    struct slot *slots; /* this and the counts: under the handle's slot_lock */
    uint32_t slot_count, slot_room;
    uint32_t open_count, failed_count;
    struct late *late; /* per chunk */
    uint32_t late_room;
    struct param_list params; /* of the trainer's walk, to be compared with the model */
    struct contract contract; /* of a model state */
    struct tied tied;         /* of the model, while it is put */
    int rc;                   /* the first failure of a put, also if the callback went on */

    /* Of a capture that somebody asked for (capture.c). */
    struct cairn_trainer trainer;
    uint32_t kind;
    struct cairn_window window; /* as it was when the capture began */
    uint64_t generation;
    size_t step;             /* the next of its steps */
    bool running;            /* one is under way */
    cairn_captured_fn *done; /* NULL: synchronous */
    void *done_arg;
    struct capture *next; /* given up, with open slots (drain.c); under the handle's slot_lock */
};

/* Start; c->capture is set until capture_end or capture_abort. Errors: EBUSY, ENOMEM. */
int capture_begin(struct cairn *c, struct capture *cap);
/* The same beside whatever capture the handle has under way: without slots. Errors: ENOMEM. */
int capture_new(struct cairn *c, struct capture *cap);

/* How a component comes into the record. */
struct component_put {
    const char *type;                               /* NULL: "" */
    const uint8_t *config;                          /* 16 bytes; NULL: none */
    int (*put)(void *self, struct cairn_writer *w); /* NULL: an empty component */
    void *self;
};
/* One component, in put order. Errors: what put returned; EEXIST, ... */
int capture_component(struct capture *cap,
                      enum component component,
                      const struct component_put *put);
/* Only the first half of it: entries as they were put, neither sorted nor checked for doubles. */
int capture_collect(struct capture *cap,
                    enum component component,
                    int (*put)(void *self, struct cairn_writer *w),
                    void *self);
/* All components are in and all slots are finished: sum it all up. Takes the capture.
 * Errors: ENOMEM. */
int capture_end(struct capture *cap, uint32_t kind, struct cairn_record **ret);
void capture_abort(struct capture *cap);

/* ---- a capture that somebody asked for, in steps (capture.c) ---- */

/* May the handle capture? Also one that did not open. Tells of a save that has failed, once. */
int capture_enter(struct cairn *c);
/* Two captured records of the handle are the most: wait for one that is being saved, or refuse
 * (busy.c). 0 also when neither is. Errors: EBUSY, ETIMEDOUT. */
int busy_make_room(struct cairn *c);
/* Check the trainer and begin; nothing of the trainer but its generation and its window is read.
 * Errors: EBUSY, ETIMEDOUT, EINVAL, EWINDOW, ENOMEM. */
int capture_start(struct cairn *c,
                  const struct cairn_trainer *t,
                  uint32_t kind,
                  struct capture **ret);
/* The next step. 1: there are more; 0: the record is whole. Errors: ECONCURRENT, the step's. */
int capture_step(struct capture *cap);
/* The record out of a capture that is whole. Takes it. Errors: ENOMEM. */
int capture_finish(struct capture *cap, struct cairn_record **ret);
/* Give it up (drain.c). Takes it; its memory stays until its last slot is done. */
void capture_drop(struct capture *cap);
/* The handle is being closed: give up what is under way, and tell its callback. */
void capture_close(struct cairn *c);

/* ---- given up, with open slots (drain.c) ---- */

/* The one with this serial; NULL: none. Under the handle's slot_lock. */
struct capture *drain_find(const struct cairn *c, uint64_t serial);
/* Its last slot is done. Takes it, and its hold of the handle, which may be the last. Any thread.
 */
void drain_end(struct capture *cap);
/* In a forked child: nobody here fills their slots. */
void drain_forget_all(struct cairn *c);

/* ---- inside (build.c, pack.c, writer.c, slot.c) ---- */

/* Free all but the record and the struct itself. */
void capture_fini(struct capture *cap);

/* Put the bytes of an entry where they belong, digest them, and count NaN and Inf. Errors: ELIMIT,
 * ENOMEM. */
int pack_put(struct capture *cap, struct entry *e, struct source *from);
/* Reserve the place of an entry whose bytes come later; *ret is in the region. */
int pack_reserve(struct capture *cap, struct entry *e, void **ret);
/* The component has ended: close its shared chunks, or take its values out of the region. */
int pack_end(struct capture *cap, struct cairn_reader *component);
/* Digest the chunks that slots have filled, and count in those that are one tensor's. */
void pack_finish_late(struct capture *cap);
/* Digest and counts of a tensor with chunks of its own, out of those of its chunks. Errors: ENOMEM.
 */
int pack_own_sum(struct capture *cap, struct entry *e);
/* The same of one without, out of its bytes. */
void pack_look_small(struct capture *cap, struct entry *e, const void *data);
int pack_init(struct capture *cap);
void pack_fini(struct capture *cap);

/* The plain form of a caller's tensor, still pointing to the caller's memory, and to `quant`, which
 * is room for the quantization scheme that it may have. Errors: EINVAL. */
int writer_entry_of(const struct cairn_entry *from,
                    struct quant *quant,
                    struct entry *ret,
                    struct err *err);
/* Check, keep and append a tensor; its bytes come from there.
 * Errors: EINVAL, ELIMIT, ENOMEM; they fail the capture. */
int writer_tensor(struct cairn_writer *w, struct entry *e, struct source *from);
/* A put of this entry failed with rc (0: it did not): names it, and fails the capture. Returns rc.
 */
int writer_fail(struct cairn_writer *w, int rc, const struct entry *e);
/* A scalar (kind, path, id, flags, value) of the component. */
int writer_scalar(struct cairn_writer *w, const struct entry *scalar);
/* Every element of a BOOL tensor is 0 or 1, in this part of it, which is at `data`. Errors: code.
 */
int writer_check_bool(
    const struct entry *e, struct span part, const void *data, int code, struct err *err);

/* A place for the bytes of an entry. Errors: ELIMIT, ENOMEM. */
int slot_place(struct capture *cap, enum component component, struct entry *e, struct slot *ret);
/* From here on it is open: the caller has it, and must say that it is done. Errors: ENOMEM. */
int slot_hand_out(struct capture *cap, const struct slot *slot, struct cairn_slot *ret);
/* Is there nothing to wait for: are all slots done, or did one fail? */
bool slot_is_settled(struct capture *cap);
/* None has failed by now; open ones may still be filled. Errors: what a slot failed with. */
int slot_check_failed(struct capture *cap);
/* Every slot so far is done, and none failed. Errors: a slot's own; ESYNC. */
int slot_check_all(struct capture *cap);
/* The same; digests what they and their chunks hold. The trainer's memory is not read after this.
 * Errors: also ENOMEM, EINVAL. */
int slot_finish_all(struct capture *cap);

#endif
