/* A handle in a process that is not as tidy as ours: streams that are closed, a locale that is set,
 * connections that ended while nobody looked, entries that are half filled in. */
#include <cairn/admin.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ground.h"
#include "lib/handle.h"

/* ---- descriptors ---- */

/* What the trainer prints must not go to the daemon. */
CASE(handle, its_socket_is_no_standard_stream)
{
    struct ground g;
    struct cairn_boundary b;
    size_t count = 0;
    int kept[2] = { fcntl(0, F_DUPFD_CLOEXEC, 100), fcntl(1, F_DUPFD_CLOEXEC, 100) };
    ground_up(&g);
    job_fill(&g.job, 1);
    (void)close(0);
    (void)close(1);
    fake_pause(&g.fake);                      /* its next connection is made now */
    (void)fcntl(kept[0], F_DUPFD_CLOEXEC, 0); /* for the daemon's descriptors, which are here too */
    fake_resume(&g.fake);
    (void)close(0);
    cr_assert_eq(cairn_find(g.c, "latest", 1, &b, &count), -CAIRN_ENOENT, "%s", cairn_error(g.c));
    cr_assert_gt(g.c->fd, 2);
    cr_assert_neq(fcntl(g.c->fd, F_GETFD) & FD_CLOEXEC, 0);
    cr_assert_neq(fcntl(g.c->fd, F_GETFL) & O_NONBLOCK, 0);
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "%s", cairn_error(g.c));
    ground_down(&g);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(dup2(kept[i], i), i);
        (void)close(kept[i]);
    }
}

/* ---- connections that ended ---- */

/* The daemon was restarted while the handle had nothing to do. */
static void restarted(struct ground *g)
{
    fake_pause(&g->fake);
    fake_resume(&g->fake);
}

CASE(handle, a_drop_does_not_fail_for_a_connection_that_ended_before)
{
    struct ground g;
    ground_up(&g);
    restarted(&g);
    cr_assert_eq(cairn_run_drop(g.c), 0, "%s", cairn_error(g.c));
    cr_assert_eq(fake_seen(&g.fake, WIRE_RUN_DROP), 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_RUN_DROP, 2, FAKE_CLOSE, 0 };
    cr_assert_eq(cairn_run_drop(g.c), -CAIRN_ECONN, "sent, and not answered");
    cr_assert_eq(fake_seen(&g.fake, WIRE_RUN_DROP), 2, "not sent twice");
    ground_down(&g);
}

/* The second one would remove another boundary. */
CASE(handle, a_removal_is_not_sent_twice)
{
    struct ground g;
    ground_up(&g);
    g.fake.faults[0] = (struct fake_fault){ WIRE_DELETE, 1, FAKE_CLOSE, 0 };
    cr_assert_eq(cairn_remove(g.c, "latest~1", NULL), -CAIRN_ECONN, "sent, and not answered");
    cr_assert_eq(fake_seen(&g.fake, WIRE_DELETE), 1, "not sent twice");
    ground_down(&g);
}

CASE(handle, a_verification_is_asked_for_again)
{
    struct ground g;
    struct cairn_verified verified = { 0 };
    ground_up(&g);
    job_fill(&g.job, 1);
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0);
    restarted(&g);
    cr_assert_eq(cairn_verify(g.c, NULL, NULL, NULL, &verified), 0, "%s", cairn_error(g.c));
    cr_assert_eq(fake_seen(&g.fake, WIRE_VERIFY), 1);
    g.fake.faults[0] = (struct fake_fault){ WIRE_VERIFY, 2, FAKE_CLOSE, 0 };
    cr_assert_eq(cairn_verify(g.c, NULL, NULL, NULL, &verified), 0, "%s", cairn_error(g.c));
    cr_assert_eq(fake_seen(&g.fake, WIRE_VERIFY), 3);
    cr_assert_eq(verified.boundary_count, 1);
    ground_down(&g);
}

/* ---- a locale with another decimal point ---- */

/* LC_NUMERIC as glibc keeps it: a magic number, six offsets, and what they point to. */
static void write_numeric(const char *path, const char *point)
{
    struct {
        uint32_t magic, count, offsets[6];
        uint32_t point_wide, separator_wide;
        char point[8], separator[4], grouping[4], codeset[8];
    } file = { .magic = 0x20031114,
               .count = 6,
               .offsets = { 40, 48, 52, 32, 36, 56 },
               .point_wide = ',',
               .grouping = "\x7f",
               .codeset = "UTF-8" };
    memcpy(file.point, point, strlen(point));
    FILE *f = fopen(path, "we");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(&file, sizeof file, 1, f), 1);
    cr_assert_eq(fclose(f), 0);
}

static void set_point(const char *point)
{
    char dir[] = "/tmp/cairn-locale-XXXXXX";
    char path[64];
    cr_assert_not_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/test", dir);
    cr_assert_eq(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/test/LC_NUMERIC", dir);
    write_numeric(path, point);
    cr_assert_eq(setenv("LOCPATH", dir, 1), 0);
    cr_assert_not_null(setlocale(LC_NUMERIC, "test"), "the C library does not take %s", path);
    cr_assert_eq(unlink(path), 0);
    *strrchr(path, '/') = '\0';
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(rmdir(dir), 0);
}

static const double shown_values[] = { 0.5, -1.25e-300, 3, 1e100, 0.1 };

static int put_shown(void *self, struct cairn_writer *w)
{
    static const char *const paths[] = { "a", "b", "c", "d", "e" };
    int rc = 0;
    (void)self;
    for (size_t i = 0; rc == 0 && i < 5; i++) {
        rc = cairn_put_f64(w, paths[i], shown_values[i]);
    }
    return rc < 0 ? rc : cairn_put_f32(w, "f", 0.25f);
}

static void check_texts(const char *point)
{
    static const char *const texts[] = { "0.5",    "-1.25e-300",          "3.0",
                                         "1e+100", "0.10000000000000001", "0.25" };
    struct ground g;
    const struct cairn_reader *reader = NULL;
    char text[64];
    ground_up(&g);
    struct cairn_record *r = ground_state(&g, put_shown, NULL, &reader);
    set_point(point);
    (void)snprintf(text, sizeof text, "%g", 0.5);
    cr_assert_neq(strcmp(text, "0.5"), 0, "this locale changes nothing: %s", text);
    for (uint64_t i = 0; i < 6; i++) {
        cr_assert_eq(cairn_entry_text(reader, i, text, sizeof text), 0);
        cr_assert_str_eq(text, texts[i]);
    }
    cr_assert_eq(cairn_entry_text(reader, 4, text, 5), 0);
    cr_assert_str_eq(text, "0.10", "cut, as anything that is too long");
    cr_assert_not_null(setlocale(LC_NUMERIC, "C"));
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(handle, a_number_has_a_point_where_the_locale_has_a_comma)
{
    check_texts(",");
}

CASE(handle, a_number_has_a_point_where_the_locale_has_more_bytes)
{
    check_texts("\xd9\xab");
}

/* ---- entries that are half filled in ---- */

static void put_shapeless(struct job *j, struct cairn_writer *w)
{
    static const uint32_t dtypes[] = { CAIRN_OPAQUE, CAIRN_QFLOAT, CAIRN_F32 };
    static const uint32_t ranks[] = { 1, 32, 33, UINT32_MAX };
    static const uint64_t shape[40] = { 4 };
    static const struct cairn_quant scheme = { .value = CAIRN_Q8S,
                                               .store = CAIRN_QUANT_NATIVE,
                                               .mode = CAIRN_QUANT_SYMMETRIC,
                                               .global_dtype = CAIRN_F32 };
    const uint8_t data[4] = { 1, 2, 3, 4 };
    (void)j;
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 4; k++) {
            struct cairn_entry e = {
                .path = "x", .dtype = dtypes[i], .rank = ranks[k], .bytes = sizeof data
            };
            struct cairn_slot slot;
            e.quant = dtypes[i] == CAIRN_QFLOAT ? &scheme : NULL;
            cr_assert_eq(cairn_put(w, &e, data), -CAIRN_EINVAL);
            cr_assert_eq(cairn_put_slot(w, &e, &slot), -CAIRN_EINVAL);
            e.shape = shape;
            if (ranks[k] > 32) {
                cr_assert_eq(cairn_put(w, &e, data), -CAIRN_EINVAL);
                cr_assert_eq(cairn_put_slot(w, &e, &slot), -CAIRN_EINVAL);
            }
        }
    }
}

CASE(handle, a_rank_without_a_shape_is_refused)
{
    static const uint32_t dtypes[] = { CAIRN_OPAQUE, CAIRN_QFLOAT };
    struct ground g;
    struct cairn_record *r = NULL;
    const struct cairn_reader *reader = NULL;
    ground_up(&g);
    g.job.model.during_put = put_shapeless;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    cr_assert_null(r);
    g.job.model.during_put = NULL;
    box_add_opaque(&g.job.model, "0", dtypes[0], 4);
    box_add_opaque(&g.job.model, "1", dtypes[1], 4);
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "%s", cairn_error(g.c));
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &reader), 0);
    for (size_t i = 0; i < 2; i++) {
        struct cairn_entry want = g.job.model.tensors[i]->entry;
        cr_assert_eq(cairn_get(reader, &want, NULL), 0, "%s", cairn_error(g.c));
        want.shape = NULL;
        cr_assert_eq(cairn_get(reader, &want, NULL), -CAIRN_EINVAL);
        want.rank = UINT32_MAX;
        cr_assert_eq(cairn_get(reader, &want, NULL), -CAIRN_EINVAL);
        want.shape = g.job.model.tensors[i]->shape;
        cr_assert_eq(cairn_get(reader, &want, NULL), -CAIRN_EINVAL);
    }
    (void)cairn_record_free(r);
    ground_down(&g);
}
