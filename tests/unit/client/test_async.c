/* An asynchronous capture that goes well: who is asked when, what wakes the loop, and that the
 * record is the synchronous one, to the byte. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "async.h"
#include "lib/capture.h"

/* ---- it talks to nobody: every word of the library to a socket is counted (CMakeLists.txt) ----
 */

static unsigned words;

int real_tp_connect(const char *path,
                    const struct deadline *d,
                    int *ret_fd,
                    struct err *err) __asm__("__real_tp_connect");
int wrap_tp_connect(const char *path,
                    const struct deadline *d,
                    int *ret_fd,
                    struct err *err) __asm__("__wrap_tp_connect");
int real_tp_send(int fd,
                 struct iovec *iov,
                 size_t count,
                 struct deadline *d,
                 struct err *err) __asm__("__real_tp_send");
int wrap_tp_send(int fd,
                 struct iovec *iov,
                 size_t count,
                 struct deadline *d,
                 struct err *err) __asm__("__wrap_tp_send");
int real_tp_recv(int fd, void *dst, size_t bytes, struct deadline *d, struct err *err) __asm__(
    "__real_tp_recv");
int wrap_tp_recv(int fd, void *dst, size_t bytes, struct deadline *d, struct err *err) __asm__(
    "__wrap_tp_recv");
bool real_tp_readable(int fd) __asm__("__real_tp_readable");
bool wrap_tp_readable(int fd) __asm__("__wrap_tp_readable");

int wrap_tp_connect(const char *path, const struct deadline *d, int *ret_fd, struct err *err)
{
    words++;
    return real_tp_connect(path, d, ret_fd, err);
}

int wrap_tp_send(int fd, struct iovec *iov, size_t count, struct deadline *d, struct err *err)
{
    words++;
    return real_tp_send(fd, iov, count, d, err);
}

int wrap_tp_recv(int fd, void *dst, size_t bytes, struct deadline *d, struct err *err)
{
    words++;
    return real_tp_recv(fd, dst, bytes, d, err);
}

bool wrap_tp_readable(int fd)
{
    words++;
    return real_tp_readable(fd);
}

CASE(async, N7_R11_async_capture_does_no_socket_io)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    async_job(&g.job);
    cr_assert_gt(words, 0, "the open was counted");
    fake_pause(&g.fake); /* nobody is there at all */
    words = 0;
    cr_assert_eq(async_begin(&g, CAIRN_KIND_DTYPES | CAIRN_KIND_WEIGHTED, &e), 0);
    async_to_end(&g, &e);
    cr_assert_eq(e.rc, 0, "%s", e.text);
    cr_assert_eq(words, 0, "%u words to the daemon", words);
    fake_resume(&g.fake);
    cr_assert_eq(cairn_save(g.c, &e.r, &(struct cairn_save_args){ .step = 1 }, NULL), 0);
    cr_assert_gt(words, 0);
    ground_check_newest(&g);
    ground_down(&g);
}

/* The daemon was not there yet: what was captured is saved by a handle that finds it. */
CASE(async, R11_a_handle_that_never_met_a_daemon_captures)
{
    struct ground g;
    struct ended e = { 0 };
    char nowhere[128];
    ground_up(&g);
    async_job(&g.job);
    struct cairn *met = g.c;
    (void)snprintf(nowhere, sizeof nowhere, "%s.none", g.fake.path);
    cr_assert_eq(cairn_open(nowhere, "demo", &g.c), -CAIRN_ECONN);
    g.job.c = g.c;
    cr_assert_eq(async_begin(&g, 0, &e), 0, "%s", cairn_error(g.c));
    async_to_end(&g, &e);
    cr_assert_eq(e.rc, 0, "%s", e.text);
    cr_assert_eq(cairn_save(g.c, &e.r, &(struct cairn_save_args){ .step = 1 }, NULL),
                 -CAIRN_EINVAL);
    (void)cairn_close(g.c);
    g.c = met;
    cr_assert_eq(cairn_save(g.c, &e.r, &(struct cairn_save_args){ .step = 1 }, NULL), 0);
    ground_check_newest(&g);
    ground_down(&g);
}

/* ---- order ---- */

CASE(async, R11_the_rest_is_asked_when_all_gradients_are_there)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    async_job(&g.job);
    cr_assert_eq(async_begin(&g, CAIRN_KIND_DTYPES, &e), 0, "%s", cairn_error(g.c));
    cr_assert_str_eq(g.job.log, "Wm Pg", "R12: dtypes, then gradients");
    cr_assert_eq(g.job.open_count, SLOT_MODEL);
    cr_assert_eq(cairn_process(g.c), 0);
    async_fill(&g.job, 1, 2);
    cr_assert_not(async_is_awake(g.c), "one of two is no reason");
    cr_assert_eq(cairn_process(g.c), 0);
    cr_assert_str_eq(g.job.log, "Wm Pg");
    async_fill(&g.job, 0, 1);
    cr_assert_str_eq(g.job.log, "Wm Pg", "who fills a slot asks nobody");
    async_turn(g.c);
    cr_assert_str_eq(g.job.log, "Wm Pg Pm Po Ps Pu");
    cr_assert_eq(g.job.open_count, SLOT_COUNT);
    cr_assert_eq(e.calls, 0, "slots of the others are waited for too");
    async_fill(&g.job, SLOT_MODEL, SLOT_COUNT);
    cr_assert_eq(e.calls, 0, "the callback is called by cairn_process");
    async_turn(g.c);
    cr_assert_eq(e.calls, 1);
    cr_assert_eq(e.rc, 0, "%s", e.text);
    (void)cairn_record_free(e.r);
    ground_down(&g);
}

/* Nothing to wait for is a reason to go on, but not inside of the call. */
CASE(async, a_capture_without_slots_ends_at_the_first_turn)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    job_fill(&g.job, 1);
    cr_assert_not(async_is_awake(g.c));
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    cr_assert_eq(e.calls, 0);
    async_turn(g.c);
    cr_assert_eq(e.calls, 1);
    cr_assert_eq(e.rc, 0, "%s", e.text);
    cr_assert_not(async_is_awake(g.c));
    cr_assert_eq(cairn_process(g.c), 0, "nothing to do");
    cr_assert_eq(e.calls, 1);
    (void)cairn_record_free(e.r);
    ground_down(&g);
}

static void process_inside(struct job *j, struct cairn_writer *w)
{
    (void)w;
    cr_assert_eq(cairn_process(j->c), 0);
}

CASE(async, a_component_that_processes_changes_nothing)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    job_fill(&g.job, 1);
    g.job.gradients.during_put = process_inside;
    g.job.model.during_put = process_inside;
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    async_turn(g.c);
    cr_assert_eq(e.calls, 1);
    cr_assert_str_eq(g.job.log, "Pg Pm Po Ps Pu");
    (void)cairn_record_free(e.r);
    ground_down(&g);
}

/* ---- the same record ---- */

static const uint32_t kinds[] = {
    0,
    CAIRN_KIND_DTYPES,
    CAIRN_KIND_WEIGHTED,
    CAIRN_KIND_DTYPES | CAIRN_KIND_WEIGHTED,
    CAIRN_KIND_MODEL_STATE,
    CAIRN_KIND_MODEL_STATE | CAIRN_KIND_WEIGHTED,
};
#define KINDS (sizeof kinds / sizeof kinds[0])

CASE(async, R14_R16_every_kind_is_the_synchronous_record)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct ground g;
        struct ended e = { 0 };
        ground_up(&g);
        async_job(&g.job);
        struct cairn_record *r = async_reference(&g, kinds[k]);
        cr_assert_eq(async_begin(&g, kinds[k], &e), 0, "%s", cairn_error(g.c));
        async_to_end(&g, &e);
        cr_assert_eq(e.rc, 0, "%s", e.text);
        async_check_same(r, e.r);
        (void)cairn_record_free(r);
        (void)cairn_record_free(e.r);
        ground_down(&g);
    }
}

static void check_same_stored(const struct fake_boundary *a, const struct fake_boundary *b)
{
    cr_assert_eq(a->frame_count, b->frame_count);
    for (size_t i = 0; i < a->frame_count; i++) {
        cr_assert_eq(a->frames[i].type, b->frames[i].type);
        cr_assert_eq(a->frames[i].bytes, b->frames[i].bytes);
        cr_assert(same_bits(a->frames[i].message, b->frames[i].message, a->frames[i].bytes));
    }
    cr_assert_eq(a->chunk_count, b->chunk_count);
    cr_assert_gt(a->chunk_count, 2);
    for (uint32_t i = 0; i < a->chunk_count; i++) {
        cr_assert_eq(a->chunk_bytes[i], b->chunk_bytes[i]);
        cr_assert(same_bits(a->chunks[i], b->chunks[i], a->chunk_bytes[i]));
    }
}

/* What travels and is stored of it, too. The trainer goes on in between: E24. */
CASE(async, E24_R14_saved_later_it_is_stored_as_the_synchronous_one)
{
    struct ground g;
    struct ended e = { 0 };
    struct cairn_save_args args = { .step = 7 };
    ground_up(&g);
    async_job(&g.job);
    struct cairn_record *r = async_reference(&g, kinds[3]);
    cr_assert_eq(async_begin(&g, kinds[3], &e), 0);
    async_to_end(&g, &e);
    g.job.generation++;
    memset(g.job.model.tensors[3]->data, 0xaa, g.job.model.tensors[3]->bytes);
    memset(g.job.gradients.tensors[0]->data, 0xbb, g.job.gradients.tensors[0]->bytes);
    g.job.window.microbatches++;
    cr_assert_eq(cairn_save(g.c, &r, &args, NULL), 0, "%s", cairn_error(g.c));
    cr_assert_eq(cairn_save(g.c, &e.r, &args, NULL), 0, "%s", cairn_error(g.c));
    fake_pause(&g.fake);
    check_same_stored(g.fake.boundaries[0], g.fake.boundaries[1]);
    fake_resume(&g.fake);
    ground_down(&g);
}

/* R10: nothing of the trainer is changed. */
CASE(async, R10_the_trainer_is_as_before)
{
    struct ground g;
    struct ended e = { 0 };
    struct job before;
    ground_up(&g);
    async_job(&g.job);
    job_init(&before);
    async_job(&before);
    cr_assert_eq(async_begin(&g, kinds[3], &e), 0);
    async_to_end(&g, &e);
    cr_assert_null(job_differs(&before, &g.job), "%s", job_differs(&before, &g.job));
    cr_assert(same_bits(&before.window, &g.job.window, sizeof before.window));
    (void)cairn_record_free(e.r);
    job_fini(&before);
    ground_down(&g);
}

/* ---- threads ---- */

static struct fillers during_rest;

static void fill_during_rest(struct job *j, struct cairn_writer *w)
{
    (void)w;
    fillers_start(&during_rest, j, SLOT_MODEL, SLOT_STATE);
}

CASE(async, R11_two_threads_fill_slots_out_of_order)
{
    struct ground g;
    struct fillers f;
    ground_up(&g);
    async_job(&g.job);
    struct cairn_record *r = async_reference(&g, kinds[3]);
    for (int round = 0; round < 10; round++) {
        struct ended e = { 0 };
        g.job.log[0] = '\0';
        g.job.state.during_put = fill_during_rest; /* while more of them are handed out */
        cr_assert_eq(async_begin(&g, kinds[3], &e), 0);
        fillers_start(&f, &g.job, SLOT_GRADIENTS, SLOT_MODEL);
        while (g.job.open_count < SLOT_COUNT) {
            async_turn(g.c);
        }
        fillers_join(&f);
        cr_assert_eq(e.calls, 0, "a slot of the state is open");
        async_fill(&g.job, SLOT_STATE, SLOT_COUNT);
        while (e.calls == 0) {
            async_turn(g.c);
        }
        fillers_join(&during_rest);
        cr_assert_eq(e.rc, 0, "%s", e.text);
        async_check_same(r, e.r);
        (void)cairn_record_free(e.r);
    }
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* ---- the descriptor ---- */

CASE(async, its_descriptor_is_one_of_its_own)
{
    struct ground g;
    int kept = fcntl(0, F_DUPFD_CLOEXEC, 100);
    ground_up(&g);
    (void)close(0);
    int fd = cairn_fd(g.c);
    cr_assert_gt(fd, 2, "no standard stream");
    cr_assert_eq(cairn_fd(g.c), fd, "always the same");
    cr_assert_neq(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    cr_assert_neq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    cr_assert_not(async_is_awake(g.c));
    ground_down(&g);
    cr_assert_eq(dup2(kept, 0), 0);
    (void)close(kept);
}

CASE(async, a_descriptor_that_is_asked_for_late_is_ready_at_once)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    async_job(&g.job);
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    async_fill(&g.job, 0, SLOT_MODEL);
    cr_assert(async_is_awake(g.c));
    async_turn(g.c);
    async_fill(&g.job, SLOT_MODEL, SLOT_COUNT);
    async_turn(g.c);
    cr_assert_eq(e.calls, 1);
    (void)cairn_record_free(e.r);
    ground_down(&g);
}

/* Whoever has no event loop calls it now and then. */
CASE(async, it_needs_no_descriptor)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    async_job(&g.job);
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    async_fill(&g.job, 0, SLOT_MODEL);
    cr_assert_eq(cairn_process(g.c), 0);
    async_fill(&g.job, SLOT_MODEL, SLOT_COUNT);
    cr_assert_eq(cairn_process(g.c), 0);
    cr_assert_eq(e.calls, 1);
    cr_assert_eq(g.c->wake_fd, -1);
    (void)cairn_record_free(e.r);
    ground_down(&g);
}

/* ---- one after the other ---- */

CASE(async, a_second_capture_is_refused_until_the_callback)
{
    struct ground g;
    struct ended e = { 0 };
    struct ended second = { 0 };
    struct cairn_record *r = NULL;
    ground_up(&g);
    async_job(&g.job);
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    for (size_t k = 0; k < KINDS; k++) {
        size_t open = g.job.open_count;
        cr_assert_eq(async_begin(&g, kinds[k], &second), -CAIRN_EBUSY);
        cr_assert_eq(ground_capture(&g, kinds[k], &r), -CAIRN_EBUSY);
        g.job.open_count = open;
    }
    cr_assert_str_eq(g.job.log, "Pg", "nobody was asked for the second");
    async_to_end(&g, &e);
    cr_assert_eq(e.rc, 0, "the first goes on: %s", e.text);
    cr_assert_eq(second.calls, 0);
    cr_assert_eq(async_begin(&g, 0, &second), 0);
    async_to_end(&g, &second);
    async_check_same(e.r, second.r);
    (void)cairn_record_free(e.r);
    (void)cairn_record_free(second.r);
    ground_down(&g);
}

static void capture_again(struct ended *e)
{
    struct ground *g = e->then_arg;
    e->then = NULL;
    (void)cairn_record_free(e->r);
    cr_assert_eq(async_begin(g, 0, e), 0, "%s", cairn_error(g->c));
}

CASE(async, a_callback_may_capture_again)
{
    struct ground g;
    struct ended e = { .then = capture_again, .then_arg = &g };
    ground_up(&g);
    job_fill(&g.job, 1);
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    async_turn(g.c);
    cr_assert_eq(e.calls, 1, "the second has its own turn");
    async_turn(g.c);
    cr_assert_eq(e.calls, 2);
    cr_assert_eq(e.rc, 0, "%s", e.text);
    (void)cairn_record_free(e.r);
    ground_down(&g);
}

CASE(async, the_record_before_is_saved_meanwhile)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    async_job(&g.job);
    struct cairn_record *r = async_reference(&g, 0);
    cr_assert_eq(async_begin(&g, 0, &e), 0);
    cr_assert_eq(cairn_save(g.c, &r, &(struct cairn_save_args){ .step = 1 }, NULL), 0);
    async_fill(&g.job, 0, SLOT_MODEL);
    async_turn(g.c);
    ground_check_newest(&g);
    async_fill(&g.job, SLOT_MODEL, SLOT_COUNT);
    async_turn(g.c);
    cr_assert_eq(e.rc, 0, "%s", e.text);
    cr_assert_eq(cairn_save(g.c, &e.r, &(struct cairn_save_args){ .step = 2 }, NULL), 0);
    ground_check_newest(&g);
    ground_down(&g);
}

CASE(async, R10_arguments_that_are_missing)
{
    struct ground g;
    struct ended e = { 0 };
    ground_up(&g);
    job_fill(&g.job, 1);
    cr_assert_eq(cairn_capture_async(NULL, &g.job.t, async_captured, &e), -CAIRN_EINVAL);
    cr_assert_eq(cairn_capture_async(g.c, NULL, async_captured, &e), -CAIRN_EINVAL);
    cr_assert_eq(cairn_capture_async(g.c, &g.job.t, NULL, &e), -CAIRN_EINVAL);
    g.job.t.window = NULL;
    cr_assert_eq(async_begin(&g, CAIRN_KIND_WEIGHTED, &e), -CAIRN_EINVAL);
    g.job.t.param = NULL;
    cr_assert_eq(async_begin(&g, CAIRN_KIND_DTYPES, &e), -CAIRN_EINVAL);
    cr_assert_eq(cairn_fd(NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_events(NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_process(NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_process(g.c), 0);
    cr_assert_eq(e.calls, 0, "what did not begin is not called back");
    ground_down(&g);
}
