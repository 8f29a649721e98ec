/* cairn/record.h: one training boundary in memory: build it, save it, find it, load it, read it.
 *
 * Every call returns 0 or -CAIRN_E* (cairn/error.h) unless it says otherwise; after a failure
 * cairn_error() has the sentence for people. An output parameter (ret...) is written on success
 * only. A handle is used by one thread at a time; different handles are independent. The library
 * starts no thread, installs no signal handler, never exits, and survives fork(): in the child
 * every call on an inherited handle returns -CAIRN_EFORK.
 *
 * Bytes are little-endian, row-major, dense. What a digest or a chunk is: proto/PROTOCOL.md. */
#ifndef CAIRN_RECORD_H
#define CAIRN_RECORD_H

#include <cairn/dtype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAIRN_VERSION "0.1.0"

struct cairn;         /* one run at one daemon; remakes a lost connection by itself */
struct cairn_record;  /* a captured or loaded boundary: owned by the caller, immutable */
struct cairn_writer;  /* one component during capture; lives for one callback */
struct cairn_reader;  /* one component of a record; lives as long as the record */
struct cairn_pending; /* a save under way */

enum cairn_component_id {
    CAIRN_MODEL = 1,
    CAIRN_OPTIMIZER = 2,
    CAIRN_SCHEDULER = 3,
    CAIRN_GRADIENTS = 4,
    CAIRN_STATE = 5,
    CAIRN_DTYPES = 6,
    CAIRN_WINDOW = 7,
    CAIRN_CONTRACT = 8
};

enum cairn_entry_kind {
    CAIRN_TENSOR = 1,
    CAIRN_SCALAR_I64 = 2,
    CAIRN_SCALAR_U64 = 3,
    CAIRN_SCALAR_F64 = 4,
    CAIRN_SCALAR_F32 = 5,
    CAIRN_SCALAR_BOOL = 6,
    CAIRN_SCALAR_STRING = 7,
    CAIRN_SCALAR_BYTES = 8,
    CAIRN_SCALAR_NULL = 9
};

/* Bits of a record's kind: which companions it carries (plain: 0). */
enum cairn_kind { CAIRN_KIND_DTYPES = 1, CAIRN_KIND_WEIGHTED = 2, CAIRN_KIND_MODEL_STATE = 4 };

enum cairn_precision { CAIRN_NATIVE = 0, CAIRN_FULL = 1, CAIRN_HALF = 2, CAIRN_DOUBLE = 3 };

/* Bits of cairn_boundary.warnings. STALE: the step moved, all that is trained is as it was. */
enum cairn_warning { CAIRN_WARNING_STALE = 1 };

enum cairn_entry_flag { CAIRN_HAS_ID = 1, CAIRN_TRAINABLE = 2 };

/* One leaf of a component. In: path, flags, id, dtype, rank, shape; quant with QFLOAT, element_bits
 * or bytes with OPAQUE; the rest is ignored, since it follows from these. Out (cairn_entry_at):
 * all; pointers live as long as the record. */
struct cairn_entry {
    const char *path;                /* UTF-8, 1..4096 bytes */
    uint64_t id;                     /* parameter id, with CAIRN_HAS_ID; every value is legal */
    uint32_t flags;                  /* enum cairn_entry_flag */
    uint32_t dtype;                  /* enum cairn_dtype */
    uint32_t rank;                   /* 0..32; 0 is a scalar tensor of one element */
    uint32_t kind;                   /* enum cairn_entry_kind */
    const uint64_t *shape;           /* rank dimensions, elements */
    uint64_t bytes;                  /* of the value */
    const struct cairn_quant *quant; /* of a QFLOAT tensor; else NULL */
    uint32_t element_bits;           /* of an OPAQUE one's element; 0: not said, any length */
    uint32_t storage_dtype;          /* out: dtype before a precision converted it; 0: the same */
    uint64_t nan_count, inf_count;   /* out: elements that are NaN, or infinite */
};

/* A place in the region where a tensor belongs: the caller's own copy lands there directly. */
struct cairn_slot {
    void *dst;
    size_t dst_bytes;
    uint64_t cookie;
};

struct cairn_save_args {
    uint64_t step;          /* the trainer's; may repeat after a rollback */
    const uint8_t *save_id; /* 16 bytes; NULL: random */
    /* enum cairn_precision, of the whole record: CAIRN_NATIVE saves every value as it is. FULL,
     * HALF and DOUBLE save float tensors of all components as F32, F16, F64, and integer tensors as
     * I32, I16, I64 (seed: the precision settings of a recorder), into a second region that lives
     * until the record is freed. Untouched: scalars, bool, complex, quantized and opaque tensors,
     * what says the meaning of quantized values (tensors whose path ends in @codebook, @scale or
     * @zero_point), dtypes, window, contract. A target then asks cairn_get for the converted type;
     * nothing casts. */
    uint32_t precision;
    bool lossy_ok; /* values may be rounded; then the boundary is not `exact` */
    /* "name=value", NULL-terminated; NULL: none. A number has a '.', whatever the locale. */
    const char *const *labels;
    int timeout_ms; /* until the durable acknowledgement; 0: the handle's */
};

/* What a daemon knows of one boundary. */
struct cairn_boundary {
    uint64_t seq, step, parent_seq;
    uint64_t created_ns; /* wall clock of the daemon, information only */
    uint64_t entry_count, payload_bytes;
    uint64_t bytes_new, bytes_shared; /* written for it, referenced by it */
    uint64_t nan_count, inf_count;    /* elements that are NaN, or infinite, as they are stored */
    uint32_t kind; /* in a list also with bits of later releases: cairn_load says ENOTSUP */
    uint32_t precision;
    uint32_t warnings;                             /* enum cairn_warning */
    uint64_t trainable_bytes, trainable_new_bytes; /* of the model: all; not as in the parent */
    bool exact;
    bool finite;  /* none in trainable model tensors and the optimizer, as who saved it counted */
    bool damaged; /* in a list: what is stored of it cannot be read, only seq is known */
    bool abandoned, rotten; /* a rollback led behind it; its payload did not verify */
    uint32_t pin_count; /* pins that it has (cairn/keep.h); this and the two: not told by saves */
    uint8_t save_id[16];
    uint8_t root[16]; /* digest over everything */
};

enum cairn_save_state {
    CAIRN_SAVE_NONE = 0,
    CAIRN_SAVE_RECEIVING = 1,
    CAIRN_SAVE_SEALED = 2,
    CAIRN_SAVE_COMMITTED = 3,
    CAIRN_SAVE_PRUNED = 4,
    CAIRN_SAVE_UNKNOWN = 5
};

/* How far a save is, as its process knows. */
enum cairn_save_stage {
    CAIRN_STAGE_NONE = 0,      /* this handle has begun no save yet */
    CAIRN_STAGE_CAPTURED = 1,  /* nothing of it is at the daemon, or nobody knows: see below */
    CAIRN_STAGE_SENDING = 2,   /* the daemon takes it */
    CAIRN_STAGE_SEALED = 3,    /* the daemon has said that it holds all of it */
    CAIRN_STAGE_COMMITTED = 4, /* the daemon has said that it is durable */
    CAIRN_STAGE_FAILED = 5     /* refused, or given up by the call that saved it */
};

struct cairn_progress {
    uint32_t stage; /* enum cairn_save_stage */
    uint64_t done_bytes, total_bytes;
};

/* ---- handle ---------------------------------------------------------------------------------- */

/* Open a run at a daemon. `socket` NULL: $CAIRN_SOCKET, else /run/cairn/cairnd.sock. `run` is RUN
 * (the caller's own) or USER/RUN. Connects at once, and again whenever the connection was lost.
 * Even on failure *ret is set (to a handle that only cairn_error, captures, their event loop and
 * cairn_close accept), unless memory ran out, so that the reason can be read; what was captured
 * with it may be saved by another handle, once it is closed. That it opens says that the run may be
 * read: who may read a run of another's but not write to it is told so (EACCES) by the first save.
 * Errors: EINVAL run name, path too long for a socket; ECONN no daemon; EVERSION; EACCES;
 * ETIMEDOUT. Ownership: the caller closes *ret.   Threads: any.   Blocks: until connected, at most
 * 10 s. */
CAIRN_API int cairn_open(const char *socket, const char *run, struct cairn **ret);

/* Close; a save that was started and not waited for still completes in the daemon. Records made
 * with the handle stay readable except for payload that was not read yet. An asynchronous capture
 * that is under way is cancelled: its callback is called with -CAIRN_ECANCELED before this returns
 * (not in a forked child). Slots that are still open may go on being written to; each must be done
 * as ever, with this handle, and the memory of their capture goes with the last one. Returns NULL.
 * Errors: none; NULL is allowed.   Ownership: frees c.   Threads: one per handle, but never inside
 * a put.   Blocks: never. */
CAIRN_API struct cairn *cairn_close(struct cairn *c);

/* The sentence about the last failure on this handle: what, where, what to do. "" when none.
 * Errors: none.   Ownership: the handle's, valid until its next call.   Threads: one per handle.
 * Blocks: never. */
CAIRN_API const char *cairn_error(const struct cairn *c);

/* Deadline of every later call that talks to the daemon, in milliseconds without progress
 * (default 60000).
 * Errors: EINVAL <= 0.   Ownership: -.   Threads: one per handle.   Blocks: never. */
CAIRN_API int cairn_set_timeout(struct cairn *c, int timeout_ms);

/* Have memory ready for `count` records (1 or 2: a save that goes on while the next capture is made
 * needs two) of so many bytes of payload, before the first capture: shared with the daemon if it
 * lends any, and touched, in the background, by a thread of the library's own that ends by itself.
 * Without it the first captures pay for new memory, and the first save of a run travels on the
 * socket. Too small or too large does no harm.
 * Errors: EINVAL; ENOMEM; as cairn_find.   Ownership: the handle's.   Threads: one per handle;
 * starts one a record.   Blocks: until the daemon has answered, not until memory is touched. */
CAIRN_API int cairn_warm(struct cairn *c, uint64_t bytes, unsigned count);

/* Let captures copy and digest with so many threads, 1 to 256, the caller's among them (from the
 * start: 1). The others are the library's own: they are started here, sleep between captures, and
 * end with cairn_close. They share in tensors of more than 8 MiB, and in slots; smaller ones are
 * copied by the caller. As many as there are memory channels is the most that helps.
 * Errors: EINVAL; EBUSY a capture is under way; ENOMEM memory, or threads.   Ownership: the
 * handle's.   Threads: one per handle.   Blocks: until the ones before have ended. */
CAIRN_API int cairn_set_threads(struct cairn *c, unsigned count);

/* ---- event loop: for asynchronous captures (cairn/training.h) --------------------------------
 *
 * Poll cairn_fd for cairn_events in any loop, and call cairn_process when it is ready; or call
 * cairn_process now and then, without a descriptor. */

/* The descriptor to poll: always the same one of a handle, and close-on-exec. It is readable when
 * cairn_process has something to do; only that reads from it. Returns it, or a negative code.
 * Errors: EINVAL; EBUSY no descriptor is free.   Ownership: the handle's, until it is closed.
 * Threads: one per handle.   Blocks: never. */
CAIRN_API int cairn_fd(struct cairn *c);

/* The poll(2) events to wait for: POLLIN. Returns them, or a negative code.
 * Errors: EINVAL.   Ownership: -.   Threads: one per handle.   Blocks: never. */
CAIRN_API int cairn_events(const struct cairn *c);

/* Take an asynchronous capture as far as it goes: ask the components whose turn it is, and call
 * its callback when it is whole or has failed. 0 also when there was nothing to do, or a capture
 * failed: only its callback is told. Calls back last, and no more than once.
 * Errors: EINVAL.   Ownership: -.   Threads: one per handle.   Blocks: for the copies of the
 * components that it asks and the digests of their slots; never for a slot or the daemon. */
CAIRN_API int cairn_process(struct cairn *c);

/* ---- capture side: inside a component's put callback ------------------------------------------
 */

/* Put a tensor: copies its bytes (shape x dtype) now and digests them.
 * Errors: EINVAL path, dtype, shape (also a rank without one), a bool that is neither 0 nor 1;
 * EEXIST the same key twice (told at the end of the component); ELIMIT; ENOMEM. Ownership: keeps no
 * pointer.   Threads: the capturing one.   Blocks: for the copy. */
CAIRN_API int cairn_put(struct cairn_writer *w, const struct cairn_entry *e, const void *data);

/* Put a tensor whose bytes the caller writes itself: *ret is where. The slot must be done (next
 * call), exactly once, before a synchronous capture ends; an asynchronous one waits for that. Also
 * the slots of a capture that has failed, or whose handle was closed: their places stay until then.
 * A tied parameter (one id under several paths) that is put by slot has a place of its own, so its
 * bytes are stored twice; put by cairn_put they are stored once.
 * Errors: as cairn_put.   Ownership: the place belongs to the record.   Threads: the capturing one.
 * Blocks: never. */
CAIRN_API int
cairn_put_slot(struct cairn_writer *w, const struct cairn_entry *e, struct cairn_slot *ret);

/* The bytes of a slot are in place (rc 0), or the copy failed (rc < 0: the capture fails with it;
 * an asynchronous one at once, so this is how to give it up). Nothing may write to the slot after
 * it. Errors: EINVAL no such open slot; EFORK.   Ownership: the last slot of a capture that has
 * failed frees its memory.   Threads: any, also while the handle is used or closed.   Blocks:
 * never. */
CAIRN_API int cairn_slot_done(struct cairn *c, const struct cairn_slot *s, int rc);

/* Put a scalar. Floats are carried as their bits: NaN payloads and -0.0 stay. str is UTF-8 up to
 * 64 KiB; bytes up to 64 KiB (more: cairn_put_blob, cairn/tree.h, which no precision converts).
 * Errors, Ownership, Threads, Blocks: as cairn_put. */
CAIRN_API int cairn_put_u64(struct cairn_writer *w, const char *path, uint64_t v);
CAIRN_API int cairn_put_i64(struct cairn_writer *w, const char *path, int64_t v);
CAIRN_API int cairn_put_f64(struct cairn_writer *w, const char *path, double v);
CAIRN_API int cairn_put_f32(struct cairn_writer *w, const char *path, float v);
CAIRN_API int cairn_put_bool(struct cairn_writer *w, const char *path, bool v);
CAIRN_API int cairn_put_str(struct cairn_writer *w, const char *path, const char *v);
CAIRN_API int
cairn_put_bytes(struct cairn_writer *w, const char *path, const void *v, size_t bytes);
CAIRN_API int cairn_put_null(struct cairn_writer *w, const char *path);
/* The same of a parameter, with its id in the key (an optimizer's step counter per parameter).
 * Errors, Ownership, Threads, Blocks: as cairn_put. */
CAIRN_API int cairn_put_id_u64(struct cairn_writer *w, const char *path, uint64_t id, uint64_t v);

/* ---- restore side: inside fit and get, or on a loaded record ----------------------------------
 */

/* Look a tensor up by its key (path; optimizer and gradients: id and path) and compare dtype, rank,
 * shape, id, trainable flag, scheme (QFLOAT: nothing is quantized anew) and element bits (OPAQUE)
 * with `want`. With dst, read its bytes, verified, into dst; without (NULL), only the comparison.
 * Errors: ENOENT no such entry (a restore returns EMISMATCH for that); EINVAL as cairn_put;
 * EMISMATCH (names path, recorded and wanted); ECORRUPT payload or digest, or a BOOL tensor with a
 * byte that is neither 0 nor 1; EPRUNED; ECONN, ETIMEDOUT. After a failure dst is of no use.
 * Ownership: keeps no pointer.   Threads: one per handle.   Blocks: with dst, for the bytes. */
CAIRN_API int cairn_get(const struct cairn_reader *r, const struct cairn_entry *want, void *dst);

/* Read a scalar. Errors: ENOENT; EMISMATCH it is of another type.
 * Ownership: str and bytes point into the record.   Threads: one per handle.   Blocks: never. */
CAIRN_API int cairn_get_u64(const struct cairn_reader *r, const char *path, uint64_t *ret);
CAIRN_API int cairn_get_i64(const struct cairn_reader *r, const char *path, int64_t *ret);
CAIRN_API int cairn_get_f64(const struct cairn_reader *r, const char *path, double *ret);
CAIRN_API int cairn_get_f32(const struct cairn_reader *r, const char *path, float *ret);
CAIRN_API int cairn_get_bool(const struct cairn_reader *r, const char *path, bool *ret);
CAIRN_API int cairn_get_str(const struct cairn_reader *r, const char *path, const char **ret);
CAIRN_API int cairn_get_bytes(const struct cairn_reader *r,
                              const char *path,
                              const void **ret,
                              size_t *ret_bytes);
CAIRN_API int
cairn_get_id_u64(const struct cairn_reader *r, const char *path, uint64_t id, uint64_t *ret);

/* The entry at a position in key order, from 0.
 * Errors: ENOENT the end.   Ownership: pointers into the record.   Threads: one per handle.
 * Blocks: never. */
CAIRN_API int cairn_entry_at(const struct cairn_reader *r, uint64_t index, struct cairn_entry *ret);

/* ---- records ----------------------------------------------------------------------------------
 */

/* Save (seed: save): stream the record to the daemon and wait until it is durable there (fsynced,
 * committed). On success frees *r and sets it to NULL. On failure *r stays and may be saved again:
 * the same record keeps its save id, so a save whose acknowledgement was lost is found, not
 * repeated. A lost connection is remade and the save settled until the deadline passes.
 * Errors: EINVAL no captured record, labels, or precision; EPRECISION a value would change in that
 * precision (names it, how many, the first), and lossy_ok is false; ERANGE an integer does not fit,
 * always; ELIMIT; ENOTSUP; EACCES the run may not be written; ENOSPC (needed and free bytes);
 * ECONFLICT; EPRUNED it was committed, and removed since; EPOISONED; EUNKNOWN; ESUPERSEDED; EBUSY;
 * EIO; ETIMEDOUT; ECONN; what a save that was started before has failed with, once.   Ownership:
 * takes *r on success.   Threads: one per handle.   Blocks: until durable, as is one before it. */
CAIRN_API int cairn_save(struct cairn *c,
                         struct cairn_record **r,
                         const struct cairn_save_args *a,
                         struct cairn_boundary *ret);

/* Start a save: returns when the daemon holds the whole record (sealed: it survives this process),
 * which is before it is durable. A save that was started before is waited for first. *r is taken.
 * Wait with cairn_save_wait; a failure that nobody waited for is returned by the next call on the
 * handle, once, but never inside a restore.
 * A trainer that is preempted (SIGTERM, soon SIGKILL) captures at its next safe point, calls this,
 * and may end as soon as it has returned 0, by exit or by SIGKILL: the daemon checks and commits
 * what it holds, also when it is asked to stop itself; what it finds wrong, only its log tells. A
 * load by the trainer's successor waits for it. With an arena (cairn_warm) no payload is sent.
 * Errors: as cairn_save.   Ownership: *ret is freed by cairn_save_wait.   Threads: one per handle.
 * Blocks: for the upload, and until the save before is durable. */
CAIRN_API int cairn_save_start(struct cairn *c,
                               struct cairn_record **r,
                               const struct cairn_save_args *a,
                               struct cairn_pending **ret);

/* Wait for a started save; 0 ms polls. Only the daemon's word ends it: then *p is freed and set to
 * NULL. It was committed (0, and *ret says as what), or it was refused: then *ret_record, if not
 * NULL, gets the record back, to be saved again or freed. While nothing is decided *p stays, and
 * may be waited for again: the time has passed (EBUSY), or the connection was lost or broken.
 * Errors: EBUSY; else as cairn_save.   Ownership: takes *p once *p is NULL; *ret_record is the
 * caller's.   Threads: one per handle.   Blocks: up to timeout_ms, and to send the record again
 * when the connection was lost; 0 begins nothing that takes long. */
CAIRN_API int cairn_save_wait(struct cairn_pending **p,
                              int timeout_ms,
                              struct cairn_boundary *ret,
                              struct cairn_record **ret_record);

/* Ask what became of a save id (16 bytes).
 * Errors: ECONN, ETIMEDOUT, EACCES.   Ownership: -.   Threads: one per handle.   Blocks: one round
 * trip: it waits for no save. */
CAIRN_API int cairn_save_find(struct cairn *c,
                              const uint8_t *save_id,
                              enum cairn_save_state *ret,
                              uint64_t *ret_seq);

/* How far the newest save of this handle is, from its beginning until the next one begins: from
 * another thread while a call is saving, or between two calls while a started save is under way.
 * It asks nobody: what the daemon has said since is known when cairn_save_wait (0 ms will do) or
 * another call has read it. total_bytes: payload_bytes of the boundary. done_bytes: CAPTURED,
 * FAILED 0; SENDING what was handed to the socket whole (of a record in an arena: 0), and all when
 * only the answer is missing; SEALED, COMMITTED all. A lost connection leads back to CAPTURED,
 * until it is known what the daemon has. cairn_save says SEALED only if the daemon had all before.
 * Errors: EINVAL; EFORK.   Ownership: caller's struct.   Threads: any, also while another uses the
 * handle, but not once that begins to close it; no sentence in cairn_error.   Blocks: never. */
CAIRN_API int cairn_save_progress(struct cairn *c, struct cairn_progress *ret);

/* List boundaries: the one that `selector` names ("latest", "STEP", "seq:N", "id:HEX", ...) and
 * those before it, newest first, at most `max`. Of those before it some may be `damaged`.
 * Errors: ENOENT none; ECORRUPT the one that `selector` names is damaged; EINVAL selector; EPROTO
 * one has a precision that the protocol does not define (says which of the list); ECONN, ETIMEDOUT,
 * EACCES.   Ownership: caller's array.   Threads: one per handle.   Blocks: one round trip, and
 * until saves of this run that were sealed before have ended. */
CAIRN_API int cairn_find(struct cairn *c,
                         const char *selector,
                         size_t max,
                         struct cairn_boundary *ret,
                         size_t *ret_count);

/* Load (seed: load): fetch and verify the manifest of one boundary and pin it in the daemon.
 * Payload comes as it is read: from memory that a trainer has left (cairn_record_resident), else
 * through 32 MiB shared with the daemon from the first large load on, or on the socket.
 * -CAIRN_ENOENT alone means "start fresh": a corrupt newest boundary is ECORRUPT, never "none".
 * Errors: ENOENT; ECORRUPT; ENOTSUP a kind that only a later release knows (names its bits and
 * those that are known); EPROTO what the daemon sent has a precision, dtype or kind of entry that
 * the protocol does not define (names field, value, component and entry); EINVAL selector; ECONN;
 * ETIMEDOUT; EACCES.   Ownership: free *ret with cairn_record_free before c is closed.   Threads:
 * one per handle.   Blocks: until the manifest is here; timeout_ms 0: the handle's. */
CAIRN_API int
cairn_load(struct cairn *c, const char *selector, int timeout_ms, struct cairn_record **ret);

/* Errors: none; NULL is allowed. Returns NULL.   Ownership: frees r.   Threads: one per handle.
 * Blocks: never. */
CAIRN_API struct cairn_record *cairn_record_free(struct cairn_record *r);

/* Facts of a record. A captured one has seq 0, and no created time until it was saved.
 * Errors: EINVAL.   Ownership: copies.   Threads: one per handle.   Blocks: never. */
CAIRN_API int cairn_record_info(const struct cairn_record *r, struct cairn_boundary *ret);

/* Borrow the reader of one component of a loaded record.
 * Errors: ENOENT the record has no such component; EINVAL a captured record.   Ownership: the
 * record's.   Threads: one per handle.   Blocks: never. */
CAIRN_API int cairn_record_component(const struct cairn_record *r,
                                     enum cairn_component_id component,
                                     const struct cairn_reader **ret);

#ifdef __cplusplus
}
#endif
#endif
