/* NaN and infinities at a real daemon: which make a boundary one that is not finite, and who is
 * told of them, and where. */
#include <cairn/admin.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "site.h"
#include "support/case.h"

enum { WAIT_MS = 20000 };

static const uint64_t four[] = { 4 };

static void put_f32(struct tensor *t, uint64_t index, float value)
{
    memcpy(t->data + index * sizeof value, &value, sizeof value);
}

/* A tensor of zeros. */
static struct tensor *add(struct box *b, const char *path, uint32_t flags, const uint64_t *elements)
{
    struct tensor *t = BOX_ADD(b, path, 7, flags | CAIRN_HAS_ID, CAIRN_F32, 1, elements, 1);
    memset(t->data, 0, t->bytes);
    return t;
}

/* Saved, listed, loaded: each says the same of it. */
static void
saved(struct site *s, const struct cairn_save_args *a, bool finite, uint64_t nan, uint64_t inf)
{
    struct cairn_boundary b[3] = { 0 };
    struct cairn_record *r = NULL;
    size_t count = 0;
    cr_assert_eq(cairn_capture(s->c, &s->job.t, &r), 0, "%s", cairn_error(s->c));
    cr_assert_eq(cairn_save(s->c, &r, a, &b[0]), 0, "%s", cairn_error(s->c));
    cr_assert_eq(cairn_find(s->c, "latest", 1, &b[1], &count), 0, "%s", cairn_error(s->c));
    cr_assert_eq(cairn_load(s->c, "latest", 0, &r), 0, "%s", cairn_error(s->c));
    cr_assert_eq(cairn_record_info(r, &b[2]), 0);
    for (size_t i = 0; i < 3; i++) {
        cr_assert(b[i].finite == finite && b[i].nan_count == nan && b[i].inf_count == inf,
                  "step %llu, answer %zu: %d, %llu NaN, %llu Inf",
                  (unsigned long long)a->step,
                  i,
                  b[i].finite,
                  (unsigned long long)b[i].nan_count,
                  (unsigned long long)b[i].inf_count);
    }
    (void)cairn_record_free(r);
}

static void saved_as(struct site *s, uint64_t step, bool finite, uint64_t nan, uint64_t inf)
{
    saved(s, &(struct cairn_save_args){ .step = step }, finite, nan, inf);
}

CASE(finite, goes_by_what_is_trained, .timeout = 60)
{
    struct site s;
    site_up(&s);
    struct tensor *weight = add(&s.job.model, "weight", CAIRN_TRAINABLE, four);
    struct tensor *mask = add(&s.job.model, "mask", 0, four);
    struct tensor *moment = add(&s.job.optimizer, "moment", 0, four);
    struct tensor *gradient = add(&s.job.gradients, "gradient", 0, four);
    struct tensor *state = add(&s.job.state, "ema", CAIRN_TRAINABLE, four);
    saved_as(&s, 1, true, 0, 0);
    put_f32(gradient, 0, NAN);
    put_f32(gradient, 1, -INFINITY);
    saved_as(&s, 2, true, 1, 1);
    put_f32(mask, 3, NAN);
    put_f32(state, 3, NAN);
    saved_as(&s, 3, true, 3, 1);
    put_f32(weight, 3, NAN);
    saved_as(&s, 4, false, 4, 1);
    put_f32(weight, 3, 0);
    put_f32(moment, 0, INFINITY);
    saved_as(&s, 5, false, 3, 2);
    put_f32(moment, 0, 0);
    saved_as(&s, 6, true, 3, 1);
    site_down(&s);
}

/* ---- every entry ---- */

#define CHUNK_ELEMENTS ((8u << 20) / 4)

static void check_entries(struct cairn_record *r, enum cairn_component_id id, uint64_t bad)
{
    const struct cairn_reader *reader = NULL;
    struct cairn_component_info info;
    struct cairn_entry e;
    uint64_t tensors = 0;
    cr_assert_eq(cairn_record_component(r, id, &reader), 0);
    for (uint64_t i = 0; cairn_entry_at(reader, i, &e) == 0; i++) {
        bool tensor = e.kind == CAIRN_TENSOR;
        cr_assert_eq(e.nan_count, tensor ? 1 : 0, "%s", e.path);
        cr_assert_eq(e.inf_count, tensor ? 2 : 0, "%s", e.path);
        tensors += tensor;
    }
    cr_assert_eq(tensors, bad);
    cr_assert_eq(cairn_record_component_info(r, id, &info), 0);
    cr_assert(info.nan_count == tensors && info.inf_count == 2 * tensors);
}

/* Values in entries, shared chunks, chunks of their own; by put and by slot; with helpers. */
static void all_ways(bool by_slot, unsigned threads, bool small)
{
    static const uint64_t elements[] = { 4, 300, 20000, 300000, 1 << 20, 2 * CHUNK_ELEMENTS + 3 };
    size_t count = small ? 2 : sizeof elements / sizeof elements[0];
    struct site s;
    struct cairn_record *r = NULL;
    site_up(&s);
    cr_assert_eq(cairn_set_threads(s.c, threads), 0);
    for (size_t i = 0; i < count; i++) {
        char path[16];
        (void)snprintf(path, sizeof path, "t%zu", i);
        struct tensor *t =
            BOX_ADD(&s.job.model, path, 0, i % 2 * CAIRN_TRAINABLE, CAIRN_F32, 1, &elements[i], 1);
        memset(t->data, 0, t->bytes);
        put_f32(t, 0, INFINITY);
        put_f32(t, elements[i] / 2, NAN);
        put_f32(t, elements[i] - 1, -INFINITY);
        t->by_slot = by_slot;
    }
    saved_as(&s, 1, false, count, 2 * count);
    cr_assert_eq(cairn_load(s.c, "latest", 0, &r), 0, "%s", cairn_error(s.c));
    check_entries(r, CAIRN_MODEL, count);
    (void)cairn_record_free(r);
    site_check(&s, "latest");
    site_down(&s);
}

CASE(finite, is_counted_in_values_in_their_entries, .timeout = 60)
{
    all_ways(false, 1, true);
    all_ways(true, 1, true);
}

CASE(finite, is_counted_in_chunks, .timeout = 60)
{
    all_ways(false, 1, false);
    all_ways(false, 2, false);
}

CASE(finite, is_counted_in_slots, .timeout = 60)
{
    all_ways(true, 1, false);
    all_ways(true, 2, false);
}

/* ---- what is stored ---- */

CASE(finite, goes_by_the_values_of_the_precision, .timeout = 60)
{
    const struct cairn_save_args half = { .step = 1, .precision = CAIRN_HALF, .lossy_ok = true };
    const struct cairn_save_args full = { .step = 2, .precision = CAIRN_FULL };
    struct site s;
    site_up(&s);
    struct tensor *t = add(&s.job.model, "weight", CAIRN_TRAINABLE, four);
    put_f32(t, 1, 1e20f);
    saved(&s, &half, false, 0, 1);
    saved(&s, &full, true, 0, 0);
    site_down(&s);
}

/* The second time it is there already, and what is told of it comes from its row. */
CASE(finite, is_the_same_of_a_save_that_was_there_already, .timeout = 60)
{
    static const uint8_t id[16] = "once and again";
    const struct cairn_save_args args = { .step = 1, .save_id = id };
    struct site s;
    site_up(&s);
    put_f32(add(&s.job.optimizer, "moment", 0, four), 1, NAN);
    saved(&s, &args, false, 1, 0);
    saved(&s, &args, false, 1, 0);
    site_down(&s);
}

/* ---- the command ---- */

static void says(const struct site *s, const char *const argv[], const char *const texts[])
{
    unsigned counts[8] = { 0 };
    const struct proc_spec spec = { .argv = argv, .log_path = s->d.log, .pipe_out = true };
    cr_assert_eq(proc_say(&spec, WAIT_MS, texts, counts), 0);
    for (size_t i = 0; texts[i] != NULL; i++) {
        cr_assert_gt(counts[i], 0, "%s: %s", argv[3], texts[i]);
    }
}

CASE(finite, cairn_log_and_show_tell_it, .timeout = 60)
{
    static const char *const log[] = { "plain, not finite ", NULL };
    static const char *const log_json[] = {
        "\"nan\": 1", "\"inf\": 2", "\"finite\": false", "\"finite\": true", NULL
    };
    static const char *const show[] = { "values     not finite: 1 NaN, 2 Inf in all",
                                        "(1 NaN, 0 Inf)",
                                        "(trainable) (0 NaN, 2 Inf)",
                                        NULL };
    static const char *const show_json[] = { "\"trainable\": true, \"nan\": 0, \"inf\": 2",
                                             "\"chunks\": 0, \"nan\": 1, \"inf\": 0",
                                             "\"finite\": false",
                                             NULL };
    struct site s;
    site_up(&s);
    struct tensor *weight = add(&s.job.model, "weight", CAIRN_TRAINABLE, four);
    (void)add(&s.job.model, "other", CAIRN_TRAINABLE, four);
    put_f32(add(&s.job.state, "ema", 0, four), 1, NAN);
    s.job.model.tensors[1]->entry.id = 8;
    site_save(&s, 1, NULL);
    put_f32(weight, 0, INFINITY);
    put_f32(weight, 3, -INFINITY);
    site_save(&s, 2, NULL);
    const char *const table[] = { CAIRN_TEST_CAIRN, "--socket", s.d.socket, "log",
                                  "demo",           NULL,       NULL };
    const char *const json[] = { CAIRN_TEST_CAIRN, "--socket", s.d.socket, "log",
                                 "demo",           "--json",   NULL };
    says(&s, table, log);
    says(&s, json, log_json);
    const char *const show_table[] = { CAIRN_TEST_CAIRN, "--socket", s.d.socket, "show",
                                       "demo",           NULL,       NULL };
    const char *const show_all[] = { CAIRN_TEST_CAIRN, "--socket", s.d.socket, "show",
                                     "demo",           "--json",   NULL };
    says(&s, show_table, show);
    says(&s, show_all, show_json);
    site_down(&s);
}
