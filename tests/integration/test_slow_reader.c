/* Loads whose peer, or whose disk, is slow: one that does not read holds up nobody else, and what a
 * stream that has failed leaves behind never shows up in the next. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal/limits.h"
#include "support/case.h"
#include "support/daemon.h"
#include "support/hold.h"
#include "support/peer.h"
#include "support/sample.h"

/* A load that is held up waits for its uid's share until somebody's 38 s are over. */
enum { CHUNKS = 4, WAIT_MS = 15000, DESCRIBE = 20, VERIFY = 21 };

static struct daemon d;

/* A daemon, and a boundary of four whole chunks in run "slow". */
static void begin(const char *option, const char *const *env)
{
    struct sample s;
    struct cairn *c = NULL;
    daemon_begin(&d, "slow", (const char *const[]){ option, NULL }, env);
    sample_init(&s,
                (struct sample_tensors){ .count = CHUNKS, .tensor_bytes = LIMIT_CHUNK_BYTES },
                (struct sample_tensors){ .count = 0 });
    sample_fill(&s, 1);
    cr_assert_eq(cairn_open(d.socket, "slow", &c), 0, "%s", cairn_error(c));
    cr_assert_eq(sample_save(&s, c, NULL), 0, "%s", cairn_error(c));
    (void)cairn_close(c);
    sample_fini(&s);
}

static void send_load(struct peer_client *p, uint32_t request, struct wire_load load)
{
    const union wire_msg msg = { .load = load };
    cr_assert(peer_send(p, WIRE_LOAD, request, &msg, (struct slice){ 0 }));
}

static void pin(struct peer_client *p)
{
    union wire_msg msg = {
        .describe = { .run = slice_str("slow"), .selector = slice_str("latest"), .pin = true }
    };
    peer_connect(p, d.socket);
    peer_hello(p);
    cr_assert(peer_send(p, WIRE_DESCRIBE, DESCRIBE, &msg, (struct slice){ 0 }));
    peer_expect(p, WIRE_DESCRIBED, DESCRIBE, &msg);
    cr_assert_eq(msg.described.boundary.chunk_count, CHUNKS);
}

static void load_whole(struct peer_client *p)
{
    union wire_msg msg;
    send_load(p, 1, (struct wire_load){ 0, CHUNKS, CHUNKS, 0 });
    for (uint32_t i = 0; i < CHUNKS; i++) {
        peer_expect(p, WIRE_DATA, 1, &msg);
        cr_assert_eq(msg.data.chunk, i);
    }
    peer_expect(p, WIRE_LOADED, 1, &msg);
}

/* So many ask for all, and read nothing. That there is something to read says that the daemon has
 * taken all the buffers for them that it will. */
static void others_load_beside(unsigned stalled_count)
{
    struct peer_client stalled[2];
    struct peer_client p;
    for (unsigned i = 0; i < stalled_count; i++) {
        pin(&stalled[i]);
        send_load(&stalled[i], 1, (struct wire_load){ 0, CHUNKS, CHUNKS, 0 });
        cr_assert(wait_input(stalled[i].fd, WAIT_MS));
    }
    pin(&p);
    load_whole(&p);
    load_whole(&p);
    peer_close(&p);
    for (unsigned i = 0; i < stalled_count; i++) {
        peer_close(&stalled[i]);
    }
}

CASE(slow_reader, two_that_do_not_read_hold_up_nobody, .timeout = 120)
{
    begin(NULL, NULL);
    others_load_beside(2);
    daemon_end(&d);
}

CASE(slow_reader, not_even_with_the_smallest_pool, .timeout = 120)
{
    begin("--read-pool-bytes=32MiB", NULL);
    others_load_beside(1);
    daemon_end(&d);
}

/* ---- a question with many answers ---- */

/* PINGs whose answers are nearly all that may wait, and more boundaries than there is room for. */
enum { PINGS = 3200, MORE = 150 };

static void save_more(void)
{
    struct sample s;
    struct cairn *c = NULL;
    sample_init(&s,
                (struct sample_tensors){ .count = 1, .tensor_bytes = 64 },
                (struct sample_tensors){ .count = 0 });
    sample_fill(&s, 2);
    cr_assert_eq(cairn_open(d.socket, "slow", &c), 0, "%s", cairn_error(c));
    for (unsigned i = 0; i < MORE; i++) {
        cr_assert_eq(sample_save(&s, c, NULL), 0, "%s", cairn_error(c));
    }
    (void)cairn_close(c);
    sample_fini(&s);
}

static void verify(struct peer_client *p, bool whole_run)
{
    const union wire_msg msg = { .verify = { .run = slice_str("slow"),
                                             .selector = slice_str(whole_run ? "" : "latest"),
                                             .whole_run = whole_run } };
    cr_assert(peer_send(p, WIRE_VERIFY, VERIFY, &msg, (struct slice){ 0 }));
}

/* With a chunk in the socket that it does not read, all answers wait in memory. */
static void connect_stuffed(struct peer_client *p)
{
    union wire_msg msg = { .describe = { slice_str("slow"), slice_str("seq:1"), true } };
    peer_connect(p, d.socket);
    peer_hello(p);
    cr_assert(peer_send(p, WIRE_DESCRIBE, DESCRIBE, &msg, (struct slice){ 0 }));
    peer_expect(p, WIRE_DESCRIBED, DESCRIBE, &msg);
    send_load(p, 1, (struct wire_load){ 0, 1, 1, 0 });
    cr_assert(wait_input(p->fd, WAIT_MS)); /* the chunk is first in the queue */
}

/* VERIFY stops when the memory for answers is full. Another's VERIFYs take turns with it: when they
 * are through, so it is as far as it gets. */
static void verify_unread(struct peer_client *p)
{
    struct peer_client other;
    union wire_msg msg = { .data = { 0 } };
    begin(NULL, NULL);
    save_more();
    connect_stuffed(p);
    for (uint32_t i = 0; i < PINGS; i++) {
        cr_assert(peer_send(p, WIRE_PING, i, &msg, (struct slice){ 0 }));
    }
    verify(p, true);
    peer_connect(&other, d.socket);
    peer_hello(&other);
    for (unsigned i = 0; i < 4 * MORE; i++) {
        verify(&other, false);
        peer_expect(&other, WIRE_VERIFIED, VERIFY, &msg);
    }
    peer_close(&other);
}

CASE(slow_reader, a_long_answer_waits_and_comes_whole, .timeout = 120)
{
    struct peer_client p;
    struct frame f = { 0 };
    union wire_msg msg = { .data = { 0 } };
    verify_unread(&p);
    do {
        cr_assert(peer_recv(&p, WAIT_MS, &f, &msg));
    } while (f.type != WIRE_VERIFIED || msg.verified.more);
    cr_assert_eq(msg.verified.boundary_count, MORE + 1);
    peer_close(&p);
    daemon_end(&d);
}

CASE(slow_reader, stopping_does_not_wait_for_a_long_answer, .timeout = 120)
{
    struct peer_client p;
    verify_unread(&p);
    uint64_t before = now_ns();
    cr_assert_eq(daemon_stop(&d), 0);
    cr_assert_lt(now_ns() - before, UINT64_C(8000000000));
    peer_close(&p);
    daemon_end(&d);
}

/* ---- a list of many runs ---- */

/* More than there is room for. A directory is enough for a run to be listed. */
enum { RUNS = 6000, LIST = 22 };

static void fake_run(unsigned i, int (*act)(const char *path))
{
    char path[TMP_PATH_BYTES * 2];
    (void)snprintf(path, sizeof path, "%s/runs/%u/fake-%05u", d.data, (unsigned)getuid(), i);
    cr_assert_eq(act(path), 0, "%s", path);
}

static int make_private(const char *path)
{
    return mkdir(path, 0700);
}

static void fake_runs(int (*act)(const char *path))
{
    cr_assert_eq(daemon_stop(&d), 0);
    for (unsigned i = 0; i < RUNS; i++) {
        fake_run(i, act);
    }
    daemon_start(&d, NULL);
}

static void ask_list(struct peer_client *p)
{
    const union wire_msg msg = { .run_list = { .all = false } };
    cr_assert(peer_send(p, WIRE_RUN_LIST, LIST, &msg, (struct slice){ 0 }));
}

/* What is sent of the list; returns the type of the frame that ends it. */
static enum wire_type read_list(struct peer_client *p, unsigned *ret_count, uint32_t *ret_code)
{
    char name[64];
    struct frame f = { 0 };
    union wire_msg msg;
    *ret_count = 0;
    for (;;) {
        cr_assert(peer_recv(p, WAIT_MS, &f, &msg));
        if (f.request == LIST && f.type != WIRE_RUN_INFO) {
            *ret_code = f.type == WIRE_ERROR ? msg.error.code : 0;
            return f.type;
        }
        if (f.request == LIST && *ret_count < RUNS) {
            (void)snprintf(name, sizeof name, "fake-%05u", *ret_count);
            cr_assert_eq(slice_cmp(msg.run_info.run, slice_str(name)), 0, "%s", name);
        }
        *ret_count += f.request == LIST;
    }
}

/* One that does not read has asked; another's list takes turns with it and is through. */
static void list_unread(struct peer_client *p)
{
    struct peer_client other;
    unsigned count = 0;
    uint32_t code = 0;
    begin(NULL, NULL);
    fake_runs(make_private);
    connect_stuffed(p);
    ask_list(p);
    peer_connect(&other, d.socket);
    peer_hello(&other);
    ask_list(&other);
    cr_assert_eq(read_list(&other, &count, &code), WIRE_DONE);
    cr_assert_eq(count, RUNS + 1);
    peer_close(&other);
}

CASE(slow_reader, a_long_list_waits_and_comes_whole, .timeout = 120)
{
    struct peer_client p;
    unsigned count = 0;
    uint32_t code = 0;
    list_unread(&p);
    cr_assert_eq(read_list(&p, &count, &code), WIRE_DONE);
    cr_assert_eq(count, RUNS + 1);
    peer_close(&p);
    fake_runs(rmdir);
    daemon_end(&d);
}

/* What is not in memory yet is not sent any more: the list has waited, not lain there. */
CASE(slow_reader, a_long_list_ends_with_the_daemon, .timeout = 120)
{
    struct peer_client p;
    unsigned count = 0;
    uint32_t code = 0;
    list_unread(&p);
    proc_signal(&d.proc, SIGTERM);
    cr_assert_eq(read_list(&p, &count, &code), WIRE_ERROR);
    cr_assert_eq(code, CAIRN_ECANCELED);
    cr_assert(count > 0 && count < RUNS, "%u", count);
    peer_close(&p);
    cr_assert(proc_wait(&d.proc, WAIT_MS));
    daemon_start(&d, NULL);
    fake_runs(rmdir);
    daemon_end(&d);
}

#ifdef CAIRN_FAILPOINTS
/* The one segment of the run. */
static int segment_open(void)
{
    char path[TMP_PATH_BYTES * 2];
    struct dirent *e = NULL;
    int fd = -1;
    (void)snprintf(path, sizeof path, "%s/runs/%u/slow/segments", d.data, (unsigned)getuid());
    DIR *segments = opendir(path);
    while (segments != NULL && fd < 0 && (e = readdir(segments)) != NULL) {
        if (e->d_name[0] != '.') {
            fd = openat(dirfd(segments), e->d_name, O_RDWR | O_CLOEXEC);
        }
    }
    cr_assert_geq(fd, 0);
    (void)closedir(segments);
    return fd;
}

/* What lies behind chunk 1 is taken off the disk, and can be put back. */
struct tail {
    int fd;
    off_t from;
    size_t bytes;
    uint8_t *data;
};

static void tail_cut(struct tail *t)
{
    struct stat st;
    t->fd = segment_open();
    t->from = 4096 + 2 * (off_t)LIMIT_CHUNK_BYTES;
    cr_assert_eq(fstat(t->fd, &st), 0);
    t->bytes = (size_t)(st.st_size - t->from);
    t->data = malloc(t->bytes);
    cr_assert_eq(pread(t->fd, t->data, t->bytes, t->from), (ssize_t)t->bytes);
    cr_assert_eq(ftruncate(t->fd, t->from), 0);
}

static void tail_put_back(struct tail *t)
{
    cr_assert_eq(pwrite(t->fd, t->data, t->bytes, t->from), (ssize_t)t->bytes);
    (void)close(t->fd);
    free(t->data);
}

/* The load of chunks 2 and 3 stands in both reads; then the first of them fails. The stream ends
 * when the other has ended too, and not before: it may be reading into memory of the client. */
static void
failed_stream(struct peer_client *p, struct hold *first, struct hold *second, bool aborts)
{
    union wire_msg msg = { .release = { 1 } };
    struct tail tail;
    tail_cut(&tail);
    send_load(p, 1, (struct wire_load){ 2, 2, 1, 0 });
    cr_assert(hold_wait(first, WAIT_MS));
    cr_assert(peer_send(p, WIRE_RELEASE, 1, &msg, (struct slice){ 0 }));
    cr_assert(hold_wait(second, WAIT_MS));
    hold_release(first);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert(peer_send(p, WIRE_PING, 3 + i, &msg, (struct slice){ 0 }));
        peer_expect(p, WIRE_DONE, 3 + i, &msg); /* and no ERROR before it */
    }
    if (aborts) {
        cr_assert(peer_send(p, WIRE_ABORT, 1, &msg, (struct slice){ 0 }));
        peer_ping(p);
    }
    hold_release(second);
    peer_expect(p, aborts ? WIRE_LOADED : WIRE_ERROR, 1, &msg);
    cr_assert(!aborts || msg.loaded.aborted);
    tail_put_back(&tail);
    send_load(p, 2, (struct wire_load){ 0, CHUNKS, CHUNKS, 0 });
}

static void failed_stream_ends(bool aborts)
{
    struct hold first;
    struct hold second;
    struct peer_client p;
    union wire_msg msg;
    char armed[800];
    char holds[TMP_PATH_BYTES];
    tmp_make_short(holds);
    hold_init(&first, holds, "1");
    hold_init(&second, holds, "2");
    /* Who is held at the first point has not passed the second yet. */
    (void)snprintf(armed,
                   sizeof armed,
                   "CAIRN_FAILPOINT=load_read:hold=%s:1,load_read:hold=%s:1",
                   first.path,
                   second.path);
    begin(NULL, (const char *const[]){ armed, NULL });
    pin(&p);
    failed_stream(&p, &first, &second, aborts);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        peer_expect(&p, WIRE_DATA, 2, &msg);
        cr_assert_eq(msg.data.chunk, i, "chunk %u instead of %u", msg.data.chunk, i);
    }
    peer_expect(&p, WIRE_LOADED, 2, &msg);
    cr_assert_eq(msg.loaded.chunk_count, CHUNKS);
    peer_close(&p);
    hold_fini(&first);
    hold_fini(&second);
    tmp_remove(holds);
    daemon_end(&d);
}

CASE(slow_reader, a_failed_stream_ends_when_its_reads_have, .timeout = 120)
{
    failed_stream_ends(false);
}

CASE(slow_reader, a_failed_stream_that_is_aborted_ends_with_loaded, .timeout = 120)
{
    failed_stream_ends(true);
}
#endif
