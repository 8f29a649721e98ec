/* Memory that trainer and daemon share: who gets it, what is saved from it, and what a trainer that
 * writes where it should not can spoil. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site.h"
#include "support/case.h"

enum { WAIT_MS = 20000, SPY_BYTES = (6 << 20) - 100 }; /* and 100 of padding */

static void fill_job(struct site *s)
{
    static const uint64_t large[] = { 3, 1 << 20 };
    job_fill(&s->job, 1);
    (void)BOX_ADD(&s->job.model, "large", 70, CAIRN_HAS_ID, CAIRN_F32, 2, large, 9);
}

/* Did the daemon take this step so? It says "path=arena" or "path=inline" when it has committed. */
static bool committed_by(const struct daemon *d, uint64_t step, const char *path)
{
    char step_text[32];
    char path_text[32];
    (void)snprintf(step_text, sizeof step_text, " step=%llu ", (unsigned long long)step);
    (void)snprintf(path_text, sizeof path_text, " path=%s ", path);
    const char *const texts[] = { "committed", step_text, path_text, NULL };
    return tmp_lines_with(d->log, texts) > 0;
}

/* Mappings of arenas that the daemon has. */
static unsigned arenas_of(const struct daemon *d)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)d->proc.pid);
    return tmp_lines_with(path, (const char *const[]){ "cairn-arena", NULL });
}

CASE(arena, the_first_save_is_inline_and_the_next_are_not, .timeout = 60)
{
    struct site s;
    site_up(&s);
    fill_job(&s);
    for (uint64_t step = 1; step <= 4; step++) {
        site_save(&s, step, NULL);
        site_check(&s, "latest");
    }
    cr_assert(committed_by(&s.d, 1, "inline"));
    for (uint64_t step = 2; step <= 4; step++) {
        cr_assert(committed_by(&s.d, step, "arena"), "step %d", (int)step);
    }
    cr_assert_eq(arenas_of(&s.d), 1, "one at a time is all that it needed");
    site_down(&s);
}

CASE(arena, warm_memory_is_shared_from_the_first_save_on, .timeout = 60)
{
    struct site s;
    site_up(&s);
    fill_job(&s);
    cr_assert_eq(cairn_warm(s.c, 0, 1), -CAIRN_EINVAL);
    cr_assert_eq(cairn_warm(s.c, 1, 3), -CAIRN_EINVAL);
    cr_assert_eq(cairn_warm(s.c, 16 << 20, 2), 0, "%s", cairn_error(s.c));
    cr_assert_eq(arenas_of(&s.d), 2);
    site_save(&s, 1, NULL);
    cr_assert(committed_by(&s.d, 1, "arena"));
    site_check(&s, "latest");
    site_down(&s);
}

/* Two are used in turn while saves go on in the background. */
CASE(arena, a_started_save_keeps_its_arena_until_it_is_committed, .timeout = 60)
{
    struct site s;
    struct cairn_pending *pending = NULL;
    struct cairn_boundary b;
    site_up(&s);
    fill_job(&s);
    for (uint64_t step = 1; step <= 6; step++) {
        struct cairn_record *r = NULL;
        cr_assert_eq(cairn_capture(s.c, &s.job.t, &r), 0, "%s", cairn_error(s.c));
        if (pending != NULL) {
            cr_assert_eq(cairn_save_wait(&pending, WAIT_MS, &b, NULL), 0, "%s", cairn_error(s.c));
        }
        cr_assert_eq(cairn_save_start(s.c, &r, &(struct cairn_save_args){ .step = step }, &pending),
                     0,
                     "%s",
                     cairn_error(s.c));
    }
    cr_assert_eq(cairn_save_wait(&pending, WAIT_MS, &b, NULL), 0, "%s", cairn_error(s.c));
    cr_assert_eq(b.seq, 6);
    cr_assert(committed_by(&s.d, 5, "arena"));
    cr_assert(committed_by(&s.d, 6, "arena"));
    site_check(&s, "latest");
    site_down(&s);
}

CASE(arena, a_daemon_that_lends_none_takes_all_of_it_inline, .timeout = 60)
{
    struct site s;
    site_up(&s);
    cr_assert_eq(daemon_stop(&s.d), 0);
    s.d.args[0] = "--arena-bytes=0";
    daemon_start(&s.d, NULL);
    fill_job(&s);
    cr_assert_eq(cairn_warm(s.c, 16 << 20, 2), 0, "%s", cairn_error(s.c));
    for (uint64_t step = 1; step <= 3; step++) {
        site_save(&s, step, NULL);
        cr_assert(committed_by(&s.d, step, "inline"));
        site_check(&s, "latest");
    }
    cr_assert_eq(arenas_of(&s.d), 0);
    site_down(&s);
}

/* One user's share is three quarters, of root all: the second arena does not fit. */
CASE(arena, a_quota_that_is_used_up_leaves_the_socket, .timeout = 60)
{
    struct site s;
    site_up(&s);
    cr_assert_eq(daemon_stop(&s.d), 0);
    s.d.args[0] = "--arena-bytes=100MiB";
    daemon_start(&s.d, NULL);
    fill_job(&s);
    cr_assert_eq(cairn_warm(s.c, 16 << 20, 2), 0, "%s", cairn_error(s.c));
    cr_assert_eq(arenas_of(&s.d), 1);
    site_save(&s, 1, NULL);
    site_save(&s, 2, NULL);
    site_check(&s, "latest");
    site_down(&s);
}

CASE(arena, what_was_captured_before_the_daemon_died_goes_inline, .timeout = 60)
{
    struct site s;
    struct cairn_record *r = NULL;
    site_up(&s);
    fill_job(&s);
    site_save(&s, 1, NULL);
    cr_assert_eq(cairn_capture(s.c, &s.job.t, &r), 0, "%s", cairn_error(s.c));
    daemon_kill(&s.d);
    daemon_start(&s.d, NULL);
    cr_assert_eq(cairn_save(s.c, &r, &(struct cairn_save_args){ .step = 2 }, NULL),
                 0,
                 "%s",
                 cairn_error(s.c));
    cr_assert(committed_by(&s.d, 2, "inline"));
    site_check(&s, "latest");
    site_save(&s, 3, NULL);
    cr_assert(committed_by(&s.d, 3, "arena"));
    site_check(&s, "latest");
    site_down(&s);
}

/* Nothing stays mapped, however often trainers come and go. */
CASE(arena, none_is_left_when_its_trainer_has_gone, .timeout = 120)
{
    struct site s;
    site_up(&s);
    fill_job(&s);
    for (int round = 0; round < 50; round++) {
        struct cairn *c = NULL;
        cr_assert_eq(cairn_open(s.d.socket, "demo", &c), 0);
        cr_assert_eq(cairn_warm(c, 1 << 20, 2), 0, "%s", cairn_error(c));
        (void)cairn_close(c);
    }
    uint64_t give_up_ns = now_ns() + (uint64_t)WAIT_MS * 1000000;
    while (arenas_of(&s.d) > 0) {
        struct cairn_boundary b;
        size_t count = 0;
        cr_assert_lt(now_ns(), give_up_ns);
        (void)cairn_find(s.c, "latest", 1, &b, &count); /* its loop has gone round */
    }
    site_down(&s);
}

/* ---- a trainer that writes where it should not ---- */

static uint8_t *spied; /* a place in the region */
static uint8_t spy_byte = 7;

static void spy(struct job *job, struct cairn_writer *w)
{
    static const uint64_t shape[] = { SPY_BYTES };
    const struct cairn_entry e = { .path = "spy", .dtype = CAIRN_U8, .rank = 1, .shape = shape };
    struct cairn_slot slot;
    cr_assert_eq(cairn_put_slot(w, &e, &slot), 0, "%s", cairn_error(job->c));
    spied = slot.dst;
    memset(spied, spy_byte++, SPY_BYTES); /* what is there already is not looked at again */
    cr_assert_eq(cairn_slot_done(job->c, &slot, 0), 0);
}

/* A record in an arena, with a place in it that is known. */
static struct cairn_record *spied_record(struct site *s)
{
    struct cairn_record *r = NULL;
    site_up(s);
    fill_job(s);
    s->job.model.during_put = spy;
    site_save(s, 1, NULL);
    cr_assert_eq(cairn_capture(s->c, &s->job.t, &r), 0, "%s", cairn_error(s->c));
    return r;
}

/* As step 2, and what comes of it. */
static void check_save(struct site *s, struct cairn_record **r, int rc)
{
    cr_assert_eq(cairn_save(s->c, r, &(struct cairn_save_args){ .step = 2 }, NULL),
                 rc,
                 "%s",
                 cairn_error(s->c));
}

CASE(arena, bytes_that_changed_after_the_capture_are_refused, .timeout = 60)
{
    struct site s;
    struct cairn_record *r = spied_record(&s);
    spied[SPY_BYTES / 2] ^= 1;
    check_save(&s, &r, -CAIRN_ECORRUPT);
    cr_assert_not_null(strstr(cairn_error(s.c), "changed in the arena"), "%s", cairn_error(s.c));
    spied[SPY_BYTES / 2] ^= 1; /* a failed save keeps its record: honest again, it is taken */
    check_save(&s, &r, 0);
    cr_assert(committed_by(&s.d, 2, "arena"));
    site_down(&s);
}

/* What is behind the last byte of a chunk goes to the disk too. */
CASE(arena, padding_that_is_not_zero_is_refused, .timeout = 60)
{
    struct site s;
    struct cairn_record *r = spied_record(&s);
    spied[SPY_BYTES + 99] = 1;
    check_save(&s, &r, -CAIRN_ECORRUPT);
    (void)cairn_record_free(r);
    site_down(&s);
}

/* Where the sevens of the spy end in this file: behind them is padding. */
static unsigned check_padding_behind_sevens(const char *path)
{
    static uint8_t sevens[4096];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && fstat(fd, &st) == 0);
    uint8_t *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    cr_assert_neq(data, MAP_FAILED);
    (void)close(fd);
    memset(sevens, 7, sizeof sevens);
    const uint8_t *at = memmem(data, (size_t)st.st_size, sevens, sizeof sevens);
    for (size_t i = SPY_BYTES; at != NULL && i < SPY_BYTES + 100; i++) {
        cr_assert_eq(at[i], 0, "byte %zu of the padding", i - SPY_BYTES);
    }
    (void)munmap(data, (size_t)st.st_size);
    return at != NULL;
}

/* A buffer that held a larger chunk before must not leave bytes of that behind a smaller one. */
CASE(arena, padding_of_what_comes_inline_is_zero_on_the_disk, .timeout = 60)
{
    static const uint64_t shape[] = { 16, 1 << 20 };
    struct site s;
    glob_t found;
    char pattern[TMP_PATH_BYTES + 64];
    unsigned count = 0;
    site_up(&s);
    cr_assert_eq(daemon_stop(&s.d), 0);
    s.d.args[0] = "--arena-bytes=0";
    s.d.args[1] = "--pool-bytes=32MiB";
    daemon_start(&s.d, NULL);
    (void)BOX_ADD(&s.job.model, "large", 70, CAIRN_HAS_ID, CAIRN_F32, 2, shape, 9);
    site_save(&s, 1, NULL);
    s.job.model.during_put = spy;
    site_save(&s, 2, NULL);
    (void)snprintf(pattern, sizeof pattern, "%s/runs/*/demo/segments/*.seg", s.d.data);
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "%s", pattern);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        count += check_padding_behind_sevens(found.gl_pathv[i]);
    }
    globfree(&found);
    cr_assert_eq(count, 1);
    site_down(&s);
}

CASE(arena, pages_cannot_be_taken_out_of_it, .timeout = 60)
{
    struct site s;
    struct cairn_record *r = spied_record(&s);
    cr_assert_lt(madvise(spied, SPY_BYTES, MADV_REMOVE), 0);
    cr_assert_eq(errno, EPERM);
    (void)cairn_record_free(r);
    site_down(&s);
}
