/* ground.c: set up, save, and compare. */
#include "ground.h"

#include <stdio.h>

#include "lib/rec.h"

void ground_up(struct ground *g)
{
    *g = (struct ground){ 0 };
    fake_start(&g->fake);
    cr_assert_eq(cairn_open(g->fake.path, "demo", &g->c), 0, "%s", cairn_error(g->c));
    cr_assert_eq(cairn_set_timeout(g->c, 20000), 0);
    job_init(&g->job);
    g->job.c = g->c;
}

void ground_down(struct ground *g)
{
    g->c = cairn_close(g->c);
    fake_stop(&g->fake);
    job_fini(&g->job);
    cr_assert_eq(g->fake.bad, 0, "%u frames out of order", g->fake.bad);
}

int ground_capture(struct ground *g, uint32_t kind, struct cairn_record **ret)
{
    switch (kind) {
    case CAIRN_KIND_MODEL_STATE:
        return cairn_model_state_capture(g->c, &g->job.t, ret);
    case CAIRN_KIND_MODEL_STATE | CAIRN_KIND_WEIGHTED:
        return cairn_model_state_capture_weighted(g->c, &g->job.t, ret);
    case CAIRN_KIND_DTYPES:
        return cairn_capture_with_dtypes(g->c, &g->job.t, ret);
    case CAIRN_KIND_WEIGHTED:
        return cairn_capture_weighted(g->c, &g->job.t, ret);
    case CAIRN_KIND_DTYPES | CAIRN_KIND_WEIGHTED:
        return cairn_capture_weighted_with_dtypes(g->c, &g->job.t, ret);
    default:
        return cairn_capture(g->c, &g->job.t, ret);
    }
}

int ground_save(struct ground *g, uint32_t kind, uint64_t step, struct cairn_boundary *ret)
{
    struct cairn_record *r = NULL;
    cr_assert_eq(ground_capture(g, kind, &r), 0, "%s", cairn_error(g->c));
    int rc = cairn_save(g->c, &r, &(struct cairn_save_args){ .step = step }, ret);
    cr_assert((rc == 0) == (r == NULL), "a failed save keeps its record");
    (void)cairn_record_free(r);
    return rc;
}

struct cairn_record *ground_loaded(struct ground *g, uint32_t kind)
{
    struct cairn_record *r = NULL;
    cr_assert_eq(ground_save(g, kind, 1, NULL), 0, "%s", cairn_error(g->c));
    cr_assert_eq(cairn_load(g->c, "latest", 0, &r), 0, "%s", cairn_error(g->c));
    return r;
}

struct entry *
ground_entry(struct cairn_record *r, enum component component, const char *path, uint64_t id)
{
    struct cairn_reader *reader = &r->components[component];
    for (uint64_t i = 0; i < reader->count; i++) {
        struct entry *e = &reader->entries[i];
        if (e->id == id && slice_cmp(e->path, slice_str(path)) == 0) {
            return e;
        }
    }
    cr_assert_fail(
        "%s has no '%s' (id %llu)", component_name(component), path, (unsigned long long)id);
    return NULL;
}

bool window_same(const struct cairn_window *a, const struct cairn_window *b)
{
    return a->dtype == b->dtype && same_bits(&a->loss_scale, &b->loss_scale, sizeof(double)) &&
           same_bits(&a->total_weight, &b->total_weight, sizeof(double)) &&
           a->microbatches == b->microbatches;
}

struct cairn_record *ground_state(struct ground *g,
                                  int (*put)(void *self, struct cairn_writer *w),
                                  void *self,
                                  const struct cairn_reader **ret)
{
    struct cairn_record *r = NULL;
    g->job.t.state = (struct cairn_component){ .self = self, .put = put };
    cr_assert_eq(ground_save(g, 0, 1, NULL), 0, "%s", cairn_error(g->c));
    cr_assert_eq(cairn_load(g->c, "latest", 0, &r), 0, "%s", cairn_error(g->c));
    cr_assert_eq(cairn_record_component(r, CAIRN_STATE, ret), 0, "%s", cairn_error(g->c));
    return r;
}

void ground_fill_chunks(struct ground *g, size_t count, uint64_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "layer.%03zu", i);
        (void)BOX_ADD(
            &g->job.model, path, 1000 + i, CAIRN_HAS_ID | CAIRN_TRAINABLE, CAIRN_U8, 1, &bytes, i);
    }
}

void ground_check_newest(struct ground *g)
{
    struct cairn_record *r = NULL;
    struct job other;
    job_like(&other, &g->job);
    cr_assert_eq(cairn_load(g->c, "latest", 0, &r), 0, "%s", cairn_error(g->c));
    cr_assert_eq(cairn_restore(g->c, r, &other.t), 0, "%s", cairn_error(g->c));
    cr_assert_null(job_differs(&g->job, &other), "%s", job_differs(&g->job, &other));
    (void)cairn_record_free(r);
    job_fini(&other);
}
