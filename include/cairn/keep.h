/* cairn/keep.h: which boundaries of a run stay, and where it goes on.
 *
 * A policy is a text of rules, by spaces:
 *   last=3                  the newest 3
 *   every=1000              for each multiple of 1000 the last boundary whose step does not exceed
 * it best=loss:min:2         the 2 with the smallest number as label `loss` (max: the largest); a
 *                           label that is no number, or NaN, never counts; of equal ones the newer
 *   newer=7d                those made in the last 7 days (s, min, h, d), by the daemon's clock
 *   max-bytes=200GiB        as long as more payload is stored, each byte counted once, the oldest
 * of what only the rules above keep goes as well or `none`: everything stays. What any rule keeps,
 * stays. Whatever the policy says, these stay: the newest two, the newest one that is finite, those
 * that are pinned or being read, and damaged ones. The daemon does it after each commit of the run,
 * and on a timer. */
#ifndef CAIRN_KEEP_H
#define CAIRN_KEEP_H

#include <cairn/record.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAIRN_POLICY_BYTES 1025 /* with the 0 at the end */

/* The policy of the handle's run; `set`, unless NULL, becomes it first ("default": what the daemon
 * has for runs without one). ret_policy gets it in the words above, in one order; *ret_preset (may
 * be NULL) says whether that is the daemon's default. Errors: EINVAL the text (names the rule and
 * what was expected), or the handle has no run; ENOENT no such run; EACCES; EPOISONED, ENOSPC, EIO,
 * EUNKNOWN it could not be set; ECORRUPT its row is damaged: set it again; ECONN, ETIMEDOUT.
 * Ownership: copies; caller's buffer of CAIRN_POLICY_BYTES.   Threads: one per handle.   Blocks:
 * for a commit when it is set. */
CAIRN_API int cairn_policy(struct cairn *c, const char *set, char *ret_policy, bool *ret_preset);

/* Why a boundary stays, or goes. Of several reasons the first of this order. */
enum cairn_keep_why {
    CAIRN_KEEP_NEWEST = 0, /* one of the newest two */
    CAIRN_KEEP_PINNED = 1,
    CAIRN_KEEP_READ = 2,    /* somebody reads it now */
    CAIRN_KEEP_FINITE = 3,  /* the newest one that is finite */
    CAIRN_KEEP_DAMAGED = 4, /* it goes by cairn_remove alone */
    CAIRN_KEEP_LAST = 5,
    CAIRN_KEEP_EVERY = 6,
    CAIRN_KEEP_BEST = 7,
    CAIRN_KEEP_NEWER = 8,
    CAIRN_KEEP_NO_RULE = 9,         /* there is no rule, so all stay */
    CAIRN_KEEP_GOES = 10,           /* no rule keeps it */
    CAIRN_KEEP_GOES_ABANDONED = 11, /* a rollback led behind it */
    CAIRN_KEEP_GOES_SPACE = 12      /* a rule keeps it, but there is no room (max-bytes) */
};

struct cairn_kept {
    uint64_t seq, step, created_ns; /* step and time are 0 when its row is damaged */
    uint64_t own_bytes;             /* on the disk, that no other boundary of the run refers to */
    uint64_t shared_bytes;          /* on the disk, that others refer to as well */
    uint32_t why;                   /* enum cairn_keep_why */
    uint32_t rule;                  /* CAIRN_KEEP_BEST: which of the policy's best rules, from 0 */
    bool goes;
};

/* What a policy would do to the handle's run now: `each` is called for every boundary, newest
 * first. policy NULL: the run's own. ret_policy as of cairn_policy, may be NULL. Exactly this goes
 * when the policy is done at that moment; between the two, the run may change. Errors: as
 * cairn_policy; ENOMEM; what `each` returned.   Ownership: the struct is valid during the call.
 * Threads: one per handle.   Blocks: for the commits before it. */
CAIRN_API int cairn_keep_ask(struct cairn *c,
                             const char *policy,
                             int (*each)(void *arg, const struct cairn_kept *kept),
                             void *arg,
                             char *ret_policy);

/* Have the run's policy done now. *ret_removed (may be NULL): how many went; *ret_damaged (may be
 * NULL): how many should have gone but cannot be, as their rows are damaged; they are marked, and
 * stay.   Errors: as cairn_policy. ECONN, ETIMEDOUT: it may be done or not; asking again is fine.
 * Ownership: -.   Threads: one per handle.   Blocks: for the commits before it and its own. */
CAIRN_API int cairn_keep(struct cairn *c, uint64_t *ret_removed, uint64_t *ret_damaged);

/* What the handle's run takes of the disk, in bytes: blocks of the file system that its files
 * occupy. payload: of all boundaries, each chunk once, which is what max-bytes is about; 0 for a
 * boundary that is damaged. */
struct cairn_usage {
    uint64_t boundary_count, payload_bytes;
    uint64_t segment_bytes; /* files with payload; more than that by what describes it */
    uint64_t unnamed_bytes; /* saves under way, and the file that is kept for the next save */
    uint64_t index_bytes;
};
/* *ret gets it, and `each` (may be NULL) is called for every boundary, newest first, with what it
 * has for itself and what it shares; why is what the run's own policy says of it.
 * Errors: as cairn_keep_ask.   Ownership: caller's struct; what `each` gets is valid during the
 * call.   Threads: one per handle.   Blocks: for the commits before it. */
CAIRN_API int cairn_usage(struct cairn *c,
                          int (*each)(void *arg, const struct cairn_kept *kept),
                          void *arg,
                          struct cairn_usage *ret);

/* "last", "newest finite", "no rule keeps it", ...; "?" for a number out of range.
 * Errors: -.   Ownership: static.   Threads: any.   Blocks: never. */
CAIRN_API const char *cairn_keep_why_name(uint32_t why);

/* The handle's run goes on from an older boundary: `latest` is that one, and the next save follows
 * it. What came after it is abandoned: no answer to latest, best, finite or a step, and the first
 * to go where there is a policy; by seq or save id it can still be loaded. An abandoned one may be
 * chosen, too: its line is taken up again. Stop the trainer first: a save that it has begun would
 * follow. *ret (may be NULL) is where the run goes on.
 * Errors: EINVAL selector, or the handle has no run; ENOENT; ECORRUPT it is damaged; EACCES;
 * EPOISONED, ENOSPC, EIO, EUNKNOWN as cairn_policy; ECONN, ETIMEDOUT it may be done or not: ask
 * cairn_find for latest.   Ownership: caller's struct.   Threads: one per handle.   Blocks: for the
 * commits before it and its own. */
CAIRN_API int cairn_rollback(struct cairn *c, const char *selector, struct cairn_boundary *ret);

/* ---- pins and labels ------------------------------------------------------------------------ */

/* The boundary that `selector` names stays, whatever a policy says, and cannot be removed, until it
 * is unpinned. A boundary may have several pins; one of the same name is replaced. name: 1 to 64 of
 * A-Z a-z 0-9 . _ -; why: at most 255 bytes of text, may be NULL. *ret (may be NULL) is the
 * boundary. Errors: EINVAL; ENOENT; ECORRUPT damage hides which one is meant; EACCES; EPOISONED,
 * ENOSPC, EIO, EUNKNOWN as cairn_policy; ECONN, ETIMEDOUT it may be pinned or not: ask cairn_pins.
 * Ownership: copies; caller's struct.   Threads: one per handle.   Blocks: for the commit before
 * it, if there is one, and its own; never for payload. */
CAIRN_API int cairn_pin(struct cairn *c,
                        const char *selector,
                        const char *name,
                        const char *why,
                        struct cairn_boundary *ret);

/* Errors: as cairn_pin; ENOENT also: it has no pin of this name.   Ownership, Threads, Blocks: as
 * cairn_pin. */
CAIRN_API int
cairn_unpin(struct cairn *c, const char *selector, const char *name, struct cairn_boundary *ret);

struct cairn_pin_info {
    uint64_t seq, created_ns;
    uint32_t uid; /* who pinned it; UINT32_MAX: its row is damaged, and pins all the same */
    const char *name, *why;
};
/* Call `each` for every pin of the handle's run, by seq and name. Errors: EINVAL the handle has no
 * run; ENOENT no such run; ELIMIT there are more than 4096, of which these were the first; ENOMEM;
 * EACCES; ECONN; ETIMEDOUT; what `each` returned.   Ownership: the struct is valid during the call.
 * Threads: one per handle.   Blocks: until listed. */
CAIRN_API int
cairn_pins(struct cairn *c, int (*each)(void *arg, const struct cairn_pin_info *pin), void *arg);

/* Set labels of a boundary, over those that it was saved with: "name=value", NULL-terminated, as in
 * struct cairn_save_args. *ret (may be NULL) is the boundary.
 * Errors: EINVAL a label, the selector; ENOENT; ELIMIT it would have more than 64; others as
 * cairn_pin. Ownership, Threads, Blocks: as cairn_pin. */
CAIRN_API int cairn_label(struct cairn *c,
                          const char *selector,
                          const char *const *labels,
                          struct cairn_boundary *ret);

#ifdef __cplusplus
}
#endif
#endif
