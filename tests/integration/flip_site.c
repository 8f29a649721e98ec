#include "flip_site.h"

#include <cairn/admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

/* ---- what there is to see -------------------------------------------------------------------- */

static uint8_t *sight_room(struct sight *s, size_t bytes)
{
    if (s->room - s->bytes < bytes) {
        s->room = 2 * (s->bytes + bytes);
        s->data = realloc(s->data, s->room);
        cr_assert_not_null(s->data);
    }
    s->bytes += bytes;
    return s->data + s->bytes - bytes;
}

static void sight_add(struct sight *s, const void *data, size_t bytes)
{
    uint8_t *to = sight_room(s, bytes);
    if (bytes > 0) {
        memcpy(to, data, bytes);
    }
}

static void sight_number(struct sight *s, uint64_t number)
{
    sight_add(s, &number, sizeof number);
}

static void sight_text(struct sight *s, const char *text)
{
    sight_add(s, text, strlen(text) + 1);
}

static void sight_info(struct sight *s, const struct cairn_record *r)
{
    char name[128];
    char value[512];
    struct cairn_boundary b;
    cr_assert_eq(cairn_record_info(r, &b), 0);
    const uint64_t numbers[] = { b.seq,         b.step,          b.parent_seq, b.created_ns,
                                 b.entry_count, b.payload_bytes, b.bytes_new,  b.bytes_shared,
                                 b.kind,        b.precision,     b.exact };
    sight_add(s, numbers, sizeof numbers);
    sight_add(s, b.save_id, sizeof b.save_id);
    sight_add(s, b.root, sizeof b.root);
    for (size_t i = 0; cairn_record_label(r, i, name, value) == 0; i++) {
        sight_text(s, name);
        sight_text(s, value);
    }
}

static int sight_scalar(struct sight *s, const struct cairn_reader *r, const struct cairn_entry *e)
{
    uint64_t u64 = 0;
    double f64 = 0.0;
    bool flag = false;
    const char *text = "";
    const void *bytes = NULL;
    size_t count = 0;
    int rc = 0;
    switch (e->kind) {
    case CAIRN_SCALAR_U64:
        rc = (e->flags & CAIRN_HAS_ID) != 0 ? cairn_get_id_u64(r, e->path, e->id, &u64)
                                            : cairn_get_u64(r, e->path, &u64);
        sight_number(s, u64);
        return rc;
    case CAIRN_SCALAR_F64:
        rc = cairn_get_f64(r, e->path, &f64);
        sight_add(s, &f64, sizeof f64);
        return rc;
    case CAIRN_SCALAR_BOOL:
        rc = cairn_get_bool(r, e->path, &flag);
        sight_number(s, flag);
        return rc;
    case CAIRN_SCALAR_STRING:
        rc = cairn_get_str(r, e->path, &text);
        sight_text(s, text);
        return rc;
    case CAIRN_SCALAR_BYTES:
        rc = cairn_get_bytes(r, e->path, &bytes, &count);
        sight_add(s, bytes, count);
        return rc;
    case CAIRN_SCALAR_NULL:
        return 0;
    default:
        cr_assert_fail("an entry of kind %u", e->kind);
    }
    return 0;
}

static int sight_entry(struct sight *s, const struct cairn_reader *r, const struct cairn_entry *e)
{
    const uint64_t numbers[] = { e->id, e->flags, e->dtype, e->rank, e->kind, e->bytes };
    sight_text(s, e->path);
    sight_add(s, numbers, sizeof numbers);
    sight_add(s, e->shape, e->rank * sizeof *e->shape);
    if (e->kind != CAIRN_TENSOR) {
        return sight_scalar(s, r, e);
    }
    return cairn_get(r, e, sight_room(s, e->bytes));
}

static int sight_record(struct sight *s, const struct cairn_record *r)
{
    int rc = 0;
    s->bytes = 0;
    sight_info(s, r);
    for (uint32_t i = CAIRN_MODEL; rc == 0 && i <= CAIRN_CONTRACT; i++) {
        const struct cairn_reader *reader = NULL;
        struct cairn_entry e;
        if (cairn_record_component(r, i, &reader) < 0) {
            sight_number(s, 0);
            continue;
        }
        sight_number(s, i);
        for (uint64_t k = 0; rc == 0 && cairn_entry_at(reader, k, &e) == 0; k++) {
            rc = sight_entry(s, reader, &e);
        }
    }
    return rc;
}

int site_look(struct site *s, const char *selector, char ret_text[SITE_TEXT_BYTES])
{
    struct cairn *c = NULL;
    struct cairn_record *r = NULL;
    int rc = cairn_open(s->d.socket, "flip", &c);
    rc = rc < 0 ? rc : cairn_load(c, selector, 0, &r);
    rc = rc < 0 ? rc : sight_record(&s->seen, r);
    (void)snprintf(ret_text, SITE_TEXT_BYTES, "%s", rc < 0 ? cairn_error(c) : "");
    (void)cairn_record_free(r);
    (void)cairn_close(c);
    return rc;
}

bool site_same(const struct site *s, int boundary)
{
    const struct sight *whole = &s->whole[boundary];
    return s->seen.bytes == whole->bytes && memcmp(s->seen.data, whole->data, whole->bytes) == 0;
}

/* ---- the daemon ------------------------------------------------------------------------------ */

/* The run that is opened so that the other one is closed. */
static void save_other(struct site *s)
{
    struct cairn_record *r = NULL;
    struct job j;
    int rc = 0;
    job_init(&j);
    cr_assert_eq(cairn_capture(s->other, &j.t, &r), 0, "%s", cairn_error(s->other));
    do { /* the daemon may not have seen yet that the one before is gone */
        rc = cairn_save(s->other, &r, &(struct cairn_save_args){ .step = 1 }, NULL);
    } while (rc == -CAIRN_EBUSY);
    cr_assert_eq(rc, 0, "%s", cairn_error(s->other));
    job_fini(&j);
}

void site_start(struct site *s)
{
    daemon_start(&s->d, NULL);
    cr_assert_eq(cairn_open(s->d.socket, "other", &s->other), 0, "%s", cairn_error(s->other));
    save_other(s);
}

void site_stop(struct site *s)
{
    s->other = cairn_close(s->other);
    cr_assert_eq(daemon_stop(&s->d), 0);
}

void site_close_run(struct site *s)
{
    struct cairn_boundary b;
    size_t count = 0;
    int rc = 0;
    do { /* the daemon may not have seen yet that the one before is gone */
        rc = cairn_find(s->other, "latest", 1, &b, &count);
    } while (rc == -CAIRN_EBUSY);
    cr_assert_eq(rc, 0, "%s", cairn_error(s->other));
}

/* ---- the boundaries -------------------------------------------------------------------------- */

static void put_scalars(struct job *job, struct cairn_writer *w)
{
    static const uint8_t bytes[] = { 0, 1, 2, 0xff, 0x80, 0x7f, 9, 0 };
    (void)job;
    cr_assert_eq(cairn_put_bool(w, "shuffle", true), 0);
    cr_assert_eq(cairn_put_str(w, "source", "a place"), 0);
    cr_assert_eq(cairn_put_bytes(w, "rng", bytes, sizeof bytes), 0);
    cr_assert_eq(cairn_put_null(w, "nothing"), 0);
    cr_assert_eq(cairn_put_f64(w, "rate", -0.0), 0);
}

/* The model's payload is in chunks: its frozen tensors take more than a manifest would. */
static void fill_newest(struct job *j, enum site_kind kind)
{
    static const uint64_t weight[] = { 4, 3 };
    static const uint64_t bias[] = { 3 };
    static const uint64_t norm[] = { 5 };
    const uint64_t table[] = { kind == SITE_OWN ? (UINT64_C(4) << 20) / 4 + 3001 : 17000 };
    const uint32_t both = CAIRN_HAS_ID | CAIRN_TRAINABLE;
    (void)BOX_ADD(&j->model, "fc.weight", 7, both, CAIRN_F32, 2, weight, 1);
    (void)BOX_ADD(&j->model, "fc.bias", 8, both, CAIRN_BF16, 1, bias, 2);
    (void)BOX_ADD(&j->model, "table", 9, CAIRN_HAS_ID, CAIRN_F32, 1, table, 3);
    (void)BOX_ADD(&j->model, "norm", 10, CAIRN_HAS_ID, CAIRN_F32, 1, norm, 4);
    (void)BOX_ADD(&j->gradients, "weight", 7, CAIRN_HAS_ID, CAIRN_F32, 2, weight, 5);
    (void)BOX_ADD(&j->optimizer, "moment_1", 7, CAIRN_HAS_ID, CAIRN_F32, 2, weight, 6);
    (void)BOX_ADD(&j->optimizer, "moment_2", 7, CAIRN_HAS_ID, CAIRN_F32, 2, weight, 7);
    j->state.during_put = put_scalars;
    j->window = (struct cairn_window){
        .dtype = CAIRN_F32, .loss_scale = 16, .total_weight = 5, .microbatches = 3
    };
    j->params[0] = (struct cairn_param){ 7, true, CAIRN_F32, 2, weight };
    j->params[1] = (struct cairn_param){ 8, true, CAIRN_BF16, 1, bias };
    j->params[2] = (struct cairn_param){ 9, false, CAIRN_F32, 1, j->model.tensors[2]->shape };
    j->params[3] = (struct cairn_param){ 10, false, CAIRN_F32, 1, norm };
    j->param_count = 4;
}

static void fill_counters(struct job *j, uint64_t seed)
{
    struct box *boxes[] = { &j->gradients, &j->model, &j->optimizer, &j->scheduler, &j->state };
    for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
        boxes[i]->counter = UINT64_C(0x9e3779b97f4a7c15) * (seed * 8 + i);
    }
}

typedef int capture_fn(struct cairn *c, const struct cairn_trainer *t, struct cairn_record **ret);
typedef int
restore_fn(struct cairn *c, const struct cairn_record *r, const struct cairn_trainer *t);

static const struct {
    capture_fn *capture;
    restore_fn *restore;
    const char *const labels[2];
} boundaries[SITE_BOUNDARIES] = {
    [SITE_OLDER] = { cairn_capture, cairn_restore, { "loss=0.5" } },
    [SITE_NEWEST] = { cairn_capture_weighted_with_dtypes,
                      cairn_restore_weighted_with_dtypes,
                      { "loss=0.25" } },
};

static void save(struct site *s, struct cairn *c, const struct job *j, int which)
{
    struct cairn_record *r = NULL;
    struct cairn_boundary b;
    const struct cairn_save_args args = { .step = SITE_STEP, .labels = boundaries[which].labels };
    cr_assert_eq(boundaries[which].capture(c, &j->t, &r), 0, "%s", cairn_error(c));
    cr_assert_eq(cairn_save(c, &r, &args, &b), 0, "%s", cairn_error(c));
    cr_assert_eq(b.seq, (uint64_t)which + 1);
    memcpy(s->save_id[which], b.save_id, sizeof b.save_id);
}

/* What is seen later is compared with what is seen now, and this with what was saved. */
static void check_saved(struct cairn *c, const struct job *j, int which)
{
    struct cairn_record *r = NULL;
    struct job again;
    job_like(&again, j);
    cr_assert_eq(cairn_load(c, "latest", 0, &r), 0, "%s", cairn_error(c));
    cr_assert_eq(boundaries[which].restore(c, r, &again.t), 0, "%s", cairn_error(c));
    cr_assert_null(job_differs(j, &again), "%s", job_differs(j, &again));
    (void)cairn_record_free(r);
    job_fini(&again);
}

static void save_both(struct site *s, enum site_kind kind)
{
    struct cairn *c = NULL;
    cr_assert_eq(cairn_open(s->d.socket, "flip", &c), 0, "%s", cairn_error(c));
    for (int i = 0; i < SITE_BOUNDARIES; i++) {
        char text[SITE_TEXT_BYTES];
        struct job j;
        job_init(&j);
        fill_counters(&j, (unsigned)i + 1);
        if (i == SITE_NEWEST) {
            fill_newest(&j, kind);
        }
        save(s, c, &j, i);
        check_saved(c, &j, i);
        job_fini(&j);
        cr_assert_eq(site_look(s, "latest", text), 0, "%s", text);
        s->whole[i] = s->seen;
        s->seen = (struct sight){ .data = NULL };
    }
    (void)cairn_close(c);
}

void site_up(struct site *s, enum site_kind kind)
{
    char run[FLIP_PATH_BYTES / 2];
    char text[SITE_TEXT_BYTES];
    *s = (struct site){ .other = NULL };
    tmp_make("flip", s->dir);
    daemon_init(&s->d, s->dir);
    s->d.args[0] = "--open-runs";
    s->d.args[1] = "1";
    daemon_start(&s->d, NULL);
    save_both(s, kind);
    cr_assert_eq(daemon_stop(&s->d), 0);
    daemon_start(&s->d, NULL); /* opened anew, its index has settled */
    cr_assert_eq(site_look(s, "latest", text), 0, "%s", text);
    cr_assert(site_same(s, SITE_NEWEST));
    cr_assert_eq(daemon_stop(&s->d), 0);
    cr_assert_eq(daemon_fsck(&s->d, false), 0);
    (void)snprintf(run, sizeof run, "%.400s/runs/%u/flip", s->d.data, (unsigned)getuid());
    (void)snprintf(s->index, sizeof s->index, "%s/index", run);
    (void)snprintf(s->segment, sizeof s->segment, "%s/segments/0000000000000001.seg", run);
    flip_rows_read(&s->rows, s->index, false);
}

void site_down(struct site *s)
{
    cr_assert_eq(daemon_fsck(&s->d, false), 0, "what was put back is not what it was");
    daemon_fini(&s->d);
    flip_rows_free(&s->rows);
    for (int i = 0; i < SITE_BOUNDARIES; i++) {
        free(s->whole[i].data);
    }
    free(s->seen.data);
    tmp_remove(s->dir);
}
