/* Every point at which a capture, a save and a load may fail, in the order in which they come. Each
 * is provoked, and nothing was read, written or changed that should not have been: the trainer's
 * log says who was asked for what, the fake daemon counts its frames. */
#include <cairn/admin.h>
#include <string.h>

#include "ground.h"
#include "record/digest.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- what must not have happened ---- */

static unsigned frames(struct ground *g)
{
    unsigned sum = 0;
    for (uint32_t i = 0; i < FAKE_TYPES; i++) {
        sum += fake_seen(&g->fake, i);
    }
    return sum;
}

static void says(const struct ground *g, const char *word)
{
    cr_assert_not_null(
        strstr(cairn_error(g->c), word), "'%s' is not in: %s", word, cairn_error(g->c));
}

/* ---- capture ---- */

static void no_scale(struct job *j)
{
    j->window.loss_scale = 0;
}

static void two_dtypes(struct job *j)
{
    j->params[3] = j->params[0];
    j->params[3].dtype = CAIRN_F16;
    j->param_count = 4;
}

static void no_read(struct job *j)
{
    j->gradients.put_rc = -CAIRN_EBUSY;
}

static void no_value(struct job *j)
{
    j->gradients.tensors[0]->entry.dtype = CAIRN_QFLOAT; /* whose length nobody knows */
    j->gradients.tensors[0]->entry.rank = 33;
}

static void open_slot(struct job *j)
{
    j->gradients.tensors[0]->by_slot = true;
    j->gradients.leave_open = true;
}

static void fail_slot(struct job *j, struct cairn_writer *w)
{
    const struct tensor *t = j->gradients.tensors[0];
    struct cairn_entry e = t->entry;
    struct cairn_slot slot;
    e.path = "bias";
    e.id = 8;
    cr_assert_eq(cairn_put_slot(w, &e, &slot), 0);
    cr_assert_eq(cairn_slot_done(j->c, &slot, -CAIRN_EIO), 0);
}

static void failed_slot(struct job *j)
{
    j->gradients.during_put = fail_slot;
}

static void no_model(struct job *j)
{
    j->model.put_rc = -CAIRN_EIO;
}

static void no_optimizer(struct job *j)
{
    j->optimizer.put_rc = -CAIRN_EIO;
}

static void no_scheduler(struct job *j)
{
    j->scheduler.put_rc = -CAIRN_EIO;
}

static void no_state(struct job *j)
{
    j->state.put_rc = 1; /* neither 0 nor a code */
}

static void update(struct job *j, struct cairn_writer *w)
{
    (void)w;
    j->generation++;
}

static void an_update(struct job *j)
{
    j->state.during_put = update;
}

/* In the order of the capture: the window, the dtypes, the gradients, and only then the rest. */
CASE(failures, F1_F2_F3_F4_F20_R03_R10_R12_R18_a_capture_reads_nothing_behind_and_leaves_no_record)
{
    static const struct {
        uint32_t kind;
        void (*provoke)(struct job *j);
        int code;
        const char *log, *word;
    } points[] = {
        { 2, no_scale, -CAIRN_EWINDOW, "", "loss_scale" },
        { 3, two_dtypes, -CAIRN_EDTYPES, "Wm", "parameter 7 (trainable, F16) is tied" },
        { 3, no_read, -CAIRN_EBUSY, "Wm Pg", "gradients" },
        { 0, no_value, -CAIRN_EINVAL, "Pg", "gradients" },
        { 0, failed_slot, -CAIRN_EIO, "Pg", "the slot of 'bias' (id 8)" },
        { 0, no_model, -CAIRN_EIO, "Pg Pm", "model" },
        { 0, no_optimizer, -CAIRN_EIO, "Pg Pm Po", "optimizer" },
        { 0, no_scheduler, -CAIRN_EIO, "Pg Pm Po Ps", "scheduler" },
        { 0, no_state, -CAIRN_EINVAL, "Pg Pm Po Ps Pu", "state" },
        { 0, open_slot, -CAIRN_ESYNC, "Pg Pm Po Ps Pu", "slot of 'weight' (id 7) was still open" },
        { 0, an_update, -CAIRN_ECONCURRENT, "Pg Pm Po Ps Pu", "updated during the capture" },
    };
    for (size_t i = 0; i < COUNT(points); i++) {
        struct ground g;
        struct job before;
        struct cairn_record *r = NULL;
        ground_up(&g);
        job_fill(&g.job, 1);
        job_init(&before);
        job_fill(&before, 1);
        unsigned seen = frames(&g);
        points[i].provoke(&g.job);
        cr_assert_eq(ground_capture(&g, points[i].kind, &r), points[i].code, "%zu", i);
        says(&g, points[i].word);
        cr_assert_str_eq(g.job.log, points[i].log, "%zu", i);
        cr_assert_null(r);
        cr_assert_eq(frames(&g), seen, "nobody was told");
        cr_assert_null(job_differs(&before, &g.job));
        job_fini(&before);
        ground_down(&g);
    }
}

/* ---- save ---- */

/* At every frame of a save: what the daemon says comes out, the record stays, nobody is asked for
 * anything again, and the boundary before is the newest, alone and whole. */
CASE(failures, F8_F9_F10_R02_R20_a_save_keeps_its_record_and_the_boundary_before)
{
    static const uint32_t types[] = { WIRE_BEGIN, WIRE_CHUNKS, WIRE_ENTRIES, WIRE_DATA, WIRE_SEAL };
    static const int codes[] = { CAIRN_EIO,       CAIRN_ENOSPC,      CAIRN_ECONFLICT,
                                 CAIRN_EPOISONED, CAIRN_EACCES,      CAIRN_ELIMIT,
                                 CAIRN_EUNKNOWN,  CAIRN_ESUPERSEDED, CAIRN_EINTERNAL };
    for (size_t i = 0; i < COUNT(types) * COUNT(codes); i++) {
        uint32_t type = types[i % COUNT(types)];
        struct ground g;
        struct cairn_boundary b;
        struct cairn_record *r = NULL;
        const uint32_t code = (uint32_t)codes[i / COUNT(types)];
        struct cairn_boundary list[3];
        size_t count = 0;
        ground_up(&g);
        job_fill(&g.job, 1);
        cr_assert_eq(ground_save(&g, 0, 1, NULL), 0);
        g.job.state.counter++;
        cr_assert_eq(ground_capture(&g, 0, &r), 0);
        g.job.log[0] = '\0';
        g.fake.faults[0] =
            (struct fake_fault){ type, fake_seen(&g.fake, type) + 1, FAKE_REFUSE, code };
        struct cairn_save_args args = { .step = 2 };
        cr_assert_eq(cairn_save(g.c, &r, &args, &b), -(int)code, "%u: %s", type, cairn_error(g.c));
        says(&g, "the fake refuses");
        cr_assert_not_null(r);
        cr_assert_str_eq(g.job.log, "");
        cr_assert_eq(cairn_find(g.c, "latest", 3, list, &count), 0);
        cr_assert(count == 1 && list[0].step == 1);
        cr_assert_eq(cairn_save(g.c, &r, &args, &b), 0, "%s", cairn_error(g.c));
        cr_assert(b.seq == 2 && r == NULL);
        ground_check_newest(&g);
        ground_down(&g);
    }
}

/* Whatever a precision cannot hold is refused before the daemon hears of it. */
CASE(failures, F5_F6_R05_R20_a_precision_that_loses_is_refused_before_anything_is_sent)
{
    static const uint64_t one[] = { 1 };
    static const struct {
        uint32_t dtype;
        uint64_t bits;
        uint32_t precision;
        bool lossy_ok;
        int code;
    } points[] = {
        { CAIRN_F32, 0x3f800001, CAIRN_HALF, false, -CAIRN_EPRECISION },
        { CAIRN_F64, 0x3ff0000000000001, CAIRN_FULL, false, -CAIRN_EPRECISION },
        { CAIRN_I64, UINT64_C(3000000000), CAIRN_FULL, true, -CAIRN_ERANGE },
        { CAIRN_U16, 40000, CAIRN_HALF, true, -CAIRN_ERANGE },
        { CAIRN_U64, UINT64_C(1) << 63, CAIRN_DOUBLE, true, -CAIRN_ERANGE },
    };
    for (size_t i = 0; i < COUNT(points); i++) {
        struct ground g;
        struct cairn_record *r = NULL;
        ground_up(&g);
        struct tensor *t =
            BOX_ADD(&g.job.optimizer, "x", 4711, CAIRN_HAS_ID, points[i].dtype, 1, one, 1);
        memcpy(t->data, &points[i].bits, t->bytes);
        cr_assert_eq(ground_capture(&g, 0, &r), 0);
        g.job.log[0] = '\0';
        unsigned seen = frames(&g);
        struct cairn_save_args args = { .precision = points[i].precision,
                                        .lossy_ok = points[i].lossy_ok };
        cr_assert_eq(cairn_save(g.c, &r, &args, NULL), points[i].code, "%zu", i);
        says(&g, "optimizer: 'x'");
        cr_assert_not_null(r);
        cr_assert_str_eq(g.job.log, "");
        cr_assert_eq(frames(&g), seen);
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

/* ---- load ---- */

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the hook */
static void mangle(struct fake *f, uint32_t type, union wire_msg *msg, uint8_t *payload)
{
    static struct entry entries[LIMIT_ENTRIES_PER_PAGE];
    static struct chunk chunks[LIMIT_CHUNKS_PER_PAGE];
    (void)payload;
    if (type == WIRE_DESCRIBED && f->knob == 1) {
        msg->described.boundary.root.byte[0] ^= 1;
    } else if (type == WIRE_DESCRIBED && f->knob == 2) {
        msg->described.boundary.kind = KIND_DTYPES; /* which it is not */
    } else if (type == WIRE_DESCRIBED && f->knob == 3) {
        msg->described.boundary.component_count--;
    } else if (type == WIRE_ENTRIES && f->knob == 4) {
        memcpy(entries, msg->entries.entries, msg->entries.count * sizeof *entries);
        msg->entries.entries = entries;
        entries[0].digest.byte[0] ^= 1;
    } else if (type == WIRE_CHUNKS && f->knob == 5) {
        memcpy(chunks, msg->chunks.chunks, msg->chunks.count * sizeof *chunks);
        msg->chunks.chunks = chunks;
        chunks[0].component = COMPONENT_OPTIMIZER;
    } else if (type == WIRE_ENTRIES && f->knob == 6 && msg->entries.component == COMPONENT_DTYPES) {
        memcpy(entries, msg->entries.entries, msg->entries.count * sizeof *entries);
        msg->entries.entries = entries;
        entries[0].value = slice_of("\x15\0\0\0\0\0\0", 8); /* I32 is not floating */
        entries[0].digest = digest_bytes(entries[0].value.data, 8);
    }
}

/* A refusal of the daemon, or something wrong with what it says. */
CASE(failures, F11_F12_F13_R21_R22_a_load_that_fails_reads_no_payload_and_asks_nobody)
{
    static const struct {
        const char *selector;
        unsigned knob;
        uint32_t refused, with;
        int code;
    } points[] = {
        { "seq:9", 0, 0, 0, -CAIRN_ENOENT },
        { "latest~~", 0, 0, 0, -CAIRN_EINVAL },
        { "latest", 0, WIRE_DESCRIBE, CAIRN_EACCES, -CAIRN_EACCES },
        { "latest", 0, WIRE_DESCRIBE, CAIRN_ECORRUPT, -CAIRN_ECORRUPT },
        { "latest", 0, WIRE_DESCRIBE, CAIRN_EVERSION, -CAIRN_EVERSION },
        { "latest", 0, WIRE_MANIFEST, CAIRN_EIO, -CAIRN_EIO },
        { "latest", 0, WIRE_MANIFEST, CAIRN_EPRUNED, -CAIRN_EPRUNED },
        { "latest", 0, WIRE_CHUNK_LIST, CAIRN_ECORRUPT, -CAIRN_ECORRUPT },
        { "latest", 1, 0, 0, -CAIRN_ECORRUPT },
        { "latest", 2, 0, 0, -CAIRN_ECORRUPT },
        { "latest", 3, 0, 0, -CAIRN_ECORRUPT },
        { "latest", 4, 0, 0, -CAIRN_ECORRUPT },
        { "latest", 5, 0, 0, -CAIRN_ECORRUPT },
        { "latest", 6, 0, 0, -CAIRN_ECORRUPT },
    };
    for (size_t i = 0; i < COUNT(points); i++) {
        struct ground g;
        struct cairn_record *r = NULL;
        ground_up(&g);
        job_fill(&g.job, 1);
        cr_assert_eq(ground_save(&g, 3, 1, NULL), 0);
        g.job.log[0] = '\0';
        g.fake.mangle = mangle;
        g.fake.knob = points[i].knob;
        if (points[i].refused != 0) {
            g.fake.faults[0] =
                (struct fake_fault){ points[i].refused, 1, FAKE_REFUSE, points[i].with };
        }
        cr_assert_eq(cairn_load(g.c, points[i].selector, 0, &r),
                     points[i].code,
                     "%zu: %s",
                     i,
                     cairn_error(g.c));
        cr_assert_null(r);
        cr_assert_str_eq(g.job.log, "");
        cr_assert_eq(fake_seen(&g.fake, WIRE_LOAD), 0);
        g.fake.knob = 0;
        ground_check_newest(&g);
        ground_down(&g);
    }
}
