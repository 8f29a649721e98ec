/* The library at a real daemon: every dtype and shape and awkward name, as bytes, through wire,
 * store and back; all kinds of records; and a daemon that is killed in between. */
#include <cairn/admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site.h"
#include "support/case.h"

/* Inside the manifest, in a shared chunk, in chunks of its own: the same for every dtype. */
CASE(client, every_dtype_is_bytes, .timeout = 120)
{
    static const uint64_t sizes[] = { 7, 100001, 5000003 };
    for (size_t k = 0; k < 3; k++) {
        struct site s;
        size_t count = 0;
        site_up(&s);
        for (uint32_t dtype = 0; dtype < 256; dtype++) {
            char path[32];
            if (cairn_dtype_name(dtype) == NULL || (k == 2 && dtype % 3 != 0)) {
                continue;
            }
            (void)snprintf(path, sizeof path, "%s", cairn_dtype_name(dtype));
            if (cairn_dtype_bits(dtype) == 0) {
                box_add_opaque(&s.job.model, path, dtype, sizes[k]);
            } else {
                uint64_t elements = sizes[k] * 8 / cairn_dtype_bits(dtype) + 1;
                (void)BOX_ADD(&s.job.model, path, dtype, CAIRN_HAS_ID, dtype, 1, &elements, dtype);
            }
            count++;
        }
        cr_assert(k == 2 || count == 35, "%zu dtypes", count);
        site_save(&s, 1, NULL);
        site_check(&s, "latest");
        site_down(&s);
    }
}

CASE(client, E8_every_shape_is_itself)
{
    static const uint64_t ones[JOB_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                             1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2 };
    static const uint64_t zero[] = { 0 };
    static const uint64_t hole[] = { 3, 0, 2 };
    static const struct {
        const char *path;
        uint32_t rank;
        const uint64_t *shape;
    } shapes[] = { { "[]", 0, NULL },      { "[0]", 1, zero },    { "[3,0,2]", 3, hole },
                   { "[1]", 1, ones },     { "rank 8", 8, ones }, { "rank 16", 16, ones },
                   { "rank 32", 32, ones } };
    struct site s;
    struct cairn_record *r = NULL;
    const struct cairn_reader *reader = NULL;
    site_up(&s);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        (void)BOX_ADD(
            &s.job.model, shapes[i].path, 0, 0, CAIRN_F32, shapes[i].rank, shapes[i].shape, i);
        (void)BOX_ADD(&s.job.optimizer,
                      shapes[i].path,
                      i,
                      CAIRN_HAS_ID,
                      CAIRN_F4_E2M1,
                      shapes[i].rank,
                      shapes[i].shape,
                      i);
    }
    site_save(&s, 1, NULL);
    site_check(&s, "latest");
    cr_assert_eq(cairn_load(s.c, "latest", 0, &r), 0);
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &reader), 0);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
            struct cairn_entry want = s.job.model.tensors[i]->entry;
            want.rank = shapes[k].rank;
            want.shape = shapes[k].shape;
            cr_assert_eq(cairn_get(reader, &want, NULL),
                         i == k ? 0 : -CAIRN_EMISMATCH,
                         "%s as %s",
                         shapes[i].path,
                         shapes[k].path);
        }
    }
    (void)cairn_record_free(r);
    site_down(&s);
}

CASE(client, E32_awkward_names_are_names)
{
    static const char *names[] = { "/",
                                   "~",
                                   ".",
                                   "..",
                                   "a/b",
                                   "a/../b",
                                   "~0~1",
                                   " ",
                                   "  leading and trailing  ",
                                   "\t\n\r",
                                   "\"quotes\"",
                                   "back\\slash",
                                   "emoji \xf0\x9f\xa7\x97",
                                   "\xc3\xa9",
                                   "e\xcc\x81",
                                   "%s%n",
                                   "$(id)",
                                   "\x7f",
                                   "\x01",
                                   "\xf4\x8f\xbf\xbf",
                                   "-",
                                   "--all",
                                   "a,b=c" };
    const uint64_t one[] = { 3 };
    char big[4097];
    struct site s;
    site_up(&s);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)BOX_ADD(&s.job.model, names[i], i, CAIRN_HAS_ID, CAIRN_U8, 1, one, i);
        (void)BOX_ADD(&s.job.state, names[i], 0, 0, CAIRN_U8, 1, one, i + 100);
    }
    for (size_t bytes = 4000; bytes <= 4096; bytes += 96) {
        memset(big, 'x', bytes);
        big[bytes] = '\0';
        (void)BOX_ADD(&s.job.model, big, bytes, CAIRN_HAS_ID, CAIRN_U8, 1, one, 7);
        (void)BOX_ADD(&s.job.optimizer, big, UINT64_MAX, CAIRN_HAS_ID, CAIRN_U8, 1, one, bytes);
    }
    site_save(&s, 1, NULL);
    site_check(&s, "latest");
    site_down(&s);
}

CASE(client, a_hundred_thousand_small_tensors, .timeout = 180)
{
    const uint64_t shape[] = { 5 };
    struct site s;
    struct cairn_boundary b;
    site_up(&s);
    for (uint64_t i = 0; i < 100000; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "block.%llu.weight", (unsigned long long)i);
        (void)BOX_ADD(
            &s.job.model, path, i, CAIRN_HAS_ID | CAIRN_TRAINABLE, CAIRN_F32, 1, shape, i);
    }
    site_save(&s, 1, &b);
    cr_assert_eq(b.entry_count, 100005);
    site_check(&s, "latest");
    site_down(&s);
}

/* ---- bits
 * ----------------------------------------------------------------------------------------------------
 */

static const uint64_t bits64[] = {
    0x7ff8000000000000, 0x7ff0000000000001, 0xfff8dead0000beef,
    0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0x3ff0000000000000,
};
static const uint32_t bits32[] = { 0x7fc00000, 0x7f800001, 0xffc0beef, 0x80000000, 0x00000001,
                                   0x807fffff, 0x7f800000, 0xff800000, 0x3f800000 };
#define BITS (sizeof bits64 / sizeof bits64[0])

static int put_bits(void *self, struct cairn_writer *w)
{
    const struct cairn_entry doubles = {
        .path = "doubles", .dtype = CAIRN_F64, .rank = 1, .shape = &(uint64_t){ BITS }
    };
    const struct cairn_entry floats = {
        .path = "floats", .dtype = CAIRN_F32, .rank = 1, .shape = &(uint64_t){ BITS }
    };
    int rc = cairn_put(w, &doubles, bits64);
    rc = rc < 0 ? rc : cairn_put(w, &floats, bits32);
    (void)self;
    for (size_t i = 0; rc == 0 && i < BITS; i++) {
        char path[16];
        double f64 = 0;
        float f32 = 0;
        memcpy(&f64, &bits64[i], sizeof f64);
        memcpy(&f32, &bits32[i], sizeof f32);
        (void)snprintf(path, sizeof path, "f64.%zu", i);
        rc = cairn_put_f64(w, path, f64);
        (void)snprintf(path, sizeof path, "f32.%zu", i);
        rc = rc < 0 ? rc : cairn_put_f32(w, path, f32);
    }
    return rc;
}

static int put_scalars(void *self, struct cairn_writer *w)
{
    int rc = cairn_put_i64(w, "least", INT64_MIN);
    rc = rc < 0 ? rc : cairn_put_u64(w, "most", UINT64_MAX);
    rc = rc < 0 ? rc : cairn_put_i64(w, "2^53+1", (INT64_C(1) << 53) + 1);
    rc = rc < 0 ? rc : cairn_put_bool(w, "yes", true);
    rc = rc < 0 ? rc : cairn_put_bool(w, "no", false);
    rc = rc < 0 ? rc : cairn_put_str(w, "text", "caf\xc3\xa9");
    rc = rc < 0 ? rc : cairn_put_str(w, "empty text", "");
    rc = rc < 0 ? rc : cairn_put_bytes(w, "bytes", "\0\xff\0", 3);
    rc = rc < 0 ? rc : cairn_put_bytes(w, "no bytes", NULL, 0);
    rc = rc < 0 ? rc : cairn_put_null(w, "null");
    (void)self;
    return rc;
}

static int put_ids(void *self, struct cairn_writer *w)
{
    int rc = cairn_put_id_u64(w, "time", 0, 1);
    rc = rc < 0 ? rc : cairn_put_id_u64(w, "time", UINT64_MAX, UINT64_MAX);
    rc = rc < 0 ? rc : cairn_put_u64(w, "time", 5);
    (void)self;
    return rc;
}

static void check_bits(const struct cairn_reader *r)
{
    uint64_t doubles[BITS];
    uint32_t floats[BITS];
    const struct cairn_entry f64s = {
        .path = "doubles", .dtype = CAIRN_F64, .rank = 1, .shape = &(uint64_t){ BITS }
    };
    const struct cairn_entry f32s = {
        .path = "floats", .dtype = CAIRN_F32, .rank = 1, .shape = &(uint64_t){ BITS }
    };
    cr_assert_eq(cairn_get(r, &f64s, doubles), 0);
    cr_assert_eq(cairn_get(r, &f32s, floats), 0);
    cr_assert_eq(memcmp(doubles, bits64, sizeof bits64), 0);
    cr_assert_eq(memcmp(floats, bits32, sizeof bits32), 0);
    for (size_t i = 0; i < BITS; i++) {
        char path[16];
        double f64 = 0;
        float f32 = 0;
        (void)snprintf(path, sizeof path, "f64.%zu", i);
        cr_assert_eq(cairn_get_f64(r, path, &f64), 0);
        cr_assert(same_bits(&f64, &bits64[i], sizeof f64), "%s", path);
        (void)snprintf(path, sizeof path, "f32.%zu", i);
        cr_assert_eq(cairn_get_f32(r, path, &f32), 0);
        cr_assert(same_bits(&f32, &bits32[i], sizeof f32), "%s", path);
    }
}

static void check_scalars(const struct cairn_reader *r)
{
    int64_t i64 = 0;
    uint64_t u64 = 0;
    bool yes = false;
    const char *text = NULL;
    const void *bytes = NULL;
    size_t count = 0;
    cr_assert(cairn_get_i64(r, "least", &i64) == 0 && i64 == INT64_MIN);
    cr_assert(cairn_get_i64(r, "2^53+1", &i64) == 0 && i64 == (INT64_C(1) << 53) + 1);
    cr_assert(cairn_get_u64(r, "most", &u64) == 0 && u64 == UINT64_MAX);
    cr_assert(cairn_get_bool(r, "yes", &yes) == 0 && yes);
    cr_assert(cairn_get_bool(r, "no", &yes) == 0 && !yes);
    cr_assert(cairn_get_str(r, "text", &text) == 0 && strcmp(text, "caf\xc3\xa9") == 0);
    cr_assert(cairn_get_str(r, "empty text", &text) == 0 && text[0] == '\0');
    cr_assert(cairn_get_bytes(r, "bytes", &bytes, &count) == 0 && count == 3);
    cr_assert_eq(memcmp(bytes, "\0\xff\0", 3), 0);
    cr_assert(cairn_get_bytes(r, "no bytes", &bytes, &count) == 0 && count == 0);
    cr_assert_eq(cairn_get_str(r, "null", &text), -CAIRN_EMISMATCH);
}

static void check_text(const struct cairn_reader *r, const char *path, const char *expected)
{
    struct cairn_entry e;
    char text[64];
    for (uint64_t i = 0; cairn_entry_at(r, i, &e) == 0; i++) {
        if (strcmp(e.path, path) == 0) {
            cr_assert_eq(cairn_entry_text(r, i, text, sizeof text), 0);
            cr_assert_str_eq(text, expected);
            return;
        }
    }
    cr_assert_fail("no entry %s", path);
}

CASE(client, E1_E2_E3_E7_bits_and_scalars_are_kept)
{
    struct site s;
    struct cairn_record *r = NULL;
    const struct cairn_reader *reader = NULL;
    uint64_t u64 = 0;
    site_up(&s);
    struct cairn_trainer t = { .model = { .put = put_bits },
                               .optimizer = { .put = put_ids },
                               .state = { .put = put_scalars } };
    cr_assert_eq(cairn_capture(s.c, &t, &r), 0, "%s", cairn_error(s.c));
    cr_assert_eq(cairn_save(s.c, &r, &(struct cairn_save_args){ .step = 1 }, NULL), 0);
    cr_assert_eq(cairn_load(s.c, "1", 0, &r), 0, "%s", cairn_error(s.c));
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &reader), 0);
    check_bits(reader);
    check_text(reader, "f64.3", "-0.0");
    check_text(reader, "f64.2", "nan:0xfff8dead0000beef");
    check_text(reader, "f32.8", "1.0");
    cr_assert_eq(cairn_record_component(r, CAIRN_STATE, &reader), 0);
    check_scalars(reader);
    check_text(reader, "bytes", "00ff00");
    check_text(reader, "least", "-9223372036854775808");
    check_text(reader, "text", "\"caf\xc3\xa9\"");
    check_text(reader, "null", "null");
    cr_assert_eq(cairn_record_component(r, CAIRN_OPTIMIZER, &reader), 0);
    cr_assert(cairn_get_id_u64(reader, "time", 0, &u64) == 0 && u64 == 1);
    cr_assert(cairn_get_id_u64(reader, "time", UINT64_MAX, &u64) == 0 && u64 == UINT64_MAX);
    cr_assert(cairn_get_u64(reader, "time", &u64) == 0 && u64 == 5);
    cr_assert_eq(cairn_get_id_u64(reader, "time", 1, &u64), -CAIRN_ENOENT);
    (void)cairn_record_free(r);
    site_down(&s);
}

/* ---- kinds, and a daemon that dies ---- */

typedef int (*capture_fn)(struct cairn *c,
                          const struct cairn_trainer *t,
                          struct cairn_record **ret);
typedef int (*restore_fn)(struct cairn *c,
                          const struct cairn_record *r,
                          const struct cairn_trainer *t);

CASE(client, R07_R08_every_kind_comes_back_after_the_daemon_was_killed)
{
    static const capture_fn captures[] = { cairn_capture,
                                           cairn_capture_with_dtypes,
                                           cairn_capture_weighted,
                                           cairn_capture_weighted_with_dtypes };
    static const restore_fn restores[] = { cairn_restore,
                                           cairn_restore_with_dtypes,
                                           cairn_restore_weighted,
                                           cairn_restore_weighted_with_dtypes };
    struct site s;
    struct cairn_boundary b;
    char selector[32];
    site_up(&s);
    job_fill(&s.job, 1);
    for (size_t i = 0; i < 4; i++) {
        struct cairn_record *r = NULL;
        cr_assert_eq(captures[i](s.c, &s.job.t, &r), 0, "%s", cairn_error(s.c));
        cr_assert_eq(cairn_save(s.c, &r, &(struct cairn_save_args){ .step = i }, &b),
                     0,
                     "%s",
                     cairn_error(s.c));
        cr_assert_eq(b.kind, i);
    }
    daemon_kill(&s.d);
    daemon_start(&s.d, NULL);
    for (size_t i = 0; i < 4; i++) {
        struct cairn_record *r = NULL;
        struct job other;
        job_like(&other, &s.job);
        other.params[0].dtype = CAIRN_F64;
        (void)snprintf(selector, sizeof selector, "%zu", i);
        cr_assert_eq(cairn_load(s.c, selector, 0, &r), 0, "%s", cairn_error(s.c));
        cr_assert_eq(restores[i](s.c, r, &other.t), 0, "%s", cairn_error(s.c));
        cr_assert_null(job_differs(&s.job, &other), "%s", job_differs(&s.job, &other));
        cr_assert_eq(other.params[0].dtype, (i & 1) != 0 ? CAIRN_F32 : CAIRN_F64);
        cr_assert_eq(other.window.microbatches, (i & 2) != 0 ? 3 : 77);
        (void)cairn_record_free(r);
        job_fini(&other);
    }
    site_down(&s);
}

/* A record whose payload is half read, and a save that is sealed, when the daemon is killed. */
CASE(client, a_restore_and_a_started_save_survive_the_daemon, .timeout = 120)
{
    struct site s;
    struct cairn_record *loaded = NULL;
    struct cairn_record *captured = NULL;
    struct cairn_pending *p = NULL;
    struct cairn_boundary b;
    const struct cairn_reader *reader = NULL;
    const uint64_t bytes = 6000000;
    uint8_t *dst = malloc(bytes);
    site_up(&s);
    for (uint64_t i = 0; i < 20; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "layer.%02llu", (unsigned long long)i);
        (void)BOX_ADD(&s.job.model, path, i, CAIRN_HAS_ID, CAIRN_U8, 1, &bytes, i);
    }
    site_save(&s, 1, NULL);
    cr_assert_eq(cairn_capture(s.c, &s.job.t, &captured), 0);
    cr_assert_eq(cairn_save_start(s.c, &captured, &(struct cairn_save_args){ .step = 2 }, &p),
                 0,
                 "%s",
                 cairn_error(s.c));
    daemon_kill(&s.d);
    daemon_start(&s.d, NULL);
    cr_assert_eq(cairn_save_wait(&p, 30000, &b, NULL), 0, "%s", cairn_error(s.c));
    cr_assert_eq(b.step, 2);
    cr_assert_eq(b.seq, 2);
    cr_assert_eq(cairn_load(s.c, "seq:1", 0, &loaded), 0, "%s", cairn_error(s.c));
    cr_assert_eq(cairn_record_component(loaded, CAIRN_MODEL, &reader), 0);
    for (size_t i = 0; i < 20; i++) {
        const struct tensor *t = s.job.model.tensors[i];
        if (i == 7) {
            daemon_kill(&s.d);
            daemon_start(&s.d, NULL);
        }
        cr_assert_eq(cairn_get(reader, &t->entry, dst), 0, "%zu: %s", i, cairn_error(s.c));
        cr_assert_eq(memcmp(dst, t->data, bytes), 0, "%s", t->path);
    }
    (void)cairn_record_free(loaded);
    free(dst);
    site_down(&s);
}

static int count_run(void *arg, const struct cairn_run_info *info)
{
    cr_assert_str_eq(info->name, "demo");
    cr_assert_eq(info->boundary_count, 2);
    (*(unsigned *)arg)++;
    return 0;
}

CASE(client, the_administrators_calls_answer)
{
    struct site s;
    struct cairn *admin = NULL;
    struct cairn_status status;
    struct cairn_verified verified;
    unsigned runs = 0;
    site_up(&s);
    job_fill(&s.job, 1);
    site_save(&s, 1, NULL);
    site_save(&s, 2, NULL);
    cr_assert_eq(cairn_admin_open(s.d.socket, &admin), 0, "%s", cairn_error(admin));
    cr_assert_eq(cairn_status(admin, &status), 0, "%s", cairn_error(admin));
    cr_assert_eq(status.committed_count, 2);
    cr_assert_eq(cairn_runs(admin, false, count_run, &runs), 0, "%s", cairn_error(admin));
    cr_assert_eq(runs, 1);
    cr_assert_eq(cairn_admin_run(admin, "demo"), 0);
    cr_assert_eq(cairn_verify(admin, NULL, NULL, NULL, &verified), 0, "%s", cairn_error(admin));
    cr_assert_eq(verified.boundary_count, 2);
    cr_assert_eq(cairn_verify(admin, "seq:1", NULL, NULL, &verified), 0, "%s", cairn_error(admin));
    cr_assert_eq(verified.boundary_count, 1);
    cr_assert_eq(cairn_run_drop(admin), 0, "%s", cairn_error(admin));
    struct cairn_record *r = NULL;
    cr_assert_eq(cairn_load(s.c, "latest", 0, &r), -CAIRN_ENOENT);
    (void)cairn_close(admin);
    site_down(&s);
}

/* ---- on each path ---- */

/* Where these tests are run with another way of the payload, they do go that way. */
CASE(client, payload_goes_the_way_that_was_asked_for)
{
    struct site s;
    struct cairn_status status;
    bool warm = getenv("CAIRN_TEST_WARM") != NULL;
    bool buffered = getenv("CAIRN_TEST_DIR") != NULL;
    site_up(&s);
    uint64_t elements = 100001;
    (void)BOX_ADD(&s.job.model, "w", 1, CAIRN_HAS_ID, CAIRN_F32, 1, &elements, 1);
    site_save(&s, 1, NULL);
    cr_assert_eq(cairn_status(s.c, &status), 0, "%s", cairn_error(s.c));
    cr_assert(!buffered || strcmp(status.io_mode, "buffered") == 0, "%s", status.io_mode);
    cr_assert_eq(status.arena_bytes == 0, getenv("CAIRN_TEST_DAEMON_ARG") != NULL);
    const char *const way[] = { " committed", warm ? " path=arena " : " path=inline ", NULL };
    cr_assert_eq(tmp_lines_with(s.d.log, way), 1);
    site_down(&s);
}
