/* fixture.h: a store in a fresh directory of the file system under test, and records to put in it.
 *
 * CAIRN_TEST_FS names the file system (ext4, xfs, tmpfs), CAIRN_TEST_DIR is where it is mounted. A
 * missing mount, another file system or the wrong I/O mode is a failure. */
#ifndef TEST_STORE_FIXTURE_H
#define TEST_STORE_FIXTURE_H

#include <sys/resource.h>

#include <criterion/criterion.h>

#include "record/digest.h"
#include "record/layout.h"
#include "store/store.h"
#include "support/case.h"

struct fix {
    char dir[512]; /* DATA */
    struct st *st;
    struct st_run *run; /* "run" of uid 7, unless closed */
};

#define FIX_UID 7u

void fix_dir(struct fix *f); /* makes and checks the directory only */
void fix_open(struct fix *f);
void fix_open_with(struct fix *f, const struct st_options *options);
void fix_reopen(struct fix *f);
void fix_close(struct fix *f);  /* run and store */
void fix_remove(struct fix *f); /* close, and delete the directory */
/* Path inside DATA/runs/7/run. */
void fix_path(const struct fix *f, const char *sub, char ret_path[1024]);
/* fsck must find nothing; or say something that contains `expected`. */
void fix_fsck_clean(const struct fix *f);
void fix_fsck_finds(const struct fix *f, const char *expected);
void fix_remove_tree(const char *path);
int fix_count_files(const char *dir); /* segments and temporary files */
int fix_count_segments(const char *dir);
/* Run a command without a shell; returns its exit status. */
int fix_command(const char *const argv[]);

/* No descriptor is to be had until fix_give_descriptors. */
struct rlimit fix_take_descriptors(void);
void fix_give_descriptors(const struct rlimit *taken);

/* ---- records ---- */
#define REC_ENTRIES_MAX 5000u

struct rec {
    struct boundary b;
    struct layout *layout;
    uint8_t *region; /* page-aligned; values of tensors in chunks */
    struct entry *entries[COMPONENT_NR];
    uint32_t counts[COMPONENT_NR];
    uint8_t **values[COMPONENT_NR]; /* every entry's bytes */
    struct component_info infos[COMPONENT_NR];
    uint32_t info_count;
    uint32_t page_entries; /* entries per page */
    uint64_t seed;
    bool alone; /* what the run holds already is written again, as when it cannot be proved */
};

struct rec *rec_new(uint64_t step, uint64_t seed);
struct rec *rec_free(struct rec *r);
void rec_tensor(struct rec *r,
                enum component c,
                const char *path,
                uint32_t dtype,
                uint32_t rank,
                const uint64_t *shape);
void rec_floats(struct rec *r,
                enum component c,
                const char *path,
                uint64_t count); /* F32 [count] */
void rec_scalar(struct rec *r,
                enum component c,
                const char *path,
                enum entry_kind kind,
                const void *data,
                size_t bytes);
void rec_build(struct rec *r); /* places, fills, digests; nothing may be added afterwards */
/* A small one: a few tensors, two chunks, scalars. Built. */
struct rec *rec_small(uint64_t step, uint64_t seed);
/* `chunks` own chunks of 8 MiB, the last one short. Built. */
struct rec *rec_big(uint64_t step, uint64_t seed, uint32_t chunks);
/* Nothing big enough for a chunk. Built. */
struct rec *rec_tiny(uint64_t step, uint64_t seed);

int rec_manifest(const struct rec *r, struct st_manifest **ret, struct err *err);
int rec_write(
    const struct rec *r, struct st_save *save, uint32_t first, uint32_t count, struct err *err);
/* All of it; 0 or what failed. Sets r->b.seq and the like. */
int rec_save(struct rec *r, struct st_run *run, struct err *err);
/* Load it and compare every bit. */
void rec_compare(const struct rec *r, struct st_run *run, uint64_t seq);
/* A fresh store with boundary 1, which can be read; the second one, returned, fails at `failpoint`
 * with `code`. */
struct rec *rec_fail_second(struct fix *f, const char *failpoint, int code);
void rec_state_is(const struct fix *f, const struct rec *r, enum save_state state);
/* The run is read-only: a save of it is refused, and told what to do. */
void rec_is_refused(const struct fix *f, const struct rec *r);
/* st_verify: how many findings. `ret_text` may be NULL. */
uint64_t rec_verify(struct st_run *run, uint64_t seq, char ret_text[1024]);

#endif
