/* What one boundary is: all components of one capture and nothing else, under the ids and types
 * that were put, as it was when it was captured. */
#include <stdio.h>
#include <string.h>

#include "ground.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t two[] = { 2 };

static struct cairn_record *loaded(struct ground *g, const char *selector)
{
    struct cairn_record *r = NULL;
    cr_assert_eq(cairn_load(g->c, selector, 0, &r), 0, "%s: %s", selector, cairn_error(g->c));
    return r;
}

/* ---- one boundary ---- */

static void count_up(struct job *j)
{
    struct box *boxes[] = { &j->gradients, &j->model, &j->optimizer, &j->scheduler, &j->state };
    for (size_t i = 0; i < COUNT(boxes); i++) {
        boxes[i]->counter = j->generation;
    }
    j->window.microbatches = j->generation;
    j->generation++;
}

/* All five are of one capture, and so is the window, and the root digest is over just these: no
 * component is the newest of anything by itself. */
CASE(boundary, R02_R08_is_all_components_of_one_capture)
{
    struct ground g;
    struct cairn_boundary list[4];
    size_t count = 0;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.job.generation = 1;
    for (uint64_t i = 1; i <= 4; i++) { /* the third is refused, when nearly all of it was sent */
        count_up(&g.job);
        if (i == 3) {
            g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 3, FAKE_REFUSE, CAIRN_EIO };
        }
        cr_assert_eq(ground_save(&g, CAIRN_KIND_WEIGHTED, i, NULL), i == 3 ? -CAIRN_EIO : 0);
    }
    cr_assert_eq(cairn_find(g.c, "latest", 4, list, &count), 0);
    cr_assert_eq(count, 3);
    for (size_t i = 0; i < count; i++) {
        struct job other;
        struct cairn_boundary b;
        char selector[16];
        (void)snprintf(selector, sizeof selector, "seq:%llu", (unsigned long long)list[i].seq);
        struct cairn_record *r = loaded(&g, selector);
        cr_assert_eq(cairn_record_info(r, &b), 0);
        cr_assert(same_bits(b.root, list[i].root, sizeof b.root));
        job_like(&other, &g.job);
        cr_assert_eq(cairn_restore_weighted(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
        const struct box *boxes[] = {
            &other.gradients, &other.model, &other.optimizer, &other.scheduler, &other.state
        };
        for (size_t k = 0; k < COUNT(boxes); k++) {
            cr_assert_eq(boxes[k]->counter, list[i].step, "%c", boxes[k]->letter);
        }
        cr_assert_eq(other.window.microbatches, list[i].step);
        job_fini(&other);
        (void)cairn_record_free(r);
    }
    ground_down(&g);
}

/* The trainer goes on between capture and save; the record does not. */
CASE(boundary, E24_is_what_was_captured_not_what_is_there_when_it_is_saved)
{
    struct ground g;
    struct job before;
    struct job other;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    ground_fill_chunks(&g, 2, 5000000);
    job_init(&before);
    job_fill(&before, 1);
    cr_assert_eq(ground_capture(&g, CAIRN_KIND_WEIGHTED, &r), 0);
    struct box *boxes[] = { &g.job.gradients, &g.job.model, &g.job.optimizer };
    for (size_t i = 0; i < COUNT(boxes); i++) {
        for (size_t k = 0; k < boxes[i]->count; k++) {
            memset(boxes[i]->tensors[k]->data, 0x5a, boxes[i]->tensors[k]->bytes);
        }
    }
    count_up(&g.job);
    struct cairn_window window = g.job.window;
    cr_assert_eq(cairn_save(g.c, &r, &(struct cairn_save_args){ .step = 1 }, NULL), 0);
    cr_assert(same_bits(&window, &g.job.window, sizeof window));
    r = loaded(&g, "latest");
    job_like(&other, &before);
    cr_assert_eq(cairn_restore_weighted(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_null(job_differs(&before, &other), "%s", job_differs(&before, &other));
    cr_assert(same_bits(&before.window, &other.window, sizeof window));
    (void)cairn_record_free(r);
    job_fini(&before);
    job_fini(&other);
    ground_down(&g);
}

/* ---- ids ---- */

/* A model that was made anew has ids of its own: it takes those of the record, path by path. */
static int get_with_ids(void *self, const struct cairn_reader *r)
{
    struct box *b = self;
    struct cairn_entry e;
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && cairn_entry_at(r, i, &e) == 0; i++) {
        for (size_t k = 0; rc == 0 && e.kind == CAIRN_TENSOR && k < b->count; k++) {
            struct tensor *t = b->tensors[k];
            if (strcmp(t->path, e.path) == 0) {
                t->entry.id = e.id;
                rc = cairn_get(r, &t->entry, t->data);
            }
        }
    }
    return rc < 0 ? rc : cairn_get_u64(r, "counter", &b->counter);
}

/* Else the moments, which have no other name, would be those of nobody. */
CASE(boundary, R07_a_model_made_anew_takes_the_recorded_ids)
{
    struct ground g;
    struct job other;
    ground_up(&g);
    job_fill(&g.job, 1);
    g.job.model.tensors[1]->entry.id = 0;
    g.job.model.tensors[2]->entry.id = UINT64_MAX;
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "%s", cairn_error(g.c));
    struct cairn_record *r = loaded(&g, "latest");
    job_like(&other, &g.job);
    for (size_t i = 0; i < other.model.count; i++) {
        other.model.tensors[i]->entry.id = 1000 + i;
    }
    cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_EMISMATCH, "by itself it fits only so");
    other.t.model.fit = NULL;
    other.t.model.get = get_with_ids;
    cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_null(job_differs(&g.job, &other), "%s", job_differs(&g.job, &other));
    for (size_t i = 0; i < other.model.count; i++) {
        cr_assert_eq(other.model.tensors[i]->entry.id, g.job.model.tensors[i]->entry.id);
    }
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}

static void add(struct box *b, const char *path, uint64_t id)
{
    (void)BOX_ADD(b, path, id, CAIRN_HAS_ID, CAIRN_F32, 1, two, id);
}

CASE(boundary, E17_a_key_that_comes_twice_is_refused_with_its_id)
{
    static const struct {
        uint32_t component; /* 0 to 2 */
        const char *path[2];
        uint64_t id[2];
        const char *word; /* NULL: two keys */
    } twice[] = {
        { 0, { "w", "w" }, { 7, 7 }, "gradients: 'w' (id 7) was put twice" },
        { 0, { "w", "w" }, { 7, 8 }, NULL },
        { 0, { "w", "v" }, { 7, 7 }, "gradients: parameter 7 has two gradients" },
        { 1,
          { "m", "m" },
          { UINT64_MAX, UINT64_MAX },
          "'m' (id 18446744073709551615) was put twice" },
        { 1, { "m", "v" }, { 0, 0 }, NULL },
        { 1, { "m", "m" }, { 0, 0 }, "optimizer: 'm' (id 0) was put twice" },
        { 2, { "w", "w" }, { 7, 8 }, "model: 'w' (id " },
        { 2, { "w", "v" }, { 7, 8 }, NULL },
    };
    for (size_t i = 0; i < COUNT(twice); i++) {
        struct ground g;
        struct cairn_record *r = NULL;
        ground_up(&g);
        struct box *boxes[] = { &g.job.gradients, &g.job.optimizer, &g.job.model };
        for (size_t k = 0; k < 2; k++) {
            add(boxes[twice[i].component], twice[i].path[k], twice[i].id[k]);
        }
        g.job.t.foreign_gradients_ok = true;
        bool fine = twice[i].word == NULL;
        cr_assert_eq(ground_capture(&g, 0, &r), fine ? 0 : -CAIRN_EEXIST, "%zu", i);
        cr_assert(fine || strstr(cairn_error(g.c), twice[i].word) != NULL, "%s", cairn_error(g.c));
        cr_assert_eq(r != NULL, fine);
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

/* ---- empty windows ---- */

/* Nothing pending is a state like another, with microbatches of weight 0 behind it or without. */
CASE(boundary, E20_windows_without_weight)
{
    static const struct {
        double weight;
        uint64_t microbatches;
        bool pending;
        int code;
    } windows[] = {
        { 0, 0, false, 0 },
        { 0, 5, false, 0 },
        { -0.0, UINT64_MAX, false, 0 },
        { 1, 1, false, 0 },
        { 1, 1, true, 0 },
        { 0, 0, true, -CAIRN_EWINDOW },
        { 0, 5, true, -CAIRN_EWINDOW },
        { 1, 0, false, -CAIRN_EWINDOW },
        { 1, 0, true, -CAIRN_EWINDOW },
    };
    for (size_t i = 0; i < COUNT(windows); i++) {
        struct ground g;
        struct job other;
        struct cairn_record *r = NULL;
        ground_up(&g);
        add(&g.job.model, "w", 7);
        if (windows[i].pending) {
            add(&g.job.gradients, "w", 7);
        }
        g.job.window =
            (struct cairn_window){ CAIRN_F64, 1, windows[i].weight, windows[i].microbatches };
        cr_assert_eq(ground_capture(&g, CAIRN_KIND_WEIGHTED, &r), windows[i].code, "%zu", i);
        if (windows[i].code == 0) {
            cr_assert_eq(cairn_save(g.c, &r, &(struct cairn_save_args){ .step = 1 }, NULL), 0);
            r = loaded(&g, "latest");
            job_like(&other, &g.job);
            cr_assert_eq(cairn_restore_weighted(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
            cr_assert(same_bits(&g.job.window, &other.window, sizeof other.window));
            cr_assert_null(job_differs(&g.job, &other));
            job_fini(&other);
        }
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

/* ---- where the seed panics ---- */

static int put_one(struct cairn_writer *w, uint32_t kind)
{
    switch (kind) {
    case CAIRN_SCALAR_I64:
        return cairn_put_i64(w, "x", -1);
    case CAIRN_SCALAR_U64:
        return cairn_put_u64(w, "x", UINT64_MAX);
    case CAIRN_SCALAR_F64:
        return cairn_put_f64(w, "x", 1);
    case CAIRN_SCALAR_F32:
        return cairn_put_f32(w, "x", 1);
    case CAIRN_SCALAR_BOOL:
        return cairn_put_bool(w, "x", true);
    case CAIRN_SCALAR_STRING:
        return cairn_put_str(w, "x", "1");
    case CAIRN_SCALAR_BYTES:
        return cairn_put_bytes(w, "x", "1", 1);
    case CAIRN_SCALAR_NULL:
        return cairn_put_null(w, "x");
    default:
        return cairn_put(
            w,
            &(struct cairn_entry){ .path = "x", .dtype = CAIRN_F32, .rank = 1, .shape = two },
            "12345678");
    }
}

static int put_kind(void *self, struct cairn_writer *w)
{
    return put_one(w, *(const uint32_t *)self);
}

static int get_kind(const struct cairn_reader *r, uint32_t kind)
{
    int64_t i64 = 0;
    uint64_t u64 = 0;
    double f64 = 0;
    float f32[2] = { 0 };
    bool yes = false;
    const char *text = NULL;
    const void *bytes = NULL;
    size_t count = 0;
    switch (kind) {
    case CAIRN_SCALAR_I64:
        return cairn_get_i64(r, "x", &i64);
    case CAIRN_SCALAR_U64:
        return cairn_get_u64(r, "x", &u64);
    case CAIRN_SCALAR_F64:
        return cairn_get_f64(r, "x", &f64);
    case CAIRN_SCALAR_F32:
        return cairn_get_f32(r, "x", f32);
    case CAIRN_SCALAR_BOOL:
        return cairn_get_bool(r, "x", &yes);
    case CAIRN_SCALAR_STRING:
        return cairn_get_str(r, "x", &text);
    case CAIRN_SCALAR_BYTES:
        return cairn_get_bytes(r, "x", &bytes, &count);
    default:
        return cairn_get(
            r,
            &(struct cairn_entry){ .path = "x", .dtype = CAIRN_F32, .rank = 1, .shape = two },
            f32);
    }
}

/* No number is squeezed into another type, whatever its value: it is refused with a code. */
CASE(boundary, R42_a_value_of_another_type_is_a_mismatch)
{
    for (uint32_t put = CAIRN_TENSOR; put <= CAIRN_SCALAR_NULL; put++) {
        struct ground g;
        const struct cairn_reader *reader = NULL;
        ground_up(&g);
        struct cairn_record *r = ground_state(&g, put_kind, &put, &reader);
        for (uint32_t get = CAIRN_TENSOR; get < CAIRN_SCALAR_NULL; get++) {
            cr_assert_eq(get_kind(reader, get),
                         get == put ? 0 : -CAIRN_EMISMATCH,
                         "kind %u as %u: %s",
                         put,
                         get,
                         cairn_error(g.c));
        }
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

/* Burn's records end at rank 8; these at 32, and one more is refused, not ended by. */
CASE(boundary, R42_E8_a_rank_has_a_limit)
{
    uint64_t ones[33];
    for (size_t i = 0; i < COUNT(ones); i++) {
        ones[i] = 1;
    }
    for (uint32_t rank = 0; rank <= 33; rank++) {
        struct ground g;
        struct cairn_record *r = NULL;
        ground_up(&g);
        struct tensor *t = BOX_ADD(&g.job.optimizer, "x", 1, CAIRN_HAS_ID, CAIRN_F64, 0, NULL, 1);
        t->entry.rank = rank;
        t->entry.shape = ones;
        cr_assert_eq(ground_capture(&g, 0, &r), rank <= 32 ? 0 : -CAIRN_EINVAL, "%u", rank);
        cr_assert(rank <= 32 || strstr(cairn_error(g.c), "rank") != NULL, "%s", cairn_error(g.c));
        if (rank <= 32) {
            cr_assert_eq(cairn_save(g.c, &r, &(struct cairn_save_args){ .step = 1 }, NULL), 0);
            r = loaded(&g, "latest");
            cr_assert_eq(cairn_restore(g.c, r, &g.job.t), 0, "%s", cairn_error(g.c));
            t->entry.rank = rank == 0 ? 1 : rank - 1;
            cr_assert_eq(cairn_restore(g.c, r, &g.job.t), -CAIRN_EMISMATCH, "%u", rank);
        }
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}
