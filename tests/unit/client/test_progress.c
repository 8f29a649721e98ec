/* How far a save is: seen at every frame that is sent, from outside of the calls, and by another
 * thread. */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground.h"
#include "lib/transport.h"

#define CHUNKS 3u
#define CHUNK_BYTES UINT64_C(5000000)

static struct cairn_progress progress_of(struct cairn *c)
{
    struct cairn_progress p = { .stage = 77 };
    cr_assert_eq(cairn_save_progress(c, &p), 0);
    cr_assert_leq(p.done_bytes, p.total_bytes);
    return p;
}

static void progress_is(struct cairn *c, enum cairn_save_stage stage, bool all)
{
    struct cairn_progress p = progress_of(c);
    cr_assert_eq(p.stage, stage, "stage %u, expected %u", p.stage, (unsigned)stage);
    cr_assert_eq(p.done_bytes, all ? p.total_bytes : 0);
}

static void
progress_up(struct ground *g, struct cairn_record **ret, struct cairn_boundary *ret_info)
{
    ground_up(g);
    job_fill(&g->job, 1);
    ground_fill_chunks(g, CHUNKS, CHUNK_BYTES);
    cr_assert_eq(ground_capture(g, 0, ret), 0);
    cr_assert_eq(cairn_record_info(*ret, ret_info), 0);
    progress_is(g->c, CAIRN_STAGE_NONE, true);
}

/* ---- at every frame ---- */

static struct {
    struct cairn *c; /* NULL: nobody looks */
    unsigned chunks, seals;
    uint64_t sent;
} progress_spy;

/* Before a frame goes out: what was sent before it has been counted, and no more. */
static void progress_look(uint32_t type, uint64_t payload_bytes)
{
    struct cairn_progress p = progress_of(progress_spy.c);
    if (type < WIRE_BEGIN || type > WIRE_SEAL) {
        return;
    }
    if (type == WIRE_BEGIN) {
        cr_assert_eq(p.stage, CAIRN_STAGE_CAPTURED);
        progress_spy.chunks = 0;
        progress_spy.sent = 0;
    } else if (type == WIRE_DATA || type == WIRE_SEAL) {
        cr_assert_eq(p.stage, CAIRN_STAGE_SENDING);
        progress_spy.chunks += type == WIRE_DATA;
        progress_spy.seals += type == WIRE_SEAL;
    }
    cr_assert_eq(p.done_bytes, progress_spy.sent, "before a frame of type %u", type);
    progress_spy.sent += payload_bytes;
}

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

int wrap_tp_send(int fd, struct iovec *iov, size_t count, struct deadline *d, struct err *err)
{
    if (progress_spy.c != NULL) {
        uint16_t type = 0;
        memcpy(&type, (const uint8_t *)iov[0].iov_base + 4, sizeof type);
        progress_look(type, count > 1 ? iov[1].iov_len : 0);
    }
    return real_tp_send(fd, iov, count, d, err);
}

CASE(progress, goes_on_with_every_chunk)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_boundary info;
    struct cairn_boundary saved;
    progress_up(&g, &r, &info);
    progress_spy.c = g.c;
    cr_assert_eq(cairn_save(g.c, &r, &(struct cairn_save_args){ .step = 1 }, &saved), 0);
    progress_spy.c = NULL;
    cr_assert_geq(progress_spy.chunks, CHUNKS);
    progress_is(g.c, CAIRN_STAGE_COMMITTED, true);
    cr_assert_eq(progress_of(g.c).total_bytes, saved.payload_bytes);
    ground_down(&g);
}

/* What was sent to a daemon that is gone counts no more. */
CASE(progress, goes_back_when_the_connection_is_lost)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_boundary info;
    progress_up(&g, &r, &info);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_CLOSE, 0 };
    progress_spy.c = g.c;
    cr_assert_eq(cairn_save(g.c, &r, &(struct cairn_save_args){ .step = 1 }, NULL), 0);
    progress_spy.c = NULL;
    cr_assert_eq(progress_spy.seals, 2);
    progress_is(g.c, CAIRN_STAGE_COMMITTED, true);
    ground_down(&g);
}

/* ---- between calls ---- */

CASE(progress, of_a_started_save_is_sealed_until_it_is_committed)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_pending *p = NULL;
    struct cairn_boundary info;
    progress_up(&g, &r, &info);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_HOLD, 0 };
    cr_assert_eq(cairn_save_start(g.c, &r, &(struct cairn_save_args){ .step = 1 }, &p), 0);
    progress_is(g.c, CAIRN_STAGE_SEALED, true);
    cr_assert_eq(progress_of(g.c).total_bytes, info.payload_bytes);
    cr_assert_eq(cairn_save_wait(&p, 0, NULL, NULL), -CAIRN_EBUSY);
    progress_is(g.c, CAIRN_STAGE_SEALED, true);
    fake_release(&g.fake); /* the answer is there, and nobody has read it */
    progress_is(g.c, CAIRN_STAGE_SEALED, true);
    cr_assert_eq(cairn_save_wait(&p, 20000, NULL, NULL), 0);
    progress_is(g.c, CAIRN_STAGE_COMMITTED, true);
    ground_down(&g);
}

CASE(progress, of_a_sealed_save_whose_connection_is_lost_is_not_known)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_pending *p = NULL;
    struct cairn_boundary info;
    progress_up(&g, &r, &info);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_HOLD, 0 };
    cr_assert_eq(cairn_save_start(g.c, &r, &(struct cairn_save_args){ .step = 1 }, &p), 0);
    fake_pause(&g.fake);
    cr_assert_eq(cairn_save_wait(&p, 0, NULL, NULL), -CAIRN_EBUSY, "seen, and nothing begun");
    progress_is(g.c, CAIRN_STAGE_CAPTURED, false);
    cr_assert_eq(cairn_save_wait(&p, 50, NULL, NULL), -CAIRN_EBUSY, "nobody is there");
    progress_is(g.c, CAIRN_STAGE_CAPTURED, false);
    fake_resume(&g.fake);
    cr_assert_eq(cairn_save_wait(&p, 20000, NULL, NULL), 0);
    progress_is(g.c, CAIRN_STAGE_COMMITTED, true);
    ground_down(&g);
}

CASE(progress, of_a_refused_save_has_failed)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_pending *p = NULL;
    struct cairn_boundary info;
    progress_up(&g, &r, &info);
    g.fake.faults[0] = (struct fake_fault){ WIRE_SEAL, 1, FAKE_REFUSE, CAIRN_ENOSPC };
    g.fake.faults[1] = (struct fake_fault){ WIRE_BEGIN, 2, FAKE_REFUSE, CAIRN_ENOSPC };
    g.fake.faults[2] = (struct fake_fault){ WIRE_SEAL, 2, FAKE_HOLD, 0 };
    const struct cairn_save_args args = { .step = 1 };
    cr_assert_eq(cairn_save(g.c, &r, &args, NULL), -CAIRN_ENOSPC);
    progress_is(g.c, CAIRN_STAGE_FAILED, false);
    cr_assert_eq(cairn_save_start(g.c, &r, &args, &p), -CAIRN_ENOSPC);
    progress_is(g.c, CAIRN_STAGE_FAILED, false);
    /* What is wrong in itself has not begun. */
    cr_assert_eq(cairn_save(g.c, &r, &(struct cairn_save_args){ .precision = 77 }, NULL),
                 -CAIRN_EINVAL);
    progress_is(g.c, CAIRN_STAGE_FAILED, false);
    /* Sealed, and refused then. */
    cr_assert_eq(cairn_save_start(g.c, &r, &args, &p), 0);
    progress_is(g.c, CAIRN_STAGE_SEALED, true);
    g.fake.held_code = CAIRN_EIO;
    fake_release(&g.fake);
    cr_assert_eq(cairn_save_wait(&p, 20000, NULL, &r), -CAIRN_EIO);
    progress_is(g.c, CAIRN_STAGE_FAILED, false);
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(progress, is_refused_without_a_handle_and_in_a_child)
{
    struct ground g;
    struct cairn_progress p;
    ground_up(&g);
    cr_assert_eq(cairn_save_progress(NULL, &p), -CAIRN_EINVAL);
    cr_assert_eq(cairn_save_progress(g.c, NULL), -CAIRN_EINVAL);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(cairn_save_progress(g.c, &p) == -CAIRN_EFORK ? 0 : 1);
    }
    int status = -1;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(status, 0);
    ground_down(&g);
}

/* ---- from another thread ---- */

struct progress_watch {
    struct cairn *c;
    bool wrong;
};

/* Each of many saves until the last is committed: never more than all, never another total. */
static void *progress_watch(void *arg)
{
    struct progress_watch *w = arg;
    struct cairn_progress p = { 0 };
    uint64_t total = 0;
    do {
        w->wrong = w->wrong || cairn_save_progress(w->c, &p) < 0;
        w->wrong = w->wrong || p.done_bytes > p.total_bytes;
        w->wrong = w->wrong || (total != 0 && p.total_bytes != total);
        w->wrong = w->wrong || (p.stage == CAIRN_STAGE_COMMITTED && p.done_bytes != p.total_bytes);
        total = p.total_bytes;
        (void)sched_yield();
    } while (!w->wrong && p.stage != CAIRN_STAGE_FAILED);
    return NULL;
}

CASE(progress, may_be_watched_by_another_thread, .timeout = 60)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_boundary info;
    pthread_t thread;
    progress_up(&g, &r, &info);
    struct progress_watch w = { .c = g.c };
    g.fake.faults[0] = (struct fake_fault){ WIRE_BEGIN, 6, FAKE_REFUSE, CAIRN_ENOSPC };
    cr_assert_eq(pthread_create(&thread, NULL, progress_watch, &w), 0);
    for (uint64_t step = 1; step <= 5; step++) {
        cr_assert_eq(cairn_save(g.c, &r, &(struct cairn_save_args){ .step = step }, NULL), 0);
        cr_assert_eq(ground_capture(&g, 0, &r), 0);
    }
    cr_assert_eq(cairn_save(g.c, &r, &(struct cairn_save_args){ .step = 6 }, NULL), -CAIRN_ENOSPC);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_not(w.wrong);
    (void)cairn_record_free(r);
    ground_down(&g);
}
