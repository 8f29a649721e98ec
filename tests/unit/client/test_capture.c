/* A capture by itself: order, copies, refusals; and that it talks to nobody. */
#include <stdio.h>
#include <stdlib.h>

#include "ground.h"
#include "lib/capture.h"
#include "record/digest.h"

CASE(capture, F20_N7_R10_asks_in_order_and_talks_to_nobody)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    fake_pause(&g.fake); /* nobody is there at all */
    cr_assert_eq(cairn_capture_weighted_with_dtypes(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
    cr_assert_str_eq(g.job.log, "Wm Pg Pm Po Ps Pu");
    unsigned frames = 0;
    for (uint32_t i = 0; i < FAKE_TYPES; i++) {
        frames += fake_seen(&g.fake, i);
    }
    cr_assert_eq(frames, 2, "HELLO and RUN_OPEN of the open, nothing else");
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(capture, N10_R13_R40_plain_is_the_same_bytes_with_or_without_the_options_there)
{
    struct ground g;
    struct cairn_record *plain = NULL;
    struct cairn_record *all = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &plain), 0);
    cr_assert_eq(cairn_capture_weighted_with_dtypes(g.c, &g.job.t, &all), 0);
    cr_assert_eq(plain->boundary.component_count, 5);
    cr_assert_eq(all->boundary.component_count, 7);
    for (uint32_t i = 0; i < 5; i++) {
        cr_assert_eq(plain->infos[i].component, i + 1);
        cr_assert(digest_equal(&plain->infos[i].digest, &all->infos[i].digest));
    }
    (void)cairn_record_free(plain);
    (void)cairn_record_free(all);
    ground_down(&g);
}

CASE(capture, E24_owns_a_copy)
{
    struct ground g;
    struct cairn_record *before = NULL;
    struct cairn_record *again = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &before), 0);
    struct digest digest = before->infos[0].digest;
    struct tensor *table = g.job.model.tensors[2];
    memset(table->data, 0xaa, table->bytes);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &again), 0);
    cr_assert(!digest_equal(&digest, &again->infos[0].digest));
    const struct layout_chunk *chunk = layout_chunk_at(before->layout, 0);
    struct digest now =
        digest_bytes(before->region->base + chunk->region_offset, chunk->chunk.bytes);
    cr_assert(digest_equal(&now, &chunk->chunk.digest), "the first record did not change");
    (void)cairn_record_free(before);
    (void)cairn_record_free(again);
    ground_down(&g);
}

/* Every byte of the stored form: digests, gaps and padding, over all size classes. */
CASE(capture, chunks_and_entries_match_their_digests)
{
    static const uint64_t sizes[] = { 1,       63,      64,      65,       4095,    4097,
                                      100000,  262143,  262145,  300001,   4194303, 4194304,
                                      8388607, 8388608, 8388609, 20000000, 3,       1048577 };
    struct ground g;
    struct cairn_record *r = NULL;
    struct digest first[64];
    ground_up(&g);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "t%02zu", i);
        (void)BOX_ADD(&g.job.model,
                      path,
                      i,
                      CAIRN_HAS_ID | (i % 3 != 0 ? CAIRN_TRAINABLE : 0),
                      CAIRN_U8,
                      1,
                      &sizes[i],
                      i);
    }
    for (int round = 0; round < 2; round++) { /* the second in a region full of old bytes */
        if (round == 1) {
            memset(r->region->base, 0xff, r->region->ready_bytes);
            (void)cairn_record_free(r);
        }
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
        for (uint32_t i = 0; i < layout_chunk_count(r->layout); i++) {
            const struct layout_chunk *c = layout_chunk_at(r->layout, i);
            const uint8_t *data = r->region->base + c->region_offset;
            struct digest d = digest_bytes(data, c->chunk.bytes);
            cr_assert(digest_equal(&d, &c->chunk.digest), "chunk %u", i);
            first[i] = round == 0 ? d : first[i];
            cr_assert(digest_equal(&d, &first[i]), "gaps of chunk %u", i);
            for (uint32_t k = c->chunk.bytes; k % 4096 != 0; k++) {
                cr_assert_eq(data[k], 0, "padding of chunk %u", i);
            }
        }
        for (size_t i = 0; i < g.job.model.count; i++) {
            const struct tensor *t = g.job.model.tensors[i];
            struct entry key = { .path = slice_str(t->path) };
            const struct entry *e = rec_find(&r->components[COMPONENT_MODEL], &key);
            const struct layout_chunk *c = layout_chunk_at(r->layout, e->first_chunk);
            const uint8_t *at = r->region->base + c->region_offset + e->offset_bytes;
            cr_assert_eq(memcmp(at, t->data, t->bytes), 0, "%s", t->path);
            struct digest d = digest_bytes(t->data, t->bytes);
            cr_assert(e->bytes >= LIMIT_OWN_CHUNK_BYTES || digest_equal(&d, &e->digest));
        }
    }
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(capture, reuses_its_regions)
{
    struct ground g;
    struct cairn_record *r[3] = { NULL };
    ground_up(&g);
    job_fill(&g.job, 1);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r[0]), 0);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r[1]), 0);
    const uint8_t *first = r[0]->region->base;
    const uint8_t *second = r[1]->region->base;
    cr_assert_neq(first, second);
    for (int i = 0; i < 5; i++) {
        r[0] = cairn_record_free(r[0]);
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r[0]), 0);
        cr_assert_eq(r[0]->region->base, first);
    }
    for (int i = 0; i < 2; i++) {
        (void)cairn_record_free(r[i]);
    }
    ground_down(&g);
}

static void bump_generation(struct job *j, struct cairn_writer *w)
{
    (void)w;
    j->generation++;
}

CASE(capture, R03_an_update_meanwhile_is_concurrent)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.job.optimizer.during_put = bump_generation;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_ECONCURRENT);
    cr_assert_null(r);
    g.job.optimizer.during_put = NULL;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "the next one is fine");
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* What the trainer does between two steps of a capture at which no callback of it is called: the
 * linker puts these in between (CMakeLists.txt). */
static uint64_t *update_at_window;
static uint64_t *update_at_slots;

int real_window_check(const struct cairn_window *w, struct err *err) __asm__("__real_window_check");
int wrap_window_check(const struct cairn_window *w, struct err *err) __asm__("__wrap_window_check");
int real_slot_finish_all(struct capture *cap) __asm__("__real_slot_finish_all");
int wrap_slot_finish_all(struct capture *cap) __asm__("__wrap_slot_finish_all");

int wrap_window_check(const struct cairn_window *w, struct err *err)
{
    if (update_at_window != NULL) {
        (*update_at_window)++;
    }
    return real_window_check(w, err);
}

int wrap_slot_finish_all(struct capture *cap)
{
    if (update_at_slots != NULL) {
        (*update_at_slots)++;
    }
    return real_slot_finish_all(cap);
}

/* From before the window is read until the last slot is filled. */
CASE(capture, R03_is_of_one_generation_from_its_first_read_to_its_last)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    update_at_window = &g.job.generation;
    cr_assert_eq(cairn_capture_weighted(g.c, &g.job.t, &r), -CAIRN_ECONCURRENT);
    update_at_window = NULL;
    update_at_slots = &g.job.generation;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_ECONCURRENT);
    update_at_slots = NULL;
    cr_assert_eq(cairn_capture_weighted(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(capture, F3_F20_R10_R18_a_failed_gradient_ends_it_before_anything_else_is_read)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.job.gradients.put_rc = -CAIRN_EIO;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EIO);
    cr_assert_str_eq(g.job.log, "Pg");
    cr_assert_null(r);
    cr_assert_not_null(strstr(cairn_error(g.c), "gradients"), "%s", cairn_error(g.c));
    ground_down(&g);
}

static void put_twice(struct job *j, struct cairn_writer *w)
{
    (void)j;
    (void)cairn_put_u64(w, "twice", 1);
    (void)cairn_put_u64(w, "twice", 2);
}

static void put_bad(struct job *j, struct cairn_writer *w)
{
    (void)j;
    (void)cairn_put_u64(w, "", 1); /* its result is ignored: the capture fails all the same */
}

CASE(capture, E17_doubles_and_ignored_failures_fail_it)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    g.job.state.during_put = put_twice;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EEXIST);
    cr_assert_not_null(strstr(cairn_error(g.c), "twice"), "%s", cairn_error(g.c));
    g.job.state.during_put = put_bad;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    ground_down(&g);
}

CASE(capture, E9_E30_E32_refuses_what_is_no_tensor)
{
    static const uint64_t huge[] = { UINT64_MAX / 2, 8 };
    static const uint64_t two[] = { 2 };
    static const struct {
        const char *says;
        struct cairn_entry e;
    } wrong[] = {
        { "capture: model 'x': unknown dtype 200, expected",
          { .path = "x", .dtype = 200, .rank = 1, .shape = two } },
        { "capture: model 'x': unknown dtype 0, expected", { .path = "x", .dtype = 0 } },
        { "model 'x': rank 33, expected at most 32",
          { .path = "x", .dtype = CAIRN_F32, .rank = 33, .shape = two } },
        { "model 'x': rank 1 and shape NULL", { .path = "x", .dtype = CAIRN_F32, .rank = 1 } },
        { "model 'x': the bytes of its shape (rank 2) x F32 overflow",
          { .path = "x", .dtype = CAIRN_F32, .rank = 2, .shape = huge } },
        { "model 'x': unknown flags", { .path = "x", .flags = 64, .dtype = CAIRN_F32 } },
        { "model: path of 0 bytes", { .path = "", .dtype = CAIRN_F32 } },
        { "model: a tensor needs an entry with a path", { .dtype = CAIRN_F32 } },
        { "model '\\xff': the path is not UTF-8", { .path = "\xff", .dtype = CAIRN_F32 } },
        { "the path is not UTF-8", { .path = "\xed\xa0\x80", .dtype = CAIRN_F32 } },
    };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct tensor *t = BOX_ADD(&g.job.model, "x", 0, 0, CAIRN_F32, 0, NULL, 1);
        t->entry = wrong[i].e;
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL, "%s", wrong[i].says);
        cr_assert_not_null(strstr(cairn_error(g.c), wrong[i].says), "%s", cairn_error(g.c));
        job_fini(&g.job);
    }
    ground_down(&g);
}

CASE(capture, E11_a_bool_is_0_or_1_and_a_bool_u32_is_its_bytes)
{
    static const uint64_t shape[] = { 3 };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    struct tensor *wide = BOX_ADD(&g.job.model, "wide", 0, 0, CAIRN_BOOL_U32, 1, shape, 1);
    wide->data[0] = 7;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0);
    r = cairn_record_free(r);
    struct tensor *b = BOX_ADD(&g.job.model, "mask", 0, 0, CAIRN_BOOL, 1, shape, 1);
    b->data[2] = 2;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    cr_assert_not_null(
        strstr(cairn_error(g.c), "model 'mask': element 2 of a bool"), "%s", cairn_error(g.c));
    b->by_slot = true;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    cr_assert_not_null(
        strstr(cairn_error(g.c), "model 'mask': element 2 of a bool"), "%s", cairn_error(g.c));
    ground_down(&g);
}

CASE(capture, E18_tied_parameters_are_one_parameter)
{
    static const uint64_t shape[] = { 4 };
    const uint32_t both = CAIRN_HAS_ID | CAIRN_TRAINABLE;
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    (void)BOX_ADD(&g.job.model, "a", 5, both, CAIRN_F32, 1, shape, 1);
    struct tensor *b = BOX_ADD(&g.job.model, "b", 5, both, CAIRN_F32, 1, shape, 1);
    (void)BOX_ADD(&g.job.model, "frozen alias", 5, CAIRN_HAS_ID, CAIRN_F16, 1, shape, 2);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
    r = cairn_record_free(r);
    b->data[0] ^= 1;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    cr_assert_not_null(strstr(cairn_error(g.c), "values"), "%s", cairn_error(g.c));
    b->data[0] ^= 1;
    b->entry.dtype = CAIRN_U32;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    ground_down(&g);
}

static void put_scalars(struct job *j, struct cairn_writer *w)
{
    char *long_text = malloc((64u << 10) + 2);
    (void)j;
    memset(long_text, 'x', (64u << 10) + 1);
    long_text[(64u << 10) + 1] = '\0';
    cr_assert_eq(cairn_put_str(w, "too long", long_text), -CAIRN_ELIMIT);
    cr_assert_eq(cairn_put_bytes(w, "too long", long_text, (64u << 10) + 1), -CAIRN_ELIMIT);
    cr_assert_eq(cairn_put_str(w, "utf8", "\xc0\x80"), -CAIRN_EINVAL);
    cr_assert_eq(cairn_put_str(w, "null", NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_put_bytes(w, "null", NULL, 1), -CAIRN_EINVAL);
    cr_assert_eq(cairn_put_u64(w, NULL, 1), -CAIRN_EINVAL);
    cr_assert_eq(cairn_put_id_u64(w, NULL, 1, 1), -CAIRN_EINVAL);
    cr_assert_eq(cairn_put(w, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_put_slot(w, NULL, NULL), -CAIRN_EINVAL);
    free(long_text);
}

CASE(capture, refuses_scalars_over_their_limits)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    g.job.state.during_put = put_scalars;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_ELIMIT);
    ground_down(&g);
}

CASE(capture, a_type_has_a_limit)
{
    char type[300];
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    memset(type, 'x', sizeof type - 1);
    type[sizeof type - 1] = '\0';
    g.job.t.model.type = type;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    type[255] = '\0';
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* ---- slots
 * ------------------------------------------------------------------------------------------------
 */

CASE(slots, hold_the_same_record_as_puts)
{
    static const uint64_t sizes[] = { 0, 5, 70000, 3000000, 9000000 };
    struct ground g;
    struct cairn_record *by_put = NULL;
    struct cairn_record *by_slot = NULL;
    ground_up(&g);
    for (size_t i = 0; i < 5; i++) {
        char path[8];
        (void)snprintf(path, sizeof path, "t%zu", i);
        (void)BOX_ADD(&g.job.model, path, i, CAIRN_HAS_ID, CAIRN_U8, 1, &sizes[i], i);
    }
    (void)BOX_ADD(&g.job.state, "small", 0, 0, CAIRN_U8, 1, &sizes[1], 3);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &by_put), 0);
    for (size_t i = 0; i < 5; i++) {
        g.job.model.tensors[i]->by_slot = i % 2 == 0 || i > 2;
    }
    g.job.state.tensors[0]->by_slot = true;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &by_slot), 0, "%s", cairn_error(g.c));
    for (uint32_t i = 0; i < 5; i++) {
        cr_assert(digest_equal(&by_put->infos[i].digest, &by_slot->infos[i].digest),
                  "component %u",
                  i + 1);
    }
    for (uint32_t i = 0; i < layout_chunk_count(by_put->layout); i++) {
        cr_assert(digest_equal(&layout_chunk_at(by_put->layout, i)->chunk.digest,
                               &layout_chunk_at(by_slot->layout, i)->chunk.digest));
    }
    (void)cairn_record_free(by_put);
    (void)cairn_record_free(by_slot);
    ground_down(&g);
}

static void finish_model_slot(struct job *j, struct cairn_writer *w)
{
    (void)w;
    cr_assert_eq(job_fill_slot(j, j->open_count - 1), 0);
    cr_assert_eq(job_fill_slot(j, j->open_count - 1), -CAIRN_EINVAL, "twice");
}

static void fail_model_slot(struct job *j, struct cairn_writer *w)
{
    (void)w;
    cr_assert_eq(cairn_slot_done(j->c, &j->open[j->open_count - 1].slot, -CAIRN_EIO), 0);
}

CASE(slots, F2_F4_may_be_done_later_but_not_after_the_capture)
{
    static const uint64_t sizes[] = { 10, 100000 };
    for (size_t i = 0; i < 2; i++) {
        struct ground g;
        struct cairn_record *r = NULL;
        ground_up(&g);
        struct tensor *t = BOX_ADD(&g.job.model, "x", 1, CAIRN_HAS_ID, CAIRN_U8, 1, &sizes[i], 1);
        t->by_slot = true;
        g.job.model.leave_open = true;
        g.job.state.during_put = finish_model_slot;
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
        struct digest d = digest_bytes(t->data, t->bytes);
        cr_assert(digest_equal(&d, &r->components[COMPONENT_MODEL].entries[1].digest));
        r = cairn_record_free(r);
        g.job.state.during_put = fail_model_slot;
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EIO);
        g.job.state.during_put = NULL;
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_ESYNC);
        cr_assert_null(r);
        cr_assert_not_null(strstr(cairn_error(g.c), "'x' (id 1)"), "%s", cairn_error(g.c));
        cr_assert_eq(job_fill_slot(&g.job, 2), 0, "its place is there until now");
        cr_assert_eq(cairn_slot_done(g.c, &g.job.open[2].slot, 0), -CAIRN_EINVAL, "it is gone");
        cr_assert_null(g.c->draining);
        ground_down(&g);
    }
}

static void *say_done(void *job)
{
    const struct job *j = job;
    (void)cairn_slot_done(j->c, &j->open[0].slot, 0);
    return NULL;
}

/* Where the thread that says "done" is kept while the capture ends. */
static pthread_t saying;

static void start_saying(struct job *j, struct cairn_writer *w)
{
    const struct tensor *t = j->model.tensors[0];
    (void)w;
    memcpy(j->open[0].slot.dst, t->data, t->bytes);
    cr_assert_eq(pthread_create(&saying, NULL, say_done, j), 0);
}

/* Done in time or not, but never half of it: what the thread sanitizer watches. */
CASE(slots, may_be_done_by_a_thread_while_the_capture_ends)
{
    static const uint64_t bytes[] = { 100000 };
    struct ground g;
    ground_up(&g);
    struct tensor *t = BOX_ADD(&g.job.model, "x", 1, CAIRN_HAS_ID, CAIRN_U8, 1, bytes, 1);
    t->by_slot = true;
    g.job.model.leave_open = true;
    g.job.state.during_put = start_saying;
    for (int i = 0; i < 100; i++) {
        struct cairn_record *r = NULL;
        g.job.log[0] = '\0';
        g.job.open_count = 0;
        int rc = cairn_capture(g.c, &g.job.t, &r);
        cr_assert(rc == 0 || rc == -CAIRN_ESYNC, "%s", cairn_error(g.c));
        cr_assert_eq(pthread_join(saying, NULL), 0);
        if (rc == 0) {
            struct digest d = digest_bytes(t->data, t->bytes);
            cr_assert(digest_equal(&d, &r->components[COMPONENT_MODEL].entries[1].digest));
        }
        (void)cairn_record_free(r);
    }
    ground_down(&g);
}

/* Tied tensors are compared by what their slots hold in the end. */
CASE(slots, may_hold_tied_tensors)
{
    static const uint64_t bytes[] = { 100000 };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    struct tensor *a = BOX_ADD(&g.job.model, "a", 1, CAIRN_HAS_ID, CAIRN_U8, 1, bytes, 1);
    struct tensor *b = BOX_ADD(&g.job.model, "b", 1, CAIRN_HAS_ID, CAIRN_U8, 1, bytes, 1);
    a->by_slot = true;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
    r = cairn_record_free(r);
    b->by_slot = true;
    b->data[7]++;
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    ground_down(&g);
}

/* ---- arguments ---- */

CASE(arguments, no_handle_no_trainer_no_place)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    cr_assert_eq(cairn_open(NULL, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_admin_open(NULL, NULL), -CAIRN_EINVAL);
    cr_assert_null(cairn_close(NULL));
    cr_assert_str_eq(cairn_error(NULL), "");
    cr_assert_eq(cairn_set_timeout(NULL, 1), -CAIRN_EINVAL);
    cr_assert_eq(cairn_set_timeout(g.c, 0), -CAIRN_EINVAL);
    cr_assert_eq(cairn_capture(NULL, &g.job.t, &r), -CAIRN_EINVAL);
    cr_assert_eq(cairn_capture(g.c, NULL, &r), -CAIRN_EINVAL);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, NULL), -CAIRN_EINVAL);
    g.job.t.window = NULL;
    cr_assert_eq(cairn_capture_weighted(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    g.job.t.param = NULL;
    cr_assert_eq(cairn_capture_with_dtypes(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    ground_down(&g);
}

CASE(arguments, no_writer_no_reader)
{
    cr_assert_eq(cairn_put(NULL, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_put_slot(NULL, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_put_u64(NULL, "x", 1), -CAIRN_EINVAL);
    cr_assert_eq(cairn_put_str(NULL, "x", NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_put_id_u64(NULL, "x", 1, 1), -CAIRN_EINVAL);
    cr_assert_eq(cairn_slot_done(NULL, NULL, 0), -CAIRN_EINVAL);
    cr_assert_eq(cairn_get(NULL, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_get_u64(NULL, "x", NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_get_bool(NULL, "x", NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_get_str(NULL, "x", NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_get_bytes(NULL, "x", NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_get_id_u64(NULL, "x", 1, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_entry_at(NULL, 0, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_entry_digest(NULL, 0, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_entry_text(NULL, 0, NULL, 0), -CAIRN_EINVAL);
    cr_assert_null(cairn_dtype_name(12345));
    cr_assert_eq(cairn_dtype_bits(12345), 0);
}

CASE(arguments, nothing_to_save_load_or_look_at)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_boundary b;
    size_t count = 0;
    ground_up(&g);
    cr_assert_eq(cairn_save(g.c, NULL, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_save(g.c, &r, &(struct cairn_save_args){ 0 }, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_save_start(g.c, &r, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_save_wait(NULL, 0, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_save_find(g.c, NULL, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_find(g.c, NULL, 1, &b, &count), -CAIRN_EINVAL);
    cr_assert_eq(cairn_find(g.c, "latest", 0, &b, &count), -CAIRN_EINVAL);
    cr_assert_eq(cairn_load(g.c, NULL, 0, &r), -CAIRN_EINVAL);
    cr_assert_eq(cairn_load(g.c, "latest", -1, &r), -CAIRN_EINVAL);
    cr_assert_eq(cairn_load(g.c, "latest~~", 0, &r), -CAIRN_EINVAL);
    cr_assert_null(cairn_record_free(NULL));
    cr_assert_eq(cairn_record_info(NULL, &b), -CAIRN_EINVAL);
    cr_assert_eq(cairn_record_component(NULL, CAIRN_MODEL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_restore(g.c, NULL, &g.job.t), -CAIRN_EINVAL);
    cr_assert_eq(cairn_admin_run(g.c, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_runs(g.c, false, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_status(g.c, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_record_label(NULL, 0, NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_record_component_info(NULL, CAIRN_MODEL, NULL), -CAIRN_EINVAL);
    ground_down(&g);
}

CASE(arguments, an_empty_trainer_is_a_record)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_trainer none = { 0 };
    struct cairn_boundary b;
    const struct cairn_reader *reader = NULL;
    ground_up(&g);
    cr_assert_eq(cairn_capture(g.c, &none, &r), 0);
    cr_assert_eq(cairn_record_info(r, &b), 0);
    cr_assert_eq(b.entry_count, 0);
    cr_assert_eq(b.seq, 0);
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &reader), -CAIRN_EINVAL, "captured");
    (void)cairn_record_free(r);
    ground_down(&g);
}
