/* What comes back is what was put, to the bit, and nothing else; and it stays while it is read. */
#include <cairn/admin.h>
#include <stdio.h>
#include <string.h>
#if defined __x86_64__
#include <xmmintrin.h>
#endif

#include "site.h"
#include "support/case.h"

/* The same patterns over and over, so that each of them also stands at the ends of chunks; and the
 * trainer's processor is told to flush what is denormal. */
CASE(client, E1_E2_E3_bits_are_kept_at_every_end_of_a_chunk, .timeout = 60)
{
    static const uint64_t bits64[] = {
        0x7ff0000000000001, 0xfff8dead0000beef, 0x8000000000000000, 0x0000000000000001,
        0x800fffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
    };
    static const uint32_t bits32[] = { 0x7f800001, 0xffc0beef, 0x80000000, 0x00000001,
                                       0x807fffff, 0x7f800000, 0xff800000 };
    static const uint16_t bits16[] = { 0x7d01, 0xfe00, 0x8000, 0x0001, 0x83ff, 0x7c00, 0xfc00 };
    static const struct {
        const char *path;
        uint32_t dtype;
        const void *bits;
        uint64_t elements, bytes, period_bytes;
    } tensors[] = {
        { "f64", CAIRN_F64, bits64, 2500003, 20000024, sizeof bits64 },
        { "f32", CAIRN_F32, bits32, 5000003, 20000012, sizeof bits32 },
        { "f16", CAIRN_F16, bits16, 9000001, 18000002, sizeof bits16 },
        { "bf16", CAIRN_BF16, bits32, 9000001, 18000002, sizeof bits32 },
        { "packed f32", CAIRN_F32, bits32, 100003, 400012, sizeof bits32 },
    };
    struct site s;
    site_up(&s);
#if defined __x86_64__
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); /* FTZ, DAZ */
#endif
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        struct tensor *t = BOX_ADD(&s.job.model,
                                   tensors[i].path,
                                   i,
                                   CAIRN_HAS_ID,
                                   tensors[i].dtype,
                                   1,
                                   &tensors[i].elements,
                                   i);
        cr_assert_eq(t->bytes, tensors[i].bytes);
        for (uint64_t k = 0; k < t->bytes; k++) {
            t->data[k] = ((const uint8_t *)tensors[i].bits)[k % tensors[i].period_bytes];
        }
    }
    site_save(&s, 1, NULL);
    site_check(&s, "latest");
#if defined __x86_64__
    _mm_setcsr(before);
#endif
    site_down(&s);
}

static int put_times(void *self, struct cairn_writer *w)
{
    (void)self;
    int rc = cairn_put_id_u64(w, "time", 0, 1);
    rc = rc < 0 ? rc : cairn_put_id_u64(w, "time", UINT64_MAX, 1);
    return rc < 0 ? rc : cairn_put_u64(w, "time", 5);
}

/* Nobody makes anything up: what was put is there, and of what nobody put there is nothing. */
CASE(client, R04_an_empty_state_comes_back_empty)
{
    struct site s;
    struct cairn_record *r = NULL;
    struct cairn_boundary b;
    struct cairn_entry e;
    site_up(&s);
    struct cairn_trainer t = { .optimizer = { .put = put_times } };
    cr_assert_eq(cairn_capture(s.c, &t, &r), 0, "%s", cairn_error(s.c));
    cr_assert_eq(cairn_save(s.c, &r, &(struct cairn_save_args){ .step = 1 }, &b), 0);
    cr_assert_eq(b.entry_count, 3);
    cr_assert_eq(cairn_load(s.c, "latest", 0, &r), 0, "%s", cairn_error(s.c));
    for (uint32_t id = CAIRN_MODEL; id <= CAIRN_CONTRACT; id++) {
        const struct cairn_reader *reader = NULL;
        int there = cairn_record_component(r, (enum cairn_component_id)id, &reader);
        cr_assert_eq(there, id <= CAIRN_STATE ? 0 : -CAIRN_ENOENT, "component %u", id);
        if (there == 0) {
            uint64_t first = id == CAIRN_OPTIMIZER ? 3 : 0;
            cr_assert_eq(cairn_entry_at(reader, first, &e), -CAIRN_ENOENT, "component %u", id);
        }
    }
    cr_assert_eq(cairn_restore(s.c, r, &t), 0, "%s", cairn_error(s.c));
    (void)cairn_record_free(r);
    site_down(&s);
}

/* Who reads keeps what is read: nothing is removed below it, whatever is saved meanwhile. */
CASE(client, E29_a_boundary_that_is_being_read_is_not_removed)
{
    const uint64_t bytes = 5000000;
    struct site s;
    struct job was;
    struct cairn *admin = NULL;
    struct cairn_record *r = NULL;
    site_up(&s);
    for (uint64_t i = 0; i < 3; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "layer.%llu", (unsigned long long)i);
        (void)BOX_ADD(&s.job.model, path, i, CAIRN_HAS_ID, CAIRN_U8, 1, &bytes, i);
    }
    site_save(&s, 1, NULL);
    job_like(&was, &s.job);
    cr_assert_eq(cairn_load(s.c, "latest", 0, &r), 0, "%s", cairn_error(s.c));
    cr_assert_eq(cairn_admin_open(s.d.socket, &admin), 0, "%s", cairn_error(admin));
    cr_assert_eq(cairn_admin_run(admin, "demo"), 0);
    cr_assert_eq(cairn_run_drop(admin), -CAIRN_EBUSY);
    s.job.model.tensors[1]->data[0] ^= 1;
    site_save(&s, 2, NULL);
    s.job.model.tensors[1]->data[0] ^= 1;
    cr_assert_eq(cairn_restore(s.c, r, &was.t), 0, "%s", cairn_error(s.c));
    cr_assert_null(job_differs(&s.job, &was), "%s", job_differs(&s.job, &was));
    cr_assert_eq(cairn_run_drop(admin), -CAIRN_EBUSY, "it may be read once more");
    r = cairn_record_free(r);
    s.c = cairn_close(s.c);
    int rc = 0;
    do { /* until the daemon has seen that the reader is gone */
        rc = cairn_run_drop(admin);
    } while (rc == -CAIRN_EBUSY);
    cr_assert_eq(rc, 0, "%s", cairn_error(admin));
    (void)cairn_close(admin);
    job_fini(&was);
    site_down(&s);
}
