/* Disks as they are: which way of writing each file system gets, and what happens when one is full,
 * before a save, in its middle and at its commit. The mounts are made by support/mounts.sh; a
 * missing one is a failure. */
#include <cairn/admin.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/case.h"
#include "support/daemon.h"
#include "support/hold.h"
#include "support/sample.h"

#define MIB (UINT64_C(1) << 20)

enum { WAIT_MS = 60000 };

static void disk_dir(const char *fs, char ret[static TMP_PATH_BYTES])
{
    const char *mounts = getenv("CAIRN_TEST_MOUNTS");
    struct stat here;
    struct stat above;
    char path[TMP_PATH_BYTES];
    cr_assert_not_null(mounts, "CAIRN_TEST_MOUNTS is not set");
    (void)snprintf(path, sizeof path, "%s/%s", mounts, fs);
    cr_assert_eq(stat(path, &here), 0, "%s is missing: support/mounts.sh makes it", path);
    cr_assert_eq(stat(mounts, &above), 0);
    cr_assert_neq(here.st_dev, above.st_dev, "%s is not mounted", path);
    (void)snprintf(ret, TMP_PATH_BYTES, "%.400s/disks-XXXXXX", path);
    cr_assert_not_null(mkdtemp(ret), "%s: %s", ret, strerror(errno));
}

/* ---- which way
 * ------------------------------------------------------------------------------------ */

static void check_mode(const char *fs, const char *mode)
{
    char dir[TMP_PATH_BYTES];
    unsigned found = 0;
    struct daemon d;
    disk_dir(fs, dir);
    daemon_init(&d, dir);
    daemon_start(&d, NULL);
    const char *argv[] = { CAIRN_TEST_CAIRN, "--socket", d.socket, "status", NULL };
    const struct proc_spec spec = { .argv = argv, .log_path = d.log, .pipe_out = true };
    int code = proc_say(&spec, WAIT_MS, (const char *const[]){ mode, NULL }, &found);
    cr_assert_leq(code, 1, "cairn status on %s: exit %d", fs, code);
    cr_assert_gt(found, 0, "cairn status does not say '%s' on %s", mode, fs);
    cr_assert_eq(daemon_stop(&d), 0);
    daemon_fini(&d);
    tmp_remove(dir);
}

CASE(disks, status_says_how_it_writes, .timeout = 120)
{
    check_mode("ext4", "direct");
    check_mode("xfs", "direct");
    check_mode("tmpfs", "buffered");
}

/* ---- full
 * ------------------------------------------------------------------------------------------ */

struct full {
    char dir[TMP_PATH_BYTES], ballast[TMP_PATH_BYTES + 16];
    struct daemon d;
    struct sample small, large;
    struct cairn *c;
};

static void full_init(struct full *f)
{
    disk_dir("small", f->dir);
    (void)snprintf(f->ballast, sizeof f->ballast, "%s/ballast", f->dir);
    daemon_init(&f->d, f->dir);
    f->d.args[0] = "--reserve-bytes=0";
    sample_init(&f->small,
                (struct sample_tensors){ .count = 4, .tensor_bytes = 8 * MIB },
                (struct sample_tensors){ .count = 1, .tensor_bytes = 4096 });
    sample_init(&f->large,
                (struct sample_tensors){ .count = 40, .tensor_bytes = 8 * MIB },
                (struct sample_tensors){ .count = 1, .tensor_bytes = 4096 });
    sample_fill(&f->large, 99);
}

static void full_open(struct full *f)
{
    cr_assert_eq(cairn_open(f->d.socket, "full", &f->c), 0, "%s", cairn_error(f->c));
}

static void full_fini(struct full *f)
{
    f->c = cairn_close(f->c);
    cr_assert_eq(daemon_stop(&f->d), 0);
    cr_assert_eq(daemon_fsck(&f->d, false), 0);
    daemon_fini(&f->d);
    sample_fini(&f->small);
    sample_fini(&f->large);
    tmp_remove(f->dir);
}

static void full_save(struct full *f, uint64_t seed)
{
    sample_fill(&f->small, seed);
    cr_assert_eq(sample_save(&f->small, f->c, NULL), 0, "%s", cairn_error(f->c));
}

static void full_check(struct full *f, const char *selector, uint64_t seed)
{
    sample_clear(&f->small);
    cr_assert_eq(sample_load(&f->small, f->c, selector), 0, "%s", cairn_error(f->c));
    cr_assert(sample_is(&f->small, seed));
}

/* Take every free block of the disk. */
static void full_fill(const struct full *f)
{
    static char block[65536];
    int fd = open(f->ballast, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    cr_assert_geq(fd, 0);
    for (size_t bytes = sizeof block; bytes >= 512;) {
        if (write(fd, block, bytes) < 0) {
            cr_assert_eq(errno, ENOSPC);
            bytes /= 2;
        }
    }
    (void)fsync(fd);
    (void)close(fd);
}

static void full_free(const struct full *f)
{
    cr_assert_eq(unlink(f->ballast), 0);
}

/* The two numbers that a refusal must name: bytes needed and bytes free. */
static void check_numbers(const char *text)
{
    static const char between[] = " bytes are needed, ";
    const char *at = strstr(text, between);
    char *end = NULL;
    cr_assert_not_null(at, "'%s' does not say what is needed", text);
    while (at > text && at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    uint64_t needed = strtoull(at, &end, 10);
    cr_assert(end != at && strncmp(end, between, sizeof between - 1) == 0, "'%s'", text);
    at = end + sizeof between - 1;
    uint64_t there = strtoull(at, &end, 10);
    cr_assert(end != at && strncmp(end, " are free", 9) == 0, "'%s'", text);
    cr_assert_geq(needed, 320 * MIB);
    cr_assert_lt(there, 160 * MIB);
}

CASE(disks, E26_a_full_disk_refuses_and_loses_nothing, .timeout = 120)
{
    struct full f;
    full_init(&f);
    daemon_start(&f.d, NULL);
    full_open(&f);
    full_save(&f, 1);
    cr_assert_eq(sample_save(&f.large, f.c, NULL), -CAIRN_ENOSPC);
    (void)printf("refused: %s\n", cairn_error(f.c));
    check_numbers(cairn_error(f.c));
    full_check(&f, "latest", 1);
    full_fill(&f);
    sample_fill(&f.small, 2);
    cr_assert_eq(sample_save(&f.small, f.c, NULL), -CAIRN_ENOSPC);
    full_check(&f, "latest", 1);
    full_free(&f);
    full_save(&f, 3);
    full_check(&f, "latest", 3);
    full_check(&f, "1", 1);
    full_fini(&f);
}

/* Save in a child while the daemon stands at a failpoint and the disk is filled up under it. */
static int full_save_held(struct full *f, struct hold *h, uint64_t seed)
{
    int status = 0;
    sample_fill(&f->small, seed);
    pid_t child = fork();
    if (child == 0) {
        struct cairn *c = NULL;
        int rc = cairn_open(f->d.socket, "full", &c);
        rc = rc < 0 ? rc : sample_save(&f->small, c, NULL);
        (void)fprintf(stderr, "held save: %d %s\n", rc, rc < 0 ? cairn_error(c) : "");
        _exit(-rc);
    }
    cr_assert(hold_wait(h, WAIT_MS), "nobody came to the failpoint");
    full_fill(f);
    hold_release(h);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status), "the saving child ended with status %d", status);
    return -WEXITSTATUS(status);
}

static void check_full_at(const char *failpoint, int nth)
{
    struct full f;
    struct hold h;
    char armed[400];
    full_init(&f);
    hold_init(&h, f.d.socket_dir, "hold");
    (void)snprintf(armed, sizeof armed, "CAIRN_FAILPOINT=%s:hold=%s:%d", failpoint, h.path, nth);
    daemon_start(&f.d, (const char *const[]){ armed, NULL });
    full_open(&f);
    full_save(&f, 1);
    int rc = full_save_held(&f, &h, 2);
    (void)printf("disk full at %s: %s\n", failpoint, rc == 0 ? "saved" : cairn_error_name(rc));
    cr_assert(rc == 0 || rc == -CAIRN_ENOSPC, "%s: %s", failpoint, cairn_error_name(rc));
    full_check(&f, "1", 1);
    if (rc == 0) {
        full_check(&f, "latest", 2); /* its space had been allocated before: that is the point */
    }
    full_free(&f);
    full_save(&f, 3);
    full_check(&f, "latest", 3);
    hold_fini(&h);
    full_fini(&f);
}

CASE(disks, E26_full_in_mid_segment, .timeout = 120)
{
    check_full_at("segment_write", 7); /* the second save's third chunk */
}

CASE(disks, E26_full_at_the_commit, .timeout = 120)
{
    check_full_at("commit", 2);
}

/* What the kernel says when even allocated blocks cannot be written: thin volumes, quotas. */
CASE(disks, E26_no_space_while_writing, .timeout = 120)
{
    struct full f;
    full_init(&f);
    daemon_start(&f.d, (const char *const[]){ "CAIRN_FAILPOINT=segment_write:enospc:7", NULL });
    full_open(&f);
    full_save(&f, 1);
    sample_fill(&f.small, 2);
    cr_assert_eq(sample_save(&f.small, f.c, NULL), -CAIRN_ENOSPC);
    full_check(&f, "latest", 1);
    full_save(&f, 3);
    full_check(&f, "latest", 3);
    full_fini(&f);
}
