/* What did not change is stored once, and for as long as a boundary refers to it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raw.h"
#include "record/digest.h"

#define FLOATS 300000u
#define CHUNK_BYTES UINT64_C(1200128) /* of that many, whole pages */

struct some {
    struct fix f;
    char segments[1024];
};

/* A frozen tensor and one that is trained, a chunk each: their bytes are what the seeds say. */
static struct rec *rec_of(uint64_t step, uint64_t frozen, uint64_t trained)
{
    struct rec *r = rec_new(step, step);
    r->seed = frozen;
    rec_floats(r, COMPONENT_MODEL, "frozen", FLOATS);
    r->seed = trained;
    rec_floats(r, COMPONENT_OPTIMIZER, "trained", FLOATS);
    rec_build(r);
    return r;
}

static void some_start(struct some *s)
{
    fix_open(&s->f);
    fix_path(&s->f, "segments", s->segments);
}

/* Saves it, and all of it is there; of its two chunks so many are new. */
static void saves(const struct some *s, struct rec *r, unsigned fresh)
{
    struct err err = { .code = 0 };
    cr_assert_eq(rec_save(r, s->f.run, &err), 0, "%s", err.msg);
    cr_assert_eq(r->b.bytes_new, fresh * CHUNK_BYTES);
    cr_assert_eq(r->b.bytes_shared, (2 - fresh) * CHUNK_BYTES);
    rec_compare(r, s->f.run, r->b.seq);
}

static void saves_of(const struct some *s, uint64_t frozen, uint64_t trained, unsigned fresh)
{
    static uint64_t step;
    struct rec *r = rec_of(++step, frozen, trained);
    saves(s, r, fresh);
    (void)rec_free(r);
}

static void removes(const struct some *s, uint64_t seq)
{
    struct err err = { .code = 0 };
    cr_assert_eq(st_remove(s->f.run, &seq, 1, &err), 0, "%s", err.msg);
}

static uint64_t disk_bytes(const struct some *s, unsigned id)
{
    char path[1024];
    struct stat st;
    raw_segment_path(&s->f, id, path);
    return stat(path, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

static void run_has(const struct some *s, uint64_t bytes)
{
    struct row_run row;
    st_run_row(s->f.run, &row);
    cr_assert_eq(row.bytes, bytes, "%zu", (size_t)row.bytes);
}

static void sound(struct some *s)
{
    fix_close(&s->f);
    fix_fsck_clean(&s->f);
    fix_reopen(&s->f);
}

CASE(share, S8_what_did_not_change_is_written_once)
{
    struct some s;
    some_start(&s);
    saves_of(&s, 7, 1, 2);
    saves_of(&s, 7, 2, 1);
    saves_of(&s, 7, 3, 1);
    run_has(&s, 4 * CHUNK_BYTES);
    saves_of(&s, 7, 3, 0);
    run_has(&s, 4 * CHUNK_BYTES);
    cr_assert_eq(fix_count_segments(s.segments), 3, "nothing is new, and yet there is a file");
    sound(&s);
    saves_of(&s, 8, 1, 1);
    run_has(&s, 5 * CHUNK_BYTES);
    sound(&s);
    fix_remove(&s.f);
}

/* Nothing of the model changed, and yet it is another step. */
CASE(share, S7_a_stale_capture_is_told)
{
    static const struct {
        uint64_t step, model;
        unsigned warnings;
    } saved[] = { { 1, 7, 0 }, { 2, 7, WARNING_STALE }, { 2, 7, 0 }, { 3, 8, 0 }, { 4, 7, 0 } };
    struct some s;
    struct err err = { .code = 0 };
    some_start(&s);
    for (uint64_t i = 0; i < sizeof saved / sizeof saved[0]; i++) {
        struct rec *r = rec_of(100 + i, saved[i].model, i);
        r->b.step = saved[i].step;
        r->b.root = digest_root(&r->b, r->infos, r->info_count);
        cr_assert_eq(rec_save(r, s.f.run, &err), 0, "%s", err.msg);
        cr_assert_eq(r->b.warnings, saved[i].warnings, "save %u", (unsigned)i);
        cr_assert_eq(r->b.trainable_bytes, FLOATS * sizeof(float));
        (void)rec_free(r);
    }
    sound(&s);
    fix_remove(&s.f);
}

/* The first boundary goes, its frozen chunk stays for the others: the rest of its file is given
 * back. With the last that refers to it the file goes. */
CASE(share, S3_places_are_given_back)
{
    struct some s;
    some_start(&s);
    saves_of(&s, 7, 1, 2);
    saves_of(&s, 7, 2, 1);
    saves_of(&s, 7, 3, 1);
    uint64_t before = disk_bytes(&s, 1);
    removes(&s, 1);
    cr_assert_leq(disk_bytes(&s, 1) + CHUNK_BYTES, before);
    run_has(&s, 3 * CHUNK_BYTES);
    cr_assert_eq(rec_verify(s.f.run, 2, NULL), 0);
    cr_assert_eq(rec_verify(s.f.run, 3, NULL), 0);
    sound(&s);
    saves_of(&s, 9, 4, 2);
    removes(&s, 2);
    run_has(&s, 4 * CHUNK_BYTES);
    sound(&s);
    removes(&s, 3);
    run_has(&s, 2 * CHUNK_BYTES);
    cr_assert_eq(disk_bytes(&s, 1), 0);
    sound(&s);
    cr_assert_eq(rec_verify(s.f.run, 4, NULL), 0);
    fix_close(&s.f);
    cr_assert_eq(raw_count(&s.f, DB_CHUNK), 2);
    fix_remove(&s.f);
}

CASE(share, two_equal_chunks_of_a_record_are_one)
{
    struct some s;
    some_start(&s);
    saves_of(&s, 5, 5, 1);
    saves_of(&s, 5, 6, 1);
    saves_of(&s, 6, 6, 0);
    sound(&s);
    removes(&s, 1);
    removes(&s, 2);
    run_has(&s, CHUNK_BYTES);
    sound(&s);
    cr_assert_eq(rec_verify(s.f.run, 3, NULL), 0);
    fix_remove(&s.f);
}

/* What has rotted before it was ever referred to is found out, and written again; the new copy is
 * the one that later boundaries refer to. */
CASE(share, S1_what_is_not_what_its_digest_says_is_written_again)
{
    struct some s;
    char path[1024];
    some_start(&s);
    saves_of(&s, 7, 1, 2);
    raw_segment_path(&s.f, 1, path);
    raw_flip_file(path, 4096 + 77);
    saves_of(&s, 7, 2, 2);
    cr_assert_gt(rec_verify(s.f.run, 1, NULL), 0);
    saves_of(&s, 7, 3, 1);
    removes(&s, 1);
    saves_of(&s, 7, 4, 1);
    sound(&s);
    fix_remove(&s.f);
}

/* Once it was read back it is not read again: that is what makes it cheap. */
CASE(share, is_read_back_once)
{
    struct some s;
    char path[1024];
    struct err err = { .code = 0 };
    some_start(&s);
    saves_of(&s, 7, 1, 2);
    saves_of(&s, 7, 2, 1);
    raw_segment_path(&s.f, 1, path);
    raw_flip_file(path, 4096 + 77);
    struct rec *r = rec_of(1000, 7, 3);
    cr_assert_eq(rec_save(r, s.f.run, &err), 0, "%s", err.msg);
    cr_assert_eq(r->b.bytes_new, CHUNK_BYTES);
    cr_assert_gt(rec_verify(s.f.run, r->b.seq, NULL), 0);
    (void)rec_free(r);
    fix_remove(&s.f);
}

/* What a save counts on stays until it has ended. */
CASE(share, S2_is_held_while_the_save_is_under_way)
{
    struct some s;
    struct err err = { .code = 0 };
    struct st_save *save = NULL;
    struct st_manifest *m = NULL;
    const uint64_t first = 1;
    some_start(&s);
    saves_of(&s, 7, 1, 2);
    saves_of(&s, 8, 2, 2);
    struct rec *r = rec_of(500, 7, 3);
    cr_assert_eq(rec_manifest(r, &m, &err), 0, "%s", err.msg);
    cr_assert_eq(st_save_begin(s.f.run, &r->b, &save, &err), 0, "%s", err.msg);
    cr_assert_eq(rec_write(r, save, 0, 1, &err), 0, "%s", err.msg);
    cr_assert_eq(st_remove(s.f.run, &first, 1, &err), -CAIRN_EBUSY, "%s", err.msg);
    cr_assert_eq(rec_write(r, save, 1, 1, &err), 0, "%s", err.msg);
    cr_assert_eq(st_save_commit(&save, m, &r->b, &err), 0, "%s", err.msg);
    m = st_manifest_free(m);
    cr_assert_eq(st_save_begin(s.f.run, &r->b, &save, &err), 0, "%s", err.msg);
    cr_assert_eq(rec_write(r, save, 0, 1, &err), 0, "%s", err.msg);
    save = st_save_abort(save);
    removes(&s, 1);
    rec_compare(r, s.f.run, 3);
    (void)rec_free(r);
    sound(&s);
    fix_remove(&s.f);
}

/* Chunks of one boundary lie in a bounded number of files: what is in yet another one is written
 * again. Each save changes one tensor more, and the one before it goes. */
CASE(share, S6_of_many_files_some_is_written_again)
{
    enum { TENSORS = 8, FILES = 3 };
    const struct st_options options = { .share_segments = FILES };
    struct some s;
    struct err err = { .code = 0 };
    uint64_t most = 0;
    fix_open_with(&s.f, &options);
    for (uint64_t changed = 0; changed <= TENSORS; changed++) {
        struct rec *r = rec_new(changed, changed);
        for (uint64_t i = 0; i < TENSORS; i++) {
            char path[16];
            (void)snprintf(path, sizeof path, "t%u", (unsigned)i);
            r->seed = 1000 * (i + 1) + (i < changed ? 1 : 0);
            rec_floats(r, COMPONENT_MODEL, path, LIMIT_OWN_CHUNK_BYTES / 4);
        }
        rec_build(r);
        cr_assert_eq(rec_save(r, s.f.run, &err), 0, "%s", err.msg);
        rec_compare(r, s.f.run, r->b.seq);
        most = changed > 0 && r->b.bytes_new > most ? r->b.bytes_new : most;
        (void)rec_free(r);
        if (changed > 0) {
            removes(&s, changed);
        }
    }
    cr_assert_gt(most, LIMIT_OWN_CHUNK_BYTES, "nothing was written again");
    cr_assert_leq(most, UINT64_C(4) * LIMIT_OWN_CHUNK_BYTES);
    fix_close(&s.f);
    fix_fsck_clean(&s.f);
    fix_remove(&s.f);
}

/* ---- when the index is damaged --------------------------------------------------------------- */

/* Which boundary refers to what is not certain: nothing is freed, and nobody is blamed for it. */
CASE(share, S4_a_damaged_ref_keeps_all)
{
    struct some s;
    const uint64_t first = 1;
    struct err err = { .code = 0 };
    const struct policy last = { .last = 1 };
    const struct st_keep keep = { .policy = &last };
    struct st_keep_done done;
    some_start(&s);
    for (unsigned i = 1; i <= 4; i++) {
        saves_of(&s, 7, i, i == 1 ? 2 : 1);
    }
    fix_close(&s.f);
    raw_flip(&s.f, DB_REF, 2, 0);
    fix_reopen(&s.f);
    cr_assert_eq(st_remove(s.f.run, &first, 1, &err), -CAIRN_ECORRUPT, "%s", err.msg);
    cr_assert_eq(st_keep(s.f.run, &keep, &done, &err), -CAIRN_ECORRUPT, "%s", err.msg);
    cr_assert_eq(done.removed_count + done.damaged_count, 0);
    for (uint64_t seq = 1; seq <= 4; seq++) {
        cr_assert_eq(rec_verify(s.f.run, seq, NULL), 0);
    }
    saves_of(&s, 7, 5, 1);
    fix_remove(&s.f);
}

/* ---- when the machine dies ------------------------------------------------------------------- */

/* Removed, and its place not given back yet: the next opening does. */
CASE(share, S5_killed_before_the_place_is_given_back)
{
    struct some s;
    int status = 0;
    cr_assert_eq(setenv("CAIRN_FAILPOINT", "removed:kill:1", 1), 0); /* read once, here */
    some_start(&s);
    saves_of(&s, 7, 1, 2);
    saves_of(&s, 7, 2, 1);
    saves_of(&s, 7, 3, 1);
    uint64_t before = disk_bytes(&s, 1);
    fix_close(&s.f);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        struct err err = { .code = 0 };
        int rc = st_open(s.f.dir, NULL, &s.f.st, &err);
        rc = rc < 0 ? rc : st_run_open(s.f.st, FIX_UID, slice_str("run"), false, &s.f.run, &err);
        rc = rc < 0 ? rc : st_remove(s.f.run, &(uint64_t){ 1 }, 1, &err);
        _exit(rc == 0 ? 0 : 1);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    cr_assert_eq(disk_bytes(&s, 1), before);
    fix_reopen(&s.f);
    cr_assert_leq(disk_bytes(&s, 1) + CHUNK_BYTES, before);
    cr_assert_eq(rec_verify(s.f.run, 2, NULL), 0);
    cr_assert_eq(rec_verify(s.f.run, 3, NULL), 0);
    sound(&s);
    fix_remove(&s.f);
}
