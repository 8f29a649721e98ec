/* store_int.h: what the files of the store share.
 *
 *   DATA/format, lock              the format number; who has the store open
 *   DATA/catalogue/                a row per run, advisory, made anew at every start
 *   DATA/runs/UID/NAME/index/      LMDB: all metadata; what it names exists
 *   DATA/runs/UID/NAME/segments/   payload; what the index does not name goes at the next opening
 *   DATA/aside/                    runs being made or dropped; emptied at every start */
#ifndef STORE_STORE_INT_H
#define STORE_STORE_INT_H

#include <stdatomic.h>

#include "store/env.h"
#include "store/file.h"
#include "store/segment.h"
#include "store/store.h"

#define STORE_FORMAT 1u     /* DATA/format */
#define STORE_RUN_FORMAT 1u /* meta 'format' of a run */
#define STORE_PATH_BYTES 4096u
#define STORE_DIR_MODE 0700
#define STORE_PRUNED_IDS 1024u /* save ids that outlive their boundary */

/* A run that somebody has open, makes or drops: one at a time. */
struct st_claim {
    uint32_t uid;
    char name[LIMIT_RUN_NAME_BYTES + 1];
    struct st_claim *next;
};

/* A run that stays read-only, and the save whose outcome made it so. */
struct st_latch {
    uint32_t uid;
    char name[LIMIT_RUN_NAME_BYTES + 1];
    struct {
        uint8_t save_id[16];
        uint32_t rank;
        struct row_save save; /* state SAVE_UNKNOWN, or none is unknown */
    } unknown;
    struct st_latch *next;
};

struct st {
    char *dir; /* absolute */
    int dir_fd, lock_fd;
    struct st_options options;
    struct file_mode mode;
    struct env catalogue;
    bool has_catalogue;
    pthread_mutex_t lock; /* guards what follows */
    struct st_claim *claims;
    struct st_latch *latches; /* until the store is closed */
    uint64_t aside_count;
};

/* See spare.h. bytes 0: there is none. */
struct spare {
    uint64_t id, bytes;
};

struct st_run {
    struct st_claim claim;
    struct st *st;
    int segments_fd;
    struct env index;
    bool readonly; /* fsck: changes nothing */
    uint8_t id[SEGMENT_ID_BYTES];
    atomic_bool poisoned;
    atomic_bool save_ids_whole; /* each boundary was seen to have its save id, since the opening */
    struct st_latch *latch; /* there beforehand, so that latching cannot fail; once poisoned it is
                               the store's, and its lock guards it */
    struct {
        uint8_t save_id[16];
        uint32_t rank;
        struct row_save save;
    } newest;             /* boundary at the opening, if there is one and it is sound */
    bool newest_damaged;  /* whoever asks for it is told */
    pthread_mutex_t lock; /* guards what follows */
    struct row_run summary;
    uint64_t next_seq, next_segment;
    struct spare spare;
    uint64_t last_bytes, last_bytes_new; /* of the last save with something new; 0: none yet */
    struct held *held;                   /* who reads what, see held.h */
    const uint64_t *removing;            /* seqs of the boundaries that are just being removed */
    uint32_t removing_count;
};

/* ---- st.c ---- */
/* Open the directory and take its lock; with `create` make what is missing. */
int st_attach(const char *dir, bool create, struct st **ret, struct err *err);
/* "DATA/runs/UID/NAME/sub", or DATA/runs/UID when name is empty. */
int st_path(const struct st *st,
            uint32_t uid,
            const char *name,
            const char *sub,
            char ret_path[STORE_PATH_BYTES],
            struct err *err);
/* First size of an index's map. */
static inline uint64_t st_map_bytes(const struct st *st)
{
    return st->options.map_bytes == 0 ? ENV_MAP_BYTES : st->options.map_bytes;
}
/* A fresh path below DATA/aside. */
int st_path_aside(struct st *st, char ret_path[STORE_PATH_BYTES], struct err *err);

/* ---- tree.c: directories ---- */
int tree_make(const char *path, struct err *err); /* one directory; there already is fine */
int tree_sync(const char *path, struct err *err);
int tree_sync_parent(const char *path, struct err *err);
int tree_remove(const char *path, struct err *err); /* with all that is in it */
bool tree_is_dir(const char *path);
/* Every run there is on the disk, by owner and name. */
typedef int tree_run_fn(void *arg, uint32_t uid, const char *name, struct err *err);
int tree_runs(struct st *st, tree_run_fn *each, void *arg, struct err *err);

/* ---- catalogue.c ---- */
int catalogue_open(struct st *st, struct err *err);
void catalogue_put(struct st *st, const struct st_claim *run, const struct row_run *row);
void catalogue_del(struct st *st, const struct st_claim *run);
/* Each row of the catalogue of a stopped store; rows that cannot be read have `problem` set. */
struct catalogue_seen {
    uint32_t uid;
    struct slice name;
    struct row_run row;
    const char *problem;
};
typedef int catalogue_seen_fn(void *arg, const struct catalogue_seen *seen, struct err *err);
int catalogue_check(struct st *st, catalogue_seen_fn *each, void *arg, struct err *err);

/* ---- run.c ---- */
int run_claim(struct st *st, struct st_claim *claim, struct err *err);
void run_unclaim(struct st *st, struct st_claim *claim);
int run_claim_init(struct st_claim *claim, uint32_t uid, struct slice name, struct err *err);
/* Open the index and read meta; no sweep, nothing checked further. */
int run_attach(struct st *st,
               const struct st_claim *claim,
               bool readonly,
               struct st_run **ret,
               struct err *err);
struct st_run *run_detach(struct st_run *run);
/* Put "run 'x'" in front. */
int run_wrap(const struct st_run *run, int rc, struct err *err);

/* ---- latch.c ---- */
int latch_init(struct st_run *run, struct err *err); /* poisons a run that was latched before */
void latch_fini(struct st_run *run);
bool latch_is_set(struct st *st, uint32_t uid, const char *name);
void latch_free_all(struct st *st);
void run_poison(struct st_run *run);
/* The same, after a commit that may be on the disk or not. */
void run_poison_unknown(struct st_run *run,
                        const uint8_t save_id[16],
                        uint32_t rank,
                        const struct row_save *save);
bool run_save_unknown(struct st_run *run,
                      const uint8_t save_id[16],
                      uint32_t rank,
                      struct row_save *ret);
int run_check_writable(const struct st_run *run, struct err *err);
/* A transaction on a run that may be written; poisons it when nobody can tell what the disk holds
 * then. Errors name the run. */
int run_change(struct st_run *run, const struct txn_job *job, struct err *err);
/* Commit what is visible once more, so that it is on the disk. Latches the run when that is not
 * certain afterwards; returns why it could not (a full disk, for one, which does not latch). */
int run_confirm(struct st_run *run, struct err *err);

/* ---- run_make.c ---- */
int run_make(struct st *st, const struct st_claim *claim, struct err *err);

/* ---- sweep.c ---- */
/* Unlink temporary files and segments that no row names; finds the highest id there ever was, and
 * confirms the run before a complete file goes. */
int run_sweep(struct st_run *run, struct err *err);
/* Ids of the segment files in a directory. */
struct segment_list {
    struct segment_file {
        uint64_t id;
        bool temporary, named;
    } * files;
    uint32_t count, cap;
};
int segment_list_read(int dir_fd, struct segment_list *ret, struct err *err);
void segment_list_free(struct segment_list *l);

/* ---- meta.c ---- */
struct run_meta {
    uint64_t format, owner, created_ns, next_seq, next_segment;
    uint8_t id[SEGMENT_ID_BYTES];
    struct row_run summary;
};
int meta_get(struct txn *t, struct run_meta *ret, struct err *err);
int meta_put(struct txn *t, const struct run_meta *m, struct err *err);
/* The seq of the newest boundary, 0: there is none yet. A row without one is damage. */
int meta_get_latest(struct txn *t, uint64_t *ret_seq, struct err *err);
/* What a commit changes. */
int meta_put_progress(struct txn *t,
                      uint64_t next_seq,
                      uint64_t next_segment,
                      const struct row_run *summary,
                      struct err *err);
int meta_get_progress(struct txn *t,
                      uint64_t *ret_next_seq,
                      uint64_t *ret_next_segment,
                      struct err *err);

/* ---- select.c ---- */
int select_seq(struct txn *t, const struct selector *sel, uint64_t *ret_seq, struct err *err);

#endif
