/* cairn/training.h: capture and restore whole training boundaries.
 *
 * The trainer describes itself once, in a table of five components. Capture asks them in the order
 * gradients, model, optimizer, scheduler, state; it changes nothing in the trainer. Restore asks
 * every `fit` first (nothing changes), then every `get`, in the same order; it performs no
 * optimizer step, no scheduler step, no reset, no cast, no replay. Apply the restored state before
 * the next batch is consumed. */
#ifndef CAIRN_TRAINING_H
#define CAIRN_TRAINING_H

#include <cairn/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One component of the trainer. A callback returns 0 or a negative code, which ends the call with
 * that code. */
struct cairn_component {
    void *self;
    const char *type; /* fingerprint, at most 255 bytes: restore refuses another one; NULL: "" */
    int (*put)(void *self, struct cairn_writer *w);       /* capture; NULL: an empty component */
    int (*fit)(void *self, const struct cairn_reader *r); /* restore, pass 1: look; NULL: accept */
    int (*get)(void *self,
               const struct cairn_reader *r); /* restore, pass 2; NULL: nothing to read */
    /* Digest, 16 bytes of the caller's choice, of what the record does not carry and a continuation
     * depends on: learning rate, betas, milestones, layer sizes. NULL: not told. A restore under
     * another one warns, or is refused (warn, strict_config below). */
    const uint8_t *config;
};

/* The weighted accumulation window. Rules: PROTOCOL.md, "Window". */
struct cairn_window {
    uint32_t dtype; /* CAIRN_F32 or CAIRN_F64: work dtype of the pending gradients */
    double loss_scale;
    double total_weight;
    uint64_t microbatches;
};

/* One floating parameter of the model, for the dtype record. */
struct cairn_param {
    uint64_t id;
    bool trainable;
    uint32_t dtype; /* storage dtype */
    uint32_t rank;
    const uint64_t *shape; /* read until the walk's next step; with rank, as the model puts it */
};

struct cairn_trainer {
    struct cairn_component model, optimizer, scheduler, accumulator, state;
    struct cairn_window *window; /* weighted calls: read at capture, written last at restore */
    /* A counter that the trainer bumps at every change of what a capture reads (an update, another
     * microbatch, a step of the scheduler), or NULL. A capture during which it changes fails with
     * -CAIRN_ECONCURRENT and leaves nothing behind. */
    const uint64_t *generation;
    /* Walk the floating parameters (F64, F32, FLEX32, F16, BF16, QFLOAT), index from 0;
     * -CAIRN_ENOENT ends the walk. For *_with_dtypes. It has every tensor of these dtypes that the
     * model puts with an id, and no other; tied ones may come once or several times. (Of tied
     * entries of the model the bytes are stored once, but not of those put by slot.) */
    int (*param)(void *model, uint64_t index, struct cairn_param *ret);
    /* Give a parameter the storage dtype p->dtype, keeping its value. NULL: none may differ. */
    int (*retype)(void *model, const struct cairn_param *p);
    /* Identity (16 bytes: a digest, a revision) of the frozen base that a model-state record leaves
     * out, or NULL: there is none. A restore demands the same one. */
    const uint8_t *base;
    /* Plain captures and restores, with dtypes or without, refuse a gradient that belongs to no
     * parameter of the model (by id; by path when it has none). True: carry it along, as the seed
     * does. One that belongs to a parameter is always of its class: floating, of whatever dtype,
     * when that is (or both complex, and so on); quantized only by the very same scheme. */
    bool foreign_gradients_ok;
    /* Refuse what is otherwise a warning: another config digest; optimizer state of a parameter
     * that the model does not have. strict_config also refuses (without it nobody is told) a config
     * digest that only the record has, or only the trainer; with none on both sides it accepts. */
    bool strict_config, strict_optimizer;
    /* Restores: have the daemon read and check all that is stored of the record before the first
     * `get`, so that rot is ECORRUPT before anything is written. It costs one more read of the
     * record. False: what is read is verified as it comes, and rot ends a restore in its middle. */
    bool verify_first;
    /* Restores: the run goes on from this record. When all of it was restored, what came after it
     * is abandoned (cairn_rollback, cairn/keep.h), so that whoever loads `latest` next, after a
     * crash before the next save too, gets this one. That this fails, fails the restore, in which
     * all was written. */
    bool rollback;
    /* Told, in a sentence, what a capture or restore found odd and went on with. It lives for the
     * call; NULL: nobody is told. Never called when strict. Do not call the library from it. */
    void (*warn)(void *arg, const char *sentence);
    void *warn_arg;
};

/* A handle has room for two captured records: one that is being saved, one that is captured
 * meanwhile. What does a capture when both are taken? false (from the start): it waits until the
 * save that is under way is durable, and takes new memory if there is none, since then only the
 * caller can free some. true: it fails with EBUSY, in both cases.
 * Errors: EINVAL; EFORK.   Ownership: -.   Threads: one per handle.   Blocks: never. */
CAIRN_API int cairn_set_busy(struct cairn *c, bool refuse);

/* Where captures of this handle go, in a sentence for a log: how many of its two records lie in
 * arenas, memory that the daemon reads for itself, and why not both: payload of the others travels
 * on the socket. Known after cairn_warm, or after the first save.
 * Errors: none; "" of a handle that cannot capture.   Ownership: the handle's, valid until the next
 * call of this.   Threads: one per handle.   Blocks: never. */
CAIRN_API const char *cairn_memory(struct cairn *c);

/* Capture a boundary into memory of the library (seed: capture, capture_with_dtypes,
 * capture_weighted, capture_weighted_with_dtypes). Asks the daemon nothing. The trainer may go on
 * as soon as it returns; later changes do not reach the record. Errors: what a callback returned;
 * ECONCURRENT; ESYNC a slot was left open; EBUSY a capture of this handle is under way, or there is
 * no room (cairn_set_busy); ETIMEDOUT it was waited for longer than the handle's timeout; EWINDOW;
 * EDTYPES one (id, trainable) with two dtypes, or the walk and the model differ; EINVAL; EEXIST;
 * ELIMIT; ENOMEM; what a save that was started before and not waited for has failed with, once and
 * before anything is captured (cairn_save_start): capture again. On failure there is no record.
 * Ownership: *ret is saved or freed by the caller.
 * Threads: one per handle, and no update of the trainer meanwhile.   Blocks: for one copy of the
 * state; before it, for a save, if two records are in memory (cairn_set_busy). */
CAIRN_API int
cairn_capture(struct cairn *c, const struct cairn_trainer *t, struct cairn_record **ret);
CAIRN_API int cairn_capture_with_dtypes(struct cairn *c,
                                        const struct cairn_trainer *t,
                                        struct cairn_record **ret);
CAIRN_API int
cairn_capture_weighted(struct cairn *c, const struct cairn_trainer *t, struct cairn_record **ret);
CAIRN_API int cairn_capture_weighted_with_dtypes(struct cairn *c,
                                                 const struct cairn_trainer *t,
                                                 struct cairn_record **ret);

/* What became of an asynchronous capture: with rc 0 the record, which is the receiver's to save or
 * free; else the code that the synchronous call would return, and NULL. It may call the library,
 * also to capture again or to close the handle. cairn_error has the sentence. */
typedef void cairn_captured_fn(void *arg, int rc, struct cairn_record *r);

/* Capture asynchronously: the trainer's own copies fill the slots (cairn_put_slot) of any component
 * meanwhile, from any thread, and nobody waits for them (seed: capture_async,
 * capture_async_with_dtypes, capture_weighted_async; the fourth by the same rule). Asks the daemon
 * nothing. The gradients are asked before this returns; model, optimizer, scheduler and state by
 * cairn_process, once all slots of the gradients are done; `done` is called by cairn_process once
 * all slots are. The record is to the byte that of the synchronous call. *t is copied; what it
 * points to must stay, and the trainer must not be updated, until `done` is called: with a
 * generation, an update is ECONCURRENT. A slot that failed ends the capture; slots of it that are
 * open then keep their places until they are done. One capture at a time: another one, of either
 * sort, is refused with EBUSY until `done` was called. Other calls may be made meanwhile.
 * Errors: returned, when they are found before this returns, and then `done` is never called; else
 * told to `done`, which is called exactly once. As the synchronous calls (but not ESYNC); EBUSY;
 * ECANCELED the handle was closed first (cairn_close).
 * Ownership: the record is the receiver's.   Threads: one per handle.   Blocks: for one copy of
 * what the gradients put without a slot; before it as cairn_capture. */
CAIRN_API int cairn_capture_async(struct cairn *c,
                                  const struct cairn_trainer *t,
                                  cairn_captured_fn *done,
                                  void *arg);
CAIRN_API int cairn_capture_async_with_dtypes(struct cairn *c,
                                              const struct cairn_trainer *t,
                                              cairn_captured_fn *done,
                                              void *arg);
CAIRN_API int cairn_capture_weighted_async(struct cairn *c,
                                           const struct cairn_trainer *t,
                                           cairn_captured_fn *done,
                                           void *arg);
CAIRN_API int cairn_capture_weighted_with_dtypes_async(struct cairn *c,
                                                       const struct cairn_trainer *t,
                                                       cairn_captured_fn *done,
                                                       void *arg);

/* Restore a loaded record into the trainer (seed: restore, restore_with_dtypes, restore_weighted,
 * restore_weighted_with_dtypes). Which call accepts which kind:
 *   call                             plain   dtypes   weighted   weighted with dtypes
 *   cairn_restore                    yes     yes      yes        yes      (companions not applied)
 *   cairn_restore_with_dtypes        no      yes      no         yes      (window not applied)
 *   cairn_restore_weighted           no      no       yes        no
 *   cairn_restore_weighted_with_dtypes no    no       no         yes
 * What the record alone says, and what the trainer's `fit` calls look at, is refused before the
 * first `get`: a component without `fit` finds out in its `get`. When that, rot of the payload or a
 * `retype` fails, the targets hold a mixture: restore another boundary into them, or drop them.
 * A save that was started before is waited for first.
 * Errors: EKIND; EMISMATCH, also for an entry that is missing (never ENOENT: a callback's ENOENT is
 * returned as EMISMATCH); EDTYPES; EWINDOW; ECORRUPT; EPRUNED; ECONN; ETIMEDOUT; what a callback
 * returned; what a save that was started before has failed with, before anything is read.
 * Ownership: r stays the caller's.   Threads: one per handle. Blocks: until all payload is read. */
CAIRN_API int
cairn_restore(struct cairn *c, const struct cairn_record *r, const struct cairn_trainer *t);
CAIRN_API int cairn_restore_with_dtypes(struct cairn *c,
                                        const struct cairn_record *r,
                                        const struct cairn_trainer *t);
CAIRN_API int cairn_restore_weighted(struct cairn *c,
                                     const struct cairn_record *r,
                                     const struct cairn_trainer *t);
CAIRN_API int cairn_restore_weighted_with_dtypes(struct cairn *c,
                                                 const struct cairn_record *r,
                                                 const struct cairn_trainer *t);

/* ---- model state ------------------------------------------------------------------------------
 *
 * A record whose model the caller chooses (seed: ModelStateTrainingRecord): an adapter without its
 * frozen base, say. What it promises instead of a whole model is a contract (seed:
 * TrainableParameterContract): id, dtype and shape of every trainable floating parameter, as the
 * walk `param` tells them, so `param` is needed. Pending gradients must be those of trainable
 * parameters, of their shapes, and floating, at capture and at restore. cairn_save and cairn_load
 * serve these records too (seed: ModelStateTrainingRecord::save, load). There is no variant with
 * dtypes: the contract has them. */

/* Capture (seed: ModelStateTrainingRecord::capture, capture_weighted). Order: contract, gradients,
 * model, optimizer, scheduler, state. Errors: as cairn_capture; EINVAL no walk, or tied parameters
 * that differ, or a gradient that the contract does not allow.
 * Ownership, Threads, Blocks: as cairn_capture. */
CAIRN_API int cairn_model_state_capture(struct cairn *c,
                                        const struct cairn_trainer *t,
                                        struct cairn_record **ret);
CAIRN_API int cairn_model_state_capture_weighted(struct cairn *c,
                                                 const struct cairn_trainer *t,
                                                 struct cairn_record **ret);

/* The same, asynchronously (seed: capture_async, capture_weighted_async).
 * Errors: as cairn_capture_async; EINVAL as above.   Ownership, Threads, Blocks: as it. */
CAIRN_API int cairn_model_state_capture_async(struct cairn *c,
                                              const struct cairn_trainer *t,
                                              cairn_captured_fn *done,
                                              void *arg);
CAIRN_API int cairn_model_state_capture_weighted_async(struct cairn *c,
                                                       const struct cairn_trainer *t,
                                                       cairn_captured_fn *done,
                                                       void *arg);

/* Is a loaded record read from memory? The daemon may keep the last committed record of a run where
 * its trainer captured it (cairn_warm); once that trainer has gone, the next one of the same uid
 * loads from there, and no payload comes from the disk. Every byte is held against the digests of
 * the store: from the first that does not match on all is read from the disk instead, which is no
 * failure (`warn` is told by a restore). The memory is unmapped when all of it was read once, when
 * the record is freed, and when another one is loaded from memory. True: what was read so far, of
 * what is not metadata, came from memory, and the rest is still there or was read; false: it comes
 * from the disk, or r was captured, or is NULL.
 * Errors: none.   Ownership: -.   Threads: one per handle.   Blocks: never. */
CAIRN_API bool cairn_record_resident(const struct cairn_record *r);

/* Restore (seed: ModelStateTrainingRecord::restore, restore_weighted). Order, when looking and when
 * reading: model, contract, gradients, optimizer, scheduler, state. The contract must be exactly
 * that of the trainer's model, before and after the model was read. A weighted record may be
 * restored without its window, not the other way round.
 * Errors: as cairn_restore; EMISMATCH lists parameters that are missing, extra and changed, or says
 * that the base differs; EVERSION a contract of a later version.
 * Ownership, Threads, Blocks: as cairn_restore. */
CAIRN_API int cairn_model_state_restore(struct cairn *c,
                                        const struct cairn_record *r,
                                        const struct cairn_trainer *t);
CAIRN_API int cairn_model_state_restore_weighted(struct cairn *c,
                                                 const struct cairn_record *r,
                                                 const struct cairn_trainer *t);

/* Would the boundary that `selector` names fit the trainer's model (seed:
 * TrainableParameterContract, which it names only)? Compares contracts, and reads
 * no payload; a record that is no model state is compared by the parameters of its model.
 * *ret_count, if not NULL, is how many trainable parameters were recorded, also on EMISMATCH.
 * Errors: EMISMATCH counts the parameters that are missing, extra and changed, and names the first
 * of each; EINVAL no walk; as cairn_load.   Ownership: -.   Threads: one per handle.
 * Blocks: until the manifest is here. */
CAIRN_API int cairn_contract_fit(struct cairn *c,
                                 const char *selector,
                                 const struct cairn_trainer *t,
                                 uint64_t *ret_count);

#ifdef __cplusplus
}
#endif
#endif
