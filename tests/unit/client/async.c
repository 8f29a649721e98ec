/* async.c: what the tests of asynchronous captures share. */
#include "async.h"

#include <poll.h>
#include <stdio.h>

#include "lib/capture.h"
#include "record/digest.h"

void async_job(struct job *j)
{
    static const uint64_t big[] = { 1100, 1000 };
    static const uint64_t rng[] = { 5056 };
    const uint32_t both = CAIRN_HAS_ID | CAIRN_TRAINABLE;
    job_fill(j, 1);
    (void)BOX_ADD(&j->model, "big", 10, both, CAIRN_F32, 2, big, 20);
    (void)BOX_ADD(&j->gradients, "big", 10, CAIRN_HAS_ID, CAIRN_F32, 2, big, 21);
    (void)BOX_ADD(&j->state, "rng", 0, 0, CAIRN_U8, 1, rng, 22);
    j->params[j->param_count++] = (struct cairn_param){ 10, true, CAIRN_F32, 2, big };
    struct box *boxes[] = { &j->gradients, &j->model, &j->optimizer, &j->state };
    for (size_t k = 0; k < 4; k++) {
        boxes[k]->leave_open = true;
        for (size_t i = 0; i < boxes[k]->count; i++) {
            boxes[k]->tensors[i]->by_slot = true;
        }
    }
}

static void async_leave_open(struct job *j, bool leave_open)
{
    j->gradients.leave_open = leave_open;
    j->model.leave_open = leave_open;
    j->optimizer.leave_open = leave_open;
    j->state.leave_open = leave_open;
}

struct cairn_record *async_reference(struct ground *g, uint32_t kind)
{
    struct cairn_record *r = NULL;
    async_leave_open(&g->job, false);
    cr_assert_eq(ground_capture(g, kind, &r), 0, "%s", cairn_error(g->c));
    async_leave_open(&g->job, true);
    g->job.log[0] = '\0';
    return r;
}

void async_captured(void *arg, int rc, struct cairn_record *r)
{
    struct ended *e = arg;
    e->calls++;
    e->rc = rc;
    e->r = r;
    (void)snprintf(e->text, sizeof e->text, "%s", cairn_error(e->c));
    cr_assert_eq(rc == 0, r != NULL, "a record, or a failure");
    if (e->then != NULL) {
        e->then(e);
    }
}

int async_begin(struct ground *g, uint32_t kind, struct ended *e)
{
    e->c = g->c;
    g->job.open_count = 0;
    switch (kind) {
    case CAIRN_KIND_DTYPES:
        return cairn_capture_async_with_dtypes(g->c, &g->job.t, async_captured, e);
    case CAIRN_KIND_WEIGHTED:
        return cairn_capture_weighted_async(g->c, &g->job.t, async_captured, e);
    case CAIRN_KIND_DTYPES | CAIRN_KIND_WEIGHTED:
        return cairn_capture_weighted_with_dtypes_async(g->c, &g->job.t, async_captured, e);
    case CAIRN_KIND_MODEL_STATE:
        return cairn_model_state_capture_async(g->c, &g->job.t, async_captured, e);
    case CAIRN_KIND_MODEL_STATE | CAIRN_KIND_WEIGHTED:
        return cairn_model_state_capture_weighted_async(g->c, &g->job.t, async_captured, e);
    default:
        return cairn_capture_async(g->c, &g->job.t, async_captured, e);
    }
}

void async_fill(const struct job *j, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        cr_assert_eq(job_fill_slot(j, i), 0, "slot %zu", i);
    }
}

bool async_is_awake(struct cairn *c)
{
    struct pollfd p = { .fd = cairn_fd(c), .events = (short)cairn_events(c) };
    cr_assert_geq(p.fd, 0, "%s", cairn_error(c));
    return poll(&p, 1, 0) == 1;
}

void async_turn(struct cairn *c)
{
    struct pollfd p = { .fd = cairn_fd(c), .events = (short)cairn_events(c) };
    cr_assert_eq(poll(&p, 1, 60000), 1, "nobody woke the loop");
    cr_assert_eq(cairn_process(c), 0, "%s", cairn_error(c));
}

void async_to_end(struct ground *g, const struct ended *e)
{
    size_t filled = 0;
    while (e->calls == 0) {
        size_t to = g->job.open_count;
        async_fill(&g->job, filled, to);
        filled = to;
        async_turn(g->c);
    }
}

static void *filler_run(void *arg)
{
    struct filler *f = arg;
    for (size_t i = f->to; i-- > f->from;) {
        if (i % 2 == f->odd && job_fill_slot(f->job, i) < 0) {
            f->refused++;
        }
    }
    return NULL;
}

void fillers_start(struct fillers *f, const struct job *j, size_t from, size_t to)
{
    for (size_t k = 0; k < 2; k++) {
        f->half[k] = (struct filler){ .job = j, .from = from, .to = to, .odd = k };
        cr_assert_eq(pthread_create(&f->half[k].thread, NULL, filler_run, &f->half[k]), 0);
    }
}

void fillers_join(struct fillers *f)
{
    for (size_t k = 0; k < 2; k++) {
        cr_assert_eq(pthread_join(f->half[k].thread, NULL), 0);
        cr_assert_eq(f->half[k].refused, 0, "%u slots were not open", f->half[k].refused);
    }
}

static void check_same_component(const struct cairn_reader *a, const struct cairn_reader *b)
{
    cr_assert_eq(a->present, b->present);
    cr_assert_eq(a->count, b->count);
    for (uint64_t i = 0; i < a->count; i++) {
        const struct entry *x = &a->entries[i];
        const struct entry *y = &b->entries[i];
        cr_assert(digest_equal(&x->digest, &y->digest), "%s", (const char *)x->path.data);
        cr_assert_eq(x->first_chunk, y->first_chunk);
        cr_assert_eq(x->offset_bytes, y->offset_bytes);
        cr_assert_eq(x->value.bytes, y->value.bytes);
        cr_assert_eq(slice_cmp(x->value, y->value), 0, "value of %s", (const char *)x->path.data);
    }
}

void async_check_same(struct cairn_record *a, struct cairn_record *b)
{
    for (uint32_t i = 1; i < COMPONENT_NR; i++) {
        check_same_component(&a->components[i], &b->components[i]);
    }
    cr_assert_eq(a->boundary.kind, b->boundary.kind);
    cr_assert_eq(a->boundary.component_count, b->boundary.component_count);
    for (uint32_t i = 0; i < a->boundary.component_count; i++) {
        cr_assert(digest_equal(&a->infos[i].digest, &b->infos[i].digest), "component %u", i);
    }
    cr_assert_eq(layout_chunk_count(a->layout), layout_chunk_count(b->layout));
    for (uint32_t i = 0; i < layout_chunk_count(a->layout); i++) {
        const struct layout_chunk *x = layout_chunk_at(a->layout, i);
        const struct layout_chunk *y = layout_chunk_at(b->layout, i);
        uint64_t padded = (x->chunk.bytes + UINT64_C(4095)) & ~UINT64_C(4095);
        cr_assert_eq(x->chunk.bytes, y->chunk.bytes);
        cr_assert(digest_equal(&x->chunk.digest, &y->chunk.digest), "chunk %u", i);
        cr_assert(same_bits(
            a->region->base + x->region_offset, b->region->base + y->region_offset, padded));
    }
}
