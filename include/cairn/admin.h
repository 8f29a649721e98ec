/* cairn/admin.h: look after what is stored. What the `cairn` command is made of; the conventions
 * are those of cairn/record.h. A handle opened with run NULL (cairn_admin_open) serves the calls
 * here and cairn_admin_run, which turns it to another run. */
#ifndef CAIRN_ADMIN_H
#define CAIRN_ADMIN_H

#include <cairn/record.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cairn_run_info {
    uint32_t uid; /* owner */
    char name[129];
    /* boundary_count 0: a save that came to nothing left it empty; the rest is 0 then */
    uint64_t boundary_count, latest_seq, latest_step, latest_ns, bytes;
    bool poisoned; /* read-only after a failed write: restart the daemon, then verify */
};

struct cairn_status {
    char server[64], data_dir[256];
    char io_mode[16]; /* "direct" or "buffered" */
    char io_why[160]; /* why buffered; "" when direct */
    uint64_t pid, uptime_ms;
    uint64_t run_count, open_run_count; /* root: everybody's runs; others: their own */
    uint64_t connection_count, upload_count;
    uint64_t pool_bytes, pool_used_bytes, disk_free_bytes, disk_total_bytes;
    uint64_t committed_count, failed_count; /* since the daemon started */
    /* Memory lent to trainers, for saves and (rings) for loads: how much may be lent (0: none is),
     * how much of that to the caller's uid; lent now, to all and to that uid, in bytes; how many
     * that are, to all, and how many of them are rings. Given back, it still counts while a save
     * that was sealed is written from it. */
    uint64_t arena_bytes, arena_share_bytes;
    uint64_t arena_lent_bytes, arena_own_bytes, arena_count, ring_count;
    /* Of arena_bytes, how much may stay when its trainer is gone, for the next one to load from (0:
     * none); how much does now, of all users, which arena_lent_bytes leaves out; how many records
     * that are. */
    uint64_t resident_bytes, resident_kept_bytes, resident_count;
    uint32_t attention_count;
    char attention[16][256]; /* one sentence each */
};

struct cairn_finding {
    uint64_t seq;
    uint32_t component; /* enum cairn_component_id; 0: the boundary itself */
    const char *path;   /* "" : the component itself; valid during the callback */
    const char *text;
};

struct cairn_verified {
    uint64_t boundary_count, chunk_count, bytes, finding_count;
};

/* Connect without a run. Errors, Ownership, Threads, Blocks: as cairn_open. */
CAIRN_API int cairn_admin_open(const char *socket, struct cairn **ret);

/* Turn an idle handle to a run (RUN, USER/RUN, UID/RUN) for cairn_find, cairn_load and the like.
 * Errors: EINVAL the name; EBUSY a load or a save of it is under way.   Ownership: copies.
 * Threads: one per handle.   Blocks: never. */
CAIRN_API int cairn_admin_run(struct cairn *c, const char *run);

/* Call `each` for every run of the caller (all: of everybody, root only), ordered by owner, name.
 * Errors: EACCES; ECONN; ETIMEDOUT; what `each` returned.   Ownership: the struct is valid during
 * the callback.   Threads: one per handle.   Blocks: until listed. */
CAIRN_API int cairn_runs(struct cairn *c,
                         bool all,
                         int (*each)(void *arg, const struct cairn_run_info *info),
                         void *arg);

/* Drop the handle's run: every boundary of it is gone when this returns 0.
 * Errors: EINVAL the handle has no run; ENOENT; EBUSY it is being written or read; EPOISONED it is
 * read-only after a failed write (restart the daemon first); EACCES; ECORRUPT, EIO, ENOMEM,
 * EVERSION it cannot be opened or unlinked; ECANCELED the daemon is stopping; ECONN, ETIMEDOUT the
 * answer did not come: ask cairn_runs whether it is gone.   Ownership: -.   Threads: one per
 * handle.   Blocks: until its files are unlinked. */
CAIRN_API int cairn_run_drop(struct cairn *c);

/* Remove the one boundary that `selector` names ("latest~1", "100", "seq:7", ...), for good:
 * it is gone and its space is free when this returns 0. The newest of a run always stays. Its save
 * id is CAIRN_SAVE_PRUNED from then on, for as long as it is among the last 1024 removed of the
 * run; saving under it is EPRUNED. *ret (may be NULL) is what was removed. Any failure but those
 * marked leaves the boundary as it was. Errors: EINVAL selector, the newest, or the handle has no
 * run; ENOENT none; EBUSY it is being read or verified (a record that is loaded counts, until
 * cairn_record_free); EACCES; EPOISONED; ECORRUPT its rows are damaged; ENOSPC not even room to
 * remove; ECANCELED; EUNKNOWN, ECONN, ETIMEDOUT it may be removed or not: ask cairn_list, do not
 * repeat a relative selector.   Ownership: caller's struct. Threads: one per handle.   Blocks: for
 * the commits before it, and a sync. */
CAIRN_API int cairn_remove(struct cairn *c, const char *selector, struct cairn_boundary *ret);

/* As cairn_find, for people who look after a run: the boundary that `selector` names is listed also
 * when it is damaged.
 * Errors: ENOENT none; EINVAL selector; ECORRUPT damage hides which one is meant; EPROTO as
 * cairn_find; ECONN, ETIMEDOUT, EACCES.   Ownership: caller's array.   Threads: one per handle.
 * Blocks: as cairn_find. */
CAIRN_API int cairn_list(struct cairn *c,
                         const char *selector,
                         size_t max,
                         struct cairn_boundary *ret,
                         size_t *ret_count);

/* Label of one boundary that the last cairn_find or cairn_list on this handle found (index: its
 * place in the array): walk by label. Text is copied.
 * Errors: ENOENT the end, or no such boundary.   Ownership: caller's buffers (65 and 257 bytes).
 * Threads: one per handle.   Blocks: never. */
CAIRN_API int cairn_found_label(
    const struct cairn *c, size_t index, size_t label, char *ret_name, char *ret_value);

/* Read and check everything stored for one boundary (selector) or the whole run (NULL): rows,
 * chunks, entries, components, root. `each` is called for each finding, also for those that came
 * before a failure; *ret is written also with ECORRUPT.
 * Errors: ENOENT; ECORRUPT when there was a finding; ECANCELED the daemon is stopping; ECONN;
 * ETIMEDOUT no progress for the handle's timeout, or 30 s if that is shorter.   Ownership: the
 * finding is valid during the callback.   Threads: one per handle.   Blocks: for a read of the
 * data. */
CAIRN_API int cairn_verify(struct cairn *c,
                           const char *selector,
                           int (*each)(void *arg, const struct cairn_finding *f),
                           void *arg,
                           struct cairn_verified *ret);

/* How the daemon is. Errors: ECONN; ETIMEDOUT.   Ownership: caller's struct.   Threads: one per
 * handle.   Blocks: one round trip. */
CAIRN_API int cairn_status(struct cairn *c, struct cairn_status *ret);

/* First label of a boundary that was given at save: walk by index. Text is copied.
 * Errors: ENOENT the end.   Ownership: caller's buffers (65 and 257 bytes).   Threads: one per
 * handle.   Blocks: never. */
CAIRN_API int
cairn_record_label(const struct cairn_record *r, size_t index, char *ret_name, char *ret_value);

/* Sum of one component of a loaded record. Errors: ENOENT.   Ownership: type points into the
 * record. Threads: one per handle.   Blocks: never. */
struct cairn_component_info {
    const char *type;
    uint64_t entry_count, bytes;
    uint64_t nan_count, inf_count; /* elements of its tensors that are NaN, or infinite */
    uint32_t chunk_count;
    uint8_t digest[16];
};
CAIRN_API int cairn_record_component_info(const struct cairn_record *r,
                                          enum cairn_component_id component,
                                          struct cairn_component_info *ret);

/* The 16-byte digest of the entry at an index (cairn_entry_at), for `cairn show`.
 * Errors: ENOENT.   Ownership: copies.   Threads: one per handle.   Blocks: never. */
CAIRN_API int cairn_entry_digest(const struct cairn_reader *r, uint64_t index, uint8_t *ret);

/* A scalar's value at an index as text ("-0.0", "\"text\"", hex of bytes), cut to ret_bytes.
 * Errors: ENOENT; EMISMATCH a tensor.   Ownership: caller's buffer.   Threads: one per handle.
 * Blocks: never. */
CAIRN_API int
cairn_entry_text(const struct cairn_reader *r, uint64_t index, char *ret, size_t ret_bytes);

#ifdef __cplusplus
}
#endif
#endif
