/* What cannot be opened for want of descriptors, memory or rights is told as that, with what to do,
 * and never as damage; what is missing or cannot be read is damage. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

/* Opening a file whose name ends so fails. */
static const char *fail_suffix;
static int fail_errnum;

int real_openat(int fd, const char *path, int flags, ...) __asm__("__real_openat");
int wrap_openat(int fd, const char *path, int flags, ...) __asm__("__wrap_openat");
int wrap_openat(int fd, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    size_t length = strlen(path);
    size_t end = fail_suffix == NULL ? SIZE_MAX : strlen(fail_suffix);
    if (end <= length && strcmp(path + length - end, fail_suffix) == 0) {
        errno = fail_errnum;
        return -1;
    }
    return real_openat(fd, path, flags, mode);
}

static void start(struct fix *f)
{
    struct err err = { .code = 0 };
    struct rec *r = rec_small(100, 1);
    fix_open(f);
    cr_assert_eq(rec_save(r, f->run, &err), 0, "%s", err.msg);
    (void)rec_free(r);
}

static int count_one(void *arg, const struct st_finding *finding)
{
    (void)finding;
    ++*(unsigned *)arg;
    return 0;
}

/* st_verify of seq 1, which must end so; returns the number of findings. */
static unsigned verify(const struct fix *f, int code, struct err *err)
{
    unsigned count = 0;
    struct wire_verified verified;
    const struct st_watch watch = { .found = count_one, .arg = &count };
    cr_assert_eq(st_verify(f->run, 1, &watch, &verified, err), code, "%s", err->msg);
    cr_assert_eq(verified.finding_count, count);
    return count;
}

static void load(const struct fix *f, int code, struct err *err)
{
    struct st_load *l = NULL;
    cr_assert_eq(st_load_open(f->run, 1, &l, err), code, "%s", err->msg);
    (void)st_load_close(l);
}

static void says(const struct err *err, int code, const char *advice)
{
    cr_assert_eq(err->code, code, "%s", err->msg);
    cr_assert_not_null(strstr(err->msg, "0000000000000001.seg"), "%s", err->msg);
    cr_assert_not_null(strstr(err->msg, advice), "%s", err->msg);
}

/* ---- any of them ----------------------------------------------------------------------------- */

static const struct {
    int errnum, code;
    const char *advice;
} troubles[] = { { EMFILE, -CAIRN_EBUSY, "raise LimitNOFILE=" },
                 { ENFILE, -CAIRN_EBUSY, "raise fs.file-max" },
                 { ENOMEM, -CAIRN_ENOMEM, "free some and try again" },
                 { EACCES, -CAIRN_EACCES, "must own what is in its data directory" },
                 { EPERM, -CAIRN_EACCES, "must own what is in its data directory" } };

static int never(void *arg, const char *where, const char *text)
{
    (void)arg;
    cr_assert_fail("%s: %s", where, text);
    return 0;
}

CASE(open, trouble_of_this_process_is_no_damage)
{
    struct fix f;
    struct wire_verified verified;
    start(&f);
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        struct err err = { .code = 0 };
        fail_errnum = troubles[i].errnum;
        fail_suffix = ".seg";
        load(&f, troubles[i].code, &err);
        says(&err, troubles[i].code, troubles[i].advice);
        err = (struct err){ .code = 0 };
        cr_assert_eq(verify(&f, troubles[i].code, &err), 0);
        says(&err, troubles[i].code, troubles[i].advice);
        fail_suffix = NULL;
        cr_assert_eq(verify(&f, 0, &err), 0);
    }
    fix_close(&f);
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        static const char *const files[] = { ".seg", "run/segments" };
        for (size_t file = 0; file < 2; file++) {
            struct err err = { .code = 0 };
            fail_errnum = troubles[i].errnum;
            fail_suffix = files[file];
            cr_assert_eq(st_fsck(f.dir, never, NULL, &verified, &err), troubles[i].code);
            fail_suffix = NULL;
            cr_assert_not_null(strstr(err.msg, "run 'run'"), "%s", err.msg);
            cr_assert_not_null(strstr(err.msg, troubles[i].advice), "%s", err.msg);
        }
    }
    fix_fsck_clean(&f);
    fix_remove(&f);
}

CASE(open, a_file_that_cannot_be_had_is_damage)
{
    static const struct {
        int errnum, code;
    } damages[] = { { ENOENT, -CAIRN_ECORRUPT }, { EIO, -CAIRN_EIO }, { ELOOP, -CAIRN_EIO } };
    struct fix f;
    start(&f);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct err err = { .code = 0 };
        fail_errnum = damages[i].errnum;
        fail_suffix = ".seg";
        load(&f, damages[i].code, &err);
        cr_assert_eq(verify(&f, 0, &err), 1);
        fail_suffix = NULL;
    }
    fix_remove(&f);
}

/* ---- as they come ---------------------------------------------------------------------------- */

CASE(open, want_of_a_descriptor)
{
    struct fix f;
    struct err err = { .code = 0 };
    start(&f);
    const struct rlimit taken = fix_take_descriptors();
    load(&f, -CAIRN_EBUSY, &err);
    cr_assert_eq(verify(&f, -CAIRN_EBUSY, &err), 0);
    fix_give_descriptors(&taken);
    says(&err, -CAIRN_EBUSY, "raise LimitNOFILE=");
    cr_assert_eq(verify(&f, 0, &err), 0);
    fix_remove(&f);
}

CASE(open, want_of_a_right)
{
    struct fix f;
    struct err err = { .code = 0 };
    char path[1024];
    uid_t self = geteuid();
    start(&f);
    fix_path(&f, "segments/0000000000000001.seg", path);
    cr_assert_eq(chmod(path, 0), 0);
    cr_assert(self != 0 || seteuid(65534) == 0); /* root may read everything */
    load(&f, -CAIRN_EACCES, &err);
    cr_assert_eq(verify(&f, -CAIRN_EACCES, &err), 0);
    cr_assert_eq(seteuid(self), 0);
    says(&err, -CAIRN_EACCES, "must own what is in its data directory");
    cr_assert_eq(chmod(path, 0600), 0);
    cr_assert_eq(verify(&f, 0, &err), 0);
    fix_remove(&f);
}
