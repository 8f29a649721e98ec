/* What a trainer does not change is stored once. */
#include <cairn/admin.h>
#include <cairn/keep.h>
#include <stdio.h>
#include <string.h>

#include "site.h"
#include "support/case.h"

enum { LAYERS = 12, RANK = 4, WIDTH = 1100, ADAPTER = 1024 };

/* Large frozen weights, small frozen ones, and a trained adapter in each layer. */
static void lora_fill(struct job *j)
{
    static const uint64_t weight[] = { WIDTH, 1024 };
    static const uint64_t norm[] = { WIDTH };
    static const uint64_t adapter[] = { RANK, ADAPTER };
    for (uint64_t layer = 0; layer < LAYERS; layer++) {
        uint64_t id = 10 * layer + 1;
        char path[32];
        (void)snprintf(path, sizeof path, "%02u.weight", (unsigned)layer);
        (void)BOX_ADD(&j->model, path, id, CAIRN_HAS_ID, CAIRN_F32, 2, weight, id);
        (void)snprintf(path, sizeof path, "%02u.norm", (unsigned)layer);
        (void)BOX_ADD(&j->model, path, id + 1, CAIRN_HAS_ID, CAIRN_F32, 1, norm, id + 1);
        (void)snprintf(path, sizeof path, "%02u.adapter", (unsigned)layer);
        (void)BOX_ADD(
            &j->model, path, id + 2, CAIRN_HAS_ID | CAIRN_TRAINABLE, CAIRN_F32, 2, adapter, id + 2);
        (void)BOX_ADD(&j->optimizer, "moment", id + 2, CAIRN_HAS_ID, CAIRN_F32, 2, adapter, id + 3);
    }
}

static void lora_train(struct job *j, uint64_t step)
{
    for (size_t i = 0; i < j->model.count; i++) {
        struct tensor *t = j->model.tensors[i];
        if ((t->entry.flags & CAIRN_TRAINABLE) != 0) {
            bytes_fill(t->data, t->bytes, 1000 * step + i);
        }
    }
    for (size_t i = 0; i < j->optimizer.count; i++) {
        bytes_fill(j->optimizer.tensors[i]->data, j->optimizer.tensors[i]->bytes, 77 * step + i);
    }
}

struct sums {
    uint64_t own_bytes, shared_bytes; /* the latter of the last one */
};

static int sums_each(void *arg, const struct cairn_kept *kept)
{
    struct sums *sums = arg;
    sums->own_bytes += kept->own_bytes;
    sums->shared_bytes = kept->shared_bytes;
    return 0;
}

/* Two are left: what each has for itself, and once what both have, is all there is. */
static void lora_usage(struct site *s)
{
    struct sums sums = { .own_bytes = 0 };
    struct cairn_usage usage;
    struct cairn_usage again;
    cr_assert_eq(cairn_usage(s->c, sums_each, &sums, &usage), 0, "%s", cairn_error(s->c));
    cr_assert_eq(usage.boundary_count, 2);
    cr_assert(sums.own_bytes > 0 && sums.shared_bytes > 50 * sums.own_bytes);
    cr_assert_eq(usage.payload_bytes, sums.own_bytes + sums.shared_bytes);
    cr_assert_geq(usage.segment_bytes, usage.payload_bytes, "what is referred to is there");
    cr_assert_leq(usage.segment_bytes, usage.payload_bytes + (UINT64_C(1) << 20), "and no more");
    cr_assert_gt(usage.index_bytes, 0);
    cr_assert_eq(cairn_usage(s->c, NULL, NULL, &again), 0, "%s", cairn_error(s->c));
    cr_assert_eq(memcmp(&usage, &again, sizeof usage), 0);
    cr_assert_eq(cairn_usage(s->c, NULL, NULL, NULL), -CAIRN_EINVAL);
}

static void lora_saves(struct site *s)
{
    struct cairn_boundary b;
    for (uint64_t step = 1; step <= 4; step++) {
        lora_train(&s->job, step);
        site_save(s, step, &b);
        cr_assert_eq(b.seq, step);
        cr_assert_gt(b.bytes_new, 0);
        cr_assert(step == 1 ? b.bytes_shared == 0 : b.bytes_new * 50 < b.payload_bytes,
                  "step %u: %zu of %zu bytes are new, %zu shared",
                  (unsigned)step,
                  (size_t)b.bytes_new,
                  (size_t)b.payload_bytes,
                  (size_t)b.bytes_shared);
        site_check(s, "latest");
    }
    cr_assert_eq(cairn_remove(s->c, "seq:1", NULL), 0, "%s", cairn_error(s->c));
    cr_assert_eq(cairn_remove(s->c, "seq:3", NULL), 0, "%s", cairn_error(s->c));
    site_check(s, "latest");
    lora_usage(s);
}

/* What is trained is told by its bytes, and whether all of it stands still. */
static void told(struct site *s, uint64_t step, unsigned warnings, bool changed)
{
    struct cairn_boundary b;
    struct cairn_boundary listed;
    size_t count = 0;
    site_save(s, step, &b);
    cr_assert_eq(b.warnings, warnings, "step %u", (unsigned)step);
    cr_assert_gt(b.trainable_bytes, 0);
    cr_assert_eq(b.trainable_new_bytes > 0, changed, "step %u", (unsigned)step);
    cr_assert_leq(b.trainable_new_bytes, b.trainable_bytes);
    cr_assert_eq(cairn_list(s->c, "latest", 1, &listed, &count), 0, "%s", cairn_error(s->c));
    cr_assert(count == 1 && listed.seq == b.seq && listed.warnings == warnings);
    cr_assert_eq(listed.trainable_new_bytes, b.trainable_new_bytes);
}

static void told_of_all(struct site *s)
{
    told(s, 1, 0, true);
    told(s, 2, CAIRN_WARNING_STALE, false);
    told(s, 2, 0, false); /* the same step again is no new one */
    bytes_fill(s->job.model.tensors[0]->data, 8, 1234);
    told(s, 3, 0, true);
    told(s, 4, CAIRN_WARNING_STALE, false);
}

CASE(dedup, a_stale_capture_is_told, .timeout = 60)
{
    struct site s;
    site_up(&s);
    job_fill(&s.job, 1); /* trained values that lie in rows */
    told_of_all(&s);
    site_down(&s);
}

CASE(dedup, a_stale_capture_in_chunks_is_told, .timeout = 60)
{
    static const uint64_t shape[] = { 1100, 1024 };
    const uint32_t both = CAIRN_HAS_ID | CAIRN_TRAINABLE;
    struct site s;
    struct cairn_boundary b;
    site_up(&s);
    (void)BOX_ADD(&s.job.model, "a", 1, both, CAIRN_F32, 2, shape, 1);
    (void)BOX_ADD(&s.job.model, "b", 2, both, CAIRN_F32, 2, shape, 2);
    told_of_all(&s);
    bytes_fill(s.job.model.tensors[1]->data, 8, 99);
    site_save(&s, 5, &b);
    cr_assert_eq(b.trainable_bytes, 2 * s.job.model.tensors[0]->bytes);
    cr_assert_eq(b.trainable_new_bytes, s.job.model.tensors[1]->bytes);
    site_down(&s);
}

CASE(dedup, adapters_between_frozen_weights, .timeout = 120)
{
    struct site s;
    site_up(&s);
    lora_fill(&s.job);
    lora_saves(&s);
    site_down(&s);
}
