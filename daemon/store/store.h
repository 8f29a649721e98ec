/* store.h: boundaries on a disk. The only header of the store that others may include.
 *
 * A store is one directory, DATA. Runs are DATA/runs/UID/NAME/{index,segments}. Everything blocks;
 * nothing here starts a thread, logs, or knows of sockets. Threads: calls marked [writer] for one
 * run must come from one thread at a time (its writer); calls marked [any] may come from any thread
 * at any time while the run stays open. A struct err tells run, component and path. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "internal/err.h"
#include "record/policy.h"
#include "record/record.h"
#include "record/selector.h"
#include "wire/rows.h"

struct st;          /* the data directory: lock, catalogue, I/O mode */
struct st_run;      /* one open run: LMDB environment, latch, sequence */
struct st_manifest; /* metadata of a part under way, in memory: no disk, any one thread */
struct st_save;     /* payload of a part under way: its segment */
struct st_load;     /* a boundary held readable: extents and open segments */
struct keep_item;   /* a boundary and a policy's verdict, store/keep.h */

struct st_options {
    uint64_t map_bytes;        /* first map size of an index, 0: 256 MiB; grows by doubling */
    uint64_t reserve_bytes;    /* refuse a save that would leave less free than this */
    unsigned min_free_percent; /* while less is free, a policy keeps less (st_keep) */
    unsigned share_segments;   /* files that hold chunks of a boundary beside its own, 0: 32 */
    bool force_buffered;       /* tests: as if O_DIRECT were refused */
    const char *keep_default;  /* policy of runs that have none, record/policy.h; NULL: none */
};

/* ---- the directory --------------------------------------------------------------------------- */

/* Create (0700) or open; takes an exclusive lock on DATA/lock, so that a second daemon is refused
 * (EBUSY, naming the holder's pid). Probes O_DIRECT with a real write. Rebuilds the catalogue.
 * EVERSION: DATA/format holds another format number (both are named). */
int st_open(const char *dir, const struct st_options *options, struct st **ret, struct err *err);
struct st *st_close(struct st *st); /* every run closed before */
const char *st_dir(const struct st *st);
/* "direct" or "buffered"; *ret_why says why ("" when direct). */
const char *st_io_mode(const struct st *st, const char **ret_why);
int st_space(const struct st *st,
             uint64_t *ret_free_bytes,
             uint64_t *ret_total_bytes,
             struct err *err);

/* [any] Rows of the catalogue in (uid, name) order; uid UINT32_MAX: every owner. */
struct st_run_row {
    uint32_t uid;
    struct slice name;
    struct row_run run;
    bool poisoned;
};
int st_runs(struct st *st,
            uint32_t uid,
            int (*each)(void *arg, const struct st_run_row *row),
            void *arg,
            struct err *err);

/* [any] Unlink a run that is not open. ENOENT. Renamed aside first, so a crash leaves no half run.
 * EPOISONED: it is read-only after a failed write, and stays as it is until the store is closed. */
int st_run_drop(struct st *st, uint32_t uid, struct slice name, struct err *err);

/* ---- a run ----------------------------------------------------------------------------------- */

/* Open; `create` makes it when missing, else ENOENT. Clears stale readers, sweeps segments that no
 * row names and temporary files, checks meta, and makes one synced commit, so that what is visible
 * is durable. ECORRUPT, EVERSION. A newest boundary whose row is damaged or lost keeps its place,
 * as ECORRUPT; older ones can be read, and saves go on above it. A run that was poisoned is so
 * again, is left as it is, and its unknown save stays unknown. */
int st_run_open(struct st *st,
                uint32_t uid,
                struct slice name,
                bool create,
                struct st_run **ret,
                struct err *err);
struct st_run *st_run_close(struct st_run *run);
/* [any] Read-only after a failed write of payload or a failed sync, until the store is closed. */
bool st_run_poisoned(const struct st_run *run);
void st_run_row(const struct st_run *run, struct row_run *ret); /* [any] counts, newest */

/* ---- saving ---------------------------------------------------------------------------------- */

/* The manifest of a part, fed in wire order: chunks, then entries in strictly ascending (component,
 * key) order, then seal. Applies proto/record/rules.h. Any refusal leaves it unusable but freeable.
 */
int st_manifest_new(const struct boundary *announced, struct st_manifest **ret, struct err *err);
int st_manifest_chunks(struct st_manifest *m,
                       uint32_t first,
                       const struct chunk *chunks,
                       uint32_t count,
                       struct err *err);
int st_manifest_entries(struct st_manifest *m, const struct wire_entries *page, struct err *err);
/* Counts, lengths, digests of components and root against what was fed; every component 1..5 is
 * there and the companions of the kind; every chunk is announced. */
int st_manifest_seal(struct st_manifest *m,
                     const struct component_info *infos,
                     uint32_t count,
                     const struct digest *root,
                     struct err *err);
const struct chunk *st_manifest_chunk(const struct st_manifest *m, uint32_t index); /* NULL: none */
uint32_t st_manifest_chunk_count(const struct st_manifest *m); /* announced so far */
/* Memory that it takes, about. This and st_manifest_chunk may be asked while it is being sealed on
 * another thread. */
uint64_t st_manifest_bytes(const struct st_manifest *m);
struct st_manifest *st_manifest_free(struct st_manifest *m);

/* [writer] Allocate the segment's space before a byte is taken (none when chunk_count is 0).
 * ENOSPC names needed and free bytes and the directory; EPOISONED. Without descriptors, memory or
 * rights it fails and the run is as it was. */
int st_save_begin(struct st_run *run,
                  const struct boundary *announced,
                  struct st_save **ret,
                  struct err *err);
/* [writer] Chunk `index` (0, 1, 2, ... in order) is to come. If the run holds it already, by digest
 * and length, it is referred to, need not be written, and *ret_shared is true. The first time that
 * a chunk is referred to it is read back and compared. */
int st_save_share(struct st_save *save,
                  uint32_t index,
                  const struct chunk *chunk,
                  bool *ret_shared,
                  struct err *err);
/* [writer] Write it. `data` is page-aligned and padded with zeros to 4 KiB; whether it matches the
 * digest is for the caller to see, before it commits. */
int st_save_write(struct st_save *save,
                  uint32_t index,
                  const struct chunk *chunk,
                  const void *data,
                  struct err *err);
/* [writer] Footer, fdatasync, rename, fsync of the directory, one LMDB transaction. The manifest is
 * sealed. Fills seq, parent_seq, created_ns, bytes_new, bytes_shared, nonfinite, not_finite,
 * trainable_bytes, trainable_new_bytes and warnings of *b. Frees save in every case (sets NULL).
 * ENOSPC: nothing happened, the run lives on. EIO of a write or a sync: latched read-only, nothing
 * committed. EUNKNOWN: latched, the commit may or may not be there. ECONFLICT: this save id holds
 * another root. */
int st_save_commit(struct st_save **save,
                   const struct st_manifest *m,
                   struct boundary *b,
                   struct err *err);
/* [writer] Unlink what was written. Returns NULL. */
struct st_save *st_save_abort(struct st_save *save);

/* ---- removing -------------------------------------------------------------------------------- */

/* [writer] Remove boundaries, all of them in one transaction or none; then unlink the segments that
 * nothing names any more. Their save ids are PRUNED from now on, for as long as they are among the
 * last 1024. EINVAL: one is the newest. EBUSY: one is being read (st_load_open), or pinned. ENOENT.
 * ECORRUPT: rows of one are damaged. ENOSPC: nothing happened, the run lives on. EIO, EUNKNOWN:
 * latched read-only, they may be there or not after a restart, and then as a whole. EPOISONED. */
int st_remove(struct st_run *run, const uint64_t *seqs, uint32_t count, struct err *err);

/* ---- pins and labels ------------------------------------------------------------------------- */

struct st_pin {
    uint64_t seq;
    struct slice name, why;
    uint32_t uid;
    uint64_t created_ns;
};
/* [writer] It stays, whatever a policy says, until it is unpinned; a pin of this name on it is
 * replaced. seq and created_ns of *pin are not looked at. EINVAL: the name. ENOENT. Others as of
 * st_remove. */
int st_pin(struct st_run *run, uint64_t seq, const struct st_pin *pin, struct err *err);
/* [writer] ENOENT: it is not pinned by this name. */
int st_unpin(struct st_run *run, uint64_t seq, struct slice name, struct err *err);
/* [any] All pins of the run, by seq and name. Below 0 ends it. */
int st_pins(struct st_run *run,
            int (*each)(void *arg, const struct st_pin *pin, struct err *err),
            void *arg,
            struct err *err);
/* [writer] Set labels, over those that it was saved with. EINVAL, ENOENT; ELIMIT: it would have too
 * many. Others as of st_remove. */
int st_label(
    struct st_run *run, uint64_t seq, const struct label *labels, uint32_t count, struct err *err);

/* ---- policies -------------------------------------------------------------------------------- */

/* [any] The policy of a run, in the words of record/policy.h; is it the store's default? */
int st_policy_get(struct st_run *run,
                  char ret_text[POLICY_TEXT_BYTES],
                  bool *ret_is_default,
                  struct err *err);
/* [writer] NULL: the store's default from now on. Errors as those of st_remove. */
int st_policy_put(struct st_run *run, const struct policy *policy, struct err *err);

/* [writer] Remove what the policy does not keep (store/keep.h), 64 boundaries in a transaction;
 * where there is a policy, and less of the disk is free than min_free_percent, also what only rules
 * keep. What cannot be removed, as its rows are damaged, is marked and stays. What somebody began
 * to read meanwhile stays until the next time. */
struct st_kept {
    const struct keep_item *item;
    uint64_t own_bytes;    /* that no other boundary of the run refers to */
    uint64_t shared_bytes; /* that others refer to as well */
    uint64_t run_bytes;    /* of all of them, each chunk once */
};
struct st_keep {
    const struct policy *policy; /* NULL: that of the run */
    uint64_t now_ns;             /* wall clock */
    uint64_t wanted_bytes;       /* free so much in any case, as far as only rules keep it */
    bool dry_run;                /* remove nothing */
    /* NULL, or told of each boundary, newest first, before anything goes. Below 0 ends it. */
    int (*each)(void *arg, const struct st_kept *kept, struct err *err);
    void *arg;
};
struct st_keep_done {
    uint64_t removed_count, damaged_count;
    bool is_default; /* it was the store's policy */
};
int st_keep(struct st_run *run,
            const struct st_keep *args,
            struct st_keep_done *ret,
            struct err *err);

/* [any] What the run takes of the disk now. A file that comes or goes meanwhile is in it or not. */
struct st_usage {
    uint64_t segment_bytes; /* payload, and the footers */
    uint64_t unnamed_bytes; /* saves under way, and the file kept for the next one */
    uint64_t index_bytes;
};
int st_usage(struct st_run *run, struct st_usage *ret, struct err *err);

/* [writer] Go on from an older boundary: `latest` is this one, and what came after it is abandoned:
 * no answer to latest, best, finite or a step, and first to go. An abandoned one may be chosen as
 * well: its line is taken up again. ENOENT. ECORRUPT: it is damaged. Others as of st_remove. */
int st_rollback(struct st_run *run, uint64_t seq, struct err *err);
/* [writer] It was found to be damaged, and `why`; data NULL: it is not. */
int st_mark_damaged(struct st_run *run, uint64_t seq, struct slice why, struct err *err);

/* ---- asking ---------------------------------------------------------------------------------- */

/* [any] The seq that a selector names. ENOENT, ECORRUPT. It may be that of a boundary whose row is
 * damaged, or lost while other rows tell of it: reading that one is ECORRUPT. */
int st_select(struct st_run *run, const struct selector *sel, uint64_t *ret_seq, struct err *err);
/* [any] Up to max boundaries from seq downwards, in the bump. Of those whose rows are damaged there
 * is the seq; both lists go downwards, and together they are all there is down to the last one. */
struct st_list {
    const struct boundary *boundaries;
    uint32_t count;
    const uint64_t *damaged;
    uint32_t damaged_count;
};
int st_list(struct st_run *run,
            uint64_t seq,
            uint32_t max,
            struct bump *bump,
            struct st_list *ret,
            struct err *err);
/* [any] The newest seq below this one, whatever its row is like; 0: there is none. */
int st_before(struct st_run *run, uint64_t seq, uint64_t *ret_seq, struct err *err);
/* [any] What became of a save id: NONE, COMMITTED, PRUNED or UNKNOWN. ECORRUPT: it was committed,
 * and the row of its boundary is damaged. */
int st_save_state(struct st_run *run,
                  const uint8_t save_id[16],
                  uint32_t rank,
                  struct row_save *ret,
                  struct err *err);

/* ---- reading --------------------------------------------------------------------------------- */

/* [any] Hold a boundary: one short read transaction copies row and extents out, segments are
 * opened. ECORRUPT: rows are damaged, or a segment is missing. EBUSY, ENOMEM, EACCES: no
 * descriptor, memory or right to open a segment, which says nothing about it; EBUSY also while it
 * is just being removed. EPRUNED: it was removed; ENOENT: it never was. Until st_load_close it
 * cannot be removed. */
int st_load_open(struct st_run *run, uint64_t seq, struct st_load **ret, struct err *err);
const struct boundary *st_load_boundary(const struct st_load *load);
uint32_t st_load_chunk_count(const struct st_load *load);
const struct chunk *st_load_chunk(const struct st_load *load, uint32_t index);
/* [any] One manifest page (0-based entry page), decoded into the bump. ENOENT past the end.
 * ECORRUPT names the entry that is hit, if that can be told. */
int st_load_page(struct st_load *load,
                 enum component component,
                 uint32_t page,
                 struct bump *bump,
                 struct wire_entries *ret,
                 struct err *err);
/* [any] Read a chunk into a page-aligned buffer of bytes rounded up to 4 KiB. Not verified: whoever
 * uses the bytes compares digests. EIO names segment and offset. */
int st_load_read(struct st_load *load, uint32_t index, void *data, struct err *err);
struct st_load *st_load_close(struct st_load *load);

/* [any] Check one boundary completely: rows, counts, chunks, entries, components, root. Returns 0
 * also with findings, negative only when checking itself was impossible: EBUSY, ENOMEM and EACCES
 * of what could not be opened say so and what to do, and are never findings. */
struct st_finding {
    uint64_t seq;
    uint32_t component;
    struct slice path;
    const char *text;
};
struct st_watch {
    int (*found)(void *arg, const struct st_finding *finding);
    /* Before each page and each chunk: how far it is. What it returns below 0 ends the check. NULL:
     * nobody asks. */
    int (*step)(void *arg, const struct wire_verified *so_far, struct err *err);
    void *arg;
};
int st_verify(struct st_run *run,
              uint64_t seq,
              const struct st_watch *watch,
              struct wire_verified *ret,
              struct err *err);

/* Walk every invariant of a stopped store (takes the lock): format, rows and trailers, key order,
 * dangling and missing references between all databases, segments (size, footer, chunks), orphans,
 * catalogue. Every run, every boundary, all payload. Findings as above; `where` names the run.
 * What an unfinished save left over is told too, but is no damage and does not count. */
typedef int st_fsck_fn(void *arg, const char *where, const char *text);
int st_fsck(
    const char *dir, st_fsck_fn *each, void *arg, struct wire_verified *ret, struct err *err);

#endif
