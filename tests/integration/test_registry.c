/* The table of open runs at a real daemon: what is remembered of a run that was closed, in which
 * order those are served that wait for one, how much of the table one uid gets, and who is told
 * what of whose runs. */
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/case.h"
#include "support/daemon.h"
#include "support/hold.h"
#include "support/peer.h"
#include "support/saver.h"

enum { WAIT_MS = 20000, OTHER_UID = 4242, REQUEST = 40 };

struct reg {
    char dir[TMP_PATH_BYTES];
    struct daemon d;
    struct sample sample;
};

static void reg_init(struct reg *r)
{
    tmp_make("registry", r->dir);
    daemon_init(&r->d, r->dir);
    r->d.args[0] = "--socket-mode=0666";
    sample_init(&r->sample,
                (struct sample_tensors){ .count = 2, .tensor_bytes = 65536 },
                (struct sample_tensors){ .count = 1, .tensor_bytes = 4096 });
    cr_assert_eq(chmod(r->d.socket_dir, 0755), 0);
}

static void reg_fini(struct reg *r)
{
    cr_assert_eq(daemon_stop(&r->d), 0);
    daemon_fini(&r->d);
    sample_fini(&r->sample);
    tmp_remove(r->dir);
}

static int reg_save(struct reg *r, const char *run, uint64_t step)
{
    struct cairn *c = NULL;
    cr_assert_eq(cairn_open(r->d.socket, run, &c), 0, "%s: %s", run, cairn_error(c));
    sample_fill(&r->sample, step);
    int rc = sample_save(&r->sample, c, NULL);
    (void)cairn_close(c);
    return rc;
}

static void reg_peer(struct reg *r, struct peer_client *p)
{
    peer_connect(p, r->d.socket);
    peer_hello(p);
}

/* A request and its first answer. */
static void reg_ask(struct peer_client *p, enum wire_type type, union wire_msg *msg, uint32_t want)
{
    struct frame f = { 0 };
    (void)peer_send(p, type, REQUEST, msg, (struct slice){ 0 });
    cr_assert(peer_recv(p, WAIT_MS, &f, msg), "type %u: no answer", (unsigned)type);
    if (f.type == WIRE_ERROR) {
        cr_assert_eq(f.type,
                     want,
                     "type %u: %u %.*s",
                     (unsigned)type,
                     msg->error.code,
                     (int)msg->error.text.bytes,
                     (const char *)msg->error.text.data);
    }
    cr_assert_eq(f.type, want);
}

static bool reg_says(struct slice text, const char *what)
{
    return memmem(text.data, text.bytes, what, strlen(what)) != NULL;
}

static bool reg_attends(const struct wire_status_info *info, const char *what)
{
    for (uint32_t i = 0; i < info->attention_count; i++) {
        if (reg_says(info->attention[i], what)) {
            return true;
        }
    }
    return false;
}

/* Become the other uid, if this process may; a test that is not root's has one that is not root
 * anyway. */
static void reg_become(uid_t uid)
{
    if (getuid() == 0) {
        cr_assert_eq(seteuid(uid), 0);
    }
}

/* ---- an aborted BEGIN --------------------------------------------------------------------------
 */

CASE(registry, a_run_without_a_boundary_does_not_exist, .timeout = 60)
{
    struct reg r;
    struct peer_client p;
    struct frame f = { 0 };
    union wire_msg msg = { 0 };
    reg_init(&r);
    daemon_start(&r.d, NULL);
    reg_peer(&r, &p);
    peer_begin(&p, "empty", 1);
    (void)peer_send(&p, WIRE_ABORT, PEER_UPLOAD, &msg, (struct slice){ 0 });
    cr_assert(peer_recv(&p, WAIT_MS, &f, &msg));
    cr_assert_eq(f.type, WIRE_DONE);
    msg.run_open = (struct wire_run_open){ slice_str("empty") };
    reg_ask(&p, WIRE_RUN_OPEN, &msg, WIRE_RUN_INFO);
    cr_assert_not(msg.run_info.exists);
    msg.run_list = (struct wire_run_list){ .all = false };
    reg_ask(&p, WIRE_RUN_LIST, &msg, WIRE_RUN_INFO);
    cr_assert(reg_says(msg.run_info.run, "empty"));
    cr_assert_not(msg.run_info.exists);
    cr_assert(peer_recv(&p, WAIT_MS, &f, &msg));
    cr_assert_eq(f.type, WIRE_DONE);
    reg_ask(&p, WIRE_STATUS, &msg, WIRE_STATUS_INFO);
    cr_assert_eq(msg.status_info.run_count, 0);
    cr_assert_eq(reg_save(&r, "empty", 1), 0);
    msg.run_open = (struct wire_run_open){ slice_str("empty") };
    reg_ask(&p, WIRE_RUN_OPEN, &msg, WIRE_RUN_INFO);
    cr_assert(msg.run_info.exists);
    peer_close(&p);
    reg_fini(&r);
}

/* ---- a share of the open runs ------------------------------------------------------------------
 */

static void reg_pin(struct peer_client *p, const char *run, uint32_t want, union wire_msg *ret)
{
    ret->describe = (struct wire_describe){ slice_str(run), slice_str("latest"), true };
    reg_ask(p, WIRE_DESCRIBE, ret, want);
}

CASE(registry, one_uid_cannot_hold_every_open_run, .timeout = 60)
{
    static const char *const runs[] = { "a", "b", "c", "d" };
    struct reg r;
    struct peer_client p[4];
    union wire_msg msg = { 0 };
    reg_init(&r);
    r.d.args[1] = "--open-runs=4";
    daemon_start(&r.d, NULL);
    reg_become(OTHER_UID);
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(reg_save(&r, runs[i], 1), 0);
        reg_peer(&r, &p[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        reg_pin(&p[i], runs[i], WIRE_DESCRIBED, &msg);
    }
    reg_pin(&p[3], runs[3], WIRE_ERROR, &msg);
    cr_assert_eq(msg.error.code, CAIRN_EBUSY);
    cr_assert(reg_says(msg.error.text, "its share of the 4 open ones"),
              "%.*s",
              (int)msg.error.text.bytes,
              (const char *)msg.error.text.data);
    reg_become(0);
    if (getuid() == 0) {
        cr_assert_eq(reg_save(&r, "of-root", 1), 0);
    }
    /* What is held already is no more of it; and what is given back may be taken again. */
    reg_pin(&p[3], runs[0], WIRE_DESCRIBED, &msg);
    reg_pin(&p[0], runs[1], WIRE_DESCRIBED, &msg);
    reg_pin(&p[3], runs[1], WIRE_DESCRIBED, &msg);
    /* The pin of a goes on a thread: asked again, it is gone. */
    uint64_t end = now_ns() + (uint64_t)WAIT_MS * 1000000u;
    struct frame f = { 0 };
    do {
        msg.describe = (struct wire_describe){ slice_str(runs[3]), slice_str("latest"), true };
        (void)peer_send(&p[3], WIRE_DESCRIBE, REQUEST, &msg, (struct slice){ 0 });
        cr_assert(peer_recv(&p[3], WAIT_MS, &f, &msg));
    } while (f.type == WIRE_ERROR && now_ns() < end);
    cr_assert_eq(f.type, WIRE_DESCRIBED);
    for (unsigned i = 0; i < 4; i++) {
        peer_close(&p[i]);
    }
    reg_fini(&r);
}

#ifdef CAIRN_FAILPOINTS
/* ---- the latch ---------------------------------------------------------------------------------
 */

static void reg_start(struct reg *r, const char *failpoint)
{
    char armed[400];
    int bytes = snprintf(armed, sizeof armed, "CAIRN_FAILPOINT=%s", failpoint);
    cr_assert_lt((size_t)bytes, sizeof armed);
    daemon_start(&r->d, (const char *const[]){ armed, NULL });
}

CASE(registry, a_latched_run_outlives_its_eviction, .timeout = 60)
{
    static const uint8_t id[16] = { 9 };
    struct reg r;
    struct peer_client p;
    struct cairn *c = NULL;
    struct cairn_record *record = NULL;
    union wire_msg msg = { 0 };
    reg_init(&r);
    r.d.args[1] = "--open-runs=1";
    reg_start(&r, "commit:eio:2");
    cr_assert_eq(reg_save(&r, "bad", 1), 0);
    cr_assert_eq(cairn_open(r.d.socket, "bad", &c), 0);
    sample_fill(&r.sample, 2);
    cr_assert_eq(cairn_capture(c, &r.sample.trainer, &record), 0);
    int rc = cairn_save(c, &record, &(struct cairn_save_args){ .step = 2, .save_id = id }, NULL);
    cr_assert_eq(rc, -CAIRN_EUNKNOWN, "%d %s", rc, cairn_error(c));
    (void)cairn_record_free(record);
    (void)cairn_close(c);
    cr_assert_eq(reg_save(&r, "good", 1), 0); /* the one place in the table is its now */
    reg_peer(&r, &p);
    msg.run_list = (struct wire_run_list){ .all = false };
    reg_ask(&p, WIRE_RUN_LIST, &msg, WIRE_RUN_INFO);
    cr_assert(reg_says(msg.run_info.run, "bad"));
    cr_assert(msg.run_info.poisoned, "the list has forgotten it");
    struct frame f = { 0 };
    cr_assert(peer_recv(&p, WAIT_MS, &f, &msg) && f.type == WIRE_RUN_INFO);
    cr_assert_not(msg.run_info.poisoned);
    cr_assert(peer_recv(&p, WAIT_MS, &f, &msg) && f.type == WIRE_DONE);
    reg_ask(&p, WIRE_STATUS, &msg, WIRE_STATUS_INFO);
    cr_assert(reg_attends(&msg.status_info, "/bad is read-only"));
    msg.find = (struct wire_find){ .run = slice_str("bad"), .by_save_id = true, .save_id = { 9 } };
    reg_ask(&p, WIRE_FIND, &msg, WIRE_FOUND);
    cr_assert_eq(msg.found.state, SAVE_UNKNOWN, "%u", (unsigned)msg.found.state);
    cr_assert_eq(reg_save(&r, "bad", 3), -CAIRN_EPOISONED);
    msg.run_drop = (struct wire_run){ slice_str("bad") };
    reg_ask(&p, WIRE_RUN_DROP, &msg, WIRE_ERROR);
    cr_assert_eq(msg.error.code, CAIRN_EPOISONED);
    peer_close(&p);
    cr_assert_eq(daemon_stop(&r.d), 0);
    daemon_start(&r.d, NULL);
    cr_assert_eq(reg_save(&r, "bad", 3), 0);
    cr_assert_eq(daemon_stop(&r.d), 0);
    cr_assert_eq(daemon_fsck(&r.d, false), 0);
    daemon_start(&r.d, NULL);
    reg_fini(&r);
}

/* ---- who is told what -------------------------------------------------------------------------
 */

CASE(registry, status_tells_of_the_runs_of_whoever_asks, .timeout = 60)
{
    struct reg r;
    struct peer_client other;
    struct peer_client root;
    union wire_msg msg = { 0 };
    if (getuid() != 0) {
        cr_log_info("needs root: only root can be two users");
        return;
    }
    reg_init(&r);
    reg_start(&r, "commit:eio:2");
    cr_assert_eq(reg_save(&r, "secret", 1), 0);
    cr_assert_eq(reg_save(&r, "secret", 2), -CAIRN_EUNKNOWN);
    reg_become(OTHER_UID);
    cr_assert_eq(reg_save(&r, "mine", 1), 0);
    reg_peer(&r, &other);
    reg_become(0);
    reg_peer(&r, &root);
    reg_ask(&other, WIRE_STATUS, &msg, WIRE_STATUS_INFO);
    cr_assert_eq(msg.status_info.run_count, 1);
    cr_assert_eq(msg.status_info.open_run_count, 1);
    cr_assert_not(reg_attends(&msg.status_info, "secret"));
    reg_ask(&root, WIRE_STATUS, &msg, WIRE_STATUS_INFO);
    cr_assert_eq(msg.status_info.run_count, 2);
    cr_assert_eq(msg.status_info.open_run_count, 2);
    cr_assert(reg_attends(&msg.status_info, "run 0/secret is read-only"));
    cr_assert(reg_attends(&msg.status_info, "cairn verify 0/secret"));
    peer_close(&other);
    peer_close(&root);
    reg_fini(&r);
}

/* ---- first come, first served -----------------------------------------------------------------
 */

/* BEGIN without waiting for its answer: the run is not open yet. Returns when the daemon has it. */
static void reg_begin(struct reg *r, struct peer_client *p, const char *run, uint8_t id)
{
    struct component_info infos[5] = { 0 };
    struct peer_client asks;
    union wire_msg msg = { 0 };
    uint64_t before = 0;
    uint64_t end = now_ns() + (uint64_t)WAIT_MS * 1000000u;
    reg_peer(r, &asks);
    reg_ask(&asks, WIRE_STATUS, &msg, WIRE_STATUS_INFO);
    before = msg.status_info.upload_count;
    for (uint32_t i = 0; i < 5; i++) {
        infos[i].component = (enum component)(i + 1);
    }
    msg.begin = (struct wire_begin){ .run = slice_str(run),
                                     .boundary = { .world = 1,
                                                   .local_parts = 1,
                                                   .exact = true,
                                                   .save_id = { id },
                                                   .root = { { 1 } },
                                                   .components = infos } };
    (void)peer_send(p, WIRE_BEGIN, PEER_UPLOAD, &msg, (struct slice){ 0 });
    do {
        reg_ask(&asks, WIRE_STATUS, &msg, WIRE_STATUS_INFO);
    } while (msg.status_info.upload_count == before && now_ns() < end);
    cr_assert_eq(msg.status_info.upload_count, before + 1);
    peer_close(&asks);
}

static void reg_find(struct peer_client *p, const char *run, uint8_t id)
{
    union wire_msg msg = { .find = {
                               .run = slice_str(run), .by_save_id = true, .save_id = { id } } };
    (void)peer_send(p, WIRE_FIND, REQUEST, &msg, (struct slice){ 0 });
}

static void reg_begun_or(struct peer_client *p, uint32_t code)
{
    struct frame f = { 0 };
    union wire_msg msg = { 0 };
    cr_assert(peer_recv(p, WAIT_MS, &f, &msg));
    if (code == 0) {
        cr_assert_eq(f.type, WIRE_BEGUN, "%u: %u", f.type, msg.error.code);
    } else {
        cr_assert_eq(f.type, WIRE_ERROR, "%u", f.type);
        cr_assert_eq(msg.error.code, code, "%u", msg.error.code);
    }
}

static void reg_start_held(struct reg *r, struct hold *h, const char *failpoint)
{
    char armed[400];
    hold_init(h, r->d.socket_dir, "hold");
    int bytes = snprintf(armed, sizeof armed, "%s:hold=%s:1", failpoint, h->path);
    cr_assert_lt((size_t)bytes, sizeof armed);
    reg_start(r, armed);
}

/* The same save three times while its run is being opened: the last BEGIN supersedes the others.
 * With `looked` the opening was for somebody who only asks, and finds that there is no such run. */
static void served_in_order(bool looked)
{
    struct reg r;
    struct hold h;
    struct peer_client p[3];
    struct peer_client asks;
    reg_init(&r);
    reg_start_held(&r, &h, "run_open");
    reg_peer(&r, &asks);
    if (looked) {
        reg_find(&asks, "shared", 1);
        cr_assert(hold_wait(&h, WAIT_MS));
    }
    for (unsigned i = 0; i < 3; i++) {
        reg_peer(&r, &p[i]);
        reg_begin(&r, &p[i], "shared", 1);
    }
    cr_assert(looked || hold_wait(&h, WAIT_MS));
    hold_release(&h);
    reg_begun_or(&p[0], CAIRN_ESUPERSEDED);
    reg_begun_or(&p[1], CAIRN_ESUPERSEDED);
    reg_begun_or(&p[2], 0);
    for (unsigned i = 0; i < 3; i++) {
        peer_close(&p[i]);
    }
    peer_close(&asks);
    hold_fini(&h);
    reg_fini(&r);
}

CASE(registry, who_waits_for_a_run_is_served_in_order, .timeout = 60)
{
    served_in_order(false);
}

CASE(registry, who_wants_to_create_a_run_is_served_in_order, .timeout = 60)
{
    served_in_order(true);
}

/* ---- a stop while they wait --------------------------------------------------------------------
 */

enum { FINDS = 8 };

/* The uploads are over before they have their run and give it back at once, which at a stop closes
 * it; the questions still want it. */
CASE(registry, a_stop_while_a_run_is_being_opened, .timeout = 60)
{
    struct reg r;
    struct hold h;
    struct peer_client p[2];
    struct peer_client finds[FINDS];
    reg_init(&r);
    daemon_start(&r.d, NULL);
    cr_assert_eq(reg_save(&r, "shared", 1), 0);
    cr_assert_eq(daemon_stop(&r.d), 0);
    reg_start_held(&r, &h, "run_open");
    reg_peer(&r, &p[0]);
    reg_peer(&r, &p[1]);
    reg_begin(&r, &p[0], "shared", 1);
    cr_assert(hold_wait(&h, WAIT_MS));
    for (unsigned i = 0; i < FINDS; i++) {
        reg_peer(&r, &finds[i]);
        reg_find(&finds[i], "shared", 1);
    }
    reg_begin(&r, &p[1], "shared", 2);
    proc_signal(&r.d.proc, SIGTERM);
    reg_begun_or(&p[0], CAIRN_ECANCELED);
    reg_begun_or(&p[1], CAIRN_ECANCELED);
    hold_release(&h);
    cr_assert(proc_wait(&r.d.proc, WAIT_MS), "it did not stop");
    cr_assert_eq(proc_exit(&r.d.proc), 0);
    for (unsigned i = 0; i < FINDS; i++) {
        peer_close(&finds[i]);
    }
    peer_close(&p[0]);
    peer_close(&p[1]);
    hold_fini(&h);
    daemon_start(&r.d, NULL);
    reg_fini(&r);
}

/* ---- a second BEGIN of a sealed save -----------------------------------------------------------
 */

CASE(registry, who_waits_for_a_sealed_save_is_told_that_another_does, .timeout = 60)
{
    struct reg r;
    struct hold h;
    static const uint8_t id[16] = { 5 };
    struct saver first;
    struct saver second;
    reg_init(&r);
    reg_start_held(&r, &h, "commit");
    saver_start(&first, r.d.socket, "shared", 1, id);
    cr_assert(hold_wait(&h, WAIT_MS));
    saver_start(&second, r.d.socket, "shared", 1, id);
    saver_end(&first, -CAIRN_ESUPERSEDED);
    hold_release(&h);
    saver_end(&second, 0);
    cr_assert_eq(second.saved.seq, 1);
    hold_fini(&h);
    reg_fini(&r);
}
#endif
