/* Captures count NaN and Inf, wherever the bytes of a tensor come from and go to. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ground.h"
#include "lib/rec.h"

#define CHUNK_ELEMENTS ((8u << 20) / 4)

static const float bad[] = { NAN, INFINITY, -INFINITY };

static void put_f32(struct tensor *t, uint64_t index, float value)
{
    memcpy(t->data + index * sizeof value, &value, sizeof value);
}

/* A tensor of ones, but for the last element and those at these places. */
static struct tensor *
add(struct box *b, const char *path, uint32_t flags, uint64_t elements, const uint64_t places[2])
{
    struct tensor *t = BOX_ADD(b, path, 0, flags, CAIRN_F32, 1, &elements, 1);
    for (uint64_t i = 0; i < elements; i++) {
        put_f32(t, i, 1.0f);
    }
    for (size_t i = 0; i < 2; i++) {
        put_f32(t, places[i] < elements ? places[i] : 0, bad[i]);
    }
    put_f32(t, elements - 1, bad[2]);
    return t;
}

static struct nonfinite count_of(const struct tensor *t)
{
    struct nonfinite n = { 0 };
    for (uint64_t i = 0; t->entry.dtype == CAIRN_F32 && i < t->bytes / 4; i++) {
        float value = 0;
        memcpy(&value, t->data + i * sizeof value, sizeof value);
        n.nan += isnan(value) != 0;
        n.inf += isinf(value) != 0;
    }
    return n;
}

/* Every entry of a component as its tensor is, and their sum. */
static void check(struct cairn_record *r, enum component component, const struct box *b)
{
    struct nonfinite sum = { 0 };
    const struct component_info *info = rec_info(r, component);
    for (size_t i = 0; i < b->count; i++) {
        const struct tensor *t = b->tensors[i];
        const struct entry *e = ground_entry(r, component, t->path, t->entry.id);
        struct nonfinite want = count_of(t);
        cr_assert(e->nonfinite.nan == want.nan && e->nonfinite.inf == want.inf,
                  "%s: %llu NaN and %llu Inf, expected %llu and %llu",
                  t->path,
                  (unsigned long long)e->nonfinite.nan,
                  (unsigned long long)e->nonfinite.inf,
                  (unsigned long long)want.nan,
                  (unsigned long long)want.inf);
        sum.nan += want.nan;
        sum.inf += want.inf;
    }
    cr_assert(info->nonfinite.nan == sum.nan && info->nonfinite.inf == sum.inf);
}

/* All sizes: in its entry, in a shared chunk in one block or several, in chunks of its own with
 * bad values at their edges. */
static void fill(struct box *b, bool by_slot)
{
    static const uint64_t elements[] = { 1,
                                         3,
                                         4095,
                                         4096,
                                         4097,
                                         8193,
                                         300000,
                                         (4u << 20) / 4 - 1,
                                         (4u << 20) / 4,
                                         CHUNK_ELEMENTS,
                                         2 * CHUNK_ELEMENTS + 1 };
    static const uint64_t places[] = { CHUNK_ELEMENTS - 1, CHUNK_ELEMENTS };
    static const uint64_t middle[] = { 4095, 4096 };
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "t%02zu", i);
        struct tensor *t = add(b,
                               path,
                               i % 2 == 0 ? CAIRN_TRAINABLE : 0,
                               elements[i],
                               elements[i] > CHUNK_ELEMENTS ? places : middle);
        t->by_slot = by_slot;
    }
}

CASE(finite_capture, V5_wherever_the_bytes_lie_and_with_any_number_of_threads)
{
    struct ground g;
    ground_up(&g);
    fill(&g.job.model, false);
    fill(&g.job.optimizer, true);
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct cairn_record *r = NULL;
        cr_assert_eq(cairn_set_threads(g.c, threads), 0);
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
        check(r, COMPONENT_MODEL, &g.job.model);
        check(r, COMPONENT_OPTIMIZER, &g.job.optimizer);
        cr_assert(r->boundary.not_finite);
        (void)cairn_record_free(r);
    }
    ground_down(&g);
}

/* Regions and chunks are reused: what was counted in them before is gone. */
CASE(finite_capture, of_a_later_capture_are_its_own)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    fill(&g.job.model, false);
    fill(&g.job.optimizer, true);
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
        check(r, COMPONENT_MODEL, &g.job.model);
        check(r, COMPONENT_OPTIMIZER, &g.job.optimizer);
        cr_assert_eq(r->boundary.not_finite, round == 0);
        cr_assert_eq(r->boundary.nonfinite.nan == 0, round == 1);
        (void)cairn_record_free(r);
        for (size_t i = 0; i < g.job.model.count; i++) {
            memset(g.job.model.tensors[i]->data, 0, g.job.model.tensors[i]->bytes);
            memset(g.job.optimizer.tensors[i]->data, 0, g.job.optimizer.tensors[i]->bytes);
        }
    }
    ground_down(&g);
}

/* A component of at most 64 KiB has its values in its entries. */
CASE(finite_capture, of_values_in_their_entries)
{
    static const uint64_t places[] = { 1, 2 };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    for (int i = 0; i < 4; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "t%02d", i);
        add(&g.job.model, path, CAIRN_TRAINABLE, 5, places)->by_slot = i % 2 == 1;
    }
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
    cr_assert_eq(layout_chunk_count(r->layout), 0);
    check(r, COMPONENT_MODEL, &g.job.model);
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(finite_capture, of_a_tied_parameter_are_those_of_each_path)
{
    static const uint64_t elements[] = { 4, 100000, 2u << 20 };
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        struct ground g;
        struct cairn_record *r = NULL;
        ground_up(&g);
        struct tensor *a = BOX_ADD(
            &g.job.model, "a", 7, CAIRN_HAS_ID | CAIRN_TRAINABLE, CAIRN_F32, 1, &elements[i], 1);
        struct tensor *b = BOX_ADD(
            &g.job.model, "b", 7, CAIRN_HAS_ID | CAIRN_TRAINABLE, CAIRN_F32, 1, &elements[i], 1);
        memset(a->data, 0, a->bytes);
        put_f32(a, elements[i] - 1, NAN);
        memcpy(b->data, a->data, b->bytes);
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
        check(r, COMPONENT_MODEL, &g.job.model);
        cr_assert_eq(r->boundary.nonfinite.nan, 2);
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

/* What is stored counts: 1e20 is infinite as F16, and was finite before. */
CASE(finite_capture, V6_of_another_precision_are_those_of_the_values_stored)
{
    static const uint64_t four[] = { 4 };
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_boundary b;
    struct cairn_save_args half = { .step = 1, .precision = CAIRN_HALF, .lossy_ok = true };
    ground_up(&g);
    struct tensor *t = BOX_ADD(&g.job.model, "w", 0, CAIRN_TRAINABLE, CAIRN_F32, 1, four, 1);
    memset(t->data, 0, t->bytes);
    put_f32(t, 1, 1e20f);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
    cr_assert_eq(cairn_record_info(r, &b), 0);
    cr_assert(b.finite && b.inf_count == 0);
    cr_assert_eq(cairn_save(g.c, &r, &half, &b), 0, "%s", cairn_error(g.c));
    cr_assert(!b.finite && b.inf_count == 1 && b.nan_count == 0);

    struct cairn_save_args full = { .step = 2, .precision = CAIRN_DOUBLE };
    put_f32(t, 0, NAN);
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
    cr_assert_eq(cairn_save(g.c, &r, &full, &b), 0, "%s", cairn_error(g.c));
    cr_assert(!b.finite && b.inf_count == 0 && b.nan_count == 1, "not those of both captures");
    ground_down(&g);
}

/* ---- what a load believes ---- */

enum lie { LIE_ENTRY, LIE_COMPONENT, LIE_SUM, LIE_FLAG };

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the hook */
static void lie(struct fake *f, uint32_t type, union wire_msg *msg, uint8_t *payload)
{
    static struct entry entries[2];
    static struct component_info infos[COMPONENT_NR];
    struct boundary *b = &msg->described.boundary;
    (void)payload;
    if (type == WIRE_ENTRIES && f->knob == LIE_ENTRY && msg->entries.component == COMPONENT_MODEL) {
        memcpy(entries, msg->entries.entries, sizeof entries);
        entries[1].nonfinite.nan++;
        msg->entries.entries = entries;
    }
    if (type != WIRE_DESCRIBED || f->knob == LIE_ENTRY) {
        return;
    }
    memcpy(infos, b->components, b->component_count * sizeof infos[0]);
    infos[0].nonfinite.inf += f->knob == LIE_COMPONENT;
    b->components = infos;
    b->nonfinite.inf += f->knob == LIE_COMPONENT || f->knob == LIE_SUM;
    b->not_finite = b->not_finite != (f->knob == LIE_FLAG);
}

/* One that was changed on its way differs from the sums, or they from it. */
CASE(finite_capture, a_load_believes_no_count_that_does_not_follow_from_the_entries)
{
    static const char *const words[] = {
        [LIE_ENTRY] = "model: its NaN and Inf are not those that were counted",
        [LIE_COMPONENT] = "model: its NaN and Inf are not those that were counted",
        [LIE_SUM] = "its sums are not those of its components",
        [LIE_FLAG] = "its entries do not say whether it is finite as it does",
    };
    static const uint64_t three[] = { 3 };
    struct ground g;
    ground_up(&g);
    struct tensor *t = BOX_ADD(&g.job.model, "w", 0, CAIRN_TRAINABLE, CAIRN_F32, 1, three, 1);
    memset(t->data, 0, t->bytes);
    put_f32(t, 1, NAN);
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "%s", cairn_error(g.c));
    ground_check_newest(&g);
    g.fake.mangle = lie;
    for (unsigned knob = 0; knob < sizeof words / sizeof words[0]; knob++) {
        struct cairn_record *r = NULL;
        g.fake.knob = knob;
        cr_assert_eq(cairn_load(g.c, "latest", 0, &r), -CAIRN_ECORRUPT, "%u", knob);
        cr_assert_not_null(strstr(cairn_error(g.c), words[knob]), "%s", cairn_error(g.c));
    }
    ground_down(&g);
}
